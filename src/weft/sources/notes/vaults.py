"""Recognise vaults of Obsidian and graphs of Logseq, and the files in them that are no notes."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct

from weft.sources.walk_files import File

TEMPLATE: Final = "template"
BACKUP: Final = "copy that Logseq keeps"
"""Why a file in a vault is left out."""
_OBSIDIAN: Final = ".obsidian"
_LOGSEQ: Final = "logseq"
# Where the core plugin and the plugin Templater keep the name of the folder with templates.
_TEMPLATE_SETTINGS: Final = (
    (".obsidian/templates.json", "folder"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
_TEMPLATE_FOLDERS: Final = frozenset({"template", "templates", "_templates"})
_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*(?:title|date|time)\b[^}\n]*\}\}|<%[-_+*~]?[ \t]*tp\.")
"""A placeholder of a template, which is filled in when a note is made from it."""


class Vaults(Struct, frozen=True):
    """The folders that are vaults or graphs, by their paths below the source (empty for the source itself)."""

    roots: tuple[str, ...] = ()
    template_folders: tuple[str, ...] = ()
    logseq_folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, files: Sequence[File]) -> "Vaults":
        """Look for the settings of Obsidian and Logseq in the folders above the notes."""
        roots, templates, logseq = [], [], []
        for folder, path in _folders_above(files).items():
            if (path / _OBSIDIAN).is_dir():
                roots.append(folder)
                templates += [_below(folder, name) for name in _configured_folders(path)]
            if (path / _LOGSEQ / "config.edn").is_file():
                roots.append(folder)
                logseq.append(_below(folder, _LOGSEQ))
        return cls(tuple(roots), tuple(templates), tuple(logseq))

    def holds(self, name: str) -> bool:
        """Return whether a file lies in a vault."""
        return _is_below(name, self.roots)

    def exclusion_reason(self, name: str, *, has_placeholders: bool) -> str:
        """Return why a file is no note, or an empty text: templates and copies are left out."""
        if _is_below(name, self.logseq_folders):
            return BACKUP
        folders = {part.casefold() for part in PurePosixPath(name).parts[:-1]}
        looks_like_template = has_placeholders and not folders.isdisjoint(_TEMPLATE_FOLDERS)
        return TEMPLATE if looks_like_template or _is_below(name, self.template_folders) else ""


def has_placeholders(visible: str) -> bool:
    """Return whether a text without its code has a place that is filled in when a note is made from it."""
    return ("{{" in visible or "<%" in visible) and _PLACEHOLDER.search(visible) is not None


def _folders_above(files: Sequence[File]) -> dict[str, Path]:
    """Return the folders in which files lie, at any depth, by their paths below the source."""
    folders: dict[str, Path] = {}
    for file in files:
        name, path = PurePosixPath(file.name).parent, file.path.parent
        while (key := "" if name == PurePosixPath() else name.as_posix()) not in folders:
            folders[key] = path
            name, path = name.parent, path.parent
    return folders


def _configured_folders(vault: Path) -> list[str]:
    """Return the folders with templates that the settings of a vault name."""
    found: list[str] = []
    for place, key in _TEMPLATE_SETTINGS:
        try:
            settings = msgspec.json.decode((vault / place).read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
        folder = settings.get(key) if isinstance(settings, dict) else None
        # The root of the vault as the folder is the setting's default: it would leave out every note.
        if isinstance(folder, str) and folder.strip("/ "):
            found.append(folder.strip("/ "))
    return found


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(not folder or name.startswith(f"{folder}/") for folder in folders)
