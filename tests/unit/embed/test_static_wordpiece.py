"""Splitting and cutting words as the teacher's vocabulary wants them."""

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.embed.static import cut, cut_identifier, fold, split_bert_words, split_words

VOCABULARY = {
    "un": 0,
    "##afford": 1,
    "##able": 2,
    "read": 3,
    "lines": 4,
    "##s": 5,
    "http": 6,
    "iphone": 7,
    "i": 8,
}


def test_a_word_is_cut_into_the_longest_known_pieces() -> None:
    assert cut("unaffordable", VOCABULARY) == (0, 1, 2)
    assert cut("reads", VOCABULARY) == (3, 5)


def test_a_word_with_an_unknown_part_has_no_pieces() -> None:
    assert cut("readq", VOCABULARY) == ()
    assert cut("read" * 100, VOCABULARY) == ()


@pytest.mark.parametrize(
    ("word", "ids"),
    [("readLines", (3, 4)), ("HTTPRead", (6, 3)), ("iPhone", (7,)), ("Reads", (3, 5)), ("", ())],
)
def test_an_identifier_is_cut_where_its_case_changes_unless_it_is_known_whole(
    word: str, ids: tuple[int, ...]
) -> None:
    assert cut_identifier(word, VOCABULARY) == ids


def test_words_are_split_at_underscores_and_punctuation_and_between_chinese_characters() -> None:
    assert split_words("read_lines(x1), naïve — 深度 v2.0") == [
        "read",
        "lines",
        "x1",
        "naïve",
        "深",
        "度",
        "v2",
        "0",
    ]


def test_folding_drops_case_and_accents() -> None:
    assert fold("Crème BRÛLÉE ß Ω") == "creme brulee ß ω"


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.characters(max_codepoint=0x24F) | st.sampled_from("—…’“”•€°Ωжあ한深度\u2003\u200b\ufffd"),
        max_size=60,
    )
)
def test_parts_are_those_of_bert(text: str) -> None:
    normal = tokenizers.normalizers.BertNormalizer().normalize_str(text)
    expected = [part for part, _ in tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)]
    assert split_bert_words(text) == expected
