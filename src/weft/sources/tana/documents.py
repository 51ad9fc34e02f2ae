"""The documents of a Tana export, checked, and which of them are somebody's notes."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Final

import orjson

from weft.frozen import dataclass
from weft.ports import Problem
from weft.sources.files import decode
from weft.sources.values import Unusable, time_of

TAG: Final = "tagDef"
SYSTEM_FIELDS: Final = {"SYS_A61": "Due date", "SYS_A90": "Date", "SYS_A142": "Attendees"}

MACHINERY: Final = frozenset(
    {"associatedData", "attrDef", "chat", "command", "group", "hotkey", "layout", "metanode", "placeholder"}
    | {"search", "settings", "syntax", TAG, "tuple", "viewDef", "workspace"}
)
"""What Tana keeps for its own working."""
_CONTAINERS: Final = ("_CAPTURE_INBOX", "_PINS", "_SCHEMA", "_SEARCHES", "_STASH", "_USERS", "_WORKSPACE")
_TRASH: Final = "_TRASH"
_ROOT: Final = "Root node for file:"
_IMAGE: Final = "SYS_T15"
_TAGGED: Final = "SYS_A13"


@dataclass(frozen=True, slots=True)
class Doc:
    """One document as the export has it."""

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


@dataclass(slots=True)
class Docs:
    """All documents of an export by id, with the questions that understanding them asks."""

    by_id: Mapping[str, Doc]
    _open: dict[str, bool] = field(default_factory=dict)

    def notes(self) -> Iterator[Doc]:
        """The notes and supertags, in the order of the export."""
        return (doc for doc in self.by_id.values() if self.is_note(doc.id))

    def is_note(self, name: str) -> bool:
        """Whether a document is a note or a supertag: no machinery, not in the trash, nor below either."""
        doc = self.by_id.get(name)
        if doc is None or self._is_container(doc) or (doc.type in MACHINERY and doc.type != TAG):
            return False
        return bool(doc.owner) and self._is_open(doc.owner) and not self._is_plain_value(doc)

    def is_tag(self, name: str) -> bool:
        """Whether there is a supertag of this id that is not in the trash."""
        return name in self.by_id and self.by_id[name].type == TAG and self.is_note(name)

    def tags_of(self, doc: Doc) -> tuple[str, ...]:
        """The ids of the supertags given to a note, or of those that a supertag extends."""
        rows = [self.by_id[each] for each in self._children(doc.meta) if each in self.by_id]
        found = [tag for row in rows if row.children[:1] == (_TAGGED,) for tag in row.children[1:]]
        return tuple(dict.fromkeys(tag for tag in found if tag != doc.id and self.is_tag(tag)))

    def fields_of(self, doc: Doc) -> Iterator[tuple[str, Doc]]:
        """The raw name of each field of a note, with the row that holds its values."""
        for row in self._rows_of(doc):
            name = self._field_name(row)
            if name:
                yield name, row

    def images_of(self, doc: Doc) -> tuple[str, ...]:
        """The addresses of the pictures that a note holds."""
        rows = [row for row in self._rows_of(doc) if row.children[0] == _IMAGE]
        return tuple(self.by_id[each].name for row in rows for each in row.children[1:] if each in self.by_id)

    def _rows_of(self, doc: Doc) -> Iterator[Doc]:
        for child in doc.children:
            row = self.by_id.get(child)
            if row is not None and row.type == "tuple" and row.children and row.owner == doc.id:
                yield row

    def _field_name(self, row: Doc) -> str:
        head = row.children[0] if row.children else ""
        defined = self.by_id.get(head)
        return SYSTEM_FIELDS.get(head) or (defined.name if defined and defined.type == "attrDef" else "")

    def _is_plain_value(self, doc: Doc) -> bool:
        """A value with nothing of its own is told with the note that has the field, and is no note itself."""
        row = self.by_id.get(doc.owner)
        return row is not None and row.type == "tuple" and not doc.children and not self.tags_of(doc)

    def _is_open(self, name: str) -> bool:
        """Whether notes may stand below a document; followed upwards without recursion, trees being deep."""
        chain: list[Doc] = []
        passed: set[str] = set()
        while name not in self._open and name in self.by_id and not self._is_container(self.by_id[name]):
            if name in passed:
                return False
            chain.append(self.by_id[name])
            passed.add(name)
            name = chain[-1].owner
        # An owner outside the export says nothing against a note; no owner is what deletion leaves behind.
        above = self._open.get(name, bool(name) and not name.endswith(_TRASH))
        for doc in reversed(chain):
            above = self._open[doc.id] = above and self._leads_on(doc)
        return above

    def _leads_on(self, doc: Doc) -> bool:
        if doc.type == "tuple":
            owner = self.by_id.get(doc.owner)
            return bool(self._field_name(doc)) and (owner is None or owner.type not in MACHINERY)
        return doc.type not in MACHINERY

    def _is_container(self, doc: Doc) -> bool:
        return doc.id.endswith((*_CONTAINERS, _TRASH)) or (not doc.owner and doc.name.startswith(_ROOT))

    def _children(self, name: str) -> tuple[str, ...]:
        return self.by_id[name].children if name in self.by_id else ()


def looks_like_tana(beginning: bytes) -> bool:
    """Whether a JSON file begins as an export of Tana does."""
    start = beginning.lstrip(b"\xef\xbb\xbf \t\r\n")
    named = sum(mark in start for mark in (b'"formatVersion"', b'"editors"', b'"lastTxid"', b'"storeData"'))
    return start.startswith(b"{") and (named >= 2 or b'"_ownerId"' in start)


def read_docs(content: bytes, where: str) -> tuple[dict[str, Doc] | None, tuple[Problem, ...]]:
    """The documents of an export by id, or None and the reason when it is cut off or no export at all."""
    try:
        value = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        _, broken = decode(content, where)
        told = f"{error.msg[:1].lower()}{error.msg[1:]}"
        reason = f"The export is not whole: {told}. Export the workspace again; what was stored before is kept."
        return None, (*broken, Problem(f"{where}:{error.lineno}", reason))
    listed = _listed(value)
    if listed is None:
        reason = "This is no Tana export: it has no list `docs`. In Tana, use Export workspace as JSON."
        return None, (Problem(f"{where}:1", reason),)
    return _checked(listed, where)


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and isinstance(value.get("storeData"), dict):
        value = value["storeData"]
    docs = value.get("docs") if isinstance(value, dict) else None
    return docs if isinstance(docs, list) else None


def _checked(listed: list[Any], where: str) -> tuple[dict[str, Doc], tuple[Problem, ...]]:
    docs: dict[str, Doc] = {}
    problems = []
    for number, each in enumerate(listed):
        place = f"{where}: docs[{number}]"
        doc = _doc(each) if isinstance(each, dict) else None
        if doc is None:
            problems.append(
                Problem(place, "It is no document: an object with a text `id` is needed. It was skipped.")
            )
            continue
        if doc.id in docs:
            problems.append(Problem(place, f"The id {doc.id!r} is used more than once; the last document counts."))
        docs[doc.id] = doc
    return docs, tuple(problems)


def _doc(raw: Mapping[str, Any]) -> Doc | None:
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
        children=tuple(each for each in children if isinstance(each, str)) if isinstance(children, list) else (),
        created=_moment(props.get("created")),
        modified=_latest(raw.get("modifiedTs")),
        done=bool(props.get("_done")),
    )


def _text(props: Mapping[str, Any], name: str) -> str:
    value = props.get(name)
    return value if isinstance(value, str) else ""


def _latest(times: Any) -> datetime | None:
    known = [moment for each in times if (moment := _moment(each))] if isinstance(times, list) else []
    return max(known, default=None)


def _moment(value: Any) -> datetime | None:
    try:
        return time_of(value) if value else None
    except Unusable:
        return None
