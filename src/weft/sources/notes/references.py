"""Find the links, embeds, tags and headings of a Markdown text, and the notes and pictures that they mean.

Everything is found by regular expressions over the text with code blanked out, so that offsets, lines and the text
as written stay exact, and wikilinks and tags, which Markdown itself does not know, are found in the same way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

import xxhash
import yaml
from msgspec import Struct, field

from weft.model import Json
from weft.ports import Problem
from weft.sources.documents.sections import Heading
from weft.sources.files import resolve_link
from weft.sources.values import to_json

NOTE_SUFFIXES: Final = frozenset({".md", ".markdown", ".mdx"})

# Fenced code, also where the fence is never closed, and code between backticks within a line.
_CODE: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?!`)[^\n]{1,1000}?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
# `[[target#heading|label]]`, an embed with `!` before it.
_WIKILINK: Final = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
# `[label](<target> "title")`; a bare target may hold one level of parentheses.
_LINK: Final = re.compile(
    r"(!?)\[([^\[\]\n]*)\]"
    r"\(\s*(?:<([^<>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+[\"'(][^\n]*?)?\)"
)
# A tag holds a letter, so that `#12` stays a number; `#` inside a word, path or link begins none.
_TAG: Final = re.compile(r"(?<![\w/#&(\[])#(\d*[^\W\d_][\w/-]*)")
_ANCHOR: Final = re.compile(r"\{[ \t]*#[^{}\n]*\}")
"""The name that some dialects give a heading: `{ #first-steps }` is no tag."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WEB_ADDRESS: Final = re.compile(r"https?://\S+")
_TITLE_HEADING: Final = re.compile(r"^# +(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
# A line of its own, or in brackets within one: `due:: 2026-05-01`, `[due:: 2026-05-01]`.
_FIELD_KEY: Final = r"([^\W\d_][\w -]{0,39}?)::[ \t]+"
_FIELD_LINE: Final = re.compile(rf"^[ \t]*(?:[-*+][ \t]+)?{_FIELD_KEY}(\S[^\n]*)$", re.MULTILINE)
_FIELD_IN_BRACKETS: Final = re.compile(rf"[\[(]{_FIELD_KEY}((?:\[\[[^\]\n]*\]\]|[^\])\n])+)[\])]")
_COMMENTS: Final = (("<!--", "-->"), ("%%", "%%"))
"""The marks that open and close a comment, in HTML and in Obsidian."""
_NOT_LINE_END: Final = re.compile(r"[^\n]")
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER_CHARACTERS: Final = 65_536
"""Longer front matter is not parsed: YAML is slow, and nobody writes as much by hand."""
_MAX_ERROR_CHARACTERS: Final = 160
"""How much of the YAML parser's complaint a problem quotes."""
_YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C is about ten times as fast; some builds of PyYAML lack it."""

_PICTURE_SUFFIXES: Final = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".avif", ".tif", ".tiff"}
)
_PICTURE_KEYS: Final = ("images", "image")
"""The keys of front matter that name pictures."""
# A whole value of front matter, `[[picture.png|label]]`; unlike in a text, it cannot run into other links.
_PICTURE_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]|]*(?:\|([^\[\]]*))?\]\]")
_WEB_SCHEME: Final = re.compile(r"https?://", re.IGNORECASE)
_SIZE: Final = re.compile(r"\d+(?:x\d+)?")
"""The width or size that Obsidian writes in the label of a picture."""


class Reference(Struct, frozen=True):
    """One link or embed: its target without heading, as it is written, its line in the text, and its label."""

    target: str
    written: str
    line: int
    embedded: bool
    wiki: bool
    label: str = ""
    remote: bool = False


def blank_code(text: str) -> str:
    """Return the text with code and comments replaced by blanks, every other character at its offset."""
    visible = _CODE.sub(_blank_match, text)
    for opening, closing in _COMMENTS:
        # Not by a regular expression: a text with many unclosed comments would take quadratic time.
        start = visible.find(opening)
        while start >= 0 and (end := visible.find(closing, start + len(opening))) >= 0:
            end += len(closing)
            visible = visible[:start] + _NOT_LINE_END.sub(" ", visible[start:end]) + visible[end:]
            start = visible.find(opening, end)
    return visible


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the links and embeds in the order of the text; of web addresses only those of pictures."""
    visible = blank_code(text)
    found = [(match.start(), _read_wikilink(match, text)) for match in _WIKILINK.finditer(visible)]
    # Blanked, because `[[a]](b)` would otherwise be found again as a Markdown link.
    without_wikilinks = _WIKILINK.sub(_blank_match, visible)
    found += [(match.start(), _read_link(match, text)) for match in _LINK.finditer(without_wikilinks)]
    found.sort(key=lambda pair: pair[0])
    return tuple(reference for _, reference in found if reference is not None)


def find_tags(text: str) -> tuple[str, ...]:
    """Return the `#tags` of a text, in order and once each, not those inside code, links or addresses."""
    visible = blank_code(text)
    for pattern in (_WIKILINK, _LINK, _WEB_ADDRESS, _ANCHOR):
        visible = pattern.sub(_blank_match, visible)
    return tuple(dict.fromkeys(match.group(1).rstrip("/-") for match in _TAG.finditer(visible)))


def find_inline_fields(text: str) -> dict[str, str]:
    """Return the first value of each `key:: value`, as Dataview and Logseq write them, by key in small letters."""
    visible = blank_code(text) if "::" in text else ""
    found: dict[str, str] = {}
    for pattern in (_FIELD_LINE, _FIELD_IN_BRACKETS):
        for match in pattern.finditer(visible):
            key = re.sub(r"[ .-]+", "_", match[1].strip().lower())
            found.setdefault(key, text[match.start(2) : match.end(2)].strip())
    return found


def first_heading(text: str) -> str:
    """Return the first heading of level one outside code, or an empty text."""
    match = _TITLE_HEADING.search(blank_code(text))
    return text[match.start(1) : match.end(1)].strip() if match else ""


def find_headings(text: str) -> tuple[Heading, ...]:
    """Return all headings outside code, in order."""
    return tuple(
        Heading(len(match[1]), match[2].strip(), match.start(), min(match.end() + 1, len(text)))
        for match in _HEADING.finditer(blank_code(text))
    )


def _read_wikilink(match: re.Match[str], text: str) -> Reference | None:
    embedded, target, label = bool(match.group(1)), match.group(2).strip(), match.group(4) or ""
    if not target:
        return None
    line = text.count("\n", 0, match.start()) + 1
    return Reference(target, match.group(0), line, embedded, wiki=True, label=label)


def _read_link(match: re.Match[str], text: str) -> Reference | None:
    """Return the reference of a Markdown link, or None for links within the note and to web pages."""
    embedded, label = bool(match.group(1)), match.group(2)
    address = match.group(3) if match.group(3) is not None else match.group(4)
    remote = bool(_SCHEME.match(address)) or address.startswith("//")
    if remote:
        target = address if embedded and _WEB_ADDRESS.fullmatch(address) else ""
    else:
        target = unquote(address.partition("#")[0]).replace("\\", "/").strip()
    if not target:
        return None
    # Lines are counted for the few links that are kept: a change log may have thousands of links to the web.
    line = text.count("\n", 0, match.start()) + 1
    return Reference(target, match.group(0), line, embedded, wiki=False, label=label, remote=remote)


def _blank_match(match: re.Match[str]) -> str:
    return _NOT_LINE_END.sub(" ", match.group(0))


def split_front_matter(text: str, where: str) -> tuple[dict[str, Json], str, int, tuple[Problem, ...]]:
    """Split a note into its front matter by lower-case key, its body, the body's first line, and problems."""
    block = _FRONT_MATTER.match(text)
    if block is None:
        return {}, text, 1, ()
    body, line = text[block.end() :], text.count("\n", 0, block.end()) + 1
    values, reason = _parse_yaml(block.group(1))
    if reason:
        problem = Problem(f"{where}:1", f"{reason} The note is indexed without its front matter.")
        return values, body, line, (problem,)
    return values, body, line, ()


def _parse_yaml(block: str) -> tuple[dict[str, Json], str]:
    """Return the values of front matter and no reason, or no values and the reason why it cannot be used."""
    if len(block) > _MAX_FRONT_MATTER_CHARACTERS:
        limit = _MAX_FRONT_MATTER_CHARACTERS
        return {}, f"The front matter has {len(block):,} characters; at most {limit:,} are read."
    try:
        loaded = yaml.load(block, Loader=_YAML_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        message = " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
        return {}, f"The front matter is not YAML ({message})."
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, Mapping):
        return {}, f"The front matter is {type(loaded).__name__}, not `key: value` lines."
    values = to_json(loaded)
    if not isinstance(values, dict):
        return {}, ""
    return {str(name).strip().lower(): value for name, value in values.items()}, ""


# --- the notes that links mean ---------------------------------------------------------------------------


class NoteIndex(Struct, frozen=True):
    """The notes of a folder by path and by stem in lower case, as links name them."""

    paths: Mapping[str, str] = field(default_factory=dict)
    stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "NoteIndex":
        """Index the notes of these names; of notes with the same stem the one nearest to the root comes first."""
        paths: dict[str, str] = {}
        stems: dict[str, tuple[str, ...]] = {}
        for name in sorted(names, key=lambda name: (name.count("/"), name)):
            path = PurePosixPath(name)
            paths.setdefault(name.casefold(), name)
            paths.setdefault(path.with_suffix("").as_posix().casefold(), name)
            stems[path.stem.casefold()] = (*stems.get(path.stem.casefold(), ()), name)
        digest = xxhash.xxh3_64_hexdigest("\n".join(sorted(names)).encode("utf-8", "replace"))
        return cls(paths, stems, digest)

    def resolve(self, reference: Reference, within: str) -> tuple[str | None, float]:
        """Return the note that a reference in the note `within` means, and the confidence in that.

        A note that does not exist (yet) is returned by the name it would have; None is no note at all.
        """
        target = PurePosixPath(reference.target)
        # A link to a PDF or a picture means no note, even if one of that name could be written.
        has_other_suffix = target.suffix and target.suffix.lower() not in NOTE_SUFFIXES
        if has_other_suffix and not self._is_note(reference.target):
            return None, 0.0
        folder = PurePosixPath(within).parent
        beside_note = resolve_link(folder, reference.target)
        at_root = resolve_link(PurePosixPath(), reference.target)
        for path in (at_root, beside_note) if reference.wiki else (beside_note, at_root):
            if path is not None and path.casefold() in self.paths:
                return self.paths[path.casefold()], 1.0
        # Obsidian writes only a note's name where it suffices; several notes of that name share the confidence.
        stem = target.stem if _has_note_suffix(target) else target.name
        owners = self.stems.get(stem.casefold(), ())
        if owners:
            near = [owner for owner in owners if PurePosixPath(owner).parent == folder] or owners
            return near[0], round(1 / len(near), 3)
        missing = at_root if reference.wiki else beside_note or at_root
        if not missing:
            return None, 1.0
        return (missing if _has_note_suffix(PurePosixPath(missing)) else f"{missing}.md"), 1.0

    def _is_note(self, target: str) -> bool:
        # A dot in a name, as in `v1.2`, looks like a suffix.
        return target.casefold() in self.paths or PurePosixPath(target).name.casefold() in self.stems


def _has_note_suffix(path: PurePosixPath) -> bool:
    return path.suffix.lower() in NOTE_SUFFIXES


# --- the pictures that notes show ------------------------------------------------------------------------


class Pictures(Struct, frozen=True):
    """The picture files of a folder, by path and by name as notes write them, in lower case."""

    paths: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "Pictures":
        """Collect the pictures among these files; of several with one name, that nearest to the root owns it."""
        found = sorted((name for name in names if is_picture(name)), key=lambda name: (name.count("/"), name))
        # Reversed, so that the last one written under a name is the one nearest to the root.
        owners = {PurePosixPath(name).name.casefold(): name for name in reversed(found)}
        digest = xxhash.xxh3_64_hexdigest("\n".join(found).encode("utf-8", "replace")) if found else ""
        return cls({name.casefold(): name for name in reversed(found)}, owners, digest)

    def locate(self, target: str, note: str, *, wiki: bool) -> str:
        """Return the path of a picture that a note shows; one that is not there keeps the path the note gives."""
        if _WEB_SCHEME.match(target):
            return target
        beside_note = resolve_link(PurePosixPath(note).parent, target)
        at_root = resolve_link(PurePosixPath(), target)
        # Wikilinks count from the root of the vault, Markdown links from the note; both are written either way.
        candidates = (at_root, beside_note) if wiki else (beside_note, at_root)
        for path in candidates:
            if path is not None and path.casefold() in self.paths:
                return self.paths[path.casefold()]
        return self.names.get(PurePosixPath(target).name.casefold()) or candidates[0] or target


def is_picture(target: str) -> bool:
    """Say whether a file is a picture, by its suffix."""
    return PurePosixPath(target).suffix.lower() in _PICTURE_SUFFIXES


def add_pictures(
    fields: Mapping[str, Json], references: Sequence[Reference], pictures: Pictures, note: str
) -> dict[str, Json]:
    """Return a note's fields with `images`, those of the front matter before those of the text, and `embeds`."""
    in_front_matter = {key: tuple(_pictures_in(fields.get(key))) for key in _PICTURE_KEYS}
    described: dict[str, str] = {}
    for listed in in_front_matter.values():
        for target, description in listed:
            described.setdefault(pictures.locate(target, note, wiki=True), description)
    embedded = [reference for reference in references if reference.embedded]
    for reference in embedded:
        if reference.remote or is_picture(reference.target):
            path = pictures.locate(reference.target, note, wiki=reference.wiki)
            # The front matter comes first; an embed is often written without a label.
            described[path] = described.get(path) or _description(reference.label)
    images: list[Json] = [
        {"ref": path, "alt": description} if description else path for path, description in described.items()
    ]
    others = [
        reference.target for reference in embedded if not reference.remote and not is_picture(reference.target)
    ]
    # A key whose value named no picture, such as the image of a container, stays as it is.
    kept: dict[str, Json] = {key: value for key, value in fields.items() if not in_front_matter.get(key)}
    if images:
        kept["images"] = images
    if others:
        kept["embeds"] = list(dict.fromkeys(others))
    return kept


def _pictures_in(value: Json) -> Iterator[tuple[str, str]]:
    """Iterate over (target, description) of the pictures in a value of front matter.

    A value is a path, an address, a wikilink, a mapping with `ref` and `alt`, or a list of these.
    """
    if isinstance(value, list | tuple):
        for part in value:
            yield from _pictures_in(part)
    elif isinstance(value, Mapping):
        description = str(value.get("alt") or "").strip()
        yield from ((target, description) for target, _ in _pictures_in(value.get("ref")))
    elif isinstance(value, str) and value.strip():
        link = _PICTURE_WIKILINK.fullmatch(value.strip())
        target, label = (link[1].strip(), link[2] or "") if link else (value.strip(), "")
        if _WEB_SCHEME.match(target) or is_picture(target):
            yield target, _description(label)


def _description(label: str) -> str:
    """Return the words of a picture's label, without the widths and sizes that Obsidian writes there."""
    return " ".join(part for part in map(str.strip, label.split("|")) if part and not _SIZE.fullmatch(part))
