"""`python -m bench.story.speed BOOKS`: a novel of 200 000 words indexed, asked, and asked as of a chapter.

The books of the folder are put together until there are enough words. Seconds are of the processor, since other
work may keep it busy; questions are asked 30 times and the median is told.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from weft import Weft

_WORDS = 200_000
_QUESTION = "Who is Mr. Knightley?"


def together(folder: Path) -> str:
    """Enough words of the books in a folder, with their chapter headings."""
    text = ""
    for file in sorted(folder.glob("*.txt"), key=lambda file: -file.stat().st_size):
        text += file.read_text("utf-8", errors="replace") + "\n\n"
        if len(text.split()) >= _WORDS:
            break
    return text


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run."""
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

            def ask(as_of: int | None = None) -> None:
                weft.context(_QUESTION, profile="narrative", as_of=as_of)

            ask()
            print(f"asked in {1000 * statistics.median(seconds(ask) for _ in range(30)):.1f} ms")
            print(f"first asked as of the middle in {seconds(lambda: ask(30)):.1f} s")
            print(f"then in {1000 * statistics.median(seconds(lambda: ask(30)) for _ in range(30)):.1f} ms")
            print(f"first asked as of the end in {seconds(lambda: ask(1_000)):.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
