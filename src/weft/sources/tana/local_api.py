"""Call the Local API of Tana Desktop, read only, and parse the Markdown in which it prints a node.

The first line of that Markdown is the state of the node; below it are its fields with their values:

- [x] Order putty #task <!-- node-id: order -->
  - **Owner**: [Ada Quill #person](tana:ada)
  - **Needs**:
    - [Glass](tana:glass)
    - A ladder <!-- node-id: ladder -->
      - from the shed <!-- node-id: shed -->
"""

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec import Struct, field

from weft.errors import SourceError
from weft.model import Json
from weft.runtime.endpoint import NoRedirects
from weft.sources.tana.export import PlainName, field_key, plain_name

DEFAULT_HOST: Final = "127.0.0.1:8262"
SEARCH_LIMIT: Final = 100
"""The most results that the API gives for one search; it has no second page."""
_PAGE_SIZE: Final = 200
"""Children or tags asked for in one call; smaller pages mean more calls."""
_READ_DEPTH: Final = 2
"""Levels below a node that the API prints: its fields, and their values."""
_MAX_ANSWER_BYTES: Final = 64_000_000
"""How much of an answer is read; a longer one is cut off, and reported as no JSON."""

_COMMENT: Final = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_NODE_ID: Final = re.compile(r"<!--\s*node-id:\s*([\w-]+)\s*-->")
_BULLET: Final = re.compile(r"^([ \t]*)[-*][ \t]+(.*)$")
_FIELD: Final = re.compile(r"^\*\*(.{1,200}?)\*\*:[ \t]*(.*)$")
_CHECKBOX: Final = re.compile(r"^\[([ xX])\](?:\s+|$)")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\((?:tana:|https?://app\.tana\.inc/?\?nodeid=)([\w-]+)\)")
_TRAILING_TAGS: Final = re.compile(r"(?:\s+#(?!\d)[^\s#]+)+$")


class ApiUnavailable(SourceError):
    """The Local API does not answer, or not as it should: the app is closed or busy, or it is another program."""


class NodeNotFound(ApiUnavailable):
    """The Local API has no such node."""


class TanaApi(Struct, frozen=True):
    """The Local API at `host` (host:port) with its token; every call waits at most `timeout` seconds."""

    host: str
    token: str
    timeout: float = 10.0

    def health(self) -> str:
        """Return the time of Tana's own clock, in ISO 8601; raise ApiUnavailable until its notes are loaded."""
        answer = self._get_mapping("/health")
        if not answer.get("nodeSpaceReady"):
            raise ApiUnavailable("Tana is still loading its notes")
        return str(answer.get("timestamp", ""))

    def workspaces(self) -> list[Mapping[str, Any]]:
        """Return the workspaces, each with id, name and homeNodeId."""
        return self._get_list("/workspaces")

    def tags(self, workspace: str) -> list[Mapping[str, Any]]:
        """Return the supertags of a workspace, each with id and name."""
        return self._get_list(f"/workspaces/{_quote_path(workspace)}/tags", {"limit": _PAGE_SIZE})

    def schema(self, tag: str) -> str:
        """Return the description of a supertag's fields, as Markdown."""
        return str(self._get_mapping(f"/tags/{_quote_path(tag)}/schema").get("markdown", ""))

    def read(self, node: str) -> Mapping[str, Any]:
        """Return a node as Markdown, deep enough to show the values of its fields, with name and description."""
        return self._get_mapping(f"/nodes/{_quote_path(node)}", {"maxDepth": _READ_DEPTH})

    def children(self, node: str) -> Iterator[Mapping[str, Any]]:
        """Iterate over all children of a node, page by page."""
        offset = 0
        while True:
            answer = self._get_mapping(
                f"/nodes/{_quote_path(node)}/children", {"limit": _PAGE_SIZE, "offset": offset}
            )
            page = [child for child in answer.get("children") or () if isinstance(child, dict)]
            yield from page
            # An empty page ends the loop too, or a wrong `hasMore` would keep it running for ever.
            offset += len(page)
            if not page or not answer.get("hasMore"):
                return

    def edited_since(self, milliseconds: int) -> list[Mapping[str, Any]]:
        """Return the nodes edited since a time, at most SEARCH_LIMIT of them."""
        return self._get_list("/nodes/search", {"query[edited][since]": milliseconds, "limit": SEARCH_LIMIT})

    def _get_list(self, path: str, query: Mapping[str, Any] | None = None) -> list[Mapping[str, Any]]:
        answer = self._get(path, query)
        if not isinstance(answer, list):
            raise ApiUnavailable(f"{path} answered with something else than a list")
        # Everything is found by its id, so an entry without one is of no use.
        return [item for item in answer if isinstance(item, dict) and isinstance(item.get("id"), str)]

    def _get_mapping(self, path: str, query: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        answer = self._get(path, query)
        if not isinstance(answer, dict):
            raise ApiUnavailable(f"{path} answered with something else than an object")
        return answer

    def _get(self, path: str, query: Mapping[str, Any] | None) -> Any:
        address = f"http://{self.host}{path}" + (f"?{urlencode(query)}" if query else "")
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {self.token}"})
        # Proxies of the environment are for the web, not for a program on the same machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                return json.loads(answer.read(_MAX_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            raise _http_error(error.code, path) from error
        except (OSError, http.client.HTTPException) as error:
            raise ApiUnavailable(_failure_reason(error)) from error
        except ValueError as error:
            raise ApiUnavailable(f"{path} answered with something else than JSON") from error


def _quote_path(name: str) -> str:
    return quote(name, safe="")


def _http_error(code: int, path: str) -> SourceError:
    # Not ApiUnavailable, for which the stored copy is used: only the user can mend a wrong token.
    if code in (401, 403):
        return SourceError(
            f"Tana refuses the token (status {code}). Copy the one under Settings > Local API in Tana Desktop "
            "into WEFT_TANA_TOKEN."
        )
    error_type = NodeNotFound if code == 404 else ApiUnavailable
    return error_type(f"{path} answered with status {code}")


def _failure_reason(error: Exception) -> str:
    # `urllib` wraps the error of the socket, which says more than its own.
    inner = getattr(error, "reason", error)
    if isinstance(inner, TimeoutError) or isinstance(error, TimeoutError):
        return "it did not answer in time"
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__


# --- a node as the API prints it -------------------------------------------------------------------------


class Bullet(Struct, frozen=True):
    """One bullet: its indentation, its text, and the id of its node where that is printed."""

    indent: int
    text: str
    node_id: str = ""


class ParsedNode(Struct):
    """The content of a node's Markdown.

    `links` are the (field, id) of nodes among the values of fields, `owned` the (id, name) of values that have
    notes of their own below them, and `references` the ids in the node's name.
    """

    fields: dict[str, Json] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    owned: list[tuple[str, str]] = field(default_factory=list)
    references: tuple[str, ...] = ()


def parse_node(markdown: str) -> ParsedNode:
    """Parse a node's Markdown; lines of another form are passed over."""
    lines = list(_read_bullets(markdown))
    if not lines:
        return ParsedNode()
    box = _CHECKBOX.match(lines[0].text)
    parsed = ParsedNode(references=parse_name(_CHECKBOX.sub("", lines[0].text)).references)
    if box is not None and box[1] != " ":
        parsed.fields["done"] = True
    for name, values in _group_fields(lines[1:]):
        _add_field(parsed, name, values)
    return parsed


def parse_name(text: str) -> PlainName:
    """Return a name as the API writes it, without markup and comments, and what it refers to."""
    return plain_name(_LINK.sub(_write_reference, _COMMENT.sub("", text)), lambda _: "")


def _read_bullets(markdown: str) -> Iterator[Bullet]:
    # Indentation decides what belongs to which field, so a tab must have a width.
    for row in markdown.expandtabs(2).splitlines():
        bullet = _BULLET.match(row)
        if bullet is not None:
            node_id = _NODE_ID.search(bullet[2])
            text = _COMMENT.sub("", bullet[2]).strip()
            yield Bullet(len(bullet[1]), text, node_id[1] if node_id else "")


def _group_fields(lines: list[Bullet]) -> list[tuple[str, list[Bullet]]]:
    """Return each field directly below the node with the bullets below it."""
    level = min((line.indent for line in lines), default=0)
    found: list[tuple[str, list[Bullet]]] = []
    below: list[Bullet] = []
    for line in lines:
        if line.indent > level:
            below.append(line)
            continue
        # A new list for each line at this level: what is below a line that is no field is dropped with it.
        below = []
        field_line = _FIELD.match(line.text)
        if field_line is not None:
            below += [Bullet(line.indent + 1, field_line[2], line.node_id)] if field_line[2] else []
            found.append((parse_name(field_line[1]).text, below))
    return found


def _add_field(parsed: ParsedNode, name: str, lines: list[Bullet]) -> None:
    """Add one field; what is below its values are notes of their own, of which only the owner's id is kept."""
    level = min((line.indent for line in lines), default=0)
    values: list[Json] = []
    for index, line in enumerate(lines):
        if line.indent != level:
            continue
        value, box = parse_name(line.text), _CHECKBOX.fullmatch(line.text)
        values.append(box[1] != " " if box is not None else value.text)
        parsed.links += [(name, target) for target in value.references]
        has_children = index + 1 < len(lines) and lines[index + 1].indent > level
        if line.node_id and has_children:
            parsed.owned.append((line.node_id, value.text))
            parsed.links.append((name, line.node_id))
    if values:
        parsed.fields[field_key(name)] = values[0] if len(values) == 1 else values


def _write_reference(match: re.Match[str]) -> str:
    """Write a link to a node as exports write references, without the tags of the node."""
    return f"[[{_TRAILING_TAGS.sub('', match[1]).strip() or match[2]}^{match[2]}]]"
