"""What a view lets through, as conditions for SQL."""

import sqlite3

from weft.frozen import dataclass
from weft.model import View
from weft.store.numbers import names_by_number


@dataclass(frozen=True, slots=True)
class Visibility:
    """The tenants a reader may see, by number, and the point in the sequence up to which it knows."""

    tenants: dict[int, str]
    as_of: int | None

    def by_tenant(self, column: str) -> str:
        """The condition that a column holds a visible tenant."""
        return f"{column} IN ({', '.join(map(str, sorted(self.tenants)))})"

    def of(self, alias: str) -> str:
        """The condition that a row with tenant_id and position is visible."""
        tenant = self.by_tenant(f"{alias}.tenant_id")
        return tenant if self.as_of is None else f"{tenant} AND {alias}.position <= {int(self.as_of)}"


def visibility_of(connection: sqlite3.Connection, view: View | None) -> Visibility:
    """The conditions for a view; None sees all tenants."""
    tenants = names_by_number(connection, "tenants")
    if view is None:
        return Visibility(tenants, None)
    return Visibility({number: name for number, name in tenants.items() if name in view.tenants}, view.as_of)
