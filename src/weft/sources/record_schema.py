"""Turn one record into a node or an edge by its documented fields, and report what is wrong with it."""

import math
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from msgspec import Struct, field

from weft.model import Alias, Edge, Json, Node, Origin
from weft.ports import Problem
from weft.sources.chat.logs import USER, split_speaker
from weft.sources.code.parse import describe_snippet
from weft.sources.files import MAX_TEXT_CHARACTERS, SourceSettings, clean
from weft.sources.values import (
    UnusableValue,
    split_names,
    split_words,
    to_integer,
    to_json,
    to_labelled_lines,
    to_number,
    to_text,
    to_time,
)
from weft.text.statements import describe_rule

Record = Mapping[str, object]
Value = TypeVar("Value")

_MAX_KEY_CHARACTERS: Final = 500
"""A key is an index term in every store and is printed in ledgers; longer ones are texts in the wrong column."""
_QUOTED_CHARACTERS: Final = 60
"""How much of a bad key its problem quotes."""

# The names under which each field may be given, the documented one first.
_KEY: Final = ("key", "id", "_id")
_KIND: Final = ("kind", "type", "node_type")
_TITLE: Final = ("title", "name")
_TEXT: Final = ("text", "content", "body")
_SOURCE: Final = ("source", "from")
_TARGET: Final = ("target", "to")
_TENANT: Final = ("tenant", "tenant_id")
_NESTED_FIELDS: Final = ("fields", "metadata", "meta")
_OTHER_FIELDS: Final = (
    *("summary", "tags", "aliases", "language", "file", "line", "last_line", "url", "commit", "sequence"),
    *("known_from", "created", "modified", "importance", "parent", "links"),
)
_KNOWN_FIELDS: Final = frozenset((*_KEY, *_KIND, *_TITLE, *_TEXT, *_TENANT, *_NESTED_FIELDS, *_OTHER_FIELDS))
_QUESTION: Final = "question"
QUESTION_AND_ANSWER: Final = frozenset({_QUESTION, "answer"})
"""Fields of a record that needs no key, because its question names it."""
_SEQUENCE_FIELDS: Final = ("chapter", "section")
_NO_TEXTS: Final[tuple[str, ...]] = ()


class RecordNode(Struct, frozen=True):
    """A node with the edges that its own record lists, and the file and line of that record."""

    node: Node
    edges: tuple[Edge, ...]
    where: str


class ParsedRecords(Struct):
    """The nodes and edges parsed from records; a problem names the record, the value and what is allowed."""

    nodes: list[RecordNode] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    is_broken: bool = False
    """Whether a whole file could not be parsed."""


class RecordReader:
    """A reader of one record: it takes values by any of their names and reports those that cannot be used."""

    def __init__(self, record: Record, where: str, problems: list[Problem]) -> None:
        self.record, self.where, self.problems = record, where, problems

    def raw(self, names: tuple[str, ...]) -> object:
        """Return the first value under these names that is neither None nor empty text."""
        for name in names:
            value = self.record.get(name)
            if value is not None and value != "":
                return value
        return None

    def take(self, names: tuple[str, ...], convert: Callable[[object], Value], default: Value) -> Value:
        """Return the converted value, or the default where there is none or, with a problem, an unusable one."""
        value = self.raw(names)
        if value is None:
            return default
        try:
            return convert(value)
        except UnusableValue as error:
            self.problems.append(Problem(self.where, f"{names[0]}: {error}. The record is kept without it."))
            return default

    def skip(self, reason: str) -> None:
        """Report that the whole record is skipped."""
        self.problems.append(Problem(self.where, f"{reason} The record was skipped."))


def parse_record(record: object, where: str, settings: SourceSettings, parsed: ParsedRecords) -> None:
    """Add the node (with its own links) or the edge that a record describes, or the problem why there is none."""
    if not isinstance(record, Mapping):
        reason = f"A record is an object, not {type(record).__name__}. The record was skipped."
        parsed.problems.append(Problem(where, reason))
        return
    reader = RecordReader(record, where, parsed.problems)
    if _is_edge(reader):
        _add_edge(reader, settings, parsed)
    else:
        _add_node(reader, settings, parsed)


def _is_edge(reader: RecordReader) -> bool:
    # A record with words is a node, even if it says from where to where it leads.
    ends = reader.raw(_SOURCE) is not None and reader.raw(_TARGET) is not None
    return ends and reader.raw((*_TEXT, *_TITLE)) is None


def full_key(settings: SourceSettings, key: str) -> str:
    """Return the key as the store knows it: local keys get the source's name, `@other:key` is another source's."""
    # Keys of other sources are marked, because a local key may hold a colon too.
    if key.startswith("@") and ":" in key:
        return key[1:]
    return key if key.startswith(f"{settings.source}:") else f"{settings.source}:{key}"


def _to_key(value: object) -> str:
    # A float as a key is a number that a spreadsheet rounded; `1.0` and `1` would be two keys.
    if isinstance(value, bool | float) or not isinstance(value, str | int):
        raise UnusableValue(
            f"{str(value)[:_QUOTED_CHARACTERS]!r} is not a key; a string or a whole number is allowed"
        )
    key = " ".join(clean(str(value)).split())
    if not key or len(key) > _MAX_KEY_CHARACTERS:
        raise UnusableValue(
            f"{key[:_QUOTED_CHARACTERS]!r} is not a key; 1 to {_MAX_KEY_CHARACTERS} characters are allowed"
        )
    return key


def _add_edge(reader: RecordReader, settings: SourceSettings, parsed: ParsedRecords) -> None:
    try:
        source, target = _to_key(reader.raw(_SOURCE)), _to_key(reader.raw(_TARGET))
        weight = reader.raw(("weight",))
        # An edge with a bad weight is skipped, while other bad values are dropped: a weight of 1 would be a claim.
        checked_weight = to_number(1.0 if weight is None else weight, 0.0, math.inf)
    except UnusableValue as error:
        reader.skip(f"{error}.")
        return
    parsed.edges.append(
        Edge(
            source=full_key(settings, source),
            target=full_key(settings, target),
            type=reader.take(("type", "kind", "edge_type"), to_text, "related").lower(),
            weight=checked_weight,
            confidence=reader.take(("confidence",), _to_share, 1.0),
            evidence=reader.take(("evidence",), to_text, ""),
            tenant=reader.take(_TENANT, to_text, settings.tenant),
            target_tenant=reader.take(("target_tenant",), to_text, None),
        )
    )


def _to_share(value: object) -> float:
    return to_number(value, 0.0, 1.0)


def _add_node(reader: RecordReader, settings: SourceSettings, parsed: ParsedRecords) -> None:
    is_faq = all(reader.raw((name,)) is not None for name in QUESTION_AND_ANSWER)
    given_key = reader.raw((*_KEY, _QUESTION) if is_faq else _KEY)
    if given_key is None:
        reader.skip("There is no key; give every record a `key` or `id` (edges: `source` and `target`).")
        return
    try:
        key = full_key(settings, _to_key(given_key))
    except UnusableValue as error:
        reader.skip(f"key: {error}.")
        return
    # Skipped and not cut: half a text would be found for what the other half says.
    text, fields = _read_text_and_fields(reader)
    if len(text) > MAX_TEXT_CHARACTERS:
        reader.skip(f"The text of {key!r} has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept.")
        return
    kind = reader.take(_KIND, to_text, "").lower() or ("faq" if is_faq else "note")
    node = _make_node(reader, settings, key, kind, text, {**_describe_turn(text), **fields})
    parsed.nodes.append(RecordNode(node, tuple(_edges_in_record(reader, settings, node)), reader.where))


def _describe_turn(text: str) -> dict[str, Json]:
    """Return the fields of a turn of a conversation: who speaks, and the form of a rule if it is nothing else."""
    role, words = split_speaker(text)
    if not role:
        return {}
    return {"role": role, **(describe_rule(words) if role == USER else {})}


def _make_node(
    reader: RecordReader, settings: SourceSettings, key: str, kind: str, text: str, fields: dict[str, Json]
) -> Node:
    take = reader.take
    language, summary = take(("language",), to_text, None), take(("summary",), to_text, "")
    # Code that nobody marked as such is found, counted and printed as code.
    if language is None and (snippet := describe_snippet(text)):
        language, summary = snippet[0], summary or snippet[1]
    aliases = take(("aliases",), split_names, _NO_TEXTS)
    importance = take(("importance",), _to_share, 0.0)
    if importance:
        # Kept as a field too, so that a computed importance never replaces a given one.
        fields.setdefault("importance", importance)
    return Node(
        key=key,
        kind=kind,
        tenant=take(_TENANT, to_text, settings.tenant) or settings.tenant,
        title=take(_TITLE, to_text, _question_in(fields)),
        summary=summary,
        text=text,
        language=language,
        fields={name: fields[name] for name in sorted(fields)},
        tags=take(("tags",), split_words, _NO_TEXTS),
        aliases=tuple(Alias(alias, settings.maker) for alias in aliases),
        origin=_read_origin(reader, settings),
        sequence=take(("sequence",), to_integer, _sequence_in(fields)),
        known_from=take(("known_from",), to_integer, None),
        created=take(("created",), to_time, None),
        modified=take(("modified",), to_time, None),
        importance=importance,
    )


def _sequence_in(fields: Mapping[str, Json]) -> int | None:
    """Return the number of the chapter or section that the fields give, if any."""
    numbers = (fields.get(name) for name in _SEQUENCE_FIELDS)
    return next((number for number in numbers if isinstance(number, int) and not isinstance(number, bool)), None)


def _question_in(fields: Mapping[str, Json]) -> str:
    question = fields.get(_QUESTION)
    return question.strip() if isinstance(question, str) else ""


def _read_text_and_fields(reader: RecordReader) -> tuple[str, dict[str, Json]]:
    """Return a node's text and its fields: all that is not documented, and structured content, is a field too."""
    content = reader.raw(_TEXT)
    fields: dict[str, Json] = {}
    for name in _NESTED_FIELDS:
        extra = reader.raw((name,))
        if isinstance(extra, Mapping):
            fields.update(_to_mapping(extra))
        elif extra is not None:
            fields[name] = to_json(extra)
    # Values at the top level come last, so that they win over nested ones of the same name.
    rest = _to_mapping({name: value for name, value in reader.record.items() if name not in _KNOWN_FIELDS})
    fields.update((name, value) for name, value in rest.items() if value not in (None, ""))
    if isinstance(content, str):
        text = clean(content)
    elif content is not None:
        structured = _to_mapping(content) if isinstance(content, Mapping) else to_json(content)
        text = to_labelled_lines(structured)
        fields.update(structured if isinstance(structured, dict) else {"content": structured})
    else:
        # A record of fields alone would be found by nothing; a summary is text enough.
        text = "" if reader.raw(("summary",)) is not None else to_labelled_lines(fields)
    return text, fields


def _to_mapping(value: Mapping[str, object]) -> dict[str, Json]:
    converted = to_json(value)
    return dict(converted) if isinstance(converted, Mapping) else {}


def _read_origin(reader: RecordReader, settings: SourceSettings) -> Origin:
    """Return the origin that the record gives.

    The record's line in our own file is left out: it would change with every record added above it, and the key
    finds the record anyway.
    """
    take = reader.take
    line = take(("line",), to_integer, None)
    return Origin(
        source=settings.source,
        file=take(("file",), to_text, None),
        first_line=line,
        last_line=take(("last_line",), to_integer, line),
        url=take(("url",), to_text, None),
        commit=take(("commit",), to_text, None),
    )


def _edges_in_record(reader: RecordReader, settings: SourceSettings, node: Node) -> list[Edge]:
    parent = reader.take(("parent",), _to_key, None)
    edges = [] if parent is None else [Edge(full_key(settings, parent), node.key, "parent", tenant=node.tenant)]
    links = reader.raw(("links",))
    # Cells of CSV hold all links in one text.
    listed = split_names(links) if isinstance(links, str) else links
    if not isinstance(listed, list | tuple):
        listed = () if listed is None else (listed,)
    for link in listed:
        try:
            edges.append(_link_edge(link, settings, node))
        except UnusableValue as error:
            reader.problems.append(Problem(reader.where, f"links: {error}. The link was skipped."))
    return list(dict.fromkeys(edges))


def _link_edge(link: object, settings: SourceSettings, node: Node) -> Edge:
    if not isinstance(link, Mapping):
        return Edge(node.key, full_key(settings, _to_key(link)), "related", tenant=node.tenant)
    return Edge(
        source=node.key,
        target=full_key(settings, _to_key(link.get("target", link.get("to", link.get("key"))))),
        type=to_text(link.get("type") or "related").lower(),
        weight=to_number(link.get("weight", 1.0), 0.0, math.inf),
        tenant=node.tenant,
        target_tenant=to_text(link["target_tenant"]) if link.get("target_tenant") else None,
    )
