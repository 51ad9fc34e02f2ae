"""Write to an open store: nodes and edges directly (`Writer`), and sources that are read in (`Indexer`).

What writing needs is imported inside the methods, so that programs that only ask start sooner.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from weft.api.reader import Reader
from weft.errors import InvalidInput, UnknownName
from weft.model import DEFAULT_TENANT, Edge, Node, View
from weft.ports import Changes, HasTree, ignore_progress
from weft.store import SqliteStore
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.indexing.copy import CopyResult
    from weft.indexing.ingest import IndexingContext, Progress, Report
    from weft.indexing.write import Written
    from weft.ports import Source


_READINGS: Final = ":readings"
"""The source under whose units the store keeps how each source's files are read; no source can have this name."""


class Writer:
    """Direct changes to a store: nodes, edges, links by tags and meaning, copies and repairs."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def indexing_context(self) -> "IndexingContext":
        """Return what writing works with: the store, its index, the embedder and the token counter."""
        from weft.indexing.ingest import IndexingContext

        count, _ = counter_for(DEFAULT_ENCODING)
        return IndexingContext(self._reader.store, self._reader.index, self._reader.embedder, count)

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> "Written":
        """Store nodes and edges; they are linked and found by the next question."""
        from weft.indexing.write import put

        return put(self.indexing_context(), nodes, edges)

    def delete(self, keys: Sequence[str], tenant: str) -> "Written":
        """Remove the nodes with these keys; keys that name nothing are left alone."""
        from weft.indexing.write import delete

        return delete(self.indexing_context(), [(tenant, key) for key in keys])

    def replace_edges(self, source: str, edges: Sequence[Edge], tenant: str) -> "Written":
        """Make these all the edges that `put` drew from one node; edges of other makers stay."""
        from weft.indexing.write import replace_edges

        return replace_edges(self.indexing_context(), tenant, source, edges)

    def link(
        self, *, shared_tags: bool, similar: float | None, tenant: str, progress: Callable[[int], None] | None
    ) -> int:
        """Link a tenant's nodes by tags and by meaning, now and as they change; return the number of links."""
        from weft.indexing.relations import LinkSettings, draw_all_links

        # Kept in the store, so that nodes written later are linked in the same way.
        settings = LinkSettings(shared_tags, similar)
        store, index = self._reader.store, self._reader.index
        drawn = draw_all_links(store, index, tenant, settings, progress or (lambda done: None))
        index.catch_up(store)
        return drawn

    def copy_to(self, other: Reader, progress: "Progress | None") -> "CopyResult":
        """Copy everything into another, empty store, whatever engines the two are, and compare them."""
        from weft.indexing.copy import copy_store
        from weft.indexing.reembed import count_waiting_passages

        if count_waiting_passages(self._reader.store):
            raise InvalidInput("Some passages wait for a vector. Run `weft reembed` on this store, then copy it.")
        return copy_store(self._reader.store, other.store, other.index, progress or ignore_progress)

    def begin_quality(self) -> None:
        """Let all passages wait for vectors of the better embedder, if the store was opened with it."""
        quality = self._reader.quality
        if quality is not None:
            from weft.store.sqlite.quality_vectors import begin_quality

            begin_quality(self._quality_store(), quality.name, quality.dimensions)

    def embed_quality(self, progress: "Progress | None") -> int:
        """Embed the passages that wait for a vector of the better embedder; return their number."""
        with self._reader.store.snapshot_of_all_tenants() as snapshot:
            is_wanted = self._reader.quality is not None or snapshot.quality() is not None
        if not is_wanted:
            return 0
        from weft.embed.quality import quality_embedder
        from weft.indexing.quality import embed_quality

        return embed_quality(self._quality_store(), quality_embedder(), progress or ignore_progress)

    def drop_quality(self) -> bool:
        """Remove the vectors of the better embedder, and return whether there were any."""
        from weft.store.sqlite.quality_vectors import drop_quality

        store = self._reader.store
        return isinstance(store, SqliteStore) and drop_quality(store)

    def _quality_store(self) -> SqliteStore:
        if not isinstance(self._reader.store, SqliteStore):
            raise InvalidInput(
                f"The embedder 'quality' keeps its vectors in a store in a folder, and "
                f"{self._reader.store.location} is on a server. Use another embedder there, such as static."
            )
        return self._reader.store

    def reembed(self, progress: "Progress | None") -> int:
        """Give every passage a vector of the embedder in use; return how many had none of it yet.

        Where the store has vectors of the better embedder, or was opened with it, passages wait for those too.
        """
        from weft.indexing.reembed import reembed_store

        embedder = self._reader.embedder
        if embedder is None:
            raise InvalidInput(
                "The embedder 'none' makes no vectors. Name another with --embedder, such as static."
            )
        if self._reader.quality is not None:
            self._quality_store()
        embedded = reembed_store(self._reader.store, self._reader.index, embedder, progress or ignore_progress)
        return embedded + self.embed_quality(progress)

    def repair(self) -> None:
        """Derive anew whatever is derived: statistics, neighbour lists, names and the search index."""
        # The store first: the search index is rebuilt by reading it.
        self._reader.store.rebuild_derived()
        self._reader.index.rebuild(self._reader.store)


class Indexer:
    """Sources read into a store: only what changed since last time is read, prepared and written."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer
        self.confirm_move: Callable[[str, str, Path], bool] = lambda source, before, now: True
        """Asked whether a folder continues the source that was read elsewhere before."""

    def index(
        self,
        paths: Sequence[str | Path],
        *,
        source: str | None,
        tenant: str,
        reading: str,
        tana_token: str,
        progress: "Progress | None",
    ) -> "Report":
        """Read files, folders or `tana://` into the store, and remember how they are to be read."""
        store = self._reader.store
        memory, kept = self._reader.folder / "derived", self._readings(tenant, reading)
        sources = open_sources_at(paths, source, tenant, tana_token, memory=memory, reading=reading, kept=kept)
        sources = [self._continue_moved(each, tenant, source, tana_token, reading) for each in sources]
        if reading:
            # An empty stamp removes the entry: files are read by their looks again.
            stamp = "" if reading == "auto" else reading
            store.write(Changes(units=tuple((tenant, _READINGS, each.name, stamp) for each in sources)))
        return self.ingest(sources, tenant, progress)

    def _readings(self, tenant: str, given: str = "") -> dict[str, str]:
        """Return how sources are read by what the store keeps, with the lines that are chapters or none.

        A kind that is given now counts for all, and leaves corrected chapters as they are.
        """
        from weft.indexing.chapters import read_headings

        store = self._reader.store
        readings = store.units(tenant, _READINGS)
        headings = read_headings(store, tenant, given or readings)
        return headings if given else {**readings, **headings}

    def _continue_moved(
        self, source: "Source", tenant: str, given: str | None, tana_token: str, reading: str
    ) -> "Source":
        """Return the source under the name it has in the store already, if its folder was moved or copied here."""
        from weft.indexing.working_tree import find_moved

        if not isinstance(source, HasTree):
            return source
        record = find_moved(self._reader.folder, tenant, source.root, given or source.name)
        if record is None or (given is not None and record.source != given):
            return source
        if not self.confirm_move(record.source, record.place, source.root):
            return source
        (moved,) = open_sources_at(
            [source.root],
            record.source,
            tenant,
            tana_token,
            memory=self._reader.folder / "derived",
            reading=reading or record.reading,
        )
        # The name belongs to the folder at its new place from now on.
        self._reader.store.write(Changes(units=((tenant, moved.name, "", moved.identity()),)))
        return moved

    def remove_source(self, name: str, tenant: str, progress: "Progress | None") -> "Report":
        """Remove everything that indexing the source of that name had brought."""
        from weft.sources import removed_source

        # Removing nothing would look like success after a typing error.
        if not self._reader.store.units(tenant, name):
            hint = f"Sources are removed from the tenant they were indexed for, here {tenant!r}."
            raise UnknownName("source", name, self._reader.store.status(None).by_source, hint)
        return self.ingest([removed_source(name)], tenant, progress)

    def ingest(self, sources: "Sequence[Source]", tenant: str, progress: "Progress | None") -> "Report":
        """Bring the store up to what the sources hold, and link the experiences that speak of it."""
        from weft.indexing.edits import reapply_edits
        from weft.indexing.ingest import ingest
        from weft.memory.experience_store import link_experiences

        # Before anything is read: a store on a server cannot have them.
        self._writer.begin_quality()
        indexing = self._writer.indexing_context()
        started = time.time_ns()
        report = ingest(sources, indexing, tenant, progress)
        reapply_edits(indexing, tenant)
        self._record_trees(sources, tenant, started)
        # Only after a change: looking for links reads the latest experiences every time.
        linked = link_experiences(indexing, tenant=tenant) if report.written else None
        self._log_run(report, tenant)
        if linked is None:
            return report
        return replace(report, links=report.links + linked.links, sequence=linked.sequence)

    def _log_run(self, report: "Report", tenant: str) -> None:
        """Write down what a run changed and what failed, for those who look at the store later."""
        from weft.history.runs import KEPT_PROBLEMS, Run, RunLog

        if not (report.written or report.removed or report.problems):
            return
        with self._reader.store.snapshot(View((tenant,))) as snapshot:
            passages = snapshot.statistics(()).passages
        problems = tuple((problem.where, problem.reason) for problem in report.problems[:KEPT_PROBLEMS])
        run = Run(datetime.now(UTC), tenant, report.sources, report.written, report.removed, passages, problems)
        RunLog(self._reader.folder).add(run)

    def _record_trees(self, sources: "Sequence[Source]", tenant: str, started: int) -> None:
        """Write down in which state the files were read, so that later changes are noticed."""
        from weft.indexing.working_tree import make_record, remove_record, save_record

        readings = self._readings(tenant)
        for source in sources:
            # Trouble with the folder of records costs only the comparison, never what was indexed.
            with suppress(OSError):
                if isinstance(source, HasTree):
                    how = readings.get(source.name, "")
                    record = make_record(self._reader.folder, tenant, source, reading=how, now=started)
                    save_record(self._reader.folder, record)
                else:
                    remove_record(self._reader.folder, tenant, source.name)


def open_sources_at(
    paths: Sequence[str | Path],
    name: str | None,
    tenant: str = DEFAULT_TENANT,
    tana_token: str = "",
    *,
    memory: Path | None = None,
    reading: str = "",
    kept: Mapping[str, str] | None = None,
) -> "list[Source]":
    """Open the sources at the paths, each under its own name, read as given or else as `kept` says by name."""
    from weft.sources import open_sources

    named: dict[str, Source] = {}
    for path in paths:
        opened = partial(
            open_sources, str(path), name=name, tenant=tenant, tana_token=tana_token, cache_folder=memory
        )
        # Opened once to learn the name, and again if the store remembers how that source is read.
        for found in opened(reading=reading):
            source = opened(reading=kept[found.name])[0] if kept and found.name in kept else found
            if source.name in named:
                raise InvalidInput(
                    f"{str(path)!r} would be the second source named {source.name!r}, and each would replace the "
                    "other. Index them one at a time and name them with --source."
                )
            named[source.name] = source
    return list(named.values())
