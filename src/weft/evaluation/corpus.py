"""Offer the corpus of a judged set as a source, so that it is indexed like everything else."""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson
import xxhash
from msgspec.structs import replace

from weft.evaluation.judged_sets import Document, JudgedSet
from weft.model import DEFAULT_TENANT, Filter
from weft.ports import Unit
from weft.sources.files import SourceSettings
from weft.sources.record_schema import ParsedRecords, parse_record
from weft.sources.values import sequence_edges

_DOCUMENTS_PER_UNIT: Final = 1_000
"""Documents of one unit, which is read again as a whole when one of them changed: about a batch of indexing."""
_VERSION: Final = 2
"""Raise it when the same documents would become other nodes."""


class CorpusSource:
    """The documents of a set, a thousand a unit, each with a mark for every scope it belongs to.

    A mark is a field with a number, which filters see and searches do not.
    """

    def __init__(self, judged: JudgedSet, *, scoped: bool = False, tenant: str = DEFAULT_TENANT) -> None:
        self.name = judged.name
        self.maker = f"evaluation:{judged.name}@{_VERSION}"
        self._settings = SourceSettings(judged.name, self.maker, tenant)
        self._marks = _scope_marks(judged) if scoped else {}
        self._scopes = judged.scopes if scoped else {}
        self._location = judged.location
        self._documents = {document.id: document for document in judged.documents}
        # Empty documents could not be found by any search; the report lists them.
        full = [document for document in judged.documents if not document.empty]
        self._units = {
            f"{full[start].file}#{start}": full[start : start + _DOCUMENTS_PER_UNIT]
            for start in range(0, len(full), _DOCUMENTS_PER_UNIT)
        }
        self._marks_by_document = _marks_by_document(self._marks)

    def identity(self) -> str:
        """Return a fingerprint of where the set is, which tells two sets of the same name apart."""
        return xxhash.xxh3_128_hexdigest(self._location.encode("utf-8", "surrogateescape"))

    def units(self) -> Iterable[tuple[str, str]]:
        """Return the (name, stamp) of each unit of documents; the stamp is a hash of their content."""
        return [(name, self._stamp(documents)) for name, documents in self._units.items()]

    def read(self, unit: str) -> Unit:
        """Return the nodes of one unit, made of their records as `weft index` would make them."""
        into = ParsedRecords()
        for document in self._units[unit]:
            self._read_document(document, into)
        nodes = tuple(found.node for found in into.nodes)
        edges = (*(edge for found in into.nodes for edge in found.edges), *into.edges, *sequence_edges(nodes))
        return Unit(unit, self._stamp(self._units[unit]), nodes, edges, tuple(into.problems))

    def key(self, document: str) -> str:
        """Return the key of the node that a document becomes."""
        return f"{self.name}:{document}"

    def document(self, key: str) -> str:
        """Return the document that a key stands for; keys of other sources are returned as they are."""
        return key.removeprefix(f"{self.name}:")

    def texts(self, documents: Iterable[str]) -> dict[str, str]:
        """Return the texts of some documents by key."""
        return {self.key(id): str(self._documents[id].record.get("text") or "") for id in documents}

    def filter(self, question: str) -> Filter:
        """Return the filter that limits a question to its scope, if it has one."""
        allowed = self._scopes.get(question)
        return Filter() if allowed is None else Filter(where=((self._marks[allowed], "1"),))

    def _read_document(self, document: Document, into: ParsedRecords) -> None:
        """Parse one document, and give its node its key and marks."""
        before = len(into.nodes)
        # Records may have a key of their own, but judgements name documents by id.
        record = {**document.record, "key": document.id}
        parse_record(record, f"{document.file}:{document.line}", self._settings, into)
        # A record that cannot be used adds a problem instead of a node.
        if len(into.nodes) > before:
            found = into.nodes[-1]
            marks = dict.fromkeys(self._marks_by_document.get(document.id, ()), 1)
            node = replace(found.node, key=self.key(document.id), fields={**found.node.fields, **marks})
            into.nodes[-1] = replace(found, node=node)

    def _stamp(self, documents: Iterable[Document]) -> str:
        content = [
            (document.id, document.line, document.record, self._marks_by_document.get(document.id, ()))
            for document in documents
        ]
        return xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS))


def _scope_marks(judged: JudgedSet) -> dict[frozenset[str], str]:
    """Return a field name for each different scope, numbered in the order of the questions."""
    # Questions often share a scope: one mark for each different one keeps nodes small.
    scopes = dict.fromkeys(judged.scopes[id] for id in judged.scopes)
    return {allowed: f"judged_scope_{number}" for number, allowed in enumerate(scopes)}


def _marks_by_document(marks: Mapping[frozenset[str], str]) -> dict[str, tuple[str, ...]]:
    """Return the marks of each document."""
    found: dict[str, list[str]] = {}
    for documents, mark in marks.items():
        for document in documents:
            found.setdefault(document, []).append(mark)
    # Sorted, because sets have no order and the stamp of a unit is a hash of these.
    return {document: tuple(sorted(its_marks)) for document, its_marks in found.items()}
