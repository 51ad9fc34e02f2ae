"""A searcher over an open store: memories, code, experiences, values and commits, as the facades ask for them."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from weft.assemblers.learning.assembler import ContextAssembler
from weft.assemblers.learning.found import ContextItem, warn
from weft.cache import Recent
from weft.errors import StoreError
from weft.frozen import dataclass
from weft.memory import EXPERIENCE, MEMORY, VALUE, UsageBook
from weft.model import DEFAULT_TENANT, Candidate, Filter, View
from weft.pipeline.query import Query, understand
from weft.pipeline.reading import Desk
from weft.pipeline.retrieve import search
from weft.profiles.types import Fusion, Probe
from weft.store import is_address

if TYPE_CHECKING:
    from weft.api import Weft


_UNDERSTOOD: Final = 8
CODE_KINDS: Final = ("function", "method", "class", "interface", "type", "module")


@dataclass(frozen=True, slots=True)
class StoreSearcher:
    """Searches one store as its readers of some tenants see it; the methods may be called from several threads."""

    weft: "Weft"
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    understood: Recent[tuple[str, str, int], Query] = field(default_factory=lambda: Recent(_UNDERSTOOD))
    """Questions as the searches see them: several searches are made with each."""
    desk: Desk | None = None
    """The reading that all searches share; None where each has its own."""

    def reading(self) -> AbstractContextManager["StoreSearcher"] | None:
        """This searcher with one reading for all searches; None for a store on a server, which answers many.

        Over a file threads mostly wait for each other, and each would begin a reading of its own.
        """
        return None if is_address(self.weft.location) else self._sharing()

    @contextmanager
    def _sharing(self) -> Iterator["StoreSearcher"]:
        with self._desk() as desk:
            yield replace(self, desk=desk)

    def search_memories(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Facts, preferences, decisions and the like."""
        return self._search(query, Filter(kinds=(MEMORY,)), limit)

    def search_code(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Functions, methods, classes and the like."""
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
        """Experiences on one axis, perhaps of one domain, strategy or outcome only."""
        asked = (("axis", axis), ("domain", domain), ("strategy", strategy), ("outcome_status", outcome))
        where = tuple((name, given) for name, given in asked if given is not None)
        return self._search(query, Filter(kinds=(EXPERIENCE,), where=where), limit)

    def search_values(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """What many experiences have in common."""
        return self._search(query, Filter(kinds=(VALUE,)), limit)

    def search_commits(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Commits by their messages."""
        return self._search(query, Filter(kinds=("commit",)), limit)

    def handed_out(self, items: Sequence[ContextItem], now: datetime) -> None:
        """Count the memories among the items as used; a store that takes no writes counts nothing."""
        used = [(self.tenants[0], str(item.metadata["id"])) for item in items if item.source == MEMORY]
        if not used or self.weft.store.read_only:
            return
        try:
            UsageBook(self.weft.folder).note(used, now)
        except StoreError as error:
            warn("uses_not_counted", reason=str(error))

    def _search(self, query: str, wanted: Filter, limit: int) -> tuple[Candidate, ...]:
        with self._desk() as desk:
            asked = self._understood(query, desk)
            probe = Probe("search", limit=limit)
            return search(asked, probe, wanted, Fusion(pool=limit), desk.snapshot, desk.index).candidates

    def _desk(self) -> AbstractContextManager[Desk]:
        return self.weft.desk(View(self.tenants)) if self.desk is None else nullcontext(self.desk)

    def _understood(self, question: str, desk: Desk) -> Query:
        key = (question, desk.snapshot.identity, desk.snapshot.sequence)
        known = self.understood.get(key)
        if known is not None:
            return known
        query = understand(question, desk.snapshot, desk.embed)
        return query if query.notes else self.understood.put(key, query)


def assembler_over(weft: "Weft", tenants: tuple[str, ...] = (DEFAULT_TENANT,)) -> ContextAssembler:
    """An assembler of what a store has learned, by the profiles that are in force for it."""
    return ContextAssembler(
        StoreSearcher(weft, tenants), learning=weft.profile("learning"), premortem=weft.profile("premortem")
    )
