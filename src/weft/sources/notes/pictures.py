"""Pictures of a folder of notes, kept as references: where each is, and what is said of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import PurePosixPath
from typing import Final

import xxhash

from weft.frozen import dataclass
from weft.model import Json
from weft.sources.notes.references import Reference

_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".avif", ".tif", ".tiff"})
_REMOTE: Final = re.compile(r"https?://", re.IGNORECASE)
_WIKI: Final = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]|]*(?:\|([^\[\]]*))?\]\]")
_SIZE: Final = re.compile(r"\d+(?:x\d+)?")
_GIVEN: Final = ("images", "image")
"""The keys of front matter that name pictures."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The picture files of a folder as notes name them: by path and by name, whatever the case."""

    paths: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(cls, names: Sequence[str]) -> "Pictures":
        """The pictures among these files; the one with the shortest path owns a name that several have."""
        shown = sorted((name for name in names if is_picture(name)), key=lambda name: (name.count("/"), name))
        owners = {PurePosixPath(name).name.casefold(): name for name in reversed(shown)}
        digest = xxhash.xxh3_64_hexdigest("\n".join(shown).encode("utf-8", "replace")) if shown else ""
        return cls({name.casefold(): name for name in reversed(shown)}, owners, digest)

    def place(self, target: str, within: str, *, wiki: bool) -> str:
        """The path of a picture below the folder; one that is not there is called what the note calls it."""
        if _REMOTE.match(target):
            return target
        beside, at_root = joined(PurePosixPath(within).parent, target), joined(PurePosixPath(), target)
        tried = (at_root, beside) if wiki else (beside, at_root)
        for path in tried:
            if path is not None and path.casefold() in self.paths:
                return self.paths[path.casefold()]
        return self.names.get(PurePosixPath(target).name.casefold()) or tried[0] or target


def is_picture(target: str) -> bool:
    """Whether a file is a picture by its name."""
    return PurePosixPath(target).suffix.lower() in _SUFFIXES


def joined(folder: PurePosixPath, target: str) -> str | None:
    """The path below the root, or None when it leads outside."""
    parts: list[str] = [] if target.startswith("/") else list(folder.parts)
    for part in PurePosixPath(target.lstrip("/")).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or None


def with_pictures(
    fields: Mapping[str, Json], found: Sequence[Reference], pictures: Pictures, within: str
) -> dict[str, Json]:
    """The fields of a note with `images`, those of its front matter before those of its text, and `embeds`."""
    given = {name: tuple(_given(fields.get(name))) for name in _GIVEN}
    shown: dict[str, str] = {}
    for target, said in [each for listed in given.values() for each in listed]:
        shown.setdefault(pictures.place(target, within, wiki=True), said)
    embedded = [each for each in found if each.embedded]
    for each in embedded:
        if each.remote or is_picture(each.target):
            place = pictures.place(each.target, within, wiki=each.wiki)
            shown[place] = shown.get(place) or _said(each.label)
    images: list[Json] = [{"ref": place, "alt": said} if said else place for place, said in shown.items()]
    others = [each.target for each in embedded if not each.remote and not is_picture(each.target)]
    kept: dict[str, Json] = {name: value for name, value in fields.items() if not given.get(name)}
    if images:
        kept["images"] = images
    if others:
        kept["embeds"] = list(dict.fromkeys(others))
    return kept


def _given(value: Json) -> Iterator[tuple[str, str]]:
    """The pictures that front matter names and what it says of each: texts, links, or `ref` with `alt`.

    The image of a container is none.
    """
    if isinstance(value, list | tuple):
        for each in value:
            yield from _given(each)
    elif isinstance(value, Mapping):
        yield from ((target, str(value.get("alt") or "").strip()) for target, _ in _given(value.get("ref")))
    elif isinstance(value, str) and value.strip():
        link = _WIKI.fullmatch(value.strip())
        target, label = (link[1].strip(), link[2] or "") if link else (value.strip(), "")
        if _REMOTE.match(target) or is_picture(target):
            yield target, _said(label)


def _said(label: str) -> str:
    """What a label says of its picture; a width or a size says nothing."""
    return " ".join(part for part in map(str.strip, label.split("|")) if part and not _SIZE.fullmatch(part))
