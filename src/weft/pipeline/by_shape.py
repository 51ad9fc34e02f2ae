"""Find what a question of some shape wants: nodes that no search for words would put first.

These are the callers of a function, the beginning of a README, the last scene of a novel, and the like.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from weft.model import Candidate
from weft.pipeline.by_conversation import find_summaries, find_turns, holds_turns, read_topic
from weft.pipeline.by_definition import find_named, list_spelled
from weft.pipeline.by_event import find_events
from weft.pipeline.by_history import (
    find_changes_of,
    find_commits,
    find_first,
    find_history,
    find_recent,
    find_recent_about,
    find_recent_in,
)
from weft.pipeline.by_release import find_newest_commits, find_release_notes, name_topic
from weft.pipeline.by_symbol import (
    find_definitions,
    find_places,
    first_line_of,
    follow_calls,
    window_around,
)
from weft.pipeline.by_text import find_manifests, find_readmes, find_scenes, find_texts_with
from weft.pipeline.folders import find_folder
from weft.pipeline.outline import (
    OUTLINED_KINDS,
    describe_change,
    find_files_called,
    find_members,
    shown_first,
)
from weft.pipeline.plan import Plan, passes_filter
from weft.pipeline.query import Query, Reading
from weft.pipeline.retrieve import measure_nodes
from weft.pipeline.score import is_sample, name_share
from weft.pipeline.shape_phrases import OF_CONVERSATIONS, WORDS, Shape
from weft.pipeline.shape_subject import Subject, members_of
from weft.pipeline.shapes import CODE_KINDS, COMMIT, TEST_TAG, Shapes, Wanted
from weft.pipeline.uses import list_users
from weft.text import analyze

_MAX_ROOTS: Final = 8
"""Functions that match a question best, of which the one with the best flow is followed."""
_MAX_SHOWN_CALLS: Final = 12
"""Callers that are shown with the lines around the call; of more, each is shown by one line, so that all fit."""
_TURN_VALUES: Final = {Shape.ORDER: 0.45, Shape.COUNT: 0.45, Shape.SUMMARY: 0.3}
"""How much every turn is wanted where the course of conversations is asked for; the topic orders them. Where all
mentions count, the beginning of the last one comes before the code in the first; a summary has two sides."""
_WHOLE_VALUE: Final = 0.6
"""The same where the question has no topic: then the summaries of the newest days come before the turns."""
_SUMMARY_VALUE: Final = 0.7
_WHOLE_SUMMARY_VALUE: Final = 1.0
"""How much the summary of a day is wanted that is all about the topic, or where there is none."""
_EVENT_VALUE: Final = 0.6
"""How much a passage is wanted that tells beside a name of the event in somebody's life that is asked for."""
_MAX_NAMED_FILES: Final = 2
"""Files of one name that are outlined; many folders have an `__init__.py`."""
_ASKS_SMALLEST: Final = re.compile(r"(?i)\b(?:smallest|simplest|shortest|minimal|easiest)\b")
_MAX_EXAMPLE_PARTS: Final = 3
"""Definitions in other files that belong to an example and are shown with it."""
_ASKS_LANGUAGE: Final = re.compile(rf"(?i)\b(?:{WORDS['language']})(?!\w)")
"""A question about a programming language; where it asks for a manifest, about the versions of it."""
_ASKS_PACKAGES: Final = re.compile(r"(?i)\b(?:dependenc|packages?|librar|requirements?|install)")


def find_by_shape(
    shapes: Shapes, plan: Plan, query: Query, reading: Reading, found: Sequence[Candidate]
) -> dict[int, list[Wanted]]:
    """Return the nodes that the shapes of a question want, by id, each with the shape that wants it most first."""
    subject = Subject(shapes, plan, query, reading, found)
    wanted: dict[int, list[Wanted]] = {}
    for shape, find in _FINDERS.items():
        named = shapes.names or shapes.type or shapes.spelled
        if shape not in shapes.asked and not (shape is Shape.DEFINITION and named):
            continue
        for each in find(subject):
            if passes_filter(each.row.node, plan.request.filter):
                wanted.setdefault(each.row.node.id, []).append(each)
    # Stable, so that of equal values the first in the order of the finders counts.
    return {number: sorted(each, key=lambda one: -one.value) for number, each in wanted.items()}


# --- history -----------------------------------------------------------------------------------------------


def _find_history(subject: Subject) -> Iterator[Wanted]:
    """Yield the commits that match the words of the question, unless the newest or a release are wanted."""
    asked = subject.shapes.asked
    if Shape.RECENT in asked and (not _is_named(subject.shapes) or any(_find_recent(subject))):
        return
    if not any(_find_release(subject)):
        releases = Shape.RELEASES in asked
        yield from find_first(subject.query.text, subject.shapes.names[:2], subject.reading, releases=releases)
        yield from find_changes_of(subject.query.text, subject.shapes.names[:1], subject.reading)
        yield from find_history(subject.plan, subject.query, subject.reading, releases=releases)


def _find_recent(subject: Subject) -> Iterator[Wanted]:
    """Yield the newest commits that changed what the question names, or that are about its topic, or of all."""
    # "What is the newest release, and what changed in it?" is answered by its notes.
    if COMMIT not in subject.reading.snapshot.kinds() or any(_find_release(subject)):
        return
    topic = " ".join(name_topic(subject.query.text, subject.reading))
    if _is_named(subject.shapes):
        yield from find_recent(subject.shapes, subject.reading)
    elif topic:
        folder = find_folder(topic, subject.reading)
        if folder is not None:
            yield from find_recent_in(folder, subject.reading)
        else:
            yield from find_recent_about(topic, subject.plan, subject.reading)
    else:
        yield from find_newest_commits(subject.plan, subject.reading)


def _is_named(shapes: Shapes) -> bool:
    return bool(shapes.names or shapes.type or shapes.files)


def _find_release(subject: Subject) -> Iterator[Wanted]:
    """Yield the notes of a release, unless the version is that of something else, such as Python."""
    if Shape.VERSION in subject.shapes.asked and Shape.MANIFEST not in subject.shapes.asked:
        yield from find_release_notes(subject.plan, subject.reading)


def _find_commits(subject: Subject) -> Iterator[Wanted]:
    """Yield the commits whose hashes begin as the question says, with the files that each changed."""
    for row in find_commits(subject.shapes.hashes, subject.reading):
        files = row.node.fields.get("files_changed")
        mark = describe_change(row.node, [str(file) for file in files] if isinstance(files, list | tuple) else ())
        yield Wanted(row, Shape.COMMIT, 1.0, mark=mark)


# --- code --------------------------------------------------------------------------------------------------


def _find_files(subject: Subject) -> Iterator[Wanted]:
    """Yield the files that a question names, each with an outline of it."""
    for rank, file in enumerate(subject.shapes.files):
        rows = find_files_called(file, subject.reading)
        for row in rows[:_MAX_NAMED_FILES]:
            yield Wanted(row, Shape.FILE, 0.9 - 0.1 * rank, members=members_of(row.node, subject))


def _find_callers(subject: Subject) -> Iterator[Wanted]:
    """Yield everything that uses what the question names, those in tests last, each by the lines that do."""
    for name in subject.shapes.names[:2]:
        listed = list_users(name, subject.query.text, subject.reading)
        show = window_around if len(listed) <= _MAX_SHOWN_CALLS else first_line_of
        for rank, use in enumerate(listed):
            value = 0.4 if use.is_test else 1.0
            part = show(use.row.node.text, use.spans)
            yield Wanted(use.row, Shape.CALLERS, max(value - 0.01 * rank, 0.1), part)


def _find_parameters(subject: Subject) -> Iterator[Wanted]:
    from weft.pipeline.by_parameter import find_parameters

    yield from find_parameters(subject)


def _find_tests(subject: Subject) -> Iterator[Wanted]:
    from weft.pipeline.by_test import find_tests

    yield from find_tests(subject.shapes.names[:2], subject.plan, subject.query, subject.reading)


def _find_flow(subject: Subject) -> Iterator[Wanted]:
    """Yield the function that the question names, or the one that matches it best, and what it calls, in order."""
    relevance = {one.node.id: one.parts.get("relevance", 0.0) for one in subject.found}
    named = [row for name in subject.shapes.names for row in find_definitions(name, subject.reading)]
    if not named:
        # "In which order do cleanup contexts run" is about what the class CleanupContext does, if it does much.
        types = [row.node for row in list_spelled(subject) if row.node.kind in OUTLINED_KINDS]
        methods = [each.id for node in types for each in find_members(node, subject.reading)]
        named = list(subject.reading.snapshot.nodes(methods).values())
    roots = [row for row in named if not is_sample(row.node)]
    # "The sync client" is Client and not AsyncClient: of several of one name, those that have no other words.
    terms = frozenset(analyze(subject.query.text))
    shares = {row.node.id: name_share(row.node.title, terms) for row in roots}
    roots = [row for row in roots if shares[row.node.id] == max(shares.values())]
    if not roots:
        best = sorted(subject.found, key=lambda one: (-relevance[one.node.id], *one.node.ref))
        functions = [one.node.id for one in best if one.node.kind in ("function", "method")]
        stored = subject.reading.snapshot.nodes(functions).values()
        roots = [row for row in stored if not is_sample(row.node)][:_MAX_ROOTS]
    reading, fusion = subject.reading, subject.plan.profile.fusion
    measure = partial(measure_nodes, query=subject.query, fusion=fusion, snapshot=reading.snapshot)
    steps = follow_calls(roots, measure, reading)
    # Helpers on the way come after what the flow goes through.
    ordered = sorted(steps, key=lambda step: not step.leads_on)
    for rank, step in enumerate(ordered):
        yield Wanted(step.row, Shape.FLOW, max(1.0 - 0.08 * rank, 0.2), step.part, alone=False)


def _find_example(subject: Subject) -> Iterator[Wanted]:
    """Yield an example of what is to be added, the places that name all of its kind, and what it needs."""
    from weft.pipeline.by_example import find_example

    question = subject.query.text
    smallest = _ASKS_SMALLEST.search(question) is not None
    example = find_example(subject.found, question, subject.shapes.names, subject.reading, smallest=smallest)
    if example is None:
        return
    members, code = members_of(example.row.node, subject), shown_first(example.row.node)
    yield Wanted(example.row, Shape.EXAMPLE, 0.9, code, alone=False, members=members)
    # What the members of a class do is not seen from their signatures.
    longest = sorted(members, key=lambda node: (-len(node.text), node.key))[:_MAX_EXAMPLE_PARTS]
    for rank, row in enumerate(subject.reading.snapshot.nodes([node.id for node in longest]).values()):
        yield Wanted(row, Shape.EXAMPLE, 0.84 - 0.1 * rank)
    for rank, (row, part) in enumerate(example.places):
        yield Wanted(row, Shape.EXAMPLE, 0.85 - 0.2 * rank, part)
    for rank, row in enumerate(example.parts[:_MAX_EXAMPLE_PARTS]):
        yield Wanted(row, Shape.EXAMPLE, 0.8 - 0.1 * rank, members=members_of(row.node, subject))


def _find_errors(subject: Subject) -> Iterator[Wanted]:
    """Yield where the errors that match the question are raised."""
    from weft.pipeline.by_error import find_errors

    yield from find_errors(subject.found, subject.reading)


def _find_traceback(subject: Subject) -> Iterator[Wanted]:
    """Yield the definitions of the frames that the store holds, the innermost first."""
    # The innermost frame comes last in what people paste.
    places = find_places(tuple(reversed(subject.shapes.frames)), subject.reading)
    for rank, (row, part) in enumerate(places):
        yield Wanted(row, Shape.TRACEBACK, max(0.9 - 0.08 * rank, 0.3), part, alone=False)


def _find_places(subject: Subject) -> Iterator[Wanted]:
    for row, part in find_places(subject.shapes.places, subject.reading):
        yield Wanted(row, Shape.PLACE, 1.0, part, alone=False)


# --- documents and stories ---------------------------------------------------------------------------------


def _find_quotations(subject: Subject) -> Iterator[Wanted]:
    """Yield the texts that hold a long enough run of the words of an error message or of a quotation."""
    is_error = Shape.TRACEBACK in subject.shapes.asked
    kinds = tuple(kind for kind in subject.reading.snapshot.kinds() if kind != COMMIT)
    for rank, (row, part) in enumerate(find_texts_with(subject.shapes.quotations, subject.reading, kinds)):
        # An error is raised by code; what documents say about it comes after that.
        factor = 0.6 if TEST_TAG in row.node.tags else 1.0 if row.node.kind in CODE_KINDS or not is_error else 0.8
        yield Wanted(row, Shape.QUOTATION, factor * max(1.0 - 0.1 * rank, 0.2), part, alone=False)


def _find_overview(subject: Subject) -> Iterator[Wanted]:
    for rank, (row, part) in enumerate(find_readmes(subject.reading)):
        yield Wanted(row, Shape.OVERVIEW, 1.0 - 0.1 * rank, part)
    for rank, (row, part) in enumerate(find_manifests(subject.reading, "description")):
        yield Wanted(row, Shape.OVERVIEW, 0.5 - 0.1 * rank, part)


def _find_manifest(subject: Subject) -> Iterator[Wanted]:
    question = subject.query.text
    is_version = _ASKS_LANGUAGE.search(question) and not _ASKS_PACKAGES.search(question)
    about = "language" if is_version else "requirements"
    for rank, (row, part) in enumerate(find_manifests(subject.reading, about)):
        yield Wanted(row, Shape.MANIFEST, 1.0 - 0.1 * rank, part)


def _find_automation(subject: Subject) -> Iterator[Wanted]:
    from weft.pipeline.by_setting import find_automation

    yield from find_automation(subject.plan, subject.query, subject.reading)


def _find_settings(subject: Subject) -> Iterator[Wanted]:
    from weft.pipeline.by_setting import find_settings

    yield from find_settings(subject.plan, subject.query, subject.reading)


def _find_environment(subject: Subject) -> Iterator[Wanted]:
    from weft.pipeline.by_setting import find_environment

    yield from find_environment(subject.query, subject.plan, subject.reading)


def _find_opening(subject: Subject) -> Iterator[Wanted]:
    for rank, (row, part) in find_scenes(subject.reading, subject.shapes.chapters, last=False):
        yield Wanted(row, Shape.OPENING, 0.6**rank, part)


def _find_event(subject: Subject) -> Iterator[Wanted]:
    for row, worth, part in find_events(subject.plan.request.question, subject.reading):
        yield Wanted(row, Shape.EVENT, _EVENT_VALUE * worth, part, alone=False)


def _find_ending(subject: Subject) -> Iterator[Wanted]:
    for rank, (row, part) in find_scenes(subject.reading, subject.shapes.chapters, last=True):
        yield Wanted(row, Shape.ENDING, 0.7**rank, part)


# --- conversations -----------------------------------------------------------------------------------------


def _find_course(shape: Shape, subject: Subject) -> Iterator[Wanted]:
    """Yield all that the person said, if the store holds conversations."""
    if not holds_turns(subject.reading.snapshot):
        return
    topic = read_topic(subject.plan.request.question)
    # "Summarise our conversations" is about all of them.
    value = _TURN_VALUES[shape] if topic else _WHOLE_VALUE
    for row, part in find_turns(subject.plan, subject.query, subject.reading):
        yield Wanted(row, shape, value, part, alone=False)
    if shape is not Shape.COUNT:
        for row, relevance, head in find_summaries(subject.plan, subject.query, subject.reading, topic):
            is_whole = shape is Shape.SUMMARY or not topic
            value = _WHOLE_SUMMARY_VALUE if is_whole else _SUMMARY_VALUE * relevance
            yield Wanted(row, shape, value, head if is_whole else None, alone=False)


_FINDERS: Final[Mapping[Shape, Callable[[Subject], Iterable[Wanted]]]] = {
    Shape.HISTORY: _find_history,
    Shape.RECENT: _find_recent,
    Shape.VERSION: _find_release,
    Shape.COMMIT: _find_commits,
    Shape.TESTS: _find_tests,
    Shape.DEFINITION: find_named,
    Shape.CALLERS: _find_callers,
    Shape.PARAMETER: _find_parameters,
    Shape.FLOW: _find_flow,
    Shape.EXAMPLE: _find_example,
    Shape.ERRORS: _find_errors,
    Shape.TRACEBACK: _find_traceback,
    Shape.PLACE: _find_places,
    Shape.FILE: _find_files,
    Shape.QUOTATION: _find_quotations,
    Shape.OVERVIEW: _find_overview,
    Shape.MANIFEST: _find_manifest,
    Shape.AUTOMATION: _find_automation,
    Shape.SETTINGS: _find_settings,
    Shape.ENVIRONMENT: _find_environment,
    Shape.OPENING: _find_opening,
    Shape.ENDING: _find_ending,
    Shape.EVENT: _find_event,
    **{shape: partial(_find_course, shape) for shape in sorted(OF_CONVERSATIONS)},
}
