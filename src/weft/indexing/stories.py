"""What people corrected about the entities of their stories: kept in the store, apart from what is found."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.indexing.link import SETTINGS
from weft.model import FOUND_ENTITY, STORY_MAKER, Alias, AliasSet, Edge, EdgeSet, Filter, Node, Origin, View
from weft.ports import Changes, Snapshot, Store
from weft.story import KINDS, Correction, Entity, Known, Passage, Prose, Story, folded, noted_relations, tell

KEPT_UNDER: Final = ":corrections"
"""The source under whose units corrections are kept: no source has this name, so that no indexing touches them."""


def corrections_of(store: Store, tenant: str) -> Mapping[int, Correction]:
    """The corrections of a tenant's stories by number, in the order in which they were made."""
    kept = sorted((int(name), orjson.loads(stamp)) for name, stamp in store.units(tenant, KEPT_UNDER).items())
    return {
        number: Correction(each["action"], tuple(each["names"]), each["value"], each["chapter"])
        for number, each in kept
    }


def add_correction(store: Store, tenant: str, correction: Correction) -> int:
    """Keep a correction after those before it and return its number; it holds when the story is next told."""
    number = max(corrections_of(store, tenant), default=0) + 1
    store.write(Changes(units=((tenant, KEPT_UNDER, str(number), orjson.dumps(correction).decode()),)))
    return number


def take_back(store: Store, tenant: str, number: int) -> Correction:
    """Forget a correction."""
    kept = corrections_of(store, tenant)
    if number not in kept:
        listed = ", ".join(map(str, kept)) or "(none)"
        raise InvalidInput(
            f"There is no correction {number}. Kept: {listed}. `weft entities corrections` shows them."
        )
    store.write(Changes(units=((tenant, KEPT_UNDER, str(number), ""),)))
    return kept[number]


PROSE_KINDS: Final = ("chapter", "scene")
VERSION: Final = "7"
"""Changes whenever the same prose would be told differently."""
_TOLD: Final = ":story"
"""The source under whose units the told stories are remembered: no source has this name."""
_UNIT: Final = ":story"
_SUMMARY: Final = 320
_QUOTED: Final = 240
_MARKS: Final = re.compile(r"^#{1,6}[^\n]*$|\[\[[^\]|\n]*\||\[\[|\]\]|\]\([^)\n]*\)", re.MULTILINE)
_NOT_WORD: Final = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Retold:
    """A story that changed: its nodes and edges as they are now, and the nodes that are gone."""

    source: str
    tenant: str
    unit: str
    nodes: tuple[Node, ...]
    edges: tuple[EdgeSet, ...]
    aliases: tuple[AliasSet, ...]
    gone: tuple[tuple[str, str], ...]
    stamp: str

    def remembered(self) -> tuple[str, str, str, str]:
        """The unit to store once all of it is written."""
        return (self.tenant, _TOLD, self.source, self.stamp)


def changed_stories(store: Store, tenant: str, sources: Iterable[str]) -> Iterator[Retold]:
    """The stories among some sources, and those told before, whose prose, notes or corrections changed."""
    told = store.units(tenant, _TOLD)
    for source in sorted({*sources, *told}):
        with store.snapshot(View((tenant,))) as snapshot:
            texts = _prose_nodes(snapshot, source)
            if not texts and source not in told:
                continue
            known = _notes(snapshot)
        corrections = tuple(corrections_of(store, tenant).values())
        stamp = _stamp(texts, known, corrections) if texts else ""
        if stamp != told.get(source):
            yield _retold(store, tenant, source, _Told(source, tenant, texts, known, corrections), stamp)


def tells_stories(store: Store, tenants: Iterable[str]) -> bool:
    """Whether any of the tenants has a story."""
    return any(store.units(tenant, _TOLD) for tenant in tenants)


def hand_on(before: Store, after: Store, tenant: str) -> None:
    """Give another store the settings from which the same prose makes the same story: corrections and wishes."""
    kept = (
        (tenant, source, name, stamp)
        for source in (KEPT_UNDER, SETTINGS)
        for name, stamp in before.units(tenant, source).items()
    )
    after.write(Changes(units=tuple(kept)))


# --- what a story is told from -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Told:
    """What one story is told from."""

    source: str
    tenant: str
    texts: Sequence[Node]
    known: Sequence[Node]
    corrections: Sequence[Correction]


def _prose_nodes(snapshot: Snapshot, source: str) -> list[Node]:
    """The chapters and scenes of a source that have text, in narrative order; those without a place come last."""
    nodes = _nodes(snapshot, Filter(kinds=PROSE_KINDS, sources=(source,)))
    placed = [node for node in nodes if node.text.strip()]
    return sorted(placed, key=lambda node: (node.sequence is None, node.sequence or 0, node.key))


def _notes(snapshot: Snapshot) -> list[Node]:
    """The entities that somebody described, which are not found in prose."""
    nodes = _nodes(snapshot, Filter(kinds=KINDS))
    return sorted((node for node in nodes if FOUND_ENTITY not in node.key), key=lambda node: node.key)


def _nodes(snapshot: Snapshot, wanted: Filter) -> list[Node]:
    return [row.node for row in snapshot.nodes(snapshot.matching(wanted).tolist()).values()]


def _stamp(texts: Sequence[Node], known: Sequence[Node], corrections: Sequence[Correction]) -> str:
    """A digest of everything that a story is told from."""
    told = [VERSION, [(node.key, node.sequence, node.text) for node in texts], [_known(node) for node in known]]
    digest = xxhash.xxh3_128_hexdigest(
        orjson.dumps([*told, [noted_relations(node.fields) for node in known], corrections])
    )
    return f"{digest} {len(texts)}"


def _known(node: Node) -> Known:
    return Known(node.key, node.kind, (node.title, *(alias.text for alias in node.aliases if not alias.found)))


# --- the story as nodes and edges --------------------------------------------------------------------------


def _retold(store: Store, tenant: str, source: str, told: _Told, stamp: str) -> Retold:
    proses = [Prose(node.key, _read(node), node.sequence or 0) for node in told.texts]
    last = max((prose.sequence for prose in proses), default=0)
    corrections = [each for each in told.corrections if each.chapter <= last]
    story = tell(proses, [_known(node) for node in told.known], corrections) if proses else Story()
    keys = _keys(story, source)
    nodes = tuple(
        _node(entity, key, told) for entity, key in zip(story.entities, keys, strict=True) if not entity.note
    )
    edges = (*_mentions(story, keys, told), *_ties(story, keys, told), *_noted_ties(told))
    unit = f"{tenant}/{_UNIT}"
    held = {(tenant, node.key) for node in nodes}
    gone = tuple(slot for slot in store.unit_keys(source, unit) if slot not in held)
    makers = _makers(store, tenant, source)
    drawn = tuple(EdgeSet(maker, tenant, edges if maker == makers[0] else ()) for maker in makers)
    names = _names_of_notes(story, told)
    called = tuple(AliasSet(_namer(maker), tenant, names if maker == makers[0] else {}) for maker in makers)
    return Retold(source, tenant, unit, nodes, drawn, called, gone, stamp)


def _makers(store: Store, tenant: str, source: str) -> tuple[str, ...]:
    """Who tells this story, and before him the older versions, in place of whose work there is nothing now."""
    mine = _maker(source)
    older = {maker for maker, of in store.drawn(mine.removesuffix(VERSION)) if of == tenant} - {mine}
    return (mine, *sorted(older))


def _names_of_notes(story: Story, told: _Told) -> dict[str, tuple[Alias, ...]]:
    """By what other names the prose calls those who have notes: Sansa, of whom the note says Sansa Stark."""
    given = {node.key: {folded(name) for name in _known(node).names} for node in told.known}
    return {
        entity.note: tuple(
            Alias(name, _namer(_maker(told.source)))
            for name in entity.aliases
            if folded(name) not in given[entity.note]
        )
        for entity in story.entities
        if entity.note
    }


def _maker(source: str) -> str:
    return f"{STORY_MAKER}{source}@{VERSION}"


def _namer(maker: str) -> str:
    """Who gives names to notes: another than he who names what he found, for he takes back all that he gave."""
    story, _, version = maker.rpartition("@")
    return f"{story}:notes@{version}"


def _read(node: Node) -> str:
    """The text as it is read aloud: marks, headings and targets of links are blank, and words stay in place."""
    if node.language != "markdown":
        return node.text
    return _MARKS.sub(lambda match: " " * len(match.group()), node.text)


def _keys(story: Story, source: str) -> list[str]:
    """A key for each entity: that of its note, or one made from its name, numbered where names are alike."""
    used: dict[str, int] = {}
    keys = []
    for entity in story.entities:
        slug = _NOT_WORD.sub("-", entity.name.lower()).strip("-") or "unnamed"
        used[slug] = used.get(slug, 0) + 1
        number = f"-{used[slug]}" if used[slug] > 1 else ""
        keys.append(entity.note or f"{source}{FOUND_ENTITY}{slug}{number}")
    return keys


def _node(entity: Entity, key: str, told: _Told) -> Node:
    """An entity as a node whose text is the passage that defines it."""
    place = entity.definition
    text = told.texts[place.prose].text[place.start : place.end]
    first = told.texts[entity.mentions[0].prose]
    return Node(
        key=key,
        kind=entity.kind,
        tenant=told.tenant,
        title=entity.name,
        summary=_shortened(text, _SUMMARY),
        text=text,
        fields={
            "confidence": entity.confidence,
            "first_sequence": first.sequence,
            "mentions": len(entity.mentions),
            "spoken": entity.spoke,
        },
        aliases=tuple(Alias(name, _maker(told.source)) for name in entity.aliases),
        origin=_origin(told.texts[place.prose], place),
        sequence=first.sequence,
    )


def _origin(node: Node, place: Passage) -> Origin:
    """Where a passage of a node stands in the node's file."""
    origin = node.origin
    if origin.first_line is None:
        return origin
    first = origin.first_line + node.text.count("\n", 0, place.start)
    return Origin(
        origin.source, origin.file, first, first + node.text.count("\n", place.start, place.end), origin.url
    )


def _shortened(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 1].rsplit(" ", 1)[0] + "…"


def _mentions(story: Story, keys: Sequence[str], told: _Told) -> Iterator[Edge]:
    """From each text to everyone it names; who is named more often weighs more."""
    for entity, key in zip(story.entities, keys, strict=True):
        counts: dict[int, int] = {}
        firsts: dict[int, str] = {}
        for sighting in entity.mentions:
            counts[sighting.prose] = counts.get(sighting.prose, 0) + 1
            text = told.texts[sighting.prose].text
            firsts.setdefault(
                sighting.prose, f"{' '.join(text[sighting.start : sighting.end].split())} @{sighting.start}"
            )
        for prose, count in counts.items():
            weight = round(count / (count + 1), 6)
            source = told.texts[prose].key
            yield Edge(source, key, "mentions", weight, entity.confidence, firsts[prose], told.tenant)


def _ties(story: Story, keys: Sequence[str], told: _Told) -> Iterator[Edge]:
    for tie in story.ties:
        evidence = "\n".join(_quoted(told.texts[place.prose], place) for place in tie.evidence)
        yield Edge(keys[tie.source], keys[tie.target], tie.type, tie.weight, tie.confidence, evidence, told.tenant)


def _quoted(node: Node, place: Passage) -> str:
    """A passage with the key of the text it stands in."""
    return f"{node.key}: {_shortened(node.text[place.start : place.end], _QUOTED)}"


def _noted_ties(told: _Told) -> Iterator[Edge]:
    """The relations that the fields of notes state."""
    by_name = {name.casefold(): node.key for node in reversed(told.known) for name in _known(node).names}
    for node in told.known:
        for field, kind, inward, name in noted_relations(node.fields):
            other = by_name.get(name.casefold())
            if other is not None and other != node.key:
                source, target = (other, node.key) if inward else (node.key, other)
                yield Edge(source, target, kind, 1.0, 1.0, f"{node.key}: {field}: {name}", told.tenant)
