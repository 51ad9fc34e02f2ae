"""Prepare nodes for the store, in batches: split, pack terms, embed, count tokens and sketch."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import numpy as np
import orjson
import xxhash
from msgspec import Struct
from msgspec.structs import asdict, replace

from weft.embed.static import CHARACTERS_READ, StaticEmbedder, unit_vectors
from weft.indexing.worker import ITEMS_BEFORE_START, WorkerJob, WorkerProcess
from weft.model import Node, Passage, to_plain
from weft.ports import Embedder, PreparedNode, PreparedPassage, TokenCounter
from weft.scoring.bm25 import pack, term_hashes
from weft.scoring.similarity import quantise, sketch
from weft.scoring.snippets import Snippet, pack_snippets
from weft.text import analyze, is_code, split_passages, split_snippets
from weft.text.nested import nested_texts

PREPARATION: Final = "7"
"""The version of this module: raise it when the same node would be prepared differently, so that all are again."""

_IMPORTS: Final = re.compile(
    r"^[ \t]*(?:(?:from[ \t]+\S+[ \t]+)?import[ \t]*(?:\([^)]*\)|[^\n]*)|use[ \t][^\n]*;"
    r"|using[ \t][^\n]*;|#include[^\n]*|package[ \t][^\n]*|(?:const|var|let)[ \t][^\n]*\brequire\([^\n]*)\n?",
    re.MULTILINE,
)
"""The imports of a file of code, which say more about other files than about this one."""
_FILE_KINDS: Final = frozenset({"file", "module"})
"""Kinds of nodes that hold what stands outside of definitions: mostly imports and constants."""
_HEAD_COMMENT: Final = re.compile(
    r"\s*(?:#![^\n]*\n)?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|/\*.*?\*/"
    r"|(?:[ \t]*//[^\n]*\n)+|(?:[ \t]*#(?!include)[^\n]*\n)+)",
    re.DOTALL,
)
_MIN_HEAD_WORDS: Final = 8
"""Words of a comment at the head of a file from which on it says what the file is about."""
_LICENCE: Final = re.compile(r"(?i)\b(?:licen[cs]ed?|copyright|spdx)\b")
_HEADING_SHARE: Final = 0.3
"""The weight of title and heading in a snippet's vector, beside 1 for its own words; with 0.15 to 0.5 pages
answered as many questions."""
_DESCRIPTION_SHARE: Final = 0.5
"""The weight of name and summary in the vector of a passage of code, beside 1 for the whole passage: a question
says what code is for, and most words of code say how it is done."""
_SUMMARY_SHARE: Final = 1.0
"""The same for a Markdown note whose author wrote a summary. Of 50 questions about a documentation, 34 found their
page first with it, and 31 without; with half of it 33, with three times as much 33. Chapters and people of a story
have none of it: they are asked for by what happens in them."""

_MAX_FIELD_CHARACTERS: Final = 4_000
"""Characters of one text field that are searched: enough for any description, and a field that holds a whole
document does not outweigh the text."""

_CACHED_TAGS: Final = 8_192
"""Tags whose term hashes are remembered; with more different tags, some are analysed again."""

NodeInUnit = tuple[Node, str]
"""A node with the name of its unit."""
PendingNodes = Callable[[], tuple[PreparedNode, ...]]
"""A batch being prepared: call it once, when the batch is to be written, to wait for the prepared nodes."""

_DERIVED_PARTS: Final = attrgetter(*(name for name in PreparedNode.__struct_fields__ if name != "node"))
"""Reads the parts of a prepared node that are derived; the node itself need not travel back from a worker."""


class NodePreparer(WorkerProcess[NodeInUnit, list[Any]]):
    """Prepares batches of nodes, in this process or in another one."""

    def __init__(
        self, embed: Embedder | None, count: TokenCounter, *, start_after: int = ITEMS_BEFORE_START
    ) -> None:
        super().__init__(WorkerJob(_make_preparer, (embed, count)), start_after=start_after)

    def submit_nodes(self, nodes: Sequence[NodeInUnit]) -> PendingNodes:
        """Submit a batch; call the returned function to have it prepared."""
        derived = self.submit(nodes)
        return lambda: tuple(PreparedNode(node, *parts) for (node, _), parts in zip(nodes, derived(), strict=True))


def _make_preparer(embed: Embedder | None, count: TokenCounter) -> Callable[[Sequence[NodeInUnit]], list[Any]]:
    return lambda nodes: [_DERIVED_PARTS(prepared) for prepared in prepare(nodes, embed, count)]


def content_hash(node: Node, embed: Embedder | None) -> str:
    """Return a digest that differs whenever storing the node again would change anything."""
    content = {**asdict(node), "id": 0}
    # The order of a node's fields means nothing; all else keeps its order.
    content["fields"] = orjson.Fragment(orjson.dumps(node.fields, default=to_plain, option=orjson.OPT_SORT_KEYS))
    embedder = embed.name if embed is not None else ""
    return xxhash.xxh3_128_hexdigest(orjson.dumps([content, PREPARATION, embedder], default=to_plain))


def prepare(nodes: Sequence[NodeInUnit], embed: Embedder | None, count: TokenCounter) -> tuple[PreparedNode, ...]:
    """Return the prepared form of each (node, unit)."""
    cut = [_cut(node) for node, _ in nodes]
    # The token counter releases the interpreter lock, so it runs on a second core while the rest is done here.
    with ThreadPoolExecutor(1) as executor:
        counting = executor.submit(count.count_many, [node.text for node, _ in nodes])
        counting_snippets = executor.submit(
            count.count_many, [text for passages in cut for passage in passages for text in passage.texts]
        )
        owned = [(node, each) for (node, _), passages in zip(nodes, cut, strict=True) for each in passages]
        vectors, snippet_vectors = map(iter, _embed(owned, embed))
        tokens, snippet_tokens = counting.result(), iter(counting_snippets.result())
    embedder = embed.name if embed is not None else ""
    packed = [
        _pack(node, passages, vectors, snippet_tokens, snippet_vectors, embedder)
        for (node, _), passages in zip(nodes, cut, strict=True)
    ]
    return tuple(
        PreparedNode(node, content_hash(node, embed), passages, counted, sketched, unit)
        for (node, unit), (passages, sketched), counted in zip(nodes, packed, tokens, strict=True)
    )


class _CutPassage(Struct, frozen=True):
    """A passage with the spans and texts of its snippets."""

    passage: Passage
    spans: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]


def _cut(node: Node) -> list[_CutPassage]:
    """Cut a node's text into passages and these into snippets.

    A node without text has an empty passage, by which its title is found.
    """
    passages = split_passages(node.text, markdown=node.language == "markdown") or [Passage(0, 0, 0, 1, 1)]
    found = []
    for passage in passages:
        spans = tuple(split_snippets(node.text, passage.start, passage.end))
        found.append(_CutPassage(passage, spans, tuple([node.text[start:end] for start, end in spans])))
    return found


def embed_passages(embed: Embedder | None, owned: Sequence[tuple[Node, Passage]]) -> list[bytes]:
    """Return the stored vectors of passages, each given with its node, in order; empty without an embedder."""
    if embed is None or not owned:
        return [b""] * len(owned)
    vectors = np.array(embed.embed([embedded_text(node, passage) for node, passage in owned]))
    # Models that are too slow for snippets would take twice as long.
    described = _descriptions([node for node, _ in owned]) if getattr(embed, "embeds_snippets", False) else {}
    if described:
        indices = list(described)
        shares = [_DESCRIPTION_SHARE if is_code(owned[index][0].language) else _SUMMARY_SHARE for index in indices]
        vectors[indices] += np.array(shares)[:, None] * embed.embed([described[index] for index in indices])
    return quantise(vectors)


def _descriptions(owners: Sequence[Node]) -> dict[int, str]:
    """Return name and summary of the code or note that a passage is of, by the index of the passage's owner."""
    return {
        # The name of a file is its path, which says little about what it is for.
        index: node.summary if node.kind == "file" else f"{node.title}\n{node.summary}"
        for index, node in enumerate(owners)
        if _is_described(node)
    }


def _is_described(node: Node) -> bool:
    """Return whether a summary that its author wrote says what a node is for: one of code or of a note."""
    return bool(node.summary) and (is_code(node.language) or (node.kind, node.language) == ("note", "markdown"))


def _embed(owned: Sequence[tuple[Node, _CutPassage]], embed: Embedder | None) -> tuple[list[bytes], list[bytes]]:
    """Return the vectors of the passages, each given with its node, and those of the snippets of all passages that
    have several, in order."""
    divided = [(node, each) for node, each in owned if each.spans[1:]]
    if not divided or not isinstance(embed, StaticEmbedder):
        headed = [(title_and_heading(node, each.passage), each.texts) for node, each in divided]
        vectors = embed_passages(embed, [(node, each.passage) for node, each in owned])
        return vectors, embed_snippets(embed, headed)
    sizes = [len(each.texts) for _, each in divided]
    headings = embed.sum_up([title_and_heading(node, each.passage) for node, each in divided])
    sums = embed.sum_up([text for _, each in divided for text in each.texts])
    owners = np.repeat(np.arange(len(divided)), sizes)
    snippets = quantise(unit_vectors(sums) + _HEADING_SHARE * unit_vectors(headings)[owners])
    # A passage of prose has the words of its snippets, title and heading: they are not read again for it.
    read_once = [_is_read_with_snippets(node, each) for node, each in divided]
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    totals = (headings + np.add.reduceat(sums, first, axis=0))[read_once]
    kept = {id(each) for (_, each), is_once in zip(divided, read_once, strict=True) if is_once}
    summed = iter(quantise(unit_vectors(totals)))
    read = iter(embed_passages(embed, [(node, each.passage) for node, each in owned if id(each) not in kept]))
    return [next(summed if id(each) in kept else read) for _, each in owned], snippets


def _is_read_with_snippets(node: Node, cut: _CutPassage) -> bool:
    """Return whether the words of a passage are exactly those of its snippets, none cut in two or added."""
    # The beginning of a longer text is all that is read of it; of code, not all is read.
    is_long = cut.passage.end - cut.passage.start + len(title_and_heading(node, cut.passage)) + 2 > CHARACTERS_READ
    if is_long or is_code(node.language) or _is_described(node):
        return False
    text, edges = node.text, (cut.passage.start, *chain.from_iterable(cut.spans), cut.passage.end)
    gaps = list(zip(edges[::2], edges[1::2], strict=True))
    return all(text[start:end].isspace() or start == end for start, end in gaps) and all(
        text[start - 1 : end + 1] != text[start - 1 : end + 1].strip() or start < end for start, end in gaps[1:-1]
    )


def embed_snippets(embed: Embedder | None, passages: Sequence[tuple[str, Sequence[str]]]) -> list[bytes]:
    """Return the vectors of all snippets of the passages, each given with its title and heading, in order.

    A snippet's vector is that of its words, and a little of its title's and heading's: alone it may say "it" of
    both. There are none with a model that is too slow for so many texts; then a snippet is as near as its passage.
    """
    texts = [text for _, snippets in passages for text in snippets]
    if not texts or embed is None or not getattr(embed, "embeds_snippets", False):
        return [b""] * len(texts)
    headings = embed.embed([heading for heading, _ in passages])
    owners = np.repeat(np.arange(len(passages)), [len(snippets) for _, snippets in passages])
    return quantise(embed.embed(texts) + _HEADING_SHARE * headings[owners])


def title_and_heading(node: Node, passage: Passage) -> str:
    """Return what the vector of a passage's snippets takes from above them."""
    return " ".join([node.title, *passage.heading_path[-1:]])


def embedded_text(node: Node, passage: Passage) -> str:
    """Return the text that the embedder reads of a passage: title, nearest heading, and the passage itself."""
    body = node.text[passage.start : passage.end] or " ".join([node.summary, *_field_texts(node)])
    if is_code(node.language):
        body = _describing_part(node, body)
    return "\n".join([part for part in (node.title, *passage.heading_path[-1:], body) if part])


def _describing_part(node: Node, body: str) -> str:
    """Return what a passage of code is about: the comment at the head of a file, else all but the imports."""
    head = _HEAD_COMMENT.match(body) if node.kind in _FILE_KINDS else None
    is_telling = head is not None and len(head[0].split()) >= _MIN_HEAD_WORDS and not _LICENCE.search(head[0])
    return head[0] if head is not None and is_telling else _IMPORTS.sub("", body)


def _pack(
    node: Node,
    passages: Sequence[_CutPassage],
    vectors: Iterator[bytes],
    snippet_tokens: Iterator[int],
    snippet_vectors: Iterator[bytes],
    embedder: str,
) -> tuple[tuple[PreparedPassage, ...], bytes]:
    """Return the node's passages with their terms, vectors and snippets, and the node's sketch."""
    title = _hash_terms([node.title, *(alias.text for alias in node.aliases)])
    tags = [term for tag in node.tags for term in _hash_tag(tag)]
    # With its language in every node of code, "in Python" counts for little in a store of Python.
    language = _hash_tag(node.language) if node.language is not None and is_code(node.language) else ()
    metadata = [*_hash_terms([node.summary]), *tags, *language, *_hash_terms(_field_texts(node))]
    words: list[int] = []
    packed = []
    for each in passages:
        # Title terms stand in every passage, so that any passage of a node is found by the node's name.
        names = [*title, *_hash_terms(each.passage.heading_path)]
        bodies = [_hash_terms([text]) for text in each.texts]
        body = [term for terms in bodies for term in terms]
        words += body
        # Summary, tags and fields are found through the first passage only, so that they count once.
        extra = metadata if each.passage.ordinal == 0 else []
        hashes, counts, length = pack(names, [*body, *extra])
        snippets = [Snippet(start, end, next(snippet_tokens)) for start, end in each.spans]
        if each.spans[1:]:
            snippets = [
                _measure_snippet(snippet, names, terms, next(snippet_vectors))
                for snippet, terms in zip(snippets, bodies, strict=True)
            ]
        stored = pack_snippets(snippets, embedder)
        packed.append(PreparedPassage(each.passage, hashes, counts, length, next(vectors), stored))
    return tuple(packed), sketch(words or metadata or title)


def _measure_snippet(snippet: Snippet, names: Sequence[int], terms: Sequence[int], vector: bytes) -> Snippet:
    """Return the snippet with its terms, those of its title and headings among them, and its vector."""
    hashes, counts, length = pack(names, terms)
    return replace(snippet, term_hashes=hashes, term_counts=counts, length=length, vector=vector)


def _hash_terms(texts: Iterable[str]) -> list[int]:
    """Return the term hashes of some texts in their order."""
    return [term for text in texts if text for term in term_hashes(analyze(text))]


@lru_cache(_CACHED_TAGS)
def _hash_tag(tag: str) -> tuple[int, ...]:
    # Tags repeat from node to node.
    return tuple(_hash_terms([tag]))


def _field_texts(node: Node) -> list[str]:
    """Return the texts in the fields; those whose names begin with an underscore are the source's own."""
    values = [value for name, value in node.fields.items() if not name.startswith("_")]
    return [text[:_MAX_FIELD_CHARACTERS] for text in nested_texts(values)]
