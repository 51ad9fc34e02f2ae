"""A folder of Markdown notes that holds a story: which notes are chapters, and which describe its entities."""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import Final

from weft.frozen import dataclass
from weft.model import Edge, Node
from weft.sources.files import NOTES, STORY
from weft.text.chapters import STRETCH, number_in, scenes

_FOLDERS: Final = {
    **dict.fromkeys(("characters", "character", "people", "cast"), "character"),
    **dict.fromkeys(("locations", "location", "places", "settings"), "location"),
    **dict.fromkeys(("factions", "faction", "organizations", "organisations", "groups", "houses"), "faction"),
    **dict.fromkeys(("objects", "items", "artifacts", "artefacts"), "object"),
    **dict.fromkeys(("events",), "event"),
    **dict.fromkeys(("chapters", "chapter", "manuscript", "draft"), "chapter"),
    **dict.fromkeys(("scenes", "scene"), "scene"),
}
_TELLING: Final = frozenset({"characters", "chapters"})
"""Folders that only a story has."""
_CHAPTER: Final = re.compile(r"chapter[\s_.-]*\w+", re.IGNORECASE)
_PROSE: Final = ("chapter", "scene")


@dataclass(frozen=True, slots=True)
class Vault:
    """What the paths of a source's notes say about them; empty when they tell no story."""

    kinds: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)

    def kind(self, name: str) -> str:
        """The kind of a note whose front matter gives none."""
        return self.kinds.get(name, "note")

    def sequence(self, name: str) -> int | None:
        """The number of a chapter whose front matter gives none."""
        return self.places.get(name)


def vault_of(names: Sequence[str], reading: str) -> Vault:
    """The vault that notes of these paths make, read as a story, as notes, or as they look."""
    if reading == NOTES or not (reading == STORY or _tells(names)):
        return Vault()
    kinds = {name: kind for name in names if (kind := _kind(name, reading))}
    prose = sorted(name for name, kind in kinds.items() if kind in _PROSE)
    return Vault(kinds, {name: _number(name, place) for place, name in enumerate(prose, start=1)})


def _tells(names: Sequence[str]) -> bool:
    """Whether there is a folder that only a story has, or at least two files are called chapters."""
    folders = {part.casefold() for name in names for part in PurePosixPath(name).parts[:-1]}
    return (
        bool(folders & _TELLING) or sum(_CHAPTER.match(PurePosixPath(name).stem) is not None for name in names) > 1
    )


def _kind(name: str, reading: str) -> str:
    path = PurePosixPath(name)
    for part in reversed(path.parts[:-1]):
        if part.casefold() in _FOLDERS:
            return _FOLDERS[part.casefold()]
    return "chapter" if reading == STORY or _CHAPTER.match(path.stem) else ""


def _number(name: str, place: int) -> int:
    stem = PurePosixPath(name).stem
    number = number_in(stem)
    if number is None and stem.casefold().startswith(("prologue", "preface")):
        return 0
    return place if number is None else number


def in_scenes(node: Node) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """A long chapter with its scenes, which then hold its text; any other node as it is."""
    spans = scenes(node.text, 0, len(node.text)) if node.kind in _PROSE and len(node.text) > 2 * STRETCH else ()
    if len(spans) < 2:
        return (node,), ()
    found = [_scene(node, number, span) for number, span in enumerate(spans, start=1)]
    edges = (Edge(node.key, scene.key, "contains", tenant=node.tenant) for scene in found)
    return (replace(node, text=""), *found), tuple(edges)


def _scene(node: Node, number: int, span: tuple[int, int]) -> Node:
    start, end = span
    first = (node.origin.first_line or 1) + node.text.count("\n", 0, start)
    last = first + node.text.count("\n", start, end)
    where = "" if node.sequence is None else f"Ch. {node.sequence}, "
    return Node(
        key=f"{node.key}#{number:02d}",
        kind="scene",
        tenant=node.tenant,
        title=f"{where}scene {number}".capitalize(),
        text=node.text[start:end],
        language=node.language,
        origin=replace(node.origin, first_line=first, last_line=last),
        sequence=node.sequence,
        known_from=node.known_from,
        created=node.created,
        modified=node.modified,
    )
