"""One record understood: the documented fields of a node or an edge, and what is wrong with it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeVar

from weft.frozen import dataclass
from weft.model import Alias, Edge, Json, Node, Origin
from weft.ports import Problem
from weft.sources.files import MAX_TEXT, Naming, clean
from weft.sources.values import (
    Unusable,
    integer_of,
    names_of,
    number_of,
    plain,
    readable,
    text_of,
    time_of,
    words_of,
)

Record = Mapping[str, object]
Value = TypeVar("Value")

_KEY: Final = ("key", "id", "_id")
_KIND: Final = ("kind", "type", "node_type")
_TITLE: Final = ("title", "name")
_TEXT: Final = ("text", "content", "body")
_SOURCE: Final = ("source", "from")
_TARGET: Final = ("target", "to")
_TENANT: Final = ("tenant", "tenant_id")
_EXTRA: Final = ("fields", "metadata", "meta")
_PLAIN: Final = (
    *("summary", "tags", "aliases", "language", "file", "line", "last_line", "url", "commit", "sequence"),
    *("known_from", "created", "modified", "importance", "parent", "links"),
)
_KNOWN: Final = frozenset((*_KEY, *_KIND, *_TITLE, *_TEXT, *_TENANT, *_EXTRA, *_PLAIN))
_PLACES: Final = ("chapter", "section")
_NO_WORDS: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A node with the edges its own record draws, and where that record stands."""

    node: Node
    edges: tuple[Edge, ...]
    where: str


@dataclass(slots=True)
class Understood:
    """What some records hold; problems name the record's place, the value and what is allowed."""

    nodes: list[Found] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class Reading:
    """One record being read: takes values by any of their names and collects what is wrong."""

    def __init__(self, record: Record, where: str, problems: list[Problem]) -> None:
        self.record, self.where, self.problems = record, where, problems

    def raw(self, names: tuple[str, ...]) -> object:
        """The first value that is there, None and empty text not counting."""
        for name in names:
            value = self.record.get(name)
            if value is not None and value != "":
                return value
        return None

    def take(self, names: tuple[str, ...], convert: Callable[[object], Value], default: Value) -> Value:
        """The converted value; an unusable one is reported and the default stands in."""
        value = self.raw(names)
        if value is None:
            return default
        try:
            return convert(value)
        except Unusable as error:
            self.problems.append(Problem(self.where, f"{names[0]}: {error}. The record is kept without it."))
            return default

    def skip(self, reason: str) -> None:
        """Report that the whole record is left out."""
        self.problems.append(Problem(self.where, f"{reason} The record was skipped."))


def understand(record: object, where: str, naming: Naming, into: Understood) -> None:
    """Add the node (with its own links) or the edge that a record describes, or say why there is none."""
    if not isinstance(record, Mapping):
        shown = type(record).__name__
        into.problems.append(Problem(where, f"A record is an object, not {shown}. The record was skipped."))
        return
    reading = Reading(record, where, into.problems)
    if _is_edge(reading):
        _add_edge(reading, naming, into)
    else:
        _add_node(reading, naming, into)


def _is_edge(reading: Reading) -> bool:
    ends = reading.raw(_SOURCE) is not None and reading.raw(_TARGET) is not None
    return ends and reading.raw((*_TEXT, *_TITLE)) is None


def full_key(naming: Naming, key: str) -> str:
    """The key as the store knows it: local keys get the source's name, `@other:key` is another source's."""
    if key.startswith("@") and ":" in key:
        return key[1:]
    return key if key.startswith(f"{naming.source}:") else f"{naming.source}:{key}"


def _key(value: object) -> str:
    if isinstance(value, bool | float) or not isinstance(value, str | int):
        raise Unusable(f"{str(value)[:60]!r} is not a key; a string or a whole number is allowed")
    key = " ".join(clean(str(value)).split())
    if not key or len(key) > 500:
        raise Unusable(f"{key[:60]!r} is not a key; 1 to 500 characters are allowed")
    return key


def _add_edge(reading: Reading, naming: Naming, into: Understood) -> None:
    try:
        source, target = _key(reading.raw(_SOURCE)), _key(reading.raw(_TARGET))
        weight = number_of(
            reading.raw(("weight",)) if reading.raw(("weight",)) is not None else 1.0, 0.0, math.inf
        )
    except Unusable as error:
        reading.skip(f"{error}.")
        return
    into.edges.append(
        Edge(
            source=full_key(naming, source),
            target=full_key(naming, target),
            type=reading.take(("type", "kind", "edge_type"), text_of, "related").lower(),
            weight=weight,
            confidence=reading.take(("confidence",), _unit_interval, 1.0),
            evidence=reading.take(("evidence",), text_of, ""),
            tenant=reading.take(_TENANT, text_of, naming.tenant),
            target_tenant=reading.take(("target_tenant",), text_of, None),
        )
    )


def _unit_interval(value: object) -> float:
    return number_of(value, 0.0, 1.0)


def _add_node(reading: Reading, naming: Naming, into: Understood) -> None:
    if reading.raw(_KEY) is None:
        reading.skip("There is no key; give every record a `key` or `id` (edges: `source` and `target`).")
        return
    try:
        key = full_key(naming, _key(reading.raw(_KEY)))
    except Unusable as error:
        reading.skip(f"key: {error}.")
        return
    text, fields = _text_and_fields(reading)
    if len(text) > MAX_TEXT:
        reading.skip(f"The text of {key!r} has {len(text):,} characters; at most {MAX_TEXT:,} are kept.")
        return
    node = _node(reading, naming, key, text, fields)
    into.nodes.append(Found(node, tuple(_own_edges(reading, naming, node)), reading.where))


def _node(reading: Reading, naming: Naming, key: str, text: str, fields: dict[str, Json]) -> Node:
    take = reading.take
    aliases = take(("aliases",), names_of, _NO_WORDS)
    importance = take(("importance",), _unit_interval, 0.0)
    if importance:
        # Kept as a field too, so that a computed importance never replaces a given one.
        fields.setdefault("importance", importance)
    return Node(
        key=key,
        kind=take(_KIND, text_of, "note").lower() or "note",
        tenant=take(_TENANT, text_of, naming.tenant) or naming.tenant,
        title=take(_TITLE, text_of, _question(fields)),
        summary=take(("summary",), text_of, ""),
        text=text,
        language=take(("language",), text_of, None),
        fields={name: fields[name] for name in sorted(fields)},
        tags=take(("tags",), words_of, _NO_WORDS),
        aliases=tuple(Alias(alias, naming.maker) for alias in aliases),
        origin=_origin(reading, naming),
        sequence=take(("sequence",), integer_of, _place(fields)),
        known_from=take(("known_from",), integer_of, None),
        created=take(("created",), time_of, None),
        modified=take(("modified",), time_of, None),
        importance=importance,
    )


def _place(fields: Mapping[str, Json]) -> int | None:
    """The place in a sequence that a numbered chapter or section has."""
    numbers = (fields.get(name) for name in _PLACES)
    return next((each for each in numbers if isinstance(each, int) and not isinstance(each, bool)), None)


def _question(fields: Mapping[str, Json]) -> str:
    question = fields.get("question")
    return question.strip() if isinstance(question, str) else ""


def _text_and_fields(reading: Reading) -> tuple[str, dict[str, Json]]:
    content = reading.raw(_TEXT)
    fields: dict[str, Json] = {}
    for name in _EXTRA:
        extra = reading.raw((name,))
        if isinstance(extra, Mapping):
            fields.update(_mapping(extra))
        elif extra is not None:
            fields[name] = plain(extra)
    rest = _mapping({name: value for name, value in reading.record.items() if name not in _KNOWN})
    fields.update((name, value) for name, value in rest.items() if value not in (None, ""))
    if isinstance(content, str):
        text = clean(content)
    elif content is not None:
        made = _mapping(content) if isinstance(content, Mapping) else plain(content)
        text = readable(made)
        fields.update(made if isinstance(made, dict) else {"content": made})
    else:
        text = "" if reading.raw(("summary",)) is not None else readable(fields)
    return text, fields


def _mapping(value: Mapping[str, object]) -> dict[str, Json]:
    made = plain(value)
    return dict(made) if isinstance(made, Mapping) else {}


def _origin(reading: Reading, naming: Naming) -> Origin:
    """Where the record says it comes from. Its line in our own file is left out: it would change with every
    record added above it, and the key finds the record anyway."""
    take = reading.take
    line = take(("line",), integer_of, None)
    return Origin(
        source=naming.source,
        file=take(("file",), text_of, None),
        first_line=line,
        last_line=take(("last_line",), integer_of, line),
        url=take(("url",), text_of, None),
        commit=take(("commit",), text_of, None),
    )


def _own_edges(reading: Reading, naming: Naming, node: Node) -> list[Edge]:
    parent = reading.take(("parent",), _key, None)
    edges = [] if parent is None else [Edge(full_key(naming, parent), node.key, "parent", tenant=node.tenant)]
    links = reading.raw(("links",))
    listed = names_of(links) if isinstance(links, str) else links
    for link in listed if isinstance(listed, list | tuple) else (listed,) if listed is not None else ():
        try:
            edges.append(_link(link, naming, node))
        except Unusable as error:
            reading.problems.append(Problem(reading.where, f"links: {error}. The link was skipped."))
    return list(dict.fromkeys(edges))


def _link(link: object, naming: Naming, node: Node) -> Edge:
    if not isinstance(link, Mapping):
        return Edge(node.key, full_key(naming, _key(link)), "related", tenant=node.tenant)
    return Edge(
        source=node.key,
        target=full_key(naming, _key(link.get("target", link.get("to", link.get("key"))))),
        type=text_of(link.get("type") or "related").lower(),
        weight=number_of(link.get("weight", 1.0), 0.0, math.inf),
        tenant=node.tenant,
        target_tenant=text_of(link["target_tenant"]) if link.get("target_tenant") else None,
    )
