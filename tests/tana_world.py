"""A small Tana workspace of our own, written as its export is."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = "wsp"
DAY = 86_400_000
START = 1_790_000_000_000


def shared(name: str) -> Path:
    """A file of Tana's from a folder `shared` above this checkout; the test is skipped where there is none."""
    for folder in Path(__file__).parents:
        place = folder / "shared" / "data" / "tana" / name
        if place.is_file():
            return place
    pytest.skip(f"there is no shared/data/tana/{name} above this checkout")


def doc(
    name_id: str,
    name: str | None = None,
    owner: str = f"{ROOT}_STASH",
    children: Sequence[str] = (),
    **props: Any,
) -> dict[str, Any]:
    """One document; keyword arguments are its properties (`type`, `meta`, `done`, `description`, `modified`)."""
    modified = props.pop("modified", START)
    renamed = {"type": "_docType", "meta": "_metaNodeId", "done": "_done"}
    own = {renamed.get(key, key): value for key, value in props.items()}
    named = {} if name is None else {"name": name}
    return {
        "id": name_id,
        "children": list(children),
        "props": {"_ownerId": owner, "created": START - DAY, **named, **own},
        "modifiedTs": [modified, START - DAY],
    }


def tagged(node: dict[str, Any], *tags: str) -> list[dict[str, Any]]:
    """A node with its tags (or, for a supertag, what it extends), and the machinery that says so."""
    name = node["id"]
    node["props"]["_metaNodeId"] = f"{name}-meta"
    return [
        node,
        doc(f"{name}-meta", owner=name, children=[f"{name}-tags"], type="metanode"),
        doc(f"{name}-tags", owner=f"{name}-meta", children=["SYS_A13", *tags], type="tuple"),
    ]


def field(node: dict[str, Any], definition: str, *values: str) -> list[dict[str, Any]]:
    """A row below a node that gives a field its values: ids of nodes, or `=text` for words of its own."""
    row = f"{node['id']}-{definition}"
    node["children"].append(row)
    words = {f"{row}-{place}": value[1:] for place, value in enumerate(values) if value.startswith("=")}
    ids = [f"{row}-{place}" if value.startswith("=") else value for place, value in enumerate(values)]
    return [
        doc(row, owner=node["id"], children=[definition, *ids], type="tuple"),
        *(doc(each, said, owner=row) for each, said in words.items()),
    ]


def workspace() -> list[dict[str, Any]]:
    """A project with a meeting, people, tasks, a specification, a draft; trash, machinery and missing nodes."""
    docs = [
        doc(ROOT, f"Root node for file:{ROOT}", owner="", children=["home"]),
        doc(f"{ROOT}_STASH", "Stash", owner=ROOT),
        doc(f"{ROOT}_TRASH", "Trash", owner=ROOT),
        doc(f"{ROOT}_SCHEMA", "Schema", owner=ROOT),
        doc("home", "Home", owner=ROOT, children=["orchard"], type="home"),
    ]
    for tag in ("project", "person", "meeting", "spec", "draft", "entity"):
        docs += tagged(doc(tag, tag, owner=f"{ROOT}_SCHEMA", type="tagDef"), "SYS_T01")
    docs += tagged(doc("task", "task", owner=f"{ROOT}_SCHEMA", type="tagDef"), "SYS_T01", "entity")
    docs += tagged(doc("errand", "Small Errand", owner=f"{ROOT}_SCHEMA", type="tagDef"), "SYS_T01", "task")
    for definition, name in (("f-status", "Status"), ("f-owner", "Owner"), ("f-people", "Attendees")):
        docs.append(doc(definition, name, owner=f"{ROOT}_SCHEMA", type="attrDef"))
    docs += _people() + _project() + _notes()
    return docs


def _people() -> list[dict[str, Any]]:
    return [
        *tagged(doc("ines", "Inés Calder", description="Runs the orchard's cold store."), "person"),
        *tagged(doc("tove", "Tove Lind"), "person"),
    ]


def _project() -> list[dict[str, Any]]:
    orchard = doc("orchard", "Orchard telemetry", owner="home", children=["goal", "review", "frost", "tove"])
    review = doc("review", "Frost review", owner="orchard", children=["agenda", "order"], modified=START + DAY)
    order = doc("order", "Order <b>twelve</b> probes &amp; cables", owner="review", done=True)
    return [
        *tagged(orchard, "project"),
        *field(orchard, "f-status", "=active"),
        *field(orchard, "f-owner", "ines"),
        doc("goal", "Know of frost an hour before it comes", owner="orchard"),
        *tagged(review, "meeting"),
        *field(review, "f-people", "ines", "tove"),
        *field(
            review,
            "SYS_A90",
            '=<span data-inlineref-date="{&quot;dateTimeString&quot;:&quot;2026-04-02&quot;}"></span>',
        ),
        doc("agenda", 'Agenda: read <span data-inlineref-node="frost"></span> together', owner="review"),
        *tagged(order, "errand"),
    ]


def _notes() -> list[dict[str, Any]]:
    long = "The probes hang at knee height because cold air pools there. " * 4
    return [
        *tagged(doc("frost", "Frost alarm specification", owner="orchard", children=["pool", "gone"]), "spec"),
        doc("pool", long.strip(), owner="frost"),
        *tagged(
            doc("essay", 'A letter about <span data-inlineref-node="orchard"></span> and <i>cold</i>'), "draft"
        ),
        doc("lost", 'See <span data-inlineref-node="nowhere"></span>', children=["ring"]),
        doc("ring", 'Round: <span data-inlineref-node="ring2"></span>', owner="lost"),
        doc("ring2", 'Back: <span data-inlineref-node="ring"></span>', owner="lost"),
        doc("binned", "Thrown away", owner=f"{ROOT}_TRASH", children=["binned2"]),
        doc("binned2", "Thrown away with it", owner="binned"),
        doc("view", "Default", owner="home", type="viewDef", children=["viewing"]),
        doc("viewing", "Column width", owner="view"),
        doc("saved", "Everything tagged #task", owner="home", type="search"),
        doc("orphan", "[[Left by a deletion]]", owner=""),
    ]


def export(docs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The documents as an export holds them."""
    return {
        "formatVersion": 1,
        "editors": [["someone@example.com", 0]],
        "lastTxid": START,
        "currentWorkspaceId": ROOT,
        "docs": list(docs),
    }


def write_export(path: Path, docs: Sequence[Mapping[str, Any]], indent: int | None = 1) -> Path:
    """An export file with the documents."""
    path.write_text(json.dumps(export(docs), indent=indent, ensure_ascii=False), encoding="utf-8")
    return path
