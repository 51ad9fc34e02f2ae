"""The embedder that ships with Weft."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.embed import open_embedder
from weft.embed.static import CACHED_WORDS, CHARACTERS_READ, TOKENS_PER_SUM, StaticEmbedder, static_embedder
from weft.ports import Embedder

SENTENCES = [
    "How do I cancel my subscription?",
    "Ending a paid membership plan",
    "The volcano erupted and covered the town in ash",
    "def read_lines(path): return open(path).readlines()",
    "深度学习",
]


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return static_embedder()


def test_the_default_is_the_static_model_with_a_versioned_name(embedder: StaticEmbedder) -> None:
    assert open_embedder(None) is embedder
    assert open_embedder("static") is embedder
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dimensions) == ("weft-static-1", 256)


def test_no_texts_give_no_rows(embedder: StaticEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 256)


@pytest.mark.parametrize("text", ["", " \n\t", "?!…—", "\x00\x07", "𓀀𓀁𓀂", "x" * 5_000])
def test_a_text_without_known_tokens_is_a_row_of_zeros(embedder: StaticEmbedder, text: str) -> None:
    assert not embedder.embed([text]).any()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=8))
def test_rows_have_length_one_or_zero_and_do_not_depend_on_the_batch(texts: list[str]) -> None:
    embedder = static_embedder()
    together = embedder.embed(texts)
    assert together.dtype == np.float32
    lengths = np.linalg.norm(together, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    for row, text in zip(together, texts, strict=True):
        assert row.tobytes() == embedder.embed([text])[0].tobytes()


def test_the_order_of_words_changes_no_byte(embedder: StaticEmbedder) -> None:
    words = ["Photosynthesis", "continues", "while", "the", "fox", "and", "unaffordability", "sleep"]
    forward, backward = embedder.embed([" ".join(words), " ".join(reversed(words))])
    assert forward.tobytes() == backward.tobytes()


def test_the_sum_equals_one_made_with_whole_numbers_alone(embedder: StaticEmbedder) -> None:
    text = "Summed exactly, however many tokens there are. " * 1_300
    tokens = embedder._tokens(text)
    assert len(tokens) > TOKENS_PER_SUM
    rows = embedder._table[tokens].astype(np.int64)
    codes = np.concatenate([rows[:, :-1] & 15, rows[:, :-1] >> 4], axis=1) - 8
    sums = (codes * rows[:, -1:]).sum(axis=0)
    expected = (sums / np.sqrt(float((sums * sums).sum()))).astype(np.float32)
    assert embedder.embed([text])[0].tobytes() == expected.tobytes()


def test_known_vectors_keep_their_bytes(embedder: StaticEmbedder) -> None:
    """A change here is a change of model: raise the version in its name, or stores will mix vectors."""
    digest = hashlib.sha256(embedder.embed(SENTENCES).astype("<f4").tobytes()).hexdigest()
    assert digest[:16] == "25b54738cd71a9ca"


@pytest.mark.parametrize(
    ("question", "answer", "unrelated"),
    [
        ("How do I cancel my subscription?", "Ending a paid membership plan", "The volcano erupted at night"),
        ("car", "automobile", "banana"),
        (
            "python sort list of numbers",
            "def order(values): return sorted(values)",
            "the queen slept in the castle",
        ),
        ("heart attack treatment", "therapy after myocardial infarction", "tax return deadline"),
        ("getUserName", "read the name of the user", "weather in the mountains"),
    ],
)
def test_what_means_the_same_is_closer_than_what_does_not(
    embedder: StaticEmbedder, question: str, answer: str, unrelated: str
) -> None:
    asked, near, far = embedder.embed([question, answer, unrelated])
    assert asked @ near > asked @ far + 0.1


def test_case_and_accents_do_not_matter(embedder: StaticEmbedder) -> None:
    plain, shouted, accented, decomposed = embedder.embed(
        ["cafe resume", "CAFE RESUME", "café résumé", "cafe\u0301 résumé"]
    )
    assert plain.tobytes() == shouted.tobytes() == accented.tobytes() == decomposed.tobytes()


def test_chinese_is_read_character_by_character(embedder: StaticEmbedder) -> None:
    joined, apart = embedder.embed(["中国大学", "中 国 大 学"])
    assert joined.any()
    assert joined.tobytes() == apart.tobytes()


def test_a_huge_text_is_judged_by_its_beginning(embedder: StaticEmbedder) -> None:
    start = "river " * (CHARACTERS_READ // 6 + 1)
    whole, beginning = embedder.embed([start + "volcano " * 100_000, start[:CHARACTERS_READ]])
    assert whole.tobytes() == beginning.tobytes()


def test_the_memory_of_words_is_bounded_and_forgetting_changes_nothing(embedder: StaticEmbedder) -> None:
    before = embedder.embed(SENTENCES)
    embedder._word_tokens.update((f"word{number}", (1,)) for number in range(CACHED_WORDS + 1))
    assert embedder.embed(SENTENCES).tobytes() == before.tobytes()
    assert len(embedder._word_tokens) < 100
