"""The routes of the explorer: what is public, what needs a key, and what they answer."""

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from rest_service import Service, make_key, make_service
from weft import Node, Weft
from weft.interfaces.explorer.shell import VIEWS, shell

EXPLORER = Path(__file__).parents[2] / "src" / "weft" / "interfaces" / "explorer"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    store = tmp_path / ".weft"
    with Weft.open(store) as weft:
        for number in range(12):
            text = f"Lunch number {number} is served in the yellow hall, with soup, bread and {number} pears."
            weft.put(Node(f"a:{number}", "note", "acme", f"Lunch {number}", text=text))
        weft.put(Node("a:far", "note", "acme", "Roof tiles", text="Roof tiles are red."))
        weft.put(Node("b:1", "note", "other", "Other lunch", text="The other lunch is secret."))
    return make_service(store)


def get(service: Service, route: str, **query: Any) -> Any:
    done = service.http.get(f"/explore/{route}", params=query)
    assert done.status_code == 200, done.text
    return done.json()


def test_the_page_is_public_and_holds_nothing_stored(service: Service) -> None:
    make_key(service.store, "acme")
    done = service.http.get("/explore?topic=lunch")
    assert done.status_code == 200
    assert "acme" not in done.text
    policy = done.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    # Every script is a file: an inline one would be refused by the policy.
    assert all(
        part.startswith(" src=") or ' src="' in part.split(">")[0] for part in done.text.split("<script")[1:]
    )


@pytest.mark.parametrize("name", [view.name for view in VIEWS if view.name != "ask"])
def test_every_view_is_public_with_the_same_policy_and_its_own_module(service: Service, name: str) -> None:
    make_key(service.store, "acme")
    done = service.http.get(f"/explore/view/{name}")
    assert done.status_code == 200
    assert "default-src 'none'" in done.headers["content-security-policy"]
    assert f'/{name}.js"></script>' in done.text
    assert (EXPLORER / "static" / f"{name}.js").is_file()
    assert service.http.get("/explore/view/nothing").status_code == 404


def test_static_files_are_kept_for_good_and_others_are_not_served(service: Service) -> None:
    address = shell("ask").decode().split('script type="module" src="')[1].split('"')[0]
    done = service.http.get(address)
    assert done.headers["content-type"].startswith("text/javascript")
    assert "immutable" in done.headers["cache-control"]
    assert service.http.get("/explore/static/x/..%2froutes.py").status_code == 404
    assert service.http.get("/explore/static/x/nothing.js").status_code == 404


def test_everything_of_the_explorer_is_small_and_of_this_host() -> None:
    files = [path for folder in ("static", "templates") for path in (EXPLORER / folder).iterdir()]
    assert sum(path.stat().st_size for path in files) < 400_000
    for path in files:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert "innerHTML" not in text, path.name


READING = (
    "choices",
    "page",
    "growth",
    "why",
    "source",
    "census",
    "timeline",
    "cast",
    "learned",
    "sessions",
    "compare",
    "around",
)


@pytest.mark.parametrize("route", [*READING, "indexing"])
def test_what_is_stored_needs_a_key(service: Service, route: str) -> None:
    make_key(service.store, "acme")
    assert service.http.get(f"/explore/{route}", params={"topic": "lunch"}).status_code == 401


def test_a_key_sees_its_tenants_only(service: Service) -> None:
    service.http.headers.update(make_key(service.store, "acme"))
    assert get(service, "choices")["tenants"] == ["acme"]
    assert "secret" not in get(service, "page", topic="the other lunch", floor=0)["text"]
    refused = service.http.get("/explore/page", params={"topic": "lunch", "tenants": "other"})
    assert refused.status_code == 403
    assert service.http.get("/explore/source", params={"key": "b:1", "tenant": "other"}).status_code == 404
    said = get(service, "why", topic="lunch", name="Other lunch")
    assert said["state"] == "unknown"
    assert "other" not in " ".join(said["said"]).replace("Other lunch", "")


def test_every_line_is_accounted_for_and_points_to_its_row(service: Service) -> None:
    drawn = get(service, "page", topic="lunch in the yellow hall", tenants="acme", max_tokens=300)
    assert drawn["tokens"] <= 300
    lines = drawn["text"].split("\n")
    covered = [line for span in drawn["spans"] for line in range(span["first"], span["last"] + 1)]
    assert covered == list(range(1, len(lines) + 1))
    for span in drawn["spans"]:
        if "key" in span:
            assert drawn["rows"][span["row"]]["key"] == span["key"]
            assert drawn["rows"][span["row"]]["detail"] != "dropped"


def test_a_page_that_was_looked_at_is_not_kept(service: Service) -> None:
    get(service, "page", topic="lunch", tenants="acme")
    assert service.served.weft().recent() == ()


def test_what_grows_is_told_with_its_budget(service: Service) -> None:
    grown = get(service, "growth", topic="lunch in the yellow hall", tenants="acme", max_tokens=200)
    budgets = {key: budget for _, key, budget in grown["appears"]}
    assert min(budgets.values()) == 200
    assert max(budgets.values()) > 200
    assert grown["more"]
    assert all(gain["tokens"] > 0 for gain in grown["more"])


def test_the_budget_that_is_offered_brings_the_item(service: Service) -> None:
    query = {"topic": "lunch in the yellow hall", "tenants": "acme"}
    drawn = get(service, "page", **query, max_tokens=200)
    left_out = next(row for row in drawn["rows"] if row["detail"] == "dropped")
    said = get(service, "why", **query, max_tokens=200, name=left_out["key"])
    assert said["state"] == "dropped"
    budget = said["ways"][0]["set"]["max_tokens"]
    larger = get(service, "page", **query, max_tokens=budget)
    assert left_out["key"] in {row["key"] for row in larger["rows"] if row["detail"] != "dropped"}


@pytest.mark.parametrize(
    ("name", "state"), [("Lunch 1", "printed"), ("Other lunch", "hidden"), ("Nowhere at all", "unknown")]
)
def test_why_answers_for_every_state(service: Service, name: str, state: str) -> None:
    said = get(service, "why", topic="lunch in the yellow hall", tenants="acme", max_tokens=4000, name=name)
    assert said["state"] == state
    assert said["said"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"topic": "lunch", "profile": "../../secret"}, "profile"),
        ({"topic": "lunch", "format": "html"}, "format"),
        ({"topic": "lunch", "max_tokens": 0}, "max_tokens"),
        ({"topic": "lunch", "sort": "score"}, "sort"),
        ({"topic": ""}, "question"),
    ],
)
def test_wrong_values_are_named(service: Service, query: dict[str, Any], said: str) -> None:
    done = service.http.get("/explore/page", params={"tenants": "acme", **query})
    assert 400 <= done.status_code < 500
    assert said in done.json()["detail"]


def side(**query: object) -> str:
    return urlencode({"tenants": "acme", "topic": "lunch in the yellow hall", **query})


def test_two_settings_are_compared_with_what_changed_and_why(service: Service) -> None:
    found = get(service, "compare", left=side(max_tokens=200), right=side(max_tokens=600))
    appeared = [change for change in found["changes"] if change["what"] == "appeared"]
    assert appeared
    assert all(change["why"] for change in appeared)
    assert found["asked"] == ["max_tokens: 200 → 600"]
    shown = {item["key"] for item in found["right"]["items"]} - {item["key"] for item in found["left"]["items"]}
    assert shown == {change["key"] for change in appeared}
    assert found["left"]["text"] == get(service, "page", **dict(parse_qsl(side(max_tokens=200))))["text"]


def test_a_page_that_was_handed_out_is_compared_with_now(service: Service) -> None:
    weft = service.served.weft()
    kept = weft.context("lunch in the yellow hall", tenants="acme", max_tokens=400, keep=True)
    weft.put(Node("a:new", "note", "acme", "Lunch news", text="Lunch in the yellow hall moves to one o'clock."))
    found = get(service, "compare", left=f"context={kept.id}", right=f"now={kept.id}")
    assert "a:new" in {change["key"] for change in found["changes"] if change["what"] == "appeared"}
    assert found["left"]["text"] is None
    assert [each["id"] for each in found["kept"]] == [kept.id]
    # Comparing only looks: the page that was made again is not kept.
    assert len(weft.recent()) == 1


def test_a_key_compares_its_own_tenants_and_sessions_only(service: Service) -> None:
    kept = service.served.weft().context("the other lunch", tenants="other", keep=True)
    service.http.headers.update(make_key(service.store, "acme"))
    assert get(service, "compare")["kept"] == []
    done = service.http.get("/explore/compare", params={"left": f"context={kept.id}", "right": side()})
    assert done.status_code == 422
    assert "No kept context" in done.json()["detail"]
    # An id that nobody has gets the same words, and no ids of others.
    for name in ("0" * len(kept.id), kept.id[:1]):
        missing = service.http.get("/explore/compare", params={"left": f"context={name}", "right": side()})
        assert missing.json()["detail"] == done.json()["detail"].replace(kept.id, name)
    refused = service.http.get("/explore/compare", params={"left": side(), "right": "topic=lunch&tenants=other"})
    assert refused.status_code == 403


def test_wrong_values_of_a_side_are_named(service: Service) -> None:
    done = service.http.get("/explore/compare", params={"left": side(), "right": side(max_tokens=0)})
    assert done.status_code == 422
    assert "max_tokens" in done.json()["detail"]


def test_a_neighbourhood_of_a_key_has_its_tenants_only(service: Service) -> None:
    service.http.headers.update(make_key(service.store, "acme"))
    assert get(service, "around", key="a:far")["nodes"][0]["title"] == "Roof tiles"
    assert service.http.get("/explore/around", params={"key": "b:1", "tenants": "other"}).status_code == 404


def test_uncommitted_changes_are_answered_for_the_user_of_this_machine_only(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    git = ("git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    (folder / "queue.py").write_text("def lease():\n    return 60\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
        subprocess.run([*git, *words], check=True)
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(folder)
    (folder / "queue.py").write_text("def lease():\n    return 90\n")
    service = make_service(tmp_path / ".weft")
    assert "return 90" in get(service, "page", topic="What are my uncommitted changes?")["text"]
    service.http.headers.update(make_key(tmp_path / ".weft", "default"))
    assert "uncommitted:" not in get(service, "page", topic="What are my uncommitted changes?")["text"]
