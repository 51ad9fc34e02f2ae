"""Names of nodes found in the texts of others become `mentions` edges."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final

from weft.frozen import dataclass
from weft.links.name_index import Lexicon, Match, Matcher, Owner, content_words, names_of, openings
from weft.model import Edge, EdgeSet, Node, View
from weft.ports import Snapshot, Store
from weft.scoring.bm25 import term_hash
from weft.text import analyze, is_code
from weft.text.folding import fold_text

MAKER: Final = "link:mentions@1"
EDGE_TYPE: Final = "mentions"
MOST_TARGETS: Final = 200

_BATCH: Final = 500
_FEW: Final = 1000
_FRACTION: Final = 5
_FEW_NAMES: Final = 500
_ALL_EDGES: Final = 1_000_000

Containing = Callable[[Sequence[int]], Sequence[int]]
Progress = Callable[[int], None]

_Read = tuple[str, str, str]
"""The tenant, key and whole text of a node that is searched for names."""
_Batch = Sequence[_Read]
_Reader = Callable[[_Batch], tuple[Edge, ...]]
Run = Callable[
    [Callable[..., _Reader], tuple[object, ...], Iterable[_Batch]], Iterator[tuple[_Batch, tuple[Edge, ...]]]
]
"""A way to work through batches: it makes the reader with its arguments and yields each batch with its edges."""


def run_here(
    make_reader: Callable[..., _Reader], arguments: tuple[object, ...], batches: Iterable[_Batch]
) -> Iterator[tuple[_Batch, tuple[Edge, ...]]]:
    """Work through the batches in this process, one after another."""
    read = make_reader(*arguments)
    return ((batch, read(batch)) for batch in batches)


def link_mentions(
    store: Store,
    tenant: str,
    changed: Sequence[str],
    containing: Containing | None = None,
    progress: Progress | None = None,
    *,
    renamed: Mapping[str, Sequence[str]] | None = None,
) -> tuple[EdgeSet, ...]:
    """The `mentions` edges of the changed nodes and of older texts that hold their names, in sets to write."""
    return tuple(each_mentions(store, tenant, changed, containing, progress, renamed=renamed))


def each_mentions(
    store: Store,
    tenant: str,
    changed: Sequence[str],
    containing: Containing | None = None,
    progress: Progress | None = None,
    *,
    renamed: Mapping[str, Sequence[str]] | None = None,
    run: Run = run_here,
) -> Iterator[EdgeSet]:
    """The same sets one at a time, so that a large store never holds all its edges in memory.

    `changed` are keys of the tenant whose texts are new. `renamed` are keys by tenant (this one or one it
    shares) whose names are new or different; without it the names of all changed nodes count as new.
    `containing` returns the ids of nodes whose text holds all of some term hashes; without it, or for many
    names, older texts are scanned. `progress` is told how many texts were done. `run` may spread the work over
    processes.
    """
    scope = _scope(store, tenant, changed, {tenant: changed} if renamed is None else renamed, containing)
    if scope == _Scope():
        return
    texts, words = _with_words(_texts(store, tenant, scope))
    names = _lexicon(store, tenant, words).usable()
    for read, edges in run(_reader, (names,), _batches(texts)):
        yield EdgeSet(MAKER, tenant, edges, tuple(key for _, key, _ in read))
        if progress:
            progress(len(read))


def affected(
    store: Store, tenant: str, named: Mapping[str, Sequence[str]], containing: Containing | None = None
) -> tuple[str, ...]:
    """Keys of the tenant's texts whose mentions depend on these nodes: ask before removing, re-link after."""
    scope = _scope(store, tenant, (), named, containing)
    gone = frozenset(named.get(tenant, ()))
    return tuple(sorted(node.key for node in _texts(store, tenant, scope) if node.key not in gone))


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which texts to scan: all, or those with the ids and those that hold one of the names."""

    everything: bool = False
    ids: frozenset[int] = frozenset()
    names: Matcher | None = None

    def takes(self, node: Node) -> bool:
        """Whether a text is to be scanned."""
        return (
            self.everything
            or node.id in self.ids
            or (self.names is not None and self.names.holds_any(_text(node)))
        )


def _lexicon(store: Store, tenant: str, words: frozenset[str] | None) -> Lexicon:
    lexicon = Lexicon(words)
    for each in (tenant, *sorted(store.shared(tenant))):
        for row in store.names(each):
            lexicon.add(row)
    return lexicon


def _with_words(nodes: Iterator[Node]) -> tuple[Iterable[Node], frozenset[str] | None]:
    """The nodes and, if they are few, the words that names in their texts can begin with.

    Most names of a large store begin with none of them, and an automaton of the rest is made in no time.
    """
    first = list(islice(nodes, _FEW))
    if len(first) == _FEW:
        return chain(first, nodes), None
    return first, frozenset(word for node in first for word in openings(fold_text(_text(node))[0]))


def _scope(
    store: Store,
    tenant: str,
    changed: Sequence[str],
    renamed: Mapping[str, Sequence[str]],
    containing: Containing | None,
) -> _Scope:
    many = sum(map(len, renamed.values())) + len(changed)
    if many > _FEW and many * _FRACTION > store.status(View((tenant,))).nodes:
        return _Scope(everything=True)
    with store.snapshot(View((tenant, *store.shared(tenant)))) as snapshot:
        named = _ids(snapshot, renamed)
        ids = {*_ids(snapshot, {tenant: changed}), *_mentioning(snapshot, named)}
        names = names_of(row.node for row in snapshot.nodes(named).values())
    terms = [_terms(written) for _, written in names]
    if containing is None or len(names) > _FEW_NAMES or not all(terms):
        return _Scope(ids=frozenset(ids), names=Matcher({name: () for name, _ in names}) if names else None)
    return _Scope(ids=frozenset(ids).union(*(containing(each) for each in terms)))


def _ids(snapshot: Snapshot, keys: Mapping[str, Sequence[str]]) -> list[int]:
    """The ids of nodes by tenant and key."""
    wanted = {(tenant, key) for tenant, listed in keys.items() for key in listed}
    found = snapshot.find(sorted({key for _, key in wanted}))
    rows = snapshot.nodes(sorted({each for ids in found.values() for each in ids}))
    return [each for each, row in rows.items() if (row.node.tenant, row.node.key) in wanted]


def _mentioning(snapshot: Snapshot, ids: Sequence[int]) -> Iterator[int]:
    """The ids of nodes whose text mentioned these before, perhaps by a name they no longer have."""
    targets = frozenset(ids)
    for source, target, edge in snapshot.edges(ids, limit=_ALL_EDGES) if ids else ():
        if target in targets and edge.type == EDGE_TYPE:
            yield source


def _terms(name: str) -> tuple[int, ...]:
    """Hashes of terms that every text holding the name has; none when the name has no plain telling word."""
    return tuple(sorted({term_hash(term) for word in content_words(name) for term in _sure(analyze(word), word)}))


def _sure(terms: Sequence[str], word: str) -> Sequence[str]:
    """Of a word like budget.py its parts: as a whole it may stand in a text with more around it."""
    if len(terms) > 1:
        return terms[1:]
    # A single letter may have been C++.
    return terms if word.isalpha() and len(word) > 1 else ()


def _texts(store: Store, tenant: str, scope: _Scope) -> Iterator[Node]:
    """The tenant's nodes whose prose is to be scanned, in the order of their ids; code refers by its own rules."""
    for node in _all_texts(store, tenant, scope):
        if not is_code(node.language):
            yield node


def _all_texts(store: Store, tenant: str, scope: _Scope) -> Iterator[Node]:
    if scope.everything or scope.names is not None:
        yield from (row.node for row in store.iterate(tenant) if scope.takes(row.node))
        return
    ids = sorted(scope.ids)
    for start in range(0, len(ids), _BATCH):
        with store.snapshot(View((tenant,))) as snapshot:
            rows = snapshot.nodes(ids[start : start + _BATCH])
        yield from (rows[each].node for each in sorted(rows))


def _batches(nodes: Iterable[Node]) -> Iterator[list[_Read]]:
    batch: list[_Read] = []
    for node in nodes:
        batch.append((node.tenant, node.key, _text(node)))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _text(node: Node) -> str:
    """All that is scanned of a node; the text comes first, so that places in it stay true."""
    return "\n".join(part for part in (node.text, node.summary, node.title) if part)


def _reader(names: Mapping[str, Sequence[Owner]]) -> Callable[[Sequence[_Read]], tuple[Edge, ...]]:
    """What finds the names in texts and draws the edges."""
    matcher = Matcher(names)
    return lambda texts: tuple([edge for each in texts for edge in _edges(each, matcher)])


def _edges(read: _Read, matcher: Matcher) -> Iterator[Edge]:
    """One edge to each node that the text names, strongest match first seen, in the order of the text."""
    here, source, text = read
    best: dict[tuple[str, str], tuple[float, Match]] = {}
    for match in matcher.find(text, (here, source)):
        for owner, sure in match.owners:
            target = (owner.tenant, owner.key)
            weight = sure / match.sharers
            if weight > best.get(target, (0.0, match))[0]:
                best[target] = (weight, match)
        if len(best) >= MOST_TARGETS:
            break
    for (tenant, key), (weight, match) in list(best.items())[:MOST_TARGETS]:
        elsewhere = tenant if tenant != here else None
        evidence = f"{match.surface} @{match.start}"
        yield Edge(source, key, EDGE_TYPE, round(weight, 6), 1.0, evidence, here, elsewhere)
