"""`python -m bench.story.quotations DATA [NOVEL...]`: are speeches found that are remembered badly?

DATA is the folder `data` of github.com/Priya22/project-dialogism-novel-corpus. From each novel six speeches of ten
words and more are drawn by a fixed seed; a sixth of their words is left out, a tenth is replaced by another word
of the book, and two neighbours change places. The question is `Who said "…"?`. A speech is found if six of its
words in a row stand on a page of 2,000 tokens, beside passages of 150 words in the order of BM25. It is attributed
if a note of the page names its speaker.
"""

import ast
import csv
import math
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from weft import Weft
from weft.overview.cast import list_entities
from weft.story import name_key
from weft.text.terms import analyze
from weft.tokens import counter_for

_NOVELS: Final = (
    *("AnneOfGreenGables", "APassageToIndia", "ARoomWithAView", "HardTimes", "HowardsEnd", "OliverTwist"),
    *("TheAgeOfInnocence", "TheAwakening", "TheInvisibleMan", "TheMysteriousAffairAtStyles"),
)
_OF_EACH: Final = 6
_MAX_TOKENS: Final = 2000
_WORDS: Final = (10, 24)
_LEFT_OUT: Final = 1 / 6
_REPLACED: Final = 0.1
_IN_A_ROW: Final = 6
_PASSAGE_WORDS: Final = 150
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_SAID_BY: Final = re.compile(r"\bsaid by (.+?)(?: \(chapter \d+\))?\.$")


def draw(folder: Path, words: Sequence[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield speeches of a novel as they stand there, as they are asked for, and the names of their speaker."""
    # The seed is the novel's name, so that a novel's questions are the same whichever others are measured.
    chance = random.Random(folder.name)
    with (folder / "quotation_info.csv").open(encoding="utf-8", newline="") as opened:
        rows = [
            (part, row["speaker"])
            for row in csv.DictReader(opened)
            for part in ast.literal_eval(row["subQuotationList"])
        ]
    with (folder / "character_info.csv").open(encoding="utf-8", newline="") as opened:
        names = {
            row["Main Name"]: frozenset({row["Main Name"], *ast.literal_eval(row["Aliases"] or "set()")})
            for row in csv.DictReader(opened)
        }
    long = [row for row in rows if len(_WORD.findall(row[0])) >= _WORDS[0]]
    for text, speaker in chance.sample(long, _OF_EACH):
        said = _WORD.findall(text)[: _WORDS[1]]
        kept = [
            chance.choice(words) if chance.random() < 0.1 else word for word in said if chance.random() >= 1 / 6
        ]
        swapped = chance.randrange(len(kept) - 1)
        kept[swapped], kept[swapped + 1] = kept[swapped + 1], kept[swapped]
        yield " ".join(said), " ".join(kept).lower(), names.get(speaker, frozenset({speaker}))


def is_found(said: str, page: str) -> bool:
    """Return whether a run of words of a speech stands on a page."""
    words = said.lower().split()
    plain = " ".join(_WORD.findall(page.lower()))
    return any(
        " ".join(words[start : start + _IN_A_ROW]) in plain for start in range(max(1, len(words) - _IN_A_ROW + 1))
    )


def passages_by_words(text: str) -> Callable[[str], str]:
    """Return a function that fills a page with the passages that BM25 ranks best."""
    words, passages, start = 0, [], 0
    lines = text.splitlines()
    for number, line in enumerate(lines):
        words += len(line.split())
        if (words > _PASSAGE_WORDS and not line.strip()) or number == len(lines) - 1:
            passages.append("\n".join(lines[start : number + 1]))
            start, words = number + 1, 0
    counts = [Counter(analyze(passage)) for passage in passages]
    mean = sum(map(Counter.total, counts)) / len(counts)
    frequency = Counter(term for each in counts for term in each)
    count_tokens = counter_for("cl100k_base")[0].count

    def score(asked: Sequence[str], found: Counter[str]) -> float:
        long = 1.2 * (0.25 + 0.75 * found.total() / mean)
        return sum(
            math.log(1 + (len(counts) - frequency[term] + 0.5) / (frequency[term] + 0.5))
            * (found[term] * 2.2 / (found[term] + long))
            for term in asked
            if found[term]
        )

    def page(question: str) -> str:
        asked = analyze(question)
        ranked = sorted(range(len(passages)), key=lambda index: (-score(asked, counts[index]), index))
        printed, spent = [], 0
        for each in ranked:
            spent += count_tokens(passages[each])
            if spent > _MAX_TOKENS:
                break
            printed.append(passages[each])
        return "\n\n".join(printed)

    return page


def main(data: Path, novels: Sequence[str]) -> None:
    """Print a row for each novel and one for all."""
    print("| novel | found | by BM25 | attributed rightly | wrongly |\n|---|---|---|---|---|")
    total = [0, 0, 0, 0]
    for novel in novels or _NOVELS:
        text = (data / novel / "novel_text.txt").read_text("utf-8", errors="replace")
        by_words = passages_by_words(text)
        row = [0, 0, 0, 0]
        with tempfile.TemporaryDirectory() as folder, Weft.open(folder) as weft:
            weft.index(data / novel / "novel_text.txt")
            aliases = {
                each.node.title: {
                    name_key(each.node.title),
                    *(name_key(alias.text) for alias in each.node.aliases),
                }
                for each in list_entities(weft)
            }
            for said, garbled, names in draw(data / novel, _WORD.findall(text)):
                question = f'Who said "{garbled}"?'
                context = weft.context(question, max_tokens=_MAX_TOKENS)
                page = context.text
                found, by_bm25 = is_found(said, page), is_found(said, by_words(question))
                speaker = next(filter(None, map(_SAID_BY.search, context.notes)), None)
                is_right = speaker is not None and bool(aliases[speaker.group(1)] & set(map(name_key, names)))
                for index, value in enumerate((found, by_bm25, is_right, speaker is not None and not is_right)):
                    row[index] += value
                if not found:
                    print(f"  {novel}: {said}\n    {question}", file=sys.stderr)
                elif speaker is not None and not is_right:
                    print(f"  {novel}: {speaker.group(1)} for {sorted(names)}: {said}", file=sys.stderr)
        total = [left + right for left, right in zip(total, row, strict=True)]
        print(f"| {novel} | {' | '.join(map(str, row))} |")
    print(f"| all, of {_OF_EACH * len(novels or _NOVELS)} | {' | '.join(map(str, total))} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
