"""Write memories and experiences as sorted lines, and read them again: made for git, between machines.

A line is one record with its key. What was forgotten stays as a line that says so. Two versions of a file are
merged record by record: `join` is commutative and idempotent, forgetting always wins, else the later change does,
and what the other machine said stays as history.
With git's union merge, which keeps both versions of a line, no merge leaves a conflict, and reading settles it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete, put
from weft.memory.experience_nodes import experience_from_node, experience_nodes
from weft.memory.experiences import Experience
from weft.memory.memories import MAX_KEPT_VERSIONS, Earlier, Memory, memory_from_node, memory_node
from weft.memory.memory_store import newest_nodes
from weft.memory.vocabulary import AXES, EXPERIENCE, MEMORY
from weft.model import DEFAULT_TENANT, Filter, Node, View
from weft.ports import Changes
from weft.text.redact import redact_node

_FORGOTTEN_SOURCE: Final = ":forgotten"
"""The source under whose units the keys of forgotten records are kept: no real source has this name."""
_EXPORTS_SOURCE: Final = ":exports"
"""The source under whose units the files are kept that exports were written to."""
_BAD_LINE: Final = (
    "Line {number} of the export is no record ({why}). Nothing was imported: mend or remove the line."
)
_ALL: Final = 1_000_000
"""A limit that lists everything of a tenant."""


class Record(Struct, frozen=True, omit_defaults=True):
    """One line of an export: a memory or an experience as it was last changed, or the mark of a forgotten one."""

    key: str
    updated: datetime
    forgotten: bool = False
    memory: Memory | None = None
    experience: Experience | None = None


class ExportKind(StrEnum):
    """The command that wrote a file: memories and experiences alone, or everything of a tenant."""

    MEMORIES = "memories"
    TENANT = "tenant"


class ImportResult(Struct, frozen=True):
    """The keys that an import wrote, forgot, and left as they were."""

    written: tuple[str, ...]
    forgotten: tuple[str, ...]
    unchanged: int


def join(one: Record, other: Record) -> Record:
    """Return which of two records with one key holds, the same whichever comes first."""
    if one.forgotten or other.forgotten:
        return Record(one.key, max(one.updated, other.updated), forgotten=True)
    older, newer = sorted((one, other), key=_rank)
    if older.memory is None or newer.memory is None:
        return newer
    return replace(newer, memory=_keep_versions(newer.memory, older.memory))


def _rank(record: Record) -> tuple[datetime, bytes]:
    """Return by what the later of two records is known: where the times are equal, by what they say."""
    # Without the history, which grows whenever records are joined.
    said = replace(record, memory=replace(record.memory, history=())) if record.memory else record
    return record.updated, msgspec.json.encode(said)


def _keep_versions(newer: Memory, older: Memory) -> Memory:
    """Return the newer memory with all that either has said in its history, each text once.

    A text that the newer one never replaced held until it was last said, as far as both machines can tell.
    """
    known = {earlier.text: earlier.until for earlier in newer.history}
    versions = dict(known)
    for earlier in (*older.history, Earlier(older.text, older.updated)):
        if earlier.text != newer.text:
            versions[earlier.text] = max(earlier.until, versions.get(earlier.text, earlier.until))
    if versions == known:
        return newer
    versions.pop(newer.text, None)
    history = sorted(
        (Earlier(text, until) for text, until in versions.items()), key=lambda each: (each.until, each.text)
    )
    return replace(newer, history=tuple(history[-MAX_KEPT_VERSIONS:]))


def merge_records(*several: Iterable[Record]) -> dict[str, Record]:
    """Return the records of several exports, one for each key."""
    merged: dict[str, Record] = {}
    for records in several:
        for record in records:
            merged[record.key] = join(merged[record.key], record) if record.key in merged else record
    return merged


def write_lines(records: Iterable[Record]) -> str:
    """Return the records as lines of JSON, sorted by key."""
    lines = [msgspec.json.encode(record, order="sorted") for record in sorted(records, key=lambda each: each.key)]
    return "".join(line.decode() + "\n" for line in lines)


def read_lines(text: str) -> list[Record]:
    """Return the records in lines of JSON; raise an error that names the line which is none."""
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=Record)
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            raise InvalidInput(_BAD_LINE.format(number=number, why=error)) from error
        # A key of another kind would replace a node that the line is not about.
        kind = MEMORY if record.memory is not None else EXPERIENCE if record.experience is not None else ""
        if not record.key.startswith((f"{MEMORY}:", f"{EXPERIENCE}:") if not kind else f"{kind}:"):
            why = f"{record.key!r} is no key of a memory or experience"
            raise InvalidInput(_BAD_LINE.format(number=number, why=why))
        records.append(record)
    return records


def export_records(indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT) -> dict[str, Record]:
    """Return all memories and experiences of a tenant, and marks of those that were forgotten."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        memories = [memory_from_node(node) for node in newest_nodes(snapshot, Filter(kinds=(MEMORY,)), _ALL)]
        whole = Filter(kinds=(EXPERIENCE,), where=(("axis", "full"),))
        experiences = [experience_from_node(node) for node in newest_nodes(snapshot, whole, _ALL)]
    records = [Record(memory.key, memory.updated, memory=memory) for memory in memories]
    records += [Record(each.key, each.resolved or each.attempted, experience=each) for each in experiences]
    kept = {record.key for record in records}
    gone = [
        Record(key, datetime.fromisoformat(when), forgotten=True)
        for key, when in read_forgotten(indexing, tenant).items()
        if key not in kept
    ]
    return merge_records(records, gone)


def read_forgotten(indexing: IndexingContext, tenant: str) -> Mapping[str, str]:
    """Return the keys of forgotten records, and when each was forgotten."""
    return indexing.store.units(tenant, _FORGOTTEN_SOURCE)


def note_forgotten(indexing: IndexingContext, keys: Sequence[str], now: datetime, tenant: str) -> None:
    """Keep the keys of forgotten records, so that no import brings them back."""
    units = tuple((tenant, _FORGOTTEN_SOURCE, key, now.isoformat()) for key in keys)
    indexing.store.write(Changes(units=units))


def drop_marks(indexing: IndexingContext, keys: Sequence[str], tenant: str) -> None:
    """Forget that these were forgotten, because they are back."""
    indexing.store.write(Changes(units=tuple((tenant, _FORGOTTEN_SOURCE, key, "") for key in keys)))


def note_export(indexing: IndexingContext, file: Path, kind: ExportKind, tenant: str) -> None:
    """Keep the name of a file that an export was written to: what is forgotten for good must go from there too."""
    indexing.store.write(Changes(units=((tenant, _EXPORTS_SOURCE, str(file.resolve()), kind.value),)))


def read_exports(indexing: IndexingContext, tenant: str) -> dict[Path, ExportKind]:
    """Return the files that exports of a tenant were written to on this machine and that are still there."""
    noted = indexing.store.units(tenant, _EXPORTS_SOURCE)
    return {Path(name): ExportKind(kind) for name, kind in sorted(noted.items()) if Path(name).is_file()}


def write_export(file: Path, records: Iterable[Record]) -> None:
    """Write records to a file in one step: whoever reads it meanwhile sees the old or the new one."""
    target = file.resolve()
    draft = target.with_name(f"{target.name}.new")
    draft.write_text(write_lines(records), encoding="utf-8")
    draft.replace(target)


def import_records(
    indexing: IndexingContext, records: Iterable[Record], *, tenant: str = DEFAULT_TENANT, dry_run: bool = False
) -> ImportResult:
    """Bring a tenant to what it and the records say together; return what changed, or with `dry_run` would."""
    with indexing.store.writing():
        known = export_records(indexing, tenant=tenant)
        merged = merge_records(known.values(), records)
        changed = {key: record for key, record in merged.items() if known.get(key) != record}
        written = [record for record in changed.values() if not record.forgotten]
        gone = [record for record in changed.values() if record.forgotten]
        if not dry_run:
            put(indexing, [node for record in written for node in _nodes(record, tenant)])
            delete(indexing, _stored_keys(gone, known, tenant))
            for record in gone:
                note_forgotten(indexing, [record.key], record.updated, tenant)
    return ImportResult(
        tuple(record.key for record in written),
        tuple(record.key for record in gone),
        len(merged) - len(changed),
    )


def _nodes(record: Record, tenant: str) -> list[Node]:
    """Return the nodes of a record, of this tenant and without secrets, whoever wrote the line."""
    if record.memory is not None:
        nodes = (memory_node(replace(record.memory, key=record.key, tenant=tenant)),)
        return [redact_node(node)[0] for node in nodes]
    if record.experience is None:
        return []
    experience = replace(record.experience, tenant=tenant)
    return [redact_node(node)[0] for node in experience_nodes(experience)]


def _stored_keys(gone: Iterable[Record], known: Mapping[str, Record], tenant: str) -> list[tuple[str, str]]:
    """Return the nodes to remove: of an experience those of all axes."""
    keys = [record.key for record in gone if record.key in known and not known[record.key].forgotten]
    axes = [axis for axis in AXES if axis != "full"]
    return [
        (tenant, name)
        for key in keys
        for name in (key, *(f"{key}/{axis}" for axis in axes if key.startswith(f"{EXPERIENCE}:")))
    ]
