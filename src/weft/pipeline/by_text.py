"""Find texts by where they stand (READMEs, manifests, the first and last scenes of a story) or by their words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Final

from weft.model import Filter, Node
from weft.pipeline.by_symbol import span_of_lines, window_around
from weft.pipeline.query import Reading
from weft.pipeline.shapes import CODE_KINDS, DEFINITION_KINDS, TEST_TAG, Span
from weft.ports import NodeRow
from weft.runtime.cache import LruCache
from weft.scoring.bm25 import term_hashes
from weft.text import analyze
from weft.text.numerals import read_number

Found = tuple[NodeRow, Span | None]
"""A node, and the part of it to show; None for the best of it."""

README_FILES: Final = (
    *("README.md", "README.rst", "README.txt", "README", "README.adoc", "README.org"),
    *("index.md", "index.rst", "Home.md", "docs/README.md", "docs/index.md", "docs/index.rst", "about.md"),
)
"""Files that introduce what they stand in, the most likely first."""
MANIFEST_FILES: Final = (
    *("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "package.json", "go.mod", "Cargo.toml"),
    *("pom.xml", "build.gradle", "build.gradle.kts", "composer.json", ".gemspec", "Gemfile", "mix.exs", "Pipfile"),
    *("environment.yml", "CMakeLists.txt", "deno.json", "requirements/base.txt", "requirements/main.txt"),
    *(".csproj", ".fsproj", "build.sbt"),
)
"""Files that say what a project is called, what it needs and how it is built, by language; of those that bear the
name of their project, the suffix."""
_MANIFEST_LINES: Final = {
    "description": re.compile(r"(?im)^\W*(?:\w+\.)?(?:description|name|summary|module)\b"),
    "language": re.compile(
        r"(?im)^\W*(?:\w+\.)?(?:requires[-_]python|python_requires|engines|go \d|rust-version|edition"
        r"|required_ruby_version|maven\.compiler\.(?:release|source)|sourceCompatibility|TargetFrameworks?"
        r"|scalaVersion|elixir:)"
    ),
    "version": re.compile(r"(?im)^\W*version\b"),
    "scripts": re.compile(r"(?im)^\W*(?:scripts|tasks|tool\.(?:tox|hatch|nox|poe|pdm\.scripts|taskipy)\b.*)\W*$"),
}
_NUMBER_BEHIND: Final = re.compile(r"(?<=\d)|[^\n\d]*(?:[\[{(:>]\s*\n[^\n\d]*)?\d")
_DESCRIPTION: Final = re.compile(r"(?i)\bdescription\b")
_MANIFEST_SPAN: Final = re.compile(r"(?im)^\W*(?:dependencies|install_requires|require|requirements)\b")
_BLOCK_END: Final = re.compile(r"(?m)^[ \t]*[\])}]|^[ \t]*$|^\[")
"""The line after the last of a list of requirements: a closing bracket, a blank line, or the next table."""
_WORKFLOW_FILE: Final = re.compile(
    r"(?i)(?:^|/)(?:\.github/workflows/|\.gitlab-ci|\.circleci/|azure-pipelines|\.travis|jenkinsfile|appveyor"
    r"|\.buildkite/|tox\.ini|noxfile\.py|makefile|justfile|scripts/(?:check|test|ci|lint|coverage)[^/]*\Z)"
)
_GUIDE_FILE: Final = re.compile(r"(?i)(?:^|/)(?:contributing|development|hacking|building)\.\w+\Z")
_WORKFLOW_WORDS: Final = (
    "github",
    "workflows",
    "workflow",
    "ci",
    "gitlab",
    "travis",
    "tox",
    "scripts",
    "makefile",
)
_MAX_WORKFLOWS: Final = 6
_MARKUP: Final = re.compile(r"<[^>]*>?|!?\[[^\]]*\]\([^)]*\)|\S*://\S*|[-*#|`=_>]+")
_MIN_SENTENCE_WORDS: Final = 6
"""A line with fewer words beside its markup is no sentence."""
_CONTENTS: Final = re.compile(
    r"(?im)^(?:#+[ \t]*|\*\*)?(?:table of )?contents\b[^\n]*$|^[ \t]*[-*+] \[[^\]\n]*\]\(#"
)
"""Where a table of contents begins: by its heading, or by a list of links to headings."""
_MIN_OPENING_CHARS: Final = 40
"""Characters that must stand before a table of contents, if the opening is to end there."""
_MAX_OPENING_CHARS: Final = 2_000
"""Characters of a README that are shown first; what a project is stands in its first paragraphs."""
_MAX_MANIFEST_LINES: Final = 45
_MAX_VERSION_LINES: Final = 6
"""Lines of a manifest that are shown for its version: its name stands before it, what it is behind."""
_MAX_SCRIPT_LINES: Final = 14
_MAX_PROPOSED: Final = 60
_MAX_TERMS: Final = 16
"""The rarest words of a message that are searched for."""
_RUN: Final = 3
"""Words in a row that must be the same: two occur together by chance."""
_MAX_HOLDING: Final = 4
_TEST_FACTOR: Final = 0.5
"""How much less a test is wanted that holds the words of a message."""
_MAX_SCENES: Final = 3
"""Scenes of a story that are shown from its beginning or its end."""
_MAX_TEXTS: Final = 3
"""Stories of which the beginnings are shown; a library of more has no one beginning."""
_MAX_READ_SCENES: Final = 5_000
_EDGE_CHARS: Final = 700
"""Characters at the very beginning or end of a story that are shown before the rest of their scene."""
_SCENE_KINDS: Final = ("scene", "chapter")
_TEXT_KINDS: Final = ("document", "note")
_WORD: Final = re.compile(r"[^\W_]+")
_CHAPTER_TITLE: Final = re.compile(r"(?i)\b(?:chapter|ch\.|part)?\s*(\d+|[ivxlc]+|[a-z]+)\b")


# --- files by name -----------------------------------------------------------------------------------------


def find_readmes(reading: Reading) -> list[Found]:
    """Return the beginning of the file that introduces the whole, one for each source, at most a few."""
    # In a workspace the root's own is often a link to that of the package which gives the workspace its name.
    of_packages = [f"{source}/README.md" for source in reading.snapshot.sources()]
    found = find_files([*README_FILES, *of_packages], reading)
    rows = [row for row in found if (row.node.origin.file or "").count("/") <= 1]
    best: dict[str, NodeRow] = {}
    for row in rows:
        # The nearest to the root introduces the whole, others a part of it.
        known = best.get(row.node.origin.source)
        if known is None or _depth(row.node) < _depth(known.node):
            best[row.node.origin.source] = row
    return [(_with_text(row, reading)) for row in list(best.values())[:_MAX_TEXTS]]


def _with_text(row: NodeRow, reading: Reading) -> Found:
    """Return a file with its opening; of one that is stored in sections, the first of these with any text."""
    if len(row.node.text) < _EDGE_CHARS // 4:
        inner = [each for each in find_sections(row, reading) if each.node.text]
        if inner:
            row = min(inner, key=lambda each: (each.node.origin.first_line or 0, each.node.key))
    return row, _opening(row.node.text)


def find_sections(row: NodeRow, reading: Reading) -> list[NodeRow]:
    """Return the parts in which a file is stored, if it is."""
    near = reading.snapshot.adjacency([row.node.id], 256)
    ids = [
        number
        for number, kind, outward in zip(
            near.neighbour.tolist(), near.edge_type.tolist(), near.outward.tolist(), strict=True
        )
        if outward and near.edge_types[kind] == "contains"
    ]
    return list(reading.snapshot.nodes(ids).values())


def _depth(node: Node) -> int:
    return (node.origin.file or "").count("/")


def _opening(text: str) -> Span:
    """Return the first paragraphs of a text, from its first sentence on."""
    start = 0
    # Badges, logos and tables of contents stand before what a reader wants to know.
    for line in text.split("\n"):
        if len(_MARKUP.sub(" ", line).split()) >= _MIN_SENTENCE_WORDS:
            break
        start += len(line) + 1
    start = start if start < len(text) else 0
    contents = _CONTENTS.search(text, start + _MIN_OPENING_CHARS)
    if contents and contents.start() - start <= _MAX_OPENING_CHARS:
        return start, contents.start()
    if len(text) - start <= _MAX_OPENING_CHARS:
        return start, len(text)
    end = text.rfind("\n\n", start + _MAX_OPENING_CHARS // 2, start + _MAX_OPENING_CHARS)
    return start, end if end > 0 else start + _MAX_OPENING_CHARS


def find_manifests(reading: Reading, about: str) -> list[Found]:
    """Return the manifests in the root of the sources, each by the lines about what is asked, if it is long."""
    rows = [row for row in find_files(MANIFEST_FILES, reading) if (row.node.origin.file or "").count("/") <= 1]
    # Most lists of requirements say nothing about what a project is.
    needed = {"description": _DESCRIPTION, "scripts": _MANIFEST_LINES["scripts"]}.get(about)
    rows = [row for row in rows if needed is None or needed.search(row.node.text)]
    return [(row, _manifest_part(row.node.text, about)) for row in rows[:_MAX_TEXTS]]


def _manifest_part(text: str, about: str) -> Span | None:
    """Return the lines of a long manifest about what is asked: a version, or all that is required."""
    lines_about = _MANIFEST_LINES["language" if about == "requirements" else about]
    # A package of a workspace may only say where its version is said.
    told = next(filter(_tells_number, lines_about.finditer(text)), None) or lines_about.search(text)
    required = _MANIFEST_SPAN.search(text)
    if text.count("\n") < _MAX_VERSION_LINES:
        return None
    if about == "requirements" and required:
        last = _BLOCK_END.search(text, text.find("\n", required.end()))
        lines = [text.count("\n", 0, match.end()) for match in (told, required) if match]
        # The language's own version belongs to what is required where it stands near.
        first = min(lines) if max(lines) - min(lines) <= _MAX_VERSION_LINES else lines[-1]
        end = text.count("\n", 0, last.end()) if last else first + _MAX_MANIFEST_LINES
        return span_of_lines(text, first, min(end, first + _MAX_MANIFEST_LINES))
    if text.count("\n") < _MAX_MANIFEST_LINES and not told:
        return None
    first = text.count("\n", 0, told.end()) - (0 if about == "scripts" else 2) if told else 0
    shown = {"version": _MAX_VERSION_LINES, "language": _MAX_VERSION_LINES, "scripts": _MAX_SCRIPT_LINES}
    return span_of_lines(
        text, first, first + (shown.get(about, _MAX_MANIFEST_LINES) if told else _MAX_MANIFEST_LINES)
    )


def _tells_number(match: re.Match[str]) -> bool:
    """Return whether the line of a match holds a number, or the next one where a bracket is opened."""
    return _NUMBER_BEHIND.match(match.string, match.end()) is not None


def find_files(names: Sequence[str], reading: Reading) -> list[NodeRow]:
    """Return the nodes of files with these names, in the order of the names, the nearest to the root first."""
    found = reading.snapshot.find(names)
    stored = reading.snapshot.nodes(list(dict.fromkeys(number for ids in found.values() for number in ids)))
    rows = []
    for name in names:
        last = PurePosixPath(name).name.lower()
        same = [stored[number] for number in found.get(name, ()) if number in stored]
        same = [row for row in same if last in _names_of(row.node.origin.file or "")]
        # A section of a file has the file's name too; the file itself is the one whose key ends with it.
        rows += sorted(
            (row for row in same if "#" not in row.node.key), key=lambda row: (_depth(row.node), row.node.key)
        )
    return list({row.node.id: row for row in rows}.values())


def _names_of(path: str) -> tuple[str, str]:
    """Return the names by which a file is listed: its own, and its suffix."""
    file = PurePosixPath(path.lower())
    return file.name, file.suffix


def find_workflows(reading: Reading, *, by_hand: bool = False) -> list[NodeRow]:
    """Return the files that say what is run for every change; `by_hand`, also the guides for those who run it."""
    words = (*_WORKFLOW_WORDS, *(("contributing", "development") if by_hand else ()))
    terms = tuple(term_hashes(analyze(" ".join(words))))
    kinds = tuple(
        kind for kind in reading.snapshot.kinds() if kind in ("config", "document", "note", "section", "file")
    )
    if not kinds:
        return []
    found = reading.index.lexical(reading.snapshot, terms, Filter(kinds=kinds), 3 * _MAX_PROPOSED)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    rows = reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages))).values()
    guides = [row for row in rows if by_hand and _GUIDE_FILE.search(row.node.origin.file or "")]
    return [*guides, *(row for row in rows if _WORKFLOW_FILE.search(row.node.origin.file or ""))][:_MAX_WORKFLOWS]


def is_workflow(node: Node) -> bool:
    """Return whether a file is read by a server that runs it, and not by people or a tool of theirs."""
    return (node.origin.file or "").startswith(".")


# --- texts by their words ----------------------------------------------------------------------------------


def find_texts_with(texts: Iterable[str], reading: Reading, kinds: tuple[str, ...]) -> list[Found]:
    """Return the nodes that hold the longest runs of the words of a text, best first, each by these lines.

    Of several texts, the best of each come first.
    """
    ranked = zip_longest(*(_rank_holding(text, reading, kinds) for text in texts))
    found: dict[int, tuple[NodeRow, Span]] = {}
    for row, part in (place for each in ranked for place in each if place is not None):
        # A node that holds several of the texts is shown by the one for which it ranks highest.
        found.setdefault(row.node.id, (row, part))
    return [
        (row, part if len(row.node.text) > _EDGE_CHARS else None) for row, part in [*found.values()][:_MAX_HOLDING]
    ]


def _rank_holding(text: str, reading: Reading, kinds: tuple[str, ...]) -> list[tuple[NodeRow, Span]]:
    """Return the nodes that hold the longest runs of the words of one text, best first, each by these lines."""
    best: dict[int, tuple[float, NodeRow, Span]] = {}
    words = _WORD.findall(text.lower())
    size = min(_RUN, len(words))
    runs = {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}
    for row, start, end in _proposed(text, reading, kinds) if words else ():
        held = _held_runs(runs, size, row.node.text[start:end])
        if held and (len(held) > 1 or len(runs) <= _RUN):
            share = round(min(1.0, len(held) / max(4, len(runs) / 2)), 3)
            spans = [(start + low, start + high) for low, high in held]
            if share > best.get(row.node.id, (0.0, row, (0, 0)))[0]:
                best[row.node.id] = (share, row, _run_part(row.node, spans))
    # Tests quote whole messages; what raises them or explains them often holds but a part.
    factors = {id: _TEST_FACTOR if TEST_TAG in row.node.tags else 1.0 for id, (_, row, _) in best.items()}
    ranked = sorted(
        best.values(),
        key=lambda each: (
            -each[0] * factors[each[1].node.id],
            each[1].node.kind not in CODE_KINDS,
            *each[1].node.ref,
        ),
    )
    return [(row, part) for _, row, part in ranked]


def _proposed(text: str, reading: Reading, kinds: tuple[str, ...]) -> Iterator[tuple[NodeRow, int, int]]:
    """Yield the passages that hold the rarest words of a text, with the span of each in its node."""
    terms = list(dict.fromkeys(term_hashes(analyze(text))))
    frequency = reading.snapshot.statistics(terms).frequency
    rare = sorted((frequency[term], term) for term in terms if term in frequency)[:_MAX_TERMS]
    if not rare:
        return
    wanted = tuple(term for _, term in rare)
    found = reading.index.lexical(reading.snapshot, wanted, Filter(kinds=kinds), _MAX_PROPOSED)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    stored = reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages)))
    for each in passages:
        if each.node_id in stored:
            yield stored[each.node_id], each.passage.start, each.passage.end


def _held_runs(runs: set[tuple[str, ...]], size: int, text: str) -> list[Span]:
    """Return where runs of words stand in a text, each run once."""
    matches = list(_WORD.finditer(text.lower()))
    words = [match[0] for match in matches]
    held: dict[tuple[str, ...], Span] = {}
    for start in range(len(words) - size + 1):
        run = tuple(words[start : start + size])
        if run in runs:
            held.setdefault(run, (matches[start].start(), matches[start + size - 1].end()))
    return list(held.values())


def _run_part(node: Node, spans: Sequence[Span]) -> Span:
    """Return the lines of code around the runs, or the paragraphs of prose that hold them."""
    if node.language is not None:
        return window_around(node.text, spans) or (0, len(node.text))
    low, high = min(start for start, _ in spans), max(end for _, end in spans)
    start, end = (
        node.text.rfind("\n\n", 0, max(low - 150, 0)),
        node.text.find("\n\n", min(high + 150, len(node.text))),
    )
    return (start + 2 if start >= 0 else 0), (end if end >= 0 else len(node.text))


# --- stories -----------------------------------------------------------------------------------------------

_State = tuple[str, int, object]
_SCENES: Final[LruCache[_State, tuple[tuple[str, int, int], ...]]] = LruCache(8)
"""The scenes of a store as (file, sequence, id) in the order of reading, kept until the store changes."""


def find_scenes(reading: Reading, chapters: Sequence[int], *, last: bool) -> list[tuple[int, Found]]:
    """Return the first or last scenes of the stories, or of the chapters that are named, with their rank.

    Only where stories are what there is: a store with code in it has no beginning.
    """
    snapshot = reading.snapshot
    state = (snapshot.identity, snapshot.sequence, snapshot.view)
    scenes = _SCENES.get_or_make(state, lambda: _read_scenes(reading))
    if chapters:
        scenes = tuple(scene for scene in scenes if scene[1] in _sequences_of(chapters, scenes, reading))
    files = list(dict.fromkeys(file for file, _, _ in scenes))
    if len(files) > _MAX_TEXTS:
        return []
    found: list[tuple[int, Found]] = []
    for file in files:
        ids = [number for where, _, number in scenes if where == file]
        chosen = ids[::-1][:_MAX_SCENES] if last else ids[:_MAX_SCENES]
        stored = snapshot.nodes(chosen)
        found += [
            (rank, (row, _edge_part(row.node.text, rank, last=last))) for rank, row in enumerate(stored.values())
        ]
    return found


def _read_scenes(reading: Reading) -> tuple[tuple[str, int, int], ...]:
    snapshot = reading.snapshot
    if len(snapshot.matching_ids(Filter(kinds=DEFINITION_KINDS))):
        return ()
    ids = snapshot.matching_ids(Filter(kinds=_SCENE_KINDS))
    if not len(ids):
        # A text that is not divided into chapters is one document; a collection of many is no story.
        ids = snapshot.matching_ids(Filter(kinds=_TEXT_KINDS))
        ids = ids if len(ids) <= _MAX_TEXTS else ids[:0]
    if len(ids) > _MAX_READ_SCENES:
        return ()
    rows = [row.node for row in snapshot.nodes(ids.tolist()).values() if row.node.text.strip()]
    rows.sort(key=lambda node: (node.origin.file or "", node.sequence or 0, node.origin.first_line or 0, node.key))
    return tuple((node.origin.file or "", node.sequence or 0, node.id) for node in rows)


def _sequences_of(
    chapters: Sequence[int], scenes: Sequence[tuple[str, int, int]], reading: Reading
) -> frozenset[int]:
    """Return the positions of the chapters with these numbers: by their titles, or else by counting."""
    ids = reading.snapshot.matching_ids(Filter(kinds=("chapter",)))
    by_number: dict[int, int] = {}
    for row in reading.snapshot.nodes(ids[:_MAX_READ_SCENES].tolist()).values():
        match = _CHAPTER_TITLE.match(row.node.title)
        number = (read_number(match[1]) if match else None) or 0
        if number and row.node.sequence is not None:
            by_number.setdefault(number, row.node.sequence)
    return frozenset(by_number.get(chapter, chapter) for chapter in chapters)


def _edge_part(text: str, rank: int, *, last: bool) -> Span | None:
    """Return the very beginning or end of a long first or last scene, in whole paragraphs."""
    if rank or len(text) <= 2 * _EDGE_CHARS:
        return None
    if last:
        start = text.rfind("\n\n", 0, len(text) - _EDGE_CHARS)
        return max(start, 0), len(text)
    end = text.find("\n\n", _EDGE_CHARS)
    return 0, end if end > 0 else len(text)
