"""Proper names in running text, by their capitals."""

import pytest

from weft.text import find_proper_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Copper was Kurt Russell, Tod was Mickey Rooney.", ["Kurt Russell", "Tod", "Mickey Rooney"]),
        ("they fought in the Battle of Hastings.", ["Battle of Hastings"]),
        ("a letter to Vincent van Gogh", ["Vincent van Gogh"]),
        ("a record by Jay - Z", ["Jay - Z"]),
        ("by J. R. Tolkien. Others followed.", ["J. R. Tolkien"]),
        ("it sailed on Apollo 11 in summer.", ["Apollo 11"]),
        ("we met Élodie Žižek in Ωmega", ["Élodie Žižek", "Ωmega"]),
        ("they wrote to NASA", ["NASA"]),
        ("they rose on Knob\nHill", ["Knob\nHill"]),
    ],
)
def test_words_with_capitals_and_what_stands_between_them_are_names(text: str, names: list[str]) -> None:
    assert list(find_proper_names(text)) == names


@pytest.mark.parametrize(
    "text", ["Returns the value.", "no. Nothing else", "first\n\n  Raises: none", "he: “Go!”", "(Perhaps.)"]
)
def test_a_lone_word_that_opens_a_sentence_is_no_name(text: str) -> None:
    assert list(find_proper_names(text)) == []


def test_a_lone_word_with_more_capitals_is_a_name_wherever_it_stands() -> None:
    assert list(find_proper_names("NASA flew. McGonagall frowned.")) == ["NASA", "McGonagall"]


@pytest.mark.parametrize("text", ["", "all in lower case", "東京は日本の首都です", "القاهرة عاصمة مصر", "x_Y 3D"])
def test_where_no_word_begins_with_a_capital_there_are_no_names(text: str) -> None:
    assert list(find_proper_names(text)) == []
