"""Passages quoted in one piece."""

from hypothesis import given
from hypothesis import strategies as st

from weft.pipeline.excerpt import choose_quotation, measure_passage
from weft.pipeline.query import QuestionTerms
from weft.scoring.bm25 import term_hash
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
TEXT = "Ada came home. She hung up her coat. Boris had made soup, and the soup was hot. They ate. It rained."
ASKED = QuestionTerms.read("soup", {term_hash("soup"): 2.0})


def quoted(room: int, focus: tuple[int, int]) -> str:
    passage = measure_passage(TEXT, (0, len(TEXT)), [focus], ASKED, COUNT)
    return " … ".join(TEXT[start:end] for start, end in choose_quotation(TEXT, passage, room, COUNT))


def test_the_sentence_in_focus_is_quoted_and_grows_towards_what_was_asked() -> None:
    coat = TEXT.index("coat")
    assert quoted(9, (coat, coat + 4)) == "She hung up her coat."
    assert quoted(21, (coat, coat + 4)) == "She hung up her coat. Boris had made soup, and the soup was hot."


def test_a_sentence_that_does_not_fit_begins() -> None:
    soup = TEXT.index("soup")
    assert quoted(5, (soup, soup + 4)) == "Boris had made"


def test_a_sentence_that_is_cut_starts_where_what_is_meant_in_it_is_shown() -> None:
    text = "He looked well, not as if he had suffered in health, and he spoke of the Hall, even of Rosa, his aunt."
    rosa = text.index("Rosa")
    passage = measure_passage(text, (0, len(text)), [(rosa, rosa + 4)], ASKED, COUNT)
    ((start, end),) = choose_quotation(text, passage, 12, COUNT)
    assert text[start:end] == "even of Rosa, his aunt."


def test_a_sentence_without_clauses_is_cut_at_its_end_whatever_is_meant() -> None:
    hot = TEXT.index("soup, and")
    assert quoted(4, (hot, hot + 4)) == "Boris had"


def test_nothing_is_quoted_of_an_empty_passage() -> None:
    assert choose_quotation("", measure_passage("", (0, 0), [], ASKED, COUNT), 50, COUNT) == ()


@given(st.text(alphabet="ab soup.\n", max_size=200), st.integers(1, 60))
def test_a_quotation_is_one_span_within_the_passage_and_its_room(text: str, room: int) -> None:
    passage = measure_passage(text, (0, len(text)), [(0, 5)], ASKED, COUNT)
    spans = choose_quotation(text, passage, room, COUNT)
    assert len(spans) <= 1
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert sum(COUNT.count(text[start:end]) for start, end in spans) <= room
