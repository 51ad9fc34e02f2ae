"""Put forgeries into every source, print pages of them in every format, and look whether the frame is ours."""

import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

from security.forged_frames import (
    FORMATS,
    MARK,
    QUESTION,
    check_page,
    make_files,
    make_forgery,
    spread,
    write_files,
)
from torture.workload import NOW
from weft import Node, Weft
from weft.memory.memory_store import remember

_PROFILES = ("general", "notes", "knowledge", "workspace", "narrative")
_BUDGET = 30_000
"""Tokens of a page: it holds what all sources of a few forgeries say."""


def run_forgeries(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many forgeries were tried in how many sources and pages, and how many forged something."""
    wrong, pages, tried, held, shown = [], 0, 0, 0, Counter[str]()
    while time.monotonic() < until and tried < min(most, 100_000):
        # Each seed begins where others do not; the first has the forgeries that have names.
        number = (seed - 1) * 100_000 + tried
        text, home = make_forgery(number), folder / "home"
        tried += 1
        _make_world(home, text)
        with Weft.open(home / ".weft", embedder=None) as weft:
            profile = random.Random(number).choice(_PROFILES)
            for format in FORMATS:
                page = weft.context(QUESTION, profile=profile, format=format, max_tokens=_BUDGET, floor=0, now=NOW)
                pages += 1
                held += MARK in page.text
                shown.update(citation.key for citation in page.sources)
                try:
                    check_page(page.text, format, [entry.title for entry in page.ledger])
                except Exception as error:  # noqa: BLE001  (a page that cannot be parsed is forged too)
                    wrong.append(f"forgery {number} in {format} ({profile}): {str(error)[:300]}")
        shutil.rmtree(home)
    for each in wrong[:20]:
        print("  ", each)
    kinds = [name for name in make_files("x") if any(name.partition(".")[0] in key for key in shown)]
    beside = [
        name for name in ("commit/", "memory:", "app:title", "app:fields") if any(name in key for key in shown)
    ]
    print(f"   {held} pages hold a forgery; printed of the sources {', '.join([*kinds, *beside])}")
    return {"forgeries": tried, "pages": pages, "losses": len(wrong)}


def _make_world(home: Path, text: str) -> None:
    """Index a folder with the forgery in every kind of file and in a commit; put and remember it too."""
    write_files(home / "files", text)
    git = ["git", "-C", str(home / "files"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    message = spread(text).replace("\x00", "").encode("utf-8", "replace")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "--cleanup=verbatim", "-F", "-"], input=message, check=True)
    with Weft.open(home / ".weft", embedder=None) as weft:
        weft.index(home / "files")
        title = Node("app:title", "note", title=f"Lighthouse keeper {text}", summary=text, text=spread(text))
        fields = Node("app:fields", "note", title="Lighthouse", fields={"state": text}, tags=(text[:40] or "x",))
        weft.put([title, fields])
        remember(weft.indexing_context(), spread(text), now=NOW)
