"""Make and grade packs for blind readers.

    python -m bench.readers make SETS… --out DIR [--per-pack 25] [--budget 1500] [--seed 1] [--questions 100]
    python -m bench.readers grade DIR [--json]

A set is `SET.json=SOURCE`, questions with facts and what they are about, or the folder of a judged set whose
questions have known answers. See bench/README.md.
"""

import argparse
import json
from pathlib import Path

from bench.readers.grading import grade, read_folder, report
from bench.readers.packs import check_new, make_packs, write_packs
from bench.readers.questions import Settings, ask_sets


def main() -> None:
    """Run the command that was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make packs")
    make.add_argument("sets", nargs="+", help="SET.json=SOURCE, or the folder of a judged set")
    make.add_argument("--out", type=Path, required=True, help="a new folder")
    make.add_argument("--per-pack", type=_positive, default=25, help="questions in a pack")
    make.add_argument("--budget", type=_positive, default=1500, help="tokens of a page")
    make.add_argument("--seed", type=int, default=1, help="another seed draws and deals other questions")
    make.add_argument("--questions", type=_positive, help="at most so many from each set; all by default")
    make.add_argument(
        "--template", action="append", default=[], help="NAME=TEMPLATE: how a folder's questions are put"
    )
    make.add_argument("--stores", type=Path, help="keep the stores of the sets here; temporary by default")
    graded = commands.add_parser("grade", help="grade the answers")
    graded.add_argument("folder", type=Path, help="what `make` wrote, with the answers filled in")
    graded.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args()
    if given.command == "make":
        # Before the pages are made, which takes long.
        check_new(given.out)
        templates = dict(pair.partition("=")[::2] for pair in given.template)
        settings = Settings(given.budget, given.seed, given.questions, given.stores, templates)
        packs = make_packs(ask_sets(given.sets, settings), given.per_pack, given.seed)
        write_packs(packs, given.out)
        print(f"{len(packs)} packs in {given.out}; give each reader one folder, and keep `key` to yourself")
        return
    answers = grade(*read_folder(given.folder))
    print(json.dumps(answers, indent=2, ensure_ascii=False) if given.json else report(answers))


def _positive(written: str) -> int:
    if not written.isdigit() or int(written) < 1:
        raise argparse.ArgumentTypeError(f"{written!r} is no whole number of 1 or more")
    return int(written)


if __name__ == "__main__":
    main()
