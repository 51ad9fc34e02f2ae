"""The ids that callers see tell nothing of other tenants, and lead to the same nodes everywhere."""

from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service
from weft import Node, Weft
from weft.interfaces.ids import PublicIds


def faq(title: str, tenant: str = "support") -> dict[str, Any]:
    return {"tenant_id": tenant, "node_type": "faq", "title": title}


def stored_id(store: Path, key: str, tenant: str = "support") -> int:
    with Weft.open(store) as weft:
        return weft.show(key, tenants=tenant)[0].id


def test_the_ids_of_two_new_nodes_do_not_tell_what_others_wrote_between_them(service: Service) -> None:
    key = make_key(service.store, "support", write=True)
    gaps = []
    for number in range(6):
        with Weft.open(service.store) as weft:
            weft.put([Node(f"app:{number}-{each}", "faq", "finance", title="Ours") for each in range(number)])
        gaps.append(service.http.post("/api/nodes", json=faq(f"Zebra {number}"), headers=key).json()["id"])
    assert sorted(gaps) != gaps
    assert min(abs(one - other) for one in gaps for other in gaps if one != other) > 1000
    listed = service.http.get("/api/nodes?tenant_id=support&limit=100", headers=key).json()["nodes"]
    assert min(node["id"] for node in listed) > 1000


def test_an_id_is_the_same_in_every_answer_and_leads_back(service: Service) -> None:
    made = service.http.post("/api/nodes", json=faq("Zebra lighthouse")).json()
    again = make_service(service.store)
    assert again.http.get(f"/api/nodes/{made['id']}").json()["key"] == made["key"]
    assert (
        service.http.post("/api/search", json={"query": "zebra", "tenant_ids": ["support"]}).json()["results"][0][
            "id"
        ]
        == (made["id"])
    )
    page = service.ask("", "support", format="plain", start=[str(made["id"])])
    assert "Zebra lighthouse" in page["text"]
    again.served.close()


def test_the_numbers_of_the_store_itself_lead_to_nothing(service: Service) -> None:
    key = make_key(service.store, "support", write=True)
    made = service.http.post("/api/nodes", json=faq("Zebra lighthouse"), headers=key).json()
    number = stored_id(service.store, made["key"])
    assert service.http.get(f"/api/nodes/{number}", headers=key).status_code == 404
    started = {"query": "", "tenant_ids": ["support"], "format": "plain", "start": [str(number)]}
    assert service.http.post("/api/context", json=started, headers=key).status_code == 404
    drawn = service.http.get(f"/explore/page?topic={number}&tenants=support", headers=key)
    assert drawn.status_code == 404
    why = service.http.get(f"/explore/why?topic=zebra&name={number}&tenants=support", headers=key)
    assert why.status_code == 404


def test_a_node_whose_name_is_a_number_is_found_by_it(service: Service) -> None:
    service.http.post("/api/nodes", json=faq("1984"))
    assert "1984" in service.ask("", "support", format="plain", start=["1984"])["text"]


@pytest.mark.parametrize("identity", ["a", "b"])
def test_every_id_has_its_own_form_and_comes_back(identity: str) -> None:
    ids = PublicIds(identity)
    shown = {ids.show(number) for number in range(1, 5000)}
    assert len(shown) == 4999
    assert all(ids.read(ids.show(number)) == number for number in range(1, 5000))
    hidden = ids.read(1)
    assert ids.show(hidden) == 1
    assert all(0 < each < 1 << 48 for each in shown)
    assert (ids.show(0), ids.read(0)) == (0, 0)


def test_the_id_that_would_become_nothing_takes_the_form_that_is_free() -> None:
    ids = PublicIds("a")
    lost = ids._unscramble(0)
    assert ids.show(lost) > 0
    assert ids.read(ids.show(lost)) == lost


def test_the_ledger_of_a_page_has_the_ids_that_callers_see(service: Service) -> None:
    made = service.http.post("/api/nodes", json=faq("Zebra lighthouse")).json()
    edge = {"source_id": made["id"], "edge_type": "leads_to"}
    other = service.http.post("/api/nodes", json=faq("A boat shed")).json()
    assert service.http.post("/api/edges", json={**edge, "target_id": other["id"]}).status_code == 201
    ledger = service.ask("zebra lighthouse", "support", format="plain", profile="general")["ledger"]
    ids = {entry["key"]: entry["id"] for entry in ledger}
    assert ids[made["key"]] == made["id"]
    steps = [step for entry in ledger for step in entry["path"]]
    assert steps
    assert all(step["id"] > 1000 for step in steps)


def test_a_title_that_is_a_number_is_found_though_the_store_has_an_id_like_it(service: Service) -> None:
    first = service.http.post("/api/nodes", json=faq("Zebra")).json()
    number = stored_id(service.store, first["key"])
    titled = service.http.post("/api/nodes", json=faq(str(number))).json()
    found = service.ask("", "support", format="plain", start=[str(number)])
    assert [entry["id"] for entry in found["ledger"] if entry["distance"] == 0][:1] == [titled["id"]]
