"""One tree of errors; every message names the value, what is allowed and what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class WeftError(Exception):
    """Anything Weft refuses to do, with a message written for the person who asked."""


class InvalidInput(WeftError):
    """A value given by the caller is not one that Weft can use."""


class UnknownName(InvalidInput):
    """A name that is not in a closed set: the message lists the set and the nearest member."""

    def __init__(self, what: str, given: str, allowed: Iterable[str], hint: str = "") -> None:
        self.what, self.given, self.allowed = what, given, tuple(sorted(allowed))
        super().__init__(_unknown(what, given, self.allowed, hint))


class ProfileError(InvalidInput):
    """A profile file says something the format does not have."""


class SourceError(WeftError):
    """A source cannot be read at all (a single bad record is skipped and counted instead)."""


class StoreError(WeftError):
    """The store cannot be opened, read or written."""


class StoreTooNew(StoreError):
    """The store was written by a newer Weft than this one."""


class StoreCorrupt(StoreError):
    """The file is not a readable Weft store."""


class StoreReadOnly(StoreError):
    """The store or its disk does not take writes."""


class StoreBusy(StoreError):
    """Another writer kept the store for longer than the wait that was allowed."""


class StoreGone(StoreError):
    """The server of the store cannot be reached now; the same request may succeed later."""


class StoreAway(StoreGone):
    """The server of the store was waited for in vain: asking once more at once would wait again."""


class EmbedderMismatch(StoreError):
    """The store's vectors were made by another embedder than the one in use."""


class EmbedderError(WeftError):
    """An embedder cannot be opened or did not answer."""


class MissingExtra(WeftError):
    """An optional dependency is needed: the message says what to install."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency. Install it with: pip install 'weft[{extra}]'")


def nearest(given: str, allowed: Iterable[str]) -> str | None:
    """The allowed name most like the given one, or None when nothing is close."""
    close = get_close_matches(given, list(allowed), n=1, cutoff=0.5)
    return close[0] if close else None


def _unknown(what: str, given: str, allowed: tuple[str, ...], hint: str) -> str:
    close = nearest(given, allowed)
    parts = [f"Unknown {what} {given!r}."]
    if close:
        parts.append(f"Did you mean {close!r}?")
    parts.append(f"Valid: {', '.join(allowed) if allowed else '(none)'}.")
    if hint:
        parts.append(hint)
    return " ".join(parts)
