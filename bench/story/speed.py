"""`python -m bench.story.speed BOOKS`: a novel of 200 000 words indexed, asked, and asked as of a chapter.

The shortest book of the folder that has enough words is taken; where none has, all are put together. Seconds are
of the processor, since other work may keep it busy; who each of the ten most mentioned characters is, is asked
three times, and the median told.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from weft import Weft
from weft.overview.cast import list_entities

_WORDS = 200_000
_ENTITIES = 10


def together(folder: Path) -> str:
    """Return enough words of the books in a folder, with their chapter headings."""
    books = sorted((file.read_text("utf-8", errors="replace") for file in folder.glob("*.txt")), key=len)
    long = [book for book in books if len(book.split()) >= _WORDS]
    return long[0] if long else "\n\n".join(reversed(books))


def seconds(work: Callable[[], object]) -> float:
    """Return processor time of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(folder: Path) -> None:
    """Print what it takes."""
    with tempfile.TemporaryDirectory() as place:
        book = Path(place) / "book.txt"
        book.write_text(together(folder), encoding="utf-8")
        print(f"{len(book.read_text('utf-8').split()):,} words")
        with Weft.open(Path(place) / "store") as weft:
            print(f"indexed in {seconds(lambda: weft.index(book)):.1f} s")
            print(f"indexed again, unchanged, in {seconds(lambda: weft.index(book)):.2f} s")

            asked = [
                f"Who is {each.node.title}?" for each in list_entities(weft, kinds=("character",))[:_ENTITIES]
            ]

            def ask(question: str, as_of: int | None = None) -> None:
                weft.context(question, profile="narrative", as_of=as_of)

            def median(as_of: int | None = None) -> float:
                return 1000 * statistics.median(seconds(partial(ask, each, as_of)) for each in 3 * asked)

            ask(asked[0])
            print(f"asked in {median():.1f} ms")
            print(f"first asked as of the middle in {seconds(lambda: ask(asked[0], 30)):.1f} s")
            print(f"then in {median(30):.1f} ms")
            print(f"first asked as of the end in {seconds(lambda: ask(asked[0], 1_000)):.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
