"""Whole tenants: exported and imported as lines of JSON, and deleted with a proof.

An export streams: no more than a page of nodes is in memory. Links that Weft draws by itself are drawn again when
an export is imported; the others are exported after the nodes.
"""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast

import msgspec
import orjson
from msgspec import Struct
from msgspec.structs import asdict, replace

from weft.api import Weft
from weft.errors import InvalidInput
from weft.history.runs import RunLog
from weft.history.sessions import forget_tenant
from weft.interfaces.keys import EVERY_TENANT, KeyRing
from weft.model import Alias, Edge, Node, Origin, View
from weft.ports import Changes
from weft.store.records import FIRST_CURSOR

FORMAT: Final = "weft-export"
VERSION: Final = 1
KEPT_ANSWERS: Final = "idempotency.sqlite"
"""The file beside the store in which a service keeps answers for a day, for callers that ask again."""
_EDGES_PER_PAGE: Final = 1000
_NODES_PER_WRITE: Final = 200
_KEYS_PER_DELETION: Final = 500
"""Items that are read or written together: some megabytes at most."""
_QUOTED_CHARACTERS: Final = 80
"""Characters of a line that an error quotes, enough to find it."""
_MAX_LINE_BYTES: Final = 32_000_000
"""The longest line of an export: the longest text of a node takes 30 MB with every character escaped."""
_DRAWN_AGAIN: Final = ("mentions", "shared_tag", "similar")
"""Types of links that follow from the nodes themselves."""


class Deletion(Struct, frozen=True):
    """The proof that a tenant is gone: what was removed, a digest of its keys, and what is left (nothing)."""

    tenant: str
    nodes: int
    digest: str
    left: int
    sequence: int


class Imported(Struct, frozen=True):
    """The outcome of an import, in counts."""

    nodes: int = 0
    edges: int = 0


# --- export ------------------------------------------------------------------------------------------------


def export_tenant(weft: Weft, tenant: str) -> Iterator[bytes]:
    """Yield a tenant as lines of JSON: a head, its nodes, its edges, and an end with the counts."""
    yield _line({"format": FORMAT, "version": VERSION, "tenant": tenant})
    nodes = edges = 0
    for row in weft.store.iterate(tenant):
        nodes += 1
        yield _line({"node": _plain_node(row.node)})
    for edge in _edges_of(weft, tenant):
        edges += 1
        yield _line({"edge": asdict(edge)})
    # Whoever reads the file sees by this line that it is whole.
    yield _line({"end": {"nodes": nodes, "edges": edges}})


def _edges_of(weft: Weft, tenant: str) -> Iterator[Edge]:
    cursor = FIRST_CURSOR
    while True:
        page = weft.store.edges_after(View((tenant,)), cursor, _EDGES_PER_PAGE, (None, None))
        yield from (listed.edge for listed in page if listed.edge.type not in _DRAWN_AGAIN)
        if len(page) < _EDGES_PER_PAGE:
            return
        cursor = page[-1].cursor


def _line(value: object) -> bytes:
    return orjson.dumps(value, default=asdict, option=orjson.OPT_NON_STR_KEYS) + b"\n"


def _plain_node(node: Node) -> dict[str, Any]:
    # The id is of this store, and importance follows from the links.
    return {name: value for name, value in asdict(node).items() if name not in ("id", "importance")}


# --- import ------------------------------------------------------------------------------------------------


def import_tenant(weft: Weft, stream: BinaryIO, tenant: str | None = None) -> Imported:
    """Store an export of any size, under its own tenant or another; nodes of the same key are replaced.

    It is read twice: it is checked to its end before any of it is stored. A stream that cannot be read again, such
    as a pipe, is kept in a temporary file meanwhile; no more than a batch of it is in memory.
    """
    with ExitStack() as held:
        if not stream.seekable():
            copy = held.enter_context(TemporaryFile())
            shutil.copyfileobj(stream, copy)
            copy.seek(0)
            stream = cast("BinaryIO", copy)
        start = stream.tell()
        own = _check_whole(_lines(stream))
        stream.seek(start)
        return _store_lines(weft, _lines(stream), tenant or own)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream; refuse one that is too long to be held."""
    number = 0
    while line := stream.readline(_MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > _MAX_LINE_BYTES:
            raise InvalidInput(
                f"Line {number} is longer than {_MAX_LINE_BYTES:,} bytes, more than any node takes. Nothing was "
                "imported."
            )
        yield line


def _store_lines(weft: Weft, lines: Iterable[bytes], target: str) -> Imported:
    nodes = edges = 0
    batch: list[Node] = []
    links: list[Edge] = []
    for line in lines:
        value = orjson.loads(line)
        if "node" in value:
            batch.append(_node_from(value["node"], target))
        elif "edge" in value:
            links.append(_edge_from(value["edge"], target))
        if len(batch) >= _NODES_PER_WRITE or len(links) >= _EDGES_PER_PAGE or "end" in value:
            weft.put(batch)
            weft.put(edges=links)
            nodes, edges = nodes + len(batch), edges + len(links)
            batch, links = [], []
    return Imported(nodes, edges)


def import_lines(weft: Weft, lines: Iterable[bytes], tenant: str, may_link: Callable[[str], bool]) -> Imported:
    """Store some lines of an export, all of them or none: callers send a long one in pieces.

    `may_link` tells into which other tenants an edge may lead.
    """
    nodes: list[Node] = []
    edges: list[Edge] = []
    for number, line in enumerate(lines, 1):
        value = _read_line(number, line)
        if "node" in value:
            nodes.append(_node_from(value["node"], tenant))
        elif "edge" in value:
            edges.append(_edge_from(value["edge"], tenant))
        elif "format" not in value and "end" not in value:
            raise InvalidInput(f"Line {number} holds neither a node nor an edge. Nothing was imported.")
    # A tenant that may not be linked to must not be told from one that is not there.
    foreign = next((edge.target_tenant for edge in edges if edge.target_tenant not in (None, tenant)), None)
    if foreign is not None and not all(may_link(edge.target_tenant or tenant) for edge in edges):
        raise InvalidInput(
            f"An edge leads to tenant {foreign!r}, into which this caller may not link. Nothing was imported: "
            "leave such edges out, or import with a key for both tenants."
        )
    with weft.store.writing():
        weft.put(nodes)
        weft.put(edges=edges)
    return Imported(len(nodes), len(edges))


def _read_line(number: int, line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except ValueError as error:
        raise InvalidInput(f"Line {number} is not JSON ({error}). Nothing was imported.") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"Line {number} is no object. Nothing was imported.")
    return value


def _check_whole(lines: Iterable[bytes]) -> str:
    """Return the tenant of an export; refuse a file that is none, or that was cut off."""
    counts = {"node": 0, "edge": 0}
    head: dict[str, Any] = {}
    end = None
    for number, line in enumerate(lines, 1):
        value = _read_line(number, line)
        # Read as it will be stored, so that a bad line in the middle leaves nothing half imported.
        if "node" in value:
            _node_from(value["node"], "")
        elif "edge" in value:
            _edge_from(value["edge"], "")
        head = value if number == 1 else head
        end = value.get("end")
        for what in counts:
            counts[what] += what in value
    if head.get("format") != FORMAT or head.get("version") != VERSION:
        raise InvalidInput(
            f"The file is no export of version {VERSION}. Give one that `weft tenants export` wrote."
        )
    if end != {"nodes": counts["node"], "edges": counts["edge"]}:
        raise InvalidInput(
            "The file was cut off: its last line does not count what it holds. Nothing was imported."
        )
    return str(head["tenant"])


class _ExportedNode(Struct, frozen=True, forbid_unknown_fields=True):
    """A node as a line of an export has it: a file may have been written by anybody, so every value is checked."""

    key: str
    kind: str
    tenant: str
    title: str
    summary: str
    text: str
    language: str | None
    fields: dict[str, Any]
    tags: tuple[str, ...]
    aliases: tuple[Alias, ...]
    origin: Origin
    sequence: int | None
    known_from: int | None
    created: datetime | None
    modified: datetime | None


def _node_from(plain: object, tenant: str) -> Node:
    try:
        read = msgspec.convert(plain, _ExportedNode)
    except msgspec.ValidationError as error:
        raise InvalidInput(_describe_unreadable("node", plain, error)) from error
    return Node(**{**asdict(read), "tenant": tenant})


def _describe_unreadable(what: str, plain: object, error: msgspec.ValidationError) -> str:
    shown = str(plain)[:_QUOTED_CHARACTERS]
    return (
        f"The {what} {shown} of the export cannot be read ({error}). Correct the line, or export the tenant again."
    )


def _edge_from(plain: object, tenant: str) -> Edge:
    try:
        edge = msgspec.convert(plain, Edge)
    except msgspec.ValidationError as error:
        raise InvalidInput(_describe_unreadable("edge", plain, error)) from error
    return replace(edge, tenant=tenant)


# --- deletion ----------------------------------------------------------------------------------------------


def delete_tenant(weft: Weft, tenant: str) -> Deletion:
    """Remove everything of a tenant, and return the proof of it."""
    digest, count = hashlib.sha256(), 0
    while keys := [row.node.key for row in islice(weft.store.iterate(tenant), _KEYS_PER_DELETION)]:
        weft.delete(*keys, tenant=tenant)
        count += len(keys)
        for key in keys:
            digest.update(key.encode("utf-8", "surrogatepass") + b"\0")
    forget_tenant(weft.contexts, tenant)
    _empty_kept_answers(weft, tenant)
    RunLog(weft.folder).forget_tenant(tenant)
    stamps = [unit for unit in weft.store.state().units if unit[0] == tenant]
    # An empty stamp removes the unit.
    weft.store.write(Changes(units=tuple((*unit[:3], "") for unit in stamps)))
    left = weft.status([tenant]).nodes
    return Deletion(tenant, count, digest.hexdigest(), left, weft.store.last_sequence())


def _empty_kept_answers(weft: Weft, tenant: str) -> None:
    """Keep of the answers that may quote a tenant only that they were given."""
    file = weft.folder / KEPT_ANSWERS
    if not file.is_file():
        return
    tenants_of = {key.id: key.tenants for key in KeyRing(weft.folder).all_keys()}
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        # Without it, what was said would stay in unused parts of the file.
        connection.execute("PRAGMA secure_delete = ON")
        for (caller,) in connection.execute("SELECT DISTINCT caller FROM requests").fetchall():
            # Answers to keys that are gone, or to a service without keys, may quote every tenant.
            if {tenant, EVERY_TENANT} & {*tenants_of.get(caller, (EVERY_TENANT,))}:
                emptied = "UPDATE requests SET headers = '', body = x'' WHERE caller = ? AND status IS NOT NULL"
                connection.execute(emptied, (caller,))
