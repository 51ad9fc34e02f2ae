"""Read configuration and build files as text with exact lines: a node a file, and one a part of a long file."""

import codecs
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from weft.model import Alias, Edge, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.code.resolve import is_test
from weft.sources.configuration.contents import Parsed, parse, summarise
from weft.sources.configuration.file_types import find_data_folders, find_file_type, is_lock_file
from weft.sources.configuration.parts import Part, split_parts
from weft.sources.files import (
    ANY_SUFFIX,
    BINARY,
    EMPTY,
    MINIFIED,
    VENDORED,
    SourceSettings,
    clean,
    decode,
    file_stamp,
    is_vendored,
    looks_binary,
    looks_minified,
)
from weft.sources.walk_files import File
from weft.text.redact import redact
from weft.text.slugs import number_repeated, title_slug

_READER_VERSION: Final = "2"
"""Part of every stamp; to be changed whenever the same file would give other nodes."""
_MAX_JSON_BYTES: Final = 100_000
_MAX_BYTES: Final = 400_000
"""The largest file that people still write by hand; JSON and anything larger is written by programs."""
_KIND: Final = "config"
_TEST_TAG: Final = "test-code"
_CONTAINS_WEIGHT: Final = 0.5
"""Like that from a code file to its definitions."""
_FILE_NAME_CONFIDENCE: Final = 0.9
"""Confidence of a bare file name as an alias: several folders may have a file of that name."""
_MANIFEST_SUFFIXES: Final = frozenset({".csproj", ".fsproj", ".gemspec"})
"""Suffixes of manifests that bear the name of their project, by which they are found all the same."""
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Configuration:
    """The configuration and build files of one source, one unit a file."""

    suffixes = frozenset({ANY_SUFFIX})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._skipped: dict[str, str] = {}

    def takes(self, file: File) -> bool:
        """Take lock files, to name them as such, and every file whose name is that of a configuration file."""
        return is_lock_file(file.name) or find_file_type(file.name) is not None

    def list_skipped(self) -> dict[str, str]:
        """Return why files were not read when the units were last listed."""
        return self._skipped

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every file that is not passed over."""
        self._files = {file.name: file for file in files}
        self._skipped = find_data_folders(self._files)
        for file in files:
            if not file.explicit and is_lock_file(file.name):
                self._skipped[file.name] = "lock file"
            elif not file.explicit and is_vendored(file.name):
                self._skipped[file.name] = VENDORED
            if file.name not in self._skipped:
                yield file.name, self._stamp(file)

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed files that are not passed over."""
        list(self.units([file for file in files if find_file_type(file.name)]))
        yield from (self.read(file.name) for file in changed if file.name not in self._skipped)

    def read(self, unit: str) -> Unit:
        """Read one file and its parts."""
        file = self._files[unit]
        stamp = self._stamp(file)
        language = find_file_type(unit) or "properties"
        read = read_configuration(file, language, self.settings, has_alias=not self._is_shadowed(unit))
        return replace(read, stamp=stamp)

    def _stamp(self, file: File) -> str:
        shadowed = "-shadowed" if self._is_shadowed(file.name) else ""
        return f"{file_stamp(file.path)}-{_READER_VERSION}{shadowed}"

    def _is_shadowed(self, path: str) -> bool:
        """Return whether a file at the root has the same name: who says `pyproject.toml` then means that one."""
        return "/" in path and PurePosixPath(path).name in self._files


def read_configuration(file: File, language: str, settings: SourceSettings, *, has_alias: bool = True) -> Unit:
    """Read a file as configuration in a language; one that is too large, binary, minified or data is skipped.

    With `has_alias`, the bare name of the file means it as well as its path.
    """
    # Taken before the content: a file that changes in between is read again the next time.
    stamp = file_stamp(file.path)
    limit = _MAX_JSON_BYTES if language == "json" else _MAX_BYTES
    size = file.path.stat().st_size
    if size > limit and not file.explicit:
        return Unit(
            file.name, stamp, skipped=f"too large: {size:,} bytes, at most {limit:,} are read of {language}"
        )
    content = file.path.read_bytes()
    if content.startswith(_UTF16_MARKS):
        content = content.decode("utf-16", "replace").encode("utf-8")
    if looks_binary(content):
        return Unit(file.name, stamp, skipped=BINARY)
    decoded, problems = decode(content, file.name)
    text = clean(decoded)
    if not text.strip():
        return Unit(file.name, stamp, skipped=EMPTY)
    # A file of endless lines is not parsed: the parser of TOML takes gigabytes for a key of many dots.
    is_minified = looks_minified(text)
    parsed = Parsed() if is_minified else parse(text, language)
    reason = MINIFIED if is_minified else parsed.data
    if reason and not file.explicit:
        return Unit(file.name, stamp, problems=problems, skipped=reason)
    if parsed.problem:
        problems = (*problems, Problem(file.name, parsed.problem))
    # Redacted line by line, so that the lines keep their numbers.
    safe = redact(text, keep_lines=True)
    lines = safe.text.split("\n")
    summary = redact(summarise(file.name, text, language, parsed.value)).text
    name = PurePosixPath(file.name).name
    suffix = PurePosixPath(name).suffix.lower()
    called = (
        *([name] if has_alias and name != file.name else ()),
        *([suffix] if suffix in _MANIFEST_SUFFIXES else ()),
    )
    aliases = tuple(Alias(label, settings.maker, _FILE_NAME_CONFIDENCE) for label in called)
    first, *others = _make_nodes(file.name, lines, language, settings)
    nodes = (replace(first, summary=summary, aliases=aliases), *others)
    edges = tuple(
        Edge(nodes[0].key, node.key, "contains", weight=_CONTAINS_WEIGHT, tenant=settings.tenant)
        for node in nodes[1:]
    )
    return Unit(file.name, stamp, nodes, edges, problems, redacted=len(safe.kinds))


def _make_nodes(path: str, lines: Sequence[str], language: str, settings: SourceSettings) -> list[Node]:
    """Return the node of the file, which ends with its first part, and the nodes of its other parts."""
    first, *parts = split_parts(lines, language) or (Part(path, 1, len(lines)),)
    # Never without lines: what a file begins with is what it is asked for most.
    head = Part(path, 1, first.last)
    key = f"{settings.source}:{path}"
    made = [_make_node(key, path, head, lines, language, settings)]
    slugs = number_repeated(title_slug(part.title) or "part" for part in parts)
    for part, slug in zip(parts, slugs, strict=True):
        titled = Part(f"{path}, {part.title}", part.first, part.last)
        made.append(_make_node(f"{key}#{slug}", path, titled, lines, language, settings))
    return made


def _make_node(
    key: str,
    path: str,
    part: Part,
    lines: Sequence[str],
    language: str,
    settings: SourceSettings,
) -> Node:
    first, last = part.first, part.last
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return Node(
        key=key,
        kind=_KIND,
        tenant=settings.tenant,
        title=part.title,
        text="\n".join(lines[first - 1 : last]),
        language=language,
        tags=(_TEST_TAG,) if is_test(path) else (),
        origin=Origin(settings.source, path, first, last),
    )
