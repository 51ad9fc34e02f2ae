"""A source: `pantry://PATH` reads a table of what is in stock. A real one would ask a server."""

import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path

from weft.errors import SourceError
from weft.model import Node, Origin
from weft.ports import Unit
from weft.sources.files import SourceSettings


class Pantry:
    """The table of one pantry, a unit for each row: a row that stays the same is not read again."""

    def __init__(self, file: Path, settings: SourceSettings) -> None:
        self.file, self.settings = file, settings
        self.name, self.maker = settings.source, f"pantry:{settings.source}@1"

    def identity(self) -> str:
        """Tell this pantry from another one of the same name."""
        return hashlib.sha256(str(self.file.resolve()).encode()).hexdigest()

    def units(self) -> Iterator[tuple[str, str]]:
        """List the rows by what they are called."""
        for name, row in self._rows().items():
            yield name, _stamp(row)

    def read(self, unit: str) -> Unit:
        """Return one row as a node, its columns as fields."""
        row = self._rows()[unit]
        node = Node(
            f"{self.name}:{unit}",
            kind="stock",
            title=unit,
            text=f"{unit}: {row['amount']}, on {row['shelf']}.",
            fields=dict(row),
            tenant=self.settings.tenant,
            origin=Origin(self.name, str(self.file)),
        )
        return Unit(unit, _stamp(row), (node,))

    def _rows(self) -> dict[str, dict[str, str]]:
        with self.file.open(encoding="utf-8", newline="") as table:
            return {row["name"]: row for row in csv.DictReader(table)}


def open_pantry(address: str, settings: SourceSettings) -> Pantry:
    """Open the table that an address such as `pantry://stock.csv` names."""
    file = Path(address.removeprefix("pantry://"))
    if not file.is_file():
        raise SourceError(f"There is no pantry at {address!r}. Write pantry://PATH with the path of a CSV file.")
    return Pantry(file, settings)


def _stamp(row: dict[str, str]) -> str:
    return hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest()[:16]
