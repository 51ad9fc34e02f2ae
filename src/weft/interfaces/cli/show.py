"""`weft show`, `weft related` and `weft status`: what the store holds, node by node and in all."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, AsOf, StoreFolder, Tenants
from weft.interfaces.cli.progress import watched
from weft.interfaces.values import clean, tenants_of
from weft.interfaces.whole_text import whole_text
from weft.model import Node, View

if TYPE_CHECKING:
    from weft.api import Weft


Name = Annotated[str, typer.Argument(metavar="KEY", help="A node's key, id, title or alias.")]


def show(
    name: Name,
    as_of: AsOf = None,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print a node whole, and what a story tells of it; a title that several nodes share prints them all."""
    with config.open_weft(store, embedder="none") as weft:
        seen = tenants_of(tenants)
        nodes = _named(weft, clean(name), seen, as_of)
        texts = [] if as_json else [whole_text(weft, node, View(seen, as_of)) for node in nodes]
    if as_json:
        output.write_json([output.shape(node) for node in nodes])
    else:
        output.write("\n\n".join(texts))


def _named(weft: "Weft", name: str, tenants: tuple[str, ...], as_of: int | None = None) -> tuple[Node, ...]:
    nodes = weft.show(name, tenants=tenants, as_of=as_of) if name else ()
    if not nodes:
        raise InvalidInput(
            f"No node of {', '.join(tenants)} is named {name!r}. Give a key, an id, a title or an alias; "
            f'`weft search "{name}"` finds what is close.'
        )
    return nodes


def related(
    name: Name,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many links to show.")] = 30,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the neighbours of a node with the links that lead to them, strongest first."""
    seen = tenants_of(tenants)
    with config.open_weft(store, embedder="none") as weft:
        mine = {node.key for node in _named(weft, clean(name), seen)}
        found = weft.related(clean(name), tenants=seen, limit=limit)
    if as_json:
        output.write_json([{"node": output.shape(node), "edge": output.shape(edge)} for node, edge in found])
        return
    rows = [
        (
            f"{edge.type} {'→' if edge.source in mine else '←'}",
            f"{edge.weight:.2f}",
            node.kind,
            output.one_line(node.title, 50),
            node.key,
            output.one_line(edge.evidence, 40),
        )
        for node, edge in found
    ]
    if rows:
        output.write_table(("link", "weight", "kind", "title", "key", "evidence"), rows)
    else:
        output.note("No links lead to or from it.")


def status(tenants: Tenants = None, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Print what the store holds: counts by tenant, kind, source and type of link."""
    with config.open_weft(store, embedder="none") as weft, watched("counting"):
        counted = weft.status(tenants_of(tenants) if tenants else None)
        derived = weft.index_status()
        engine = weft.engine()
    if as_json:
        output.write_json({**output.shape(counted), "engine": engine, "index": derived})
        return
    output.write(f"{counted.location} (schema {counted.schema_version}, write {counted.sequence})")
    output.write(_engine(engine, derived, counted.sequence))
    output.write(
        f"{output.counted(counted.nodes, 'node')}, {output.counted(counted.passages, 'passage')}, "
        f"{output.counted(counted.edges, 'link')}, {output.counted(counted.vectors, 'vector')} by "
        f"{counted.embedder or 'no embedder'}, {counted.bytes / 1e6:,.1f} MB and {_megabytes(derived)} derived"
    )
    for heading, counts in (
        ("tenants", counted.by_tenant),
        ("kinds", counted.by_kind),
        ("sources", counted.by_source),
        ("links", counted.by_edge_type),
    ):
        output.write(f"{heading}: {_listed(counts)}")


def _engine(engine: Mapping[str, str | int], derived: Mapping[str, str | int], sequence: int) -> str:
    """What holds the store and what searches it, with versions and how far each is behind."""
    behind = sequence - min(int(derived["lexical_sequence"]), int(derived["vector_sequence"]))
    searched = f"searched by {derived.get('engine', 'files')}"
    return f"{output.versions(engine)}; {searched}, {_lag(behind)}{_replica(engine.get('replica_lag'))}"


def _replica(behind: str | int | None) -> str:
    if behind is None:
        return ""
    return "; primary or replica does not answer" if isinstance(behind, str) else f"; replica {_lag(behind)}"


def _lag(behind: int) -> str:
    return f"{output.counted(behind, 'write')} behind" if behind else "up to date"


def _megabytes(derived: Mapping[str, str | int]) -> str:
    return f"{int(derived.get('bytes', 0)) / 1e6:,.1f} MB"


def _listed(counts: Mapping[str, int]) -> str:
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{output.one_line(name)} {count:,}" for name, count in ranked) or "(none)"
