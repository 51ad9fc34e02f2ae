"""Draw `mentions` edges: find the names of nodes in the texts of others.

Only texts that a change can affect are scanned: the changed ones, those that mentioned a renamed node before, and
those that hold one of its names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final

from msgspec import Struct

from weft.links.name_index import Lexicon, Match, Matcher, Owner, content_words, names_of, openings
from weft.model import Edge, EdgeSet, Node, View
from weft.ports import Snapshot, Store, rows_with_keys
from weft.scoring.bm25 import term_hash
from weft.text import analyze, is_code
from weft.text.terms import fold_text

MENTIONS_MAKER: Final = "link:mentions@1"
EDGE_TYPE: Final = "mentions"
_MAX_MENTIONED_NODES: Final = 200
"""A text that names more nodes is an index or a log; further edges would only dilute the graph."""

_TEXTS_PER_BATCH: Final = 500
"""Texts read, searched and written together: bounds memory and the size of one write."""
_FEW_TEXTS: Final = 1000
"""For fewer texts the names are narrowed down to those that can occur in them before an automaton is built."""
_SCAN_ALL_RATIO: Final = 5
"""If more than one in so many nodes changed, scanning every text is cheaper than finding those that are
affected."""
_MAX_NAMES_TO_LOOK_UP: Final = 500
"""So many names are looked up in the index one by one; for more, older texts are scanned with one automaton."""
_ALL_EDGES: Final = 1_000_000
"""More than any few nodes have: reading needs a limit."""

Containing = Callable[[Sequence[int]], Sequence[int]]
"""Term hashes to the ids of the nodes whose text holds all of them."""
Progress = Callable[[int], None]

_Text = tuple[str, str, str]
"""The tenant, key and whole text of a node that is searched for names."""
_Batch = Sequence[_Text]
_Linker = Callable[[_Batch], tuple[Edge, ...]]
Run = Callable[
    [Callable[..., _Linker], tuple[object, ...], Iterable[_Batch]], Iterator[tuple[_Batch, tuple[Edge, ...]]]
]
"""A way to work through batches: it makes the linker with its arguments and yields each batch with its edges."""


def run_here(
    make_linker: Callable[..., _Linker], arguments: tuple[object, ...], batches: Iterable[_Batch]
) -> Iterator[tuple[_Batch, tuple[Edge, ...]]]:
    """Work through the batches in this process, one after another."""
    link = make_linker(*arguments)
    return ((batch, link(batch)) for batch in batches)


def draw_mentions(
    store: Store,
    tenant: str,
    changed: Sequence[str],
    containing: Containing | None = None,
    progress: Progress | None = None,
    *,
    renamed: Mapping[str, Sequence[str]] | None = None,
    run: Run = run_here,
) -> Iterator[EdgeSet]:
    """Yield the `mentions` edges of changed nodes and of older texts that hold their names, in sets to write.

    They come one set at a time, so that a large store never holds all its edges in memory.

    `changed` are keys of the tenant whose texts are new. `renamed` are keys by tenant (this one or one it
    shares) whose names are new or different; without it the names of all changed nodes count as new.
    `containing` returns the ids of nodes whose text holds all of some term hashes; without it, or for many
    names, older texts are scanned. `progress` is called with the number of texts that were done. `run` may
    spread the work over processes.
    """
    scope = _find_scope(store, tenant, changed, {tenant: changed} if renamed is None else renamed, containing)
    if not (scope.everything or scope.ids or scope.names):
        return
    nodes, openings_found = _collect_openings(_read_prose(store, tenant, scope))
    names = _build_lexicon(store, tenant, openings_found).usable()
    for batch, edges in run(_make_linker, (names,), _batches(nodes)):
        yield EdgeSet(MENTIONS_MAKER, tenant, edges, tuple(key for _, key, _ in batch))
        if progress:
            progress(len(batch))


def find_affected_keys(
    store: Store, tenant: str, named: Mapping[str, Sequence[str]], containing: Containing | None = None
) -> tuple[str, ...]:
    """Return the keys of the texts whose mentions depend on these nodes: ask before removing, re-link after."""
    scope = _find_scope(store, tenant, (), named, containing)
    removed = frozenset(named.get(tenant, ()))
    return tuple(sorted(node.key for node in _read_prose(store, tenant, scope) if node.key not in removed))


class _Scope(Struct, frozen=True):
    """The texts to scan: all, or those with the ids and those that hold one of the names.

    With `candidates`, only these can hold a name.
    """

    everything: bool = False
    ids: frozenset[int] = frozenset()
    names: Matcher | None = None
    candidates: frozenset[int] | None = None

    def includes(self, node: Node) -> bool:
        """Return whether a text is to be scanned; code refers by its own rules."""
        if is_code(node.language):
            return False
        return (
            self.everything
            or node.id in self.ids
            or (self.names is not None and self.names.holds_any(_whole_text(node)))
        )


def _build_lexicon(store: Store, tenant: str, openings_found: frozenset[str] | None) -> Lexicon:
    """Collect the names of the tenant and of those it shares, where given only those with one of the openings."""
    lexicon = Lexicon(openings_found)
    for owner in (tenant, *sorted(store.shared(tenant))):
        for row in store.names(owner, openings_found):
            lexicon.add(row)
    return lexicon


def _collect_openings(nodes: Iterator[Node]) -> tuple[Iterable[Node], frozenset[str] | None]:
    """Return the nodes and, if they are few, the words that names in their texts can begin with.

    Most names of a large store begin with none of these words, and an automaton of the rest is built quickly.
    """
    first = list(islice(nodes, _FEW_TEXTS))
    if len(first) == _FEW_TEXTS:
        return chain(first, nodes), None
    return first, frozenset(word for node in first for word in openings(fold_text(_whole_text(node))[0]))


# --- which texts to scan ---------------------------------------------------------------------------------


def _find_scope(
    store: Store,
    tenant: str,
    changed: Sequence[str],
    renamed: Mapping[str, Sequence[str]],
    containing: Containing | None,
) -> _Scope:
    """Return the texts that these changes can affect, or all where they are too many to look for."""
    # A few changes are always looked up: counting the nodes of a store already costs something.
    changes = sum(map(len, renamed.values())) + len(changed)
    if changes > _FEW_TEXTS and changes * _SCAN_ALL_RATIO > store.status(View((tenant,))).nodes:
        return _Scope(everything=True)
    with store.snapshot(View((tenant, *store.shared(tenant)))) as snapshot:
        renamed_ids = _find_ids(snapshot, renamed)
        ids = {*_find_ids(snapshot, {tenant: changed}), *_find_mentioning(snapshot, renamed_ids)}
        # The names as they are stored now; texts that held an older name are found by their edges above.
        names = names_of(row.node for row in snapshot.nodes(renamed_ids).values())
    terms = [_sure_terms(written) for _, written in names]
    matcher = Matcher({name: () for name, _ in names}) if names else None
    # A name without a sure term cannot be looked up, so the older texts are scanned for all of them.
    if containing is None or len(names) > _MAX_NAMES_TO_LOOK_UP or not all(terms):
        return _Scope(ids=frozenset(ids), names=matcher)
    candidates: frozenset[int] = frozenset().union(*(containing(hashes) for hashes in terms))
    return _Scope(ids=frozenset(ids), names=matcher, candidates=candidates)


def _find_ids(snapshot: Snapshot, keys: Mapping[str, Sequence[str]]) -> list[int]:
    """Return the ids of nodes by tenant and key."""
    pairs = {(tenant, key) for tenant, listed in keys.items() for key in listed}
    rows = rows_with_keys(snapshot, (key for _, key in pairs))
    return [node_id for node_id, row in rows.items() if row.node.ref in pairs]


def _find_mentioning(snapshot: Snapshot, ids: Sequence[int]) -> Iterator[int]:
    """Yield the ids of nodes whose text mentioned these before, perhaps by a name they no longer have."""
    targets = frozenset(ids)
    for source, target, edge in snapshot.edges(ids, limit=_ALL_EDGES) if ids else ():
        if target in targets and edge.type == EDGE_TYPE:
            yield source


def _sure_terms(name: str) -> tuple[int, ...]:
    """Return hashes of terms that every text with the name has; none when it has no plain content word."""
    return tuple(
        sorted({term_hash(term) for word in content_words(name) for term in _keep_sure(analyze(word), word)})
    )


def _keep_sure(terms: Sequence[str], word: str) -> Sequence[str]:
    """Keep the terms of a word that stand in every text with it."""
    if len(terms) > 1:
        # Of budget.py only the parts: as a whole it may stand in a text with more around it.
        return terms[1:]
    # A single letter may have been C++.
    return terms if word.isalpha() and len(word) > 1 else ()


# --- reading and linking ---------------------------------------------------------------------------------


def _read_prose(store: Store, tenant: str, scope: _Scope) -> Iterator[Node]:
    """Yield the nodes whose prose is to be scanned, in the order of their ids."""
    if scope.everything or (scope.names is not None and scope.candidates is None):
        # A name to be searched for may stand in any text, so all are read once.
        yield from (row.node for row in store.iterate(tenant) if scope.includes(row.node))
        return
    ids = sorted(scope.ids.union(scope.candidates or ()))
    for start in range(0, len(ids), _TEXTS_PER_BATCH):
        with store.snapshot(View((tenant,))) as snapshot:
            rows = snapshot.nodes(ids[start : start + _TEXTS_PER_BATCH])
        yield from (rows[node_id].node for node_id in sorted(rows) if scope.includes(rows[node_id].node))


def _batches(nodes: Iterable[Node]) -> Iterator[list[_Text]]:
    batch: list[_Text] = []
    for node in nodes:
        batch.append((node.tenant, node.key, _whole_text(node)))
        if len(batch) == _TEXTS_PER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _whole_text(node: Node) -> str:
    """Return all that is scanned of a node; the text comes first, so that offsets into it stay true."""
    return "\n".join(part for part in (node.text, node.summary, node.title) if part)


def _make_linker(names: Mapping[str, Sequence[Owner]]) -> _Linker:
    """Return a function that finds the names in texts and draws the edges; it is made once in each process."""
    matcher = Matcher(names)
    return lambda batch: tuple([edge for text in batch for edge in _draw_edges(text, matcher)])


def _draw_edges(read: _Text, matcher: Matcher) -> Iterator[Edge]:
    """Yield one edge to each node that the text names, by its strongest match, in the order of the text."""
    here, source, text = read
    best: dict[tuple[str, str], tuple[float, Match]] = {}
    for match in matcher.find(text, (here, source)):
        for owner, certainty in match.owners:
            target = (owner.tenant, owner.key)
            weight = certainty / match.sharers
            # Strictly more, so that of equal matches the first one in the text is the evidence.
            if weight > best.get(target, (0.0, match))[0]:
                best[target] = (weight, match)
        if len(best) >= _MAX_MENTIONED_NODES:
            break
    for (tenant, key), (weight, match) in list(best.items())[:_MAX_MENTIONED_NODES]:
        elsewhere = tenant if tenant != here else None
        evidence = f"{match.surface} @{match.start}"
        yield Edge(source, key, EDGE_TYPE, round(weight, 6), 1.0, evidence, here, elsewhere)
