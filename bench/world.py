"""Worlds to measure with: real sentences of this machine's Python, recombined, with titles that texts mention."""

import argparse
import ast
import json
import random
import re
import sys
import sysconfig
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

WORLDS = Path(__file__).parent / "worlds"
SEED = 20_261
WORDS_A_NODE = 100
NODES_A_FILE = 50_000
NAME_WORDS = 4_000
STEP = 15_485_863
KINDS = ("note", "document", "person", "place", "decision", "function", "commit", "question")
TAGS = 60
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_WORD = re.compile(r"\b[a-z]{4,11}\b")
_TEXT_FILES = ("*.md", "*.rst", "*.txt", "METADATA", "LICENSE*")
_MENTIONS = (
    "This follows what {} says about it.",
    "It was first seen together with {} and later moved.",
    "Compare the remarks on {} before changing this.",
    "Both {} and {} depend on the same assumption.",
    "The older way, described in {}, still works here.",
    "Nothing of this applies where {} is used.",
)


@dataclass(frozen=True, slots=True)
class World:
    """A folder of record files, and questions to ask about what they hold."""

    folder: Path
    questions: Path
    nodes: int


def world(size: int, data: Path | None = None, seed: int = SEED) -> World:
    """Return the world of that many nodes, made if it is not there yet."""
    folder = WORLDS / f"{size}{'-data' if data else ''}"
    made = World(folder / "records", folder / "questions.json", size)
    if not made.questions.exists():
        made.folder.mkdir(parents=True, exist_ok=True)
        _write(made, kept_sentences(data), seed)
    return made


def kept_sentences(data: Path | None) -> list[str]:
    """Return the sentences, kept so that all worlds are made from the same ones."""
    kept = WORLDS / f"sentences{'-data' if data else ''}.txt"
    if not kept.exists():
        WORLDS.mkdir(exist_ok=True)
        kept.write_text("\n".join(sentences(data)), encoding="utf-8")
    return kept.read_text("utf-8").split("\n")


def sentences(data: Path | None = None) -> list[str]:
    """Return every distinct sentence of 5 to 40 words in the Python that runs this, in the order of its files."""
    found: dict[str, None] = {}
    for text in _texts(data):
        for block in re.split(r"\n\s*\n", text):
            for sentence in _SENTENCE_END.split(" ".join(block.split())):
                if 5 <= sentence.count(" ") < 40 and sentence[0].isupper() and sentence.isascii():
                    found.setdefault(sentence if sentence[-1] in ".!?" else sentence + ".")
    return list(found)


def _texts(data: Path | None) -> Iterator[str]:
    library, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    for path in sorted((data or packages).rglob("corpus.jsonl")):
        yield from (json.loads(line)["text"] for line in path.read_text("utf-8").splitlines())
    for path in sorted(each for pattern in _TEXT_FILES for each in packages.rglob(pattern)):
        if path.is_file():
            yield path.read_text("utf-8", "ignore")
    for path in sorted([*library.rglob("*.py"), *packages.rglob("*.py")]):
        if not {"test", "tests", "idlelib"} & set(path.parts) and (
            path.is_relative_to(packages) or "site-packages" not in path.parts
        ):
            yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text("utf-8", "ignore"))
    except (SyntaxError, ValueError):
        # Some packages ship files that are broken on purpose, for their own tests.
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = ast.get_docstring(node)
            if said:
                yield said


def _write(made: World, said: Sequence[str], seed: int) -> None:
    maker = _Maker(made.nodes, said, random.Random(seed))
    for first in range(0, made.nodes, NODES_A_FILE):
        path = made.folder / f"part-{first // NODES_A_FILE:04d}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number in range(first, min(first + NODES_A_FILE, made.nodes)):
                stream.write(json.dumps(maker.record(number)) + "\n")
    made.questions.write_text(json.dumps([maker.question() for _ in range(1000)], indent=0), encoding="utf-8")


class _Maker:
    """Draws records and questions, always in the same order from the same seed."""

    def __init__(self, nodes: int, said: Sequence[str], draw: random.Random) -> None:
        self._nodes, self._said, self._draw = nodes, said, draw
        count = Counter(word for sentence in said for word in _WORD.findall(sentence))
        words = sorted(word for word, times in count.items() if times > 2)
        draw.shuffle(words)
        self._words = [word.capitalize() for word in words[:NAME_WORDS]]
        self._popular = list(accumulate(1.0 / (rank + 20) for rank in range(min(nodes, 50_000))))
        self._seats = draw.sample(range(nodes), len(self._popular))

    def title(self, number: int) -> str:
        """Return two words, the same for a number in every world, and no other number's."""
        # The step is a prime larger than the number of words, so it visits every pair once.
        pairs = len(self._words) ** 2
        first, second = divmod(number * STEP % pairs, len(self._words))
        return f"{self._words[first]} {self._words[second]}"

    def record(self, number: int) -> dict[str, object]:
        """Return one node as the records source reads it."""
        day = FIRST_DAY + timedelta(hours=self._draw.randrange(50_000))
        return {
            "key": f"n{number}",
            "kind": KINDS[min(int(self._draw.expovariate(0.6)), len(KINDS) - 1)],
            "title": self.title(number),
            "text": self._text(number),
            "tags": sorted({f"tag{min(int(self._draw.paretovariate(0.8)), TAGS)}" for _ in range(2)}),
            "created": day.isoformat(),
        }

    def _text(self, number: int) -> str:
        parts: list[str] = []
        words = 0
        home = self._draw.randrange(len(self._said))
        target = self._draw.gauss(WORDS_A_NODE, 30)
        while words < max(target, 20):
            parts.append(self._sentence(home))
            words += parts[-1].count(" ") + 1
        for _ in range(self._draw.choice((2, 2, 3, 4))):
            names = [self.title(self._mentioned(number)) for _ in range(2)]
            parts.insert(self._draw.randrange(len(parts) + 1), self._draw.choice(_MENTIONS).format(*names))
        return " ".join(parts)

    def _sentence(self, home: int) -> str:
        """Return a sentence, mostly from the same few pages, because texts have a subject."""
        if self._draw.random() < 0.5:
            return self._said[(home + self._draw.randrange(200)) % len(self._said)]
        return self._said[self._draw.randrange(len(self._said))]

    def _mentioned(self, number: int) -> int:
        """Return a node nearby, or one that everybody mentions."""
        if self._draw.random() < 0.6:
            return (number + 1 + int(self._draw.expovariate(0.02))) % self._nodes
        return self._seats[bisect(self._popular, self._draw.random() * self._popular[-1])]

    def question(self) -> str:
        """Return a question that a user might ask: about a node by name, or in the words of a sentence."""
        chosen = _WORD.findall(self._said[self._draw.randrange(len(self._said))])
        self._draw.shuffle(chosen)
        about = " ".join(chosen[: self._draw.randrange(3, 9)])
        if self._draw.random() < 0.5:
            return about
        return f"What does {self.title(self._draw.randrange(self._nodes))} say about {about}?"


def main() -> None:
    """Make the worlds of the sizes given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="+", type=int)
    parser.add_argument("--data", type=Path, help="a folder whose corpus.jsonl files add their text")
    given = parser.parse_args()
    for size in given.sizes:
        made = world(size, given.data)
        bytes_made = sum(path.stat().st_size for path in made.folder.iterdir())
        print(f"{made.nodes} nodes, {bytes_made / 1e6:.0f} MB in {made.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
