"""Find the nodes that a question calls by name, whatever else the question says."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from weft.model import Candidate, Node
from weft.ports import NodeRow, Snapshot
from weft.text import looks_like_code
from weft.text.terms import STOP_WORDS

Span = tuple[int, int]

_WORD: Final = re.compile(r"\w+(?:[-'’.]\w+)*")
_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_POSSESSIVE: Final = re.compile(r"['’]s?\Z")
_MAX_NAME_WORDS: Final = 5
"""The longest run of words that is looked up as one name. Each further word adds one look-up per word."""
_MAX_QUESTION_WORDS: Final = 40
"""Words of a question that are looked at: a pasted log is longer, and would cost hundreds of look-ups."""


def call_by_name(
    question: str, snapshot: Snapshot, probe: str, admits: Callable[[Node], bool] = lambda _: True
) -> tuple[Candidate, ...]:
    """Return the nodes that the question names, in its order; part `named` is below 1 where several share a name.

    Nodes that are not admitted have no name: a chapter called "The Lantern Company" hides no faction.
    """
    name_by_run = dict(_possible_names(question))
    found = snapshot.find(sorted(set(name_by_run.values())))
    stored = snapshot.nodes(sorted({node_id for ids in found.values() for node_id in ids}))
    admitted = {node_id for node_id, row in stored.items() if admits(row.node)}
    ids_by_name = {name: [node_id for node_id in ids if node_id in admitted] for name, ids in found.items()}
    runs = _without_overlaps([run for run, name in name_by_run.items() if ids_by_name.get(name)])
    # Filled from the end: where the question names a node twice, the first mention says how many share the name.
    sharers: dict[int, int] = {}
    for run in reversed(runs):
        ids = ids_by_name[name_by_run[run]]
        for node_id in reversed(ids):
            sharers[node_id] = len(ids)
    return tuple(_named_candidate(stored[node_id], sharers[node_id], probe) for node_id in reversed(sharers))


def _possible_names(question: str) -> Iterator[tuple[Span, str]]:
    """Yield every path, and every run of a few words that could be a name, with the name it would be."""
    yield from ((match.span(), match.group().rstrip(".")) for match in _PATH.finditer(question))
    words = [match.span() for match in _WORD.finditer(question)][:_MAX_QUESTION_WORDS]
    capitalised = any(question[start].isupper() for start, _ in words[1:])
    for first, (start, first_end) in enumerate(words):
        for last in range(first, min(first + _MAX_NAME_WORDS, len(words))):
            end = words[last][1]
            name = _POSSESSIVE.sub("", question[start:end])
            if end > first_end or _may_be_name(name, opens=first == 0, capitalised=capitalised):
                yield (start, end), name


def _may_be_name(word: str, *, opens: bool, capitalised: bool) -> bool:
    """Return whether a single word may be meant as a name: "Will" may, but not where it opens a question.

    In a question that writes names with capitals, a lower-case word is no name, unless only code is written so.
    """
    if word.isdigit() or (word.lower() in STOP_WORDS and (opens or not word[:1].isupper())):
        return False
    return not (capitalised and word.islower()) or looks_like_code(word)


def _without_overlaps(runs: Sequence[Span]) -> list[Span]:
    """Drop the runs that overlap a longer one, and return the rest in the order of the question."""
    kept: list[Span] = []
    for start, end in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        if not any(low < end and start < high for low, high in kept):
            kept.append((start, end))
    return sorted(kept)


def _named_candidate(row: NodeRow, sharers: int, probe: str) -> Candidate:
    return Candidate(
        node=row.node,
        parts={"named": round(1 / sharers, 9)},
        probe=probe,
        match_source="name",
        root=row.node.key,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )
