"""`Weft`: the library face. Open a store, index into it, ask it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from weft.assemble import assemble
from weft.embed import open_embedder
from weft.errors import EmbedderMismatch, InvalidInput, StoreError, StoreGone, UnknownName
from weft.faces.collecting import uncollected
from weft.gather import Desk, Observe
from weft.history import Difference, History, Record, compare, record_of, request_of, shown_on
from weft.loading import load_lenses, load_profile, with_lenses
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
)
from weft.ports import Changes, Embedder, Index, NodeRow, Snapshot, Store, StoreStatus
from weft.profile import Fusion, Match, Probe, Profile
from weft.retrieve import Found, search, understand
from weft.store import Opened, is_address, open_pair
from weft.tokens import DEFAULT_ENCODING, counter_for

if TYPE_CHECKING:
    from weft.copying import Copied
    from weft.facades.knowledge import KnowledgeContext, KnowledgeRequest
    from weft.ingest import Progress, Report, Workshop
    from weft.ports import Source
    from weft.views import Views
    from weft.writing import Written


Answer = TypeVar("Answer")
_READINGS: Final = ":readings"
"""The source under whose units it is kept what the files of each source are read as: no source has this name."""


class Weft:
    """A store of what is known, and the one operation: a page about a question that fits a budget."""

    def __init__(
        self,
        opened: Opened,
        embed: Embedder | None,
        folders: Sequence[Path],
        contexts: History,
    ) -> None:
        self.store = opened.store
        self.folder = opened.folder
        self.contexts = contexts
        self._index = opened.index
        self._embed = embed
        self.folders = tuple(folders)
        self._views: Views | None = None
        self._profiles: dict[str, Profile] = {}

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
    ) -> Self:
        """A Weft over the store in the folder `path` or at a `postgresql://` URL, made if it is not there.

        `embedder` None goes without. A store on a server is searched there unless `index` names another way; what
        belongs to it on this machine (keys, profiles, kept contexts) is in `folder`.
        """
        place = _own_folder(path) if folder is None else Path(folder)
        opened = open_pair(path, place, index=index, create=create, read_only=read_only)
        embed = None if embedder is None else open_embedder(embedder, api_key=api_key)
        own = place / "profiles"
        folders = [Path(each) for each in profiles] + ([own] if own.is_dir() else [])
        return cls(opened, embed, folders, History(place))

    @property
    def location(self) -> str:
        """Where the store is, as people may see it."""
        return self.store.location

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
        from weft.writing import put

        return put(self.workshop(), nodes, edges)

    def delete(self, *keys: str, tenant: str = DEFAULT_TENANT) -> "Written":
        """Remove the nodes with these keys; keys that name nothing are left alone."""
        from weft.writing import delete

        return delete(self.workshop(), [(tenant, key) for key in keys])

    def replace_edges(self, source: str, edges: Sequence[Edge], *, tenant: str = DEFAULT_TENANT) -> "Written":
        """Make these all the edges that `put` drew from one node; edges of other makers stay."""
        from weft.writing import replace_edges

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
        from weft.relating import Wishes, relate_all

        wishes = Wishes(shared_tags, similar)
        drawn = relate_all(self.store, self._index, tenant, wishes, progress or _unwatched)
        self._index.catch_up(self.store)
        return drawn

    def share(self, tenant: str, *others: str) -> None:
        """Declare into which other tenants this tenant's links may lead."""
        self.store.share(tenant, others)

    def copy_to(self, other: "Weft", progress: "Progress | None" = None) -> "Copied":
        """Copy everything into another, empty store, whatever engines the two are, and compare them."""
        from weft.copying import copy

        return copy(self.store, other.store, other._index, progress or _untold)

    def ingest(
        self, sources: "Sequence[Source]", *, tenant: str = DEFAULT_TENANT, progress: "Progress | None" = None
    ) -> "Report":
        """Bring the store up to what the sources hold, whatever they are."""
        # Reading and linking are loaded by those who index, so that those who only ask start sooner.
        from weft.ingest import ingest

        return ingest(sources, self.workshop(), tenant, progress)

    def workshop(self) -> "Workshop":
        """What writing works with: the store, its index, the embedder and the tokens' counter."""
        from weft.ingest import Workshop

        count, _ = counter_for(DEFAULT_ENCODING)
        return Workshop(self.store, self._index, self._embed, count)

    def context(
        self,
        question: str = "",
        *,
        history: Sequence[str] = (),
        start: Sequence[str] = (),
        topics: Sequence[Topic] = (),
        profile: str | Profile = "general",
        preset: str | None = None,
        lens: str | None = None,
        depth: int | None = None,
        max_tokens: int | Unset | None = UNSET,
        format: str | None = None,
        include_fields: bool | None = None,
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        as_of: int | None = None,
        parameters: Mapping[str, Json] | None = None,
        candidates: Sequence[Candidate] | None = None,
        token_model: str = DEFAULT_ENCODING,
        now: datetime | None = None,
        observe: Observe | None = None,
        session: str | None = None,
        keep: bool = False,
    ) -> Context:
        """One page about the question, the nodes named in `start`, or several topics, within `max_tokens`.

        A `session` is not shown again what it was already given. `keep` (and every session) writes the context
        down beside the store, for `diff` and `since`.
        """
        request = Request(
            question=question,
            history=tuple(history),
            start=tuple(start),
            topics=tuple(topics),
            profile=profile if isinstance(profile, str) else profile.name,
            preset=preset,
            lens=lens,
            depth=depth,
            max_tokens=max_tokens,
            format=format,
            include_fields=include_fields,
            filter=filter,
            view=View(tuple(tenants), as_of),
            parameters=parameters or {},
            candidates=None if candidates is None else tuple(candidates),
            token_model=token_model,
        )
        given = None if isinstance(profile, str) else profile
        moment = now or datetime.now(UTC)
        if session is None and not keep:
            return self.assemble(request, moment, observe, given)
        return self._kept(request, moment, observe, given, session)

    def _kept(
        self,
        request: Request,
        now: datetime,
        observe: Observe | None = None,
        profile: Profile | None = None,
        session: str | None = None,
    ) -> Context:
        """The context, written down; trouble with the file of contexts is told, and spoils nothing else."""
        notes = []
        try:
            if session is not None:
                request = replace(request, received=self.contexts.received(session))
        except StoreError as error:
            notes.append(f"What session {session!r} already received is unknown, so nothing is left out. {error}")
        context = self.assemble(request, now, observe, profile)
        try:
            shown = shown_on(context) if session is not None else {}
            self.contexts.keep(record_of(context, request, now), session, shown)
        except StoreError as error:
            notes.append(f"This context is not kept for later comparison. {error}")
        return replace(context, notes=(*context.notes, *notes)) if notes else context

    def diff(self, before: str, after: str) -> Difference:
        """What changed between two kept contexts, named by their ids or the beginnings of them."""
        return compare(self.contexts.find(before), self.contexts.find(after))

    def since(self, before: str, now: datetime | None = None) -> tuple[Difference, Context]:
        """What a kept context would show differently now, and that page."""
        record = self.contexts.find(before)
        request, moment = request_of(record), now or datetime.now(UTC)
        context = self._kept(request, moment)
        return compare(record, record_of(context, request, moment)), context

    def recent(self, limit: int = 20) -> tuple[Record, ...]:
        """The contexts handed out last, newest first."""
        if limit < 1:
            raise InvalidInput(f"A limit of {limit} lists nothing. Give 1 or more.")
        return self.contexts.recent(limit)

    def assemble(
        self, request: Request, now: datetime, observe: Observe | None = None, profile: Profile | None = None
    ) -> Context:
        """The context for a whole request, by the profile it names or the one given; `now` must know its zone."""
        if now.tzinfo is None:
            raise InvalidInput(
                f"The time {now.isoformat()} has no time zone. Give an aware datetime, in UTC for example."
            )
        count, note = counter_for(request.token_model)
        chosen = profile or self.profile(request.profile)

        def asked() -> Context:
            with self.desk(request.view) as desk, uncollected():
                return assemble(request, chosen, desk, count, now, observe)

        context = _again(asked)
        return context if note is None else replace(context, notes=(*context.notes, note))

    def knowledge(
        self,
        request: "KnowledgeRequest",
        *,
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        token_model: str = DEFAULT_ENCODING,
        observe: Observe | None = None,
    ) -> "KnowledgeContext":
        """Entry points, context and entities as lists, for callers who print them themselves."""
        from weft.facades.knowledge import knowledge_context

        count, note = counter_for(token_model)

        def asked() -> "KnowledgeContext":
            with self.desk(View(tuple(tenants))) as desk:
                return knowledge_context(request, self.profile("knowledge"), desk, count, observe)

        answer = _again(asked)
        return answer if note is None else replace(answer, notes=(*answer.notes, note))

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        match: Match = "hybrid",
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        as_of: int | None = None,
    ) -> Found:
        """The nodes that match best, without walking or printing."""
        if limit < 1:
            raise InvalidInput(f"A limit of {limit} finds nothing. Give 1 or more.")

        def asked() -> Found:
            with self.desk(View(tuple(tenants), as_of)) as desk:
                query = understand(question, desk.snapshot, desk.embed)
                probe = Probe("search", match=match, limit=limit)
                return search(query, probe, filter, Fusion(), desk.snapshot, desk.index)

        return _again(asked)

    def show(
        self, name: str, *, tenants: Sequence[str] = (DEFAULT_TENANT,), as_of: int | None = None
    ) -> tuple[Node, ...]:
        """The nodes that a key, id, title or alias names."""
        with self.desk(View(tuple(tenants), as_of)) as desk:
            return tuple(row.node for row in self._named(desk.snapshot, name))

    def related(
        self, name: str, *, tenants: Sequence[str] = (DEFAULT_TENANT,), limit: int = 100
    ) -> tuple[tuple[Node, Edge], ...]:
        """The neighbours of a node with the edges that lead to them, strongest first."""
        with self.store.snapshot(View(tuple(tenants))) as snapshot:
            rows = self._named(snapshot, name)
            mine = {row.node.id for row in rows}
            edges = snapshot.edges(sorted(mine), limit)
            others = snapshot.nodes(sorted({each for one in edges for each in one[:2]} - mine))
            return tuple(
                (others[other].node, edge)
                for source, target, edge in edges
                if (other := target if source in mine else source) in others
            )

    def nodes(
        self,
        *,
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        after: int = 0,
        limit: int = 100,
    ) -> tuple[Node, ...]:
        """The next nodes by id that pass the filter; ask again after the last one's id for more."""
        if limit < 1:
            raise InvalidInput(f"A limit of {limit} lists nothing. Give 1 or more.")
        with self.store.snapshot(View(tuple(tenants))) as snapshot:
            if filter.empty:
                return tuple(row.node for row in snapshot.page_of_nodes(after, limit))
            ids = snapshot.matching(filter)
            page = ids[ids > after][:limit].tolist()
            return tuple(row.node for row in snapshot.nodes(page).values())

    def status(self, tenants: Sequence[str] | None = None) -> StoreStatus:
        """Counts and versions."""
        return self.store.status(None if tenants is None else View(tuple(tenants)))

    def engine(self) -> Mapping[str, str | int]:
        """What holds the store, with its versions."""
        return self.store.engine()

    def index_status(self) -> Mapping[str, str | int]:
        """How far the derived search has come, and its size."""
        return self._index.status()

    def holds(self, tenant: str) -> bool:
        """Whether a tenant has anything to search."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            return snapshot.statistics([]).passages > 0

    def verify(self) -> tuple[str, ...]:
        """What is inconsistent in the store, in words; nothing when it is sound."""
        return self.store.verify()

    def repair(self) -> None:
        """Derive anew whatever is derived: statistics, neighbour lists, names and the search index."""
        self.store.rebuild_derived()
        self._index.rebuild(self.store)

    def profile(self, name: str) -> Profile:
        """A profile by name from the given folders, the store's own or the built-in ones, with users' lenses."""
        if name not in self._profiles:
            lenses = [lens for folder in reversed(self.folders) for lens in load_lenses(folder)]
            self._profiles[name] = with_lenses(load_profile(name, self.folders), lenses)
        return self._profiles[name]

    @contextmanager
    def desk(self, view: View) -> Iterator[Desk]:
        """One pinned reading of the store with its index and embedder."""
        with self._seen(view) as (store, index, seen), store.snapshot(seen) as snapshot:
            yield Desk(snapshot, index, self._usable_embedder(snapshot))

    @contextmanager
    def _seen(self, view: View) -> Iterator[tuple[Store, Index, View]]:
        """What a view is read from: as of a point of a story, a store that is made of nothing later."""
        views = self._story_views(view)
        if views is None:
            yield self.store, self._index, view
            return
        with views.at(view) as (store, index):
            yield store, index, View(view.tenants)

    def _story_views(self, view: View) -> "Views | None":
        # Those who ask for everything do not pay for loading what makes views.
        if view.as_of is None:
            return None
        from weft.stories import tells_stories

        if self._views is None and tells_stories(self.store, view.tenants):
            from weft.views import Views

            count, _ = counter_for(DEFAULT_ENCODING)
            self._views = Views(self.store, self.folder / "derived" / "views", self._embed, count)
        return self._views if self._views is not None and tells_stories(self.store, view.tenants) else None

    def _usable_embedder(self, snapshot: Snapshot) -> Embedder | None:
        made_by = snapshot.embedder()
        if self._embed is None or made_by is None:
            return None
        if made_by != (self._embed.name, self._embed.dimensions):
            raise EmbedderMismatch(
                f"The store's vectors were made by {made_by[0]!r} ({made_by[1]} dimensions), but "
                f"{self._embed.name!r} ({self._embed.dimensions}) is in use. Open the store with the embedder "
                "it was made with, or index again into a new store to change it."
            )
        return self._embed

    def _named(self, snapshot: Snapshot, name: str) -> list[NodeRow]:
        ids = snapshot.find([name]).get(name, ())
        stored = snapshot.nodes(ids)
        return [stored[each] for each in ids if each in stored]

    def close(self) -> None:
        """Let go of the store's files."""
        self.contexts.close()
        if self._views is not None:
            self._views.close()
        self._index.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _again(asked: Callable[[], Answer]) -> Answer:
    """The answer, asked for once more when the server of the store was lost on the way."""
    try:
        return asked()
    except StoreGone:
        return asked()


def _own_folder(path: str | Path) -> Path:
    """The folder of an embedded store is the store; one on a server has its folder among the user's data."""
    if not is_address(str(path)):
        return Path(path)
    from weft.faces.wiring import server_folder, surroundings

    return server_folder(str(path), surroundings())


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
