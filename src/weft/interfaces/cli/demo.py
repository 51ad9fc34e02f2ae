"""`weft demo`: the example worlds that come with Weft, indexed and asked."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import SourceError
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, StoreFolder
from weft.interfaces.cli.progress import watched
from weft.interfaces.describe import place_of
from weft.interfaces.values import budget_of, clean
from weft.model import Context

if TYPE_CHECKING:
    from weft.api import Weft


_PACKAGE: Final = Path(__file__).parents[2]
_QUESTION: Final = "How do I process a refund?"
_SHOWN_SOURCES: Final = 8


def demo(
    words: Annotated[list[str] | None, typer.Argument(metavar="QUESTION", help="Ask this instead.")] = None,
    profile: Annotated[str, typer.Option(metavar="NAME", help="Kind of page.")] = "general",
    max_tokens: Annotated[str, typer.Option(metavar="N", help="The budget: a number, or none.")] = "900",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Index the example worlds into a temporary store (or into --store) and print a page from them."""
    question, budget = clean(" ".join(words or ())) or _QUESTION, budget_of(max_tokens)
    with _opened(store) as weft, watched("indexing the examples") as progress:
        for world in _worlds():
            weft.index(world, progress=progress)
        tenants = tuple(weft.status().by_tenant)
        found = weft.context(question, profile=profile, max_tokens=budget, tenants=tenants)
        nodes = weft.status().nodes
    if as_json:
        output.write_json(output.shape(found, "page"))
        return
    output.write(found.text)
    _tell(found, nodes)


@contextmanager
def _opened(store: str | Path | None) -> "Iterator[Weft]":
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        place = store if store is not None else Path(folder) / config.STORE_NAME
        with config.open_weft(place, create=True) as weft:
            yield weft


def _worlds() -> list[Path]:
    """The example worlds: inside the package when installed, at the root when run from a checkout."""
    for examples in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples"):
        if examples.is_dir():
            return sorted(world for world in examples.iterdir() if world.is_dir())
    raise SourceError("The example worlds did not come with this installation. Install Weft again with pip.")


def _tell(found: Context, nodes: int) -> None:
    limit = "no limit" if found.max_tokens is None else f"of {found.max_tokens:,}"
    output.write(
        f"\n--- {found.tokens:,} tokens ({limit}), counted by {found.token_model}; {nodes:,} nodes searched"
    )
    for source in found.sources[:_SHOWN_SOURCES]:
        output.write(
            f"    {source.detail.value:8} {source.origin.source}: {place_of(source.origin) or source.key}"
        )
    more = len(found.sources) - _SHOWN_SOURCES
    if more > 0:
        output.write(f"    and {output.counted(more, 'source')} more")
    output.write('--- Next: `weft index PATH`, then `weft context "your question" --explain`')
