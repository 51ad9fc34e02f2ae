"""`weft show`, `weft related` and `weft status`: print a node, its neighbours, or what the store holds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import AsJson, AsOf, StoreFolder, Tenants, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import whole_text
from weft.interfaces.request import clean, read_tenants
from weft.interfaces.upkeep import finish_reading
from weft.model import Node, View

if TYPE_CHECKING:
    from weft.api import Weft


_TITLE_WIDTH: Final = 50
_EVIDENCE_WIDTH: Final = 40
"""Characters of a title and of a link's evidence in the table of `weft related`; keys are printed whole."""

NodeName = Annotated[str, typer.Argument(metavar="KEY", help="A node's key, id, title or alias.")]


def show(
    name: NodeName,
    as_of: AsOf = None,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print a node whole, with its relations if it is an entity of a story.

    If several nodes share the title, all of them are printed.
    """
    with config.open_weft(store, embedder="none") as weft:
        readable = read_tenants(tenants)
        nodes = _find_nodes(weft, clean(name), readable, as_of)
        texts = [] if as_json else [whole_text(weft, node, View(readable, as_of)) for node in nodes]
        finish_reading(weft)
    if as_json:
        output.write_json([output.as_dict(node) for node in nodes])
    else:
        output.write("\n\n".join(texts))


def _find_nodes(weft: "Weft", name: str, tenants: tuple[str, ...], as_of: int | None = None) -> tuple[Node, ...]:
    """Return the nodes of a name; raise InvalidInput if there are none."""
    nodes = weft.show(name, tenants=tenants, as_of=as_of) if name else ()
    if not nodes:
        reasons = " ".join(weft.reader.why_not_read(name, tenants))
        raise InvalidInput(
            reasons
            or f"No node of {', '.join(tenants)} is named {name!r}. Give a key, an id, a title or an alias; "
            f'`weft search "{name}"` finds what is close.'
        )
    return nodes


def related(
    name: NodeName,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many links to list.")] = 30,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the neighbours of a node with their links, strongest first."""
    readable = read_tenants(tenants)
    with config.open_weft(store, embedder="none") as weft:
        # A title may name several nodes; arrows are drawn from the view of all of them.
        start_keys = {node.key for node in _find_nodes(weft, clean(name), readable)}
        neighbours = weft.related(clean(name), tenants=readable, limit=limit)
        finish_reading(weft)
    if as_json:
        output.write_json(
            [{"node": output.as_dict(node), "edge": output.as_dict(edge)} for node, edge in neighbours]
        )
        return
    rows = [
        (
            f"{edge.type} {'→' if edge.source in start_keys else '←'}",
            f"{edge.weight:.2f}",
            node.kind,
            output.one_line(node.title, _TITLE_WIDTH),
            node.key,
            output.one_line(edge.evidence, _EVIDENCE_WIDTH),
        )
        for node, edge in neighbours
    ]
    if rows:
        output.write_table(("link", "weight", "kind", "title", "key", "evidence"), rows)
    else:
        output.write_note("No links lead to or from it.")


def status(tenants: Tenants = None, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Print what the store holds: counts by tenant, kind, source and type of link."""
    with config.open_weft(store, embedder="none") as weft, show_progress("counting"):
        counts = weft.status(read_tenants(tenants) if tenants else None)
        index = weft.index_status()
        engine = weft.engine()
    if as_json:
        output.write_json({**output.as_dict(counts), "engine": engine, "index": index})
        return
    output.write(f"{counts.location} (schema {counts.schema_version}, write {counts.sequence})")
    output.write(_engine_line(engine, index, counts.sequence))
    output.write(
        f"{output.count_noun(counts.nodes, 'node')}, {output.count_noun(counts.passages, 'passage')}, "
        f"{output.count_noun(counts.edges, 'link')}, {output.count_noun(counts.vectors, 'vector')} by "
        f"{counts.embedder or 'no embedder'}, {counts.bytes / 1e6:,.1f} MB and "
        f"{int(index.get('bytes', 0)) / 1e6:,.1f} MB derived"
    )
    for heading, numbers in (
        ("tenants", counts.by_tenant),
        ("kinds", counts.by_kind),
        ("sources", counts.by_source),
        ("links", counts.by_edge_type),
    ):
        largest_first = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{output.one_line(name)} {number:,}" for name, number in largest_first)
        output.write(f"{heading}: {listed or '(none)'}")


def _engine_line(engine: Mapping[str, str | int], index: Mapping[str, str | int], sequence: int) -> str:
    """Return the engines that store and search, with versions, and how many writes each is behind."""
    # A search needs both indexes, so the slower one counts.
    behind = sequence - min(int(index["lexical_sequence"]), int(index["vector_sequence"]))
    searched = f"searched by {index.get('engine', 'files')}"
    # A number of writes, or a text if the server or its replica did not answer; embedded stores have neither.
    lag = engine.get("replica_lag")
    replica = ""
    if lag is not None:
        replica = "; primary or replica does not answer" if isinstance(lag, str) else f"; replica {_lag(lag)}"
    return f"{output.engine_versions(engine)}; {searched}, {_lag(behind)}{replica}"


def _lag(writes: int) -> str:
    return f"{output.count_noun(writes, 'write')} behind" if writes else "up to date"
