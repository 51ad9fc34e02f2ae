"""The command `pigeonhole`: the only place that reads the clock."""

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from pigeonhole import backup, handlers, monitor, report
from pigeonhole.config import read_config
from pigeonhole.journal import Journal, slowest
from pigeonhole.queue import Queue
from pigeonhole.worker import Worker


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(words)
    queue, now = Queue(options.file), time.time()
    if options.command == "put":
        print(queue.put(options.name, json.loads(options.body)))
    elif options.command == "work":
        config = read_config(Path(options.config))
        journal = Journal(Path(config.journal)) if config.journal else None
        known = handlers.load(*(options.handlers or config.handlers))
        worker = Worker(queue, known, time.time, time.sleep, config.limits, journal)
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        worker.run()
    elif options.command == "report":
        print(report.metrics(queue, now, options.file) if options.prometheus else report.describe(queue, now))
    elif options.command == "revive":
        return _revive(queue, options.number)
    elif options.command == "slowest":
        for name, seconds in sorted(slowest(Journal(Path(options.journal)).read()).items()):
            print(f"{name} {seconds:.1f} s")
    elif options.command == "monitor":
        monitor.make_server(options.port, options.file, time.time).serve_forever()
    elif options.command == "backup":
        backup.copy(Path(options.file), Path(options.target))
    return 0


def _revive(queue: Queue, number: int) -> int:
    """Revive one job, never all: see the incident of May 2024."""
    if number not in {known for known, _, _ in queue.set_aside(limit=1_000_000)}:
        print(f"Job {number} was not set aside.", file=sys.stderr)
        return 1
    queue.revive(number)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pigeonhole", description="A job queue in one SQLite file.")
    parser.add_argument("file")
    commands = parser.add_subparsers(dest="command", required=True)
    put = commands.add_parser("put", help="add a job")
    put.add_argument("name")
    put.add_argument("body", nargs="?", default="null", help="JSON")
    work = commands.add_parser("work", help="run jobs until SIGTERM")
    work.add_argument("handlers", nargs="*", help="modules that register handlers")
    work.add_argument("--config", default="pigeonhole.toml")
    commands.add_parser("slowest", help="how long jobs take").add_argument("journal")
    commands.add_parser("monitor", help="answer /metrics and /healthz").add_argument("port", type=int)
    commands.add_parser("report", help="what is waiting").add_argument("--prometheus", action="store_true")
    commands.add_parser("revive", help="try one job again").add_argument("number", type=int)
    commands.add_parser("backup", help="copy the file while it is used").add_argument("target")
    return parser


if __name__ == "__main__":
    sys.exit(main())
