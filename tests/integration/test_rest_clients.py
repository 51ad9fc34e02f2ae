"""Programs that ask the service: our client, LangChain's retriever, and the contract's own examples."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from rest_service import EXAMPLES, make_key, make_service, running
from weft import Weft
from weft.errors import InvalidInput
from weft.interfaces.client import AsyncWeftClient, ServiceError, WeftClient
from weft.interfaces.integrations.langchain import WeftRetriever


@pytest.fixture(scope="module")
def store(helpdesk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(helpdesk, tmp_path_factory.mktemp("clients") / ".weft"))


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with running(make_service(store)) as found:
        yield found


def test_the_client_gets_typed_answers_and_writes(address: str) -> None:
    with WeftClient(address) as client:
        answer = client.context("How do I process a refund?", ["support", "shared"], max_tokens=2000)
        assert answer.entry_points[0].title == "How do I process a refund?"
        assert answer.context[0].path[-1] == answer.context[0].id
        assert (answer.stats.total_tokens or 0) <= 2000
        node = {"tenant_id": "support", "key": "zebra", "node_type": "faq", "title": "Zebra stable"}
        (number,) = client.put_nodes([node])["ids"]
        assert client.search("zebra", ["support"])[0]["id"] == number
        other = answer.entry_points[0].id
        assert client.put_edges([{"source_id": number, "target_id": other}])[0]["edge_type"] == "related"
        client.delete_node(number)
        with pytest.raises(ServiceError, match="404"):
            client.node(number)
        assert client.context("refund", ["support"], format="markdown").text


def test_the_asynchronous_client_says_the_same(address: str) -> None:
    async def ask() -> tuple[Any, Any]:
        async with AsyncWeftClient(address) as client:
            answer = await client.context("refund", ["support"])
            with pytest.raises(ServiceError) as refused:
                await client.context("refund", ["support"], max_depth=99)
            return answer, refused.value

    answer, refused = asyncio.run(ask())
    with WeftClient(address) as client:
        assert answer == client.context("refund", ["support"])
    assert refused.status == 422
    assert refused.errors[0]["field"] == "max_depth"


def test_busy_answers_are_tried_again_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("weft.interfaces.client.time.sleep", waited.append)
    statuses = iter([503, 429, 200, 422])

    def reply(request: httpx.Request) -> httpx.Response:
        status = next(statuses)
        return httpx.Response(status, json={"detail": "told"}, headers={"retry-after": "2"})

    client = WeftClient("http://service", transport=httpx.MockTransport(reply))
    assert client.call("GET", "/healthz") == {"detail": "told"}
    assert len(waited) == 2
    assert all(2.0 <= each <= 10.0 for each in waited)
    with pytest.raises(ServiceError, match="422: told"):
        client.call("GET", "/healthz")
    assert len(waited) == 2


@pytest.mark.parametrize(
    ("failure", "status"), [(httpx.ReadTimeout("slow"), 504), (httpx.RemoteProtocolError("closed"), 502)]
)
def test_a_call_that_is_not_answered_is_told_and_not_made_again(failure: Exception, status: int) -> None:
    calls = []

    def lost(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        raise failure

    with WeftClient(transport=httpx.MockTransport(lost)) as client, pytest.raises(ServiceError) as caught:
        client.put_nodes([])
    assert (caught.value.status, len(calls)) == (status, 1)

    async def asynchronous() -> None:
        async with AsyncWeftClient(transport=httpx.MockTransport(lost)) as client:
            await client.context("refund", ["support"])

    with pytest.raises(ServiceError, match=str(status)):
        asyncio.run(asynchronous())


def test_an_answer_of_something_in_between_is_told_as_it_is() -> None:
    between = httpx.MockTransport(lambda _: httpx.Response(502, json=["bad gateway"]))
    with WeftClient(transport=between) as client, pytest.raises(ServiceError, match="bad gateway"):
        client.context("refund", ["support"])


def test_a_service_that_is_not_there_is_told_so() -> None:
    with pytest.raises(ServiceError, match="weft serve"):
        WeftClient("http://127.0.0.1:9", retries=0).context("x", ["support"])


def test_the_client_presents_its_key(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(EXAMPLES / "helpdesk")
    key = make_key(tmp_path / ".weft", "support")["Authorization"].split()[1]
    with running(make_service(tmp_path / ".weft")) as address:
        assert WeftClient(address, api_key=key).context("refund", ["support"]).entry_points
        with pytest.raises(ServiceError, match="401"):
            WeftClient(address, retries=0).context("refund", ["support"])


# --- the contract's own examples ---


def test_the_documents_client_example_runs_as_written(address: str) -> None:
    async def get_context_for_agent(query: str, tenant_ids: list[str]) -> Any:
        async with httpx.AsyncClient() as client:
            response = await client.post(
                f"{address}/api/context",
                json={
                    "query": query,
                    "tenant_ids": tenant_ids,
                    "entry_limit": 10,
                    "expand": True,
                    "max_depth": 2,
                    "max_tokens": 8000,
                },
            )
            return response.json()

    context = asyncio.run(get_context_for_agent("How do I process a refund?", ["purchasing", "shared"]))
    assert context["entry_points"]
    assert context["context"]
    assert context["entities"]


def test_the_documents_langchain_example_runs_as_written(address: str) -> None:
    class ContextForgeRetriever(BaseRetriever):
        base_url: str = address
        tenant_ids: list[str] = []  # noqa: RUF012  (as the example has it)

        def _get_relevant_documents(self, query: str) -> list[Document]:  # type: ignore[override]
            response = httpx.post(
                f"{self.base_url}/api/context",
                json={"query": query, "tenant_ids": self.tenant_ids, "max_tokens": 8000},
            )
            data = response.json()
            documents = []
            for ep in data["entry_points"]:
                documents.append(  # noqa: PERF401  (as the example has it)
                    Document(
                        page_content=f"{ep['title']}\n{ep['summary']}\n{ep['content']}",
                        metadata={"id": ep["id"], "type": ep["node_type"]},
                    )
                )
            return documents

    found = ContextForgeRetriever(tenant_ids=["support"]).invoke("How do I process a refund?")
    assert found[0].metadata["type"] == "faq"


# --- our own retriever ---


class TestRetrieverOverTheService(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _here(self, address: str) -> None:
        type(self).address = address  # type: ignore[attr-defined]

    @property
    def retriever_constructor(self) -> type[WeftRetriever]:
        return WeftRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"base_url": self.address, "tenant_ids": ["support", "shared"]}  # type: ignore[attr-defined]

    @property
    def retriever_query_example(self) -> str:
        return "How do I process a refund?"


class TestRetrieverOverAStore(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _here(self, store: Path) -> None:
        type(self).store = str(store)  # type: ignore[attr-defined]

    @property
    def retriever_constructor(self) -> type[WeftRetriever]:
        return WeftRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store, "tenant_ids": ["support", "shared"]}  # type: ignore[attr-defined]

    @property
    def retriever_query_example(self) -> str:
        return "How do I process a refund?"


def test_the_retriever_says_the_same_over_a_service_and_over_a_store(address: str, store: Path) -> None:
    options = {"max_tokens": 1500, "entry_types": ["faq", "playbook"]}
    asked = {"tenant_ids": ["support", "shared"], "include_context": True, "options": options, "k": 15}
    served = WeftRetriever(base_url=address, **asked).invoke("How do I process a refund?")
    embedded = WeftRetriever(store=str(store), **asked).invoke("How do I process a refund?")
    assert served
    assert len({each.id for each in served}) == len({each.id for each in embedded}) == len(served)
    assert [each.page_content for each in served] == [each.page_content for each in embedded]


def test_a_retriever_needs_one_place_to_ask() -> None:
    with pytest.raises(InvalidInput, match="either"):
        WeftRetriever(tenant_ids=["support"]).invoke("x")
