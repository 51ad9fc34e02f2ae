"""What a question calls by name, whatever else it says."""

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
_LONGEST: Final = 5
_READ: Final = 40
"""How many words a name may have, and how many words of a question are looked at."""


def call_by_name(
    question: str, snapshot: Snapshot, probe: str, admits: Callable[[Node], bool] = lambda _: True
) -> tuple[Candidate, ...]:
    """The nodes that the question names, in its order; `named` is less than 1 where several share the name.

    Nodes that are not admitted have no name: a chapter called "The Lantern Company" hides no faction.
    """
    runs = dict(_runs(question))
    found = snapshot.find(sorted(set(runs.values())))
    stored = snapshot.nodes(sorted({each for ids in found.values() for each in ids}))
    admitted = {each for each, row in stored.items() if admits(row.node)}
    meant = {name: [each for each in ids if each in admitted] for name, ids in found.items()}
    spoken = _longest([run for run, name in runs.items() if meant.get(name)])
    called = {each: len(meant[runs[run]]) for run in reversed(spoken) for each in reversed(meant[runs[run]])}
    return tuple(_named(stored[each], called[each], probe) for each in reversed(called))


def _runs(question: str) -> Iterator[tuple[Span, str]]:
    """Every path, and every run of a few words that could be a name, with the name it would be."""
    yield from ((match.span(), match.group().rstrip(".")) for match in _PATH.finditer(question))
    words = [match.span() for match in _WORD.finditer(question)][:_READ]
    written = any(question[start].isupper() for start, _ in words[1:])
    for first, (start, own) in enumerate(words):
        for last in range(first, min(first + _LONGEST, len(words))):
            end = words[last][1]
            name = _POSSESSIVE.sub("", question[start:end])
            if end > own or _may_name(name, opens=first == 0, written=written):
                yield (start, end), name


def _may_name(word: str, *, opens: bool, written: bool) -> bool:
    """Whether a single word may be meant as a name: "Will" may, but not where it opens a question.

    In a question that writes names with capitals, a small word is none, unless only code is written so.
    """
    if word.isdigit() or (word.lower() in STOP_WORDS and (opens or not word[:1].isupper())):
        return False
    return not (written and word.islower()) or looks_like_code(word)


def _longest(runs: Sequence[Span]) -> list[Span]:
    """The runs without those that overlap a longer one, in the order of the question."""
    kept: list[Span] = []
    for start, end in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        if not any(low < end and start < high for low, high in kept):
            kept.append((start, end))
    return sorted(kept)


def _named(row: NodeRow, sharers: int, probe: str) -> Candidate:
    return Candidate(
        node=row.node,
        parts={"named": round(1 / sharers, 9)},
        probe=probe,
        match_source="name",
        root=row.node.key,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )
