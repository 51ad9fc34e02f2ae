"""What writes to a store: sources, nodes and edges by hand, links, copies and repairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, UnknownName
from weft.model import DEFAULT_TENANT, Edge, Node
from weft.ports import Changes
from weft.reader import OpenStore
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.indexing.copy import Copied
    from weft.indexing.ingest import Progress, Report, Workshop
    from weft.indexing.write import Written
    from weft.ports import Source


_READINGS: Final = ":readings"
"""The source under whose units it is kept what the files of each source are read as: no source has this name."""


class ChangingStore(OpenStore):
    """An open store that is written to; what writing needs is loaded by those who write."""

    def index(
        self,
        *paths: str | Path,
        source: str | None = None,
        tenant: str = DEFAULT_TENANT,
        reading: str = "",
        tana_token: str = "",
        progress: "Progress | None" = None,
    ) -> "Report":
        """Read files, folders or `tana://` into the store; only what changed since last time is touched.

        `reading` says that the files are a `story` or plain `notes`, whatever they look like, now and from now on;
        `auto` goes by their looks again.
        """
        memory, kept = self.folder / "derived", {} if reading else self.store.units(tenant, _READINGS)
        sources = sources_at(paths, source, tenant, tana_token, memory=memory, reading=reading, kept=kept)
        if reading:
            stamp = "" if reading == "auto" else reading
            self.store.write(Changes(units=tuple((tenant, _READINGS, each.name, stamp) for each in sources)))
        return self.ingest(sources, tenant=tenant, progress=progress)

    def remove_source(
        self, name: str, *, tenant: str = DEFAULT_TENANT, progress: "Progress | None" = None
    ) -> "Report":
        """Remove everything that indexing the source of that name had brought."""
        from weft.sources import gone_source

        if not self.store.units(tenant, name):
            hint = f"Sources are removed from the tenant they were indexed for, here {tenant!r}."
            raise UnknownName("source", name, self.status().by_source, hint)
        return self.ingest([gone_source(name)], tenant=tenant, progress=progress)

    def put(self, nodes: Sequence[Node] = (), edges: Sequence[Edge] = ()) -> "Written":
        """Store nodes and edges directly; they are linked and found by the next question."""
        from weft.indexing.write import put

        return put(self.workshop(), nodes, edges)

    def delete(self, *keys: str, tenant: str = DEFAULT_TENANT) -> "Written":
        """Remove the nodes with these keys; keys that name nothing are left alone."""
        from weft.indexing.write import delete

        return delete(self.workshop(), [(tenant, key) for key in keys])

    def replace_edges(self, source: str, edges: Sequence[Edge], *, tenant: str = DEFAULT_TENANT) -> "Written":
        """Make these all the edges that `put` drew from one node; edges of other makers stay."""
        from weft.indexing.write import replace_edges

        return replace_edges(self.workshop(), tenant, source, edges)

    def link(
        self,
        *,
        shared_tags: bool = True,
        similar: float | None = 0.75,
        tenant: str = DEFAULT_TENANT,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Link a tenant's nodes by tags and by meaning (at least so near), from now on, as they change."""
        from weft.indexing.link import Wishes, relate_all

        wishes = Wishes(shared_tags, similar)
        drawn = relate_all(self.store, self._index, tenant, wishes, progress or _unwatched)
        self._index.catch_up(self.store)
        return drawn

    def share(self, tenant: str, *others: str) -> None:
        """Declare into which other tenants this tenant's links may lead."""
        self.store.share(tenant, others)

    def copy_to(self, other: OpenStore, progress: "Progress | None" = None) -> "Copied":
        """Copy everything into another, empty store, whatever engines the two are, and compare them."""
        from weft.indexing.copy import copy

        return copy(self.store, other.store, other._index, progress or _untold)

    def ingest(
        self, sources: "Sequence[Source]", *, tenant: str = DEFAULT_TENANT, progress: "Progress | None" = None
    ) -> "Report":
        """Bring the store up to what the sources hold, whatever they are."""
        # Reading and linking are loaded by those who index, so that those who only ask start sooner.
        from weft.indexing.ingest import ingest
        from weft.memory.experience_store import link_experiences

        shop = self.workshop()
        report = ingest(sources, shop, tenant, progress)
        linked = link_experiences(shop, tenant=tenant) if report.written else None
        if linked is None:
            return report
        return replace(report, links=report.links + linked.links, sequence=linked.sequence)

    def workshop(self) -> "Workshop":
        """What writing works with: the store, its index, the embedder and the tokens' counter."""
        from weft.indexing.ingest import Workshop

        count, _ = counter_for(DEFAULT_ENCODING)
        return Workshop(self.store, self._index, self._embed, count)

    def repair(self) -> None:
        """Derive anew whatever is derived: statistics, neighbour lists, names and the search index."""
        self.store.rebuild_derived()
        self._index.rebuild(self.store)


def _untold(stage: str, done: int, total: int | None) -> None:
    """Nobody watches the progress."""


def _unwatched(done: int) -> None:
    """Nobody watches the progress."""


def sources_at(
    paths: "Sequence[str | Path]",
    name: str | None,
    tenant: str,
    tana_token: str = "",
    *,
    memory: Path | None = None,
    reading: str = "",
    kept: Mapping[str, str] | None = None,
) -> "list[Source]":
    """The sources at the paths, each under its own name and read as told, else as `kept` says by name."""
    from weft.sources import open_sources

    named: dict[str, Source] = {}
    for path in paths:
        opened = partial(open_sources, str(path), name=name, tenant=tenant, tana_token=tana_token, memory=memory)
        for each in opened(reading=reading):
            source = opened(reading=kept[each.name])[0] if kept and each.name in kept else each
            if source.name in named:
                raise InvalidInput(
                    f"{str(path)!r} would be the second source named {source.name!r}, and each would replace the "
                    "other. Index them one at a time and name them with --source."
                )
            named[source.name] = source
    return list(named.values())
