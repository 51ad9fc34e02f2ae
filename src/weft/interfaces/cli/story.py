"""`weft story`: list the chapters, the events and the people of the stories in a store, and check them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from weft import config
from weft.interfaces.cli import AsJson, AsOf, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.indexing.chapters import Book


def make_story_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft story`."""
    return output.make_group(
        "Look at the chapters, events and people of a story, and check it.",
        decorated,
        chapters=print_chapters,
        timeline=print_timeline,
        known=print_known,
        check=print_problems,
        codex=draft_notes,
    )


def print_chapters(
    *,
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="SOURCE", help="Say that the chapters of a source are right.")
    ] = None,
    doubt: Annotated[str | None, typer.Option("--doubt", metavar="SOURCE", help="Take such a word back.")] = None,
    begin: Annotated[
        tuple[str, str] | None,
        typer.Option("--begin", metavar="SOURCE LINE", help="Say that a chapter begins at this line of the text."),
    ] = None,
    no_begin: Annotated[
        tuple[str, str] | None,
        typer.Option("--no-begin", metavar="SOURCE TITLE", help="Say that no chapter begins at this heading."),
    ] = None,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="SOURCE", help="Take the last --begin or --no-begin back.")
    ] = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the chapters of each story with the number that `--as-of` takes, or correct them."""
    from weft.indexing.chapters import accept_chapters, correct_headings, read_books, undo_heading

    with config.open_weft(store, embedder="none") as weft:
        for source, is_right in ((accept, True), (doubt, False)):
            if source is not None:
                accept_chapters(weft.store, tenant, clean(source), is_right=is_right)
        for lines, is_chapter in ((begin, True), (no_begin, False)):
            if lines is not None:
                source, line = map(clean, lines)
                correct_headings(weft.store, tenant, source, line, is_chapter=is_chapter)
        undone = None if undo is None else undo_heading(weft.store, tenant, clean(undo))
        if begin or no_begin or undone:
            what = f"Undone: {undone}." if undone else "Remembered."
            output.write_note(f"{what} Index the book again with `weft index` to read its chapters so.")
        books = read_books(weft.store, (tenant,))
    _write_books(books, as_json=as_json)


def _write_books(books: "Sequence[Book]", *, as_json: bool) -> None:
    from weft.interfaces.describe import format_origin

    if as_json:
        output.write_json(
            [
                {
                    "source": book.source,
                    "book": book.title,
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
        output.write(f"{book.name}: {book.summary}.")
        if book.doubt:
            state = "accepted all the same" if book.is_accepted else "so --as-of is refused"
            output.write_note(f"In doubt, {state}: {book.doubt}.")
        rows = [
            (
                "" if node.sequence is None else str(node.sequence),
                output.one_line(node.title, 60),
                str(node.fields.get("division") or ""),
                format_origin(node.origin),
            )
            for node in book.chapters
        ]
        output.write_table(("as of", "title", "division", "where"), rows)
    if not books:
        output.write_note("No chapters are known. `weft index BOOK --as story` reads a book as a story.")


def print_timeline(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only what happens to this person.")] = "",
    as_of: AsOf = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List births, engagements, marriages, killings and deaths in the order of the book."""
    from weft.overview.plot import read_timeline

    with config.open_weft(store, embedder="none") as weft, show_progress("reading the story"):
        moments = read_timeline(weft, name=clean(name), tenant=tenant, as_of=as_of)
    if as_json:
        output.write_json([msgspec.to_builtins(moment) for moment in moments])
        return
    for moment in moments:
        output.write(f"{moment.place}: {moment.text}{' (somebody says)' if moment.is_hearsay else ''}")
        output.write(f"    {moment.quote}")
    if not moments:
        output.write_note("No birth, marriage or death is stated in a story of this store.")


def print_known(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The person's name, or an alias.")],
    as_of: AsOf = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print what a reader knows of a person, and since which chapter."""
    from weft.overview.plot import read_person

    with config.open_weft(store, embedder="none") as weft, show_progress("reading the story"):
        person = read_person(weft, clean(name), tenant=tenant, as_of=as_of)
    if as_json:
        output.write_json(msgspec.to_builtins(person))
        return
    output.write(f"{person.name} ({person.kind}), from chapter {person.known_from} on")
    if person.state:
        output.write(f"  {person.state}")
    for heading, known in (
        ("called", person.names),
        ("ties", person.ties),
        ("places", person.places),
        ("learns", person.knows),
    ):
        if known:
            output.write(f"{heading}:")
        for each in known:
            text = each.text or each.quote
            output.write(f"  {each.place}: {text}" + (f"\n    {each.quote}" if heading == "ties" else ""))


def print_problems(
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List contradictions: people who speak after they died, eyes of two colours, dates on two weekdays."""
    from weft.overview.plot import read_problems

    with config.open_weft(store, embedder="none") as weft, show_progress("reading the story"):
        problems = read_problems(weft, tenant=tenant)
    if as_json:
        output.write_json([msgspec.to_builtins(problem) for problem in problems])
        return
    for problem in problems:
        output.write(f"{problem.source}: {problem.message}.")
        for known in (problem.first, problem.second):
            output.write(f"  {known.place}: {known.quote}")
    if not problems:
        output.write_note("No contradiction was found.")


def draft_notes(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The vault, in which drafts get a folder.")],
    *,
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="NAME", help="Move this draft to the notes.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", metavar="NAME", help="Remove this draft for good, unless edited.")
    ] = None,
    restore: Annotated[
        str | None, typer.Option("--restore", metavar="NAME", help="Let a rejected one be drafted again.")
    ] = None,
    least: Annotated[
        int, typer.Option("--least", metavar="N", min=1, help="Only entities that are mentioned at least N times.")
    ] = 5,
    as_of: AsOf = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Draft a note for each entity of a story, to accept, edit or reject. No file is written over."""
    from weft.overview.codex import accept_draft, draft_codex, reject_draft, restore_draft

    vault = Path(clean(folder))
    with config.open_weft(store, embedder="none") as weft:
        if accept is not None:
            output.write(f"Accepted: {accept_draft(vault, clean(accept))}")
        if reject is not None:
            reject_draft(weft, vault, clean(reject), tenant=tenant)
            output.write(f"Rejected: {clean(reject)}")
        if restore is not None:
            restore_draft(weft, clean(restore), tenant=tenant)
            output.write(f"Restored: {clean(restore)}")
        if any(each is not None for each in (accept, reject, restore)):
            return
        with show_progress("reading the story"):
            drafted = draft_codex(weft, vault, tenant=tenant, as_of=as_of, least=least)
    if as_json:
        output.write_json(msgspec.to_builtins(drafted))
        return
    for file in drafted.written:
        output.write(file)
    output.write_note(
        f"{len(drafted.written)} drafted, {len(drafted.kept)} have a note or a draft already, "
        f"{len(drafted.rejected)} were rejected. Edit a draft, then `weft story codex {folder} --accept NAME`."
    )
