"""Bringing a collection up to the sequence of a store: page by page, or from files when it is empty."""

from collections.abc import Iterator
from typing import Final

from weft.ports import Snapshot, Tail
from weft.store.milvus.collection import Collection, State
from weft.store.milvus.entities import entity_of
from weft.store.milvus.importing import import_entities
from weft.store.milvus.places import Place
from weft.store.progress import Progress

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
