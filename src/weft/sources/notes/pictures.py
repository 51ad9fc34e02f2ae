"""Find the pictures that notes show and keep them as references: the path of each, and its description."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import xxhash
from msgspec import Struct, field

from weft.model import Json
from weft.sources.files import resolve_link
from weft.sources.notes.references import Reference

_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".avif", ".tif", ".tiff"})
_WEB_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]|]*(?:\|([^\[\]]*))?\]\]")
_SIZE: Final = re.compile(r"\d+(?:x\d+)?")
_PICTURE_KEYS: Final = ("images", "image")
"""The keys of front matter that name pictures."""


class Pictures(Struct, frozen=True):
    """The picture files of a folder, by path and by name as notes write them, in lower case."""

    paths: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "Pictures":
        """Collect the pictures among these files; of several with one name, that nearest to the root owns it."""
        found = sorted((name for name in names if is_picture(name)), key=lambda name: (name.count("/"), name))
        owners = {PurePosixPath(name).name.casefold(): name for name in reversed(found)}
        digest = xxhash.xxh3_64_hexdigest("\n".join(found).encode("utf-8", "replace")) if found else ""
        return cls({name.casefold(): name for name in reversed(found)}, owners, digest)

    def locate(self, target: str, note: str, *, wiki: bool) -> str:
        """Return the path of a picture that a note shows; one that is not there keeps the path the note gives."""
        if _WEB_ADDRESS.match(target):
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
    return PurePosixPath(target).suffix.lower() in _SUFFIXES


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
        link = _WIKILINK.fullmatch(value.strip())
        target, label = (link[1].strip(), link[2] or "") if link else (value.strip(), "")
        if _WEB_ADDRESS.match(target) or is_picture(target):
            yield target, _description(label)


def _description(label: str) -> str:
    """Return the words of a picture's label, without the widths and sizes that Obsidian writes there."""
    return " ".join(part for part in map(str.strip, label.split("|")) if part and not _SIZE.fullmatch(part))
