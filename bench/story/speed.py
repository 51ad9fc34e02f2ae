"""`python -m bench.story.speed BOOKS`: a novel indexed, asked, and asked as of a chapter.

The shortest book of the folder that has 200,000 words is taken, or else the longest. Seconds are of the processor,
since other work may keep it busy. Who each of the ten most mentioned characters is, is asked three times, on the
default page and on the narrative one, and the medians are printed.
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
from weft.text.chapters import find_chapters

_WORDS = 200_000
_ENTITIES = 10


def choose_book(folder: Path) -> str:
    """Return the shortest book of a folder that is long enough, or the longest."""
    books = sorted((file.read_text("utf-8", errors="replace") for file in folder.glob("*.txt")), key=len)
    return next((book for book in books if len(book.split()) >= _WORDS), books[-1])


def seconds(work: Callable[[], object]) -> float:
    """Return processor time of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(folder: Path) -> None:
    """Print what it takes."""
    with tempfile.TemporaryDirectory() as place:
        book = Path(place) / "book.txt"
        text = choose_book(folder)
        book.write_text(text, encoding="utf-8")
        last = find_chapters(text)[-1].number
        print(f"{len(text.split()):,} words, {last} chapters")
        with Weft.open(Path(place) / "store") as weft:
            print(f"indexed in {seconds(lambda: weft.index(book)):.1f} s")
            print(f"indexed again, unchanged, in {seconds(lambda: weft.index(book)):.2f} s")

            asked = [
                f"Who is {each.node.title}?" for each in list_entities(weft, kinds=("character",))[:_ENTITIES]
            ]

            def ask(question: str, profile: str = "general", as_of: int | None = None) -> None:
                weft.context(question, profile=profile, as_of=as_of)

            def median(profile: str = "general", as_of: int | None = None) -> float:
                return 1000 * statistics.median(seconds(partial(ask, each, profile, as_of)) for each in 3 * asked)

            ask(asked[0])
            print(f"asked in {median():.1f} ms")
            print(f"narrative page in {median('narrative'):.1f} ms")
            middle = last // 2
            print(f"first asked as of the middle in {seconds(lambda: ask(asked[0], 'narrative', middle)):.1f} s")
            print(f"then in {median('narrative', middle):.1f} ms")
            print(f"first asked as of the end in {seconds(lambda: ask(asked[0], 'narrative', last)):.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
