"""Bring a collection to the state of a snapshot, by inserts or by importing files.

Inserts pass every entity through the server's log. An empty collection may instead be filled from files in the
storage of Milvus, which go straight into segments: so a cluster is filled with tens of millions of passages.
"""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import orjson
from msgspec import Struct

from weft.errors import StoreError, StoreReadOnly
from weft.ports import RecentChanges, Snapshot
from weft.store.derived import Progress
from weft.store.milvus.collection import (
    MAX_PENDING_NODES,
    Collection,
    CollectionState,
    MilvusAddress,
    to_entity,
    unreachable,
)

_FILES_PER_REQUEST: Final = 1000
"""Milvus takes 1024 in one request."""
_REQUEST_SECONDS: Final = 60.0
"""The longest wait for an answer about imports; the imports themselves go on in the background."""
_COMPLETED, _FAILED = "Completed", "Failed"
"""States of an import, as Milvus names them."""


class CatchUpLimits(Struct, frozen=True):
    """The sizes and pauses of catching up; tests make them small."""

    pending_nodes: int = MAX_PENDING_NODES
    first_page_nodes: int = 5000
    """Nodes of a page that fills an empty collection: nothing is masked meanwhile, so pages may be large."""
    page_nodes: int = 1000
    """Nodes of a page that replaces others: readers take them from the store until the page is written."""
    entities_per_file: int = 50_000
    """So many entities are in memory at once; a file is then some hundred megabytes large."""
    import_poll_seconds: float = 2.0
    """The pause between two looks at an import, which takes minutes."""


def bring_up_to_date(
    collection: Collection, snapshot: Snapshot, address: MilvusAddress, limits: CatchUpLimits
) -> None:
    """Make the collection, created where needed, hold the passages of a snapshot of all tenants."""
    collection.create()
    state, start = collection.state(), CollectionState(Progress(snapshot.identity))
    if not _can_continue(state, snapshot, address):
        # It holds another store, a later state that a restored copy has lost, or half an import.
        collection.drop()
        collection.create()
        state = start
    # One snapshot lists every node once: in an empty collection there is nothing to replace.
    is_empty = state == start and not collection.count()
    if is_empty and address.storage is not None and snapshot.sequence:
        _import_all(collection, snapshot, address, limits)
    else:
        _write_changes(collection, state, snapshot, limits, is_empty)


def _can_continue(state: CollectionState, snapshot: Snapshot, address: MilvusAddress) -> bool:
    """Return whether the collection can be brought up to date; one left by an interrupted import cannot."""
    progress = state.progress
    is_cut_off = address.storage is not None and state.pending is None and progress.sequence == 0
    return progress.identity == snapshot.identity and progress.sequence <= snapshot.sequence and not is_cut_off


def _write_changes(
    collection: Collection, state: CollectionState, snapshot: Snapshot, limits: CatchUpLimits, is_empty: bool
) -> None:
    """Write page after page of the changes.

    The nodes of a page are saved as pending before they are replaced, so that readers take them from the store.
    """
    progress = state.progress
    page_nodes = limits.first_page_nodes if is_empty else limits.page_nodes
    for page in tail_pages(snapshot, progress.sequence, page_nodes):
        # Nodes that a killed catch-up left half replaced are replaced again.
        nodes = sorted({*page.changed_nodes, *(state.pending or ())})
        collection.save(CollectionState(progress, tuple(nodes)))
        if is_empty:
            collection.add(page.passages)
        else:
            collection.replace(nodes, page.passages)
        reached = snapshot.sequence if page.complete else page.sequence
        # Saved after the page: a catch-up that is killed before repeats it, which changes nothing.
        progress = progress.advanced(reached, page.changed_nodes)
        collection.save(CollectionState(progress))


def tail_pages(snapshot: Snapshot, since: int, limit: int) -> Iterator[RecentChanges]:
    """Yield the changes after a sequence number page by page, to the end."""
    page = RecentChanges(since, (), (), since >= snapshot.sequence)
    while not page.complete:
        page = snapshot.changes_since(page.sequence, limit)
        yield page


# --- importing files -------------------------------------------------------------------------------------


def _import_all(collection: Collection, snapshot: Snapshot, address: MilvusAddress, limits: CatchUpLimits) -> None:
    """Fill the collection from files; until all of it is there, readers search the store."""
    # None as pending sends readers to the store, and marks an import that was cut off.
    collection.save(CollectionState(Progress(snapshot.identity), None))
    passages = (passage for page in tail_pages(snapshot, 0, limits.first_page_nodes) for passage in page.passages)
    entities = (to_entity(passage, collection.dimensions) for passage in passages)
    _import_entities(address, collection.name, entities, limits)
    collection.refresh()
    collection.save(CollectionState(Progress(snapshot.identity, snapshot.sequence)))


def _import_entities(
    address: MilvusAddress, collection: str, entities: Iterable[Mapping[str, Any]], limits: CatchUpLimits
) -> None:
    """Write the entities to files, have Milvus import them, and wait until it has."""
    storage = address.storage or Path()
    folder = storage / "weft" / collection
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = _write_files(folder, entities, limits.entities_per_file)
    except OSError as error:
        raise StoreReadOnly(
            f"{storage} takes no files for Milvus ({error}). Give import= the folder in which this machine "
            "sees the bucket of Milvus, or leave it out to fill the collection by inserts."
        ) from error
    for start in range(0, len(files), _FILES_PER_REQUEST):
        names = [[str(file.relative_to(storage))] for file in files[start : start + _FILES_PER_REQUEST]]
        job = _request(address, "create", collectionName=collection, files=names)["jobId"]
        _wait_for_import(address, job, limits.import_poll_seconds)
    # Milvus has made segments of the files by now.
    shutil.rmtree(folder, ignore_errors=True)


def _write_files(folder: Path, entities: Iterable[Mapping[str, Any]], entities_per_file: int) -> list[Path]:
    files: list[Path] = []
    for rows in _batches(entities, entities_per_file):
        files.append(folder / f"{len(files):06}.json")
        files[-1].write_bytes(orjson.dumps({"rows": rows}, option=orjson.OPT_NON_STR_KEYS))
    return files


def _batches(entities: Iterable[Mapping[str, Any]], size: int) -> Iterator[Sequence[Mapping[str, Any]]]:
    rows: list[Mapping[str, Any]] = []
    for entity in entities:
        rows.append(entity)
        if len(rows) == size:
            yield rows
            rows = []
    if rows:
        yield rows


def _wait_for_import(address: MilvusAddress, job: str, poll_seconds: float) -> None:
    while (status := _request(address, "describe", jobId=job)).get("state") != _COMPLETED:
        if status.get("state") == _FAILED:
            raise StoreError(
                f"Milvus at {address.shown} could not import the passages "
                f"({status.get('reason', 'no reason given')}). "
                "Leave import= out of the address to fill the collection by inserts."
            )
        time.sleep(poll_seconds)


def _request(address: MilvusAddress, action: str, **values: Any) -> dict[str, Any]:
    """Send a request about imports over HTTP and return the data of the answer."""
    body = orjson.dumps({**values, "dbName": address.database or "default"})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {address.token}"}
    request = Request(f"{address.rest.rstrip('/')}/v2/vectordb/jobs/import/{action}", body, headers)
    try:
        with urlopen(request, timeout=_REQUEST_SECONDS) as response:
            answer = orjson.loads(response.read())
    except (URLError, OSError, ValueError) as error:
        raise unreachable(address, error) from error
    if answer.get("code") != 0:
        raise StoreError(
            f"Milvus at {address.shown} refused to import the passages ({answer.get('message', answer)}). Leave "
            "import= out of the address to fill the collection by inserts."
        )
    return dict(answer["data"])
