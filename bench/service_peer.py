"""The same questions to a LangChain pipeline (BM25 and a vector store, fused) and to `Weft.knowledge`, in one run.

Needs `langchain-classic`, `langchain-community`, `rank-bm25` and `faiss-cpu` beside Weft, and the store that
`python -m bench.service` made. The pipeline gets one tenant's nodes and Weft's own embedder, and only searches;
Weft also walks, collects entities and keeps the token budget.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.api import Weft
from weft.assemblers.knowledge.knowledge_context import KnowledgeRequest
from weft.embed import open_embedder

HERE = Path(__file__).parent


def main() -> None:
    """Measure both and print the ratio."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", type=Path, default=HERE / "out" / "service" / ".weft")
    asked.add_argument("--questions", type=Path, default=HERE / "worlds" / "100000" / "questions.json")
    asked.add_argument("--tenant", default="t0")
    given = asked.parse_args()
    questions = json.loads(given.questions.read_text(encoding="utf-8"))[:200]
    with Weft.open(given.store, create=False) as weft:
        nodes = [row.node for row in weft.store.iterate(given.tenant)]
        pipeline = langchain([f"{node.title}\n{node.text}" for node in nodes])

        def ours(question: str) -> object:
            return weft.knowledge(KnowledgeRequest(question, max_tokens=4000), tenants=(given.tenant,))

        mine, theirs = median(ours, questions), median(pipeline.invoke, questions)
    print(f"{len(nodes):,} nodes: weft p50 {mine:.1f} ms, LangChain {theirs:.1f} ms, ratio {theirs / mine:.2f}")


def langchain(texts: list[str]) -> Any:
    """Return a search by BM25 and FAISS, fused by LangChain's own ensemble."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

    model = open_embedder("static")
    if model is None:
        raise SystemExit("the static embedder is needed")

    class Own(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return model.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return model.embed([text])[0].tolist()

    words = BM25Retriever.from_texts(texts, k=10)
    near = FAISS.from_texts(texts, Own()).as_retriever(search_kwargs={"k": 10})
    return EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5])


def median(ask: Callable[[str], object], questions: list[str]) -> float:
    """Return milliseconds that a question takes, after some to warm up."""
    for question in questions[-20:]:
        ask(question)
    taken = []
    for question in questions:
        started = time.perf_counter()
        ask(question)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
