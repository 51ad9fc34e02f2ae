"""The Local API of Tana Desktop, read only: what is asked of it, and what is said when it does not answer."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from weft.errors import SourceError
from weft.frozen import dataclass

DEFAULT_PLACE: Final = "127.0.0.1:8262"
SEARCH_LIMIT: Final = 100
"""The most that one search returns; there is no second page."""
_PAGE: Final = 200
_MAX_ANSWER: Final = 64_000_000


class Unreachable(SourceError):
    """The Local API does not answer, or not as it should: the app is closed, busy or another program."""


class _Missing(Unreachable):
    """The Local API has no such node."""


def is_missing(error: Unreachable) -> bool:
    """Whether only the node that was asked for is not there."""
    return isinstance(error, _Missing)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token is for this address alone, so it is never sent on to another."""

    def redirect_request(self, *_: Any) -> None:
        """Nowhere."""
        return


@dataclass(frozen=True, slots=True)
class TanaApi:
    """One Local API with its token; every call waits at most `timeout` seconds."""

    place: str
    token: str
    timeout: float = 10.0

    def health(self) -> str:
        """The time by Tana's own clock, in ISO 8601, once its notes are loaded."""
        answer = self._mapping("/health")
        if not answer.get("nodeSpaceReady"):
            raise Unreachable("Tana is still loading its notes")
        return str(answer.get("timestamp", ""))

    def workspaces(self) -> list[Mapping[str, Any]]:
        """The workspaces, each with id, name and homeNodeId."""
        return self._list("/workspaces")

    def tags(self, workspace: str) -> list[Mapping[str, Any]]:
        """The supertags of a workspace, each with id and name."""
        return self._list(f"/workspaces/{_part(workspace)}/tags", {"limit": _PAGE})

    def schema(self, tag: str) -> str:
        """What Tana says about the fields of a supertag, as Markdown."""
        return str(self._mapping(f"/tags/{_part(tag)}/schema").get("markdown", ""))

    def read(self, node: str) -> Mapping[str, Any]:
        """A node as Markdown, with its name and description, and deep enough to show what its fields hold."""
        return self._mapping(f"/nodes/{_part(node)}", {"maxDepth": 2})

    def children(self, node: str) -> Iterator[Mapping[str, Any]]:
        """All children of a node, page by page."""
        offset = 0
        while True:
            answer = self._mapping(f"/nodes/{_part(node)}/children", {"limit": _PAGE, "offset": offset})
            page = [each for each in answer.get("children") or () if isinstance(each, dict)]
            yield from page
            offset += len(page)
            if not page or not answer.get("hasMore"):
                return

    def edited_since(self, milliseconds: int) -> list[Mapping[str, Any]]:
        """The nodes edited since a moment, at most SEARCH_LIMIT of them."""
        return self._list("/nodes/search", {"query[edited][since]": milliseconds, "limit": SEARCH_LIMIT})

    def _list(self, path: str, query: Mapping[str, Any] | None = None) -> list[Mapping[str, Any]]:
        answer = self._get(path, query)
        if not isinstance(answer, list):
            raise Unreachable(f"{path} answered with something else than a list")
        return [each for each in answer if isinstance(each, dict) and isinstance(each.get("id"), str)]

    def _mapping(self, path: str, query: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        answer = self._get(path, query)
        if not isinstance(answer, dict):
            raise Unreachable(f"{path} answered with something else than an object")
        return answer

    def _get(self, path: str, query: Mapping[str, Any] | None) -> Any:
        address = f"http://{self.place}{path}" + (f"?{urlencode(query)}" if query else "")
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {self.token}"})
        # A proxy has no business between two programs on one machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                return json.loads(answer.read(_MAX_ANSWER))
        except urllib.error.HTTPError as error:
            raise _refusal(error.code, path) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(_reason(error)) from error
        except ValueError as error:
            raise Unreachable(f"{path} answered with something else than JSON") from error


def _part(name: str) -> str:
    return quote(name, safe="")


def _refusal(code: int, path: str) -> SourceError:
    if code in (401, 403):
        return SourceError(
            f"Tana refuses the token (status {code}). Copy the one under Settings > Local API in Tana Desktop "
            "into WEFT_TANA_TOKEN."
        )
    kind = _Missing if code == 404 else Unreachable
    return kind(f"{path} answered with status {code}")


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", error)
    if isinstance(inner, TimeoutError) or isinstance(error, TimeoutError):
        return "it did not answer in time"
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__
