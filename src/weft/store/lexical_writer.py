"""Writing the embedded lexical index: one document a passage, and the progress in the same commit."""

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.ports import TailPassage
from weft.store.lexical import engine, reported, weighted_counts, with_words
from weft.store.progress import Progress, packed
from weft.store.scope import microseconds, position_of

_SMALL_HEAP: Final = 20_000_000
_LARGE_HEAP: Final = 128_000_000


class LexicalWriter:
    """Adds passages to the index in a folder; one at a time, under the lock of the folder."""

    def __init__(self, folder: Path, progress: Progress, bulk: bool) -> None:
        self._fresh = progress.sequence == 0
        if self._fresh:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
        self._pending: list[int] = []
        self.progress = progress
        with reported():
            tantivy = engine()
            index = tantivy.Index(_schema(), path=str(folder)) if self._fresh else tantivy.Index.open(str(folder))
            self._writer = with_words(index).writer(_LARGE_HEAP if bulk else _SMALL_HEAP, 1)

    def add(self, changed_nodes: Sequence[int], passages: Sequence[TailPassage]) -> None:
        """Replace the passages of the changed nodes."""
        with reported():
            for node in () if self._fresh else changed_nodes:
                self._writer.delete_documents_by_term("node", node)
            for passage in passages:
                self._writer.add_document(_document(passage))
        self._pending.extend(changed_nodes)
        self.progress = self.progress.naming([passage.tenant for passage in passages])

    def commit(self, sequence: int) -> None:
        """Make what was added visible, together with the sequence that it reaches."""
        self.progress = self.progress.advanced(sequence, sorted(set(self._pending)))
        marker = engine().Document()
        marker.add_integer("marker", 1)
        marker.add_bytes("progress", packed(self.progress))
        with reported():
            self._writer.delete_documents_by_term("marker", 1)
            self._writer.add_document(marker)
            self._writer.commit()
        self._pending.clear()

    def close(self) -> None:
        """Let the engine finish tidying up; without this small commits would pile up."""
        with reported():
            self._writer.wait_merging_threads()


def _document(passage: TailPassage) -> Any:
    document = engine().Document()
    document.add_text("terms", words_of(passage))
    document.add_text("tenant", passage.tenant)
    for facet in passage.facets:
        document.add_text("facet", facet)
    document.add_integer("passage", passage.id)
    document.add_integer("node", passage.node_id)
    numbers = (
        ("position", position_of(passage)),
        ("sequence", passage.sequence),
        ("time", microseconds(passage.time)),
    )
    for name, number in numbers:
        if number is not None:
            document.add_integer(name, number)
    return document


def words_of(passage: TailPassage) -> str:
    """The hashed terms in hex with a space between, each as often as it counts."""
    counts = weighted_counts(passage.term_counts)
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
