"""Whatever the OpenAPI document allows or forbids, the service keeps to it and never breaks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from rest_service import EXAMPLES, Service, make_service, running
from weft import Weft
from weft.interfaces.rest.requests import NAME

# Names of things that this service has, so that not every page asked for is of something that is not there.
KNOWN = {"profile": "knowledge", "lens": "general", "preset": None, "parameters": {"include_entities": False}}


def with_known_names(body: Any) -> Any:
    """A request with its well-formed names replaced by known ones; malformed ones stay, to be refused."""
    if not isinstance(body, dict):
        return body
    return {name: KNOWN[name] if name in KNOWN and well_formed(given) else given for name, given in body.items()}


def well_formed(given: Any) -> bool:
    if isinstance(given, dict):
        scalars = all(isinstance(each, str | int | float) for each in given.values())
        return scalars and all(1 <= len(name) <= 200 for name in given)
    return isinstance(given, str) and len(given) <= 200 and re.fullmatch(NAME, given) is not None


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


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
# A list of many names makes a path that is too long before anybody reads the names.
schema.config.checks.negative_data_rejection.expected_statuses += ["414"]

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
    if case.path == "/api/context":
        case.body = with_known_names(case.body)
    # A tag that was made up is of nothing that is there, and rightly refused with 412.
    case.headers.pop("if-match", None)
    response = case.call(base_url=address)
    # OpenAPI can say that a body is text, but not that every line of it is a node or an edge.
    lines = (
        [schemathesis.checks.CHECKS.get_one("positive_data_acceptance")] if case.path.endswith("/import") else []
    )
    case.validate_response(response, excluded_checks=lines)
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
    docs = Path(__file__).parents[2] / "docs"
    text = "".join(path.read_text("utf-8") for path in (docs / "rest.md", docs / "http" / "keys.md"))
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in text, (
                f"neither docs/rest.md nor docs/http/keys.md describes {method.upper()} {path}"
            )
