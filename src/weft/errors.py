"""Define every error that Weft raises on purpose, so that a caller can catch exactly what it can handle.

The tree:

    WeftError
    ├── InvalidInput              a value that the caller passed cannot be used
    │   ├── UnknownName           a name outside a closed set
    │   └── ProfileError          a profile file that does not follow the format
    ├── SourceError               a source cannot be read at all
    ├── StoreError                the store cannot be opened, read or written
    │   ├── StoreTooNew           written by a newer Weft
    │   ├── StoreCorrupt          not a readable Weft store
    │   ├── StoreReadOnly         takes no writes
    │   ├── StoreBusy             another writer holds it
    │   ├── StoreUnreachable      its server cannot be reached; retrying at once is worthwhile
    │   │   └── StoreTimedOut     its server was already waited for; retrying at once is not
    │   └── EmbedderMismatch      its vectors come from another embedder
    ├── EmbedderError             an embedder cannot be opened or did not answer
    └── MissingExtra              an optional dependency is not installed
        └── MissingPackage        a package that no extra of Weft brings is not installed

A few modules add a leaf of their own beside the code that raises it. Every message names the value, what is
allowed and what to do next.
"""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

DISTRIBUTION: Final = "weft-context"
"""The name under which Weft is installed; `weft` alone is another package."""
_MIN_NAME_SIMILARITY: Final = 0.5
"""The similarity (0 to 1, as difflib measures it) from which one name is suggested for another.

Half finds transposed and missing letters in short names; higher values stop suggesting for those, lower ones
suggest unrelated names.
"""


class WeftError(Exception):
    """Base class of all errors that Weft raises on purpose; the message is written for the person who called."""


class InvalidInput(WeftError):
    """A value passed by the caller that Weft cannot use."""


class UnknownName(InvalidInput):
    """A name outside a closed set; the message lists the set and suggests the nearest member.

    `what` is the kind of name ("format", "profile"), `name` the name that was passed, `allowed` the sorted
    set, and `hint` a closing sentence on what to do.
    """

    def __init__(self, what: str, name: str, allowed: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.allowed = what, name, tuple(sorted(allowed))
        parts = [f"Unknown {what} {name!r}."]
        # Before the list, which may be long: most unknown names are typing errors.
        if suggestion := nearest_name(name, self.allowed):
            parts.append(f"Did you mean {suggestion!r}?")
        parts.append(f"Valid: {', '.join(self.allowed) if self.allowed else '(none)'}.")
        if hint:
            parts.append(hint)
        super().__init__(" ".join(parts))


class ProfileError(InvalidInput):
    """A profile file with a key or value that the profile format does not have."""


class SourceError(WeftError):
    """A source that cannot be read at all; a single bad record is skipped and reported as a `Problem` instead."""


class StoreError(WeftError):
    """A store that cannot be opened, read or written."""


class StoreTooNew(StoreError):
    """A store written by a newer version of Weft than this one."""


class StoreCorrupt(StoreError):
    """A file that is not a readable Weft store."""


class StoreReadOnly(StoreError):
    """A write to a store, or to a disk, that does not accept writes."""


class StoreBusy(StoreError):
    """A write that gave up because another writer held the store for longer than the allowed wait."""


class StoreUnreachable(StoreError):
    """A request that failed because the store's server could not be reached or the connection to it broke.

    The request itself was valid. A broken connection is often an old one, so trying once more at once, on a new
    connection, is worthwhile.
    """


class StoreTimedOut(StoreUnreachable):
    """A request that failed after waiting the full time limit for a connection to the store's server.

    Unlike its parent class, this error should not be answered by trying again at once: that would only wait
    for the same time limit again.
    """


class EmbedderMismatch(StoreError):
    """A store whose vectors were made by another embedder than the one in use."""


class EmbedderError(WeftError):
    """An embedder that cannot be opened or did not answer."""


class MissingExtra(WeftError):
    """A feature whose optional dependency is not installed; the message gives the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency. Install it with: {extra_command(extra)}")


class MissingPackage(MissingExtra):
    """A feature that needs a package which no extra of Weft brings; the message gives the command."""

    def __init__(self, feature: str, *packages: str) -> None:
        WeftError.__init__(self, f"{feature} needs another package. Install it with: {package_command(*packages)}")


def extra_command(extra: str) -> str:
    """Return the command that adds an extra to this installation of Weft, as it was installed."""
    wanted = f"'{DISTRIBUTION}[{extra}]'"
    commands = {
        "pip": f"pip install {wanted}",
        "pipx": f"pipx install --force {wanted}",
        "uv": f"uv tool install {wanted}",
        "uvx": f"uvx --from {wanted} weft ...",
    }
    return commands[_find_installer(sys.prefix)]


def package_command(*packages: str) -> str:
    """Return the command that adds other packages beside this installation of Weft."""
    joined = " ".join(packages)
    commands = {
        "pip": f"pip install {joined}",
        "pipx": f"pipx inject {DISTRIBUTION} {joined}",
        "uv": f"uv tool install --with {','.join(packages)} {DISTRIBUTION}",
        "uvx": f"uvx --with {','.join(packages)} --from {DISTRIBUTION} weft ...",
    }
    return commands[_find_installer(sys.prefix)]


def _find_installer(prefix: str) -> str:
    """Return which program made the environment of this path: pipx and uv keep each tool in one of its own."""
    path = prefix.replace("\\", "/").lower()
    if "/pipx/" in path:
        return "pipx"
    if "/uv/tools/" in path:
        return "uv"
    return "uvx" if "/archive-v" in path or "/builds-v" in path else "pip"


def nearest_name(name: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name most similar to a name, or None if no name is similar enough."""
    close = get_close_matches(name, list(allowed), n=1, cutoff=_MIN_NAME_SIMILARITY)
    return close[0] if close else None
