"""Edit and forget single nodes by hand, keep these edits when their source is read again, and undo them.

An edit is one unit of a source that no folder can be called, so that it is stored, copied and backed up with the
nodes. It holds what the node was before; `weft forget --prove` removes that too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict, replace

from weft.errors import InvalidInput, UnknownName
from weft.indexing.ingest import NOT_LINKED, IndexingContext, unit_name
from weft.indexing.prepare import prepare
from weft.indexing.write import check_node, delete, link_written
from weft.model import Alias, Node, Origin, View
from weft.ports import Changes, Store, rows_with_keys

FORGET: Final = "forget"
CHANGE: Final = "change"
REPLACE: Final = "replace"
EDITABLE: Final = ("title", "summary", "text", "tags")
"""The parts of a node that can be edited."""
_EDITS_SOURCE: Final = ":edits"
"""The source under whose units edits are kept."""
_TITLE_CHARACTERS: Final = 80
"""Characters of a text that stand for the title that a node lacks."""


class Edit(Struct, frozen=True):
    """One edit of a node: forgotten, replaced, or some of its parts changed to `after`."""

    action: str
    tenant: str
    key: str
    at: str
    node: Mapping[str, Any]
    """The whole node as it was, as JSON values."""
    unit: str = ""
    """The unit of its source that it came from; empty for nodes that were stored directly."""
    after: Mapping[str, Any] = {}

    @property
    def title(self) -> str:
        """The title of the node as it was; of one without, such as a memory, the beginning of its text."""
        return str(
            self.node["title"] or shorten(str(self.node["text"]), _TITLE_CHARACTERS, placeholder="…") or self.key
        )


def read_edits(store: Store, tenant: str) -> dict[int, Edit]:
    """Return the edits of a tenant by number, in the order in which they were made."""
    stored = store.units(tenant, _EDITS_SOURCE)
    return {int(number): Edit(**orjson.loads(stored[number])) for number in sorted(stored, key=int)}


def forget_node(indexing: IndexingContext, tenant: str, key: str, now: datetime) -> int:
    """Remove a node until this is undone, also when its source brings it again; return the number of the edit."""
    with indexing.store.writing():
        node = _find(indexing.store, tenant, key)
        unit = _find_unit(indexing.store, node)
        number = _add(indexing.store, Edit(FORGET, tenant, key, now.isoformat(), _plain(node), unit))
        delete(indexing, [(tenant, key)])
        return number


def change_node(indexing: IndexingContext, tenant: str, key: str, after: Mapping[str, Any], now: datetime) -> int:
    """Change parts of a node, kept when its source is read again; return the number of the edit."""
    for name in after:
        if name not in EDITABLE:
            raise UnknownName("part of a node", name, EDITABLE)
    with indexing.store.writing():
        node = _find(indexing.store, tenant, key)
        changed = _with_parts(node, after)
        check_node(changed)
        if changed == node:
            raise InvalidInput(f"Nothing of {key!r} would change. Give another title, summary, text or tags.")
        unit = _find_unit(indexing.store, node)
        edit = Edit(CHANGE, tenant, key, now.isoformat(), _plain(node), unit, dict(after))
        number = _add(indexing.store, edit)
        _write(indexing, changed, unit)
        return number


def replace_node(indexing: IndexingContext, node: Node, now: datetime) -> int:
    """Store a node in place of the one with its key; return the number of the edit."""
    check_node(node)
    with indexing.store.writing():
        before = _find(indexing.store, node.tenant, node.key)
        unit = _find_unit(indexing.store, before)
        edit = Edit(REPLACE, node.tenant, node.key, now.isoformat(), _plain(before), unit, {"text": node.text})
        number = _add(indexing.store, edit)
        _write(indexing, node, unit)
        return number


def undo_edit(indexing: IndexingContext, tenant: str, number: int) -> Edit:
    """Undo an edit and return it: what it changed is as it was, and a forgotten node is back."""
    with indexing.store.writing():
        edits = read_edits(indexing.store, tenant)
        if number not in edits:
            raise InvalidInput(f"There is no edit {number}. Kept: {', '.join(map(str, edits)) or '(none)'}.")
        edit = edits[number]
        later = [each for other, each in edits.items() if other > number and each.key == edit.key]
        if later:
            raise InvalidInput(f"{edit.title!r} was edited again after that. Undo the later edit first.")
        before = _node(edit.node)
        indexing.store.write(Changes(units=((tenant, _EDITS_SOURCE, str(number), ""),)))
        if edit.action == CHANGE:
            node = _find(indexing.store, tenant, edit.key)
            before = replace(node, **{name: getattr(before, name) for name in edit.after})
        _write(indexing, before, edit.unit)
        source = before.origin.source
        if edit.action == FORGET and edit.unit in indexing.store.units(tenant, source):
            # The file may have changed meanwhile, so the next run reads it again whatever its stamp says.
            indexing.store.write(Changes(units=((tenant, source, edit.unit, NOT_LINKED),)))
        return edit


def reapply_edits(indexing: IndexingContext, tenant: str) -> int:
    """Apply the edits again to nodes that their source brought anew; return how many were.

    A part whose source says something else than when it was edited is left as the source has it.
    """
    edits = read_edits(indexing.store, tenant)
    count = 0
    for edit in edits.values():
        node = _look_up(indexing.store, tenant, edit.key)
        if node is None:
            continue
        if edit.action == FORGET:
            delete(indexing, [(tenant, edit.key)])
            count += 1
            continue
        if edit.action == REPLACE:
            # What replaces a whole node is written by hand, and no source brings it.
            continue
        before = _node(edit.node)
        same = {name: value for name, value in edit.after.items() if getattr(node, name) == getattr(before, name)}
        changed = _with_parts(node, same)
        if changed != node:
            _write(indexing, changed, edit.unit)
            count += 1
    return count


def drop_edits(store: Store, tenant: str, keys: Collection[str]) -> None:
    """Forget the edits of some nodes for good, and with them what the nodes were before."""
    gone = [number for number, edit in read_edits(store, tenant).items() if edit.key in keys]
    if gone:
        store.write(Changes(units=tuple((tenant, _EDITS_SOURCE, str(number), "") for number in gone)))


# --- nodes -----------------------------------------------------------------------------------------------------


def _add(store: Store, edit: Edit) -> int:
    number = max(read_edits(store, edit.tenant), default=0) + 1
    stamp = orjson.dumps(asdict(edit)).decode()
    store.write(Changes(units=((edit.tenant, _EDITS_SOURCE, str(number), stamp),)))
    return number


def _find(store: Store, tenant: str, key: str) -> Node:
    node = _look_up(store, tenant, key)
    if node is None:
        raise UnknownName("node", key, ())
    return node


def _look_up(store: Store, tenant: str, key: str) -> Node | None:
    with store.snapshot(View((tenant,))) as snapshot:
        return next((row.node for row in rows_with_keys(snapshot, [key]).values()), None)


def _find_unit(store: Store, node: Node) -> str:
    """Return the unit that a node came from; most are named after its file or key."""
    units = store.units(node.tenant, node.origin.source)
    likely = [node.origin.file or "", node.key.partition(":")[2]]
    for unit in dict.fromkeys([*(name for name in likely if name in units), *units]):
        if node.ref in store.unit_keys(node.origin.source, unit_name(node.tenant, unit)):
            return unit
    return ""


def _write(indexing: IndexingContext, node: Node, unit: str) -> None:
    """Store one node in the unit that it came from."""
    # Names that the linkers found are theirs; they are found again.
    own = replace(node, aliases=tuple(alias for alias in node.aliases if not alias.found), id=0)
    owner = unit_name(node.tenant, unit) if unit else ""

    def write() -> None:
        indexing.store.write(Changes(upserts=prepare([(own, owner)], indexing.embed, indexing.count)))

    link_written(indexing, [own], write)


def _with_parts(node: Node, parts: Mapping[str, Any]) -> Node:
    """Return the node with some parts replaced; tags come as a list."""
    values = {name: tuple(value) if name == "tags" else str(value) for name, value in parts.items()}
    return replace(node, **values)


def _plain(node: Node) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(node).items() if name != "id"}
    return dict(orjson.loads(orjson.dumps(plain, default=asdict)))


def _node(plain: Mapping[str, Any]) -> Node:
    times = {
        name: datetime.fromisoformat(plain[name]) if plain[name] else None for name in ("created", "modified")
    }
    aliases: Iterator[Alias] = (Alias(**alias) for alias in plain["aliases"])
    tags: Sequence[str] = plain["tags"]
    return Node(
        **{**plain, **times, "tags": tuple(tags), "aliases": tuple(aliases), "origin": Origin(**plain["origin"])}
    )
