"""`weft show`, `related`, `log` and `status`: print a node, its neighbours, its commits, or what is stored."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from weft import config
from weft.errors import InvalidInput
from weft.history.usage import UsageLog
from weft.interfaces.ask import finish_reading
from weft.interfaces.cli import AsJson, AsOf, StoreFolder, Tenants, clean_argument, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean, read_tenants
from weft.model import Node, View

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.ports import StoreStatus


NodeName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        parser=clean_argument,
        help="A key, id, title or alias, FILE:LINE, FILE:10-40, the name of a definition, or a commit's hash.",
    ),
]

_BAR_WIDTH: Final = 40
"""Characters of the longest bar in the picture of a store: a line of 80 columns with a name and a number."""


def show(
    name: NodeName,
    *,
    whole: Annotated[
        bool, typer.Option("--whole", help="Print the nodes with all facts and fields, not their code alone.")
    ] = False,
    outline: Annotated[
        bool,
        typer.Option("--outline", help="Print what a file or class defines, a line each, however short it is."),
    ] = False,
    as_of: AsOf = None,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print lines of a file, the outline of a file or class, a definition, a commit, or any other node whole.

    What is long is printed short, with what to ask for the rest. If several nodes share the name, all are printed.
    """
    # Loaded here and below, because `weft --help` loads this module and needs none of it.
    from weft.interfaces.source_text import texts_of

    with config.open_weft(store, embedder="none") as weft:
        view = View(read_tenants(tenants), as_of)
        if as_json:
            output.write_json([output.as_dict(node) for node in _find_nodes(weft, name, view)])
        else:
            texts = texts_of(weft, name, view, whole=whole, outline=outline)
            output.write("\n\n".join(texts or _refuse(weft, name, view.tenants)))
        _write_freshness(weft)


def _find_nodes(weft: "Weft", name: str, view: View) -> tuple[Node, ...]:
    """Return the nodes of a name; raise InvalidInput if there are none."""
    nodes = weft.show(name, tenants=view.tenants, as_of=view.as_of) if name else ()
    return nodes or _refuse(weft, name, view.tenants)


def _refuse(weft: "Weft", name: str, tenants: Sequence[str]) -> NoReturn:
    reasons = " ".join(weft.reader.why_not_read(name, tenants))
    raise InvalidInput(
        reasons
        or f"No node of {', '.join(tenants)} is named {name!r}. Give a key, an id, a title or an alias; "
        f'`weft search "{name}"` finds what is close.'
    )


def _write_freshness(weft: "Weft") -> None:
    """Print what of the sources changed and was not read yet, and let it be read."""
    for note in weft.reader.upkeep.last.notes:
        output.write_note(note)
    finish_reading(weft)


def related(
    name: NodeName,
    *,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only links of this type, such as calls; may be repeated."),
    ] = None,
    direction: Annotated[
        str, typer.Option("--direction", metavar="in|out", help="Only links that lead to it, or from it.")
    ] = "",
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only neighbours of this kind; may be repeated."),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many links to list.")] = 30,
    as_of: AsOf = None,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the neighbours of a node with their links, strongest first, and where each link stands."""
    from weft.interfaces.source_text import RELATED_COLUMNS, related_rows

    readable = read_tenants(tenants)
    with config.open_weft(store, embedder="none") as weft:
        # A title may name several nodes; arrows are drawn from the view of all of them.
        start_keys = {node.key for node in _find_nodes(weft, name, View(readable, as_of))}
        # One more than is printed, to tell whether the list is complete.
        neighbours = weft.related(
            name,
            tenants=readable,
            limit=limit + 1,
            types=tuple(map(clean, types or ())),
            direction=clean(direction),
            kinds=tuple(map(clean, kinds or ())),
            as_of=as_of,
        )
        _write_freshness(weft)
    shown = neighbours[:limit]
    if as_json:
        output.write_json([{"node": output.as_dict(node), "edge": output.as_dict(edge)} for node, edge in shown])
        return
    if shown:
        output.write_table(RELATED_COLUMNS, related_rows(shown, start_keys))
        if len(neighbours) > limit:
            output.write_note(f"There are more than {limit}: --limit lists them, --type and --direction choose.")
    else:
        output.write_note("No such links lead to or from it.")


def log(
    name: NodeName,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many commits to list.")] = 10,
    tenants: Tenants = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the commits that touched a file or definition, newest first, with what they changed in it."""
    from weft.interfaces.source_text import log_lines

    with config.open_weft(store, embedder="none") as weft:
        view = View(read_tenants(tenants))
        lines = log_lines(weft, name, view, limit) or _refuse(weft, name, view.tenants)
        _write_freshness(weft)
    if as_json:
        output.write_json(lines)
    else:
        output.write("\n".join(lines))


def status(tenants: Tenants = None, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Print what the store holds: counts by tenant, kind, source and type of link."""
    with config.open_weft(store, embedder="none") as weft, show_progress("counting"):
        counts = weft.status(read_tenants(tenants) if tenants else None)
        index = weft.index_status()
        engine = weft.engine()
        hooks = UsageLog(weft.folder).read_turns()
    if as_json:
        output.write_json(
            {**output.as_dict(counts), "engine": engine, "index": index, "hooks": output.as_dict(hooks)}
        )
        return
    held = f"{output.count_noun(counts.nodes, 'node')} and {output.count_noun(counts.edges, 'link')}"
    output.write(f"{output.short_path(counts.location)} holds {held}.")
    _write_picture(counts.by_kind)
    for heading, numbers in (
        ("sources", counts.by_source),
        ("tenants", counts.by_tenant),
        ("links", counts.by_edge_type),
    ):
        listed = ", ".join(f"{output.one_line(name)} {number:,}" for name, number in _largest_first(numbers))
        output.write(f"{heading}: {listed or '(none)'}")
    output.write(f"search: {_search_line(engine, index, counts.sequence)}")
    output.write(
        f"vectors: {counts.vectors:,} of {output.count_noun(counts.passages, 'passage')}, by "
        f"{counts.embedder or 'no embedder'}"
    )
    if counts.quality_vectors is not None:
        output.write(_quality_line(counts))
    output.write(
        f"store: {output.engine_versions(engine)}, schema {counts.schema_version}, write {counts.sequence}, "
        f"{counts.bytes / 1e6:,.1f} MB, and {int(index.get('bytes', 0)) / 1e6:,.1f} MB of search files"
    )
    if hooks.spoke or hooks.silent:
        output.write(
            f"hooks: spoke at {hooks.spoke:,} of {hooks.spoke + hooks.silent:,} prompts, gave "
            f"{output.count_noun(hooks.given, 'item')}, of which {hooks.used:,} were named later"
        )


def _largest_first(numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda item: (-item[1], item[0]))


def _write_picture(kinds: Mapping[str, int]) -> None:
    """Print a bar for each kind of node, as long as its share of the largest; the largest first."""
    drawn = _largest_first(kinds)
    if not drawn:
        output.write("kinds: (none)")
        return
    output.write("kinds:")
    names = [output.one_line(name) for name, _ in drawn]
    width, most = max(map(len, names)), drawn[0][1]
    digits = len(f"{most:,}")
    for name, (_, number) in zip(names, drawn, strict=True):
        # At least one mark, so that what is there is seen; a plain character, which every terminal has.
        bar = "#" * max(1, round(_BAR_WIDTH * number / most))
        output.write(f"  {name:{width}}  {number:{digits},}  {bar}")


def _quality_line(counts: "StoreStatus") -> str:
    """Return how many passages have a vector of the better embedder."""
    have, passages = counts.quality_vectors or 0, output.count_noun(counts.passages, "passage")
    if have >= counts.passages:
        return f"quality: all {passages} have a better vector"
    # Rounded down, so that 100 % is said only of all.
    return (
        f"quality: {have:,} of {passages} have a better vector ({100 * have // counts.passages} %), the others "
        "are measured by their static one; `weft reembed` makes the rest"
    )


def _search_line(engine: Mapping[str, str | int], index: Mapping[str, str | int], sequence: int) -> str:
    """Return the engine that searches, and how many writes it and a replica are behind."""
    # A search needs both indexes, so the slower one counts.
    behind = sequence - min(int(index["lexical_sequence"]), int(index["vector_sequence"]))
    searched = f"by {index.get('engine', 'files')}"
    # A number of writes, or a text if the server or its replica did not answer; embedded stores have neither.
    lag = engine.get("replica_lag")
    replica = ""
    if lag is not None:
        replica = "; primary or replica does not answer" if isinstance(lag, str) else f"; replica {_lag(lag)}"
    return f"{searched}, {_lag(behind)}{replica}"


def _lag(writes: int) -> str:
    return f"{output.count_noun(writes, 'write')} behind" if writes else "up to date"
