"""Find candidates that repeat another one: the better-scored one stays, and the ledger names it for the other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Json, Node
from weft.ports import LINE_OF
from weft.profiles.types import Dedupe
from weft.runtime import deadline
from weft.scoring.bm25 import term_hash
from weft.scoring.similarity import likely_pairs, similarity, sketch
from weft.text import analyze, normalise_name
from weft.text.differences import are_different

_OVERLOADED_KINDS: Final = frozenset({"function", "method"})


class Entry(Struct, frozen=True):
    """A candidate in the section it would go to; entries come best first.

    A subject is a person or thing that a section is about, rather than a text that says something.
    """

    section: str
    candidate: Candidate
    subject: bool = False


def dedupe(entries: Sequence[Entry], rule: Dedupe) -> Mapping[int, str]:
    """Return, by index, which entries repeat an earlier one, and in words what each repeats."""
    if rule.scope == "none":
        return {}
    # Indices are those of the whole list in both cases, so that the caller can look entries up by them.
    if rule.scope == "page":
        return _find_repeats(list(enumerate(entries)), rule)
    repeated: dict[int, str] = {}
    for section in dict.fromkeys(entry.section for entry in entries):
        members = [(index, entry) for index, entry in enumerate(entries) if entry.section == section]
        repeated |= _find_repeats(members, rule)
    return repeated


def _find_repeats(members: Sequence[tuple[int, Entry]], rule: Dedupe) -> dict[int, str]:
    # Fields first: they are certain, and need no text to be read.
    repeated = _equal_fields(members, rule.same, across=True) | _equal_fields(members, rule.once, across=False)
    rest = [(index, entry) for index, entry in members if index not in repeated]
    # Sketches propose the pairs, so that only a few texts are compared word by word.
    for earlier, later in likely_pairs([_sketch(entry.candidate) for _, entry in rest]):
        if deadline.leave_out("repeats were not all looked for"):
            break
        (first_index, first), (second_index, second) = rest[earlier], rest[later]
        # What repeats something is not printed, so nothing else can be said to repeat it.
        if first_index in repeated or second_index in repeated or _is_other_subject(first, second):
            continue
        first_text, second_text = _content(first.candidate.node), _content(second.candidate.node)
        alike = similarity(first_text, second_text, at_least=rule.similarity)
        # Two invoices may differ in a number only: alike in words, and still not the same.
        if alike >= rule.similarity and not are_different(first_text, second_text):
            repeated[second_index] = f"repeats {first.candidate.node.key} ({alike:.0%} alike)"
    return repeated


def _sketch(candidate: Candidate) -> bytes:
    return candidate.sketch or sketch([term_hash(term) for term in analyze(_content(candidate.node))])


def _is_other_subject(first: Entry, second: Entry) -> bool:
    """Return whether the second entry is a subject of its own, though the first one's text says just the same."""
    if not second.subject:
        return False
    names = [normalise_name(entry.candidate.node.title) for entry in (first, second)]
    return not (first.subject and names[0] == names[1])


def _content(node: Node) -> str:
    """Return a node's text, or all the rest for records that say everything in their fields."""
    return node.text or "\n".join([node.title, node.summary, *_leaf_values(node.fields)])


def _leaf_values(value: Json) -> Iterable[str]:
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from _leaf_values(value[name])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaf_values(inner)
    elif value is not None:
        yield str(value)


def _equal_fields(members: Sequence[tuple[int, Entry]], rules: Sequence[str], *, across: bool) -> dict[int, str]:
    """Return the entries with an identifying field value that an earlier entry has.

    With `across`, the earlier one must be in another section.
    """
    known: dict[tuple[str, str], tuple[str, str]] = {}
    repeated: dict[int, str] = {}
    for index, entry in members if rules else ():
        if not entry.candidate.node.fields:
            continue
        values = [(rule, value) for rule in rules for value in _field_values(entry.candidate.node, rule)]
        earlier = [
            known[value]
            for value in values
            if value in known and not (across and known[value][0] == entry.section)
        ]
        if earlier:
            section, key = earlier[0]
            repeated[index] = f"tells the same as {key} in {section}"
            # The values of a repeated entry are not remembered: the ledger names the entry that is printed.
            continue
        for value in values:
            known.setdefault(value, (entry.section, entry.candidate.node.key))
    return repeated


def _field_values(node: Node, rule: str) -> Iterable[str]:
    for name in rule.split("|"):
        yield from _scalars(node.fields.get(name))


def _scalars(value: Json) -> Iterable[str]:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scalars(inner)


def join_overloads(candidates: tuple[Candidate, ...]) -> tuple[tuple[Candidate, ...], list[Candidate]]:
    """Return the candidates with overloads of a function as one item, and the overloads that it stands for.

    The longest is the one that does the work; it takes the place of the best, and shows the others' signatures.
    """
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for each in candidates:
        node, origin = each.node, each.node.origin
        # A part that was cut out for the question, such as a call, stands for itself.
        if node.kind in _OVERLOADED_KINDS and origin.file and each.window is None:
            groups.setdefault((node.tenant, origin.source, origin.file, node.title), []).append(each)
    joined: dict[int, Candidate] = {}
    others: list[Candidate] = []
    for group in groups.values():
        if len(group) > 1:
            chosen = max(group, key=lambda each: len(each.node.text))
            rest = [each for each in group if each is not chosen]
            members = sorted(
                [each.node for each in rest], key=lambda node: (node.origin.first_line or 0, node.key)
            )
            best = group[0]
            joined[id(best)] = replace(chosen, score=best.score, parts=best.parts, members=tuple(members))
            others += rest
    if not joined:
        return candidates, []
    left = {id(each) for group in groups.values() if len(group) > 1 for each in group[1:]}
    return tuple([joined.get(id(each), each) for each in candidates if id(each) not in left]), others


def find_said_elsewhere(
    entries: Sequence[Entry], repeated: Mapping[int, str], wanted_kinds: Collection[str] = ()
) -> dict[int, str]:
    """Return the entries that another one says: a task in the text of its note, the mere name of another node.

    Nodes of the wanted kinds stay beside the note that holds them as a line.
    """
    kept = [entry.candidate.node for index, entry in enumerate(entries) if index not in repeated]
    present = {node.ref for node in kept}
    named: dict[tuple[str, str], Node] = {}
    # Of nodes of one name the one that says most is kept, and then the best.
    for node in sorted(kept, key=lambda node: (_is_mere_name(node), not node.tags)):
        named.setdefault((node.tenant, node.title), node)
    said: dict[int, str] = {}
    for index, entry in enumerate(entries):
        node = entry.candidate.node
        text = node.fields.get(LINE_OF)
        # What was asked for by name or kind stays.
        is_wanted = "start" in entry.candidate.parts or node.kind in wanted_kinds
        if text and (node.tenant, text) in present and not is_wanted:
            said[index] = f"a line of {text}"
        elif (other := named.get((node.tenant, node.title), node)).ref != node.ref and _is_mere_name(node):
            said[index] = f"only the name of {other.key}"
    return said


def _is_mere_name(node: Node) -> bool:
    """Return whether a node has nothing but a title, as the notes have that are values of fields."""
    if node.text or node.summary or not node.title:
        return False
    # Fields of the source's own are not printed, but children are.
    return all(name.startswith("_") and (name != "_children" or not value) for name, value in node.fields.items())
