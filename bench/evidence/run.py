"""Weft and what people use today, side by side: how much evidence each puts into a budget of tokens.

    python bench/evidence/run.py --data DIR

`make bench-evidence` installs what it needs. A system that is not installed, or fails, is named as such.
"""

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measuring import Job, Row, measure_peer, measure_weft, open_job
from reporting import write_all

from peers import PEERS
from weft import __version__
from weft.embed import open_embedder

BUDGETS = (500, 1000, 2000, 4000, 8000, 16000)


def main() -> None:
    """Measure every set with every system and write the results."""
    given = arguments()
    embedder = open_embedder("static")
    if embedder is None:
        sys.exit("The static embedder did not come with this checkout.")
    known = kept(given.out, given.anew)
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "command": given.command,
        "machine": machine(),
        "versions": versions(),
        "embedder": embedder.name,
        "budgets": list(BUDGETS),
        "sets": {},
    }
    for folder in folders(given.data, given.sets):
        job = open_job(folder, BUDGETS, given.limit)
        asked = job.judged.measurable_questions(False)[: given.limit]
        results["sets"][job.judged.name] = {
            "documents": len(job.judged.documents),
            "queries": len(asked),
            "gold": sum(len(job.judged.gold[question.id]) for question in asked),
            "shape": shape(job),
            "systems": {
                name: known.get(job.judged.name, {}).get(name) or measured(name, job, embedder.embed)
                for name in ("Weft", *PEERS)
            },
        }
        write_all(results, given.out)
    print(f"\n{(given.out / 'README.md').read_text(encoding='utf-8')}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of judged sets")
    parser.add_argument("--sets", default="", help="names with commas; all that are there unless told")
    parser.add_argument("--limit", type=int, help="only the first N questions of each set")
    parser.add_argument("--anew", default="", help="systems with commas; the rows of others stay if there are any")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    words = [f"--{name} {vars(given)[name]}" for name in ("sets", "limit", "anew") if vars(given)[name]]
    given.command = " ".join(["python bench/evidence/run.py --data DATA", *words])
    return given


def kept(out: Path, anew: str) -> dict[str, dict[str, Row]]:
    """Return the rows by set and system that the results of before hold and that are not asked for anew."""
    if not anew:
        return {}
    again = {name.strip() for name in anew.split(",")}
    if unknown := again - {"Weft", *PEERS}:
        sys.exit(f"No system is called {', '.join(sorted(unknown))}. There are: {', '.join(['Weft', *PEERS])}.")
    before = json.loads((out / "results.json").read_text(encoding="utf-8"))
    if changed := {name for name, is_now in versions().items() if before["versions"].get(name) != is_now} - {
        "weft"
    }:
        sys.exit(f"Other versions than before: {', '.join(sorted(changed))}. Measure all anew, without --anew.")
    return {
        folder: {name: row for name, row in one["systems"].items() if name not in again}
        for folder, one in before["sets"].items()
    }


def folders(data: Path, names: str) -> list[Path]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    found = [data / name for name in wanted] or sorted(path.parent for path in data.glob("*/corpus.jsonl"))
    if not found:
        sys.exit(f"There is no judged set below {data}: a set is a folder with corpus.jsonl.")
    return found


def measured(name: str, job: Job, embed: object) -> Row:
    try:
        row = measure_weft(job, progress) if name == "Weft" else measure_peer(name, job, embed, progress)
    except ImportError as error:
        row = {"missing": f"not installed ({error.name or error})"}
    except Exception as error:  # noqa: BLE001  (one system that fails must not take the others' rows with it)
        row = {"missing": f"{type(error).__name__}: {str(error)[:120]}"}
    print(f"{job.judged.name}: {name}: {row}", file=sys.stderr)
    return row


def progress(stage: str, done: int, total: int | None) -> None:
    if sys.stderr.isatty():
        print(f"\r{stage} {done}/{total}   ", end="", file=sys.stderr)


def shape(job: Job) -> str:
    result = [] if job.shape.template == "{text}" else [f"asked as `{job.shape.template}`"]
    return ", ".join(result + (["with the conversation before"] if job.shape.history else []))


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"


def versions() -> dict[str, str]:
    found = {"weft": __version__}
    for package in sorted({package for _, package in PEERS.values() if package}):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


if __name__ == "__main__":
    main()
