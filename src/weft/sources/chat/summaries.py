"""Summarise a day of a conversation without a language model: topics, people, dates, decisions and so on.

Each line says which turns it was taken from, so that a reader finds them again: `@12` is the twelfth turn.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from msgspec.structs import replace

from weft.model import Node
from weft.text import split_sentences
from weft.text.sentences import find_proper_names
from weft.text.statements import Form, find_statements
from weft.text.terms import STOP_WORDS, analyze

SUMMARY: Final = "summary"
"""The kind of nodes that hold the summary of a day of a session."""
_MIN_TURNS: Final = 4
"""Turns of a person below which a day is as short as its summary."""
_MAX_TOPICS: Final = 8
_MAX_NAMES: Final = 10
_MAX_VALUES: Final = 12
"""Dates and quantities, each with its turn."""
_MAX_STATED: Final = 6
"""Decisions and open questions."""
_MAX_COURSE_LINES: Final = 60
"""Turns in the course of a day; of more, every second, third … is listed."""
_LINE_CHARACTERS: Final = 110
"""The length of a line of the course: what the turn is about stands in its first words."""
_VALUE_WORDS: Final = 3
"""Words before a quantity that say what it measures."""
_MIN_TOPIC_TURNS: Final = 2
_MIN_TOPIC_LETTERS: Final = 4
_FENCE: Final = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d_][\w'-]+")
_LEAD: Final = re.compile(
    r"\A\W*(?:(?:so|hmm|ok|okay|sure|thanks|well|also|hi|hello)\b[\s,!.]*)*"
    r"(?:I['’]m (?:currently |now )?trying to )?",
    re.IGNORECASE,
)
"""The words before the matter of a turn."""
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE: Final = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b\d{{1,2}}\.? {_MONTH}(?: \d{{4}})?\b"
)
_QUANTITY: Final = re.compile(
    r"[$€£]\s?\d(?:[\d,.]*\d)?"
    r"|\b\d[\d,.]*\s?(?:%|(?:percent|ms|seconds?|minutes?|hours?|days?|weeks?|months?|years?|[kKMG]B|km|kg|euros?"
    r"|dollars?|pages?|words?|items?|users?|commits?|tests?|problems?|points?|people|times)\b)"
)
_DECIDING: Final = re.compile(
    r"\b(?:we|I)(?:['’]ve| have| all)? (?:just |finally )?(?:decided|agreed|chosen|chose|settled|switched"
    r"|adopted|opted)"
    r"|\b(?:we|I)(?:['’]ll| will) (?:go|stick) with|\blet['’]?s (?:go|stick) with",
    re.IGNORECASE,
)
_NOT_PEOPLE: Final = re.compile(r"[\d_./()]|[a-z][A-Z]|\A[A-Z]{2,}\Z|['’](?:m|ve|d|ll|s)\b")
_PERSON_BEFORE: Final = re.compile(
    r"\b(?:told|met|asked|called|meet|meeting with|married|(?:advice|feedback|help|news|mail|call) from|my name is"
    r"|(?:mentor|friend|colleague|partner|manager|boss|wife|husband|son|daughter|brother|sister|teacher|doctor|client"
    r"|neighbou?r|recruiter|agent|coach|editor),?|I['’]m|I am)\s+\Z",
    re.IGNORECASE,
)
_ASKING: Final = frozenset(
    {
        *("about", "added", "already", "also", "been", "code", "could", "create", "ensure", "example", "explain"),
        *("fix", "following", "give", "have", "help", "here", "implement", "improve", "include", "know", "like"),
        *("make", "need", "please", "project", "provide", "should", "show", "some", "sure", "tell", "thanks"),
        *("think", "understand", "used", "using", "want", "what", "when", "where", "which", "with", "would"),
    }
)
"""Words of requests, which say nothing about their subject."""


def summarise_days(nodes: Sequence[Node]) -> list[Node]:
    """Return a summary for each day of a session, given as the session's nodes in their order."""
    session, *others = nodes
    days: dict[date | None, list[Node]] = {}
    for node in others:
        days.setdefault(node.created.date() if node.created else None, []).append(node)
    found: list[Node] = []
    for day, said in days.items():
        turns = [(node.sequence or 0, node) for node in said if node.kind == "message"]
        text = summarise(
            turns, [(node.sequence or 0, _say_decision(node)) for node in said if node.kind == "decision"]
        )
        if not text:
            continue
        summary = replace(
            session,
            key=f"{session.key}/summary-{len(found) + 1}",
            kind=SUMMARY,
            title=session.title + (f", {day:%Y-%m-%d}" if day else ""),
            summary="",
            text=text,
            fields={"messages": len(turns)},
            sequence=len(found) + 1,
            created=turns[0][1].created,
            modified=turns[-1][1].created,
        )
        found.append(summary)
    return found


def _say_decision(node: Node) -> str:
    """Return the words that decide, without the plans and reasons that often stand before them."""
    stated = [each.text for each in find_statements(node.text) if each.form is Form.DECISION]
    words = stated[0] if stated else node.title
    begins = _DECIDING.search(words)
    return shorten(words[begins.start() :] if begins else words, _LINE_CHARACTERS)


def summarise(turns: Sequence[tuple[int, Node]], decisions: Iterable[tuple[int, str]]) -> str:
    """Return the summary of some turns, given with their numbers; empty where they are few.

    `decisions` are the numbers of turns and what was decided in them.
    """
    own = [(number, _FENCE.sub("\n", node.text)) for number, node in turns if node.fields.get("role") == "user"]
    if len(own) < _MIN_TURNS:
        return ""
    answered = turns[-1][1].fields.get("role") != "user"
    lines = [
        ("Topics", ", ".join(_find_topics([text for _, text in own]))),
        ("People", ", ".join(_cite(_find_people(own), _MAX_NAMES))),
        ("Dates", ", ".join(_cite(_find_matches(own, _DATE, 0), _MAX_VALUES))),
        ("Quantities", ", ".join(_cite(_find_matches(own, _QUANTITY, _VALUE_WORDS), _MAX_VALUES))),
        ("Decided", "; ".join(_cite(((text, number) for number, text in decisions), _MAX_STATED))),
        ("Open", "" if answered else "; ".join(_cite(_find_questions(own[-1]), _MAX_STATED))),
    ]
    facts = [f"{label}: {value}." for label, value in lines if value]
    return "\n".join([*facts, "Course:", *_list_course(own)])


def _find_topics(texts: Sequence[str]) -> list[str]:
    """Return the words that most turns of the person are about, in the spelling that is used most."""
    turns: Counter[str] = Counter()
    spelt: dict[str, Counter[str]] = {}
    for text in texts:
        words = [word for word in _WORD.findall(text) if len(word) >= _MIN_TOPIC_LETTERS and "'" not in word]
        terms = {}
        for word in words:
            for term in analyze(word)[:1]:
                if term not in STOP_WORDS and word.lower() not in _ASKING and not word.endswith(("ly", "ing")):
                    terms[term] = word
                    spelt.setdefault(term, Counter())[word] += 1
        turns.update(terms.keys())
    best = sorted((-count, term) for term, count in turns.items() if count >= _MIN_TOPIC_TURNS)[:_MAX_TOPICS]
    return [min(spelt[term].items(), key=lambda pair: (-pair[1], pair[0]))[0] for _, term in best]


def _find_people(turns: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int]]:
    for number, text in turns:
        for name in find_proper_names(text):
            before = text[: text.find(name)][-40:]
            if not _NOT_PEOPLE.search(name) and _PERSON_BEFORE.search(before):
                yield " ".join(name.split()), number


def _find_matches(
    turns: Sequence[tuple[int, str]], pattern: re.Pattern[str], words_before: int
) -> Iterator[tuple[str, int]]:
    """Yield what a pattern finds, with a few words of the sentence before it, and the turn."""
    for number, text in turns:
        for match in pattern.finditer(text):
            line = re.split(r"[.;:!?\n,()]\s", text[max(match.start() - 60, 0) : match.start()])[-1]
            before = line.split()[-words_before:] if words_before else []
            yield " ".join([*before, match[0]]), number


def _find_questions(turn: tuple[int, str]) -> Iterator[tuple[str, int]]:
    number, text = turn
    for start, end in split_sentences(text):
        if text[start:end].rstrip().endswith("?"):
            yield shorten(text[start:end], _LINE_CHARACTERS), number


def _cite(found: Iterable[tuple[str, int]], limit: int) -> Iterator[str]:
    """Yield what was found, each once, with the turns it was found in."""
    turns: dict[str, list[int]] = {}
    for text, number in found:
        numbers = turns.setdefault(text, [])
        if number not in numbers:
            numbers.append(number)
    for text, numbers in list(turns.items())[:limit]:
        yield f"{text} ({', '.join(f'@{number}' for number in numbers[:3])})"


def _list_course(turns: Sequence[tuple[int, str]]) -> Iterator[str]:
    step = -(-len(turns) // _MAX_COURSE_LINES)
    for number, text in turns[::step]:
        spans = split_sentences(text)
        first = next((text[start:end] for start, end in spans if _WORD.search(text[start:end])), text)
        yield f"- @{number} {shorten(_LEAD.sub('', first) or first, _LINE_CHARACTERS)}"


def shorten(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, cut between words."""
    # Only the beginning is split into words: it holds enough of them unless it is nearly all white space.
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    return line[:limit].rsplit(" ", 1)[0].rstrip(",;:.-") + "…"
