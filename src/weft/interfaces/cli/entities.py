"""`weft entities`: list the entities of the stories in a store, and correct what was found."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from msgspec import Struct

from weft import config
from weft.errors import InvalidInput, UnknownName, nearest_name
from weft.interfaces.cli import AsJson, AsOf, EmbedderSpec, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT, FOUND_ENTITY, Filter, Node, View

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.story import Correction


_NONE_IN_STORY: Final = (
    "The story was read, and no {kind} was found in it. A note in a folder such as Characters/ or Locations/ "
    "adds one."
)
_NAME_WIDTH: Final = 40
_ALIASES_WIDTH: Final = 60
"""Characters of names and aliases in the table, so that most rows stay on one line of a wide terminal."""
_ALL_NEIGHBOURS: Final = 1_000_000
"""A limit that no entity's neighbours reach: the chapters that mention it are counted, so none may be left out."""
_PROSE_KINDS: Final = ("chapter", "scene")
_OF_ALIASES: Final = ("split", "drop-alias")
"""Corrections that take names away from an entity."""

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
        found = list_entities(weft, tenant=clean(tenant), kinds=kinds, as_of=as_of)
        # Tells a story without entities from a store without a story.
        has_story = not found and has_stories(weft.store, (clean(tenant),))
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
) -> None:
    """Merge several entities into the first, which takes the names of all."""
    _correct("merge", [name, *others], "", chapter, tenant, store)


def split(
    name: EntityName,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS", help="Names of somebody else.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Split names off an entity: they become an entity of their own."""
    _correct("split", [name, *aliases], "", chapter, tenant, store)


def drop_alias(
    name: EntityName,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS", help="Names that are nobody's.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Drop names of an entity that are no names of anybody."""
    _correct("drop-alias", [name, *aliases], "", chapter, tenant, store)


def rename(
    name: EntityName,
    value: Annotated[str, typer.Argument(metavar="NEW", help="The name to print.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Rename an entity. The old name stays as an alias."""
    _correct("rename", [name], value, chapter, tenant, store)


def change_type(
    name: EntityName,
    value: Annotated[str, typer.Argument(metavar="TYPE", help="character, location, faction, object or event.")],
    chapter: FromChapter = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
) -> None:
    """Change the type of an entity."""
    _correct("type", [name], value, chapter, tenant, store)


def hide(
    name: EntityName, chapter: FromChapter = None, tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None
) -> None:
    """Hide a name that is no entity."""
    _correct("hide", [name], "", chapter, tenant, store)


def print_corrections(
    tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """List the corrections with their numbers."""
    from weft.indexing.stories import read_corrections

    with config.open_weft(store, embedder="none") as weft:
        corrections = read_corrections(weft.store, clean(tenant))
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
) -> None:
    """Undo a correction."""

    with config.open_weft(store) as weft, show_progress("reading the story again"):
        undone = undo_correction(weft, number, tenant=clean(tenant))
    output.write(f"Undone: {_describe(undone)}.")


def _correct(
    action: str, names: list[str], value: str, chapter: int | None, tenant: str, store: str | None
) -> None:
    """Store a correction, apply it to the story, and print it."""

    with config.open_weft(store) as weft, show_progress("reading the story again"):
        correction = apply_correction(
            weft,
            action,
            [clean(name) for name in names],
            value=clean(value),
            chapter=chapter,
            tenant=clean(tenant),
        )
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


# --- the entities of a store -------------------------------------------------------------------------------


class EntityListing(Struct, frozen=True):
    """An entity, and the number of chapters or scenes that mention it."""

    node: Node
    texts: int


def list_entities(
    weft: "Weft", *, tenant: str = DEFAULT_TENANT, kinds: Sequence[str] | None = None, as_of: int | None = None
) -> tuple[EntityListing, ...]:
    """Return the entities of a tenant, both those with notes and those found in prose, most mentioned first.

    Without `kinds` they are of all kinds.
    """
    import numpy as np

    from weft.story import KINDS

    for kind in kinds or ():
        _check_kind(kind)
    with weft.reading(View((tenant,), as_of)) as reading:
        ids = reading.snapshot.matching_ids(Filter(kinds=tuple(KINDS if kinds is None else kinds))).tolist()
        near = reading.snapshot.adjacency(ids, _ALL_NEIGHBOURS)
        is_prose = np.array([kind in _PROSE_KINDS for kind in near.kinds] or [False])[near.kind]
        # Several edges may lead to one chapter; a set of pairs counts it once.
        mentions = set(zip(near.owner[is_prose].tolist(), near.neighbour[is_prose].tolist(), strict=True))
        nodes = {id: row.node for id, row in reading.snapshot.nodes(ids).items()}
    texts = Counter(entity for entity, _ in mentions)
    listings = (EntityListing(node, texts[id]) for id, node in nodes.items())
    return tuple(sorted(listings, key=lambda listing: (-listing.texts, listing.node.title, listing.node.key)))


def apply_correction(
    weft: "Weft",
    action: str,
    names: Sequence[str],
    *,
    value: str = "",
    chapter: int | None = None,
    tenant: str = DEFAULT_TENANT,
) -> "Correction":
    """Store a correction and apply it to the stories.

    It holds from `chapter` on; by default from the one by which all the named entities have appeared.
    """
    from weft.indexing.stories import add_correction
    from weft.story import Correction

    # All names are looked up first: a correction with an unknown name must not be stored.
    named = [_find_entity(weft, name, tenant) for name in names]
    if action in _OF_ALIASES:
        _check_aliases(action, names, named)
    if action == "hide":
        _check_is_shown(names[0], named[0])
    if action == "type":
        _check_kind(value)
    if action == "rename" and not value.strip():
        raise InvalidInput("The new name is empty. Give a name, as in `weft entities rename Strider Aragorn`.")
    # A correction from chapter 1 on would tell readers of early chapters who someone turns out to be.
    if chapter is None:
        chapter = max((node.sequence if node.known_from is None else node.known_from) or 0 for node in named)
    correction = Correction(action, tuple(names), value.strip(), chapter)
    add_correction(weft.store, tenant, correction)
    # Indexing nothing new applies all corrections again.
    weft.ingest((), tenant=tenant)
    return correction


def undo_correction(weft: "Weft", number: int, *, tenant: str = DEFAULT_TENANT) -> "Correction":
    """Remove a correction by its number, apply the remaining ones, and return it."""
    from weft.indexing.stories import remove_correction

    removed = remove_correction(weft.store, tenant, number)
    weft.ingest((), tenant=tenant)
    return removed


def _check_kind(kind: str) -> None:
    from weft.story import KINDS

    if kind not in KINDS:
        raise UnknownName("type of entity", kind, KINDS)


def _check_aliases(action: str, names: Sequence[str], named: Sequence[Node]) -> None:
    """Raise InvalidInput unless all names but the first are aliases that the prose gives to the first."""
    from weft.story import name_key

    owner = named[0]
    by_key = {name_key(alias.text): alias for alias in owner.aliases}
    for name, node in zip(names[1:], named[1:], strict=True):
        own = ", ".join(dict.fromkeys(alias.text for alias in owner.aliases)) or "(none)"
        if node.key != owner.key:
            raise InvalidInput(f"{name!r} is no other name of {owner.title}. Its other names: {own}.")
        alias = by_key.get(name_key(name))
        if alias is None:
            raise InvalidInput(
                f"{owner.title} is shown as {name!r}, which `{action}` cannot take away. Its other names: {own}. "
                f"`weft entities rename` gives it another name first; `weft entities hide` hides all of it."
            )
        if FOUND_ENTITY not in owner.key and not alias.found:
            raise InvalidInput(f"The note {owner.key} gives the name {name!r}. Take it out of the note.")


def _check_is_shown(name: str, node: Node) -> None:
    """Raise InvalidInput where a name is an alias: hiding the whole entity is not what was meant."""
    from weft.story import name_key

    if name_key(name) != name_key(node.title):
        raise InvalidInput(
            f"{name!r} is another name of {node.title}, which would be hidden as a whole. "
            f"`weft entities drop-alias {node.title!r} {name!r}` takes only this name away, "
            f"`weft entities split {node.title!r} {name!r}` makes somebody else of it, and "
            f"`weft entities hide {node.title!r}` hides all of it."
        )


def _find_entity(weft: "Weft", name: str, tenant: str) -> Node:
    """Return the entity of a name or alias; raise InvalidInput with the closest name if there is none."""
    from weft.story import name_key

    by_name: dict[str, Node] = {}
    # In reverse, so that of two entities with one name the more mentioned is found.
    listings = list(reversed(list_entities(weft, tenant=tenant)))
    for listing in listings:
        by_name.update({name_key(alias.text): listing.node for alias in listing.node.aliases})
    # A name by which an entity is shown comes before the same name as another's alias.
    by_name.update({name_key(listing.node.title): listing.node for listing in listings})
    if name_key(name) in by_name:
        return by_name[name_key(name)]
    closest = nearest_name(name_key(name), by_name)
    hint = f" Did you mean {by_name[closest].title!r}?" if closest else ""
    raise InvalidInput(f"No entity of {tenant} is called {name!r}.{hint} `weft entities list` prints them.")
