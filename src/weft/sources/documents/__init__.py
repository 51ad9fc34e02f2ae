"""Document formats: each reads whole files and turns their bytes into a document, which becomes section nodes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import ClassVar

from weft.ports import Problem, Unit
from weft.sources.documents.sections import Document, document_nodes
from weft.sources.files import MAX_TEXT_BYTES, MAX_TEXT_CHARACTERS, SourceSettings, file_stamp, read_bytes
from weft.sources.walk_files import File
from weft.text.redact_source import redact_source

ParsedDocument = tuple[Document | None, tuple[Problem, ...]]
"""A document, or None where it cannot be read, and the problems found on the way."""


class DocumentFiles(ABC):
    """The files of one document format in one source, one unit a file; a subclass parses their bytes."""

    suffixes: ClassVar[frozenset[str]] = frozenset()
    max_bytes: ClassVar[int] = MAX_TEXT_BYTES
    binary: ClassVar[bool] = False

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every document."""
        self._files = {file.name: file for file in files}
        for file in files:
            yield file.name, file_stamp(file.path)

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over changed documents; a document stands for itself."""
        self._files = {file.name: file for file in changed}
        yield from (self.read(file.name) for file in changed)

    def read(self, unit: str) -> Unit:
        """Read one document with its sections."""
        file = self._files[unit]
        # Taken before the content: a file that changes in between is read again the next time.
        stamp = file_stamp(file.path)
        content, problem = read_bytes(file, self.max_bytes, binary=self.binary)
        if problem:
            return Unit(unit, stamp, problems=(problem,))
        redacted = 0
        if not self.binary:
            content = self.shorten(content)
            # Before parsing, which counts in characters of the text as it is kept.
            safe = redact_source(content.decode("utf-8", "surrogateescape"))
            content, redacted = safe.text.encode("utf-8", "surrogateescape"), len(safe.kinds)
        document, problems = self.parse(unit, content)
        if document is not None and len(document.text) > MAX_TEXT_CHARACTERS:
            reason = (
                f"The document has {len(document.text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept. "
                "Split it."
            )
            return Unit(unit, stamp, problems=(*problems, Problem(unit, reason)))
        if document is None or not (document.text.strip() or document.headings):
            return Unit(unit, stamp, problems=problems)
        nodes, edges = document_nodes(document, unit, self.settings, self.settings.modified_time(file.path))
        return Unit(unit, stamp, nodes, edges, problems, redacted=redacted)

    def shorten(self, content: bytes) -> bytes:
        """Return the content without what parsing leaves out, so that large files are not searched for secrets."""
        return content

    @abstractmethod
    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Parse the content of the file of this name."""


def title_from_name(name: str) -> str:
    """Return a title for a document that has none: the stem of its file's name, with blanks for underscores."""
    return PurePosixPath(name).stem.replace("_", " ").strip() or name
