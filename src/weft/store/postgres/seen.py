"""What a view lets through, as conditions for SQL whose text is the same for every view of a kind."""

from collections.abc import Iterable, Mapping
from typing import Any

from weft.frozen import dataclass
from weft.model import View
from weft.store.postgres.connection import EVERYTHING, Link, rows_of
from weft.store.postgres.texts import name_digest
from weft.store.postgres.write import names_by_number


@dataclass(frozen=True, slots=True)
class Seen:
    """The tenants a reader may see, by number, and the point in the sequence up to which it knows."""

    tenants: Mapping[int, str]
    as_of: int | None = None
    whole: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The values that the conditions name."""
        return {"tenants": [] if self.whole else sorted(self.tenants), "as_of": self.as_of}

    @property
    def setting(self) -> str:
        """What row-level security is told."""
        return EVERYTHING if self.whole else f"{{{','.join(map(str, sorted(self.tenants)))}}}"

    def by_tenant(self, column: str) -> str:
        """The condition that a column holds a visible tenant."""
        return "TRUE" if self.whole else f"{column} = ANY(%(tenants)s::integer[])"

    def of(self, alias: str) -> str:
        """The condition that a row with tenant_id and position is visible."""
        tenant = self.by_tenant(f"{alias}.tenant_id")
        return tenant if self.as_of is None else f"{tenant} AND {alias}.position <= %(as_of)s"


class Names:
    """Names that never change their number, remembered by a process once it has seen them."""

    def __init__(self) -> None:
        self._tenants: dict[str, int] = {}
        self._kinds: dict[int, str] = {}
        self._edge_types: dict[int, str] = {}
        self._everyone = (Seen({}, whole=True), View(()))

    def known(self, view: View) -> Seen | None:
        """The conditions for a view whose tenants are all remembered."""
        if all(name in self._tenants for name in view.tenants):
            return self._seen(view)
        return None

    def seen(self, link: Link, view: View) -> Seen:
        """The conditions for a view; tenants that nobody has written to are not there to be seen."""
        missing = [name_digest(name) for name in view.tenants if name not in self._tenants]
        rows = rows_of(link, "SELECT name, id FROM tenants WHERE md5(name) = ANY(%s)", (missing,))
        self._tenants.update(rows)
        return self._seen(view)

    def _seen(self, view: View) -> Seen:
        known = {self._tenants[name]: name for name in view.tenants if name in self._tenants}
        return Seen(known, view.as_of)

    def everything(self, link: Link) -> tuple[Seen, View]:
        """All tenants, for derived indexes and maintenance only; only those that came since last time are read."""
        known = self._everyone[0].tenants
        fresh = rows_of(link, "SELECT id, name FROM tenants WHERE id > %s", (max(known, default=0),))
        if fresh:
            tenants = {**known, **dict(fresh)}
            self._everyone = Seen(tenants, whole=True), View(tuple(sorted(tenants.values())))
        return self._everyone

    def kinds(self, link: Link, numbers: Iterable[int]) -> Mapping[int, str]:
        """The names of kinds, among them these."""
        return _complete(link, self._kinds, "kinds", numbers)

    def edge_types(self, link: Link, numbers: Iterable[int]) -> Mapping[int, str]:
        """The names of edge types, among them these."""
        return _complete(link, self._edge_types, "edge_types", numbers)


def _complete(link: Link, known: dict[int, str], table: str, numbers: Iterable[int]) -> Mapping[int, str]:
    if any(number not in known for number in numbers):
        known.update(names_by_number(link, table))
    return known
