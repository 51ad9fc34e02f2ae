"""Deal questions into packs for two readers, so that no reader ever sees both pages of a question."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins

from bench.readers.questions import MAKERS, Asked

READERS = ("reader-1", "reader-2")
"""As many as there are makers: the second reader gets the other page of every question."""
KEY = Path("key") / "key.jsonl"
INSTRUCTIONS = """\
Answer each question from the page below it and from nothing else: not from memory, not from other pages, not from
the web. Do not look into other folders. Fill in one line for each question in `{answers}`:

- `answer`: a short answer in your own words, or `-` if the page does not say.
- `quotes`: the words of the page that settle it, copied exactly; several separated by ` … `.
- `helped`: what on the page helped you, if anything did.
- `hindered`: what hindered you, or what you missed and where you would have expected it.

Where a page settles a part of the question, answer that part. Pages come from different programs in random order.
"""


class Dealt(Struct, frozen=True):
    """One question of a pack with the page that its reader sees."""

    number: int
    asked: Asked
    maker: str


class Pack(Struct, frozen=True):
    """The questions that one reader answers in one go."""

    reader: str
    name: str
    questions: tuple[Dealt, ...]


def make_packs(asked: Sequence[Asked], per_pack: int, seed: int) -> list[Pack]:
    """Return two packs for every `per_pack` questions: the same questions with the other page of each."""
    if not asked:
        raise SystemExit("There is no question to make a pack of.")
    chance = random.Random(seed)
    # Mixed, so that no reader can tell from the order which set or program a page belongs to.
    shuffled = chance.sample(list(asked), len(asked))
    packs: list[Pack] = []
    for start in range(0, len(shuffled), per_pack):
        chunk = shuffled[start : start + per_pack]
        sides = _sides(len(chunk), start // per_pack, chance)
        # The turn moves every question to its other page.
        for turn, reader in enumerate(READERS):
            dealt = [
                Dealt(number, one, MAKERS[(side + turn) % len(MAKERS)])
                for number, (one, side) in enumerate(zip(chunk, sides, strict=True), start=1)
            ]
            packs.append(Pack(reader, f"pack-{start // per_pack + 1:02d}", tuple(dealt)))
    return packs


def _sides(count: int, first: int, chance: random.Random) -> list[int]:
    """Return a side for each question, as many of one as of the other; an odd one goes to each side in turn."""
    sides = [(number + first) % len(MAKERS) for number in range(count)]
    chance.shuffle(sides)
    return sides


def check_new(out: Path) -> None:
    """Refuse a folder that holds something already, which may be answers."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SystemExit(f"{str(out)!r} is not an empty folder, and may hold answers. Name a new one.")


def write_packs(packs: Sequence[Pack], out: Path) -> None:
    """Write each reader's packs and empty answers into a folder of its own, and the key into another."""
    (out / KEY).parent.mkdir(parents=True)
    for pack in packs:
        folder = out / pack.reader
        folder.mkdir(exist_ok=True)
        (folder / f"{pack.name}.md").write_text(pack_text(pack), encoding="utf-8")
        (folder / answers_name(pack.name)).write_text(_lines(_empty_answers(pack)), encoding="utf-8")
    (out / KEY).write_text(_lines(row for pack in packs for row in _key_rows(pack)), encoding="utf-8")


def answers_name(pack: str) -> str:
    """Return the name of the file that takes the answers to a pack."""
    return f"{pack}.answers.jsonl"


def pack_text(pack: Pack) -> str:
    """Return a pack as one Markdown text: instructions, then each question with its page."""
    parts = [f"# {pack.name}", INSTRUCTIONS.format(answers=answers_name(pack.name)).rstrip()]
    for dealt in pack.questions:
        page = dealt.asked.pages[dealt.maker]
        # A page is quoted as it is, Markdown and all: it must not look like part of the pack.
        fence = _fence(page)
        parts += [f"## {dealt.number}. {' '.join(dealt.asked.text.split())}", f"{fence}\n{page}\n{fence}"]
    return "\n\n".join(parts) + "\n"


def _fence(page: str) -> str:
    """Return a fence that is longer than any run of the same sign on the page, so that no page can end it."""
    return "~" * max([4, *(len(run) + 1 for run in re.findall("~+", page))])


def _empty_answers(pack: Pack) -> Iterator[dict[str, object]]:
    for dealt in pack.questions:
        yield {"number": dealt.number, "answer": "", "quotes": "", "helped": "", "hindered": ""}


def _key_rows(pack: Pack) -> Iterator[dict[str, object]]:
    """Yield what the grading needs to know of each page, and no reader may."""
    for dealt in pack.questions:
        asked = dealt.asked
        yield {
            "reader": pack.reader,
            "pack": pack.name,
            "number": dealt.number,
            "maker": dealt.maker,
            "set": asked.set,
            "id": asked.id,
            "text": asked.text,
            "standard": to_builtins(asked.standard),
            "held": asked.held[dealt.maker],
        }


def _lines(rows: Iterator[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
