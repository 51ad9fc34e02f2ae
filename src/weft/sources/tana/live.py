"""What a running Tana tells about its notes, read node by node, as units of nodes and edges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Final

import orjson
import xxhash

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.model import Edge, Json, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.files import Naming
from weft.sources.tana.documents import MACHINERY
from weft.sources.tana.export import TAG_WEIGHT, link_to, titled, word
from weft.sources.tana.local_api import SEARCH_LIMIT, TanaApi, Unreachable, is_missing
from weft.sources.tana.node_markdown import named, read_markdown
from weft.sources.values import Unusable, time_of

_ENTRIES: Final = ("_CAPTURE_INBOX", "_STASH")
_MAX_NODES: Final = 500_000


@dataclass(frozen=True, slots=True)
class Seen:
    """One node as a list of children, a search or the list of tags shows it."""

    id: str
    name: str
    tags: tuple[tuple[str, str], ...] = ()
    description: str = ""
    created: datetime | None = None
    modified: datetime | None = None
    parent: bool = True
    is_tag: bool = False


@dataclass(slots=True)
class Crawl:
    """Reads nodes and all that is below them and not known yet, each once."""

    api: TanaApi
    naming: Naming
    known: Iterable[str]
    units: dict[str, Unit] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def follow(self, roots: Sequence[Seen]) -> None:
        """Read the roots and, level by level, what is below them."""
        known = set(self.known)
        level = list({root.id: root for root in roots}.values())
        while level and len(self.units) < _MAX_NODES:
            below: dict[str, Seen] = {}
            for seen in level:
                children = self._take(seen)
                fresh = [each for each in children if each.id not in known and each.id not in self.units]
                below.update((each.id, each) for each in fresh)
            level = [each for name, each in below.items() if name not in self.units]

    def take_tags(self, tags: Sequence[Mapping[str, Any]]) -> None:
        """Read the supertags that are not known yet."""
        known = set(self.known)
        for tag in tags:
            seen = Seen(str(tag["id"]), named(str(tag.get("name", ""))).text, is_tag=True)
            if seen.id not in known:
                self._keep(self._node(seen, self._asked(seen, self.api.schema) or "", {}), ())

    def _take(self, seen: Seen) -> list[Seen]:
        """Keep one node; its children are returned, and the values of its fields that have notes below them."""
        # A line with nothing below it and no tag has no fields either: its list told all there is.
        answer = self._asked(seen, self.api.read) if seen.parent or seen.tags else {}
        listed = self._asked(seen, lambda name: list(self.api.children(name))) if seen.parent else []
        if answer is None or listed is None:
            return []
        children = [seen_as(each) for each in listed if _is_note(each)]
        printed = read_markdown(str(answer.get("markdown") or ""))
        here = Edge(self._key(seen.id), "", "references", tenant=self.naming.tenant)
        name = named(seen.name)
        edges = [
            *(replace(here, target=self._key(each.id), type="parent") for each in children),
            *(replace(here, target=self._key(each), type="field", evidence=said) for said, each in printed.links),
            *(replace(here, target=self._key(each)) for each in (*name.references, *printed.references)),
            *(replace(here, target=self._key(tag), type="tagged", weight=TAG_WEIGHT) for tag, _ in seen.tags),
        ]
        told = str(answer.get("description") or seen.description or "")
        node = self._node(replace(seen, name=name.text), named(told).text, printed.fields)
        self._keep(node, tuple(dict.fromkeys(edge for edge in edges if edge.target != edge.source)))
        return [*children, *(Seen(owned, said) for owned, said in printed.owned)]

    def _asked(self, seen: Seen, ask: Any) -> Any:
        """What the API says; a node that it cannot give is told and left out, the rest goes on."""
        try:
            return ask(seen.id)
        except Unreachable as error:
            if not is_missing(error):
                raise
            self.problems.append(Problem(seen.id, f"Tana does not give this node ({error}). It was skipped."))
            return None

    def _node(self, seen: Seen, text: str, fields: Mapping[str, Json]) -> Node:
        title, name_text = titled(seen.name)
        tags = tuple(dict.fromkeys(tag for _, name in seen.tags if (tag := word(name))))
        return Node(
            key=self._key(seen.id),
            kind="supertag" if seen.is_tag else tags[0] if tags else "note",
            tenant=self.naming.tenant,
            title=title or "Untitled",
            text="\n\n".join(part for part in (name_text, text.strip()) if part),
            fields=fields,
            tags=tags,
            origin=Origin(source=self.naming.source, url=link_to(seen.id)),
            created=seen.created,
            modified=seen.modified or seen.created,
        )

    def _keep(self, node: Node, edges: tuple[Edge, ...]) -> None:
        name = node.key.removeprefix(f"{self.naming.source}:")
        stamp = xxhash.xxh3_128_hexdigest(orjson.dumps([node, edges], default=str))
        self.units[name] = Unit(name, stamp, (node,), edges)

    def _key(self, name: str) -> str:
        return f"{self.naming.source}:{name}"


def roots_of(space: Mapping[str, Any]) -> list[Seen]:
    """Where the notes of a workspace begin: its home, its inbox and its library."""
    home = Seen(str(space.get("homeNodeId") or ""), str(space.get("name") or "Home"))
    entries = [Seen(f"{space['id']}{suffix}", suffix.strip("_").replace("_", " ").title()) for suffix in _ENTRIES]
    return [root for root in (home, *entries) if root.id]


def seen_as(raw: Mapping[str, Any]) -> Seen:
    """A node as the API shows it in a list."""
    tags = [tag for tag in raw.get("tags") or () if isinstance(tag, dict)]
    return Seen(
        id=str(raw["id"]),
        name=str(raw.get("name") or ""),
        tags=tuple((str(tag.get("id", "")), str(tag.get("name", ""))) for tag in tags),
        description=str(raw.get("description") or ""),
        created=moment_of(raw.get("created")),
        parent=raw.get("childCount") != 0,
        is_tag=raw.get("docType") == "tagDef",
    )


def _is_note(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("id"), str) and not raw.get("inTrash") and raw.get("docType") not in MACHINERY


def moment_of(value: object) -> datetime | None:
    """A moment as the API writes it, or None."""
    try:
        return time_of(value) if value else None
    except Unusable:
        return None


_SYNC: Final = "#sync"
"""The unit that remembers Tana's clock at the last reading; no node has this id."""


@dataclass(slots=True)
class TanaLive:
    """The notes of a Tana Desktop that is running here; when it is not, the stored copy stays as it is."""

    name: str
    maker: str
    naming: Naming
    api: TanaApi
    full: bool = False
    _known: dict[str, str] = field(default_factory=dict)
    _units: dict[str, Unit] = field(default_factory=dict)

    def identity(self) -> str:
        """The address, by which two sources of the same name are told apart."""
        return f"tana://{self.api.place}"

    def resume(self, known: Mapping[str, str]) -> None:
        """Go on from the units that are stored, by name and stamp; an empty stamp says that it must be read."""
        self._known = dict(known)

    def units(self) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of every node there is now; of those not edited, as they are stored."""
        self._units.clear()
        try:
            stamps = self._read_in()
        except Unreachable as error:
            return self._as_stored(error)
        return list(stamps.items())

    def read(self, unit: str) -> Unit:
        """One node that was read in; any other stays as it is stored."""
        return self._units.get(unit, Unit(unit, ""))

    def _as_stored(self, error: Unreachable) -> list[tuple[str, str]]:
        last = self._known.get(_SYNC)
        if last is None:
            raise SourceError(
                f"Tana does not answer at {self.api.place}: {error}. Start Tana Desktop and turn on "
                "Settings > Local API, or index an export of the workspace."
            ) from error
        stored = f"The stored copy of {last}" if last else "The stored copy"
        reason = f"Tana does not answer: {error}. {stored} is used, which may be stale."
        self._units[_SYNC] = Unit(_SYNC, "", problems=(Problem(self.identity(), reason),))
        return [*((name, stamp) for name, stamp in self._known.items() if name != _SYNC), (_SYNC, "unreachable")]

    def _read_in(self) -> dict[str, str]:
        now = self.api.health()
        known = {name: stamp for name, stamp in self._known.items() if name != _SYNC}
        spaces = self.api.workspaces()
        edited = None if self.full or "" in self._known.values() else self._edited(self._known.get(_SYNC))
        if edited is None:
            known = {}
            roots = [root for space in spaces for root in roots_of(space)]
        else:
            again = {each["id"] for each in edited} | self._trashed(edited, known)
            known = {name: stamp for name, stamp in known.items() if name not in again}
            roots = [replace(seen_as(each), modified=moment_of(now)) for each in edited if not each.get("inTrash")]
        crawl = Crawl(self.api, self.naming, known.keys())
        crawl.follow([root for root in roots if not root.is_tag])
        crawl.take_tags([tag for space in spaces for tag in self.api.tags(str(space["id"]))])
        self._units.update(crawl.units)
        self._units[_SYNC] = Unit(_SYNC, now, problems=tuple(crawl.problems))
        return {**known, **{name: unit.stamp for name, unit in crawl.units.items()}, _SYNC: now}

    def _trashed(self, edited: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> set[str]:
        """What went to the trash below nodes that were put there: it was not edited itself."""
        gone: set[str] = set()
        level = [str(each["id"]) for each in edited if each.get("inTrash")]
        while level:
            below = {str(each.get("id")) for name in level for each in self._children(name)}
            level = sorted(name for name in below if name in known and name not in gone)
            gone.update(level)
        return gone

    def _children(self, name: str) -> list[Mapping[str, Any]]:
        try:
            return list(self.api.children(name))
        except Unreachable as error:
            if is_missing(error):
                return []
            raise

    def _edited(self, since: str | None) -> list[Mapping[str, Any]] | None:
        """What was edited since the last reading; None when all must be read, for there is too much to list."""
        moment = moment_of(since) if since else None
        if moment is None:
            return None
        found = self.api.edited_since(int(moment.timestamp() * 1000))
        return None if len(found) >= SEARCH_LIMIT else found
