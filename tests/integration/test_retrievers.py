"""LlamaIndex and Haystack get the same nodes as LangChain, from a service and from a store."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rest_service import make_service, running
from weft.errors import InvalidInput
from weft.interfaces.integrations import langchain

# Haystack reports each pipeline that runs to its makers unless it is told not to before it is loaded.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
import haystack
from llama_index.core.base.base_retriever import BaseRetriever

from weft.interfaces.integrations import haystack as ours_for_haystack
from weft.interfaces.integrations import llamaindex

ASKED = "How do I process a refund?"
Found = list[tuple[str, str, dict[str, Any]]]


@pytest.fixture(scope="module")
def store(helpdesk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(helpdesk, tmp_path_factory.mktemp("retrievers") / ".weft"))


@pytest.fixture(scope="module")
def places(store: Path) -> Iterator[dict[str, dict[str, str]]]:
    with running(make_service(store)) as address:
        yield {"service": {"base_url": address}, "store": {"store": str(store)}}


def by_langchain(**how: Any) -> Found:
    found = langchain.WeftRetriever(**how).invoke(ASKED)
    return [(str(each.id), each.page_content, each.metadata) for each in found]


def by_llamaindex(**how: Any) -> Found:
    found = llamaindex.WeftRetriever(**how).retrieve(ASKED)
    assert all(each.score is not None for each in found)
    return [(each.node_id, each.text, each.metadata) for each in found]


def by_haystack(**how: Any) -> Found:
    """Return the results of a pipeline that was written down and read back."""
    pipeline = haystack.Pipeline()
    pipeline.add_component("weft", ours_for_haystack.WeftRetriever(**how))
    again = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=["weft.interfaces.integrations.haystack"])
    found = again.run({"weft": {"query": ASKED}})["weft"]["documents"]
    return [(each.id, each.content, each.meta) for each in found]


@pytest.mark.parametrize("place", ["service", "store"])
@pytest.mark.parametrize("framework", [by_llamaindex, by_haystack])
def test_every_framework_gets_what_langchain_gets(
    places: dict[str, dict[str, str]], place: str, framework: Callable[..., Found]
) -> None:
    how = {"tenant_ids": ["support", "shared"], "k": 6, "include_context": True, "options": {"max_tokens": 1500}}
    found = framework(**places[place], **how)
    assert found == by_langchain(**places[place], **how)
    assert found[0][2]["type"] == "faq"
    assert any("distance" in about for _, _, about in found)


@pytest.mark.parametrize("framework", [by_langchain, by_llamaindex, by_haystack])
def test_entry_points_alone_come_without_include_context_and_at_most_k(
    store: Path, framework: Callable[..., Found]
) -> None:
    found = framework(store=str(store), tenant_ids=["support"], k=3)
    assert len(found) == 3
    assert not any("distance" in about for _, _, about in found)


@pytest.mark.parametrize("framework", [by_llamaindex, by_haystack])
def test_neither_or_both_places_are_refused(framework: Callable[..., Found]) -> None:
    with pytest.raises(InvalidInput, match="either"):
        framework(tenant_ids=["support"])
    with pytest.raises(InvalidInput, match="either"):
        framework(base_url="http://localhost:8000", store=".weft")


def test_the_llamaindex_retriever_is_one_of_theirs(store: Path) -> None:
    assert isinstance(llamaindex.WeftRetriever(store=str(store)), BaseRetriever)


def test_a_pipeline_that_is_written_down_does_not_hold_the_key() -> None:
    result = ours_for_haystack.WeftRetriever("http://localhost:8000", api_key="weft_1_secret").to_dict()
    assert "secret" not in repr(result)
