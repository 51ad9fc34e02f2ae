"""Back up an embedded store while it is used, and restore it: consistent, verified, and never over something else.

A backup is a folder: SQLite's own copy of each database at one moment, the keys, the profiles, and a manifest with
the digest of every file. Search files are not in it; they are derived.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson
from msgspec import Struct

from weft.errors import InvalidInput, StoreCorrupt, StoreError
from weft.store.sqlite.connection import translate_errors
from weft.store.sqlite.store import FILE_NAME

MANIFEST: Final = "manifest.json"
_FORMAT: Final = "weft-backup"
_VERSION: Final = 1
DATABASES: Final = (FILE_NAME, "contexts.sqlite")
_FILES: Final = ("keys.json", "keys.required")
_FOLDERS: Final = ("profiles",)
"""The files that belong to a store beside its search files."""
_PAGES_AT_ONCE: Final = 1000
"""Pages (4 MB) that are copied before writers get their turn."""
_CHUNK_BYTES: Final = 1 << 20


class Backup(Struct, frozen=True):
    """The contents of a backup, counted."""

    made: str
    schema: int
    sequence: int
    nodes: int
    files: dict[str, str]
    """The SHA-256 of each file, by its path in the backup."""


@contextmanager
def translate_disk_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the disk and of SQLite inside the block into errors of Weft that name the folder."""
    try:
        with translate_errors(folder / FILE_NAME):
            yield
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written or read ({error}). Make room, change the permissions, or name another "
            "folder."
        ) from error


def make_backup(store: Path, target: Path, now: datetime) -> Backup:
    """Copy a store into a new folder while others read and write it, verify the copy, and return what it holds."""
    with translate_disk_errors(target):
        return _make_backup(store, target, now)


def _make_backup(store: Path, target: Path, now: datetime) -> Backup:
    if not (store / FILE_NAME).is_file():
        raise StoreError(f"There is no store in {store}. Name one with --store.")
    if target.exists() and any(target.iterdir()):
        raise InvalidInput(f"{target} is not empty. Name a new folder for the backup.")
    # Made under another name first: a folder with the name of a backup is always a whole one.
    draft = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        for name in DATABASES:
            if (store / name).is_file():
                _copy_database(store / name, draft / name)
        _copy_beside(store, draft)
        backup = describe_backup(draft, now)
        write_manifest(draft, backup)
        if target.exists():
            target.rmdir()
        draft.replace(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return backup


def check_backup(folder: Path) -> Backup:
    """Return what a backup holds; refuse one that is not whole."""
    if not (folder / MANIFEST).is_file():
        raise InvalidInput(f"There is no backup in {folder}. Give a folder that `weft backup` made.")
    try:
        held = orjson.loads((folder / MANIFEST).read_bytes())
        if held.pop("format") != _FORMAT or held.pop("version") != _VERSION:
            raise ValueError("it has another format")
        backup = Backup(**held)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{folder} is no backup ({error}). Give a folder that `weft backup` made.") from error
    for name, digest in backup.files.items():
        file = folder / name
        # A manifest may have been written by anybody: it must not lead out of its folder.
        if (
            not file.resolve().is_relative_to(folder.resolve())
            or not file.is_file()
            or digest_file(file) != digest
        ):
            raise StoreCorrupt(f"{file} is missing or was changed since the backup was made. Use another backup.")
    _check_database(folder / FILE_NAME)
    return backup


def restore_backup(folder: Path, store: Path, *, replace: bool, now: datetime) -> tuple[Backup, Path | None]:
    """Put a backup where a store is to be; an older store there is moved aside and never removed.

    Returns what was restored, and where the older store went.
    """
    with translate_disk_errors(store):
        return _restore_backup(folder, store, replace, now)


def _restore_backup(folder: Path, store: Path, replace: bool, now: datetime) -> tuple[Backup, Path | None]:
    backup = check_backup(folder)
    aside: Path | None = None
    draft = store.with_name(f"{store.name}.restoring")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for name in backup.files:
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / name, draft / name)
        sync_file(draft / name)
    if store.exists() and any(store.iterdir()):
        if not replace:
            shutil.rmtree(draft)
            raise InvalidInput(
                f"There is something in {store} already. Restore into another folder with --store, or give "
                "--replace to move it aside."
            )
        aside = store.with_name(f"{store.name}.replaced-{now:%Y%m%dT%H%M%S}")
        store.replace(aside)
    elif store.exists():
        store.rmdir()
    draft.replace(store)
    sync_folder(store.parent)
    return backup, aside


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database at one moment; writers go on, and SQLite begins again with what they change."""
    with translate_errors(source):
        reading = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
        writing = sqlite3.connect(target)
        try:
            # One read transaction around all of it, or a busy writer would make the copy begin again for ever.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
            reading.backup(writing, pages=_PAGES_AT_ONCE)
            # A backup is one file, without a log beside it.
            writing.execute("PRAGMA journal_mode = DELETE")
        finally:
            writing.close()
            reading.close()
    _check_database(target)
    sync_file(target)


def _check_database(file: Path) -> None:
    with translate_errors(file):
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        finally:
            connection.close()
    if found != "ok":
        raise StoreCorrupt(f"{file} is damaged ({found}). Use another backup, or `weft doctor --repair`.")


def _copy_beside(store: Path, draft: Path) -> None:
    for name in _FILES:
        if (store / name).is_file():
            shutil.copy2(store / name, draft / name)
    for name in _FOLDERS:
        if (store / name).is_dir():
            shutil.copytree(store / name, draft / name)


def describe_backup(draft: Path, now: datetime) -> Backup:
    """Return what the files of a backup hold, counted and with their digests."""
    files = sorted(file for file in draft.rglob("*") if file.is_file())
    connection = sqlite3.connect(f"{(draft / FILE_NAME).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (sequence,) = connection.execute("SELECT value FROM meta WHERE name = 'sequence'").fetchone()
        (nodes,) = connection.execute("SELECT count(*) FROM nodes").fetchone()
    finally:
        connection.close()
    digests = {file.relative_to(draft).as_posix(): digest_file(file) for file in files}
    return Backup(now.isoformat(timespec="seconds"), schema, sequence, nodes, digests)


def write_manifest(folder: Path, backup: Backup) -> None:
    """Write the file that makes a folder a backup; it comes last."""
    plain = {name: getattr(backup, name) for name in backup.__struct_fields__}
    write_synced(folder / MANIFEST, orjson.dumps({"format": _FORMAT, "version": _VERSION, **plain}))


def digest_file(file: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def write_synced(file: Path, content: bytes) -> None:
    """Write a file that survives a power cut."""
    file.write_bytes(content)
    sync_file(file)


def sync_file(file: Path) -> None:
    """Let what was written to a file reach the disk."""
    with file.open("rb") as held:
        os.fsync(held.fileno())


def sync_folder(folder: Path) -> None:
    """Let the names of the files in a folder reach the disk."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
