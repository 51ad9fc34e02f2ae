"""Search words in an embedded tantivy index whose words are the hashed terms of passages.

Each passage is one document whose words are its term hashes in hex, those of titles and headings counted twice.
One more document, the marker, holds the progress; it is replaced in the commit that adds the passages, so the
two cannot disagree. The engine only proposes: its own term weights count all tenants and deleted documents, so
each is corrected to the weight that the term has in the reader's view.
"""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct, field

from weft.ports import ChangedPassage
from weft.runtime.cache import LruCache
from weft.store.derived import (
    MAX_TIES,
    SCORE_TOLERANCE,
    Damaged,
    Progress,
    Scope,
    cut_at_tie,
    inverse_frequency,
    pack_progress,
    unpack_progress,
    weighted_counts,
)
from weft.store.embedded.files import VerifiedFiles, check_digests
from weft.store.records import facet_groups, known_position, to_microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]


_EXTRA_HITS: Final = 64
"""Hits asked for beyond the limit, so that ties with the last one mostly come with the first search."""
_PASSAGES_PER_MASKED_NODE: Final = 64
"""Passages that a masked node is taken to have where they crowd out others; bounds how far a search goes on."""
_HITS_GROWTH: Final = 4
"""Factor by which a search that found too little asks for more."""
_MAX_SINGLE_WORDS: Final = 16
"""Words of a condition that are searched one by one; more become a set."""
_CACHED_QUERIES: Final = 4
"""Queries of the engine that are kept: one question is asked of several kinds, one after the other."""
_SMALL_HEAP_BYTES: Final = 20_000_000
"""Memory of a writer that adds a few passages; the engine refuses less than 15 MB."""
_LARGE_HEAP_BYTES: Final = 48_000_000
"""Memory of a writer that indexes in bulk. A larger heap makes fewer segments, which then need less merging."""


# --- searching -------------------------------------------------------------------------------------------


class LexicalGeneration(Struct, frozen=True):
    """One commit of the index, open for searching; it stays as it is while newer commits come."""

    progress: Progress
    index: Any
    searcher: Any
    query_cache: LruCache[tuple[tuple[int, float], ...], Any] = field(
        default_factory=lambda: LruCache(_CACHED_QUERIES)
    )
    """Queries by the weights of their terms, without the conditions of a scope."""

    def search(self, weights: Mapping[int, float], scope: Scope, limit: int) -> "tuple[Ids, Scores]":
        """Return the best passages with any of the terms, and those that tie with the last, by score and id."""
        query = self._query(weights, scope)
        wanted_hits = limit + _EXTRA_HITS
        most = limit + MAX_TIES + len(scope.masked) * _PASSAGES_PER_MASKED_NODE
        while True:
            with engine_damage():
                ids, scores, is_exhausted = self._find_hits(query, wanted_hits, scope.masked)
            # A last hit that is worse than the limit's shows that all ties are among the hits.
            has_all_ties = len(ids) > limit and scores[-1] < scores[limit - 1] * (1 - SCORE_TOLERANCE)
            if is_exhausted or has_all_ties or wanted_hits > most:
                return cut_at_tie(ids, scores, limit)
            wanted_hits *= _HITS_GROWTH

    def _find_hits(self, query: Any, wanted_hits: int, masked: "Ids") -> "tuple[Ids, Scores, bool]":
        hits = self.searcher.search(query, wanted_hits, count=False).hits
        addresses = [address for _, address in hits]
        scores = np.array([score for score, _ in hits], dtype=np.float64)
        ids = np.array(self.searcher.fast_field_values("passage", addresses), dtype=np.int64)
        if len(masked) and len(ids):
            nodes = np.array(self.searcher.fast_field_values("node", addresses), dtype=np.int64)
            # Left out here and not by the query, which a long list of nodes would slow down.
            kept = ~np.isin(nodes, masked)
            ids, scores = ids[kept], scores[kept]
        return ids, scores, len(hits) < wanted_hits

    def _query(self, weights: Mapping[int, float], scope: Scope) -> Any:
        tantivy = engine()
        query = self.query_cache.get_or_make(tuple(weights.items()), lambda: self._any_term(weights))
        conditions = _conditions(self.index.schema, scope, self.progress.names)
        if not conditions:
            return query
        # Conditions decide which documents are found, but must not add to their scores.
        zero = [tantivy.Query.const_score_query(condition, 0.0) for condition in conditions]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in (query, *zero)])

    def _any_term(self, weights: Mapping[int, float]) -> Any:
        should = engine().Occur.Should
        return engine().Query.boolean_query([(should, self._term_query(*item)) for item in weights.items()])

    def _term_query(self, term: int, weight: float) -> Any:
        query, word = engine().Query, f"{term:08x}"
        frequency = self.searcher.doc_freq("terms", word)
        # The engine multiplies by its own weight of the term; the boost turns that into the weight of the view.
        own_weight = inverse_frequency(self.searcher.num_docs, frequency)
        return query.boost_query(query.term_query(self.index.schema, "terms", word, "freq"), weight / own_weight)


def _conditions(schema: Any, scope: Scope, tenants: Sequence[str]) -> list[Any]:
    """Return the queries that a document must match to be seen through the view and the filter."""
    query, view, filter = engine().Query, scope.view, scope.filter
    conditions = [_any_of(schema, "facet", names) for names in facet_groups(filter)]
    if scope.nodes is not None:
        conditions.append(query.term_set_query(schema, "node", scope.nodes.tolist()))
    # Where the view sees every tenant in the files, the condition would only cost time.
    if not set(tenants) <= set(view.tenants):
        conditions.append(_any_of(schema, "tenant", view.tenants))
    # A range query also leaves out documents that lack the value, as filters demand.
    bounds = (
        ("position", None, view.as_of),
        ("sequence", filter.sequence_from, filter.sequence_to),
        ("time", to_microseconds(filter.since), to_microseconds(filter.until)),
    )
    integer = engine().FieldType.Integer
    for name, low, high in bounds:
        if low is not None or high is not None:
            conditions.append(query.range_query(schema, name, integer, lower_bound=low, upper_bound=high))
    return conditions


def _any_of(schema: Any, field: str, words: Sequence[str]) -> Any:
    """Return the query that a field holds one of some words."""
    query, should = engine().Query, engine().Occur.Should
    if len(words) > _MAX_SINGLE_WORDS:
        return query.term_set_query(schema, field, list(words))
    # A set marks every document that passes; with single words the engine skips what other conditions forbid.
    terms = [query.term_query(schema, field, word, "basic") for word in words]
    return terms[0] if len(terms) == 1 else query.boolean_query([(should, term) for term in terms])


# --- opening -------------------------------------------------------------------------------------------


@cache
def engine() -> Any:
    """Return the tantivy module, loaded when first needed."""
    # Small stores are searched without the engine, and start sooner when it is not loaded.
    return importlib.import_module("tantivy")


@contextmanager
def engine_damage() -> Iterator[None]:
    """Turn every failure of the engine inside the block into Damaged."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Damaged(str(error)) from error
    except BaseException as error:
        # A panic of the engine is a BaseException of a type that cannot be imported.
        if type(error).__name__ == "PanicException":
            raise Damaged(str(error)) from error
        raise


def digests_path(folder: Path) -> Path:
    """Return the path of the file beside the folder that holds the digests of its files."""
    return folder.with_suffix(".json")


def open_generation(folder: Path, verified: VerifiedFiles | None = None) -> LexicalGeneration:
    """Open the newest commit in the folder; raise Damaged when there is none that can be read."""
    with engine_damage(), _readable_folder(folder) as readable:
        check_digests(folder, digests_path(folder), set() if verified is None else verified)
        index = _register_tokenizer(engine().Index.open(str(readable)))
        # A generation must stay at its commit, so the reader may not reload by itself.
        index.config_reader("manual")
        index.reload()
        searcher = index.searcher()
        marker = searcher.search(engine().Query.term_query(index.schema, "marker", 1, "basic"), 1, count=False)
        # An index without a marker was never committed and counts as damaged.
        stored = searcher.doc(marker.hits[0][1]).get_first("progress") if marker.hits else b""
    progress = unpack_progress(bytes(stored))
    if progress is None:
        raise Damaged("no progress of this format is recorded")
    return LexicalGeneration(progress, index, searcher)


@contextmanager
def _readable_folder(folder: Path) -> Iterator[Path]:
    """Give the block the folder, or where it takes no writes a folder of links to its files.

    The engine makes a lock file even where it only reads.
    """
    if os.access(folder, os.W_OK):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="weft-", ignore_cleanup_errors=True) as links:
        for file in sorted(folder.iterdir()):
            if file.suffix != ".lock":
                (Path(links) / file.name).symlink_to(file.resolve())
        yield Path(links)


def _register_tokenizer(index: Any) -> Any:
    """Register the tokenizer that splits our hashed words at blanks, and return the index."""
    words = engine().Tokenizer.whitespace()
    index.register_tokenizer("whitespace", engine().TextAnalyzerBuilder(words).build())
    return index


# --- writing ---------------------------------------------------------------------------------------------


class LexicalWriter:
    """The writer of the index in a folder; one at a time, under the lock of the folder."""

    def __init__(self, folder: Path, progress: Progress, bulk: bool) -> None:
        self._is_new = progress.sequence == 0
        if self._is_new:
            # Files of another store or format may lie in the folder.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
        self._changed_nodes: list[int] = []
        self.progress = progress
        with engine_damage():
            tantivy = engine()
            index = tantivy.Index(_schema(), path=str(folder)) if self._is_new else tantivy.Index.open(str(folder))
            heap_bytes = _LARGE_HEAP_BYTES if bulk else _SMALL_HEAP_BYTES
            # One thread: several would make a segment each in every commit.
            self._writer = _register_tokenizer(index).writer(heap_bytes, 1)

    def add(self, changed_nodes: Sequence[int], passages: Sequence[ChangedPassage]) -> None:
        """Replace the passages of the changed nodes."""
        with engine_damage():
            # In a new index there is nothing to delete, and every delete costs a look-up.
            for node in () if self._is_new else changed_nodes:
                self._writer.delete_documents_by_term("node", node)
            for passage in passages:
                self._writer.add_document(_document(passage))
        self._changed_nodes.extend(changed_nodes)
        self.progress = self.progress.with_names([passage.tenant for passage in passages])

    def commit(self, sequence: int) -> None:
        """Make what was added visible, together with the sequence that it reaches."""
        self.progress = self.progress.advanced(sequence, sorted(set(self._changed_nodes)))
        marker = engine().Document()
        marker.add_integer("marker", 1)
        marker.add_bytes("progress", pack_progress(self.progress))
        with engine_damage():
            # In the same commit as the passages, so that the two cannot disagree.
            self._writer.delete_documents_by_term("marker", 1)
            self._writer.add_document(marker)
            self._writer.commit()
        self._changed_nodes.clear()

    def close(self) -> None:
        """Wait until the engine has merged its segments; without this small commits would pile up."""
        with engine_damage():
            self._writer.wait_merging_threads()


def _document(passage: ChangedPassage) -> Any:
    document = engine().Document()
    document.add_text("terms", hashed_words(passage))
    document.add_text("tenant", passage.tenant)
    for facet in passage.facets:
        document.add_text("facet", facet)
    document.add_integer("passage", passage.id)
    document.add_integer("node", passage.node_id)
    numbers = (
        ("position", known_position(passage)),
        ("sequence", passage.sequence),
        ("time", to_microseconds(passage.time)),
    )
    for name, number in numbers:
        if number is not None:
            document.add_integer(name, number)
    return document


def hashed_words(passage: ChangedPassage) -> str:
    """Return the hashed terms in hex with a space between, each as often as it counts."""
    counts = weighted_counts(passage.term_counts)
    # Big-endian bytes read as hex digits in the usual order.
    terms = np.repeat(np.frombuffer(passage.term_hashes, dtype="<u4").astype(">u4"), counts)
    return terms.tobytes().hex(" ", 4)


@cache
def _schema() -> Any:
    # Integers are signed: deleting by the term of an unsigned field does nothing in this engine.
    builder = engine().SchemaBuilder()
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("tenant", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("passage", fast=True)
    builder.add_integer_field("node", indexed=True, fast=True)
    builder.add_integer_field("position", fast=True)
    builder.add_integer_field("sequence", fast=True)
    builder.add_integer_field("time", fast=True)
    builder.add_integer_field("marker", indexed=True)
    builder.add_bytes_field("progress", stored=True)
    return builder.build()
