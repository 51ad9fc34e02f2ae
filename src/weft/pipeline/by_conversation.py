"""Find what people said in conversations, for questions about the order, the sum or the whole of it.

A search brings the likeliest turns. Who asks in which order things came up, how many there were, or for a summary
wants all that were about the matter: every turn of a person becomes a candidate, with the words before its code.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from weft.model import Filter
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query, Reading
from weft.pipeline.retrieve import search
from weft.pipeline.shape_phrases import Speaker
from weft.pipeline.shapes import Span
from weft.pipeline.standing import SUMMARY
from weft.ports import NodeRow, Snapshot
from weft.profiles.types import Probe
from weft.runtime.cache import LruCache
from weft.text.terms import STOP_WORDS, analyze

_MAX_TURNS: Final = 400
"""Turns that all become candidates, some 20,000 tokens; of more, those that a search finds."""
_MAX_PART_CHARACTERS: Final = 600
"""The beginning of a turn that is shown first: what people want comes before the details."""
_MAX_SUMMARIES: Final = 8
"""Summaries of days that are candidates, each of some thousand tokens."""
_MAX_NEWEST: Final = 2_000
"""Summaries, the last that were stored, among which the newest are sought."""
_COURSE: Final = "\nCourse:"
"""The line of a summary (`sources/chat/summaries.py`) behind which each turn has a line."""
_FAR_PAST: Final = datetime(1, 1, 1, tzinfo=UTC)
_PERSONS_TURNS: Final = Filter(where=(("role", Speaker.PERSON.value),))
_HOLDS_TURNS: Final[LruCache[tuple[object, ...], bool]] = LruCache(32)
"""Whether a view holds what people said in conversations, until its store changes."""
_FRAME_WORDS: Final = re.compile(
    r"""\b(?:
        # The request itself, and how long the answer should be.
        (?:can|could|would|will)\ you | please | (?:give|tell|show)\ (?:me|us) | provide | list\ (?:the|all|every)
      | (?:walk|take|run|lead)\ (?:me|us)\ through | how\ (?:many|much|often) | in\ total | including
      | (?:(?:mention|name|list|give)\ )?(?:(?:only|just|exactly|at\ most|and)\ )+\w+\ (?:items?|points?|things?)
        # What is wanted: a summary, an order.
      | (?:comprehensive|complete|detailed|clear|brief|short|thorough|full)\ (?:summary|recap|overview|account)
      | summary | recap | overview | summari[sz]e | sum\ up | timeline | chronological(?:ly)?\ (?:order)?
      | (?:the\ )?order\ (?:in\ which|that) | in\ order | (?:in\ )?(?:which|what)\ order
        # Where it was said, and that it was.
      | (?:(?:in|over|throughout|across|during|from)\ )?(?:all\ )?(?:of\ )?(?:our|my|the|these|those|different)
        \ (?:\w+\ )?(?:conversation|discussion|session|chat|message|request|question|interaction|exchange)s?
      | what\ (?:happened|(?:have|did)\ (?:i|we)\ (?:discuss|cover|talk\ about))
      | over\ time | so\ far | (?:different|various|several|all\ the)\ (?:aspects?|topics?|things?|parts?)
      | (?:i|we)(?:'ve|\ have)?\ (?:brought\ up|mention(?:ed)?|discuss(?:ed)?|raised|covered|talked\ about)
      | progressed | developed | evolved
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that ask for an order, a summary or a number; few texts hold them, so that they outweigh the topic."""
_FENCE: Final = re.compile(r"(?m)^[ \t]*(?:```|~~~)")


def holds_turns(snapshot: Snapshot) -> bool:
    """Return whether a view holds what a person said in conversations with an assistant."""
    state = (snapshot.identity, snapshot.sequence, snapshot.view)
    return _HOLDS_TURNS.get_or_make(state, lambda: len(snapshot.matching_ids(_PERSONS_TURNS)) > 0)


def read_topic(question: str) -> str:
    """Return what a question about the course of conversations is about, without the words that ask for that.

    A question about conversations as such has no topic.
    """
    topic = " ".join(_FRAME_WORDS.sub(" ", question.replace("\u2019", "'")).split())
    return "" if STOP_WORDS.issuperset(analyze(topic)) else topic


def find_turns(plan: Plan, query: Query, reading: Reading) -> Iterator[tuple[NodeRow, Span | None]]:
    """Yield what the person said, in order, each with the part to show first if it is long."""
    snapshot, filter = reading.snapshot, plan.request.filter
    wanted = replace(filter, where=(*filter.where, *_PERSONS_TURNS.where))
    ids = snapshot.matching_ids(wanted).tolist()
    if len(ids) > _MAX_TURNS:
        probe = Probe("turns", limit=_MAX_TURNS)
        found = search(query, probe, wanted, plan.profile.fusion, snapshot, reading.index)
        ids = [candidate.node.id for candidate in found.candidates]
    for row in snapshot.nodes(sorted(ids)).values():
        yield row, _first_words(row.node.text)


def find_summaries(
    plan: Plan, query: Query, reading: Reading, topic: str
) -> list[tuple[NodeRow, float, Span | None]]:
    """Return the summaries of the days that are most about the topic, each with its relevance from 0 to 1.

    Without a topic these are the newest days. The span is what comes before the course of the day, turn by turn.
    """
    snapshot, filter = reading.snapshot, plan.request.filter
    if SUMMARY not in snapshot.kinds() or filter.kinds:
        return []
    wanted = replace(filter, kinds=(SUMMARY,))
    if topic:
        probe = Probe("summaries", limit=_MAX_SUMMARIES)
        found = search(query, probe, wanted, plan.profile.fusion, snapshot, reading.index).candidates
        rows = snapshot.nodes([candidate.node.id for candidate in found])
        return [
            (rows[each.node.id], each.parts["relevance"], _head(rows[each.node.id].node.text)) for each in found
        ]
    rows = snapshot.nodes(snapshot.matching_ids(wanted)[-_MAX_NEWEST:].tolist())
    newest = sorted(rows.values(), key=lambda row: (row.node.created or _FAR_PAST, row.node.key), reverse=True)
    return [(row, 1.0, _head(row.node.text)) for row in newest[:_MAX_SUMMARIES]]


def _head(text: str) -> Span | None:
    """Return the part of a summary before the course of the day; None where it has none."""
    end = text.find(_COURSE)
    return (0, end) if end > 0 else None


def _first_words(text: str) -> Span | None:
    """Return the beginning of a text, before its code and to the end of a line or sentence; None for all of it."""
    if len(text) <= _MAX_PART_CHARACTERS:
        return None
    fence = _FENCE.search(text)
    end = min(fence.start() if fence and fence.start() else len(text), _MAX_PART_CHARACTERS)
    if end == _MAX_PART_CHARACTERS:
        ends = [text.rfind(mark, 0, end) for mark in ("\n", ". ", "? ")]
        end = max(ends) + 1 if max(ends) > 0 else end
    return 0, end
