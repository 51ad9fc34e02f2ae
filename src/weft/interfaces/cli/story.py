"""`weft story`: list the chapters of the stories in a store, and say whether they are right."""

from typing import Annotated

import typer

from weft import config
from weft.interfaces.cli import AsJson, OwnTenant, StoreFolder, output
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT


def make_story_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft story`."""
    return output.make_group("Look at the chapters of a story.", decorated, chapters=print_chapters)


def print_chapters(
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="SOURCE", help="Say that the chapters of a source are right.")
    ] = None,
    doubt: Annotated[str | None, typer.Option("--doubt", metavar="SOURCE", help="Take such a word back.")] = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the chapters of each story with the number that `--as-of` takes."""
    from weft.indexing.chapters import accept_chapters, read_books

    with config.open_weft(store, embedder="none") as weft:
        for source, is_right in ((accept, True), (doubt, False)):
            if source is not None:
                accept_chapters(weft.store, clean(tenant), clean(source), is_right=is_right)
        books = read_books(weft.store, (clean(tenant),))
    if as_json:
        output.write_json(
            [
                {
                    "source": book.source,
                    "doubt": book.doubt,
                    "accepted": book.is_accepted,
                    "chapters": [
                        {
                            "number": node.sequence,
                            "title": node.title,
                            "division": node.fields.get("division") or "",
                            "path": node.origin.file,
                            "line": node.origin.first_line,
                            "key": node.key,
                        }
                        for node in book.chapters
                    ],
                }
                for book in books
            ]
        )
        return
    for book in books:
        output.write(f"{book.source}: {book.summary}.")
        if book.doubt:
            state = "accepted all the same" if book.is_accepted else "so --as-of is refused"
            output.write_note(f"In doubt, {state}: {book.doubt}.")
        rows = [
            (
                "" if node.sequence is None else str(node.sequence),
                output.one_line(node.title, 60),
                str(node.fields.get("division") or ""),
                (node.origin.file or "")
                + ("" if node.origin.first_line is None else f":{node.origin.first_line}"),
            )
            for node in book.chapters
        ]
        output.write_table(("as of", "title", "division", "where"), rows)
    if not books:
        output.write_note("No chapters are known. `weft index BOOK --as story` reads a book as a story.")
