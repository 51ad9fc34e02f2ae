"""Count what an agent reads to answer questions about a repository, with Weft's tools and with others.

    python -m bench.duel QUESTIONS.json REPOSITORY [--store DIR] [--show]

The file holds a list of questions: `text`; `facts`, regular expressions that all stand in what was printed once
the question can be answered; and `calls`, by the name of a side, the commands that an agent sends one after
another. A side stops at the first call after which all facts were printed, and every token that its calls printed
counts, errors and notes too. A call is a list of words, run in the repository; `{question}` stands for the text.
The commands `weft …` run the tree that this file belongs to, on a store of the repository.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from weft import Weft
from weft.tokens import DEFAULT_ENCODING, counter_for

_SECONDS: Final = 60.0
"""The time that one call may take: an agent would give up long before."""


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, the facts that answer it, and the calls of every side."""

    text: str
    facts: tuple[str, ...]
    calls: dict[str, tuple[tuple[str, ...], ...]]


class Turn(msgspec.Struct, frozen=True):
    """The calls of one side about one question, and how far they led."""

    calls: int
    tokens: int
    missing: tuple[str, ...]
    printed: str


def main() -> None:
    """Read the command line, and print a row for each question and the sums of every side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--store", type=Path, help="a store of it; made anew if left out")
    parser.add_argument("--show", action="store_true", help="print what was printed")
    options = parser.parse_args()
    questions = msgspec.json.decode(options.questions.read_bytes(), type=tuple[Question, ...])
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "store"
        if not store.exists():
            with Weft.open(store) as weft:
                weft.index(options.repository)
        print(report(questions, options.repository, store, show=options.show))


def report(questions: Sequence[Question], repository: Path, store: Path, *, show: bool = False) -> str:
    """Return a table of calls, tokens and answers by question and side, and what was printed where asked for."""
    sides = sorted({side for question in questions for side in question.calls})
    lines = [f"| question | {' | '.join(sides)} |", f"|---|{'---:|' * len(sides)}"]
    turns = {
        side: [play(question, question.calls.get(side, ()), repository, store) for question in questions]
        for side in sides
    }
    for number in range(len(questions)):
        cells = [_cell(turns[side][number]) for side in sides]
        lines.append(f"| {number + 1} | {' | '.join(cells)} |")
    lines.append(f"| all | {' | '.join(_sum(turns[side]) for side in sides)} |")
    if show:
        for side in sides:
            lines += [f"\n== {number}, {side}\n{turn.printed}" for number, turn in enumerate(turns[side], 1)]
    return "\n".join(lines)


def play(question: Question, calls: Sequence[Sequence[str]], repository: Path, store: Path) -> Turn:
    """Send the calls of one side until everything that answers the question was printed."""
    count = counter_for(DEFAULT_ENCODING)[0].count
    printed, missing, sent = "", question.facts, 0
    for call in calls:
        printed += _run([word.replace("{question}", question.text) for word in call], repository, store)
        sent += 1
        # A page prints the question above its items, which answers nothing.
        told = printed.replace(question.text, "")
        missing = tuple(fact for fact in question.facts if not re.search(fact, told))
        if not missing:
            break
    return Turn(sent, count(printed), missing, printed)


def _run(call: Sequence[str], repository: Path, store: Path) -> str:
    """Run one command in the repository, and return all that it printed."""
    words = list(call)
    if words[0] == "weft":
        words = [sys.executable, "-m", "weft", *words[1:], "--store", str(store.resolve())]
    done = subprocess.run(words, cwd=repository, capture_output=True, timeout=_SECONDS, check=False)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _cell(turn: Turn) -> str:
    missing = f", without {', '.join(turn.missing)}" if turn.missing else ""
    return f"{turn.tokens:,} in {turn.calls}{missing}"


def _sum(turns: Sequence[Turn]) -> str:
    answered = sum(not turn.missing for turn in turns)
    tokens, calls = sum(turn.tokens for turn in turns), sum(turn.calls for turn in turns)
    return f"{tokens:,} in {calls}, {answered} of {len(turns)} answered"


if __name__ == "__main__":
    main()
