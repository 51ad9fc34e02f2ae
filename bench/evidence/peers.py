"""The systems that Weft is measured beside, each set up as its own documentation does, with our embedder.

Each function takes all documents and an embedding function and gives a search: a question and a number to ids,
best first. Heavy imports stay inside, so that a system which is not installed costs only its own row.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Texts = Sequence[tuple[str, str]]
Embed = Callable[[Sequence[str]], np.ndarray]
Search = Callable[[str, int], list[str]]

_FUSED = 60


def grep(documents: Texts, embed: Embed) -> Search:
    """Search by counting terms: by how many different words of the question a document holds, then how often."""
    words = re.compile(r"\w+")
    holding: dict[str, list[tuple[int, int]]] = {}
    for place, (_, text) in enumerate(documents):
        for word, often in Counter(words.findall(text.lower())).items():
            holding.setdefault(word, []).append((place, often))

    def search(question: str, limit: int) -> list[str]:
        different: Counter[int] = Counter()
        often: Counter[int] = Counter()
        for word in set(words.findall(question.lower())):
            for place, number in holding.get(word, ()):
                different[place] += 1
                often[place] += number
        best = sorted(different, key=lambda place: (-different[place], -often[place], place))
        return [documents[place][0] for place in best[:limit]]

    return search


def bm25s(documents: Texts, embed: Embed) -> Search:
    """Search with bm25s, its Lucene scoring, an English stemmer and stop words."""
    import bm25s as library
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: Sequence[str]) -> Any:
        return library.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)

    index = library.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens([text for _, text in documents]), show_progress=False)

    def search(question: str, limit: int) -> list[str]:
        depth = min(limit, len(documents))
        found, scores = index.retrieve(tokens([question]), k=depth, show_progress=False)
        return [documents[at][0] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def langchain(documents: Texts, embed: Embed) -> Search:
    """Search with LangChain's EnsembleRetriever over BM25Retriever and a FAISS store, by reciprocal ranks."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    class Ours(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embed([text])[0].tolist()

    held = [Document(page_content=text, metadata={"id": id}) for id, text in documents]
    words = BM25Retriever.from_documents(held)
    store = FAISS.from_documents(held, Ours())

    def search(question: str, limit: int) -> list[str]:
        words.k = limit
        both = EnsembleRetriever(
            retrievers=[words, store.as_retriever(search_kwargs={"k": limit})],
            weights=[0.5, 0.5],
            c=_FUSED,
            id_key="id",
        )
        return [each.metadata["id"] for each in both.invoke(question)][:limit]

    return search


def llama_index(documents: Texts, embed: Embed) -> Search:
    """Search with LlamaIndex's QueryFusionRetriever over its BM25Retriever and vectors, by reciprocal ranks."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    class Ours(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return embed([text])[0].tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embed(texts).tolist()

    # Its fusion tells nodes apart by text and metadata; without the id, equal texts add up.
    unread = {"excluded_embed_metadata_keys": ["id"], "excluded_llm_metadata_keys": ["id"]}
    nodes = [TextNode(id_=id, text=text, metadata={"id": id}, **unread) for id, text in documents]
    index = VectorStoreIndex(nodes, embed_model=Ours(embed_batch_size=512))
    depth = min(200, len(nodes))
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=depth)

    def search(question: str, limit: int) -> list[str]:
        both = QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=min(limit, depth)), words],
            llm=MockLLM(),
            num_queries=1,
            mode="reciprocal_rerank",
            similarity_top_k=limit,
            use_async=False,
        )
        return [each.node.node_id for each in both.retrieve(question)]

    return search


def _txtai(documents: Texts, embed: Embed, **settings: Any) -> Any:
    from txtai import Embeddings

    index = Embeddings(method="external", transform=lambda texts: embed(list(texts)), hybrid=True, **settings)
    index.index([(id, text, None) for id, text in documents])
    return index


def txtai(documents: Texts, embed: Embed) -> Search:
    """Search with txtai's hybrid search, which adds normalised scores."""
    index = _txtai(documents, embed)
    return lambda question, limit: [id for id, _ in index.search(question, limit)]


def txtai_graph(documents: Texts, embed: Embed) -> Search:
    """Search with txtai's hybrid search, each of the first results followed by its neighbours in its graph."""
    index = _txtai(documents, embed, graph={"approximate": True, "limit": 15, "minscore": 0.1})
    names = {place: id for place, (id, _) in enumerate(documents)}
    places = {id: place for place, id in names.items()}

    def search(question: str, limit: int) -> list[str]:
        scores = dict(index.search(question, limit))
        for id in list(scores)[:10]:
            near = index.graph.edges(places[id]) or {}
            for place, edge in near.items():
                offered = scores[id] * float(edge.get("weight", 0.0))
                scores[names[place]] = max(scores.get(names[place], 0.0), offered)
        return sorted(scores, key=lambda id: (-scores[id], id))[:limit]

    return search


def lancedb(documents: Texts, embed: Embed) -> Search:
    """Search with LanceDB's hybrid query: its full-text index and its vectors, by reciprocal ranks."""
    import lancedb as library
    from lancedb.rerankers import RRFReranker

    vectors = embed([text for _, text in documents])
    rows = [
        {"id": id, "text": text, "vector": vector.tolist()}
        for (id, text), vector in zip(documents, vectors, strict=True)
    ]
    folder = tempfile.mkdtemp(prefix="evidence-lancedb-")
    table = library.connect(str(Path(folder))).create_table("documents", rows)
    table.create_fts_index("text")
    reranker = RRFReranker(K=_FUSED)

    def search(question: str, limit: int) -> list[str]:
        asked = " ".join(re.findall(r"\w+", question))
        query = table.search(query_type="hybrid").vector(embed([question])[0]).text(asked)
        found = query.rerank(reranker).limit(limit).select(["id"]).to_list()
        return [row["id"] for row in found]

    return search


PEERS: dict[str, tuple[Callable[[Texts, Embed], Search], str]] = {
    "grep": (grep, ""),
    "bm25s": (bm25s, "bm25s"),
    "LangChain ensemble": (langchain, "langchain-classic"),
    "LlamaIndex hybrid": (llama_index, "llama-index-core"),
    "txtai hybrid": (txtai, "txtai"),
    "txtai hybrid + graph": (txtai_graph, "txtai"),
    "LanceDB hybrid": (lancedb, "lancedb"),
}
