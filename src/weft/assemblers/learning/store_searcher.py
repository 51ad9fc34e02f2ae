"""Search an open store for memories, code, experiences, values and commits, for `ContextAssembler`."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.assemblers.learning.assembler import ContextAssembler
from weft.assemblers.learning.results import ContextItem, warn
from weft.errors import StoreError
from weft.memory import EXPERIENCE, MEMORY, VALUE, UsageLog
from weft.model import DEFAULT_TENANT, Candidate, Filter, View
from weft.pipeline.query import Query, Reading, understand
from weft.pipeline.retrieve import search
from weft.pipeline.standing import mark_candidates
from weft.profiles.types import Fusion, Probe
from weft.runtime.cache import LruCache
from weft.store import is_address

if TYPE_CHECKING:
    from weft.api import Weft


_MAX_REMEMBERED_QUERIES: Final = 8
"""Analysed questions that a searcher keeps: a page asks with one question, a premortem with up to five."""
CODE_KINDS: Final = ("function", "method", "class", "interface", "type", "module")
"""The kinds of nodes that count as code."""


class StoreSearcher(Struct, frozen=True):
    """A searcher over what some tenants of a store contain; its methods may be called from several threads."""

    weft: "Weft"
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    queries: LruCache[tuple[str, str, int], Query] = field(
        default_factory=lambda: LruCache(_MAX_REMEMBERED_QUERIES)
    )
    """Analysed questions, since several searches are made with each."""
    shared_reading: Reading | None = None
    """The reading that all searches share; None if each opens its own."""

    def reading(self) -> AbstractContextManager["StoreSearcher"] | None:
        """Return this searcher with one reading for all searches, or None for a store on a server.

        A server answers many searches at once. Over a file, threads mostly wait for each other, and each
        would open a reading of its own.
        """
        return None if is_address(self.weft.location) else self._share_reading()

    @contextmanager
    def _share_reading(self) -> Iterator["StoreSearcher"]:
        with self._open_reading() as reading:
            yield replace(self, shared_reading=reading)

    def search_memories(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Find facts, preferences, decisions and the like, and standing rules whatever their words."""
        found = self._search(query, Filter(kinds=(MEMORY,)), limit)
        if len(found) < limit:
            return found
        rules = self._search(query, Filter(kinds=(MEMORY,), where=(("standing", "true"),)), max(limit // 2, 1))
        known = {candidate.node.ref for candidate in found}
        further = tuple(rule for rule in rules if rule.node.ref not in known)
        return (*found[: limit - len(further)], *further)

    def search_code(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Find functions, methods, classes and the like."""
        return self._search(query, Filter(kinds=CODE_KINDS), limit)

    def search_experiences(
        self,
        query: str,
        axis: str = "full",
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = 10,
    ) -> tuple[Candidate, ...]:
        """Find experiences on one axis, if given only those of one domain, strategy or outcome."""
        conditions = (("axis", axis), ("domain", domain), ("strategy", strategy), ("outcome_status", outcome))
        where = tuple((name, value) for name, value in conditions if value is not None)
        return self._search(query, Filter(kinds=(EXPERIENCE,), where=where), limit)

    def search_values(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Find values: what many experiences have in common."""
        return self._search(query, Filter(kinds=(VALUE,)), limit)

    def search_commits(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Find commits by their messages."""
        return self._search(query, Filter(kinds=("commit",)), limit)

    def record_use(self, items: Sequence[ContextItem], now: datetime) -> None:
        """Count the memories among the items as used, unless the store takes no writes."""
        # Items do not name their tenant; the first one is the caller's own.
        used = [(self.tenants[0], str(item.metadata["id"])) for item in items if item.source == MEMORY]
        if not used or self.weft.store.read_only:
            return
        try:
            # A use that is not counted is no reason to withhold the page.
            UsageLog(self.weft.folder).record_uses(used, now)
        except StoreError as error:
            warn("uses_not_counted", reason=str(error))

    def _search(self, question: str, filter: Filter, limit: int) -> tuple[Candidate, ...]:
        with self._open_reading() as reading:
            query = self._analyse(question, reading)
            probe = Probe("search", limit=limit)
            found = search(query, probe, filter, Fusion(pool=limit), reading.snapshot, reading.index)
            return tuple(mark_candidates(found.candidates, reading.snapshot))

    def _open_reading(self) -> AbstractContextManager[Reading]:
        return (
            self.weft.reading(View(self.tenants))
            if self.shared_reading is None
            else nullcontext(self.shared_reading)
        )

    def _analyse(self, question: str, reading: Reading) -> Query:
        # What a question means depends on the words in the store, so a write makes it stale.
        key = (question, reading.snapshot.identity, reading.snapshot.sequence)
        known = self.queries.get(key)
        if known is not None:
            return known
        query = understand(question, reading.snapshot, reading.embedder)
        # A note says that the embedder did not answer: it may answer the next time.
        return query if query.notes else self.queries.put(key, query)


def make_assembler(weft: "Weft", tenants: tuple[str, ...] = (DEFAULT_TENANT,)) -> ContextAssembler:
    """Return an assembler over what a store has learned, with the profiles that apply to the store."""
    return ContextAssembler(
        StoreSearcher(weft, tenants), learning=weft.profile("learning"), premortem=weft.profile("premortem")
    )
