"""Read the documents of a Tana export, and tell the notes among them from what Tana keeps for its own working.

An export is a flat list of documents. A note's fields are rows (documents of type `tuple`) among its children: the
first child of a row is the field's definition, the others its values. Supertags hang at the note's metanode.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct, field

from weft.ports import Problem
from weft.sources.files import decode
from weft.sources.values import to_time_or_none

TAG_TYPE: Final = "tagDef"
_SYSTEM_FIELDS: Final = {"SYS_A61": "Due date", "SYS_A90": "Date", "SYS_A142": "Attendees"}

INTERNAL_TYPES: Final = frozenset(
    {"associatedData", "attrDef", "chat", "command", "group", "hotkey", "layout", "metanode", "placeholder"}
    | {"search", "settings", "syntax", TAG_TYPE, "tuple", "viewDef", "workspace"}
)
"""The types of documents that Tana keeps for its own working."""
_MIN_EXPORT_MARKS: Final = 2
"""Top-level keys of an export that must occur in the beginning of a file; one alone may be in any JSON."""
_CONTAINERS: Final = ("_CAPTURE_INBOX", "_PINS", "_SCHEMA", "_SEARCHES", "_STASH", "_USERS", "_WORKSPACE")
_TRASH: Final = "_TRASH"
_ROOT_NAME: Final = "Root node for file:"
_IMAGE_FIELD: Final = "SYS_T15"
_TAGS_FIELD: Final = "SYS_A13"


class Doc(Struct, frozen=True):
    """One document of an export; owner, metanode and children are ids."""

    id: str
    type: str = ""
    name: str = ""
    description: str = ""
    owner: str = ""
    meta: str = ""
    children: tuple[str, ...] = ()
    created: datetime | None = None
    modified: datetime | None = None
    done: bool = False


class Docs(Struct):
    """All documents of an export by id; answers which of them are notes and what tags and fields they have."""

    by_id: Mapping[str, Doc]
    _accepts_notes: dict[str, bool] = field(default_factory=dict)
    """The documents asked about so far, by id: whether what is below them can be a note."""

    def notes(self) -> Iterator[Doc]:
        """Iterate over the notes and supertags, in the order of the export."""
        return (doc for doc in self.by_id.values() if self.is_note(doc.id))

    def is_note(self, name: str) -> bool:
        """Return whether a document is a note or a supertag: not internal, not in the trash, nor below either."""
        doc = self.by_id.get(name)
        if doc is None or self._is_container(doc) or (doc.type in INTERNAL_TYPES and doc.type != TAG_TYPE):
            return False
        return bool(doc.owner) and self._may_hold_notes(doc.owner) and not self._is_plain_value(doc)

    def is_tag(self, name: str) -> bool:
        """Return whether there is a supertag of this id that is not in the trash."""
        return name in self.by_id and self.by_id[name].type == TAG_TYPE and self.is_note(name)

    def tags_of(self, doc: Doc) -> tuple[str, ...]:
        """Return the ids of the supertags of a note, or of those that a supertag extends."""
        metanode = self.by_id.get(doc.meta)
        rows = [self.by_id[child] for child in metanode.children if child in self.by_id] if metanode else []
        tags = [tag for row in rows if row.children[:1] == (_TAGS_FIELD,) for tag in row.children[1:]]
        return tuple(dict.fromkeys(tag for tag in tags if tag != doc.id and self.is_tag(tag)))

    def fields_of(self, doc: Doc) -> Iterator[tuple[str, Doc]]:
        """Iterate over (raw name, row with the values) of each field of a note."""
        for row in self._field_rows(doc):
            name = self._field_name(row)
            if name:
                yield name, row

    def images_of(self, doc: Doc) -> tuple[str, ...]:
        """Return the addresses of the pictures in a note."""
        rows = [row for row in self._field_rows(doc) if row.children[0] == _IMAGE_FIELD]
        return tuple(self.by_id[value].name for row in rows for value in row.children[1:] if value in self.by_id)

    def _field_rows(self, doc: Doc) -> Iterator[Doc]:
        for child in doc.children:
            row = self.by_id.get(child)
            if row is not None and row.type == "tuple" and row.children and row.owner == doc.id:
                yield row

    def _field_name(self, row: Doc) -> str:
        definition_id = row.children[0] if row.children else ""
        definition = self.by_id.get(definition_id)
        own_name = definition.name if definition and definition.type == "attrDef" else ""
        return _SYSTEM_FIELDS.get(definition_id) or own_name

    def _is_plain_value(self, doc: Doc) -> bool:
        """Return whether a document is a field's value without children or tags, and so no note of its own."""
        row = self.by_id.get(doc.owner)
        return row is not None and row.type == "tuple" and not doc.children and not self.tags_of(doc)

    def _may_hold_notes(self, name: str) -> bool:
        """Return whether notes may stand below a document, which depends on all documents above it."""
        # Followed upwards in a loop, because a tree may be deeper than the recursion limit.
        chain: list[Doc] = []
        visited: set[str] = set()
        while name not in self._accepts_notes and name in self.by_id and not self._is_container(self.by_id[name]):
            if name in visited:
                return False
            chain.append(self.by_id[name])
            visited.add(name)
            name = chain[-1].owner
        # An owner that is not in the export is accepted; no owner at all is what deletion leaves behind.
        accepts = self._accepts_notes.get(name, bool(name) and not name.endswith(_TRASH))
        for doc in reversed(chain):
            accepts = self._accepts_notes[doc.id] = accepts and self._passes_notes_on(doc)
        return accepts

    def _passes_notes_on(self, doc: Doc) -> bool:
        if doc.type == "tuple":
            owner = self.by_id.get(doc.owner)
            return bool(self._field_name(doc)) and (owner is None or owner.type not in INTERNAL_TYPES)
        return doc.type not in INTERNAL_TYPES

    def _is_container(self, doc: Doc) -> bool:
        return doc.id.endswith((*_CONTAINERS, _TRASH)) or (not doc.owner and doc.name.startswith(_ROOT_NAME))


def looks_like_tana(beginning: bytes) -> bool:
    """Return whether a JSON file with this beginning is an export of Tana."""
    # Judged by its beginning: an export may have hundreds of megabytes, and other formats ask next.
    start = beginning.lstrip(b"\xef\xbb\xbf \t\r\n")
    found = sum(mark in start for mark in (b'"formatVersion"', b'"editors"', b'"lastTxid"', b'"storeData"'))
    return start.startswith(b"{") and (found >= _MIN_EXPORT_MARKS or b'"_ownerId"' in start)


def read_docs(content: bytes, where: str) -> tuple[dict[str, Doc] | None, tuple[Problem, ...]]:
    """Return the documents of an export by id, or None and the problem if it is cut off or no export at all."""
    try:
        value = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        _, broken = decode(content, where)
        message = f"{error.msg[:1].lower()}{error.msg[1:]}"
        reason = f"The export is not whole: {message}. Export the workspace again; what was stored before is kept."
        return None, (*broken, Problem(f"{where}:{error.lineno}", reason))
    raw_docs = _find_docs(value)
    if raw_docs is None:
        reason = "This is no Tana export: it has no list `docs`. In Tana, use Export workspace as JSON."
        return None, (Problem(f"{where}:1", reason),)
    return _check_docs(raw_docs, where)


def _find_docs(value: Any) -> list[Any] | None:
    # Some exports wrap the list of documents in `storeData`.
    if isinstance(value, dict) and isinstance(value.get("storeData"), dict):
        value = value["storeData"]
    docs = value.get("docs") if isinstance(value, dict) else None
    return docs if isinstance(docs, list) else None


def _check_docs(raw_docs: list[Any], where: str) -> tuple[dict[str, Doc], tuple[Problem, ...]]:
    docs: dict[str, Doc] = {}
    problems = []
    for index, raw in enumerate(raw_docs):
        position = f"{where}: docs[{index}]"
        doc = _read_doc(raw) if isinstance(raw, dict) else None
        if doc is None:
            reason = "It is no document: an object with a text `id` is needed. It was skipped."
            problems.append(Problem(position, reason))
            continue
        if doc.id in docs:
            problems.append(
                Problem(position, f"The id {doc.id!r} is used more than once; the last document counts.")
            )
        docs[doc.id] = doc
    return docs, tuple(problems)


def _read_doc(raw: Mapping[str, Any]) -> Doc | None:
    props = raw.get("props")
    props = props if isinstance(props, dict) else {}
    if not isinstance(raw.get("id"), str) or not raw["id"]:
        return None
    children = raw.get("children")
    return Doc(
        id=raw["id"],
        type=_text(props, "_docType"),
        name=_text(props, "name"),
        description=_text(props, "description"),
        owner=_text(props, "_ownerId"),
        meta=_text(props, "_metaNodeId"),
        children=tuple(child for child in children if isinstance(child, str))
        if isinstance(children, list)
        else (),
        created=to_time_or_none(props.get("created") or None),
        modified=_latest_time(raw.get("modifiedTs")),
        done=bool(props.get("_done")),
    )


def _text(props: Mapping[str, Any], name: str) -> str:
    value = props.get(name)
    return value if isinstance(value, str) else ""


def _latest_time(times: Any) -> datetime | None:
    # Entries that are 0 or no time at all are passed over.
    known = (
        [time for value in times if (time := to_time_or_none(value or None))] if isinstance(times, list) else []
    )
    return max(known, default=None)
