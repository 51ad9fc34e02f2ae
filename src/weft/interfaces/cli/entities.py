"""`weft entities`: list the entities of the stories in a store, and correct what was found."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.corrections.entities import apply_correction, undo_correction
from weft.interfaces.cli import AsJson, AsOf, EmbedderSpec, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT
from weft.overview.cast import EntityListing, list_entities

if TYPE_CHECKING:
    from weft.story import Correction


_NONE_IN_STORY: Final = (
    "The story was read, and no {kind} was found in it. A note in a folder such as Characters/ or Locations/ "
    "adds one."
)
_NAME_WIDTH: Final = 40
_ALIASES_WIDTH: Final = 60
"""Characters of names and aliases in the table, so that most rows stay on one line of a wide terminal."""

EntityName = Annotated[str, typer.Argument(metavar="NAME", help="The entity's name, or one of its aliases.")]
FromChapter = Annotated[
    int | None,
    typer.Option(
        "--chapter",
        metavar="N",
        min=0,
        help="The chapter from which on this is known. Default: the first by which all the names have appeared.",
    ),
]


# --- the commands ------------------------------------------------------------------------------------------


def make_entities_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft entities`."""
    return output.make_group(
        "List the entities of a story, and correct them.",
        decorated,
        list=print_entities,
        merge=merge,
        split=split,
        rename=rename,
        type=change_type,
        hide=hide,
        corrections=print_corrections,
        undo=undo,
        **{"drop-alias": drop_alias},
    )


def print_entities(
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Only these: character, location, faction, object, event."),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many to list.")] = 50,
    *,
    as_of: AsOf = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List the entities, most mentioned first."""
    from weft.indexing.stories import has_stories

    kinds = None if kind is None else (clean(kind),)
    with config.open_weft(store, embedder=embedder) as weft, show_progress("listing"):
        found = list_entities(weft, tenant=tenant, kinds=kinds, as_of=as_of)
        # Tells a story without entities from a store without a story.
        has_story = not found and has_stories(weft.store, (tenant,))
    if as_json:
        output.write_json([{"texts": entity.texts, **output.as_dict(entity.node)} for entity in found[:limit]])
    elif found:
        columns = ("name", "type", "texts", "from", "sure", "also called", "key")
        output.write_table(columns, [_row(entity) for entity in found[:limit]])
    elif has_story:
        output.write_note(_NONE_IN_STORY.format(kind="entity" if kind is None else clean(kind)))
    else:
        output.write_note("No entities are known. `weft index BOOK --as story` finds those of a book.")


def _row(entity: "EntityListing") -> tuple[str, ...]:
    node = entity.node
    confidence = node.fields.get("confidence")
    return (
        output.one_line(node.title, _NAME_WIDTH),
        node.kind,
        str(entity.texts),
        "" if node.sequence is None else str(node.sequence),
        # An entity that the author's own note describes is certain, so it carries no confidence.
        f"{confidence:.2f}" if isinstance(confidence, float) else "note",
        output.one_line(", ".join(dict.fromkeys(alias.text for alias in node.aliases)), _ALIASES_WIDTH),
        node.key,
    )


def merge(
    name: EntityName,
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="Other names of the same entity.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Merge several entities into the first, which takes the names of all."""
    _correct("merge", [name, *others], "", chapter, tenant, store, as_json=as_json)


def split(
    name: EntityName,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS", help="Names of somebody else.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make names of an entity an entity of their own."""
    _correct("split", [name, *aliases], "", chapter, tenant, store, as_json=as_json)


def drop_alias(
    name: EntityName,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS", help="Names that are nobody's.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Remove wrong aliases from an entity."""
    _correct("drop-alias", [name, *aliases], "", chapter, tenant, store, as_json=as_json)


def rename(
    name: EntityName,
    value: Annotated[str, typer.Argument(metavar="NEW", help="The name to print.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Rename an entity. The old name stays as an alias."""
    _correct("rename", [name], value, chapter, tenant, store, as_json=as_json)


def change_type(
    name: EntityName,
    value: Annotated[str, typer.Argument(metavar="TYPE", help="character, location, faction, object or event.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Change the type of an entity."""
    _correct("type", [name], value, chapter, tenant, store, as_json=as_json)


def hide(
    name: EntityName,
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Hide a name that is not an entity."""
    _correct("hide", [name], "", chapter, tenant, store, as_json=as_json)


def print_corrections(
    tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """List the corrections with their numbers."""
    from weft.indexing.stories import read_corrections

    with config.open_weft(store, embedder="none") as weft:
        corrections = read_corrections(weft.store, tenant)
    if as_json:
        output.write_json([{"number": number, **output.as_dict(kept)} for number, kept in corrections.items()])
    elif corrections:
        rows = [(str(number), _describe(kept), str(kept.chapter)) for number, kept in corrections.items()]
        output.write_table(("number", "correction", "from"), rows)
    else:
        output.write_note("There are no corrections.")


def undo(
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="The number, as `weft entities corrections` lists it.")
    ],
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Undo a correction."""
    with config.open_weft(store) as weft, show_progress("reading the story again"):
        undone = undo_correction(weft, number, tenant=tenant)
    if as_json:
        output.write_json(output.as_dict(undone))
    else:
        output.write(f"Undone: {_describe(undone)}.")


def _correct(
    action: str,
    names: list[str],
    value: str,
    chapter: int | None,
    tenant: str,
    store: str | None,
    *,
    as_json: bool,
) -> None:
    """Store a correction, apply it to the story, and print it."""
    with config.open_weft(store) as weft, show_progress("reading the story again"):
        correction = apply_correction(
            weft,
            action,
            [clean(name) for name in names],
            value=clean(value),
            chapter=chapter,
            tenant=tenant,
        )
    if as_json:
        output.write_json(output.as_dict(correction))
    else:
        output.write(f"From chapter {correction.chapter} on: {_describe(correction)}.")


def _describe(correction: "Correction") -> str:
    first, *others = correction.names
    article = "an" if correction.value[:1] in "aeiou" else "a"
    return {
        "merge": f"{first} is also {', '.join(others)}",
        "split": f"{first} is not {', '.join(others)}, who is somebody else",
        "drop-alias": f"{first} is not called {', '.join(others)}",
        "rename": f"{first} is called {correction.value}",
        "type": f"{first} is {article} {correction.value}",
        "hide": f"{first} is no entity",
    }[correction.action]
