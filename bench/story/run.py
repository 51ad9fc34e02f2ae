"""`python -m bench.story.run BOOKS`: what is found in real novels, and what it costs in processor time.

BOOKS is a folder with the files that books.toml names; `python -m bench.story.fetch BOOKS` puts them there.
"""

import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from bench.story.measure import Expected, measure, proses_of
from weft.story import extract_story

_LISTS = Path(__file__).parent / "books.toml"


def main(folder: Path) -> None:
    """Print a line for each book that is there."""
    for title, listed in tomllib.loads(_LISTS.read_text("utf-8")).items():
        file = folder / listed["file"]
        if not file.exists():
            print(f"{title}: {file.name} is not in {folder}")
            continue
        proses = proses_of(file.read_text("utf-8", errors="replace"))
        start = time.process_time()
        story = extract_story(proses)
        seconds = time.process_time() - start
        quality = measure(story, Expected(listed["characters"], listed["others"]))
        words = sum(len(prose.text.split()) for prose in proses)
        print(f"{title}: {words:,} words in {seconds:.1f} s")
        print(f"  {quality.found} of {quality.expected} characters are one entity; not: {_listed(quality.missed)}")
        print(f"  junk in the top forty: {_listed(quality.junk)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
