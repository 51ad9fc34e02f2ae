"""Find the lines of settings that a question asks for, and what runs for every change or by hand."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from weft.pipeline.by_symbol import rows_with_terms, span_of_lines, window_around
from weft.pipeline.by_text import find_manifests, find_workflows, is_workflow
from weft.pipeline.plan import Plan
from weft.pipeline.query import Query, Reading
from weft.pipeline.retrieve import measure_nodes, search
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import CODE_KINDS, Wanted
from weft.profiles.types import Probe
from weft.scoring.bm25 import term_hashes
from weft.text import analyze

_CONFIG: Final = "config"
_ASKS_TO_RUN: Final = re.compile(r"(?i)\b(?:how|where) (?:do|can|should|to|would)\b")
"""A question how somebody runs the tests or builds the whole, and not what runs by itself."""
_MAX_SETTINGS: Final = 4
_VALUE: Final = 0.9
"""How much the settings are wanted that match all words of the question."""
_FRAME_TERMS: Final = frozenset(
    term_hashes(
        analyze(
            "which what where how config configuration configured configure setting settings option file enable"
            " enabled enables disable disabled use used run runs set turned switched on off"
        )
    )
)
"""Terms that ask for settings, and say nothing about which."""
_WINDOW_LINES: Final = 12
"""Lines of a file of settings that are looked at together: the heading of a table, and what stands below it."""
_MIN_LONG_LINES: Final = 20
_MATRIX: Final = re.compile(r"(?m)^[ \t-]*matrix[ \t]*:[ \t]*$")
"""The line of a workflow below which the versions and systems stand that the project is tested with."""
_MATRIX_LINES: Final = 14
_TEXT_KINDS: Final = ("document", "section", "note")
_ENVIRONMENT_WORDS: Final = "environment variable env getenv environ"
_MAX_ENVIRONMENT: Final = 80
"""Passages that are looked at for variables of the environment."""
_READS_ENVIRONMENT: Final = re.compile(
    r"(?i:getenv|lookupenv|\benviron\b|process\.env\b|env::var|\bENV\[|GetEnvironmentVariable)"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9](?=[\s\S]{0,400}?(?i:environment[ -]var|env[ -]var))"
    r"|(?i:environment[ -]var|env[ -]var)[\s\S]{0,400}?[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b"
)
"""A call that reads a variable, or a name in capitals beside what says that it is one."""


def find_settings(plan: Plan, query: Query, reading: Reading) -> Iterator[Wanted]:
    """Yield the files of settings that match the question, each by the lines that do, outside of examples."""
    if _CONFIG not in reading.snapshot.kinds():
        return
    filter = replace(plan.request.filter, kinds=(_CONFIG,))
    probe = Probe("settings", limit=2 * _MAX_SETTINGS)
    found = search(query, probe, filter, plan.profile.fusion, reading.snapshot, reading.index).candidates
    own = [one for one in found if not is_sample(one.node)][:_MAX_SETTINGS]
    stored = reading.snapshot.nodes([one.node.id for one in own])
    rarities = {term: rarity for term, rarity in query.rarities().items() if term not in _FRAME_TERMS}
    for one in own:
        text = stored[one.node.id].node.text
        worth, first = _best_window(text, rarities)
        # A file that says nothing about the question is found for its name alone.
        if worth > 0:
            is_long = text.count("\n") >= _MIN_LONG_LINES
            part = span_of_lines(text, first, first + _WINDOW_LINES - 1) if is_long else None
            value = _VALUE * worth / max(sum(rarities.values()), 1e-9)
            yield Wanted(stored[one.node.id], Shape.SETTINGS, value, part, alone=False)


def _best_window(text: str, rarities: Mapping[int, float]) -> tuple[float, int]:
    """Return how much of the question's words the best lines of a text have, and the first of these lines."""
    lines = [set(term_hashes(analyze(line))) & rarities.keys() for line in text.split("\n")]
    best, first = 0.0, 0
    for index, own in enumerate(lines):
        if own:
            held = set().union(*lines[index : index + _WINDOW_LINES])
            worth = sum(rarities[term] for term in sorted(held))
            if worth > best + 1e-9:
                best, first = worth, index
    return best, first


def find_automation(plan: Plan, query: Query, reading: Reading) -> Iterator[Wanted]:
    """Yield what runs for every change; of what somebody wants to run by hand, what speaks to that most."""
    by_hand = _ASKS_TO_RUN.search(query.text) is not None
    rows = find_workflows(reading, by_hand=by_hand)
    if by_hand:
        for row, part in find_manifests(reading, "scripts"):
            yield Wanted(row, Shape.AUTOMATION, 0.85, part)
        relevance = measure_nodes([row.node.id for row in rows], query, plan.profile.fusion, reading.snapshot)
        rows.sort(key=lambda row: (is_workflow(row.node), -relevance.get(row.node.id, 0.0), row.node.key))
    for rank, row in enumerate(rows):
        matrix = _MATRIX.search(row.node.text)
        line = row.node.text.count("\n", 0, matrix.start()) if matrix else 0
        # What a project supports is what it is tested with, which stands in the middle of a long file.
        part = span_of_lines(row.node.text, line, line + _MATRIX_LINES) if matrix and not by_hand else None
        yield Wanted(row, Shape.AUTOMATION, max(0.9 - 0.1 * rank, 0.3), part, alone=False)


def find_environment(query: Query, plan: Plan, reading: Reading) -> Iterator[Wanted]:
    """Yield what reads variables of the environment or tells of them, what matches the question best first."""
    kinds = tuple(kind for kind in reading.snapshot.kinds() if kind in (*CODE_KINDS, *_TEXT_KINDS))
    rows = [
        row
        for row in rows_with_terms(analyze(_ENVIRONMENT_WORDS), kinds, _MAX_ENVIRONMENT, reading)
        if not is_sample(row.node) and _READS_ENVIRONMENT.search(row.node.text)
    ]
    relevance = measure_nodes([row.node.id for row in rows], query, plan.profile.fusion, reading.snapshot)
    rows.sort(key=lambda row: (-relevance.get(row.node.id, 0.0), *row.node.ref))
    for rank, row in enumerate(rows[:_MAX_SETTINGS]):
        places = [match.span() for match in _READS_ENVIRONMENT.finditer(row.node.text)]
        yield Wanted(
            row, Shape.ENVIRONMENT, 0.7 - 0.1 * rank, window_around(row.node.text, places[:1]), alone=False
        )
