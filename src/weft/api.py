"""`Weft`: the library face. Open a store, index into it, ask it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from weft.errors import InvalidInput, StoreAway, StoreError, StoreGone
from weft.history import Difference, Record, compare, record_of, request_of, shown_on
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
from weft.pipeline.assemble import assemble
from weft.pipeline.query import understand
from weft.pipeline.reading import Observe, uncollected
from weft.pipeline.retrieve import Found, search
from weft.ports import NodeRow, Snapshot
from weft.profiles.types import Fusion, Match, Probe, Profile
from weft.tokens import DEFAULT_ENCODING, counter_for
from weft.writer import ChangingStore

if TYPE_CHECKING:
    from weft.assemblers.knowledge.knowledge_context import KnowledgeContext, KnowledgeRequest


Answer = TypeVar("Answer")
Notable = TypeVar("Notable", Context, "KnowledgeContext", Found)


class Weft(ChangingStore):
    """A store of what is known, and the one operation: a page about a question that fits a budget."""

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
        consistency: str = "",
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
        down beside the store, for `diff` and `since`. A lower `consistency` than `strong` lets replicas and
        clusters answer sooner, without the last writes.
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
            view=View(tuple(tenants), as_of, consistency),
            parameters=parameters or {},
            candidates=None if candidates is None else tuple(candidates),
            token_model=token_model,
        )
        given = None if isinstance(profile, str) else profile
        moment = now or datetime.now(UTC)
        if session is None and not keep:
            return self.assemble(request, moment, observe, given)
        return self.kept(request, moment, observe, given, session)

    def kept(
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
        context = self.kept(request, moment)
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
                return _noted(assemble(request, chosen, desk, count, now, observe), *desk.notes)

        return _noted(_again(asked), note)

    def knowledge(
        self,
        request: "KnowledgeRequest",
        *,
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        token_model: str = DEFAULT_ENCODING,
        observe: Observe | None = None,
    ) -> "KnowledgeContext":
        """Entry points, context and entities as lists, for callers who print them themselves."""
        from weft.assemblers.knowledge.knowledge_context import knowledge_context

        count, note = counter_for(token_model)

        def asked() -> "KnowledgeContext":
            with self.desk(View(tuple(tenants))) as desk:
                told = knowledge_context(request, self.profile("knowledge"), desk, count, observe)
                return _noted(told, *desk.notes)

        return _noted(_again(asked), note)

    def search(
        self,
        question: str,
        *,
        limit: int = 10,
        match: Match = "hybrid",
        filter: Filter = Filter(),  # noqa: B008  (frozen)
        tenants: Sequence[str] = (DEFAULT_TENANT,),
        as_of: int | None = None,
        consistency: str = "",
    ) -> Found:
        """The nodes that match best, without walking or printing."""
        if limit < 1:
            raise InvalidInput(f"A limit of {limit} finds nothing. Give 1 or more.")

        def asked() -> Found:
            with self.desk(View(tuple(tenants), as_of, consistency)) as desk:
                query = understand(question, desk.snapshot, desk.embed)
                probe = Probe("search", match=match, limit=limit)
                found = search(query, probe, filter, Fusion(), desk.snapshot, desk.index)
                return _noted(found, *desk.notes, *query.notes)

        return _again(asked)

    def show(
        self, name: str, *, tenants: Sequence[str] = (DEFAULT_TENANT,), as_of: int | None = None
    ) -> tuple[Node, ...]:
        """The nodes that a key, id, title or alias names."""
        with self.desk(View(tuple(tenants), as_of)) as desk:
            return tuple(row.node for row in _named(desk.snapshot, name))

    def related(
        self, name: str, *, tenants: Sequence[str] = (DEFAULT_TENANT,), limit: int = 100
    ) -> tuple[tuple[Node, Edge], ...]:
        """The neighbours of a node with the edges that lead to them, strongest first."""
        with self.store.snapshot(View(tuple(tenants))) as snapshot:
            rows = _named(snapshot, name)
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


def _again(asked: Callable[[], Answer]) -> Answer:
    """The answer, asked for once more when the server of the store was lost on the way."""
    try:
        return asked()
    except StoreAway:
        raise
    except StoreGone:
        return asked()


def _noted(answer: Notable, *notes: str | None) -> Notable:
    """The answer with further notes, as far as there are any."""
    told: tuple[str, ...] = tuple(note for note in notes if note is not None)
    return replace(answer, notes=(*answer.notes, *told)) if told else answer


def _named(snapshot: Snapshot, name: str) -> list[NodeRow]:
    ids = snapshot.find([name]).get(name, ())
    stored = snapshot.nodes(ids)
    return [stored[each] for each in ids if each in stored]
