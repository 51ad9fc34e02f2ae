"""A line for every job that ended: which, how long it took, how it ended."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles


@dataclass(frozen=True)
class Line:
    """One attempt at one job. Bodies are left out: they hold addresses."""

    number: int
    name: str
    attempt: int
    seconds: float
    outcome: str


class Journal:
    """A file of lines that is only appended to. Rotating it is the system's business."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, line: Line) -> None:
        """Append a line in one write, so that the lines of several workers never mix."""
        with self._path.open("ab", buffering=0) as file:
            file.write(json.dumps(asdict(line)).encode() + b"\n")

    def read(self) -> Iterator[Line]:
        """Yield the lines; one that was cut off by a full disk is passed over."""
        for written in self._path.read_text("utf-8").splitlines() if self._path.exists() else ():
            try:
                yield Line(**json.loads(written))
            except (ValueError, TypeError):
                continue


def slowest(lines: Iterator[Line]) -> dict[str, float]:
    """The 99th percentile of seconds by the name of the job: what the lease must be longer than."""
    seconds = defaultdict(list)
    for line in lines:
        seconds[line.name].append(line.seconds)
    return {name: quantiles(found, n=100)[-1] if len(found) > 1 else found[0] for name, found in seconds.items()}
