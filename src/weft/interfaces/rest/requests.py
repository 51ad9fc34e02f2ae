"""The bodies and queries that the service takes: every field is known, bounded and described as it is checked."""

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from weft.interfaces.request import CONTEXT_FIELDS, FLOOR, LARGEST_NUMBER, RequestField, fields_for
from weft.model import SEARCH_MATCHES

LARGEST_ID: Final = LARGEST_NUMBER
_MAX_CONTENT_DEPTH: Final = 32
_MAX_CONTENT_VALUES: Final = 20_000
"""Bounds on the content of a node: deeper or larger values would make one request cost what a thousand do."""
_MAX_TEXTS: Final = 100
_MAX_PARAMETERS: Final = 50
_MAX_FIELDS: Final = 32
"""Bounds on the lists and mappings of a request for a page; profiles have a handful of parameters."""
_MAX_QUERY_NAMES: Final = 16
"""Tenants in a query string: with others of the longest names in any script it still fits the bound on paths."""
_UNSEEN: Final = r"\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""Controls, and characters that no reader sees but that turn or break lines."""
NAME: Final = rf"^[^{_UNSEEN}]*[^\s{_UNSEEN}][^{_UNSEEN}]*$"
"""The pattern of a name: some visible character, and none that is invisible."""
CONTEXT_EXAMPLE: Final[dict[str, Any]] = {
    "query": "How do I process a refund request?",
    "tenant_ids": ["purchasing", "shared"],
    "entry_types": ["faq", "playbook", "permission_rule"],
    "entry_limit": 10,
    "expand": True,
    "max_depth": 2,
    "context_limit": 50,
    "include_entities": True,
    "include_schemas": False,
    "include_examples": False,
    "max_tokens": 8000,
    "token_model": "gpt-4",
}
"""The documented example of a request."""
_BOTH: Final[dict[str, Any]] = {
    "required": ["topics", "candidates"],
    "properties": {"topics": {"type": "array", "minItems": 1}, "candidates": {"type": "array"}},
}
"""A request may bring topics to search for or candidates found elsewhere, not both."""


class Known(BaseModel):
    """A request in which every field is known."""

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, values: Any) -> Any:
        for name in values if isinstance(values, dict) else ():
            if name not in cls.model_fields:
                raise _unknown_field(str(name), list(cls.model_fields))
        return values


class Body(Known):
    """A JSON body, read strictly: neither true nor "10" passes for a number."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, values: Any) -> Any:
        """Take 10.0 for 10: JSON has one kind of number."""
        if not isinstance(values, dict):
            return values
        return {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in values.items()
        }


def _unknown_field(name: str, known: list[str]) -> PydanticCustomError:
    # A lower bound than the usual 0.6, so that an abbreviated name is still recognised.
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    message = "there is no such field.{hint} Known: {known}"
    return PydanticCustomError(
        "unknown_field", message, {"name": name[:80], "hint": hint, "known": ", ".join(known)}
    )


def _check_content(content: dict[str, Any]) -> dict[str, Any]:
    """Refuse content that is nested or large beyond what a node holds."""
    # A list of its own instead of recursion, which hostile nesting would exhaust.
    todo: list[tuple[Any, int]] = [(content, 1)]
    seen = 0
    while todo:
        value, depth = todo.pop()
        seen += 1
        if depth > _MAX_CONTENT_DEPTH or seen > _MAX_CONTENT_VALUES:
            raise PydanticCustomError(
                "content_bounds",
                f"content holds at most {_MAX_CONTENT_VALUES} values, nested at most {_MAX_CONTENT_DEPTH} deep",
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise PydanticCustomError("content_number", "numbers in content are finite")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        todo += [(item, depth + 1) for item in inner]
    return content


def described(pattern: str) -> dict[str, Any]:
    """Return the pattern for the description; the check itself is ours, because its message says what to do."""
    return {"pattern": pattern}


def _check_name(text: str) -> str:
    if not re.fullmatch(NAME, text):
        raise PydanticCustomError("name", "a name has visible characters, no control characters, not only blanks")
    return text


def _few(most: int) -> BeforeValidator:
    """Return a check that a mapping is small, before each of its values would be checked and told as wrong."""

    def check(value: Any) -> Any:
        if isinstance(value, dict) and len(value) > most:
            raise PydanticCustomError("too_long", "at most {most} names", {"most": most})
        return value

    return BeforeValidator(check)


Name = Annotated[
    str, Field(min_length=1, max_length=200, json_schema_extra=described(NAME)), AfterValidator(_check_name)
]
# Of a list of names only the first that is wrong is told: a thousand nodes have a hundred tags each.
Tenants = Annotated[list[Name], Field(max_length=256, fail_fast=True)]
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Identifier = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Content = Annotated[dict[str, Any], AfterValidator(_check_content)]
Tags = Annotated[list[Name], Field(max_length=100, fail_fast=True)]
Query = Annotated[str, Field(max_length=20_000)]


def _check_time_text(value: Any) -> Any:
    """Refuse anything but text: pydantic would take a number for seconds."""
    if not isinstance(value, str):
        raise PydanticCustomError("time", "a time is a text in ISO 8601 with its zone, as 2026-05-01T12:00:00Z")
    return value


Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_check_time_text)]


class TopicInput(Body):
    """One of several topics of a page."""

    query: Name = Field(description="A question, or the key, id or title of a node.")
    share: float = Field(1.0, gt=0, le=1000, allow_inf_nan=False, description="Its part of the budget.")


class FilterInput(Body):
    """A restriction on the nodes that may be found; `since` and `until` compare the last change."""

    kinds: Annotated[list[Name], Field(max_length=32)] = Field(default_factory=list)
    tags: Tags = Field(default_factory=list)
    sources: Annotated[list[Name], Field(max_length=32)] = Field(default_factory=list)
    where: Annotated[dict[Name, Name], _few(_MAX_FIELDS)] = Field(
        default_factory=dict,
        max_length=_MAX_FIELDS,
        description="Fields and their values.",
        json_schema_extra={"additionalProperties": False},
    )
    since: Moment | None = None
    until: Moment | None = None


class CandidateInput(Body):
    """A node found elsewhere, to be printed as it is; without a key it gets one made of its content."""

    key: Name | None = None
    node_type: Kind = "note"
    title: Annotated[str, Field(min_length=1, max_length=2000)]
    summary: Annotated[str, Field(max_length=100_000)] | None = None
    content: Content = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)
    score: float = Field(1.0, ge=0, le=1, allow_inf_nan=False, description="How well it was found to match.")


def page_model(fields: Sequence[RequestField] = CONTEXT_FIELDS) -> type[Body]:
    """Make the part of POST /api/context that a printed page is asked for with, from the rows of a request."""
    return create_model(
        "PageRequest", __base__=Body, **{field.name: _model_field(field) for field in fields_for("rest", fields)}
    )


def _model_field(field: RequestField) -> Any:
    if field.kind == "texts":
        kind: Any = Annotated[list[Query], Field(max_length=_MAX_TEXTS)]
        return kind, Field(default_factory=list, description=field.help)
    if field.kind == "mapping":
        mapping = dict[Annotated[str, Field(min_length=1, max_length=200)], str | int | float | bool]
        kind = Annotated[mapping, _few(_MAX_PARAMETERS)]
        return kind, Field(default_factory=dict, max_length=_MAX_PARAMETERS, description=field.help)
    if field.kind == "number":
        return int | None, Field(None, ge=field.least, le=field.most or LARGEST_ID, description=field.help)
    if field.kind == "fraction":
        return float | None, Field(None, ge=0, le=1, allow_inf_nan=False, description=field.help)
    if field.kind == "flag":
        return bool | None, Field(None, description=field.help)
    kind = Literal[field.choices] if field.choices else Name
    return kind | None, Field(None, description=field.help)


class ContextRequest(page_model()):  # type: ignore[misc]
    """One question; with `format` (or another `profile`) the answer also carries a printed page."""

    model_config = ConfigDict(json_schema_extra={"examples": [CONTEXT_EXAMPLE], "not": _BOTH})

    query: Query = Field("", description="Search query for entry points.")
    tenant_ids: Tenants = Field(default_factory=list, description="Tenants to read; none reads nothing.")
    entry_types: Annotated[list[Kind], Field(min_length=1, max_length=32)] | None = Field(
        None, description="Node types to search, of any that the tenants hold; null for the default set."
    )
    entry_limit: int = Field(10, ge=1, le=200, description="Most entry points to return.")
    expand: bool = Field(True, description="Whether the graph is walked.")
    expansion_types: Annotated[list[Kind], Field(min_length=1, max_length=32)] | None = Field(
        None, description="Node types to walk to and through; null for all."
    )
    max_depth: int = Field(2, ge=0, le=10, description="Most steps from an entry point.")
    context_limit: int = Field(50, ge=0, le=1000, description="Most context nodes to return.")
    include_entities: bool = Field(True, description="Whether entities are returned, in any list.")
    include_schemas: bool = Field(False, description="Whether schema nodes are searched.")
    include_examples: bool = Field(False, description="Whether example nodes are searched.")
    max_tokens: int | None = Field(None, ge=1, le=10_000_000, description="Token limit; null for none.")
    token_model: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        "gpt-4", description="The model whose tokens are counted."
    )
    start: Annotated[list[Name], Field(max_length=100)] = Field(
        default_factory=list, description="Keys, ids or titles of nodes to start from, for a printed page."
    )
    topics: Annotated[list[TopicInput], Field(max_length=20)] = Field(
        default_factory=list,
        description="Several topics for one printed page, `query` and `start` among them.",
    )
    filter: FilterInput | None = Field(None, description="Which nodes may be found for a printed page.")
    candidates: Annotated[list[CandidateInput], Field(max_length=1000)] | None = Field(
        None, description="Print these instead of searching; links lead on from none of them."
    )


class SearchRequest(Body):
    """A search without walking or printing."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "refund", "tenant_ids": ["support"], "limit": 5}]}
    )

    query: Query
    tenant_ids: Tenants = Field(default_factory=list)
    node_types: Annotated[list[Kind], Field(max_length=32)] = Field(default_factory=list)
    tags: Tags = Field(default_factory=list)
    limit: int = Field(10, ge=1, le=200)
    match: Literal[SEARCH_MATCHES] = "hybrid"  # type: ignore[valid-type]
    floor: float | None = Field(None, ge=0, le=1, allow_inf_nan=False, description=FLOOR.help)


class NodeInput(Body):
    """A node to store. Without a key it gets one made of its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "tenant_id": "support",
                    "node_type": "faq",
                    "title": "How to process refunds",
                    "summary": "Step-by-step refund processing guide",
                    "content": {"question": "How do I refund?", "answer": "Open the order."},
                    "tags": ["refunds"],
                }
            ]
        }
    )

    tenant_id: Name
    key: Name | None = None
    node_type: Kind
    title: Annotated[str, Field(min_length=1, max_length=2000)]
    summary: Annotated[str, Field(max_length=100_000)] | None = None
    content: Content = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)
    aliases: Tags = Field(default_factory=list)


class NodeChange(Body):
    """Changes to a node; fields left out or null stay, but a null summary is removed."""

    model_config = ConfigDict(
        json_schema_extra={"minProperties": 1, "examples": [{"title": "How to refund", "tags": ["refunds"]}]}
    )

    node_type: Kind | None = None
    title: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    summary: Annotated[str, Field(max_length=100_000)] | None = None
    content: Content | None = None
    tags: Tags | None = None
    aliases: Tags | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "name at least one field to change")
        return self


class NodeBatch(Body):
    """Nodes to create or replace by their keys, all or none."""

    nodes: Annotated[list[NodeInput], Field(min_length=1, max_length=1000)]


class EdgeInput(Body):
    """An edge to draw between two nodes."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source_id": 42, "target_id": 55, "edge_type": "related", "weight": 0.8}]}
    )

    source_id: Identifier
    target_id: Identifier
    edge_type: Kind = "related"
    weight: float = Field(1.0, gt=0, le=1000, allow_inf_nan=False)
    confidence: float = Field(1.0, ge=0, le=1, allow_inf_nan=False)
    evidence: Annotated[str, Field(max_length=2000)] = ""


class EdgeChange(Body):
    """Changes to an edge; fields left out stay."""

    weight: float | None = Field(None, gt=0, le=1000, allow_inf_nan=False)
    confidence: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    evidence: Annotated[str, Field(max_length=2000)] | None = None


class EdgeBatch(Body):
    """Edges to draw or change, all or none."""

    edges: Annotated[list[EdgeInput], Field(min_length=1, max_length=5000)]


def _cursor(numbers: int) -> Any:
    """Return the bounds of a cursor of so many numbers; `cursor_numbers` reads it."""
    number = "[0-9]{1,18}"
    return Field(max_length=80, json_schema_extra=described(f"^{'-'.join([number] * numbers)}$"))


class Listing(Known):
    """The tenants whose items are listed, and how many."""

    tenant_id: Annotated[list[Name], Field(min_length=1, max_length=_MAX_QUERY_NAMES)]
    limit: int = Field(100, ge=1, le=1000)


class NodeListing(Listing):
    """A selection of nodes to list."""

    node_type: Annotated[list[Kind], Field(max_length=32)] = Field(default_factory=list)
    tag: Annotated[list[Name], Field(max_length=_MAX_QUERY_NAMES)] = Field(default_factory=list)
    cursor: Annotated[str, _cursor(1)] | None = None


class EdgeListing(Listing):
    """A selection of edges to list."""

    source_id: Identifier | None = None
    target_id: Identifier | None = None
    cursor: Annotated[str, _cursor(3)] | None = None


class Neighbourhood(Known):
    """The extent of a neighbourhood to return."""

    tenant_id: Annotated[list[Name], Field(max_length=_MAX_QUERY_NAMES)] = Field(default_factory=list)
    edge_type: Annotated[list[Kind], Field(max_length=32)] = Field(default_factory=list)
    depth: int = Field(1, ge=1, le=10)
    limit: int = Field(100, ge=1, le=1000)
