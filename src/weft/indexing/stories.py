"""Find the entities and relations of stories again when their prose changes, and keep the corrections people made.

`changed_stories` is called at the end of an indexing run. It compares the prose, the notes and the corrections of
each story with the stamp of the last run, and turns what `weft.story` finds in a changed story into nodes and
edges. Corrections are kept in the store apart from what is found, so that they outlive every new run.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash
from msgspec import Struct
from msgspec.structs import asdict

from weft.errors import InvalidInput
from weft.indexing.chapters import BOOK_FIELD, PROSE_KINDS, STORIES_SOURCE
from weft.indexing.relations import SETTINGS_SOURCE
from weft.model import FOUND_ENTITY, STORY_MAKER, Alias, AliasSet, Edge, EdgeSet, Filter, Node, Origin, View
from weft.ports import Changes, Snapshot, Store, matching_nodes
from weft.story import (
    KINDS,
    Correction,
    Entity,
    KnownEntity,
    Passage,
    Prose,
    Story,
    describe_kin,
    extract_story,
    name_key,
    read_note_relations,
)
from weft.text.slugs import number_repeated

STORY_VERSION: Final = "17"
"""The version of story reading: raise it when the same prose would give other entities or relations."""

_CORRECTIONS_SOURCE: Final = ":corrections"
"""The source under whose units corrections are kept: no real source has this name, so no indexing touches them."""
_STORY_UNIT: Final = ":story"
"""The unit to which the found entities of a source belong: no file has this name."""

_OF_SOURCE: Final = "//"
"""Stands between the name of a source and that of one of its books."""
_MAX_SUMMARY_CHARACTERS: Final = 320
"""About two sentences of the passage that defines an entity."""
_MAX_QUOTE_CHARACTERS: Final = 240
"""About one long sentence: a relation may have several quotes as evidence, and each must show who does what."""

_MARKUP: Final = re.compile(r"^#{1,6}[^\n]*$|\[\[[^\]|\n]*\||\[\[|\]\]|\]\([^)\n]*\)", re.MULTILINE)
_NON_WORD: Final = re.compile(r"\W+")


# --- corrections -----------------------------------------------------------------------------------------------


def read_corrections(store: Store, tenant: str) -> Mapping[int, Correction]:
    """Read the corrections of a tenant's stories by number, in the order in which they were made."""
    # By number and not by text, because the tenth correction comes after the ninth.
    units = store.units(tenant, _CORRECTIONS_SOURCE)
    numbered = sorted((int(name), orjson.loads(stamp)) for name, stamp in units.items())
    return {
        number: Correction(stored["action"], tuple(stored["names"]), stored["value"], stored["chapter"])
        for number, stored in numbered
    }


def add_correction(store: Store, tenant: str, correction: Correction) -> int:
    """Store a correction after those before it and return its number; it counts when the story is next indexed."""
    number = max(read_corrections(store, tenant), default=0) + 1
    stamp = orjson.dumps(correction, default=asdict).decode()
    store.write(Changes(units=((tenant, _CORRECTIONS_SOURCE, str(number), stamp),)))
    return number


def remove_correction(store: Store, tenant: str, number: int) -> Correction:
    """Remove a correction and return it."""
    corrections = read_corrections(store, tenant)
    if number not in corrections:
        numbers = ", ".join(map(str, corrections)) or "(none)"
        raise InvalidInput(
            f"There is no correction {number}. Kept: {numbers}. `weft entities corrections` shows them."
        )
    store.write(Changes(units=((tenant, _CORRECTIONS_SOURCE, str(number), ""),)))
    return corrections[number]


def copy_settings(source: Store, target: Store, tenant: str) -> None:
    """Copy a tenant's corrections and link settings, with which the same prose gives the same story and links."""
    units = (
        (tenant, kept_under, name, stamp)
        for kept_under in (_CORRECTIONS_SOURCE, SETTINGS_SOURCE)
        for name, stamp in source.units(tenant, kept_under).items()
    )
    target.write(Changes(units=tuple(units)))


# --- which stories changed -------------------------------------------------------------------------------------


class ChangedStory(Struct, frozen=True):
    """A story that changed: its nodes, edges and aliases as they are now, and the nodes to remove."""

    source: str
    name: str
    tenant: str
    unit: str
    nodes: tuple[Node, ...]
    edges: tuple[EdgeSet, ...]
    aliases: tuple[AliasSet, ...]
    removed: tuple[tuple[str, str], ...]
    stamp: str

    def stamped_unit(self) -> tuple[str, str, str, str]:
        """Return the unit to store once the whole story is written."""
        return (self.tenant, STORIES_SOURCE, self.name, self.stamp)


class _StoryInput(Struct, frozen=True):
    """Everything that one story is read from: its prose, the notes about entities, and the corrections."""

    name: str
    tenant: str
    texts: Sequence[Node]
    notes: Sequence[Node]
    corrections: Sequence[Correction]

    @property
    def source(self) -> str:
        """The source of the story, whose name the story has unless it is one book of several."""
        return self.name.partition(_OF_SOURCE)[0]

    @property
    def book(self) -> str:
        """The book that it is of its source, if that holds several."""
        return self.name.partition(_OF_SOURCE)[2]

    def stamp(self) -> str:
        """Return a digest of all of it; empty for a story that has no prose any more."""
        if not self.texts:
            return ""
        content = [
            STORY_VERSION,
            [(node.key, node.sequence, node.text) for node in self.texts],
            [_known_entity(note) for note in self.notes],
            [read_note_relations(note.fields) for note in self.notes],
            self.corrections,
        ]
        return f"{xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=asdict))} {len(self.texts)}"


def changed_stories(store: Store, tenant: str, sources: Iterable[str]) -> Iterator[ChangedStory]:
    """Yield the stories, of the given sources and indexed before, whose prose, notes or corrections changed."""
    stamps = store.units(tenant, STORIES_SOURCE)
    # Stories indexed before are looked at too: a note of another source may describe their entities.
    for source in sorted({*sources, *(name.partition(_OF_SOURCE)[0] for name in stamps)}):
        with store.snapshot(View((tenant,))) as snapshot:
            books = _read_books(snapshot, source)
            # Stories that the source no longer holds are emptied.
            books |= {name: [] for name in stamps if name.partition(_OF_SOURCE)[0] == source and name not in books}
            notes = _read_notes(snapshot) if books else []
        corrections = tuple(read_corrections(store, tenant).values())
        for name, texts in sorted(books.items()):
            story_input = _StoryInput(name, tenant, texts, notes, corrections)
            stamp = story_input.stamp()
            # Reading a novel takes seconds, so a story that did not change is not read again.
            if stamp != stamps.get(name, ""):
                yield _read_story(store, story_input, stamp)


class ReadStory(Struct, frozen=True):
    """A story as its prose tells it now: the texts, the same as prose, and what is found in them."""

    source: str
    texts: Sequence[Node]
    proses: Sequence[Prose]
    story: Story

    def place(self, passage: Passage) -> str:
        """Return where a passage stands: its chapter, and its file and line."""
        node = self.texts[passage.prose]
        origin = passage_origin(node, passage)
        chapter = "" if node.sequence is None else f"chapter {node.sequence}"
        file = "" if origin.file is None else f"{origin.file}:{origin.first_line}"
        return ", ".join(filter(None, (chapter, file)))

    def quote(self, passage: Passage) -> str:
        """Return a passage on one line."""
        return _shorten(self.texts[passage.prose].text[passage.start : passage.end], _MAX_QUOTE_CHARACTERS)


def read_stories(store: Store, tenant: str, *, as_of: int | None = None) -> Iterator[ReadStory]:
    """Read every story of a tenant anew, or its chapters up to one."""
    for name in sorted(store.units(tenant, STORIES_SOURCE)):
        with store.snapshot(View((tenant,))) as snapshot:
            texts = [
                node
                for node in _read_books(snapshot, name.partition(_OF_SOURCE)[0]).get(name, ())
                if as_of is None or (node.sequence is not None and node.sequence <= as_of)
            ]
            notes = _read_notes(snapshot)
        if texts:
            corrections = tuple(read_corrections(store, tenant).values())
            story_input = _StoryInput(name, tenant, texts, notes, corrections)
            proses, story = _extract(story_input)
            yield ReadStory(story_input.source, texts, proses, story)


def has_stories(store: Store, tenants: Iterable[str]) -> bool:
    """Return whether any of the tenants has a story."""
    return any(store.units(tenant, STORIES_SOURCE) for tenant in tenants)


def _read_books(snapshot: Snapshot, source: str) -> dict[str, list[Node]]:
    """Read the chapters and scenes of a source with text by story, in narrative order, unnumbered ones last."""
    nodes = matching_nodes(snapshot, Filter(kinds=PROSE_KINDS, sources=(source,)))
    books: dict[str, list[Node]] = {}
    for node in sorted(nodes, key=lambda node: (node.sequence is None, node.sequence or 0, node.key)):
        if node.text.strip():
            book = str(node.fields.get(BOOK_FIELD) or "")
            books.setdefault(f"{source}{_OF_SOURCE}{book}" if book else source, []).append(node)
    return books


def _read_notes(snapshot: Snapshot) -> list[Node]:
    """Read the entities that somebody described, as opposed to those found in prose."""
    nodes = matching_nodes(snapshot, Filter(kinds=KINDS))
    return sorted((node for node in nodes if FOUND_ENTITY not in node.key), key=lambda node: node.key)


def _known_entity(note: Node) -> KnownEntity:
    """Return the entity of a note, by the names that its author gave it."""
    names = (note.title, *(alias.text for alias in note.aliases if not alias.found))
    return KnownEntity(note.key, note.kind, names)


# --- the story as nodes and edges ------------------------------------------------------------------------------


def _read_story(store: Store, story_input: _StoryInput, stamp: str) -> ChangedStory:
    """Find the entities and relations of a story, and return what to write and what to remove."""
    source, tenant = story_input.source, story_input.tenant
    _, story = _extract(story_input)
    keys = _entity_keys(story, story_input)
    # An entity with a note already is a node, which belongs to the note's source.
    kin = describe_kin(story)
    nodes = tuple(
        _entity_node(entity, keys[index], story_input, kin.get(index, ""))
        for index, entity in enumerate(story.entities)
        if not entity.note
    )
    edges = (
        *_mention_edges(story, keys, story_input),
        *_relation_edges(story, keys, story_input),
        *_noted_relation_edges(story_input),
    )
    aliases = _aliases_of_notes(story, story_input)
    unit = f"{tenant}/{_STORY_UNIT}{story_input.book}"
    refs = {(tenant, node.key) for node in nodes}
    removed = tuple(ref for ref in store.unit_keys(source, unit) if ref not in refs)
    # Older versions of the reader drew under their own names; an empty set takes their edges and aliases away.
    maker = _maker(story_input.name)
    drawn = store.edge_makers(maker.removesuffix(STORY_VERSION))
    makers = (maker, *sorted({other for other, drawn_in in drawn if drawn_in == tenant} - {maker}))
    return ChangedStory(
        source=source,
        name=story_input.name,
        tenant=tenant,
        unit=unit,
        nodes=nodes,
        edges=tuple(EdgeSet(each, tenant, edges if each == maker else ()) for each in makers),
        aliases=tuple(AliasSet(_note_namer(each), tenant, aliases if each == maker else {}) for each in makers),
        removed=removed,
        stamp=stamp,
    )


def _extract(story_input: _StoryInput) -> tuple[list[Prose], Story]:
    """Return the prose of a story and what is found in it."""
    proses = [Prose(node.key, _blank_markup(node), node.sequence or 0) for node in story_input.texts]
    last = max((prose.sequence for prose in proses), default=0)
    # A view of the first chapters must not know what a later chapter corrects.
    corrections = [correction for correction in story_input.corrections if correction.chapter <= last]
    known = [_known_entity(note) for note in story_input.notes]
    return proses, extract_story(proses, known, corrections) if proses else Story()


def _maker(name: str) -> str:
    return f"{STORY_MAKER}{name}@{STORY_VERSION}"


def _note_namer(maker: str) -> str:
    """Return the maker of the names given to notes: a maker's names are replaced as a whole, and the story's own
    maker names the entities it found."""
    story, _, version = maker.rpartition("@")
    return f"{story}:notes@{version}"


def _aliases_of_notes(story: Story, story_input: _StoryInput) -> dict[str, tuple[Alias, ...]]:
    """Return the names that only the prose gives to noted entities: Sansa, whose note says Sansa Stark."""
    noted = {note.key: {name_key(name) for name in _known_entity(note).names} for note in story_input.notes}
    return {
        entity.note: tuple(
            Alias(name, _note_namer(_maker(story_input.name)))
            for name in entity.aliases
            if name_key(name) not in noted[entity.note]
        )
        for entity in story.entities
        if entity.note
    }


def _blank_markup(node: Node) -> str:
    """Return the text with marks, headings and link targets as blanks, so that all words keep their offsets."""
    if node.language != "markdown":
        return node.text
    # Blanks of the same length: mentions and quotes are offsets into the text as it is stored.
    return _MARKUP.sub(lambda match: " " * len(match.group()), node.text)


def _entity_keys(story: Story, story_input: _StoryInput) -> list[str]:
    """Return a key for each entity: that of its note, or one made from its name, numbered where alike."""
    book = f"{_slug(story_input.book)}/" if story_input.book else ""
    slugs = number_repeated(_slug(entity.name.removeprefix("The ")) or "unnamed" for entity in story.entities)
    return [
        entity.note or f"{story_input.source}{FOUND_ENTITY}{book}{slug}"
        for entity, slug in zip(story.entities, slugs, strict=True)
    ]


def _slug(name: str) -> str:
    return _NON_WORD.sub("-", name.lower()).strip("-")


def _entity_node(entity: Entity, key: str, story_input: _StoryInput, kin: str) -> Node:
    """Return an entity as a node whose text is the passage that defines it, with the place of that and the kin."""
    definition = entity.definition
    prose = story_input.texts[definition.prose]
    text = prose.text[definition.start : definition.end]
    first = story_input.texts[entity.mentions[0].prose]
    return Node(
        key=key,
        kind=entity.kind,
        tenant=story_input.tenant,
        title=entity.name,
        summary=_shorten(text, _MAX_SUMMARY_CHARACTERS),
        text=text,
        fields={
            "chapter": prose.title,
            "confidence": entity.confidence,
            "first_sequence": first.sequence,
            "mentions": len(entity.mentions),
            "spoken": entity.speech_count,
            **({BOOK_FIELD: story_input.book} if story_input.book else {}),
            **({"kin": kin} if kin else {}),
        },
        aliases=tuple(Alias(name, _maker(story_input.name)) for name in entity.aliases),
        origin=passage_origin(prose, definition),
        sequence=first.sequence,
    )


def passage_origin(node: Node, passage: Passage) -> Origin:
    """Return the origin of a passage: the lines of the node's file that it stands on."""
    origin = node.origin
    if origin.first_line is None:
        return origin
    first = origin.first_line + node.text.count("\n", 0, passage.start)
    last = first + node.text.count("\n", passage.start, passage.end)
    return Origin(origin.source, origin.file, first, last, origin.url)


def _shorten(text: str, max_characters: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= max_characters else plain[: max_characters - 1].rsplit(" ", 1)[0] + "…"


def _mention_edges(story: Story, keys: Sequence[str], story_input: _StoryInput) -> Iterator[Edge]:
    """Yield an edge from each text to every entity it names; the weight nears 1 the more often it does."""
    for entity, key in zip(story.entities, keys, strict=True):
        counts: dict[int, int] = {}
        evidence: dict[int, str] = {}
        for mention in entity.mentions:
            counts[mention.prose] = counts.get(mention.prose, 0) + 1
            name = story_input.texts[mention.prose].text[mention.start : mention.end]
            # The first mention in each text is the evidence; its offset lets a page quote the sentence around it.
            evidence.setdefault(mention.prose, f"{' '.join(name.split())} @{mention.start}")
        for prose, count in counts.items():
            weight = round(count / (count + 1), 6)
            source = story_input.texts[prose].key
            yield Edge(source, key, "mentions", weight, entity.confidence, evidence[prose], story_input.tenant)


def _relation_edges(story: Story, keys: Sequence[str], story_input: _StoryInput) -> Iterator[Edge]:
    """Yield the relations found in prose, with a quote from each text that shows them."""
    for tie in story.ties:
        quotes = []
        for passage in tie.evidence:
            node = story_input.texts[passage.prose]
            quote = _shorten(node.text[passage.start : passage.end], _MAX_QUOTE_CHARACTERS)
            quotes.append(f"{node.key}: {quote}")
        source, target = keys[tie.source], keys[tie.target]
        yield Edge(source, target, tie.type, tie.weight, tie.confidence, "\n".join(quotes), story_input.tenant)


def _noted_relation_edges(story_input: _StoryInput) -> Iterator[Edge]:
    """Yield the relations that the fields of notes state."""
    # Reversed, so that of several notes with one name the first has it.
    notes = reversed(story_input.notes)
    by_name = {name.casefold(): note.key for note in notes for name in _known_entity(note).names}
    for note in story_input.notes:
        for field, kind, is_inward, name in read_note_relations(note.fields):
            other = by_name.get(name.casefold())
            if other is not None and other != note.key:
                source, target = (other, note.key) if is_inward else (note.key, other)
                yield Edge(source, target, kind, 1.0, 1.0, f"{note.key}: {field}: {name}", story_input.tenant)
