"""Filling a collection from files: written into the storage of Milvus, which takes them in by itself.

Inserts pass every entity through the server's log; files go straight into segments, which is how a cluster is
filled with tens of millions of passages.
"""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import orjson

from weft.errors import StoreError, StoreReadOnly
from weft.ports import Snapshot, Tail
from weft.store.milvus.collection import Collection, Place, State, gone
from weft.store.milvus.entities import entity_of
from weft.store.progress import Progress

_ENTITIES_A_FILE: Final = 50_000
_FILES_A_JOB: Final = 1000
"""Milvus takes 1024 in one request."""
_PATIENCE: Final = 60.0
_PAUSE: Final = 2.0
_DONE, _FAILED = "Completed", "Failed"


def import_entities(place: Place, collection: str, entities: Iterable[Mapping[str, Any]]) -> int:
    """Let Milvus take in all the entities, wait until it has, and return how many there were."""
    storage = place.storage or Path()
    folder = storage / "weft" / collection
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files, count = _written(folder, entities)
    except OSError as error:
        raise StoreReadOnly(
            f"{storage} takes no files for Milvus ({error}). Give import= the folder in which this machine "
            "sees the bucket of Milvus, or leave it out to fill the collection by inserts."
        ) from error
    for start in range(0, len(files), _FILES_A_JOB):
        named = [[str(file.relative_to(storage))] for file in files[start : start + _FILES_A_JOB]]
        _finish(place, _asked(place, "create", collectionName=collection, files=named)["jobId"])
    shutil.rmtree(folder, ignore_errors=True)
    return count


def _written(folder: Path, entities: Iterable[Mapping[str, Any]]) -> tuple[list[Path], int]:
    files, count = list[Path](), 0
    for rows in _portions(entities):
        files.append(folder / f"{len(files):06}.json")
        files[-1].write_bytes(orjson.dumps({"rows": rows}, option=orjson.OPT_NON_STR_KEYS))
        count += len(rows)
    return files, count


def _portions(entities: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    rows: list[Mapping[str, Any]] = []
    for entity in entities:
        rows.append(entity)
        if len(rows) == _ENTITIES_A_FILE:
            yield rows
            rows = []
    if rows:
        yield rows


def _finish(place: Place, job: str) -> None:
    """Wait until Milvus has done a job."""
    while (told := _asked(place, "describe", jobId=job)).get("state") != _DONE:
        if told.get("state") == _FAILED:
            raise StoreError(
                f"Milvus at {place.shown} could not import the passages ({told.get('reason', 'no reason told')}). "
                "Leave import= out of the address to fill the collection by inserts."
            )
        time.sleep(_PAUSE)


def _asked(place: Place, what: str, **values: Any) -> dict[str, Any]:
    """What Milvus answers to a request about imports."""
    body = orjson.dumps({**values, "dbName": place.database or "default"})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {place.token}"}
    request = Request(f"{place.rest.rstrip('/')}/v2/vectordb/jobs/import/{what}", body, headers)
    try:
        with urlopen(request, timeout=_PATIENCE) as answer:
            told = orjson.loads(answer.read())
    except (URLError, OSError, ValueError) as error:
        raise gone(place, error) from error
    if told.get("code") != 0:
        raise StoreError(
            f"Milvus at {place.shown} refused to import the passages ({told.get('message', told)}). Leave import= "
            "out of the address to fill the collection by inserts."
        )
    return dict(told["data"])


_PAGE_OF_CHANGES: Final = 1000
_FIRST_PAGE: Final = 5000


def bring_up(collection: Collection, snapshot: Snapshot, place: Place) -> None:
    """Let the collection, made if need be, hold what the snapshot of everything holds."""
    collection.make()
    state, start = collection.state(), State(Progress(snapshot.identity))
    if not _goes_on(state, snapshot, place):
        collection.drop()
        collection.make()
        state = start
    # One snapshot tells of every node once: into an empty collection there is nothing to replace.
    is_empty = state == start and not collection.count()
    if is_empty and place.storage is not None and snapshot.sequence:
        _import(collection, snapshot, place)
    else:
        _advance(collection, state, snapshot, is_empty)


def _goes_on(state: State, snapshot: Snapshot, place: Place) -> bool:
    """Whether what the collection holds can be brought up to date; an import that was cut off cannot."""
    progress = state.progress
    is_cut_off = place.storage is not None and state.pending is None and progress.sequence == 0
    return progress.identity == snapshot.identity and progress.sequence <= snapshot.sequence and not is_cut_off


def _import(collection: Collection, snapshot: Snapshot, place: Place) -> None:
    """Fill the collection from files; readers look through the store until all of it is there."""
    collection.save(State(Progress(snapshot.identity), None))
    found = (each for page in pages(snapshot, 0, _FIRST_PAGE) for each in page.passages)
    import_entities(place, collection.name, (entity_of(each, collection.dimensions) for each in found))
    collection.refresh()
    collection.save(State(Progress(snapshot.identity, snapshot.sequence)))


def _advance(collection: Collection, state: State, snapshot: Snapshot, is_empty: bool) -> None:
    """Write page after page of what changed, each written down first as being replaced."""
    progress = state.progress
    for page in pages(snapshot, progress.sequence, _FIRST_PAGE if is_empty else _PAGE_OF_CHANGES):
        nodes = sorted({*page.changed_nodes, *(state.pending or ())})
        collection.save(State(progress, tuple(nodes)))
        if is_empty:
            collection.add(page.passages)
        else:
            collection.replace(nodes, page.passages)
        reached = snapshot.sequence if page.complete else page.sequence
        progress = progress.advanced(reached, page.changed_nodes)
        collection.save(State(progress))


def pages(snapshot: Snapshot, since: int, limit: int) -> Iterator[Tail]:
    """What changed after a sequence number, page after page, to the end."""
    page = Tail(since, (), (), since >= snapshot.sequence)
    while not page.complete:
        page = snapshot.tail(page.sequence, limit)
        yield page
