"""One relevance that means the same across questions, stores and sizes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.embed.static import NAME
from weft.model import CALIBRATED, Candidate, View
from weft.pipeline.calibration import CALIBRATIONS, Evidence
from weft.pipeline.query import Query, understand
from weft.pipeline.relevance import (
    CALIBRATED_EMBEDDERS,
    Gauge,
    Measures,
    describe_unknown,
    evidence_of,
    unknown_names,
    unknown_words,
)
from weft.pipeline.search_results import calibrate
from weft.text.sentences import is_about_whole

TEXTS = {
    "Refunds": "Refunds above 500 euros are approved by Odile, who looks at the history of the order first.",
    "Backups": "Backups of the ledger run at four in the morning and are verified by restoring one table.",
    "Queues": "The mail queue retries three times, then parks the message for the night shift.",
}


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        opened.put([Node(f"docs:{title}", "note", title=title, text=text) for title, text in TEXTS.items()])
        yield opened


def query(weft: Weft, question: str) -> Query:
    with weft.reading(View()) as reading:
        return understand(question, reading.snapshot, reading.embedder)


def candidate(covers: list[int], cosine: float) -> Candidate:
    return Candidate(Node("a", "note"), parts={"semantic": cosine}, covers=dict.fromkeys(covers, 1.0))


@pytest.mark.parametrize("evidence", Evidence)
def test_relevance_is_a_probability_that_rises_with_what_a_candidate_holds(weft: Weft, evidence: Evidence) -> None:
    asked = query(weft, "who approves refunds of an order")
    gauge = Gauge.of(asked, evidence)
    terms = sorted(asked.terms)
    rising = [gauge.relevance(candidate(terms[:held], held / len(terms))) for held in range(len(terms) + 1)]
    assert rising == sorted(rising)
    assert 0 <= rising[0] < 0.25
    assert 0.5 < rising[-1] <= 1


def test_the_shares_of_a_question_add_up_to_one_and_unknown_words_count(weft: Weft) -> None:
    gauge = Gauge.of(query(weft, "refunds for zeppelins"), Evidence.WORDS)
    assert sum(gauge.shares.values()) == pytest.approx(1)
    assert 0 < gauge.known < 1
    assert Gauge.of(query(weft, "refunds"), Evidence.WORDS).known == pytest.approx(1)


@pytest.mark.parametrize("question", ["", "👍", "the", "?!", "谁批准退款", "12345", "x" * 30_000, "lease " * 999])
@pytest.mark.parametrize("evidence", Evidence)
def test_any_question_has_a_relevance(weft: Weft, question: str, evidence: Evidence) -> None:
    gauge = Gauge.of(query(weft, question), evidence)
    assert 0 <= gauge.relevance(candidate([], 0.0)) <= gauge.relevance(candidate([], 1.0)) <= 1
    assert gauge.best(()) == 0


def test_more_of_each_good_sign_never_lowers_the_odds() -> None:
    for calibration in CALIBRATIONS.values():
        least = Measures(0.2, 0.2, 0.5, 1.0, 2.0, 0.0).log_odds(calibration)
        assert Measures(0.9, 0.9, 0.9, 1.0, 2.0, 0.0).log_odds(calibration) > least
        assert Measures(0.2, 0.2, 0.5, 1.0, 2.0, 2.0).log_odds(calibration) < least


def test_only_cosines_of_the_embedder_that_was_measured_count(weft: Weft) -> None:
    asked, embedder = query(weft, "refunds"), weft.reader.embedder
    assert frozenset({NAME}) == CALIBRATED_EMBEDDERS
    assert evidence_of(asked, embedder) is Evidence.WORDS_AND_MEANING
    assert evidence_of(asked, embedder, "vector") is Evidence.MEANING
    assert evidence_of(asked, embedder, "bm25") is Evidence.WORDS
    assert evidence_of(asked, None) is Evidence.WORDS


def test_scores_of_a_list_never_rise_and_the_list_ends_at_the_floor(weft: Weft) -> None:
    asked = query(weft, "who approves refunds of an order")
    gauge, terms = Gauge.of(asked, Evidence.WORDS_AND_MEANING), sorted(asked.terms)
    ranked = [candidate(terms[:2], 0.5), candidate(terms, 0.6), candidate([], 0.0)]
    kept = calibrate(ranked, gauge, 0.25)
    scores = [each.parts[CALIBRATED] for each in kept]
    assert scores == sorted(scores, reverse=True)
    assert len(kept) == 2
    assert len(calibrate(ranked, gauge, 0.0)) == 3
    assert calibrate(ranked, gauge, 1.0) == ()


def test_unknown_names_have_capitals_that_no_sentence_gave_them(weft: Weft) -> None:
    asked = query(weft, "Did Odile tell Gandalf about the Ring? I asked A first.")
    assert unknown_names(asked) == ("Gandalf", "Ring")
    assert unknown_words(query(weft, "the zeppelin's refunds, Zeppelin!")) == ("zeppelin",)


def test_unknown_words_are_told_in_a_sentence() -> None:
    assert describe_unknown(()) == ""
    assert describe_unknown(("Gandalf",)) == "Nothing here mentions Gandalf."
    assert describe_unknown(("a", "b", "c")) == "Nothing here mentions a, b or c."
    assert len(describe_unknown(("x" * 500,) * 9)) < 300


@pytest.mark.parametrize(
    "question",
    [
        "What is this project?",
        "what does THIS repository do??",
        "Give me an overview of the codebase",
        "How is this repo structured?",
        "How does the novel open?",
        "Where does the story end?",
        "What kind of software is this?",
        "Summarise the book",
    ],
)
def test_questions_about_the_whole_are_known_by_their_words(question: str) -> None:
    assert is_about_whole(question)


@pytest.mark.parametrize(
    "question",
    ["", "projects", "who opens the gate", "how do I close a connection", "the library", "kubernetes helm chart"],
)
def test_other_questions_are_not_about_the_whole(question: str) -> None:
    assert not is_about_whole(question)
