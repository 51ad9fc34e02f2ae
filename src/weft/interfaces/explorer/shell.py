"""The pages of the explorer before anything is drawn on them, and their static files.

A browser cannot send a key when it opens an address, so the pages hold nothing stored and everybody may have them;
what they draw they ask for with the key, like any other caller (rest/access.py).
"""

from functools import cache
from importlib.resources import files
from typing import Final

import xxhash
from fastapi import APIRouter
from jinja2 import DictLoader, Environment, StrictUndefined
from msgspec import Struct
from starlette.responses import HTMLResponse, Response

from weft import __version__
from weft.interfaces.explorer.asked import LEAST_BUDGET, MOST_BUDGET
from weft.interfaces.rest.convert import encoded
from weft.interfaces.rest.problems import Problem
from weft.model import FORMATS

_HERE: Final = files("weft.interfaces.explorer")
_MEDIA_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""The Content-Security-Policy: only files of this service, no inline script, and no text that is read as HTML."""
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
"""How long a browser keeps a static file: its address changes with its content."""


class View(Struct, frozen=True):
    """One view of the explorer: its name, what it is called, and what it shows."""

    name: str
    label: str
    says: str

    @property
    def address(self) -> str:
        """The address of the view."""
        return "/explore" if self.name == "ask" else f"/explore/view/{self.name}"


VIEWS: Final = (
    View("ask", "Ask", "A question, its page, its budget, and why each line is there"),
    View(
        "compare", "Compare", "Two settings or two times side by side: what appeared, vanished and moved, and why"
    ),
    View("judge", "Judge", "Lines that you marked as needed or as noise, and how settings do on them"),
    View("store", "Store", "What is indexed, how old it is, what is stale, and what failed"),
    View("timeline", "Timeline", "Chapters in their order; commits, conversations and memories by date"),
    View("cast", "Cast", "Who and what the stories name, and how they are tied"),
    View("memory", "Memory", "Memories and experiences, with their status"),
    View("sessions", "Sessions", "What agents were given, prompt by prompt, and why"),
    View("corrections", "Corrections", "What was corrected by hand, and how to undo it"),
)
"""All views, in the order in which they are listed and numbered by keys."""

router = APIRouter(prefix="/explore")


@cache
def _static_files() -> dict[str, bytes]:
    """Return all static files by name; what is not among them is not served."""
    return {file.name: file.read_bytes() for file in (_HERE / "static").iterdir() if file.is_file()}


@cache
def shell(name: str) -> bytes:
    """Return the page of a view before anything is drawn on it."""
    view = next(each for each in VIEWS if each.name == name)
    static = _static_files()
    version = xxhash.xxh64_hexdigest(b"".join(static[each] for each in sorted(static)))
    sources = {file.name: file.read_text("utf-8") for file in (_HERE / "templates").iterdir()}
    # Nothing stored is ever put into a template; escaping is on all the same.
    environment = Environment(loader=DictLoader(sources), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("explore.html" if name == "ask" else "view.html").render(
        assets=f"/explore/static/{version}",
        version=__version__,
        name=view.name,
        module="app" if name == "ask" else view.name,
        label=view.label,
        says=f"{view.says}.",
        views=VIEWS,
        formats=FORMATS,
        least=LEAST_BUDGET,
        most=MOST_BUDGET,
    )
    return html.encode()


@router.get("")
async def explore() -> Response:
    """Return the page that asks."""
    return _page("ask")


@router.get("/view/{name}")
async def view(name: str) -> Response:
    """Return the page of another view."""
    if name not in {each.name for each in VIEWS}:
        known = ", ".join(each.name for each in VIEWS)
        raise Problem(404, f"The explorer has no view {name[:80]!r}. It has: {known}.")
    return _page(name)


def _page(name: str) -> Response:
    return HTMLResponse(shell(name), headers={**_HEADERS, "Cache-Control": "no-cache"})


@router.get("/static/{version}/{name}")
async def static_file(version: str, name: str) -> Response:
    """Return a static file; the version in its address is that of all of them together."""
    content = _static_files().get(name)
    if content is None:
        raise Problem(404, f"The explorer has no file {name[:80]!r}. Open /explore again.")
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(content, media_type=media_type, headers={**_HEADERS, "Cache-Control": _FOREVER})


def answered(body: object) -> Response:
    """Return what a view draws as JSON that no browser keeps: the next user may have another key."""
    return Response(
        encoded(body), media_type="application/json", headers={**_HEADERS, "Cache-Control": "no-store"}
    )
