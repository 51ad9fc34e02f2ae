"""Answer the requests of the Model Context Protocol with the objects it defines, whatever carries them.

The part of the protocol that a server of tools, resources and prompts needs is small, so that Weft answers it
itself: an agent's client can start it without any package beyond the base.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from weft import __version__
from weft.errors import UnknownName, WeftError
from weft.interfaces.mcp import INSTRUCTIONS, ServedStore

if TYPE_CHECKING:
    from weft.interfaces.mcp.tools import ToolCard

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
"""The codes of JSON-RPC errors."""

SERVER_INFO: Final = {"name": "weft", "title": "Weft", "version": __version__}
CAPABILITIES: Final = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "prompts": {"listChanged": False},
}
META: Final = "weft"
"""The key under which a result's facts travel: many clients show a model either structured content or text, so
structured content would hide the page."""
_PLAIN_TEXT: Final = "text/plain"

Params = Mapping[str, Any]
Answering = Callable[[ServedStore, Params], dict[str, Any]]


class ProtocolError(Exception):
    """A request that cannot be answered, with the code that tells a client why."""

    def __init__(self, code: int, message: str, data: Params | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def describe_server() -> dict[str, Any]:
    """Return what a handshake tells a client about this server."""
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def answer_request(served: ServedStore, method: str, params: Params) -> dict[str, Any]:
    """Return the result of a request; raise ProtocolError where the protocol has an error for it."""
    answering = REQUESTS.get(method)
    if answering is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}")
    try:
        return answering(served, params)
    except WeftError as error:
        raise ProtocolError(INVALID_PARAMS, str(error)) from error


def _list_tools(served: ServedStore, params: Params) -> dict[str, Any]:
    return {"tools": [_tool(card) for card in _cards(served, served.holds_tana()).values()]}


def _cards(served: ServedStore, tana: bool) -> "dict[str, ToolCard]":
    # Loaded by the first request, like everything behind it: the handshake must not wait for it.
    from weft.interfaces.mcp.tools import offered

    return offered(served.settings.write, tana)


def _tool(card: "ToolCard") -> dict[str, Any]:
    return {
        "name": card.name,
        "title": card.title,
        "description": card.description,
        "inputSchema": card.schema(),
        "annotations": {
            "title": card.title,
            "readOnlyHint": not card.writes,
            "destructiveHint": card.removes,
            "idempotentHint": card.repeatable,
            "openWorldHint": False,
        },
    }


def _call_tool(served: ServedStore, params: Params) -> dict[str, Any]:
    """Return the answer of a tool; whatever goes wrong becomes a result that says so, which a model can act on."""
    from weft.interfaces.mcp.arguments import read_arguments

    name, arguments = _text(params, "name"), _object(params, "arguments")
    # Answered everywhere, listed only where there are notes of Tana.
    cards = _cards(served, tana=name == "tana_context")
    try:
        if name not in cards:
            raise UnknownName("tool", name, cards)
        card = cards[name]
        answer = card.answer(served, read_arguments(arguments, card.taken))
        notes = () if card.writes else served.after_answer()
    except WeftError as error:
        return _failure(str(error))
    except Exception as error:
        # Over stdio the log goes to stderr, which clients keep apart from the protocol.
        logging.getLogger(__name__).exception("The tool %s failed", name)
        return _failure(f"Unexpected {type(error).__name__}: {error}. The server's log has the details.")
    facts = dict(answer.facts)
    structured = {"structuredContent": facts} if served.settings.structured else {}
    content = [_text_block(text) for text in (*answer.texts, *notes)]
    return {"content": content, **structured, "isError": False, "_meta": {META: facts}}


def _failure(message: str) -> dict[str, Any]:
    return {"content": [_text_block(message)], "isError": True}


def _text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": _sendable(text)}


def _sendable(text: str) -> str:
    """Return text that JSON can carry: half of a surrogate pair, which no valid text holds, is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _list_resources(served: ServedStore, params: Params) -> dict[str, Any]:
    from weft.interfaces.mcp import answers

    entries, following = answers.list_nodes(served, _text(params, "cursor", "") or None)
    resources = [
        {
            "uri": entry.address,
            "name": _sendable(entry.name),
            "description": _sendable(entry.description),
            "mimeType": _PLAIN_TEXT,
        }
        for entry in entries
    ]
    return {"resources": resources, **({} if following is None else {"nextCursor": following})}


def _list_templates(served: ServedStore, params: Params) -> dict[str, Any]:
    from weft.interfaces.mcp.answers import NODE_ADDRESS

    template = {
        "uriTemplate": f"{NODE_ADDRESS}{{key}}{{?as_of}}",
        "name": "node",
        "title": "A node whole",
        "description": "A node by its key, id or title, percent-encoded; as of a chapter, if one is given.",
        "mimeType": _PLAIN_TEXT,
    }
    return {"resourceTemplates": [template]}


def _read_resource(served: ServedStore, params: Params) -> dict[str, Any]:
    from weft.interfaces.mcp import answers

    address = _text(params, "uri")
    texts = answers.read_node(served, address)
    return {"contents": [{"uri": address, "mimeType": _PLAIN_TEXT, "text": _sendable(text)} for text in texts]}


def _list_prompts(served: ServedStore, params: Params) -> dict[str, Any]:
    from weft.interfaces.mcp import answers

    arguments = [
        {"name": "topic", "description": "A question, or the key or title of a node.", "required": True},
        {"name": "max_tokens", "description": "The budget of the page.", "required": False},
    ]
    prompts = [
        {"name": name, "title": f"Context for {name}", "description": description, "arguments": arguments}
        for name, description in answers.list_lenses(served).items()
    ]
    return {"prompts": prompts}


def _get_prompt(served: ServedStore, params: Params) -> dict[str, Any]:
    from weft.interfaces.mcp import answers

    # The protocol sends the arguments of prompts as text; a number without quotes is as clear.
    arguments = {name: str(value) for name, value in _object(params, "arguments").items()}
    description, text = answers.lens_prompt(served, _text(params, "name"), arguments)
    return {"description": description, "messages": [{"role": "user", "content": _text_block(text)}]}


def _text(params: Params, name: str, default: str | None = None) -> str:
    value = params.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"The parameter {name!r} takes text, not {value!r:.80}.")
    return value


def _object(params: Params, name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"The parameter {name!r} takes an object, not {value!r:.80}.")
    return value


REQUESTS: Final[Mapping[str, Answering]] = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
    "prompts/list": _list_prompts,
    "prompts/get": _get_prompt,
}
"""The requests that need the store, by method; handshakes and pings belong to what carries the messages."""
