"""One process that indexes a world and tells how long each part took and how much memory it needed."""

import argparse
import json
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import weft.indexing.link
import weft.indexing.prepare
import weft.indexing.worker
from bench.clock import Clock, Watched
from bench.measures import folder_bytes, peak_megabytes
from weft.embed import open_embedder
from weft.indexing.ingest import IndexingContext, ingest
from weft.runtime.heaps import share_heaps
from weft.sources import open_sources
from weft.store import EmbeddedIndex, SqliteStore
from weft.tokens import DEFAULT_ENCODING, counter_for


def index_world(records: Path, store_folder: Path, embedder: str) -> dict[str, Any]:
    """Index the records into a new store; seconds by part, rate, bytes and peak memory."""
    shutil.rmtree(store_folder, ignore_errors=True)
    # As `weft index` does.
    share_heaps()
    clock = Clock()
    store = SqliteStore.open(store_folder)
    shop = _shop(store, store_folder, embedder, clock)
    sources: list[Any] = [_watched(one, clock) for one in open_sources(str(records), name="world")]
    # The functions are replaced where they are called, because what calls them is what is measured.
    preparing: Any = weft.indexing.prepare
    linking: Any = weft.indexing.link
    preparing.prepare = clock.timed("prepare", preparing.prepare)
    other: Any = weft.indexing.worker._ChildProcess
    other.receive = clock.timed("wait", other.receive)
    linking.draw_mentions = clock.timed_steps("link", linking.draw_mentions)
    started, worked = time.perf_counter(), time.process_time()
    report = ingest(sources, shop, progress=_told)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    store.close()
    derived = folder_bytes(store_folder / "derived")
    return {
        "nodes": report.written,
        "links": report.links,
        "problems": len(report.problems),
        "seconds": seconds,
        "cpu_seconds": processor + _of_children(),
        "nodes_per_second": report.written / seconds,
        "nodes_per_cpu_second": report.written / (processor + _of_children()),
        "split": dict(sorted(clock.seconds.items())),
        "store_megabytes": (folder_bytes(store_folder) - derived) / 1e6,
        "derived_megabytes": derived / 1e6,
        "peak_megabytes": peak_megabytes(),
    }


def _of_children() -> float:
    """Return processor time of the process that prepared, which has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watched(source: Any, clock: Clock) -> Any:
    units = clock.timed("read", lambda: [*source.units()])
    return Watched(source, read=clock.timed("read", source.read), units=units)


def _shop(store: SqliteStore, folder: Path, embedder: str, clock: Clock) -> IndexingContext:
    index, embed = EmbeddedIndex(folder / "derived"), open_embedder(embedder)

    def write(changes: Any) -> int:
        with clock.during("store" if changes.upserts or not changes.edges else "link-write"):
            return store.write(changes)

    watched_index: Any = Watched(index, catch_up=lambda _: _caught_up(index, store, clock))
    watched_store: Any = Watched(store, write=write, hashes=clock.timed("store", store.hashes))
    return IndexingContext(watched_store, watched_index, embed, counter_for(DEFAULT_ENCODING)[0])


def _caught_up(index: EmbeddedIndex, store: SqliteStore, clock: Clock) -> int:
    with clock.during("index"):
        return index.catch_up(store)


def _told(stage: str, done: int, total: int | None) -> None:
    if done % 50_000 < 2_000:
        print(f"  {stage}: {done}", file=sys.stderr, flush=True)


def main() -> None:
    """Index one world and print the measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--embedder", default="static")
    given = parser.parse_args()
    print(json.dumps(index_world(given.records, given.store, given.embedder)))


if __name__ == "__main__":
    main()
