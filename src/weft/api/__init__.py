"""`Weft`, the library: open a store, index into it, ask it.

The class composes a reader, a writer and an indexer (reader.py, writer.py). docs/library.md has examples.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from weft.api.reader import LinkFilter, Reader, check_limit, retry_once, with_notes
from weft.api.writer import Indexer, Writer
from weft.config import local_folder
from weft.embed import open_embedder
from weft.errors import InvalidInput, StoreError
from weft.history import Difference, History, Record, compare, make_record, read_shown, rebuild_request
from weft.indexing.freshness import REFRESH_SECONDS, checking_once
from weft.model import (
    DEFAULT_TENANT,
    UNSET,
    Candidate,
    Context,
    Edge,
    Filter,
    Json,
    Node,
    Request,
    Topic,
    Unset,
    View,
    as_tuple,
)
from weft.pipeline.assemble import assemble
from weft.pipeline.ledger import quotation_notes
from weft.pipeline.query import Reading, StageCallback
from weft.pipeline.retrieve import RetrievalResult
from weft.pipeline.search_results import search_above
from weft.ports import StoreStatus
from weft.profiles.types import Match, Probe, Profile
from weft.runtime.deadline import pause_garbage_collection
from weft.store import is_address, open_store
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.assemblers.knowledge.knowledge_context import KnowledgeContext, KnowledgeRequest
    from weft.indexing.copy import CopyResult
    from weft.indexing.ingest import IndexingContext, Progress, Report
    from weft.indexing.write import Written
    from weft.ports import Source
    from weft.store.open import AnyStore

Names = str | Sequence[str]  # a string stands for itself, never for its letters


class Weft:
    """A store of what is known, and the one operation: a page about a question that fits a budget."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    @cached_property
    def writer(self) -> Writer:
        """The part that changes the store directly."""
        return Writer(self.reader)

    @cached_property
    def indexer(self) -> Indexer:
        """The part that reads sources into the store."""
        return Indexer(self.reader, self.writer)

    @classmethod
    def open(
        cls,
        path: str | Path = ".weft",
        *,
        embedder: str | None = "static",
        api_key: str | None = None,
        profiles: Sequence[str | Path] = (),
        create: bool = True,
        read_only: bool = False,
        index: str = "",
        folder: str | Path | None = None,
        working: Path | None = None,
        refresh_seconds: float = REFRESH_SECONDS,
    ) -> Self:
        """Open the store in the folder `path` or at a `postgresql://` URL; make it if it is not there.

        `embedder` None goes without meaning. A store on a server is searched there unless `index` names another
        way; what belongs to it here is in `folder`. Files that changed since they were read are read again for up
        to `refresh_seconds` before an answer; `working` is the folder that questions are asked in.
        """
        own_folder = local_folder(path) if folder is None else Path(folder)
        opened = open_store(path, own_folder, index=index, create=create, read_only=read_only)
        embed = None if embedder is None else open_embedder(embedder, api_key=api_key)
        # Folders that are passed come first, and win over the store's own.
        folders = [*map(Path, profiles), own_folder / "profiles"]
        weft = cls(Reader(opened, embed, folders, History(own_folder), refresh_seconds, working))
        if is_address(str(path)):
            # A service may be asked for the first time after another program has embedded the store anew.
            weft.reader.check_embedder()
        return weft

    # --- asking -------------------------------------------------------------------------------------------

    @checking_once()
    def context(
        self,
        question: str = "",
        *,
        history: Names = (),
        start: Names = (),
        topics: Topic | Sequence[Topic] = (),
        profile: str | Profile = "",
        preset: str | None = None,
        lens: str | None = None,
        depth: int | None = None,
        max_tokens: int | Unset | None = UNSET,
        format: str | None = None,
        include_fields: bool | None = None,
        floor: float | None = None,
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        tenants: Names = (DEFAULT_TENANT,),
        as_of: int | None = None,
        consistency: str = "",
        parameters: Mapping[str, Json] | None = None,
        candidates: Sequence[Candidate] | None = None,
        token_model: str = DEFAULT_ENCODING,
        guard: bool = False,
        now: datetime | None = None,
        observe: StageCallback | None = None,
        session: str | None = None,
        keep: bool = False,
    ) -> Context:
        """Return one page about the question, the nodes named in `start`, or several topics, within `max_tokens`.

        A `session` is not shown again what it was given; it and `keep` write the context down, for `diff`.
        Replicas may answer a lower `consistency` than `strong`. `guard` marks what reads like instructions.
        """
        view = View(as_tuple(tenants), as_of, consistency)
        if not start and not topics and candidates is None:
            start, question = self.reader.read_topic(question, view)
        request = Request(
            question=question,
            history=as_tuple(history),
            start=as_tuple(start),
            topics=(topics,) if isinstance(topics, Topic) else tuple(topics),
            profile=profile if isinstance(profile, str) else profile.name,
            preset=preset,
            lens=lens,
            depth=depth,
            max_tokens=max_tokens,
            format=format,
            include_fields=include_fields,
            floor=floor,
            filter=filter,
            view=view,
            parameters=parameters or {},
            candidates=None if candidates is None else tuple(candidates),
            token_model=token_model,
            guard=guard,
        )
        passed_profile, moment = None if isinstance(profile, str) else profile, now or datetime.now(UTC)
        if session is not None or keep:
            return self.kept(request, moment, observe, passed_profile, session)
        return self.assemble(request, moment, observe, passed_profile)

    def assemble(
        self, request: Request, now: datetime, observe: StageCallback | None = None, profile: Profile | None = None
    ) -> Context:
        """Return the context for a whole request at a moment with a time zone, by its profile or the one given."""
        if now.tzinfo is None:
            raise InvalidInput(
                f"The time {now.isoformat()} has no time zone. Give an aware datetime, in UTC for example."
            )
        count, note = counter_for(request.token_model)

        def answer() -> Context:
            with self.reading(request.view) as reading, pause_garbage_collection():
                chosen = profile or self.reader.choose_profile(request.profile, request.lens, reading.snapshot)
                settled = replace(request, profile=chosen.name)
                page = assemble(settled, chosen, reading, count, now, observe)
                return with_notes(page, *reading.notes, *quotation_notes(request.question, page, reading.snapshot))

        return with_notes(retry_once(answer), note)

    def kept(
        self,
        request: Request,
        now: datetime,
        observe: StageCallback | None = None,
        profile: Profile | None = None,
        session: str | None = None,
    ) -> Context:
        """Return the context for a whole request and write it down, for `diff` and `since`.

        Trouble with the file of contexts becomes a note and spoils nothing else.
        """
        notes = []
        try:
            if session is not None:
                request = replace(request, received=self.contexts.received(session))
        except StoreError as error:
            notes.append(f"What session {session!r} already received is unknown, so nothing is left out. {error}")
        context = self.assemble(request, now, observe, profile)
        try:
            # Read off the page and not the request: only what was printed is left out next time.
            shown = read_shown(context) if session is not None else {}
            self.contexts.keep(make_record(context, request, now), session, shown)
        except StoreError as error:
            notes.append(f"This context is not kept for later comparison. {error}")
        return with_notes(context, *notes)

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        match: Match = "hybrid",
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        tenants: Names = (DEFAULT_TENANT,),
        as_of: int | None = None,
        consistency: str = "",
        floor: float | None = None,
    ) -> RetrievalResult:
        """Return the nodes that match best, down to the floor, without walking or printing."""
        check_limit(limit, "finds")
        least = self.profile("general").floor if floor is None else floor

        def answer() -> RetrievalResult:
            with self.reading(View(as_tuple(tenants), as_of, consistency)) as reading:
                probe = Probe("search", match=match, limit=limit)
                return with_notes(search_above(least, question, probe, filter, reading), *reading.notes)

        return retry_once(answer)

    def knowledge(
        self,
        request: "KnowledgeRequest",
        *,
        tenants: Names = (DEFAULT_TENANT,),
        token_model: str = DEFAULT_ENCODING,
        observe: StageCallback | None = None,
    ) -> "KnowledgeContext":
        """Return entry points, context and entities as lists, for callers who print them themselves."""
        from weft.assemblers.knowledge.knowledge_context import knowledge_context

        count, note = counter_for(token_model)

        def answer() -> "KnowledgeContext":
            with self.reading(View(as_tuple(tenants))) as reading:
                found = knowledge_context(request, self.profile("knowledge"), reading, count, observe)
                return dataclasses.replace(found, notes=(*found.notes, *reading.notes, *([note] if note else ())))

        return retry_once(answer)

    def show(self, name: str, *, tenants: Names = (DEFAULT_TENANT,), as_of: int | None = None) -> tuple[Node, ...]:
        """Return the nodes that a key, id, title or alias names, or that a page cites: `file:line`, a hash."""
        return self.reader.look_up(name, View(as_tuple(tenants), as_of))

    def related(
        self,
        name: str,
        *,
        tenants: Names = (DEFAULT_TENANT,),
        limit: int = 100,
        types: Names = (),
        direction: str = "",
        kinds: Names = (),
        as_of: int | None = None,
    ) -> tuple[tuple[Node, Edge], ...]:
        """Return the neighbours of a node and the edges that lead `in` or `out` to them, strongest first."""
        links = LinkFilter(as_tuple(types), direction, as_tuple(kinds))
        return self.reader.neighbours(name, View(as_tuple(tenants), as_of), limit, links)

    def nodes(
        self,
        *,
        tenants: Names = (DEFAULT_TENANT,),
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        after: int = 0,
        limit: int = 100,
    ) -> tuple[Node, ...]:
        """Return the next nodes by id that pass the filter; ask again after the last one's id for more."""
        check_limit(limit, "lists")
        return self.reader.nodes_after(after, limit, filter, View(as_tuple(tenants)))

    # --- contexts handed out before -----------------------------------------------------------------------

    def diff(self, before: str, after: str) -> Difference:
        """Compare two kept contexts, named by their ids or the beginnings of them."""
        return compare(self.contexts.find(before), self.contexts.find(after))

    def since(self, before: str, now: datetime | None = None) -> tuple[Difference, Context]:
        """Return what a kept context would show differently now, and that page."""
        record = self.contexts.find(before)
        request, moment = rebuild_request(record), now or datetime.now(UTC)
        context = self.kept(request, moment)
        return compare(record, make_record(context, request, moment)), context

    def recent(self, limit: int = 20) -> tuple[Record, ...]:
        """Return the contexts handed out last, newest first."""
        check_limit(limit, "lists")
        return self.contexts.recent(limit)

    # --- writing ------------------------------------------------------------------------------------------

    def index(
        self,
        *paths: str | Path,
        source: str | None = None,
        tenant: str = DEFAULT_TENANT,
        reading: str = "",
        tana_token: str = "",
        progress: "Progress | None" = None,
    ) -> "Report":
        """Read what changed in files, folders or `tana://`; as a `story` or `notes` if `reading` says so."""
        return self.indexer.index(
            paths, source=source, tenant=tenant, reading=reading, tana_token=tana_token, progress=progress
        )

    def ingest(
        self, sources: "Sequence[Source]", *, tenant: str = DEFAULT_TENANT, progress: "Progress | None" = None
    ) -> "Report":
        """Bring the store up to what the sources hold, whatever they are."""
        return self.indexer.ingest(sources, tenant, progress)

    def remove_source(
        self, name: str, *, tenant: str = DEFAULT_TENANT, progress: "Progress | None" = None
    ) -> "Report":
        """Remove everything that indexing the source of that name had brought."""
        return self.indexer.remove_source(name, tenant, progress)

    def put(self, nodes: Node | Sequence[Node] = (), edges: Edge | Sequence[Edge] = ()) -> "Written":
        """Store nodes and edges directly; they are linked and found by the next question."""
        some_edges = (edges,) if isinstance(edges, Edge) else edges
        return self.writer.put((nodes,) if isinstance(nodes, Node) else nodes, some_edges)

    def delete(self, *keys: str, tenant: str = DEFAULT_TENANT) -> "Written":
        """Remove the nodes with these keys; keys that name nothing are left alone."""
        return self.writer.delete(keys, tenant)

    def replace_edges(self, source: str, edges: Sequence[Edge], *, tenant: str = DEFAULT_TENANT) -> "Written":
        """Make these all the edges that `put` drew from one node; edges of other makers stay."""
        return self.writer.replace_edges(source, edges, tenant)

    def link(
        self,
        *,
        shared_tags: bool = True,
        similar: float | None = 0.75,
        tenant: str = DEFAULT_TENANT,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Link a tenant's nodes by tags and by meaning (at least so near), from now on, as they change."""
        return self.writer.link(shared_tags=shared_tags, similar=similar, tenant=tenant, progress=progress)

    def share(self, tenant: str, *others: str) -> None:
        """Declare into which other tenants this tenant's links may lead."""
        self.store.share(tenant, others)

    def copy_to(self, other: "Weft", progress: "Progress | None" = None) -> "CopyResult":
        """Copy everything into another, empty store, whatever engines the two are, and compare them."""
        return self.writer.copy_to(other.reader, progress)

    def reembed(self, progress: "Progress | None" = None) -> int:
        """Give every passage a vector of the embedder in use, going on where a run was interrupted."""
        return self.writer.reembed(progress)

    def repair(self) -> None:
        """Derive anew whatever is derived: statistics, neighbour lists, names and the search index."""
        self.writer.repair()

    def indexing_context(self) -> "IndexingContext":
        """Return what the functions of `weft.memory` write with: the store, its index, embedder and counter."""
        return self.writer.indexing_context()

    workshop = indexing_context  # the name under which 0.1.0 offered it

    # --- the store itself ---------------------------------------------------------------------------------

    @property
    def store(self) -> "AnyStore":
        """The store behind this object."""
        return self.reader.store

    @property
    def folder(self) -> Path:
        """The folder on this machine that belongs to the store."""
        return self.reader.folder

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in which profiles and lenses are looked for, first ones first."""
        return self.reader.folders

    @property
    def contexts(self) -> History:
        """The contexts that were handed out and kept."""
        return self.reader.contexts

    @property
    def location(self) -> str:
        """Where the store is, without passwords."""
        return self.store.location

    def profile(self, name: str) -> Profile:
        """Return a profile by name: the user's own, the store's or a built-in one, with the user's lenses."""
        return self.reader.profile(name)

    def reading(self, view: View) -> AbstractContextManager[Reading]:
        """Pin one consistent reading of the store, with its index and embedder."""
        return self.reader.reading(view)

    def status(self, tenants: Names | None = None) -> StoreStatus:
        """Return counts and versions of the whole store, or of some tenants."""
        return self.store.status(None if tenants is None else View(as_tuple(tenants)))

    def engine(self) -> Mapping[str, str | int]:
        """Return what holds the store, with its versions."""
        return self.store.engine()

    def index_status(self) -> Mapping[str, str | int]:
        """Return how far the derived search index has come, and its size."""
        return self.reader.index.status()

    def holds(self, tenant: str) -> bool:
        """Return whether a tenant has anything to search."""
        return self.reader.holds(tenant)

    def verify(self) -> tuple[str, ...]:
        """Return what is inconsistent in the store, in words; nothing when it is sound."""
        return self.store.verify()

    def close(self) -> None:
        """Close the store's files and connections."""
        self.reader.close()

    def __repr__(self) -> str:
        return f"Weft({self.location!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
