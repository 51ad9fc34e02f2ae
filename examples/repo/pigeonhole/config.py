"""Read pigeonhole.toml; a key that is not known is an error, because it is mostly a misspelt one."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from pigeonhole.limits import Limit

_KNOWN = {"file", "handlers", "journal", "monitor_port", "limits"}


class BadConfig(ValueError):
    """The configuration cannot be used; the message names the key and what is allowed."""


@dataclass(frozen=True)
class Config:
    """What a worker needs to know before it starts."""

    file: str = "jobs.sqlite"
    handlers: tuple[str, ...] = ()
    journal: str = ""
    monitor_port: int = 0
    limits: dict[str, Limit] = field(default_factory=dict)


def read_config(path: Path) -> Config:
    """Read the file; without one the defaults hold."""
    if not path.exists():
        return Config()
    values = tomllib.loads(path.read_text("utf-8"))
    unknown = sorted(values.keys() - _KNOWN)
    if unknown:
        raise BadConfig(f"{path}: {unknown[0]!r} is not a key. Known: {', '.join(sorted(_KNOWN))}.")
    limits = {name: _limit(name, written) for name, written in values.get("limits", {}).items()}
    return Config(
        file=values.get("file", Config.file),
        handlers=tuple(values.get("handlers", ())),
        journal=values.get("journal", ""),
        monitor_port=values.get("monitor_port", 0),
        limits=limits,
    )


def _limit(name: str, written: object) -> Limit:
    """Read `"30/minute"`, or a table with `runs`, `period` and `burst`."""
    if isinstance(written, str):
        runs, _, unit = written.partition("/")
        periods = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
        if not runs.isdigit() or unit not in periods:
            raise BadConfig(f'limits.{name}: {written!r} is no limit. Write "30/minute".')
        return Limit(int(runs), periods[unit], burst=int(runs))
    if isinstance(written, dict) and {"runs", "period"} <= written.keys():
        return Limit(int(written["runs"]), float(written["period"]), int(written.get("burst", written["runs"])))
    raise BadConfig(f'limits.{name}: {written!r} is no limit. Write "30/minute".')
