"""Say what sessions were given, prompt by prompt, from the contexts that are kept."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from weft.history import Record
from weft.model import Detail, LedgerEntry

LAST_CONTEXTS: Final = 200
"""Kept contexts that are looked through, the newest ones: reading one takes about a millisecond."""
_MAX_PROMPTS: Final = 60
"""Prompts that are told of one session, the newest ones."""
_LEFT_OUT_NAMED: Final = 5
"""Items that a prompt was not given which are named, the best ones."""


class SessionLine(Struct, frozen=True):
    """One session: its name, how many pages it was given, how many tokens in all, and when the last one was."""

    name: str
    pages: int
    tokens: int
    last: str
    asked: str


class Given(Struct, frozen=True):
    """One page that was handed out: what was asked, what was printed and why, and the best of what was not."""

    id: str
    made: str
    asked: str
    profile: str
    tokens: int
    max_tokens: int | None
    items: tuple[LedgerEntry, ...]
    left_out: tuple[LedgerEntry, ...]
    left_out_count: int
    notes: tuple[str, ...]


class GivenPages(Struct, frozen=True):
    """The sessions that are known, newest first, and the pages of the one that was chosen, oldest first."""

    sessions: tuple[SessionLine, ...]
    session: str = ""
    pages: tuple[Given, ...] = ()


def read_given(newest: Iterable[Record], session: str | None = None) -> GivenPages:
    """Return the sessions of kept contexts, newest first; pages outside a session have an empty name."""
    by_session: dict[str, list[Record]] = {}
    for record in newest:
        by_session.setdefault(record.session, []).append(record)
    lines = tuple(_line(name, records) for name, records in by_session.items())
    chosen = session if session in by_session else next(iter(by_session), "")
    records = by_session.get(chosen, [])[:_MAX_PROMPTS]
    return GivenPages(lines, chosen, tuple(_describe(record) for record in reversed(records)))


def _line(name: str, records: list[Record]) -> SessionLine:
    newest, oldest = records[0], records[-1]
    return SessionLine(name, len(records), sum(each.tokens for each in records), newest.made, oldest.asked)


def _describe(record: Record) -> Given:
    printed = tuple(entry for entry in record.ledger if entry.detail is not Detail.DROPPED)
    dropped = [entry for entry in record.ledger if entry.detail is Detail.DROPPED]
    dropped.sort(key=lambda entry: (-entry.score, entry.tenant, entry.key))
    return Given(
        id=record.id,
        made=record.made,
        asked=record.asked,
        profile=str(record.request.get("profile") or ""),
        tokens=record.tokens,
        max_tokens=record.max_tokens,
        items=printed,
        left_out=tuple(dropped[:_LEFT_OUT_NAMED]),
        left_out_count=len(dropped),
        notes=record.notes,
    )
