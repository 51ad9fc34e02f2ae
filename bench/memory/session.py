"""How many bytes that were handed out would be handed out differently later in the same session?

python -m bench.memory.session FOLDER [--turns 100] [--max-tokens 2000]

FOLDER holds an indexed copy of httpx, of which the questions are. A session of 100 turns asks twenty questions in
turn, as an agent asks a server, and at every tenth turn something unrelated is remembered, which moves the scores
of everything a little. What differs from the page that was handed out for the same question before, from the first
byte that differs on, could not have been read from a cache. In a session of hooks, blocks that are handed out a
second time in other words are counted.
"""

import argparse
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bench.silence import HTTPX, NOTHING
from weft import Weft
from weft.interfaces.hooks.answers import answer_event
from weft.interfaces.hooks.events import Event, Settings
from weft.memory.memory_store import remember

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TURNS_A_MEMORY: Final = 10


def changed_bytes(before: str, now: str) -> int:
    """Return how many bytes of a page are not part of the beginning that both versions share."""
    old, new = before.encode(), now.encode()
    pairs = zip(old, new, strict=False)
    shared = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))
    return len(old) - shared


def ask_pages(weft: Weft, turns: int, max_tokens: int) -> tuple[int, int]:
    """Return the bytes handed out in a session with a server, and how many of them came differently before."""
    last: dict[str, str] = {}
    handed = changed = 0
    for turn in range(turns):
        now = START + timedelta(minutes=turn)
        if turn % _TURNS_A_MEMORY == _TURNS_A_MEMORY - 1:
            remember(weft.indexing_context(), f"The vet of office cat {turn} lives in Bergen", now=now)
        question = HTTPX[turn % len(HTTPX)]
        page = weft.context(question, max_tokens=max_tokens, now=now).text
        handed += len(page.encode())
        changed += changed_bytes(last.get(question, page), page)
        last[question] = page
    return handed, changed


def hold_hooks(weft: Weft, turns: int) -> tuple[int, int]:
    """Return the bytes that hooks hand out in a session, and those of blocks that came before in other words."""
    session, seen = f"session-{os.getpid()}", dict[str, str]()
    handed = changed = 0
    prompts = [prompt for pair in zip(HTTPX * turns, NOTHING * turns, strict=False) for prompt in pair][:turns]
    for prompt in prompts:
        text = answer_event(weft, Event("UserPromptSubmit", session=session, prompt=prompt), Settings())
        handed += len(text.encode())
        for block in text.split("\n### ")[1:]:
            # The title, and the place where that has one: other parts of a file are other blocks.
            title, _, body = block.partition("\n\n")
            changed += len(block.encode()) if seen.get(title, body) != body else 0
            seen[title] = body
    return handed, changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--max-tokens", type=int, default=2_000)
    asked = parser.parse_args()
    with Weft.open(asked.folder / ".weft", create=False) as weft:
        for name, (handed, changed) in (
            ("pages of a server", ask_pages(weft, asked.turns, asked.max_tokens)),
            ("answers of hooks", hold_hooks(weft, asked.turns)),
        ):
            print(f"{name}: {asked.turns} turns, {handed:,} bytes, {changed / max(handed, 1):.2%} differently")


if __name__ == "__main__":
    main()
