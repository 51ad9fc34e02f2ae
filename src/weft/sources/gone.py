"""A source of which nothing is left."""

from collections.abc import Iterable

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.ports import Unit


@dataclass(slots=True)
class Gone:
    """A source without units, under the name and the maker it had."""

    name: str
    maker: str

    def identity(self) -> str:
        """Nowhere."""
        return ""

    def units(self) -> Iterable[tuple[str, str]]:
        """No units."""
        return ()

    def read(self, unit: str) -> Unit:
        """Nothing can be read."""
        raise SourceError(f"The source {self.name!r} is gone, so {unit!r} cannot be read. Index it again first.")
