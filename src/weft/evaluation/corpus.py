"""The corpus of a judged set as a source, so that it is indexed like everything else."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import orjson
import xxhash

from weft.evaluation.judged_sets import Document, Judged
from weft.model import DEFAULT_TENANT, Filter, Node
from weft.ports import Unit
from weft.sources.files import Naming
from weft.sources.record_schema import Understood, understand
from weft.sources.values import following

_BLOCK: Final = 1_000
_VERSION: Final = 2


class CorpusSource:
    """The documents of a set, a thousand a unit, each with a mark for every scope it belongs to.

    Marks are whole numbers in fields, which filters see and searches do not.
    """

    def __init__(self, judged: Judged, *, scoped: bool = False, tenant: str = DEFAULT_TENANT) -> None:
        self.name = judged.name
        self.maker = f"evaluation:{judged.name}@{_VERSION}"
        self._naming = Naming(judged.name, self.maker, tenant)
        self._marks = _marks(judged) if scoped else {}
        self._scopes = judged.scopes if scoped else {}
        self._place = judged.place
        self._documents = {document.id: document for document in judged.documents}
        full = [document for document in judged.documents if not document.empty]
        self._units = {
            f"{full[start].file}#{start}": full[start : start + _BLOCK] for start in range(0, len(full), _BLOCK)
        }
        self._belongs = _belongs(self._marks)

    def identity(self) -> str:
        """A fingerprint of where the set is, by which two sets of the same name are told apart."""
        return xxhash.xxh3_128_hexdigest(self._place.encode("utf-8", "surrogateescape"))

    def units(self) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of each block of documents; the stamp is a hash of what they say."""
        return [(name, self._stamp(documents)) for name, documents in self._units.items()]

    def read(self, unit: str) -> Unit:
        """The nodes of one block, made of their records as `weft index` would."""
        into = Understood()
        for document in self._units[unit]:
            self._understand(document, into)
        nodes = tuple(found.node for found in into.nodes)
        edges = (*(edge for found in into.nodes for edge in found.edges), *into.edges, *following(nodes))
        return Unit(unit, self._stamp(self._units[unit]), nodes, edges, tuple(into.problems))

    def key(self, document: str) -> str:
        """The key of the node that a document becomes."""
        return f"{self.name}:{document}"

    def document(self, key: str) -> str:
        """The document that a key stands for; keys of other sources stand for themselves."""
        return key.removeprefix(f"{self.name}:")

    def texts(self, documents: Iterable[str]) -> dict[str, str]:
        """The texts of some documents by key."""
        return {self.key(id): str(self._documents[id].record.get("text") or "") for id in documents}

    def filter(self, question: str) -> Filter:
        """What limits a question to its scope, if it has one."""
        allowed = self._scopes.get(question)
        return Filter() if allowed is None else Filter(where=((self._marks[allowed], "1"),))

    def _understand(self, document: Document, into: Understood) -> None:
        where = f"{document.file}:{document.line}"
        before = len(into.nodes)
        understand({**document.record, "key": document.id}, where, self._naming, into)
        if len(into.nodes) > before:
            found = into.nodes[-1]
            into.nodes[-1] = replace(found, node=self._node(document, found.node))

    def _node(self, document: Document, node: Node) -> Node:
        marks = dict.fromkeys(self._belongs.get(document.id, ()), 1)
        return replace(node, key=self.key(document.id), fields={**node.fields, **marks})

    def _stamp(self, documents: Iterable[Document]) -> str:
        told = [
            (document.id, document.line, document.record, self._belongs.get(document.id, ()))
            for document in documents
        ]
        return xxhash.xxh3_128_hexdigest(orjson.dumps(told, default=str, option=orjson.OPT_NON_STR_KEYS))


def _marks(judged: Judged) -> dict[frozenset[str], str]:
    """A field name for each different scope, numbered in the order of the questions."""
    scopes = dict.fromkeys(judged.scopes[id] for id in judged.scopes)
    return {allowed: f"judged_scope_{number}" for number, allowed in enumerate(scopes)}


def _belongs(marks: Mapping[frozenset[str], str]) -> dict[str, tuple[str, ...]]:
    """The marks of each document."""
    belongs: dict[str, list[str]] = {}
    for allowed, mark in marks.items():
        for document in allowed:
            belongs.setdefault(document, []).append(mark)
    return {document: tuple(sorted(mine)) for document, mine in belongs.items()}
