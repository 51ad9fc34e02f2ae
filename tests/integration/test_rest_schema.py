"""Whatever the OpenAPI document allows or forbids, the service keeps to it and never breaks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from rest_service import EXAMPLES, Service, make_service, running
from schemathesis.specs.openapi import checks

from weft import Weft

# Well-formed ids that exist nowhere are refused, so not every valid request is accepted.
LEFT_OUT = [checks.positive_data_acceptance]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = tmp_path_factory.mktemp("schema") / ".weft"
    with Weft.open(store) as weft:
        weft.index(EXAMPLES / "helpdesk")
    made = make_service(store)
    yield made
    made.served.close()


@pytest.fixture(scope="module")
def address(service: Service) -> Iterator[str]:
    with running(service) as found:
        yield found


# The description does not depend on the store, which is opened only when asked.
schema = schemathesis.openapi.from_dict(make_service(Path("nowhere")).http.app.openapi())  # type: ignore[attr-defined]


LEARNING = "^/api/(memories|experiences|values|premortem)"


def examples(most: int) -> settings:
    return settings(
        max_examples=most,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@schema.exclude(path_regex=LEARNING).parametrize()
@examples(15)
def test_the_service_keeps_to_its_own_description(case: schemathesis.Case, address: str) -> None:
    keeps_to_it(case, address)


# Most of these write, and every write is on disk before it is answered: fewer examples of them.
@schema.include(path_regex=LEARNING).parametrize()
@examples(5)
def test_the_learning_memory_keeps_to_its_own_description(case: schemathesis.Case, address: str) -> None:
    keeps_to_it(case, address)


def keeps_to_it(case: schemathesis.Case, address: str) -> None:
    response = case.call(base_url=address)
    case.validate_response(response, excluded_checks=LEFT_OUT)
    assert response.status_code < 500


def test_the_description_has_examples_and_every_route(service: Service) -> None:
    described = service.http.get("/openapi.json").json()
    assert {
        *("/api/context", "/api/search", "/api/nodes", "/api/nodes/{node_id}"),
        *("/api/edges", "/api/edges/{edge_id}", "/api/graph/{node_id}", "/api/profiles"),
        *("/api/memories", "/api/experiences", "/api/values", "/api/premortem"),
        *("/healthz", "/readyz", "/metrics"),
    } <= described["paths"].keys()
    assert described["components"]["schemas"]["ContextRequest"]["examples"]
    text = (Path(__file__).parents[2] / "docs" / "rest.md").read_text(encoding="utf-8")
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in text, f"docs/rest.md does not describe {method.upper()} {path}"
