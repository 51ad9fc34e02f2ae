"""`weft demo`: index the example worlds that come with Weft, and print a page from them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput, SourceError
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import format_origin
from weft.interfaces.request import clean, read_budget
from weft.model import Context

if TYPE_CHECKING:
    from weft.api import Weft


_PACKAGE: Final = Path(__file__).parents[2]
_WORLDS: Final = ("helpdesk", "novel", "repo", "vault")
"""The folders of examples/ that hold knowledge; the others hold programs."""
_DEFAULT_QUESTION: Final = "How do I process a refund?"
_MAX_LISTED_SOURCES: Final = 8
"""Sources listed below the page: enough to see where it came from without pushing it off the screen."""


def demo(
    words: Annotated[list[str] | None, typer.Argument(metavar="QUESTION", help="Ask this instead.")] = None,
    profile: Annotated[str, typer.Option(metavar="NAME", help="Kind of page.")] = "general",
    max_tokens: Annotated[str, typer.Option(metavar="N", help="The budget: a number, or none.")] = "900",
    copy: Annotated[
        Path | None,
        typer.Option(
            "--copy", metavar="FOLDER", help="Only copy the example worlds into a new folder, to try things on."
        ),
    ] = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Index the example worlds and print a page. The store is temporary unless --store names one."""
    if copy is not None:
        _copy_worlds(copy, as_json)
        return
    question, budget = clean(" ".join(words or ())) or _DEFAULT_QUESTION, read_budget(max_tokens)
    with open_named_or_temporary(store, "weft-demo-") as weft, show_progress("indexing the examples") as progress:
        for world in _example_worlds():
            weft.index(world, progress=progress)
        # Some of the example worlds bring tenants of their own; the demo reads them all.
        tenants = tuple(weft.status().by_tenant)
        context = weft.context(question, profile=profile, max_tokens=budget, tenants=tenants)
        node_count = weft.status().nodes
    if as_json:
        output.write_json(output.as_dict(context, "page"))
        return
    output.write(context.text)
    _print_summary(context, node_count)


@contextmanager
def open_named_or_temporary(
    store: str | Path | None, prefix: str, embedder: str | None = None
) -> "Iterator[Weft]":
    """Open the named store, or a temporary one whose folder begins with `prefix` and is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        location = store if store is not None else Path(folder) / config.STORE_NAME
        with config.open_weft(location, embedder=embedder, create=True) as weft:
            yield weft


def _example_worlds() -> list[Path]:
    """Return the folders of the example worlds."""
    # They are inside the package when it is installed, and at the root when it runs from a checkout.
    for examples in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples"):
        if examples.is_dir():
            return [examples / world for world in _WORLDS]
    raise SourceError("The example worlds are missing from this installation. Install Weft again with pip.")


def _copy_worlds(folder: Path, as_json: bool) -> None:
    if folder.exists():
        raise InvalidInput(f"{folder} is there already. Name a folder that does not exist, such as --copy worlds.")
    worlds = _example_worlds()
    for world in worlds:
        # Compiled modules of a checkout are no part of a world.
        shutil.copytree(world, folder / world.name, ignore=shutil.ignore_patterns("__pycache__", ".weft"))
    if as_json:
        output.write_json({"folder": str(folder), "worlds": [world.name for world in worlds]})
    else:
        output.write(f"Copied {len(worlds)} worlds into {folder}: {', '.join(world.name for world in worlds)}.")


def _print_summary(context: Context, node_count: int) -> None:
    limit = "no limit" if context.max_tokens is None else f"of {context.max_tokens:,}"
    output.write(
        f"\n--- {context.tokens:,} tokens ({limit}), counted by {context.token_model}; "
        f"{node_count:,} nodes searched"
    )
    for source in context.sources[:_MAX_LISTED_SOURCES]:
        output.write(
            f"    {source.detail.value:8} {source.origin.source}: {format_origin(source.origin) or source.key}"
        )
    more = len(context.sources) - _MAX_LISTED_SOURCES
    if more > 0:
        output.write(f"    and {output.count_noun(more, 'more source')}")
    output.write('--- Next, in a folder of your own: `weft init`, then `weft context "your question" --explain`')
