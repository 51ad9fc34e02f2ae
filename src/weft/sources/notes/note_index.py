"""Find the notes and pictures that the links of notes mean."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import xxhash
from msgspec import Struct, field

from weft.model import Json
from weft.sources.files import resolve_link
from weft.sources.notes.references import NOTE_SUFFIXES, Reference

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


class NoteNames(Struct, frozen=True):
    """The part of a note that decides what links mean: its other names, and the links that it has.

    A link is its target, whether it is a wikilink, and the id of a block. Notes with pictures depend on the files
    of pictures too.
    """

    aliases: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    links: tuple[tuple[str, bool, str], ...] = ()
    has_pictures: bool = False
    has_placeholders: bool = False


class NoteIndex(Struct, frozen=True):
    """The notes of a folder by path, stem, alias and block, all in lower case, as links name them."""

    paths: Mapping[str, str] = field(default_factory=dict)
    stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Mapping[str, NoteNames], others: Sequence[str] = ()) -> "NoteIndex":
        """Index notes, and other files that are linked by their whole names, such as canvases.

        Of notes with the same stem the one nearest to the root comes first.
        """
        paths: dict[str, str] = {}
        stems: dict[str, tuple[str, ...]] = {}
        aliases: dict[str, tuple[str, ...]] = {}
        for name in sorted(names, key=lambda name: (name.count("/"), name)):
            whole, _, stem = name.casefold().rpartition(".")[0].rpartition("/")
            paths.setdefault(name.casefold(), name)
            paths.setdefault(f"{whole}/{stem}" if whole else stem, name)
            # Logseq writes the page `plans/garden` as the file `plans___garden.md`.
            for form in dict.fromkeys((stem, stem.replace("___", "/"))):
                stems[form] = (*stems.get(form, ()), name)
            for alias in dict.fromkeys(map(str.casefold, names[name].aliases)):
                aliases[alias] = (*aliases.get(alias, ()), name)
        for name in sorted(others, key=lambda name: (name.count("/"), name)):
            paths.setdefault(name.casefold(), name)
            form = PurePosixPath(name).name.casefold()
            stems[form] = (*stems.get(form, ()), name)
        blocks = {block: name for name in sorted(names, reverse=True) for block in names[name].blocks}
        return cls(paths, stems, aliases, blocks)

    def resolve(self, reference: Reference, within: str) -> tuple[str | None, float]:
        """Return the note that a reference in the note `within` means, and the confidence in that.

        A note that does not exist (yet) is returned by the name it would have; None is no note at all.
        """
        # Most links are a bare name that one note has, which needs no work with paths.
        certain = self._certain(reference.target) if reference.wiki else None
        if reference.block or certain is not None:
            return self.blocks.get(reference.block, certain), 1.0
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
        whole = reference.target.casefold()
        owners = self.stems.get(whole) or self.stems.get(stem.casefold()) or self.aliases.get(whole, ())
        if owners:
            near = [owner for owner in owners if PurePosixPath(owner).parent == folder] or owners
            return near[0], round(1 / len(near), 3)
        missing = at_root if reference.wiki else beside_note or at_root
        if not missing:
            return None, 1.0
        return (missing if _has_note_suffix(PurePosixPath(missing)) else f"{missing}.md"), 1.0

    def links_state(self, names: NoteNames, within: str) -> str:
        """Return a digest of the notes that the links of a note mean, which changes when one means another."""
        meant = "\n".join(
            (wiki and self._certain(target)) or str(self._resolve_link(target, wiki, block, within))
            for target, wiki, block in names.links
        )
        return xxhash.xxh3_64_hexdigest(meant.encode("utf-8", "replace")) if meant else ""

    def _resolve_link(self, target: str, wiki: bool, block: str, within: str) -> tuple[str | None, float]:
        return self.resolve(Reference(target, "", 0, embedded=False, wiki=wiki, block=block), within)

    def _certain(self, target: str) -> str | None:
        """Return the note that a bare name means everywhere: one at the root, or the only one of that name."""
        if "/" in target or "." in target:
            return None
        folded = target.casefold()
        owners = self.stems.get(folded, ())
        return self.paths.get(folded) or (owners[0] if len(owners) == 1 else None)

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
    """Return whether a file is a picture, by its suffix."""
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
