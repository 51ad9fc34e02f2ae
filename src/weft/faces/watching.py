"""Changes below some folders, as they happen."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from watchfiles import Change

_TURN: Final = 200
"""Milliseconds of one turn of watching; between turns a stop is noticed."""
_QUIET: Final = 400
"""Changes less than so many milliseconds apart are one."""

_COMMITTED: Final = (".git", "logs", "HEAD")
"""The file that git writes to whenever another commit is checked out or made."""
_UNREAD: Final = frozenset({"node_modules", "__pycache__", "venv"})


def changes(paths: Sequence[Path], store: Path) -> Iterator[set[str]]:
    """At once an empty set, when watching has begun, then every set of paths that changed together.

    What the store itself writes, and what no source reads, does not count. It goes on until it is interrupted.
    """
    # Only those who watch load a library for it.
    from watchfiles import watch

    watching = watch(
        *paths,
        watch_filter=_Counting([path.resolve() for path in paths], store.resolve()),
        debounce=_QUIET,
        rust_timeout=_TURN,
        yield_on_timeout=True,
    )
    begun = False
    for changed in watching:
        if changed or not begun:
            begun = True
            yield {path for _, path in changed}


class _Counting:
    """Whether a change counts."""

    def __init__(self, roots: Sequence[Path], store: Path) -> None:
        self._roots, self._store = roots, store

    def __call__(self, change: "Change", path: str) -> bool:
        changed = PurePath(path)
        if changed.is_relative_to(self._store):
            return False
        return any(
            _is_read(changed.relative_to(root).parts) for root in self._roots if changed.is_relative_to(root)
        )


def _is_read(parts: tuple[str, ...]) -> bool:
    if parts == _COMMITTED or parts[-1:] in ((".gitignore",), (".weftignore",)):
        return True
    return not any(part.startswith(".") or part in _UNREAD for part in parts)
