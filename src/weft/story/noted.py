"""The relations that the fields of a note state: `spouse: "[[Catelyn]]"`, `members: [...]`."""

from collections.abc import Mapping, Sequence
from typing import Final

from weft.model import Json

_FIELDS: Final[Mapping[str, tuple[str, bool]]] = {
    **dict.fromkeys(("spouse", "wife", "husband", "married_to", "partner"), ("spouse", False)),
    **dict.fromkeys(("children", "child", "son", "daughter", "sons", "daughters", "parent_of"), ("parent", False)),
    **dict.fromkeys(("parents", "parent", "father", "mother", "child_of"), ("parent", True)),
    **dict.fromkeys(("siblings", "sibling", "brother", "sister", "brothers", "sisters"), ("sibling", False)),
    **dict.fromkeys(("friends", "friend", "allies", "ally"), ("friend", False)),
    **dict.fromkeys(("enemies", "enemy", "rivals", "rival"), ("enemy", False)),
    **dict.fromkeys(("member", "member_of", "faction", "factions", "house", "affiliation"), ("member", False)),
    "members": ("member", True),
    **dict.fromkeys(("rules", "ruler_of"), ("ruler", False)),
    **dict.fromkeys(("ruler", "ruled_by"), ("ruler", True)),
    **dict.fromkeys(("located_in", "location", "home", "lives_in", "residence"), ("located_in", False)),
}
"""Fields with the relation they state, and whether it leads from the one they name to the note."""


def noted_relations(fields: Mapping[str, Json]) -> tuple[tuple[str, str, bool, str], ...]:
    """The relations of a note: field, type, whether it leads to the note, and the name at its other end."""
    return tuple(
        (field, *_FIELDS[field], name)
        for field in sorted(_FIELDS.keys() & fields.keys())
        for value in _listed(fields[field])
        if (name := _name(value))
    )


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _name(value: Json) -> str:
    """The name in `[[Folder/Name|label]]`, or the text itself; YAML reads bare wikilinks as nested lists."""
    while isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return ""
    target = value.strip().removeprefix("[[").removesuffix("]]").split("|")[0].split("#")[0]
    return target.rsplit("/", 1)[-1].strip()
