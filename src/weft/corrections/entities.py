"""Correct the entities of stories: merge, split, rename, retype and hide them, and undo that."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, nearest_name
from weft.model import DEFAULT_TENANT, FOUND_ENTITY, Node
from weft.overview.cast import check_kind, list_entities

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.story import Correction

_OF_ALIASES: Final = ("split", "drop-alias")
"""Corrections that take names away from an entity."""


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
        check_kind(value)
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
