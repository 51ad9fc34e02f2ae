"""The same thing twice costs tokens and says nothing new: keep the better-scored one, name it for the other."""

from collections.abc import Iterable, Mapping, Sequence

from weft.differing import tell_apart
from weft.frozen import dataclass
from weft.model import Candidate, Json, Node
from weft.profile import Dedupe
from weft.sketch import likely_pairs, similarity, sketch
from weft.terms import term_hash
from weft.text import analyze


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate in the section it would go to; entries come best first."""

    section: str
    candidate: Candidate


def dedupe(entries: Sequence[Entry], rule: Dedupe) -> Mapping[int, str]:
    """For each place in `entries` that repeats an earlier one: what it repeats, in words."""
    if rule.scope == "none":
        return {}
    if rule.scope == "page":
        return _repeats(list(enumerate(entries)), rule)
    repeated: dict[int, str] = {}
    for section in dict.fromkeys(entry.section for entry in entries):
        members = [(place, entry) for place, entry in enumerate(entries) if entry.section == section]
        repeated |= _repeats(members, rule)
    return repeated


def _repeats(members: Sequence[tuple[int, Entry]], rule: Dedupe) -> dict[int, str]:
    repeated = _same_fields(members, rule.same, across=True) | _same_fields(members, rule.once, across=False)
    rest = [(place, entry.candidate) for place, entry in members if place not in repeated]
    sketches = [each.sketch or sketch([term_hash(term) for term in analyze(_said(each.node))]) for _, each in rest]
    for earlier, later in likely_pairs(sketches):
        first, second = rest[earlier], rest[later]
        if first[0] in repeated or second[0] in repeated:
            continue
        said, again = _said(first[1].node), _said(second[1].node)
        alike = similarity(said, again)
        if alike >= rule.similarity and not tell_apart(said, again):
            repeated[second[0]] = f"repeats {first[1].node.key} ({alike:.0%} alike)"
    return repeated


def _said(node: Node) -> str:
    """What a node says: its text, or all the rest, for records that say everything in their fields."""
    return node.text or "\n".join([node.title, node.summary, *_inside(node.fields)])


def _inside(value: Json) -> Iterable[str]:
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from _inside(value[name])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _inside(each)
    elif value is not None:
        yield str(value)


def _same_fields(members: Sequence[tuple[int, Entry]], same: Sequence[str], *, across: bool) -> dict[int, str]:
    """Places whose identifying field value was already told, in another section or anywhere."""
    told: dict[tuple[str, str], tuple[str, str]] = {}
    repeated: dict[int, str] = {}
    for place, entry in members if same else ():
        if not entry.candidate.node.fields:
            continue
        values = [(rule, value) for rule in same for value in _values(entry.candidate.node, rule)]
        known = [told[each] for each in values if each in told and not (across and told[each][0] == entry.section)]
        if known:
            repeated[place] = f"tells the same as {known[0][1]} in {known[0][0]}"
            continue
        for each in values:
            told.setdefault(each, (entry.section, entry.candidate.node.key))
    return repeated


def _values(node: Node, rule: str) -> Iterable[str]:
    for name in rule.split("|"):
        yield from _scalars(node.fields.get(name))


def _scalars(value: Json) -> Iterable[str]:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _scalars(each)
