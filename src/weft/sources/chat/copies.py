"""Find the logs among some files that tell nothing of their own: copies, and what another file tells too."""

from collections.abc import Mapping, Sequence
from typing import Final

import xxhash

from weft.sources.chat.agents import list_opencode_sessions
from weft.sources.walk_files import File

_SHORT_TRANSCRIPT: Final = "transcript.jsonl"
_FULL_TRANSCRIPT: Final = "transcript_full.jsonl"
"""The logs that Antigravity writes of one conversation, side by side."""
_HEAD_BYTES: Final = 256
"""The beginning by which two logs are compared first."""
_CHUNK_BYTES: Final = 1_048_576
_DATABASE_SUFFIX: Final = ".db"


def find_copies(files: Sequence[File]) -> Mapping[str, str]:
    """Return, by the name of each file that is not to be read, the name of the one that has its conversations."""
    held = _find_held_elsewhere(files)
    # Two that have each other's conversations must not both be passed over.
    return {**held, **_find_same_beginnings([file for file in files if file.name not in held])}


def _find_same_beginnings(files: Sequence[File]) -> Mapping[str, str]:
    """Return the name of the original by the name of each copy.

    A file that another one begins with is a copy as well: a log that was copied, and then went on in one place.
    """
    by_head: dict[bytes, list[tuple[int, File]]] = {}
    for file in files:
        try:
            with file.path.open("rb") as stream:
                head = stream.read(_HEAD_BYTES)
            size = file.path.stat().st_size
        except OSError:
            continue
        by_head.setdefault(head, []).append((size, file))
    copies: dict[str, str] = {}
    for alike in by_head.values():
        # The longest first, and of equal ones the first by name: that one is read.
        kept: list[tuple[int, File]] = []
        for size, file in sorted(alike, key=lambda each: (-each[0], each[1].name)):
            original = next((other for _, other in kept if size and _begins_with(other, file, size)), None)
            if original is None:
                kept.append((size, file))
            else:
                copies[file.name] = original.name
    return copies


def _find_held_elsewhere(files: Sequence[File]) -> Mapping[str, str]:
    """Return the files whose conversations another file of the same program has too, by the name of each.

    opencode left its older files where they were when it moved to a database; Antigravity writes a short log
    beside the full one.
    """
    moved: dict[str, str] = {}
    for file in files:
        if file.path.suffix.lower() == _DATABASE_SUFFIX:
            moved |= dict.fromkeys(list_opencode_sessions(file.path), file.name)
    full = {file.path.parent: file.name for file in files if file.path.name == _FULL_TRANSCRIPT}
    held: dict[str, str] = {}
    for file in files:
        if file.path.stem in moved and file.path.suffix.lower() == ".json":
            held[file.name] = moved[file.path.stem]
        elif file.path.name == _SHORT_TRANSCRIPT and file.path.parent in full:
            held[file.name] = full[file.path.parent]
    return held


def _begins_with(longer: File, shorter: File, size: int) -> bool:
    try:
        return _hash(longer, size) == _hash(shorter, size)
    except OSError:
        return False


def _hash(file: File, size: int) -> str:
    digest = xxhash.xxh3_128()
    with file.path.open("rb") as stream:
        left = size
        while left > 0 and (chunk := stream.read(min(left, _CHUNK_BYTES))):
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()
