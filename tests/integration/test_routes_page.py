"""The page of routes names every route and field, and loads nothing from anywhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rest_service import Service, make_key, make_service
from weft import Weft


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    Weft.open(tmp_path / ".weft", embedder=None).close()
    made = make_service(tmp_path / ".weft")
    yield made
    made.served.close()


def test_it_has_every_route_with_its_fields(service: Service) -> None:
    page = service.http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    described = service.http.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page.text
    for name in described["components"]["schemas"]["ContextRequest"]["properties"]:
        assert f"<td>{name}</td>" in page.text


def test_it_loads_nothing_and_runs_nothing(service: Service) -> None:
    page = service.http.get("/docs")
    assert re.findall(r"<(?:script|link|img|iframe|object|embed|form)|https?://|@import|url\(", page.text) == []
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_it_needs_no_key_and_pages_of_others_are_gone(service: Service) -> None:
    key = make_key(service.store, "default")
    assert service.http.get("/docs").status_code == 200
    assert service.http.get("/redoc").status_code == 401
    assert service.http.get("/redoc", headers=key).status_code == 404
