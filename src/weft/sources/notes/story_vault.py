"""Recognise a story in a folder of notes: kinds by folder, the numbers of chapters, and their scenes."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Edge, Node
from weft.sources.files import NOTES, STORY
from weft.text.chapters import SCENE_CHARACTERS, find_number, split_scenes

DEFAULT_KIND: Final = "note"

_KIND_BY_FOLDER: Final = {
    **dict.fromkeys(("characters", "character", "people", "cast"), "character"),
    **dict.fromkeys(("locations", "location", "places", "settings"), "location"),
    **dict.fromkeys(("factions", "faction", "organizations", "organisations", "groups", "houses"), "faction"),
    **dict.fromkeys(("objects", "items", "artifacts", "artefacts"), "object"),
    **dict.fromkeys(("events",), "event"),
    **dict.fromkeys(("chapters", "chapter", "manuscript", "draft"), "chapter"),
    **dict.fromkeys(("scenes", "scene"), "scene"),
}
"""The kind of a note by the name of its folder."""
_STORY_FOLDERS: Final = frozenset({"characters", "chapters"})
"""Folders that only a story has; `people` or `events` occur in any vault."""
_MIN_CHAPTER_FILES: Final = 2
"""Files called chapters that make a folder a story; a single one may be about anything."""
_MIN_SCENES_CHARACTERS: Final = 2 * SCENE_CHARACTERS
"""A chapter is split into scenes only if it is longer than this; shorter ones are quoted whole."""
_CHAPTER: Final = re.compile(r"chapter[\s_.-]*\w+", re.IGNORECASE)
_PROSE_KINDS: Final = ("chapter", "scene")


class Vault(Struct, frozen=True):
    """The kinds and chapter numbers that follow from the paths of notes; empty when they hold no story."""

    kinds: dict[str, str] = field(default_factory=dict)
    chapter_numbers: dict[str, int] = field(default_factory=dict)

    def kind(self, name: str) -> str:
        """Return the kind of a note whose front matter gives none."""
        return self.kinds.get(name, DEFAULT_KIND)

    def sequence(self, name: str) -> int | None:
        """Return the number of a chapter whose front matter gives none."""
        return self.chapter_numbers.get(name)


def read_vault(names: Sequence[str], reading: str) -> Vault:
    """Return the vault that notes of these paths make, read as a story, as notes, or by what they look like."""
    if reading == NOTES or not (reading == STORY or _looks_like_story(names)):
        return Vault()
    kinds = {name: kind for name in names if (kind := _kind_by_path(name, reading))}
    # By path, so that files without a number in their name still follow each other as they are listed.
    prose = sorted(name for name, kind in kinds.items() if kind in _PROSE_KINDS)
    return Vault(kinds, {name: _chapter_number(name, index) for index, name in enumerate(prose, start=1)})


def _looks_like_story(names: Sequence[str]) -> bool:
    """Return whether there is a folder that only a story has, or at least two files are called chapters."""
    folders = {part.casefold() for name in names for part in PurePosixPath(name).parts[:-1]}
    chapter_files = sum(_CHAPTER.match(PurePosixPath(name).stem) is not None for name in names)
    return bool(folders & _STORY_FOLDERS) or chapter_files >= _MIN_CHAPTER_FILES


def _kind_by_path(name: str, reading: str) -> str:
    """Return the kind by the innermost folder that names one, or `chapter` for a file that is called so."""
    path = PurePosixPath(name)
    # The innermost folder counts: `Chapters/Characters/` holds characters.
    for part in reversed(path.parts[:-1]):
        if part.casefold() in _KIND_BY_FOLDER:
            return _KIND_BY_FOLDER[part.casefold()]
    return "chapter" if reading == STORY or _CHAPTER.match(path.stem) else ""


def _chapter_number(name: str, index: int) -> int:
    """Return the number in a file's name, 0 for what comes before the first chapter, or else its index."""
    stem = PurePosixPath(name).stem
    number = find_number(stem)
    if number is None and stem.casefold().startswith(("prologue", "preface")):
        return 0
    return index if number is None else number


def split_into_scenes(node: Node) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Split a long chapter into itself and its scenes, which then hold its text; return others as they are."""
    is_long = node.kind in _PROSE_KINDS and len(node.text) > _MIN_SCENES_CHARACTERS
    spans = split_scenes(node.text, 0, len(node.text)) if is_long else ()
    if len(spans) < 2:
        return (node,), ()
    scene_nodes = [_scene_node(node, number, span) for number, span in enumerate(spans, start=1)]
    edges = (Edge(node.key, scene.key, "contains", tenant=node.tenant) for scene in scene_nodes)
    return (replace(node, text=""), *scene_nodes), tuple(edges)


def _scene_node(node: Node, number: int, span: tuple[int, int]) -> Node:
    start, end = span
    first = (node.origin.first_line or 1) + node.text.count("\n", 0, start)
    last = first + node.text.count("\n", start, end)
    prefix = "" if node.sequence is None else f"Ch. {node.sequence}, "
    return Node(
        key=f"{node.key}#{number:02d}",
        kind="scene",
        tenant=node.tenant,
        title=f"{prefix}scene {number}".capitalize(),
        text=node.text[start:end],
        language=node.language,
        origin=replace(node.origin, first_line=first, last_line=last),
        sequence=node.sequence,
        known_from=node.known_from,
        created=node.created,
        modified=node.modified,
    )
