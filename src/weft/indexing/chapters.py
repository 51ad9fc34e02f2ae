"""Tell which chapters the stories of a store have, and refuse pages as of points that cannot be relied on.

A page as of a chapter must not tell what comes later. So a book whose chapters are in doubt (no headings, a number
left out) gives no such page until somebody has looked at its chapters and accepted them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from weft.errors import InvalidInput, UnknownName
from weft.model import Filter, Node, View
from weft.ports import Changes, Store, matching_nodes
from weft.text.chapters import plain_line

DOUBT_FIELD: Final = "chapters_in_doubt"
"""The field of a chapter whose book's chapters are in doubt, with the reason."""
BOOK_FIELD: Final = "book"
"""The field of a chapter or scene that names its book, where a source holds several."""
PROSE_KINDS: Final = ("chapter", "scene")
STORIES_SOURCE: Final = ":story"
"""The source under whose units the stamps of stories are kept: no real source has this name."""
_ACCEPTED_SOURCE: Final = ":chapters"
"""The source under whose units accepted books are kept: no real source has this name."""
_ACCEPTED: Final = "accepted"
_HEADINGS_SOURCE: Final = ":headings"
"""The source under whose units lines are kept at which a chapter begins, or does not."""


class Book(Struct, frozen=True):
    """The chapters of one book in order, the reason to doubt them, and whether somebody accepted them.

    `title` names it among several books of a source.
    """

    source: str
    title: str
    tenant: str
    chapters: tuple[Node, ...]
    doubt: str
    is_accepted: bool

    @property
    def name(self) -> str:
        """Return the name of the source, and of the book where the source holds several."""
        return f"{self.source}, {self.title}" if self.title else self.source

    @property
    def summary(self) -> str:
        """Return the chapters in one line, such as `34 chapters, I to XXXIV, in 2 books`."""
        count = len(self.chapters)
        text = f"{count} chapter{'s' * (count != 1)}"
        if count > 1:
            text += f", {self.chapters[0].title} to {self.chapters[-1].title}"
        numbers = [chapter.sequence for chapter in self.chapters if chapter.sequence is not None]
        if numbers:
            text += f" (as of {min(numbers)} to {max(numbers)})"
        divisions = dict.fromkeys(str(chapter.fields.get("division") or "") for chapter in self.chapters)
        parts = len([division for division in divisions if division])
        return f"{text}, in {parts} divisions" if parts > 1 else text


def read_books(store: Store, tenants: Iterable[str]) -> tuple[Book, ...]:
    """Return the books of some tenants with their chapters, by source."""
    books = []
    for tenant in tenants:
        accepted = store.units(tenant, _ACCEPTED_SOURCE)
        with store.snapshot(View((tenant,))) as snapshot:
            nodes = matching_nodes(snapshot, Filter(kinds=("chapter",)))
        nodes.sort(key=lambda node: (*_place(node), node.sequence is None, node.sequence or 0, node.key))
        for (source, title), chapters in groupby(nodes, key=_place):
            held = tuple(chapters)
            doubts = (str(node.fields[DOUBT_FIELD]) for node in held if node.fields.get(DOUBT_FIELD))
            books.append(Book(source, title, tenant, held, next(doubts, ""), source in accepted))
    return tuple(books)


def _place(node: Node) -> tuple[str, str]:
    """Return the source and the book of a chapter."""
    return node.origin.source, str(node.fields.get(BOOK_FIELD) or "")


def check_point(store: Store, tenants: Sequence[str], as_of: int) -> None:
    """Raise InvalidInput where no page can be made as of a chapter: none has that number, or they are in doubt."""
    books = [book for book in read_books(store, tenants) if book.chapters]
    last = max((node.sequence or 0 for book in books for node in book.chapters), default=as_of)
    if as_of > last:
        longest = f"the longest of {len(books)} books" if len(books) > 1 else "the story"
        raise InvalidInput(
            f"There is no chapter {as_of}: {longest} has chapters up to {last}. Give 0 to {last}; "
            f"`weft story chapters` lists them."
        )
    for book in books:
        if book.doubt and not book.is_accepted:
            raise InvalidInput(
                f"The chapters of {book.name} are in doubt: {book.doubt}. A page as of chapter {as_of} might "
                f"tell what comes later. `weft story chapters` lists them; "
                f"`weft story chapters --accept {book.source}` says that they are right."
            )


# --- corrections -----------------------------------------------------------------------------------------------


def correct_headings(store: Store, tenant: str, source: str, line: str, *, is_chapter: bool) -> None:
    """Remember that a chapter begins at a line of a book, or that none does; it counts when it is next indexed."""
    books = read_books(store, (tenant,))
    if source not in {book.source for book in books}:
        raise UnknownName("story", source, {book.source for book in books})
    wanted = plain_line(line)
    titles = [chapter.title for book in books if book.source == source for chapter in book.chapters]
    if is_chapter and wanted not in _read_lines(store, tenant, source):
        raise InvalidInput(f"No line of {source} is {wanted!r}. Give a whole line, as it stands in the text.")
    if not is_chapter and wanted not in map(plain_line, titles):
        raise InvalidInput(f"No chapter of {source} is called {wanted!r}. `weft story chapters` lists them.")
    marks = [mark for mark in _read_marks(store, tenant, source) if unquote(mark[1:]) != wanted]
    marks.append(f"{'+' if is_chapter else '-'}{quote(wanted, safe='')}")
    store.write(Changes(units=((tenant, _HEADINGS_SOURCE, source, " ".join(marks)),)))


def undo_heading(store: Store, tenant: str, source: str) -> str:
    """Take the last correction of a book's chapters back, and return its line with `+` or `-` before it."""
    marks = _read_marks(store, tenant, source)
    if not marks:
        raise InvalidInput(f"No chapter of {source!r} was corrected. `weft story chapters` lists the stories.")
    store.write(Changes(units=((tenant, _HEADINGS_SOURCE, source, " ".join(marks[:-1])),)))
    return marks[-1][0] + unquote(marks[-1][1:])


def read_headings(store: Store, tenant: str, readings: Mapping[str, str] | str) -> dict[str, str]:
    """Return how the corrected sources are read: story, notes or by their look, and the lines behind it."""
    found = {}
    for source, marks in store.units(tenant, _HEADINGS_SOURCE).items():
        reading = readings if isinstance(readings, str) else readings.get(source, "")
        found[source] = f"{reading or 'auto'} {marks}"
    return found


def _read_marks(store: Store, tenant: str, source: str) -> list[str]:
    return store.units(tenant, _HEADINGS_SOURCE).get(source, "").split()


def _read_lines(store: Store, tenant: str, source: str) -> set[str]:
    """Return the lines of a story's prose, as they are compared."""
    with store.snapshot(View((tenant,))) as snapshot:
        nodes = matching_nodes(snapshot, Filter(kinds=PROSE_KINDS, sources=(source,)))
    return {plain_line(line) for node in nodes for line in node.text.splitlines()}


def accept_chapters(store: Store, tenant: str, source: str, *, is_right: bool = True) -> None:
    """Remember that the chapters of a source are right, or forget it."""
    known = {book.source for book in read_books(store, (tenant,))}
    if source not in known:
        raise UnknownName("story", source, known)
    store.write(Changes(units=((tenant, _ACCEPTED_SOURCE, source, _ACCEPTED if is_right else ""),)))


def may_hold_stories(store: Store, tenant: str) -> bool:
    """Return whether a tenant has prose that tells a story, or had some."""
    with store.snapshot(View((tenant,))) as snapshot:
        has_prose = not set(PROSE_KINDS).isdisjoint(snapshot.kinds())
    return has_prose or bool(store.units(tenant, STORIES_SOURCE))
