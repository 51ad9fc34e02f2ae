"""Count what the hook gave to a session and its assistant used later: named in words or in calls of tools."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weft.history.sessions import Claims

if TYPE_CHECKING:
    from weft.api import Weft

USED: Final = "used"
"""The first word of the claim on an item that a session used; the tenant and the key follow."""

_TAIL_BYTES: Final = 262_144
"""How much of the end of a conversation is read: what was done since the last prompt, and little more."""
_MIN_NAME_CHARACTERS: Final = 5
"""A shorter name of a file is part of other words."""


def count_used(weft: "Weft", session: str, transcript: str) -> int:
    """Return how many of the items that a session was given its assistant has named for the first time since."""
    names = {ref: _name_of(ref[1]) for ref in weft.contexts.received(session).nodes}
    if not names:
        return 0
    said = "\n".join(_read_assistant(transcript))
    named = [ref for ref, name in names.items() if len(name) >= _MIN_NAME_CHARACTERS and name in said]
    # Claimed, so that an item that is named at every turn counts once.
    claims = Claims(weft.contexts)
    return sum(claims.claim(session, f"{USED} {tenant} {key}") for tenant, key in named)


def _name_of(key: str) -> str:
    """Return the words by which an assistant names an item: its symbol, or the last part of its path."""
    path, _, symbol = key.partition(":")[2].partition("#")
    return (symbol.rpartition(".")[2] or path.rpartition("/")[2]).partition("@")[0]


def _read_assistant(transcript: str) -> Iterator[str]:
    """Yield what the assistant wrote and called at the end of a conversation; nothing if that cannot be read."""
    try:
        with Path(transcript).open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(stream.tell() - _TAIL_BYTES, 0))
            lines = stream.read().splitlines()
    except OSError:
        return
    for line in lines:
        # Hooks' own answers are in the conversation too, but under another type.
        if b'"assistant"' not in line:
            continue
        try:
            entry: Mapping[str, Any] = json.loads(line)
        except ValueError:
            # The first line is cut where the tail begins, and the last one may still be written.
            continue
        if isinstance(entry, Mapping) and entry.get("type") == "assistant":
            yield json.dumps(entry.get("message"), ensure_ascii=False)
