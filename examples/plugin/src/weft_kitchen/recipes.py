"""A format: `.recipe` files, a title in the first line, then steps. Each file is one unit and one node."""

from collections.abc import Iterator, Sequence

from weft.model import Node, Origin
from weft.ports import Unit
from weft.sources.files import SourceSettings, file_stamp
from weft.sources.walk_files import File


class Recipes:
    """The recipes of one source; Weft makes an instance for each source that is read."""

    suffixes = frozenset({".recipe"})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}

    def takes(self, file: File) -> bool:
        """Take every file of the suffix."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the name and the stamp of each file; a file whose stamp is stored already is not read again."""
        self._files = {file.name: file for file in files}
        for name, file in self._files.items():
            yield name, file_stamp(file.path)

    def read(self, unit: str) -> Unit:
        """Read one file as a node."""
        file = self._files[unit]
        stamp = file_stamp(file.path)
        title, _, steps = file.path.read_text("utf-8").partition("\n")
        source = self.settings.source
        node = Node(
            f"{source}:{unit}",
            kind="recipe",
            title=title.strip(),
            text=steps.strip(),
            tenant=self.settings.tenant,
            origin=Origin(source, unit, 2, 2 + steps.count("\n")),
            modified=self.settings.modified_time(file.path),
        )
        return Unit(unit, stamp, (node,))
