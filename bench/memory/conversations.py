"""Count what questions about conversations need and a page holds, and what any page could hold at most.

python -m bench.memory.conversations BEAM [--chats 1-10] [--budgets 1000,2000,8000] [--no-pages]

BEAM is a checkout of mohammadtavakoli78/BEAM, which is not ours to pass on. Each chat of 100K becomes a log of
role, content and date in a store of its own. A rule, a preference or a point of a summary is on a page if seven
tenths of its words stand within a span of it; a fact or newer value if its words do. The column "all" has the
whole conversation for a page: what is not found there, no page can show in these words. The last lines say how
much of the text that is judged good for a summary fits 8,000 tokens if it is known beforehand, or if messages are
chosen by words or by chance.
"""

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from weft import Weft
from weft.evaluation.baselines import rank_by_words
from weft.tokens import DEFAULT_ENCODING, counter_for

Test = Callable[[str], bool]
"""Says whether the words of a page hold what is needed."""

_SHARE: Final = 0.7
"""The share of the words of a rule or point that must stand together."""
_RULE_SPAN: Final = 80
_POINT_SPAN: Final = 150
"""Words within which they must stand: a point of a summary joins what several turns said."""
_STEM: Final = 6
"""Letters of a word that are compared, so that "tested" is "testing"."""
_MAX_STATED: Final = 60
"""Characters of a fact that must stand on the page as it is; a longer one could be said in other words."""
_SUMMARY_TOKENS: Final = 8_000
_COMMON: Final = """
    always never when asked about with that this from have your should would could please make sure user wants
    into them they what which whenever provide include prefer preferred were was been their then also
"""
"""Words by which no rule is told from another."""
_COMMON_WORDS: Final = frozenset(_COMMON.split())


class Question(Struct, frozen=True):
    """A question about a chat: its ability, the tests of what it needs, and the messages judged good for it."""

    ability: str
    text: str
    tests: tuple[Test, ...]
    gold: frozenset[int]


class Chat(Struct, frozen=True):
    """A conversation as turns of a log with the number of each message, and the questions about it."""

    turns: Mapping[int, Mapping[str, str]]
    questions: tuple[Question, ...]


def read_chat(folder: Path) -> Chat:
    """Read one chat of the set."""
    turns: dict[int, Mapping[str, str]] = {}
    for batch in json.loads((folder / "chat.json").read_text()):
        for message in (message for turn in batch["turns"] for message in turn):
            date = message.get("time_anchor") or batch.get("time_anchor") or ""
            turn = {"role": message["role"], "content": message["content"], "date": date}
            turns.setdefault(message["id"], turn)
    asked = json.loads((folder / "probing_questions" / "probing_questions.json").read_text())
    questions = (
        Question(
            ability, each["question"], make_tests(ability, each), frozenset(_numbers(each.get("source_chat_ids")))
        )
        for ability, several in asked.items()
        for each in several
    )
    return Chat(turns, tuple(question for question in questions if question.tests))


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(each)


def make_tests(ability: str, question: Mapping[str, Any]) -> tuple[Test, ...]:
    """Return what must stand on a page for the question, as tests of its text; none where the set does not say."""
    rule = question.get("instruction_being_tested") or question.get("preference_being_tested")
    if rule:
        return (stands_within(rule, _RULE_SPAN),)
    points = [point.split(":", 1)[-1].strip(" '\".") for point in question.get("rubric", [])]
    if ability == "summarization":
        return tuple(stands_within(point, _POINT_SPAN) for point in points)
    is_stated = ability in ("information_extraction", "knowledge_update") and all(
        ":" in point for point in question.get("rubric", [])
    )
    if is_stated and points and all(len(point) < _MAX_STATED for point in points):
        stated = [point.lower() for point in points]
        return (lambda page: all(each in page.lower() for each in stated),)
    return ()


def stands_within(text: str, span: int) -> Test:
    """Return a test that most words of a text stand within so many words of each other."""
    wanted = set(_words(text))

    def holds(page: str) -> bool:
        printed = _words(page)
        starts = range(0, max(1, len(printed) - span // 2), 10)
        return bool(wanted) and any(
            len(wanted.intersection(printed[at : at + span])) >= _SHARE * len(wanted) for at in starts
        )

    return holds


def _words(text: str) -> list[str]:
    return [word[:_STEM] for word in re.findall(r"[a-z0-9]{3,}", text.lower()) if word not in _COMMON_WORDS]


def count_on_pages(chat: Chat, budgets: Sequence[int]) -> Iterator[tuple[str, str, int, int]]:
    """Yield for each question its ability, a column, how much of what it needs is there, and how much it needs."""
    whole = "\n".join(turn["content"] for turn in chat.turns.values())
    for question in chat.questions:
        yield question.ability, "all", sum(test(whole) for test in question.tests), len(question.tests)
    if not budgets:
        return
    with tempfile.TemporaryDirectory() as folder, Weft.open(Path(folder) / "store") as weft:
        log = Path(folder) / "chat.jsonl"
        log.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in chat.turns.values()))
        weft.index(str(log))
        for question in chat.questions:
            for budget in budgets:
                # The question is no answer to itself.
                page = weft.context(question.text, max_tokens=budget).text.replace(question.text, "", 1)
                yield (
                    question.ability,
                    str(budget),
                    sum(test(page) for test in question.tests),
                    len(question.tests),
                )


def share_of_gold(chat: Chat) -> Iterator[tuple[str, float]]:
    """Yield for each summary, by the way of choosing, the share of its good text that fits the budget."""
    count = counter_for(DEFAULT_ENCODING)[0].count
    texts = {number: turn["content"] for number, turn in chat.turns.items()}
    costs = {number: count(text) for number, text in texts.items()}
    by_words = rank_by_words(list(texts.values()))
    numbers = {text: number for number, text in texts.items()}
    for question in chat.questions:
        good = question.gold & texts.keys()
        if question.ability != "summarization" or not good:
            continue
        letters = sum(len(texts[number]) for number in good)
        ways = {
            "known beforehand": sorted(good, key=costs.__getitem__),
            "by words": [numbers[text] for text in by_words(question.text)],
        }
        for way, order in ways.items():
            taken = _fill(order, costs)
            yield (
                way,
                sum(len(texts[number]) * share for number, share in taken.items() if number in good) / letters,
            )
        yield "by chance", min(_SUMMARY_TOKENS / sum(costs.values()), 1.0)


def _fill(order: Sequence[int], costs: Mapping[int, int]) -> dict[int, float]:
    """Return the messages that fit, each with the share of it that does: the last is cut."""
    left = _SUMMARY_TOKENS
    taken: dict[int, float] = {}
    for number in order:
        taken[number] = min(left / max(costs[number], 1), 1.0)
        left -= costs[number]
        if left <= 0:
            break
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chats", default="1-10")
    parser.add_argument("--budgets", default="1000,2000,8000")
    parser.add_argument("--no-pages", action="store_true", help="only what any page could hold")
    asked = parser.parse_args()
    budgets = [] if asked.no_pages else [int(budget) for budget in asked.budgets.split(",")]
    first, last = map(int, asked.chats.split("-"))
    held: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    shares: dict[str, list[float]] = defaultdict(list)
    for number in range(first, last + 1):
        chat = read_chat(asked.folder / "chats" / "100K" / str(number))
        for ability, column, found, of in count_on_pages(chat, budgets):
            held[ability][column][0] += found
            held[ability][column][1] += of
        for way, share in share_of_gold(chat):
            shares[way].append(share)
    for ability, columns in sorted(held.items()):
        print(f"{ability:24s} " + "  ".join(f"{name}: {found}/{of}" for name, (found, of) in columns.items()))
    for way, parts in shares.items():
        print(f"good text of summaries in {_SUMMARY_TOKENS:,} tokens, {way}: {sum(parts) / len(parts):.1%}")


if __name__ == "__main__":
    main()
