"""Find what a release brought, which release is the newest, and the newest commits of a repository."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Filter
from weft.pipeline.by_history import message_part, newest_first
from weft.pipeline.by_text import Found, find_files, find_manifests, find_sections
from weft.pipeline.plan import Plan
from weft.pipeline.query import Reading
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import COMMIT, Span, Wanted
from weft.ports import NodeRow
from weft.text import name_words

_CHANGE_LOG_FILES: Final = tuple(
    f"{folder}{name}{ending}"
    for folder in ("", "docs/", "doc/en/", "docs/en/docs/")
    for name in ("CHANGELOG", "CHANGES", "HISTORY", "NEWS", "RELEASES", "changelog", "changes", "release-notes")
    for ending in (".md", ".rst", ".txt", "")
)
"""Files that tell what each release brought, the most likely first."""
_VERSION: Final = re.compile(
    r"(?i)(?:\b(?:versions?|releases?|in|since|for|of)\s+v?(\d+(?:\.\d+){0,3})|\bv?(\d+(?:\.\d+){1,3}))(?![\w.]*\d)"
)
"""A version that a question names; a number without a dot is one only behind such a word."""
_RELEASE_HEADING: Final = re.compile(
    r"(?m)^(?P<mark>#{1,4}[ \t]+|\*\*)?(?P<words>(?:[\w-]+[ \t]+){0,2})\[?[vV]?(?P<version>\d+(?:\.\d+){1,3})\b"
    r"[^\n]{0,300}(?P<rule>\n[=\-~^*]{3,})?"
)
"""A heading that holds a version: marked as one, underlined, or beginning with `Version`."""
_VERSION_WORD: Final = re.compile(r"(?i)\b(?:version|release)\b")
_UNRELEASED: Final = re.compile(r"(?i)unreleased|not yet released|in development|to be released|tbd|\?\?")
_MAX_HEAD_CHARACTERS: Final = 120
"""Characters at the beginning of a section that may say that it is not released yet: its heading and a line."""
_ASKS_UNRELEASED: Final = re.compile(r"(?i)\b(?:next|upcoming|coming|unreleased|future)\b")
_ASKS_NUMBER: Final = re.compile(
    r"(?i)\b(?:what|which) version\b|\bwhat(?:'s| is) (?:the|its|your) (?:\w+ )?version\b|\bcurrent version\b"
)
_MAX_NEWEST: Final = 8
_MAX_READ_COMMITS: Final = 400
"""Commits whose dates are read at once, from both ends of the order in which they were stored."""
_TOPIC_VALUE: Final = 0.4
"""How much the notes of a release are wanted where a question is about one thing in them; a search finds that."""
_FRAME_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        what whats which who when where how was were is are has have had been be did do does the a an of in for to
        this that these it its and or with by on since from about please show me list give tell us i we my our you
        your now any all main important notable summary summarize describe details
        new newest latest last most recent recently lately current currently next upcoming coming unreleased future
        stable major minor release releases released version versions v changelog log logs notes commit commits
        change changes changed history modified modifications edit edits edited touched updated update updates
        happened happens happening going activity worked working breaking added removed fixed deprecated merged
        landed shipped features feature bugs bug fixes contain contains bring brought brings introduced come came
        out get got week month
        here there project repo repository code codebase library package tool framework
        """,
    )
)
"""Words that ask for releases or recent changes as such, and name nothing that these would be about."""


class Release(Struct, frozen=True):
    """The section of a change log about one release."""

    version: tuple[int, ...]
    span: Span
    is_out: bool


def find_release_notes(plan: Plan, reading: Reading) -> Iterator[Wanted]:
    """Yield what change logs tell of the release that a question names, or of the newest one.

    Where it asks which version this is, also the lines of a manifest that say so.
    """
    question = plan.request.question
    asked = [_parse_version(match[1] or match[2]) for match in _VERSION.finditer(question)]
    topic = name_topic(question, reading)
    if topic and not asked:
        return
    value = _TOPIC_VALUE if topic else 1.0
    if not topic and not asked and _ASKS_NUMBER.search(question):
        for rank, (row, part) in enumerate(find_manifests(reading, "version")):
            yield Wanted(row, Shape.VERSION, 1.0 - 0.1 * rank, part)
        value = 0.5
    unreleased = _ASKS_UNRELEASED.search(question) is not None
    for rank, (row, part) in enumerate(_find_notes(asked, reading, unreleased=unreleased)):
        yield Wanted(row, Shape.VERSION, value - 0.02 * rank, part)


def name_topic(question: str, reading: Reading) -> tuple[str, ...]:
    """Return the words of a question about releases or recent changes that say what these should be about."""
    own = {word for source in reading.snapshot.sources() for word in name_words(source)}
    words = name_words(question)
    return tuple(word for word in words if word not in _FRAME_WORDS | own and not any(map(str.isdigit, word)))


def _find_notes(asked: Sequence[tuple[int, ...]], reading: Reading, *, unreleased: bool) -> list[Found]:
    for file in find_files(_CHANGE_LOG_FILES, reading):
        read = read_releases(file.node.text)
        releases = [(release, (file, release.span)) for release in read] or _stored_releases(file, reading)
        notes = dict(releases)
        chosen = _choose(list(notes), asked) if asked else _newest(list(notes), unreleased=unreleased)
        if chosen:
            row, part = notes[chosen]
            inner = [] if part else find_sections(row, reading)
            return [(row, part), *((each, None) for each in inner)]
    return []


def _stored_releases(file: NodeRow, reading: Reading) -> list[tuple[Release, Found]]:
    """Return the releases of a change log that is stored in sections, as one in reStructuredText is."""
    found: list[tuple[Release, Found]] = []
    for row in find_sections(file, reading):
        match = _RELEASE_HEADING.match(row.node.title)
        if match:
            is_out = not _UNRELEASED.search(row.node.title + row.node.text[:_MAX_HEAD_CHARACTERS])
            found.append((Release(_parse_version(match["version"]), (0, len(row.node.text)), is_out), (row, None)))
    return found


def read_releases(text: str) -> list[Release]:
    """Return the sections of a change log in their order, each to the heading of the next release."""
    headings = [match for match in _RELEASE_HEADING.finditer(text) if _is_heading(match)]
    starts = [match.start() for match in headings]
    releases = []
    for match, end in zip(headings, [*starts[1:], len(text)], strict=False):
        is_out = not _UNRELEASED.search(text[match.start() : end][:_MAX_HEAD_CHARACTERS])
        releases.append(Release(_parse_version(match["version"]), (match.start(), end), is_out))
    return releases


def _is_heading(match: re.Match[str]) -> bool:
    return bool(match["mark"] or match["rule"] or _VERSION_WORD.match(match["words"]))


def _choose(releases: Sequence[Release], asked: Sequence[tuple[int, ...]]) -> Release | None:
    """Return the section of a version, or of the first of those that begin with it: 8.2.0 for 8.2."""
    fits = [each for version in asked for each in releases if each.version[: len(version)] == version]
    return min(fits, key=lambda each: each.version, default=None)


def _newest(releases: Sequence[Release], *, unreleased: bool) -> Release | None:
    """Return the release with the highest number that is out, or the one to come where that is asked for."""
    listed = [each for each in releases if unreleased or each.is_out] or releases
    return max(listed, key=lambda each: each.version, default=None)


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# --- the newest commits ------------------------------------------------------------------------------------


def find_newest_commits(plan: Plan, reading: Reading) -> Iterator[Wanted]:
    """Yield the newest commits of all."""
    filter = replace(plan.request.filter, kinds=(COMMIT,))
    for rank, row in enumerate(_read_newest(filter, reading)):
        yield Wanted(row, Shape.RECENT, 1.0 - 0.05 * rank, message_part(row.node))


def _read_newest(filter: Filter, reading: Reading) -> list[NodeRow]:
    """Return the newest commits that pass a filter, without reading all.

    They lie at either end of the order in which commits were stored; the dates there tell from when on to look.
    """
    snapshot, half = reading.snapshot, _MAX_READ_COMMITS // 2
    ids = snapshot.matching_ids(filter).tolist()
    while True:
        ends = ids if len(ids) <= _MAX_READ_COMMITS else [*ids[:half], *ids[-half:]]
        newest = sorted(snapshot.nodes(ends).values(), key=newest_first)[:_MAX_NEWEST]
        if len(ids) <= _MAX_READ_COMMITS:
            return newest
        since = newest[-1].node.modified or newest[-1].node.created
        later = snapshot.matching_ids(replace(filter, since=since)).tolist()
        if len(later) >= len(ids):
            return newest
        ids = later
