"""Apply what people corrected to the entities that were found: one correction after another, in their order."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from weft.story.display_name import best_name, format_name, name_key
from weft.story.groups import Group
from weft.story.kinds import Tally
from weft.story.model import Correction, Form

_CORRECTED: Final = 1.0
"""The confidence of what a person said."""


def apply_corrections(
    groups: Sequence[Group], corrections: Sequence[Correction], tallies: Mapping[Form, Tally]
) -> list[Group]:
    """Return the entities as people corrected them, without those of no kind; unknown names change nothing."""
    corrected = list(groups)
    for correction in corrections:
        indexes = _find_groups(corrected, correction.names)
        if not indexes:
            continue
        if correction.action == "merge":
            corrected = _merge(corrected, indexes)
        elif correction.action in ("split", "drop-alias"):
            corrected = _take_aliases(corrected, indexes[0], correction, tallies)
        elif correction.action == "hide":
            corrected = [each for index, each in enumerate(corrected) if index not in indexes]
        else:
            corrected[indexes[0]] = _change(corrected[indexes[0]], correction)
    return [each for each in corrected if each.kind]


def _find_groups(groups: Sequence[Group], names: Sequence[str]) -> list[int]:
    """Return the indexes of the groups that the names mean, that of the first name first."""
    found = [_find_group(groups, name) for name in names]
    return [index for index in dict.fromkeys(found) if index >= 0]


def _find_group(groups: Sequence[Group], name: str) -> int:
    """Return the index of the group that is shown by a name, else of one that is also called so, else -1."""
    shown = (index for index, each in enumerate(groups) if name_key(each.name) == name_key(name))
    called = (index for index, each in enumerate(groups) if each.is_called(name))
    return next(shown, next(called, -1))


def _merge(groups: Sequence[Group], indexes: Sequence[int]) -> list[Group]:
    """Merge groups into the first of them, which stays at its place."""
    merged = [groups[index] for index in indexes]
    joined = replace(
        merged[0],
        forms=tuple(form for each in merged for form in each.forms),
        names=tuple(name for each in merged for name in each.names),
        note=next((each.note for each in merged if each.note), ""),
        confidence=_CORRECTED,
    )
    return [
        joined if index == indexes[0] else each
        for index, each in enumerate(groups)
        if index == indexes[0] or index not in indexes
    ]


def _take_aliases(
    groups: Sequence[Group], index: int, correction: Correction, tallies: Mapping[Form, Tally]
) -> list[Group]:
    """Take names away from a group; split off, they are somebody of their own, dropped, they are nobody's."""
    owner = groups[index]
    keys = {name_key(name) for name in correction.names[1:]}
    taken = tuple(form for form in owner.forms if name_key(format_name(form)) in keys)
    kept = replace(
        owner,
        forms=tuple(form for form in owner.forms if form not in taken),
        names=tuple(name for name in owner.names if name_key(name) not in keys),
        confidence=_CORRECTED,
    )
    corrected = [*groups[:index], kept, *groups[index + 1 :]]
    if correction.action == "split" and taken:
        corrected.append(Group(taken, best_name(taken, tallies), owner.kind, _CORRECTED))
    return corrected


def _change(group: Group, correction: Correction) -> Group:
    """Give a group another name or kind."""
    if correction.action == "rename":
        return replace(group, name=correction.value, names=(correction.value, *group.names), confidence=_CORRECTED)
    return replace(group, kind=correction.value, confidence=_CORRECTED)
