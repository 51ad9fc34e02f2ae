"""Draft a note for each entity that prose shows, to accept, edit or reject; no file is ever written over.

Drafts lie in a folder of their own and are no entities yet. An accepted one moves to the folder of its kind, where
a vault's notes lie; a rejected one is taken away and not drafted again. What was edited is the writer's: it stays.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import xxhash
from msgspec import Struct

from weft.errors import InvalidInput
from weft.indexing.stories import ReadStory
from weft.model import DEFAULT_TENANT
from weft.overview.plot import stated_ties, stories_until
from weft.ports import Changes
from weft.story import Passage

if TYPE_CHECKING:
    from weft.api import Weft

DRAFTS: Final = "codex-drafts"
"""The folder of the drafts: none whose name makes characters or chapters of its notes."""
_FOLDERS: Final = {
    "character": "Characters", "location": "Locations", "faction": "Factions", "object": "Objects",
    "event": "Events",
}  # fmt: skip
_CODEX_SOURCE: Final = ":codex"
"""The source under whose units drafts are remembered: no real source has this name."""
_REJECTED: Final = "rejected"
MIN_MENTIONS: Final = 5
"""Entities that are mentioned less are no leads, and a note about each would bury the others."""
_FIELDS: Final = {
    "spouse": ("spouse", "spouse"), "betrothed": ("betrothed", "betrothed"), "parent": ("children", "parents"),
    "sibling": ("siblings", "siblings"), "relative": ("relatives", "relatives"), "friend": ("friends", "friends"),
    "enemy": ("enemies", "enemies"), "serves": ("serves", "served_by"), "member": ("member_of", "members"),
    "ruler": ("rules", "ruled_by"), "located_in": ("located_in", ""),
}  # fmt: skip
"""The field of a tie's first and of its second entity; those that notes state are the same words."""
_NO_FILE_NAME: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]+')
_BECOMES: Final = re.compile(r"^becomes: (\w+)$", re.MULTILINE)


class Drafted(Struct, frozen=True):
    """The result of a run: the files written, and the names left out, which have a note or were rejected."""

    written: tuple[str, ...]
    kept: tuple[str, ...]
    rejected: tuple[str, ...]


def draft_codex(
    weft: "Weft",
    folder: Path,
    *,
    tenant: str = DEFAULT_TENANT,
    as_of: int | None = None,
    least: int = MIN_MENTIONS,
) -> Drafted:
    """Write a draft for each entity that is mentioned often enough and has neither a note nor a draft."""
    stories = stories_until(weft, tenant, as_of)
    stamps = weft.store.units(tenant, _CODEX_SOURCE)
    written, kept, rejected = [], [], []
    for read in stories:
        for index, entity in enumerate(read.story.entities):
            if len(entity.mentions) < least:
                continue
            file = folder / DRAFTS / _file_name(entity.name)
            if stamps.get(entity.name) == _REJECTED:
                rejected.append(entity.name)
            elif entity.note or file.exists() or _accepted_file(folder, entity.kind, entity.name).exists():
                kept.append(entity.name)
            else:
                text = _write_note(read, index)
                file.parent.mkdir(parents=True, exist_ok=True)
                # `x` fails where somebody made the file meanwhile: nothing is ever written over.
                with file.open("x", encoding="utf-8") as opened:
                    opened.write(text)
                weft.store.write(Changes(units=((tenant, _CODEX_SOURCE, entity.name, _digest(text)),)))
                written.append(str(file))
    return Drafted(tuple(written), tuple(kept), tuple(rejected))


def accept_draft(folder: Path, name: str) -> Path:
    """Move a draft to the folder of its kind, and return where it is now."""
    file = _find_draft(folder, name)
    text = file.read_text(encoding="utf-8")
    match = _BECOMES.search(text)
    if match is None or match.group(1) not in _FOLDERS:
        raise InvalidInput(
            f"{file} does not say what it becomes. Write `becomes: ` and one of {', '.join(_FOLDERS)} at its head."
        )
    target = _accepted_file(folder, match.group(1), file.stem)
    if target.exists():
        raise InvalidInput(
            f"{target} is there already, and is not written over. Move or merge the draft yourself."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as opened:
        opened.write(text.replace(match.group(), f"kind: {match.group(1)}", 1))
    file.unlink()
    return target


def reject_draft(weft: "Weft", folder: Path, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
    """Take a draft away that nobody edited, and do not draft this entity again."""
    file = _find_draft(folder, name)
    if weft.store.units(tenant, _CODEX_SOURCE).get(name) != _digest(file.read_text(encoding="utf-8")):
        raise InvalidInput(f"{file} was edited since it was drafted, so it is not removed. Delete it yourself.")
    weft.store.write(Changes(units=((tenant, _CODEX_SOURCE, name, _REJECTED),)))
    file.unlink()


def restore_draft(weft: "Weft", name: str, *, tenant: str = DEFAULT_TENANT) -> None:
    """Let an entity that was rejected be drafted again."""
    stamps = weft.store.units(tenant, _CODEX_SOURCE)
    if stamps.get(name) != _REJECTED:
        rejected = ", ".join(sorted(each for each, stamp in stamps.items() if stamp == _REJECTED)) or "(none)"
        raise InvalidInput(f"No draft of {name!r} was rejected. Rejected ones: {rejected}.")
    weft.store.write(Changes(units=((tenant, _CODEX_SOURCE, name, ""),)))


def _find_draft(folder: Path, name: str) -> Path:
    file = folder / DRAFTS / _file_name(name)
    if not file.is_file():
        drafts = sorted(each.stem for each in (folder / DRAFTS).glob("*.md")) if folder.is_dir() else []
        there = ", ".join(drafts) or "(none)"
        raise InvalidInput(f"There is no draft {file}. Drafts there: {there}.")
    return file


def _accepted_file(folder: Path, kind: str, name: str) -> Path:
    return folder / _FOLDERS[kind] / _file_name(name)


def _file_name(name: str) -> str:
    return f"{_NO_FILE_NAME.sub(' ', name).strip()}.md"


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())


# --- the note --------------------------------------------------------------------------------------------


def _write_note(read: ReadStory, index: int) -> str:
    """Return the draft of an entity: its fields as a vault's notes have them, and the passages that show them."""
    entity = read.story.entities[index]
    first = read.proses[entity.mentions[0].prose].sequence
    fields: dict[str, list[str]] = {}
    shown = []
    for field, other, passage in _list_ties(read, index):
        fields.setdefault(field, []).append(f'"[[{other}]]"')
        shown.append(f"- {field.replace('_', ' ')}: [[{other}]] ({read.place(passage)}): {read.quote(passage)}")
    head = [f"becomes: {entity.kind}", f"known_from: {first}"]
    if entity.aliases:
        head.append(f"aliases: [{', '.join(map(_quoted, entity.aliases))}]")
    head += [f"{field}: [{', '.join(others)}]" for field, others in sorted(fields.items())]
    body = [f"# {entity.name}", f"> {read.quote(entity.definition)}", f"({read.place(entity.definition)})", *shown]
    return "---\n" + "\n".join(head) + "\n---\n\n" + "\n\n".join(body) + "\n"


def _list_ties(read: ReadStory, index: int) -> Iterator[tuple[str, str, Passage]]:
    """Yield the field, the other entity and the first passage of each stated tie."""
    for tie, other, place in stated_ties(read, index):
        if field := _FIELDS[tie.type][place]:
            yield field, other, tie.evidence[0]


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
