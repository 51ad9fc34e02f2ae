"""Nodes made ready to be stored: split, analysed, embedded, counted and sketched, all in batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import orjson
import xxhash

from weft.indexing.worker import Beside, Trade
from weft.model import Json, Node, Passage
from weft.ports import Embedder, PreparedNode, PreparedPassage, TokenCounter
from weft.scoring.bm25 import pack, term_hashes
from weft.scoring.sketch import sketch
from weft.scoring.vectors import quantise
from weft.text import analyze, split_passages

PREPARATION: Final = "1"
"""Changes whenever the same node would be prepared differently, so that every node is prepared again."""

_FIELD_LIMIT: Final = 4_000


def content_hash(node: Node, embed: Embedder | None) -> str:
    """A digest that differs whenever storing the node again would change anything."""
    told = replace(node, id=0) if node.id else node
    maker = embed.name if embed is not None else ""
    packed = orjson.dumps([told, PREPARATION, maker], default=str, option=orjson.OPT_SORT_KEYS)
    return xxhash.xxh3_128_hexdigest(packed)


def prepare(
    nodes: Sequence[tuple[Node, str]], embed: Embedder | None, count: TokenCounter
) -> tuple[PreparedNode, ...]:
    """The prepared form of each (node, unit)."""
    # Counting leaves Python to others, so it goes on beside the rest on a second core.
    with ThreadPoolExecutor(1) as beside:
        counting = beside.submit(count.count_many, [node.text for node, _ in nodes])
        split = [_passages(node) for node, _ in nodes]
        vectors = iter(_vectors(nodes, split, embed))
        packed = [_packed(node, passages, vectors) for (node, _), passages in zip(nodes, split, strict=True)]
        tokens = counting.result()
    return tuple(
        PreparedNode(node, content_hash(node, embed), passages, counted, sketched, unit)
        for (node, unit), (passages, sketched), counted in zip(nodes, packed, tokens, strict=True)
    )


def _passages(node: Node) -> tuple[Passage, ...]:
    passages = tuple(split_passages(node.text, markdown=node.language == "markdown"))
    return passages or (Passage(0, 0, 0, 1, 1),)


def _vectors(
    nodes: Sequence[tuple[Node, str]], split: Sequence[tuple[Passage, ...]], embed: Embedder | None
) -> list[bytes]:
    total = sum(len(passages) for passages in split)
    if embed is None or not total:
        return [b""] * total
    texts = [
        embedded_text(node, each) for (node, _), passages in zip(nodes, split, strict=True) for each in passages
    ]
    return quantise(embed.embed(texts))


def embedded_text(node: Node, passage: Passage) -> str:
    """What the embedder reads of a passage: where it stands, then what it says."""
    said = node.text[passage.start : passage.end] or " ".join([node.summary, *_field_texts(node)])
    return "\n".join([part for part in (node.title, *passage.heading_path[-1:], said) if part])


def _packed(
    node: Node, passages: tuple[Passage, ...], vectors: Iterator[bytes]
) -> tuple[tuple[PreparedPassage, ...], bytes]:
    """The node's passages with their terms and vectors, and its sketch."""
    title = _hashed([node.title, *(alias.text for alias in node.aliases)])
    tags = [term for tag in node.tags for term in _hashed_tag(tag)]
    beside = [*_hashed([node.summary]), *tags, *_hashed(_field_texts(node))]
    words: list[int] = []
    packed = []
    for passage in passages:
        headings = _hashed(passage.heading_path)
        body = _hashed([node.text[passage.start : passage.end]])
        words += body
        # What stands beside the text is found through the first passage, once.
        extra = beside if passage.ordinal == 0 else []
        hashes, counts, length = pack([*title, *headings], [*body, *extra])
        packed.append(PreparedPassage(passage, hashes, counts, length, next(vectors)))
    return tuple(packed), sketch(words or beside or title)


def _hashed(texts: Iterable[str]) -> list[int]:
    """The term hashes of some texts in their order."""
    return [term for text in texts if text for term in term_hashes(analyze(text))]


@lru_cache(8192)
def _hashed_tag(tag: str) -> tuple[int, ...]:
    # Tags repeat from node to node.
    return tuple(_hashed([tag]))


def _field_texts(node: Node) -> list[str]:
    return list(_texts(node.fields.values()))


def _texts(values: Iterable[Json]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value[:_FIELD_LIMIT]
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        elif isinstance(value, dict):
            yield from _texts(value.values())


Placed = tuple[Node, str]
"""A node with its unit."""
Prepared = Callable[[], tuple[PreparedNode, ...]]
"""Asked for once, when the batch is to be written."""

_DERIVED: Final = attrgetter(*(field.name for field in fields(PreparedNode) if field.name != "node"))
"""What is derived from a node; the node itself need not travel back."""


class Preparing(Beside[Placed, list[Any]]):
    """Prepares batches of nodes, here or in another process."""

    def __init__(self, embed: Embedder | None, count: TokenCounter) -> None:
        super().__init__(Trade(_deriving, (embed, count)))

    def prepared(self, nodes: Sequence[Placed]) -> Prepared:
        """Give a batch; call what is returned to have it prepared."""
        derived = self.submit(nodes)
        return lambda: tuple(PreparedNode(node, *parts) for (node, _), parts in zip(nodes, derived(), strict=True))


def _deriving(embed: Embedder | None, count: TokenCounter) -> Callable[[Sequence[Placed]], list[Any]]:
    return lambda nodes: [_DERIVED(each) for each in prepare(nodes, embed, count)]
