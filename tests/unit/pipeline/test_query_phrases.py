"""Words that stand side by side in a question raise the texts where they stand side by side too."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Node
from weft.pipeline.query import build_phrases, find_held_phrases
from weft.scoring.bm25 import term_hash
from weft.text import analyze

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _weights(question: str, **known: float) -> dict[int, float]:
    return {term_hash(term): known.get(term, 1.0) for term in analyze(question)}


def _held(question: str, text: str, title: str = "") -> list[tuple[str, str]]:
    asked = build_phrases(analyze(question), _weights(question))
    words = {term_hash(term) for term in analyze(f"{title}\n{text}")}
    return [phrase.terms for phrase in find_held_phrases(asked, words, title, text)]


def test_the_neighbours_of_a_question_are_its_phrases() -> None:
    asked = build_phrases(analyze("capital of France today"), _weights("capital of France today"))
    assert {phrase.terms for phrase in asked} == {("capit", "franc"), ("franc", "today")}


def test_a_phrase_tells_as_much_as_its_less_telling_word() -> None:
    asked = build_phrases(
        ["rare", "common", "rarest"], _weights("rare common rarest", rare=6.0, common=1.0, rarest=9.0)
    )
    assert [phrase.share for phrase in asked] == [0.5, 0.5]


def test_words_without_weight_and_a_word_twice_are_no_phrase() -> None:
    assert build_phrases(["one", "two"], {}) == ()
    assert build_phrases(["one", "one"], _weights("one")) == ()


def test_a_long_question_has_its_most_telling_phrases_only() -> None:
    words = [f"word{number}" for number in range(100)]
    weights = {term_hash(word): float(at + 1) for at, word in enumerate(words)}
    asked = build_phrases(words, weights)
    assert [phrase.terms[0] for phrase in asked] == [f"word{number}" for number in range(98, 74, -1)]
    assert sum(phrase.share for phrase in asked) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The open file is here.", "side by side"),
        ("She opens the file.", "another form, a filler between"),
        ("Opening of a file", "fillers between"),
        ("call open_file now", "a name in code"),
        ("call openFile now", "a name in camelCase"),
        ("reopen, then open files", "the letters stand elsewhere before"),
    ],
)
def test_neighbours_in_a_text_are_found(text: str, why: str) -> None:
    assert _held("open file", text) == [("open", "file")], why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The file is open.", "the other way round"),
        ("Open the door of the file room", "a word between"),
        ("open " + "very " * 20 + "file", "far apart"),
        ("reopen file", "within another word"),
    ],
)
def test_words_that_are_no_neighbours_are_no_phrase(text: str, why: str) -> None:
    assert _held("open file", text) == [], why


def test_a_stem_finds_the_words_that_end_otherwise() -> None:
    assert _held("rating countries", "It was rated country by country.") == [("rate", "countri")]


def test_a_word_of_several_parts_is_a_phrase_by_itself() -> None:
    assert ("il-6", "il") in _held("IL-6 production", "Less IL-6 in mice.")


def test_the_title_counts_and_does_not_run_on_into_the_text() -> None:
    assert _held("forest warrior film", "A film of 1996.", "Forest Warrior") == [("forest", "warrior")]


def test_letters_that_grow_when_made_small_do_no_harm() -> None:
    assert _held("open file", "İİİ open file") == [("open", "file")]


def test_the_text_with_the_phrase_comes_first(tmp_path: Path) -> None:
    texts = {
        "apart": "A warrior went home. Behind his house a forest grew.",
        "beside": "Behind his house a forest warrior went home, grew old.",
    }
    with Weft.open(tmp_path / "store") as weft:
        weft.put([Node(key=f"tale:{name}", kind="note", text=text) for name, text in texts.items()])
        context = weft.context("forest warrior", max_tokens=500, now=NOW)
    first, second = context.ledger
    assert (first.key, second.key) == ("tale:beside", "tale:apart")
    assert first.parts["lexical"] == pytest.approx(second.parts["lexical"] + 0.9, abs=0.1)
