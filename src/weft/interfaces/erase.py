"""Remove a memory or experience from everything that a store keeps in its folder, and check that it is gone.

Deleting a row leaves its bytes in free pages, in the write-ahead log and in old search files. So everything that
may hold them is written anew, and then every file is read and searched for the words.
"""

import shlex
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from weft.api import Weft
from weft.errors import InvalidInput, StoreError
from weft.history.contexts import FILE_NAME as CONTEXTS_FILE
from weft.history.usage import FILE_NAME as USAGE_FILE
from weft.history.usage import UsageLog
from weft.indexing.edits import drop_edits
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete
from weft.memory.audit import forget_undo
from weft.memory.exchange import (
    ExportKind,
    Record,
    merge_records,
    note_forgotten,
    read_exports,
    read_forgotten,
    read_lines,
    write_export,
)
from weft.memory.experience_nodes import experience_from_node
from weft.memory.memories import memory_from_node
from weft.memory.memory_store import find_node
from weft.memory.vocabulary import AXES, EXPERIENCE, MEMORY, VALUE
from weft.model import Edge, EdgeSet, Node, View
from weft.ports import Changes
from weft.store.records import FIRST_CURSOR
from weft.store.sqlite.maintenance import remove_unused
from weft.store.sqlite.store import SqliteStore
from weft.text.nested import nested_texts

_LOCK_TIMEOUT_SECONDS: Final = 10.0
"""How long to wait for readers and writers of a file that is written anew."""
_PIECE_CHARACTERS: Final = 120
"""Characters that are searched for at once: a longer text is spread over several pages of a file."""
_MIN_PIECE_CHARACTERS: Final = 12
"""Shorter pieces stand in other texts by chance."""
_BLOCK_BYTES: Final = 16_777_216
"""Bytes of a file (16 MB) that are in memory at once."""
_MAX_LISTED_LINES: Final = 20
"""Lines of a file that a note lists."""
_MAX_EDGES: Final = 100_000
"""Edges that lead to one node, of which all are looked at."""
_NOT_LOOKED_AT: Final = (
    "exports on other machines and their versions in git, backups, and copies outside this folder; the next "
    "`weft export` to a file puts a mark in its place",
    "what agents and terminals have already printed, and blocks that the disk itself keeps of deleted files",
)


class Place(Struct, frozen=True):
    """A place that was looked at: what was done there, how many things were read, and how many traces are left."""

    name: str
    done: str
    looked_at: int
    left: int = 0


class Receipt(Struct, frozen=True):
    """The outcome of an erasure. It holds no word of what was erased."""

    key: str
    tenant: str
    at: datetime
    removed: tuple[str, ...]
    places: tuple[Place, ...]
    proven: bool
    still_said_by: tuple[str, ...] = ()
    """Other nodes that hold the same words; they are records of their own and were left alone."""
    notes: tuple[str, ...] = ()
    not_looked_at: tuple[str, ...] = _NOT_LOOKED_AT


def erase(weft: Weft, key: str, *, now: datetime, tenant: str) -> Receipt:
    """Remove a memory or experience with all traces in the folder of its store, and return what was checked.

    One that was forgotten before is known by its key only: its files are written anew, but not searched for words.
    """
    indexing, folder = weft.indexing_context(), weft.folder
    with weft.store.writing():
        nodes = _find_nodes(weft, key, tenant)
        full_key = nodes[0].key if nodes else _forgotten_key(indexing, key, tenant)
        pieces = _pieces(text for node in nodes for text in _texts(node))
        removed = tuple(node.key for node in nodes)
        _remove_edges(weft, nodes, tenant)
        delete(indexing, [(tenant, name) for name in removed])
        if nodes:
            note_forgotten(indexing, [full_key], now, tenant)
        refs = [(tenant, name) for name in (removed or (full_key,))]
        kept = _erase_contexts(folder / CONTEXTS_FILE, refs, [full_key.encode(), *pieces])
        UsageLog(folder).forget(refs)
        forget_undo(folder, full_key)
        drop_edits(weft.store, tenant, {full_key, *(key for _, key in refs)})
        if isinstance(weft.store, SqliteStore):
            weft.store.transact(remove_unused)
        # Search files keep deleted entries until they are merged; only new ones have none.
        weft.reader.index.rebuild(weft.store)
        files = [file for file in sorted(folder.glob("*.sqlite")) if file.is_file()]
        notes = [note for note in map(_write_anew, files) if note]
    if weft.location != str(folder):
        notes.append("The store is on a server, which keeps deleted rows until it vacuums them: run VACUUM there.")
    if nodes and not pieces:
        notes.append(
            f"Its words are fewer than {_MIN_PIECE_CHARACTERS} characters: files were not searched for them."
        )
    if not nodes:
        notes.append("It was forgotten before, so its words are not known: files were not searched for them.")
    exports, left_in = _erase_exports(indexing, full_key, pieces, now, tenant)
    places = (
        _check_store(indexing, refs),
        kept,
        exports,
        _check_usage(folder, refs),
        _check_mark(indexing, full_key, tenant),
        _check_files(folder, pieces),
    )
    found = places[-1].left > 0
    said_by = tuple(_find_same_words(weft, pieces, tenant)) if found else ()
    proven = not notes and not any(place.left for place in places)
    return Receipt(full_key, tenant, now, removed, places, proven, said_by, (*notes, *left_in))


# --- what is removed -------------------------------------------------------------------------------------------


def _find_nodes(weft: Weft, key: str, tenant: str) -> list[Node]:
    """Return the node of a memory, or those of an experience with the values that it is part of."""
    name = key.strip()
    # A key of one axis, as pages cite it, names the whole experience.
    is_experience = name.startswith(f"{EXPERIENCE}:")
    full = name.partition("/")[0] if is_experience else f"{MEMORY}:{name.removeprefix(f'{MEMORY}:')}"
    names = [full, *(f"{full}/{axis}" for axis in AXES if is_experience and axis != "full")]
    with weft.store.snapshot(View((tenant,))) as snapshot:
        found = [node for each in names if (node := find_node(snapshot, each)) is not None]
        # A value is told in the words of one of its experiences.
        leading = {edge.source for node in found for edge in _edges_to(weft, node)}
        found += [
            node
            for source in sorted(leading)
            if source.startswith(f"{VALUE}:") and (node := find_node(snapshot, source)) is not None
        ]
    return found


def _forgotten_key(indexing: IndexingContext, key: str, tenant: str) -> str:
    """Return the key of a record that was forgotten before; raise an error if there never was one."""
    marks = read_forgotten(indexing, tenant)
    found = [name for name in (key.strip(), f"{MEMORY}:{key.strip()}") if name in marks]
    if not found:
        raise InvalidInput(
            f"No memory or experience of {tenant} has the key {key!r}. `weft memories` and `weft experience list` "
            "list them with their keys."
        )
    return found[0]


def _edges_to(weft: Weft, node: Node) -> list[Edge]:
    """Return the edges that lead to a node."""
    ends = (None, node.id)
    listed = weft.store.edges_after(View((node.tenant,)), FIRST_CURSOR, _MAX_EDGES, ends)
    return [each.edge for each in listed]


def _remove_edges(weft: Weft, nodes: Sequence[Node], tenant: str) -> None:
    """Remove the edges from and to the nodes: their evidence quotes the nodes, and edges outlive their ends."""
    gone = {node.key for node in nodes}
    sources = sorted(gone | {edge.source for node in nodes for edge in _edges_to(weft, node)})
    store = weft.store
    sets = []
    for maker in sorted({maker for maker, owner in store.edge_makers("") if owner == tenant}):
        drawn = {source: store.edges_by_maker(tenant, source, maker) for source in sources}
        kept = [
            edge for source in sources if source not in gone for edge in drawn[source] if edge.target not in gone
        ]
        scope = tuple(source for source in sources if drawn[source])
        if scope:
            sets.append(EdgeSet(maker, tenant, tuple(kept), scope))
    store.write(Changes(edges=tuple(sets)))


def _erase_contexts(file: Path, refs: Sequence[tuple[str, str]], traces: Sequence[bytes]) -> Place:
    """Remove the kept contexts that name or quote what is erased, and what sessions received and claimed of it."""
    if not file.is_file():
        return Place("kept contexts and sessions", "there are none", 0)
    with _explain_errors(file), closing(_connect(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute("SELECT place, body FROM contexts").fetchall()
        hit = [(place,) for place, body in rows if any(trace in zlib.decompress(body) for trace in traces)]
        connection.executemany("DELETE FROM contexts WHERE place = ?", hit)
        received = connection.executemany("DELETE FROM received WHERE tenant = ? AND key = ?", refs).rowcount
        claims = [(name,) for _, name in refs]
        claimed = connection.executemany("DELETE FROM claims WHERE instr(what, ?) > 0", claims).rowcount
        connection.execute("COMMIT")
        rest = connection.execute("SELECT body FROM contexts").fetchall()
        left = sum(any(trace in zlib.decompress(body) for trace in traces) for (body,) in rest)
        left += sum(
            connection.execute("SELECT count(*) FROM received WHERE tenant = ? AND key = ?", ref).fetchone()[0]
            for ref in refs
        )
    done = f"removed {len(hit)} contexts, {received} entries and {claimed} claims of sessions"
    return Place("kept contexts and sessions", done, len(rows), left)


def _erase_exports(
    indexing: IndexingContext, key: str, pieces: Sequence[bytes], now: datetime, tenant: str
) -> tuple[Place, list[str]]:
    """Put a mark in the place of the record in the exports of memories that were written on this machine.

    Return with it a note on every file that still holds it, with the lines and the command that removes them.
    """
    files = read_exports(indexing, tenant)
    traces = [key.encode(), *pieces]
    changed, notes = 0, []
    for file, kind in files.items():
        if not _holds(file, traces):
            continue
        if kind is ExportKind.MEMORIES and _mark_in_export(file, key, now):
            changed += 1
            # The mark has the key, which is no trace.
            traces_left = pieces
        else:
            traces_left = traces
        lines = [
            n for n, line in enumerate(file.read_bytes().splitlines(), 1) if any(t in line for t in traces_left)
        ]
        if lines:
            notes.append(_describe_left(file, kind, lines, tenant))
    done = f"put a mark in its place in {changed} of them" if files else "none were written on this machine"
    return Place("exports", done, len(files), len(notes)), notes


def _mark_in_export(file: Path, key: str, now: datetime) -> bool:
    """Replace the record in an export by the mark of a forgotten one; return False if the file does not let us."""
    try:
        records = read_lines(file.read_text(encoding="utf-8"))
        write_export(file, merge_records(records, [Record(key, now, forgotten=True)]).values())
    except (InvalidInput, OSError, UnicodeDecodeError):
        return False
    return True


def _describe_left(file: Path, kind: ExportKind, lines: Sequence[int], tenant: str) -> str:
    numbers = ", ".join(map(str, lines[:_MAX_LISTED_LINES])) + (" …" if len(lines) > _MAX_LISTED_LINES else "")
    command = (
        f"rm {shlex.quote(str(file))} && weft tenants export {shlex.quote(tenant)} {shlex.quote(str(file))}"
        if kind is ExportKind.TENANT
        # The end of an export of a tenant counts its lines, so single ones cannot go.
        else f"sed -i '{';'.join(f'{line}d' for line in lines)}' {shlex.quote(str(file))}"
    )
    return f"{file} still holds it, on line {numbers}. Run: {command}"


def _write_anew(file: Path) -> str:
    """Write a file of SQLite anew without its free pages, and empty its log; return what prevented it."""
    with _explain_errors(file), closing(_connect(file)) as connection:
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return (
        f"{file.name}-wal is being read by another process: run the command again when it has ended."
        if busy
        else ""
    )


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None)
    # Deleted content is overwritten with zeros.
    connection.execute("PRAGMA secure_delete = ON")
    return connection


@contextmanager
def _explain_errors(file: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into ours, with what to do next."""
    try:
        yield
    except (sqlite3.Error, zlib.error) as error:
        raise StoreError(
            f"{file} could not be written anew ({error}). The record is removed, but not proven gone: run the "
            "command again when no other process uses the store."
        ) from error


# --- what is checked -------------------------------------------------------------------------------------------


def _check_store(indexing: IndexingContext, refs: Sequence[tuple[str, str]]) -> Place:
    left = sum(len(indexing.store.hashes(tenant, [name])) for tenant, name in refs)
    done = "removed nodes, passages, vectors, history and edges; built the search files anew"
    return Place("store, index and vectors", done, len(refs), left)


def _check_usage(folder: Path, refs: Sequence[tuple[str, str]]) -> Place:
    done = "removed its counts" if (folder / USAGE_FILE).is_file() else "there is none"
    return Place("usage log", done, len(refs), len(UsageLog(folder).read_uses(refs)))


def _check_mark(indexing: IndexingContext, key: str, tenant: str) -> Place:
    missing = key not in read_forgotten(indexing, tenant)
    return Place("mark for exports", "kept its key, so that no import brings it back", 1, int(missing))


def _check_files(folder: Path, pieces: Sequence[bytes]) -> Place:
    """Read every file of the folder, and count those that hold a piece of the text."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    left = sum(_holds(file, pieces) for file in files) if pieces else 0
    done = "wrote the SQLite files anew, emptied their logs, and searched every file for its words"
    return Place("files of the folder", done, len(files), left)


def _holds(file: Path, pieces: Sequence[bytes]) -> bool:
    longest = max(map(len, pieces))
    before = b""
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            joined = before + block
            if any(piece in joined for piece in pieces):
                return True
            # A piece may lie across two blocks.
            before = joined[-longest:]
    return False


def _find_same_words(weft: Weft, pieces: Sequence[bytes], tenant: str) -> Iterator[str]:
    for row in weft.store.iterate(tenant):
        said = "\n".join(nested_texts([row.node.title, row.node.text, dict(row.node.fields)])).encode(
            "utf-8", "replace"
        )
        if any(piece in said for piece in pieces):
            yield row.node.key


def _texts(node: Node) -> Iterator[str]:
    """Yield the sentences that somebody wrote in a memory or experience, those of its history included."""
    if node.kind == MEMORY:
        memory = memory_from_node(node)
        yield from (memory.text, *(earlier.text for earlier in memory.history))
    elif node.kind == EXPERIENCE and node.fields.get("axis") == "full":
        # Files, dates and words of the vocabulary are shared with other records.
        values = msgspec.to_builtins(experience_from_node(node))
        yield from (text for text in nested_texts({**values, "files": [], "tier_reason": ""}) if " " in text)


def _pieces(texts: Iterable[str]) -> list[bytes]:
    """Return the lines of the texts in pieces, as bytes to search for."""
    # By lines: a line break is written in another way in JSON.
    lines = {line.strip() for text in texts for line in text.splitlines()}
    cut = {line[at : at + _PIECE_CHARACTERS] for line in lines for at in range(0, len(line), _PIECE_CHARACTERS)}
    return sorted(piece.encode("utf-8", "replace") for piece in cut if len(piece) >= _MIN_PIECE_CHARACTERS)
