"""Find the folders that a question names: a crate, a package, or the place where all of one kind live."""

import re
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Filter, Node
from weft.pipeline.query import Reading
from weft.scoring.bm25 import term_hashes
from weft.text import analyze, name_words

_MAX_FILES: Final = 400
"""Passages that are looked at for the files of a folder; the path of a file is part of its passages."""
_PATH: Final = re.compile(r"(?<![\w/.])(?:[\w.@-]{1,100}/){1,12}[\w.@-]{0,100}(?![\w/])")
_FOLDER_WORDS: Final = frozenset(
    {"area", "code", "component", "crate", "dir", "directory", "folder", "layer", "module", "package", "part"}
    | {"subpackage", "subsystem", "tree"}
)
"""Words that say that a folder is meant, and not which one."""


class Folder(Struct, frozen=True):
    """A folder, and the files in it and below it that the store has, in the order of their paths."""

    path: str
    files: tuple[Node, ...]

    def as_node(self) -> Node:
        """Return a node whose place is the folder, for git."""
        first = self.files[0]
        return replace(first, origin=replace(first.origin, file=self.path, first_line=None, last_line=None))

    def name_of(self, node: Node) -> str:
        """Return the name under which a file stands in the folder: its own without the ending, or a folder's."""
        rest = PurePosixPath(_file_of(node)).relative_to(self.path)
        return rest.parts[0] if len(rest.parts) > 1 else rest.stem


def find_folder(words: str, reading: Reading) -> Folder | None:
    """Return the folder that all these words name: by its path, or by its name and those of folders around it."""
    for match in _PATH.finditer(words):
        named = find_folder_at(match[0], reading)
        if named is not None:
            return named
    terms = {term for word in name_words(words) if word not in _FOLDER_WORDS for term in analyze(word)}
    fitting = [
        each
        for each in _list_folders(words, reading)
        if terms
        and not terms.isdisjoint(_terms_of(each.path.rpartition("/")[2]))
        and terms <= _terms_of(each.path)
    ]
    return min(fitting, key=_nearest, default=None)


def find_folder_at(path: str, reading: Reading) -> Folder | None:
    """Return the folder whose path ends as this one does."""
    ending = f"/{path.strip('/')}"
    named = [each for each in _list_folders(path, reading) if f"/{each.path}".endswith(ending)]
    return min(named, key=_nearest, default=None)


def _nearest(folder: Folder) -> tuple[bool, int, str]:
    """Return the order of folders that one name fits: those of the project's own code first, then short paths."""
    # Loaded here for the few questions that name a folder.
    from weft.pipeline.score import is_sample

    return all(map(is_sample, folder.files)), folder.path.count("/"), folder.path


def _list_folders(words: str, reading: Reading) -> list[Folder]:
    """Return the folders in whose paths words of a text stand."""
    hashes = term_hashes(list(dict.fromkeys(analyze(words))))
    if not hashes:
        return []
    proposed = reading.index.lexical(reading.snapshot, hashes, Filter(kinds=("file",)), _MAX_FILES)
    passages = reading.snapshot.passages(proposed.passage_ids.tolist())
    stored = reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages)))
    files = sorted((row.node for row in stored.values() if row.node.origin.file), key=_file_of)
    folders: dict[tuple[str, str, str], dict[str, Node]] = {}
    for node in files:
        for parent in PurePosixPath(_file_of(node)).parents:
            if parent.name:
                inside = folders.setdefault((node.tenant, node.origin.source, str(parent)), {})
                inside.setdefault(_file_of(node), node)
    return [Folder(path, tuple(inside.values())) for (_, _, path), inside in folders.items()]


def _file_of(node: Node) -> str:
    return node.origin.file or ""


def _terms_of(path: str) -> set[str]:
    return {term for word in name_words(path) for term in analyze(word)}
