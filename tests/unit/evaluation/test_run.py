"""The shape in which questions are asked, and the evidence that counts on a page."""

from collections.abc import Sequence

import pytest

from weft.errors import InvalidInput, UnknownName
from weft.evaluation import Question, QuestionShape
from weft.evaluation.run import find_evidence, printed_share, rank_keys
from weft.model import Candidate, Context, Detail, Item, LedgerEntry, Node, Page, PlacedGroup, PlacedSection

QUESTION = Question(
    "q1", "Who ran?", meta={"story": "The Hare", "place": {"name": "Sel"}, "history": ["one", "two"]}
)
TEXT = "Mara Venn keeps the archive. The tower is old. She was born in Port Sel."
SPAN = (TEXT.index("She"), len(TEXT))


def item(detail: Detail, *, key: str = "set:d1", text: str = TEXT, spans: Sequence[tuple[int, int]] = ()) -> Item:
    return Item(
        Candidate(Node(key, "note", title="Mara", summary="About Mara of Port Sel.", text=text)),
        detail,
        tuple(spans),
    )


def context(*items: Item, text: str | None = None, format: str = "markdown") -> Context:
    page = Page(sections=(PlacedSection("all", "", items=items),))
    shown_parts = [
        part
        for each in items
        for part in (
            [each.candidate.node.text]
            if each.detail is Detail.WHOLE
            else [each.candidate.node.text[start:end] for start, end in each.spans]
        )
    ]
    printed = "\n\n".join(["# Context", *shown_parts]) if text is None else text
    return Context(printed, format, "general", page, 0, None, "", (), (), (), (), {}, "")


def evidence(page: Context, *answers: str, text: str = TEXT) -> dict[str, Detail]:
    return find_evidence(page, answers, {"set:d1": text})


def test_a_text_printed_whole_counts_with_or_without_an_answer() -> None:
    page = context(item(Detail.WHOLE))
    assert evidence(page) == evidence(page, "Port Sel") == {"set:d1": Detail.WHOLE}


def test_an_excerpt_counts_when_it_holds_the_answer_that_the_document_holds() -> None:
    page = context(item(Detail.EXCERPT, spans=[SPAN]))
    assert evidence(page, "port sel.") == {"set:d1": Detail.EXCERPT}
    assert evidence(page, "not this", "Port  Sel") == {"set:d1": Detail.EXCERPT}


@pytest.mark.parametrize("answers", [(), ("",), ("...",), ("Mara Venn",), ("ort Se",), ("a town by the sea",)])
def test_an_excerpt_without_the_answer_does_not_count(answers: tuple[str, ...]) -> None:
    assert evidence(context(item(Detail.EXCERPT, spans=[SPAN])), *answers) == {}


def test_an_answer_is_not_put_together_from_two_pieces() -> None:
    page = context(item(Detail.EXCERPT, spans=[(0, 9), (TEXT.index("The tower"), len(TEXT))]))
    assert evidence(page, "Mara Venn The tower is old") == {}


def test_an_answer_without_spaces_between_words_is_found() -> None:
    text = "灯台守は上海で生まれた。"
    page = context(item(Detail.EXCERPT, text=text, spans=[(0, len(text) - 1)]))
    assert evidence(page, "上海", text=text) == {"set:d1": Detail.EXCERPT}


@pytest.mark.parametrize("detail", [Detail.SUMMARY, Detail.POINTER])
def test_summaries_and_pointers_never_count(detail: Detail) -> None:
    assert evidence(context(item(detail), text=f"Mara: {TEXT}"), "Port Sel") == {}


def test_a_page_is_not_believed_when_the_text_is_not_on_it() -> None:
    assert evidence(context(item(Detail.WHOLE), text="# Context\n\n### Mara")) == {}
    assert evidence(context(item(Detail.EXCERPT, spans=[SPAN]), text="# Context"), "Port Sel") == {}


def test_the_same_text_under_another_key_shows_the_document() -> None:
    assert evidence(context(item(Detail.WHOLE, key="set:twin"))) == {"set:d1": Detail.WHOLE}
    assert evidence(context(item(Detail.EXCERPT, key="set:twin", spans=[SPAN])), "Port Sel") == {}


def test_items_inside_groups_count() -> None:
    part = PlacedSection("part", "", items=(item(Detail.WHOLE),))
    group = PlacedGroup(Candidate(Node("set:subject", "note")), (part,))
    page = context(text=TEXT)
    inside = Context(
        page.text,
        "markdown",
        "",
        Page(sections=(PlacedSection("all", "", groups=(group,)),)),
        0,
        None,
        *("", (), (), (), (), {}, ""),
    )
    assert evidence(inside) == {"set:d1": Detail.WHOLE}


# --- the share of the gold text ---


def letters(text: str) -> int:
    return sum(character.isalnum() for character in text)


def test_a_whole_text_is_printed_in_full_and_a_pointer_not_at_all() -> None:
    assert printed_share(context(item(Detail.WHOLE)), {"set:d1": TEXT}) == 1.0
    assert printed_share(context(item(Detail.POINTER), text=TEXT), {"set:d1": TEXT}) == 0.0


def test_excerpts_count_by_their_letters_and_overlapping_ones_once() -> None:
    page = context(item(Detail.EXCERPT, spans=[SPAN]), item(Detail.EXCERPT, spans=[(SPAN[0] + 4, SPAN[1])]))
    assert printed_share(page, {"set:d1": TEXT}) == pytest.approx(letters(TEXT[slice(*SPAN)]) / letters(TEXT))


def test_the_share_is_that_of_all_gold_texts_together() -> None:
    other = "Another text of the gold."
    share = printed_share(context(item(Detail.WHOLE)), {"set:d1": TEXT, "set:d2": other})
    assert share == pytest.approx(letters(TEXT) / (letters(TEXT) + letters(other)))


def test_the_same_text_under_another_key_is_printed_gold_and_what_the_page_lacks_is_not() -> None:
    assert printed_share(context(item(Detail.WHOLE, key="set:twin")), {"set:d1": TEXT}) == 1.0
    assert printed_share(context(item(Detail.WHOLE), text="# Context"), {"set:d1": TEXT}) == 0.0


def test_gold_without_a_letter_has_no_printed_share() -> None:
    assert printed_share(context(item(Detail.WHOLE, text="")), {"set:d1": ""}) == 0.0


def entry(key: str, score: float) -> LedgerEntry:
    return LedgerEntry(key, 0, "note", "", "default", "s", score, {}, None, 0, (), Detail.DROPPED, 0, "", key)


def test_the_ranking_is_by_score_whatever_was_printed_and_holds_each_document_once() -> None:
    ledger = (entry("b", 0.2), entry("a", 0.2), entry("c", 0.9), entry("b", 0.5))
    assert rank_keys(ledger) == ("c", "b", "a")


# --- the shape of questions ---


def test_a_template_takes_values_from_the_meta() -> None:
    assert (
        QuestionShape("{meta.story}, {meta.place.name}: {text}").apply(QUESTION).joined
        == "The Hare, Sel: Who ran?"
    )


def test_a_value_that_one_question_lacks_is_left_blank() -> None:
    assert QuestionShape("{meta.story} {text}").apply(Question("q2", "Who?")).joined == "Who?"


def test_history_is_put_after_the_question_latest_first() -> None:
    assert QuestionShape(history=True).apply(QUESTION).joined == "Who ran?\ntwo\none"
    recent = Question("q", "Yes.", meta={"history_recent_first": ["b", "a"], "history": ["x"]})
    assert QuestionShape(history=True).apply(recent).joined == "Yes.\nb\na"


def test_history_may_be_messages_or_one_text() -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "agent", "text": "hi"}]
    assert (
        QuestionShape(history=True).apply(Question("q", "Yes.", meta={"history": messages})).joined
        == "Yes.\nhi\nhello"
    )
    assert (
        QuestionShape(history=True).apply(Question("q", "Yes.", meta={"history": "hello"})).joined == "Yes.\nhello"
    )


def test_a_placeholder_that_no_question_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'meta\.story'"):
        QuestionShape("{meta.stry} {text}").check([QUESTION])


def test_a_template_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        QuestionShape("{text").check([QUESTION])


def test_history_where_there_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="No question has a history"):
        QuestionShape(history=True).check([Question("q", "Who?")])
