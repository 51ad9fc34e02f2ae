"""What all formats of documents share: files are read whole and become a document with its sections."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import ClassVar, Final

from weft.ports import Problem, Unit
from weft.sources.documents.sections import Document, nodes_of
from weft.sources.files import MAX_TEXT, Naming, read_bytes, stamp_of
from weft.sources.walk_files import File

Understood = tuple[Document | None, tuple[Problem, ...]]
"""A document, or none and the reason, and what else was wrong."""

_BYTES_A_CHARACTER: Final = 4


class DocumentFiles(ABC):
    """One kind of document files of one source, one unit a file. A format says how bytes become a document."""

    suffixes: ClassVar[frozenset[str]] = frozenset()
    most_bytes: ClassVar[int] = MAX_TEXT * _BYTES_A_CHARACTER
    binary: ClassVar[bool] = False

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._files: dict[str, File] = {}

    def takes(self, file: File) -> bool:
        """Every file of its suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every document."""
        self._files = {file.name: file for file in files}
        for file in files:
            yield file.name, stamp_of(file.path)

    def read(self, unit: str) -> Unit:
        """One document with its sections."""
        file = self._files[unit]
        stamp = stamp_of(file.path)
        content, problem = read_bytes(file, self.most_bytes, binary=self.binary)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        document, problems = self.understand(unit, content)
        if document is not None and len(document.text) > MAX_TEXT:
            reason = (
                f"The document has {len(document.text):,} characters; at most {MAX_TEXT:,} are kept. Split it."
            )
            return Unit(unit, stamp, problems=(*problems, Problem(unit, reason)))
        if document is None or not (document.text.strip() or document.headings):
            return Unit(unit, stamp, problems=problems)
        modified = datetime.fromtimestamp(int(file.path.stat().st_mtime), UTC) if self.naming.file_times else None
        nodes, edges = nodes_of(document, unit, self.naming, modified)
        return Unit(unit, stamp, nodes, edges, problems)

    @abstractmethod
    def understand(self, name: str, content: bytes) -> Understood:
        """The document in some bytes."""


def stem_of(name: str) -> str:
    """The title of a document that has none."""
    return PurePosixPath(name).stem.replace("_", " ").strip() or name


def beside(name: str, target: str) -> str | None:
    """The name of the file that a relative link in `name` leads to, or None when that is outside the source."""
    parts = [] if target.startswith("/") else list(PurePosixPath(name).parent.parts)
    for part in PurePosixPath(target.lstrip("/")).parts:
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or None
