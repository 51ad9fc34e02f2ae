"""Read the notes of a running Tana Desktop node by node; after the first time only what was edited since."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson
import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.errors import SourceError
from weft.model import Edge, Json, Node, Origin, to_plain
from weft.ports import TANA_FORM, Problem, Unit
from weft.sources.files import SourceSettings
from weft.sources.tana.documents import INTERNAL_TYPES
from weft.sources.tana.export import TAG_WEIGHT, node_url, split_title, tag_name
from weft.sources.tana.local_api import (
    SEARCH_LIMIT,
    ApiUnavailable,
    NodeNotFound,
    TanaApi,
    parse_name,
    parse_node,
)
from weft.sources.values import to_time_or_none

_ROOT_SUFFIXES: Final = ("_CAPTURE_INBOX", "_STASH")
"""The ends of the ids of a workspace's inbox and library, after the id of the workspace."""
_MAX_NODES: Final = 500_000
"""Nodes read of one Tana; each takes one or two calls, so more would take hours."""
_CLOCK_UNIT: Final = "#sync"
"""The unit whose stamp is Tana's clock at the last reading; no node has this id."""


class ListedNode(Struct, frozen=True):
    """One node as it is listed among children, search results or tags; `tags` are (id, name)."""

    id: str
    name: str
    tags: tuple[tuple[str, str], ...] = ()
    description: str = ""
    created: datetime | None = None
    modified: datetime | None = None
    has_children: bool = True
    is_tag: bool = False


class Crawl(Struct):
    """A reader of nodes and of all unknown nodes below them, each once; the results are in `units`."""

    api: TanaApi
    settings: SourceSettings
    known: Iterable[str]
    units: dict[str, Unit] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def follow(self, roots: Sequence[ListedNode]) -> None:
        """Read the roots and, level by level, the nodes below them that are not known."""
        known = set(self.known)
        # Level by level and not by recursion: a tree of notes may be deeper than the recursion limit.
        level = list({root.id: root for root in roots}.values())
        while level and len(self.units) < _MAX_NODES:
            below: dict[str, ListedNode] = {}
            for listed in level:
                children = self._read_node(listed)
                fresh = [child for child in children if child.id not in known and child.id not in self.units]
                below.update((child.id, child) for child in fresh)
            # A node found early on this level may have been read since, below another parent.
            level = [listed for node_id, listed in below.items() if node_id not in self.units]

    def read_tags(self, tags: Sequence[Mapping[str, Any]]) -> None:
        """Read the supertags that are not known yet."""
        known = set(self.known)
        for tag in tags:
            listed = ListedNode(str(tag["id"]), parse_name(str(tag.get("name", ""))).text, is_tag=True)
            # Tags are read once; a changed definition of one is among the edited nodes, and then not known.
            if listed.id not in known:
                self._add_unit(self._node(listed, self._call_api(listed, self.api.schema) or "", {}), ())

    def _read_node(self, listed: ListedNode) -> list[ListedNode]:
        """Read one node; return its children, and the values of its fields that have notes below them."""
        # A node without children and tags has no fields either, so its entry in the list holds all there is.
        answer = self._call_api(listed, self.api.read) if listed.has_children or listed.tags else {}
        raw_children: Any = []
        if listed.has_children:
            raw_children = self._call_api(listed, lambda node_id: list(self.api.children(node_id)))
        if answer is None or raw_children is None:
            return []
        children = [read_listed(child) for child in raw_children if _is_note(child)]
        parsed = parse_node(str(answer.get("markdown") or ""))
        edge = Edge(self._key(listed.id), "", "references", tenant=self.settings.tenant)
        name = parse_name(listed.name)
        edges = [
            *(replace(edge, target=self._key(child.id), type="parent") for child in children),
            *(
                replace(edge, target=self._key(target), type="field", evidence=field_name)
                for field_name, target in parsed.links
            ),
            *(replace(edge, target=self._key(target)) for target in (*name.references, *parsed.references)),
            *(replace(edge, target=self._key(tag), type="tagged", weight=TAG_WEIGHT) for tag, _ in listed.tags),
        ]
        description = str(answer.get("description") or listed.description or "")
        outline: dict[str, Json] = {"_children": [child.id for child in children]} if children else {}
        fields = {**parsed.fields, **outline}
        node = self._node(replace(listed, name=name.text), parse_name(description).text, fields)
        self._add_unit(node, tuple(dict.fromkeys(edge for edge in edges if edge.target != edge.source)))
        return [*children, *(ListedNode(owned_id, owned_name) for owned_id, owned_name in parsed.owned)]

    def _call_api(self, listed: ListedNode, call: Any) -> Any:
        """Return what the call answers for a node, or None, with a problem, if the API does not have the node."""
        try:
            return call(listed.id)
        except NodeNotFound as error:
            self.problems.append(Problem(listed.id, f"Tana does not give this node ({error}). It was skipped."))
            return None

    def _node(self, listed: ListedNode, text: str, fields: Mapping[str, Json]) -> Node:
        title, name_text = split_title(listed.name)
        tags = tuple(dict.fromkeys(tag for _, name in listed.tags if (tag := tag_name(name))))
        return Node(
            key=self._key(listed.id),
            kind="supertag" if listed.is_tag else tags[0] if tags else "note",
            tenant=self.settings.tenant,
            title=title or "Untitled",
            text="\n\n".join(part for part in (name_text, text.strip()) if part),
            fields={**fields, **TANA_FORM},
            tags=tags,
            origin=Origin(source=self.settings.source, url=node_url(listed.id)),
            created=listed.created,
            modified=listed.modified or listed.created,
        )

    def _add_unit(self, node: Node, edges: tuple[Edge, ...]) -> None:
        name = node.key.removeprefix(f"{self.settings.source}:")
        stamp = xxhash.xxh3_128_hexdigest(orjson.dumps([node, edges], default=to_plain))
        self.units[name] = Unit(name, stamp, (node,), edges)

    def _key(self, name: str) -> str:
        return f"{self.settings.source}:{name}"


def workspace_roots(space: Mapping[str, Any]) -> list[ListedNode]:
    """Return the nodes below which the notes of a workspace are: its home, its inbox and its library."""
    home = ListedNode(str(space.get("homeNodeId") or ""), str(space.get("name") or "Home"))
    entries = [
        ListedNode(f"{space['id']}{suffix}", suffix.strip("_").replace("_", " ").title())
        for suffix in _ROOT_SUFFIXES
    ]
    return [root for root in (home, *entries) if root.id]


def read_listed(raw: Mapping[str, Any]) -> ListedNode:
    """Return a node of an answer of the API."""
    tags = [tag for tag in raw.get("tags") or () if isinstance(tag, dict)]
    return ListedNode(
        id=str(raw["id"]),
        name=str(raw.get("name") or ""),
        tags=tuple((str(tag.get("id", "")), str(tag.get("name", ""))) for tag in tags),
        description=str(raw.get("description") or ""),
        created=to_time_or_none(raw.get("created") or None),
        has_children=raw.get("childCount") != 0,
        is_tag=raw.get("docType") == "tagDef",
    )


def _is_note(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("id"), str) and not raw.get("inTrash") and raw.get("docType") not in INTERNAL_TYPES


class TanaLive(Struct):
    """The notes of a running Tana Desktop; when it is not running, the stored copy stays as it is."""

    name: str
    maker: str
    settings: SourceSettings
    api: TanaApi
    full: bool = False
    _known: dict[str, str] = field(default_factory=dict)
    _units: dict[str, Unit] = field(default_factory=dict)

    def identity(self) -> str:
        """Return the address, which tells this source from another one of the same name."""
        return f"tana://{self.api.host}"

    def resume(self, known: Mapping[str, str]) -> None:
        """Take the stored units by name and stamp; an empty stamp says that the unit must be read again."""
        self._known = dict(known)

    def units(self) -> Iterable[tuple[str, str]]:
        """List the (name, stamp) of every node; nodes that were not edited keep their stored stamps."""
        self._units.clear()
        try:
            return list(self._read_changes().items())
        except ApiUnavailable as error:
            return self._stored_units(error)

    def read(self, unit: str) -> Unit:
        """Return a node that was read; the empty stamp of any other one leaves it as it is stored."""
        return self._units.get(unit, Unit(unit, ""))

    def _stored_units(self, error: ApiUnavailable) -> list[tuple[str, str]]:
        """List the units as they are stored, with a problem; raise SourceError if nothing is stored."""
        last = self._known.get(_CLOCK_UNIT)
        if last is None:
            raise SourceError(
                f"Tana does not answer at {self.api.host}: {error}. Start Tana Desktop and turn on "
                "Settings > Local API, or index an export of the workspace."
            ) from error
        copy = f"The stored copy of {last}" if last else "The stored copy"
        reason = f"Tana does not answer: {error}. {copy} is used, which may be stale."
        self._units[_CLOCK_UNIT] = Unit(_CLOCK_UNIT, "", problems=(Problem(self.identity(), reason),))
        return [
            *((name, stamp) for name, stamp in self._known.items() if name != _CLOCK_UNIT),
            (_CLOCK_UNIT, "unreachable"),
        ]

    def _read_changes(self) -> dict[str, str]:
        """Read what was edited since the last time, or everything, and return the stamps of all units."""
        # Taken first: what is edited while the nodes are read counts as edited the next time.
        now = self.api.health()
        known = {name: stamp for name, stamp in self._known.items() if name != _CLOCK_UNIT}
        spaces = self.api.workspaces()
        # Such a unit is of another version or an interrupted run, and a list of edits would not have it.
        read_all = self.full or "" in self._known.values()
        edited = None if read_all else self._find_edited(self._known.get(_CLOCK_UNIT))
        if edited is None:
            known = {}
            roots = [root for space in spaces for root in workspace_roots(space)]
        else:
            # Left out of what is known, these are read again or, if they are gone, removed from the store.
            outdated = {raw["id"] for raw in edited} | self._find_trashed(edited, known)
            known = {name: stamp for name, stamp in known.items() if name not in outdated}
            modified = to_time_or_none(now or None)
            roots = [replace(read_listed(raw), modified=modified) for raw in edited if not raw.get("inTrash")]
        crawl = Crawl(self.api, self.settings, known.keys())
        crawl.follow([root for root in roots if not root.is_tag])
        crawl.read_tags([tag for space in spaces for tag in self.api.tags(str(space["id"]))])
        self._units.update(crawl.units)
        self._units[_CLOCK_UNIT] = Unit(_CLOCK_UNIT, now, problems=tuple(crawl.problems))
        return {**known, **{name: unit.stamp for name, unit in crawl.units.items()}, _CLOCK_UNIT: now}

    def _find_trashed(self, edited: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> set[str]:
        """Return the known nodes below those that went to the trash, which do not count as edited themselves."""
        gone: set[str] = set()
        level = [str(raw["id"]) for raw in edited if raw.get("inTrash")]
        while level:
            below = {str(child.get("id")) for node_id in level for child in self._children(node_id)}
            level = sorted(node_id for node_id in below if node_id in known and node_id not in gone)
            gone.update(level)
        return gone

    def _children(self, node_id: str) -> list[Mapping[str, Any]]:
        try:
            return list(self.api.children(node_id))
        except NodeNotFound:
            return []

    def _find_edited(self, since: str | None) -> list[Mapping[str, Any]] | None:
        """Return what was edited since the last reading, or None if everything must be read."""
        last_reading = to_time_or_none(since or None)
        if last_reading is None:
            return None
        found = self.api.edited_since(int(last_reading.timestamp() * 1000))
        # A full answer may be cut off, and there is no way to ask for the rest.
        return None if len(found) >= SEARCH_LIMIT else found
