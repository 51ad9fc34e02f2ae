"""The same thing twice costs tokens and says nothing new: keep the better-scored one, name it for the other."""

from collections.abc import Iterable, Mapping, Sequence

from weft.frozen import dataclass
from weft.model import Candidate, Json, Node
from weft.profiles.types import Dedupe
from weft.scoring.bm25 import term_hash
from weft.scoring.sketch import likely_pairs, similarity, sketch
from weft.text import analyze, normalise_name
from weft.text.differences import tell_apart


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate in the section it would go to; entries come best first.

    A subject is somebody or something that a section tells of, rather than a text that says something.
    """

    section: str
    candidate: Candidate
    subject: bool = False


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
    rest = [(place, entry) for place, entry in members if place not in repeated]
    for earlier, later in likely_pairs([_sketch(entry.candidate) for _, entry in rest]):
        (first, before), (second, after) = rest[earlier], rest[later]
        if first in repeated or second in repeated or _is_another(before, after):
            continue
        said, again = _said(before.candidate.node), _said(after.candidate.node)
        alike = similarity(said, again)
        if alike >= rule.similarity and not tell_apart(said, again):
            repeated[second] = f"repeats {before.candidate.node.key} ({alike:.0%} alike)"
    return repeated


def _sketch(candidate: Candidate) -> bytes:
    return candidate.sketch or sketch([term_hash(term) for term in analyze(_said(candidate.node))])


def _is_another(before: Entry, after: Entry) -> bool:
    """Whether a subject is another, though a text or the note of somebody else says just what its own says."""
    names = [normalise_name(each.candidate.node.title) for each in (before, after)]
    return after.subject and not (before.subject and names[0] == names[1])


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
