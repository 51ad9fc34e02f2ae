"""Find what is there already of a kind that a question names: what extends a base, or what stands in a folder.

"A new parameter type" is what the classes are that extend ParamType, and "a new middleware" is what the folder
`middleware` holds.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.model import Candidate, Filter, Node
from weft.pipeline.by_symbol import last_part
from weft.pipeline.folders import Folder, find_folder
from weft.pipeline.outline import ALL_EDGES, OUTLINED_KINDS, find_members
from weft.pipeline.query import Reading
from weft.pipeline.score import is_sample
from weft.pipeline.shape_phrases import WORDS
from weft.pipeline.shapes import DEFINITION_KINDS
from weft.ports import NodeRow
from weft.scoring.bm25 import term_hashes
from weft.text import analyze

_MIN_MEMBERS: Final = 3
_MAX_MEMBERS: Final = 200
_MAX_BASES: Final = 12
"""Classes that are looked at for those that extend them."""
_MIN_PREFIX: Final = 4
"""Letters with which a word of a name may stand for a longer one: `Param` for parameter."""
_MAX_NAMING: Final = 64
"""Passages that are looked at for the names of a kind's members."""
_MAX_SEARCHED_NAMES: Final = 40
_TYPICAL_SHARE: Final = 0.25
"""The place of the example among the members of a kind by their length: the shortest of all are often empty."""
_LEADING: Final = (
    r"(?:(?:a|an|another|my|our|your|the|new|custom|own|one|more|further|second|additional|support|for)\s+)*"
)
_KIND: Final = re.compile(
    rf"(?i)\b(?:{WORDS['adding']})\s+{_LEADING}(?P<kind>[a-z][\w-]*(?:\s+[a-z][\w-]*){{0,3}}?)"
    r"(?=\s+(?:to|for|in|into|on|that|which|like|with|without|so|of|from|as|and|or|when|by|here|properly|myself)\b"
    r"|\s*[?.,;:!]|\s*\Z)"
)
_NAME_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EMPTY_WORDS: Final = frozenset({"base", "abstract", "interface", "protocol", "mixin", "i", "core"})
"""Words of the name of a base that say that it is one."""
_HEADS: Final = frozenset({"index", "__init__", "mod", "main", "lib"})
"""The names of files that stand for their folders."""


class Kind(Struct, frozen=True):
    """The members of a kind, each as the definitions that make it, the names by which code registers them, and the
    base that they extend, if they do.
    """

    members: tuple[tuple[NodeRow, ...], ...]
    names: tuple[str, ...]
    bases: tuple[NodeRow, ...] = ()

    def name_of(self, row: NodeRow) -> str:
        """Return the name of the member that a definition is the first of."""
        return next(name for name, rows in zip(self.names, self.members, strict=True) if rows[0] is row)


def name_kind(question: str) -> str:
    """Return the words for what a question wants to add: "parameter type" of "How do I add a parameter type?"."""
    match = _KIND.search(question)
    return match["kind"] if match else ""


def find_kind(words: str, found: Sequence[Candidate], reading: Reading) -> Kind | None:
    """Return the kind that these words name, if at least three of it are there."""
    bases = sorted(
        _find_bases(words, found, reading), key=lambda node: (-_share(words, node), len(node.title), *node.ref)
    )
    for base in bases[:_MAX_BASES]:
        heirs = _find_heirs(base, reading)
        if len(heirs) >= _MIN_MEMBERS:
            names = tuple(last_part(row.node.title) for row in heirs)
            return Kind(tuple((row,) for row in heirs), names, tuple(reading.snapshot.nodes([base.id]).values()))
    folder = find_folder(words, reading)
    return _read_folder(folder, reading) if folder is not None else None


def _find_bases(words: str, found: Sequence[Candidate], reading: Reading) -> list[Node]:
    """Return the classes whose names say what the words do."""
    parts = words.lower().split()
    spelled = [separator.join(parts) for separator in ("", "_", "-")]
    numbers = {number for each in reading.snapshot.find([*spelled, parts[-1]]).values() for number in each}
    nodes = {row.node.id: row.node for row in reading.snapshot.nodes(sorted(numbers)).values()}
    nodes |= {one.node.id: one.node for one in found}
    types = [
        node
        for node in nodes.values()
        if node.kind in OUTLINED_KINDS and node.kind != "file" and not is_sample(node)
    ]
    return [node for node in types if _share(words, node)]


def _share(words: str, node: Node) -> float:
    """Return which share of its words the name of a class has from the question, 0 if the last one is another."""
    named = [word.lower() for word in _NAME_WORD.findall(last_part(node.title))]
    named = [word for word in named if word not in _EMPTY_WORDS]
    asked = words.lower().replace("-", " ").split()
    if not named or not _is_same(named[-1], asked[-1]):
        return 0.0
    return sum(any(_is_same(word, each) for each in asked) for word in named) / len(named)


def _is_same(word: str, asked: str) -> bool:
    is_short_for = len(word) >= _MIN_PREFIX and asked.startswith(word)
    return is_short_for or analyze(word) == analyze(asked)


def _find_heirs(base: Node, reading: Reading) -> list[NodeRow]:
    """Return the classes outside of tests and examples that extend a base."""
    heirs = [
        source
        for source, target, edge in reading.snapshot.edges([base.id], ALL_EDGES)
        if edge.type == "inherits" and target == base.id
    ]
    rows = reading.snapshot.nodes(sorted(set(heirs))[:_MAX_MEMBERS]).values()
    return [row for row in rows if row.node.kind in OUTLINED_KINDS and not is_sample(row.node)]


def _read_folder(folder: Folder, reading: Reading) -> Kind | None:
    """Return what a folder holds as a kind: the definitions of each file in it, or of each folder's main file."""
    mains: dict[str, list[Node]] = {}
    for name, nodes in _inside(folder).items():
        own = [node for node in nodes if not is_sample(node)]
        if name not in _HEADS and own:
            mains[name] = own
    if len(mains) < _MIN_MEMBERS:
        return None
    members = {name: _definitions_of(_main_file(name, nodes), reading) for name, nodes in mains.items()}
    members = {name: rows for name, rows in members.items() if rows}
    return Kind(tuple(members.values()), tuple(members)) if len(members) >= _MIN_MEMBERS else None


def _inside(folder: Folder) -> dict[str, list[Node]]:
    inside: dict[str, list[Node]] = {}
    for node in folder.files:
        inside.setdefault(folder.name_of(node), []).append(node)
    return inside


def _main_file(name: str, files: Sequence[Node]) -> Node:
    """Return the file of a folder that bears its name, or the name that stands for folders, or else the first."""
    stems = {node.id: (node.origin.file or "").rpartition("/")[2].partition(".")[0] for node in files}
    return min(files, key=lambda node: (stems[node.id] != name, stems[node.id] not in _HEADS, *node.ref))


def _definitions_of(file: Node, reading: Reading) -> tuple[NodeRow, ...]:
    """Return what a file defines for others, the longest first."""
    inner = [node.id for node in find_members(file, reading) if node.kind in DEFINITION_KINDS]
    rows = [row for row in reading.snapshot.nodes(inner).values() if not row.node.title.startswith("_")]
    return tuple(sorted(rows, key=lambda row: (-len(row.node.text), row.node.key)))


def choose_member(kind: Kind, relevance: Mapping[int, float], *, smallest: bool) -> tuple[NodeRow, ...]:
    """Return the member to follow: one that the question is about, or else a short one, or the shortest."""
    by_length = sorted(kind.members, key=lambda rows: (sum(len(row.node.text) for row in rows), rows[0].node.key))
    if smallest:
        return by_length[0]
    worth = [max(relevance.get(row.node.id, 0.0) for row in rows) for rows in by_length]
    if max(worth) > 0:
        return by_length[worth.index(max(worth))]
    return by_length[int(_TYPICAL_SHARE * len(by_length))]


def find_naming(names: Sequence[str], reading: Reading) -> Iterator[NodeRow]:
    """Yield the texts of code and settings in which many of these names may stand."""
    # Of each name the first term is the whole.
    hashes = term_hashes(dict.fromkeys(analyze(name)[0] for name in names[:_MAX_SEARCHED_NAMES] if analyze(name)))
    kinds = (*DEFINITION_KINDS, "file", "module", "config")
    found = reading.index.lexical(reading.snapshot, hashes, Filter(kinds=kinds), _MAX_NAMING)
    passages = reading.snapshot.passages(found.passage_ids.tolist())
    yield from reading.snapshot.nodes(list(dict.fromkeys(row.node_id for row in passages))).values()
