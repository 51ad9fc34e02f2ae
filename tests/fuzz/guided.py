"""Run one fuzzer guided by coverage: atheris looks which inputs reach new branches of Weft, and goes on from them.

    python -m fuzz.guided read.docx --seconds 60

The inputs are made by the same strategies, of the bytes that atheris changes. Exit 0 means that nothing was found.
"""

import argparse
import sys

import atheris

with atheris.instrument_imports(include=["weft"]):
    from fuzz.targets import TARGETS

from hypothesis import HealthCheck, given, settings


def main() -> None:
    """Fuzz a target for some time."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.guided", description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    strategy, check = TARGETS[asked.target]

    def try_input(value: object) -> None:
        check(value)

    options = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
    fuzz_one = options(given(strategy)(try_input)).hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    # Inputs of some kilobytes: longer ones repeat what shorter ones reach.
    words = [
        sys.argv[0],
        f"-max_total_time={asked.seconds}",
        f"-seed={asked.seed}",
        "-max_len=4096",
        "-verbosity=0",
    ]
    atheris.Setup([*words, "-print_final_stats=1"], lambda content: fuzz_one(content) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
