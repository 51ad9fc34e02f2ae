"""An archive of backups, of which each holds only the pages that changed since the one before it.

An archive is a folder of backups of one store, named by the moment they were made at and the last write in them.
The first of a chain is a whole backup; the next ones hold the changed pages of each database, with the digest of
every page, the digest of the whole file that they make, and the digest of the manifest they build on. To restore
one, its files are put together in a folder of their own, checked, and taken like a backup that was made whole.
"""

import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from filelock import FileLock, Timeout
from msgspec import Struct

from weft.errors import InvalidInput, StoreBusy, StoreCorrupt
from weft.store.sqlite.backup import (
    DATABASES,
    MANIFEST,
    Backup,
    check_backup,
    describe_backup,
    digest_file,
    make_backup,
    restore_backup,
    sync_file,
    sync_folder,
    translate_disk_errors,
    write_manifest,
    write_synced,
)
from weft.store.sqlite.backup_records import log_of, replay
from weft.store.sqlite.store import FILE_NAME

INCREMENT: Final = "increment.json"
_FORMAT: Final = "weft-increment"
_VERSION: Final = 1
MAX_CHAIN: Final = 50
"""Increments after a whole backup: the next one is whole again, so that older ones can be removed, and restoring
reads a bounded number of files."""
_PAGE_DIGEST_BYTES: Final = 16
"""Bytes of the digest of one page: 0.4 % of its size, and no two pages share one by chance."""
_NUMBER_BYTES: Final = 4
"""Bytes of the number before each changed page."""
_MOMENT: Final = "%Y%m%dT%H%M%S%f"
"""The beginning of a backup's name, by which the backups of an archive are in order."""
_PAGES: Final = ".pages"
_CHANGED: Final = ".changed"
_UNFINISHED: Final = ".unfinished-"
_ASSEMBLING: Final = ".assembling-"
"""The beginnings of the names of folders in which a backup is made, and put together."""
MAX_WAIT_SECONDS: Final = 60.0
"""The longest wait for another backup into the same archive; a timer tries again anyway."""


class Database(Struct, frozen=True):
    """One database of an increment: its page size, its number of pages, and the digest of the whole file."""

    page_bytes: int
    pages: int
    changed: int
    digest: str


class Increment(Struct, frozen=True):
    """The contents of one backup of an archive; without a base it is whole."""

    base: str | None
    """The name of the backup it builds on."""
    base_digest: str | None
    store: str
    """The identity of the store, which a restored one keeps."""
    backup: Backup
    databases: dict[str, Database]
    files: dict[str, str]
    """The SHA-256 of the files of the increment itself."""


class ArchivedBackup(Struct, frozen=True):
    """One backup of an archive: its name, its write, and how many bytes it takes."""

    name: str
    sequence: int
    made: str
    whole: bool
    bytes: int


def add_to_archive(
    store: Path,
    archive: Path,
    now: datetime,
    *,
    max_chain: int = MAX_CHAIN,
    max_wait_seconds: float = MAX_WAIT_SECONDS,
    on_leftovers: Callable[[int], None] = lambda count: None,
) -> ArchivedBackup:
    """Back a store up into an archive while it is used: the pages that changed since the last backup of it.

    Folders that interrupted backups left behind are removed first, and `on_leftovers` is told how many.
    """
    with translate_disk_errors(archive), _only_one_at_work(archive, max_wait_seconds):
        if leftovers := _remove_leftovers(archive):
            on_leftovers(leftovers)
        return _add(store, archive, now, max_chain)


@contextmanager
def _only_one_at_work(archive: Path, max_wait_seconds: float = MAX_WAIT_SECONDS) -> Iterator[None]:
    """Hold the archive for the block; the lock of a process that was killed is free."""
    archive.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(archive / ".lock", timeout=max_wait_seconds):
            yield
    except Timeout:
        raise StoreBusy(
            f"Another process works with the backups in {archive}. Wait for it to finish and try again."
        ) from None


def _remove_leftovers(archive: Path) -> int:
    # Whoever holds the lock is alone: what lies there now was left by a process that was killed.
    left = [folder for name in (_UNFINISHED, _ASSEMBLING) for folder in archive.glob(f"{name}*")]
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return len(left)


def _add(store: Path, archive: Path, now: datetime, max_chain: int) -> ArchivedBackup:
    chain = _read_chain(archive, None) if list_archive(archive) else []
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=archive) as draft:
        whole = Path(draft) / "whole"
        backup = make_backup(store, whole, now)
        identity = _read_identity(whole / FILE_NAME)
        if chain and chain[-1][1].store != identity:
            raise InvalidInput(f"{archive} holds backups of another store. Name another folder for this one's.")
        base = chain[-1] if 0 < len(chain) <= max_chain else None
        made = Path(draft) / "increment"
        made.mkdir()
        increment = _write_increment(whole, made, backup, identity, base)
        name = f"{_next_moment(now, chain):{_MOMENT}}-write-{backup.sequence}"
        _write_whole_manifest(made, increment)
        made.replace(archive / name)
    sync_folder(archive)
    return _describe(archive / name, increment)


def _next_moment(now: datetime, chain: Sequence[tuple[Path, Increment]]) -> datetime:
    """Return the moment for the name of a backup: after the last one's, also where the clock was set back."""
    if not chain:
        return now
    last = datetime.strptime(chain[-1][0].name.partition("-")[0], _MOMENT).replace(tzinfo=now.tzinfo)
    return max(now, last + timedelta(microseconds=1))


def list_archive(archive: Path) -> list[ArchivedBackup]:
    """Return the backups of an archive, oldest first."""
    folders = sorted(archive.iterdir()) if archive.is_dir() else []
    return [_describe(folder, _read(folder)) for folder in folders if (folder / INCREMENT).is_file()]


def restore_at(
    archive: Path, store: Path, *, sequence: int | None, replace: bool, now: datetime
) -> tuple[Backup, Path | None]:
    """Restore the newest state of an archive that holds nothing after a write; without one, the newest.

    That is a backup, and the transactions after it where the store was followed.
    """
    name = _choose(archive, sequence)
    with assemble(archive, name=name) as folder:
        log = log_of(archive, name)
        if log.is_file():
            replay(log, folder / FILE_NAME, sequence)
            made = datetime.fromisoformat(_read(archive / name).backup.made)
            (folder / MANIFEST).unlink()
            write_manifest(folder, describe_backup(folder, made))
        return restore_backup(folder, store, replace=replace, now=now)


def _choose(archive: Path, sequence: int | None) -> str:
    """Return the name of the newest backup that holds nothing after a write."""
    held = list_archive(archive)
    if not held:
        raise InvalidInput(f"{archive} holds no backups. Give a folder that `weft backup --incremental` made.")
    fitting = [each.name for each in held if sequence is None or each.sequence <= sequence]
    if not fitting:
        writes = ", ".join(str(each.sequence) for each in held[:10])
        raise InvalidInput(f"No backup in {archive} is as old as write {sequence}. There are: {writes}.")
    return fitting[-1]


def check_archive(archive: Path) -> list[ArchivedBackup]:
    """Put every backup of an archive together and check it; return them."""
    held = list_archive(archive)
    for each in held:
        with assemble(archive, name=each.name) as folder:
            check_backup(folder)
    return held


@contextmanager
def assemble(archive: Path, sequence: int | None = None, *, name: str | None = None) -> Iterator[Path]:
    """Put a backup of an archive together, as a folder that is gone afterwards."""
    name = name or _choose(archive, sequence)
    chain = _read_chain(archive, name)
    with _only_one_at_work(archive), tempfile.TemporaryDirectory(prefix=_ASSEMBLING, dir=archive) as draft:
        whole = Path(draft) / "whole"
        whole.mkdir()
        for folder, increment in chain:
            _apply(folder, increment, whole)
        last_folder, last = chain[-1]
        for file in last.backup.files:
            if file not in last.databases:
                (whole / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(last_folder / file, whole / file)
        # What a whole backup would hold: restoring checks it as such.
        write_manifest(whole, last.backup)
        yield whole


# --- chains ------------------------------------------------------------------------------------------------


def _read_chain(archive: Path, name: str | None) -> list[tuple[Path, Increment]]:
    """Return a backup and those it builds on, the whole one first, every file of them checked by its digest."""
    name = name or list_archive(archive)[-1].name
    chain: list[tuple[Path, Increment]] = []
    expected: str | None = None
    while name is not None:
        folder = archive / name
        # A manifest may have been written by anybody: it must not lead out of its archive, nor in a circle.
        if Path(name).name != name or len(chain) > MAX_CHAIN:
            raise StoreCorrupt(f"The backups in {archive} do not build on each other. Use another archive.")
        increment = _read(folder)
        if expected is not None and digest_file(folder / INCREMENT) != expected:
            raise StoreCorrupt(f"{folder} was changed since the next backup was made. Use another archive.")
        for file, digest in increment.files.items():
            held = folder / file
            if (
                not held.resolve().is_relative_to(folder.resolve())
                or not held.is_file()
                or digest_file(held) != digest
            ):
                raise StoreCorrupt(f"{held} is missing or was changed. Restore an older backup with --at.")
        chain.append((folder, increment))
        name, expected = increment.base, increment.base_digest
    return chain[::-1]


def _read(folder: Path) -> Increment:
    try:
        held = orjson.loads((folder / INCREMENT).read_bytes())
        if held.pop("format") != _FORMAT or held.pop("version") != _VERSION:
            raise ValueError("it has another format")
        databases = {name: Database(**values) for name, values in held.pop("databases").items()}
        return Increment(backup=Backup(**held.pop("backup")), databases=databases, **held)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{folder} is no backup of an archive ({error}). Give a folder that `weft backup --incremental` made."
        ) from error


def _read_identity(database: Path) -> str:
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (identity,) = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    finally:
        connection.close()
    return str(identity)


def _describe(folder: Path, increment: Increment) -> ArchivedBackup:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    backup = increment.backup
    return ArchivedBackup(folder.name, backup.sequence, backup.made, increment.base is None, size)


# --- pages -------------------------------------------------------------------------------------------------


def _write_increment(
    whole: Path, made: Path, backup: Backup, identity: str, base: tuple[Path, Increment] | None
) -> Increment:
    """Write what differs between a whole backup and the one before it."""
    databases: dict[str, Database] = {}
    for name in DATABASES:
        if name in backup.files:
            earlier = base[0] / f"{name}{_PAGES}" if base is not None and name in base[1].databases else None
            known = earlier.read_bytes() if earlier is not None else b""
            databases[name] = _write_changed_pages(whole / name, made, known, backup.files[name])
    for name in backup.files:
        if name not in databases:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(whole / name, made / name)
            sync_file(made / name)
    files = {
        file.relative_to(made).as_posix(): digest_file(file) for file in sorted(made.rglob("*")) if file.is_file()
    }
    if base is None:
        return Increment(None, None, identity, backup, databases, files)
    return Increment(base[0].name, digest_file(base[0] / INCREMENT), identity, backup, databases, files)


def _write_changed_pages(database: Path, made: Path, known: bytes, digest: str) -> Database:
    """Write the digest of every page, and the pages whose digest is not known."""
    digests, changed = bytearray(), 0
    with database.open("rb") as pages, (made / f"{database.name}{_CHANGED}").open("wb") as out:
        page_bytes = _page_bytes(pages.read(100))
        pages.seek(0)
        for number, page in enumerate(iter(lambda: pages.read(page_bytes), b"")):
            own = hashlib.blake2b(page, digest_size=_PAGE_DIGEST_BYTES).digest()
            digests += own
            at = number * _PAGE_DIGEST_BYTES
            if known[at : at + _PAGE_DIGEST_BYTES] != own:
                out.write(number.to_bytes(_NUMBER_BYTES, "little") + page)
                changed += 1
    sync_file(made / f"{database.name}{_CHANGED}")
    write_synced(made / f"{database.name}{_PAGES}", bytes(digests))
    return Database(page_bytes, len(digests) // _PAGE_DIGEST_BYTES, changed, digest)


def _page_bytes(header: bytes) -> int:
    """Return the page size that stands in the head of an SQLite file; 1 stands for 65,536."""
    size = int.from_bytes(header[16:18], "big")
    return 65_536 if size == 1 else size


def _apply(folder: Path, increment: Increment, whole: Path) -> None:
    """Write the changed pages of an increment into the databases of the backup before it."""
    for name, database in increment.databases.items():
        file = whole / Path(name).name
        if not file.exists() or increment.base is None:
            file.write_bytes(b"")
        with (folder / f"{name}{_CHANGED}").open("rb") as changes, file.open("r+b") as out:
            while record := changes.read(_NUMBER_BYTES + database.page_bytes):
                out.seek(int.from_bytes(record[:_NUMBER_BYTES], "little") * database.page_bytes)
                out.write(record[_NUMBER_BYTES:])
            out.truncate(database.pages * database.page_bytes)
        if digest_file(file) != database.digest:
            raise StoreCorrupt(
                f"The pages in {folder} do not make the file they were taken from. Use another backup."
            )


def _write_whole_manifest(made: Path, increment: Increment) -> None:
    plain: dict[str, Any] = {name: getattr(increment, name) for name in increment.__struct_fields__}
    encoded = orjson.dumps(
        {"format": _FORMAT, "version": _VERSION, **plain},
        default=lambda record: {name: getattr(record, name) for name in record.__struct_fields__},
    )
    write_synced(made / INCREMENT, encoded)
