"""`weft entities`: who and what is in a story, and correcting what was found."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, AsOf, EmbedderSpec, OwnTenant, StoreFolder
from weft.interfaces.cli.progress import watched
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.interfaces.story_entities import Listed
    from weft.story import Correction


_NAMELESS: Final = (
    "The story was read, and no {what} was found in it. A note in a folder such as Characters/ or Locations/ "
    "names one."
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="What the entity is called: its name or an alias.")]
Chapter = Annotated[
    int | None,
    typer.Option(
        "--chapter",
        metavar="N",
        min=0,
        help="From which chapter on this is known. Default: where the last of the names first appears.",
    ),
]


def make_app(decorated: bool) -> typer.Typer:
    """The commands about entities."""
    app = typer.Typer(
        help="List who and what is in a story, and correct it.",
        no_args_is_help=True,
        rich_markup_mode="rich" if decorated else None,
    )
    app.command("list")(list_entities)
    app.command("merge")(merge)
    app.command("rename")(rename)
    app.command("type")(change_type)
    app.command("hide")(hide)
    app.command("corrections")(list_corrections)
    app.command("undo")(undo)
    return app


def list_entities(
    kind: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Only these: character, location, faction, object, event."),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many to show.")] = 50,
    *,
    as_of: AsOf = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List the entities, most mentioned first."""
    from weft.indexing.stories import tells_stories
    from weft.interfaces.story_entities import entities
    from weft.story import KINDS

    kinds = KINDS if kind is None else (clean(kind),)
    with config.open_weft(store, embedder=embedder) as weft, watched("telling"):
        found = entities(weft, tenant=clean(tenant), kinds=kinds, as_of=as_of)
        read = not found and tells_stories(weft.store, (clean(tenant),))
    if as_json:
        output.write_json([{"texts": each.texts, **output.shape(each.node)} for each in found[:limit]])
    elif found:
        columns = ("name", "type", "texts", "from", "sure", "also called", "key")
        output.write_table(columns, [_row(each) for each in found[:limit]])
    elif read:
        output.note(_NAMELESS.format(what="entity" if kind is None else clean(kind)))
    else:
        output.note("No entities are known. `weft index BOOK --as story` finds those of a book.")


def _row(each: "Listed") -> tuple[str, ...]:
    node = each.node
    sure = node.fields.get("confidence")
    return (
        output.one_line(node.title, 40),
        node.kind,
        str(each.texts),
        "" if node.sequence is None else str(node.sequence),
        f"{sure:.2f}" if isinstance(sure, float) else "note",
        output.one_line(", ".join(dict.fromkeys(alias.text for alias in node.aliases)), 60),
        node.key,
    )


def merge(
    name: Name,
    others: Annotated[list[str], typer.Argument(metavar="OTHER", help="Who else is the same.")],
    chapter: Chapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Say that several entities are one: the first, with the names of all."""
    _correct("merge", [name, *others], "", chapter, (tenant, store))


def rename(
    name: Name,
    value: Annotated[str, typer.Argument(metavar="NEW", help="The name to print.")],
    chapter: Chapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Give an entity another name; it keeps the old one as an alias."""
    _correct("rename", [name], value, chapter, (tenant, store))


def change_type(
    name: Name,
    value: Annotated[str, typer.Argument(metavar="TYPE", help="character, location, faction, object or event.")],
    chapter: Chapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Say what an entity is."""
    _correct("type", [name], value, chapter, (tenant, store))


def hide(
    name: Name, chapter: Chapter = None, tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None
) -> None:
    """Say that a name is nobody's, so that it makes no entity."""
    _correct("hide", [name], "", chapter, (tenant, store))


def list_corrections(
    tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """List the corrections that are kept."""
    from weft.indexing.stories import corrections_of

    with config.open_weft(store, embedder="none") as weft:
        kept = corrections_of(weft.store, clean(tenant))
    if as_json:
        output.write_json([{"number": number, **output.shape(each)} for number, each in kept.items()])
    elif kept:
        rows = [(str(number), _told(each), str(each.chapter)) for number, each in kept.items()]
        output.write_table(("number", "correction", "from"), rows)
    else:
        output.note("There are no corrections.")


def undo(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="As `weft entities corrections` shows it.")],
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Take a correction back."""
    from weft.interfaces import story_entities

    with config.open_weft(store) as weft, watched("telling"):
        taken = story_entities.undo(weft, number, tenant=clean(tenant))
    output.write(f"Taken back: {_told(taken)}.")


def _correct(
    action: str, names: list[str], value: str, chapter: int | None, place: "tuple[str, StoreFolder]"
) -> None:
    from weft.interfaces import story_entities

    tenant, store = place
    with config.open_weft(store) as weft, watched("telling"):
        cleaned = [clean(name) for name in names]
        made = story_entities.correct(
            weft, action, cleaned, value=clean(value), chapter=chapter, tenant=clean(tenant)
        )
    output.write(f"From chapter {made.chapter} on: {_told(made)}.")


def _told(correction: "Correction") -> str:
    first, *others = correction.names
    return {
        "merge": f"{first} is also {', '.join(others)}",
        "rename": f"{first} is called {correction.value}",
        "type": f"{first} is {_article(correction.value)} {correction.value}",
        "hide": f"{first} is nobody",
    }[correction.action]


def _article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"
