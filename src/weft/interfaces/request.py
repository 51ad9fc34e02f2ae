"""The one description of a request, from which every interface makes its own form of it.

A row of `CONTEXT_FIELDS` or `SEARCH_FIELDS` is a field. The options of `weft context` (interfaces/cli/context.py),
the arguments of the MCP tools (interfaces/mcp/tools.py), the REST model (interfaces/rest/requests.py), the
parameters of the client and the table in docs/request.md are all made from these rows: a new field is one new row.
"""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import Struct

from weft.errors import InvalidInput
from weft.model import (
    CONSISTENCIES,
    DEFAULT_TENANT,
    FORMATS,
    SEARCH_MATCHES,
    UNSET,
    Candidate,
    Filter,
    Request,
    Topic,
    Unset,
    View,
)

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")


def clean(words: str) -> str:
    """Return an argument as valid text: broken UTF-8 is replaced, control characters become spaces."""
    # Python passes bytes of an argument that are not UTF-8 on as lone surrogates, which no store accepts.
    valid = os.fsencode(words).decode("utf-8", "replace") if _escaped(words) else words
    return _CONTROL.sub(" ", valid).strip()


def _escaped(words: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in words)


def read_tenants(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the tenants to read, `default` when none is named."""
    return tuple(dict.fromkeys(clean(each) for each in given or ())) or (DEFAULT_TENANT,)


def read_budget(given: str | None) -> int | Unset | None:
    """Return a token budget: a number, None for `none`, or UNSET (the profile decides) when nothing is given."""
    if given is None:
        return UNSET
    if given.strip().lower() == "none":
        return None
    # Twelve digits are beyond any budget; int() would also accept signs, underscores and other digits.
    if not re.fullmatch(r"[0-9]{1,12}", given.strip()):
        raise InvalidInput(f"{given!r} is not a number of tokens. Give a whole number of 1 or more, or `none`.")
    return int(given)


def read_time(given: str | None) -> datetime | None:
    """Return a moment in ISO 8601, in UTC when it names no zone, or None when nothing is given."""
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(given.strip())
    except ValueError as error:
        raise InvalidInput(
            f"{given!r} is no time. Write it in ISO 8601, such as 2026-05-01 or 2026-05-01T12:00:00Z."
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def read_parameters(given: Sequence[str] | None) -> dict[str, str]:
    """Return the profile's parameters from `name=value` words."""
    parameters = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(f"{each!r} sets nothing. Write --set NAME=VALUE, such as --set domain=billing.")
        parameters[name.strip()] = clean(value)
    return parameters


Interface = Literal["cli", "mcp", "rest"]
Kind = Literal["text", "texts", "words", "number", "fraction", "flag", "budget", "mapping", "time"]
"""The kinds of values. `words` are texts that may contain commas; `texts` may also be written with commas."""

Destination = Literal["words", "request", "view", "filter", "parameter", "call"]
"""Where a value goes: the words that say what the page is about, a field of `Request`, `View` or `Filter`, a
parameter of the profile with the field's name, or the call itself (such as the session)."""


class RequestField(Struct, frozen=True):
    """One field: its name, the values it takes, its help text, and where it is shown and goes.

    `aliases` are other names that models use for it over MCP; `option` and `metavar` are its form on the command
    line where that differs from `--name`.
    """

    name: str
    kind: Kind
    help: str
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    destination: Destination = "call"
    interfaces: frozenset[Interface] = frozenset({"cli", "mcp", "rest"})
    option: str = ""
    metavar: str = ""
    example: object = None


COMMAND_LINE: Final[frozenset[Interface]] = frozenset({"cli"})
CLI_AND_MCP: Final[frozenset[Interface]] = frozenset({"cli", "mcp"})
REST_ONLY: Final[frozenset[Interface]] = frozenset({"rest"})

# A page is never asked for more links than this, whatever the profile says.
_DEEPEST_WALK: Final = 10
# JSON numbers stay exact up to here.
LARGEST_NUMBER: Final = 2**53 - 1

TOPIC: Final = RequestField(
    "topic",
    "words",
    "A question, or the key, id or exact title of a node to start from; a list starts from several.",
    (
        *("topics", "query", "q", "question", "text", "input", "prompt"),
        *("node", "node_id", "id", "key", "start", "about"),
    ),
    destination="words",
    interfaces=CLI_AND_MCP,
    metavar="QUESTION_OR_ID",
    example="project Atlas",
)
FILTER_FIELDS: Final = (
    RequestField(
        "kinds",
        "texts",
        "Only nodes of this kind, such as note or person; may be repeated.",
        ("kind", "types", "type"),
        destination="filter",
        interfaces=CLI_AND_MCP,
        option="--kind",
        metavar="KIND",
        example=["note"],
    ),
    RequestField(
        "tags",
        "texts",
        "Only nodes with this tag or one nested in it, in any case; may be repeated.",
        ("tag", "supertags", "supertag"),
        destination="filter",
        interfaces=CLI_AND_MCP,
        option="--tag",
        metavar="TAG",
    ),
    RequestField(
        "sources",
        "texts",
        "Only nodes of this source; may be repeated.",
        ("source",),
        destination="filter",
        interfaces=CLI_AND_MCP,
        option="--source",
        metavar="NAME",
    ),
    RequestField(
        "tenants",
        "texts",
        "The tenant whose knowledge is read; may be repeated. Default: default.",
        destination="view",
        interfaces=COMMAND_LINE,
        option="--tenant",
        metavar="NAME",
    ),
    RequestField(
        "as_of",
        "number",
        "Only what is known up to this chapter or other point of the sequence.",
        least=0,
        destination="view",
        metavar="N",
        example=3,
    ),
    RequestField(
        "consistency",
        "text",
        "How fresh replicas and clusters must be; strong by default.",
        choices=CONSISTENCIES,
        destination="view",
        metavar="LEVEL",
    ),
)
FLOOR: Final = RequestField(
    "floor",
    "fraction",
    "The relevance, 0 to 1, below which nothing is printed; 0 prints whatever is nearest. Default: the profile's.",
    ("min_relevance", "threshold", "min_score"),
    destination="request",
    metavar="P",
    example=0.5,
)
PAGE_FIELDS: Final = (
    RequestField(
        "profile",
        "text",
        "The kind of page, such as general or notes; `weft profile list` and the tool `lenses` list them.",
        destination="request",
        metavar="NAME",
        example="notes",
    ),
    RequestField(
        "blend",
        "text",
        "Make every topic a part of the page with its own share, such as 60/40, or equal.",
        ("shares",),
        destination="words",
        interfaces=CLI_AND_MCP,
        metavar="SHARES",
        example="60/40",
    ),
    RequestField(
        "preset",
        "text",
        "One of the profile's presets.",
        destination="request",
        metavar="NAME",
        example="detailed",
    ),
    RequestField(
        "lens",
        "text",
        "A way to walk the graph, such as writing, coding, planning or meeting-prep; `weft lens list` and the "
        "tool `lenses` list them.",
        destination="request",
        metavar="NAME",
        example="planning",
    ),
    RequestField(
        "depth",
        "number",
        "How many links to follow from what is found; most profiles take 1 to 5.",
        ("max_depth", "hops"),
        least=1,
        most=_DEEPEST_WALK,
        destination="request",
        # REST has its own `max_depth`, as its design documents it.
        interfaces=CLI_AND_MCP,
        metavar="N",
        example=2,
    ),
    RequestField(
        "max_tokens",
        "budget",
        "The budget of the whole page, never exceeded: a number, or none. Default: the profile's, often 4000.",
        ("token_budget", "budget", "tokens", "max"),
        least=1,
        destination="request",
        interfaces=CLI_AND_MCP,
        metavar="N",
        example=4000,
    ),
    RequestField(
        "format",
        "text",
        f"How the page is written: {', '.join(FORMATS)}.",
        ("output_format", "output"),
        choices=FORMATS,
        destination="request",
        metavar="NAME",
        example="markdown",
    ),
    RequestField(
        "include_fields",
        "flag",
        "Whether to print structured fields.",
        ("fields", "with_fields"),
        destination="request",
    ),
    FLOOR,
    *FILTER_FIELDS,
    RequestField(
        "parameters",
        "mapping",
        "A parameter of the profile, by name; may be repeated.",
        ("set", "params", "settings"),
        destination="request",
        option="--set",
        metavar="NAME=VALUE",
    ),
    RequestField(
        "history",
        "texts",
        "Earlier turns of the conversation, latest first; they colour the question.",
        destination="request",
        interfaces=REST_ONLY,
    ),
    RequestField(
        "token_model",
        "text",
        "The tokenizer that counts. Default: cl100k_base.",
        ("tokenizer",),
        destination="request",
        interfaces=CLI_AND_MCP,
        metavar="NAME",
    ),
    RequestField(
        "guard",
        "flag",
        "Mark items that read like instructions to a model, on the page and in the ledger.",
        destination="request",
    ),
    RequestField(
        "now",
        "time",
        "The present, in ISO 8601; for pages that must come out the same later.",
        ("time",),
        interfaces=CLI_AND_MCP,
        metavar="TIME",
    ),
)
SESSION: Final = RequestField(
    "session",
    "text",
    "A name for this conversation: what it already received is left out, and the page says so.",
    ("session_id", "session_name", "conversation", "conversation_id"),
    metavar="NAME",
)
CONTEXT_FIELDS: Final = (TOPIC, *PAGE_FIELDS, SESSION)
SEARCH_FIELDS: Final = (
    RequestField(
        "query",
        "words",
        "What to look for.",
        ("q", "question", "topic", "text", "search", "input"),
        destination="words",
        metavar="QUESTION",
        example="refund policy",
    ),
    RequestField(
        "limit",
        "number",
        "How many nodes to list; 10 by default.",
        ("max_results", "top_k", "k", "n"),
        least=1,
        most=200,
        metavar="N",
        example=5,
    ),
    RequestField(
        "match", "text", "By words, by meaning, or both.", ("mode",), choices=SEARCH_MATCHES, metavar="HOW"
    ),
    RequestField(
        "exact",
        "flag",
        "Every line with exactly this text, counted, as file:line; between slashes a regular expression.",
        ("literal", "grep"),
        interfaces=CLI_AND_MCP,
    ),
    RequestField(
        "path",
        "text",
        "With exact: only this folder or file, or files like src/*.py.",
        ("folder", "glob"),
        interfaces=CLI_AND_MCP,
        metavar="PATH",
    ),
    RequestField(
        "around",
        "number",
        "With exact: so many lines before and after each.",
        ("context_lines",),
        least=0,
        most=20,
        interfaces=CLI_AND_MCP,
        metavar="N",
    ),
    FLOOR,
    *FILTER_FIELDS,
)


def fields_for(interface: Interface, fields: Sequence[RequestField]) -> tuple[RequestField, ...]:
    """Return the fields that an interface shows, in order."""
    return tuple(field for field in fields if interface in field.interfaces)


def make_filter(values: Mapping[str, Any]) -> Filter:
    """Make the filter of the values that belong to one."""
    return Filter(
        kinds=tuple(values.get("kinds") or ()),
        tags=tuple(tag.lstrip("#") for tag in values.get("tags") or ()),
        sources=tuple(values.get("sources") or ()),
    )


def make_view(values: Mapping[str, Any]) -> View:
    """Make the view of the values that belong to one."""
    named = values.get("tenants")
    # Only where nothing was said: a service names the tenants that a caller may read, and those may be none.
    # Each once, in order: the first tenant is the one that found candidates belong to.
    tenants = (DEFAULT_TENANT,) if named is None else tuple(dict.fromkeys(named))
    return View(tenants, values.get("as_of"), values.get("consistency") or "")


def make_request(
    values: Mapping[str, Any],
    *,
    question: str = "",
    start: tuple[str, ...] = (),
    topics: tuple[Topic, ...] = (),
    profile: str,
    filter: Filter | None = None,
    candidates: tuple[Candidate, ...] | None = None,
    fields: Sequence[RequestField] = CONTEXT_FIELDS,
    **more: Any,
) -> Request:
    """Make the engine's request of the values of an interface, by field name; absent values keep their defaults.

    `question`, `start` and `topics` are what the words of the caller turned out to mean. Fields whose destination
    is `parameter` become parameters of the profile.
    """
    given = {
        field.name: values[field.name]
        for field in fields
        if field.destination == "request"
        and values.get(field.name, UNSET) is not UNSET
        # A budget of None is meant: no limit. Every other None stands for a value that was left out.
        and (values[field.name] is not None or field.kind == "budget")
    }
    named = {field.name: values.get(field.name) for field in fields if field.destination == "parameter"}
    # Fields of the request win over parameters of the same name.
    parameters = {name: value for name, value in named.items() if value is not None}
    given["parameters"] = {**(given.get("parameters") or {}), **parameters}
    given["history"] = tuple(given.get("history") or ())
    given["profile"] = profile
    return Request(
        question=question,
        start=start,
        topics=topics,
        filter=make_filter(values) if filter is None else filter,
        view=make_view(values),
        candidates=candidates,
        **{**given, **more},
    )
