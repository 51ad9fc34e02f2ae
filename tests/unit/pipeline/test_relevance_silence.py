"""Below the floor a page says so, and prints nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Node, Weft
from weft.errors import InvalidInput
from weft.model import CALIBRATED, Candidate, Context, Detail, Topic
from weft.pipeline.ledger import complete_page_note
from weft.pipeline.slots import Outcome, Reason, doubtful_budget
from weft.render import FORMATS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

TEXTS = {
    "Refunds": "Refunds above 500 euros are approved by Odile, who looks at the history of the order first.",
    "Cookies": "The session cookie is signed by the proxy and expires after twenty minutes of silence.",
    "Backups": "Backups of the ledger run at four in the morning and are verified by restoring one table.",
    "Queues": "The mail queue retries three times, then parks the message for the night shift.",
    "Lanterns": "The lanterns on the quay are lit by the harbour master before the evening ferry comes in.",
}
FOREIGN = "How do I bake sourdough bread with Gandalf?"
OWN = "Who approves refunds above 500 euros?"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        opened.put([Node(f"docs:{title}", "note", title=title, text=text) for title, text in TEXTS.items()])
        yield opened


def is_silent(context: Context) -> bool:
    return "Nothing here speaks to this question." in context.text


@pytest.mark.parametrize("format", FORMATS)
def test_a_foreign_question_gets_a_short_page_without_sources(weft: Weft, format: str) -> None:
    context = weft.context(FOREIGN, format=format)
    assert is_silent(context)
    assert "Nothing here mentions bake, sourdough, bread or Gandalf." in context.text
    assert "--floor 0" in context.text
    assert context.sources == ()
    assert context.tokens < 250
    assert context.text == weft.context(FOREIGN, format=format).text
    assert context.stats["relevance"] < 0.25


@pytest.mark.parametrize("order", ["explain", "please describe", "hey, walk me through", "refactor"])
def test_an_order_that_the_store_has_never_seen_makes_no_question_foreign(weft: Weft, order: str) -> None:
    context = weft.context(f"{order} the session cookie")
    assert [source.key for source in context.sources][:1] == ["docs:Cookies"]
    assert weft.context(f"{order} the session cookie").stats["relevance"] == pytest.approx(
        weft.context("the session cookie").stats["relevance"], abs=0.2
    )
    assert "mentions" not in weft.context(f"{order} the sourdough").text.replace("mentions sourdough", "")


def test_what_came_nearest_is_pointed_to_and_everything_is_in_the_ledger(weft: Weft) -> None:
    context = weft.context(FOREIGN)
    assert 1 <= sum(entry.detail is Detail.POINTER for entry in context.ledger) <= 3
    assert {entry.detail for entry in context.ledger} <= {Detail.POINTER, Detail.DROPPED}
    assert len(context.ledger) == context.stats["candidates"]
    dropped = [entry.reason for entry in context.ledger if entry.detail is Detail.DROPPED]
    assert all("below 0.25" in reason for reason in dropped)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("max_tokens", [1, 5, 20, 60, 120, 299, 300, 301, 4000, None])
def test_a_silent_page_is_within_any_budget(weft: Weft, format: str, max_tokens: int | None) -> None:
    context = weft.context(FOREIGN, format=format, max_tokens=max_tokens)
    assert context.tokens <= (max_tokens or 250)
    assert context.sources == ()


# It shares some of its meaning, and hardly a word, with the text on refunds.
VAGUE = (
    "Which colleague do I have to ask when a customer wants a larger amount of money returned after a complaint?"
)
NEAREST_ONLY = "may not answer the question"


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_question_near_the_floor_gets_a_short_page_that_says_so(weft: Weft, format: str) -> None:
    context = weft.context(VAGUE, format=format, max_tokens=8000)
    assert 0.1 <= context.stats["relevance"] < 0.25
    assert NEAREST_ONLY in context.text
    assert "Nothing here mentions" in context.text
    assert any(NEAREST_ONLY in note for note in context.notes)
    assert context.sources[0].title == "Refunds"
    assert context.max_tokens == 8000
    assert context.text == weft.context(VAGUE, format=format, max_tokens=8000).text


@pytest.mark.parametrize("max_tokens", [1, 20, 60, 120, 300, 4000, None])
def test_such_a_page_is_within_any_budget(weft: Weft, max_tokens: int | None) -> None:
    context = weft.context(VAGUE, max_tokens=max_tokens)
    assert context.tokens <= (max_tokens or 1000)


@pytest.mark.parametrize(
    ("budget", "doubtful"), [(None, 1000), (300, 300), (1000, 1000), (1500, 1000), (2000, 1000), (8000, 4000)]
)
def test_a_page_that_doubts_has_half_its_budget_or_a_thousand_tokens(budget: int | None, doubtful: int) -> None:
    assert doubtful_budget(budget) == doubtful


def test_only_a_long_question_of_a_profile_that_doubts_gets_such_a_page(weft: Weft) -> None:
    assert is_silent(weft.context(VAGUE, floor=0.25))
    strict = replace(weft.profile("general"), name="strict", doubt=1.0)
    assert is_silent(weft.context(VAGUE, profile=strict))
    assert is_silent(weft.context("larger amount returned colleague"))


def test_a_floor_of_0_prints_whatever_is_nearest(weft: Weft) -> None:
    assert weft.context(FOREIGN, floor=0).sources
    assert is_silent(weft.context(OWN, floor=1))
    assert not is_silent(weft.context(OWN))


@pytest.mark.parametrize("floor", [-1, -0.001, 1.001, 2, float("nan"), float("inf")])
def test_other_floors_are_refused_with_what_is_allowed(weft: Weft, floor: float) -> None:
    with pytest.raises(InvalidInput, match=r"from 0 .* to 1"):
        weft.context(OWN, floor=floor)
    with pytest.raises(InvalidInput, match=r"from 0 .* to 1"):
        weft.search(OWN, floor=floor)


def test_what_is_called_by_name_is_always_relevant(weft: Weft) -> None:
    for name in ("Queues", "docs:Queues"):
        assert not is_silent(weft.context(name, floor=1))
    assert not is_silent(weft.context(FOREIGN, start="Queues", floor=1))
    assert not is_silent(weft.context("lanterns", floor=1))
    brought = [Candidate(Node("mine:1", "note", title="Mine", text="mine"), 0.5)]
    assert not is_silent(weft.context(FOREIGN, candidates=brought, floor=1))


def test_a_question_about_the_whole_is_always_answered(weft: Weft) -> None:
    assert not is_silent(weft.context("What is this collection about?"))


def test_topics_are_silent_only_together(weft: Weft) -> None:
    assert is_silent(weft.context(topics=[Topic(FOREIGN), Topic("kubernetes helm chart ingress")]))
    assert not is_silent(weft.context(topics=[Topic(FOREIGN), Topic(OWN)]))


def test_a_name_that_the_store_has_never_seen_is_named_in_a_note(weft: Weft) -> None:
    context = weft.context("Who approves refunds above 500 euros, Odile or Gandalf?")
    assert context.sources
    assert "Nothing here mentions Gandalf." in context.notes
    assert not any("mentions" in note for note in weft.context(OWN).notes)


def test_without_an_embedder_the_floor_holds_too(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "plain", embedder=None) as plain:
        plain.put([Node(f"docs:{title}", "note", title=title, text=text) for title, text in TEXTS.items()])
        assert plain.context(OWN).sources
        assert not plain.context(FOREIGN).sources
        assert not plain.context("terraform state locking with dynamodb").sources


@pytest.mark.parametrize("question", ["the", "12345", "👍", "谁批准退款", "word " * 5_000, "zzqqxx"])
def test_odd_questions_get_no_sources_and_no_error(weft: Weft, tmp_path: Path, question: str) -> None:
    assert weft.context(question).sources == ()
    assert weft.search(question).candidates == ()
    with Weft.open(tmp_path / "empty") as empty:
        assert empty.context(question).sources == ()
        assert empty.search(question).candidates == ()


def test_a_store_of_one_item_speaks_of_it_and_of_nothing_else(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "one") as one:
        one.put(Node("docs:a", "note", title="Refunds", text=TEXTS["Refunds"]))
        assert one.context(OWN).sources
        assert not one.context("terraform state locking with dynamodb").sources


def test_noise_is_not_printed_to_fill_the_page_and_a_note_says_so(weft: Weft) -> None:
    context = weft.context("refunds euros Odile", max_tokens=4000)
    assert [source.title for source in context.sources][:1] == ["Refunds"]
    left_out = [entry for entry in context.ledger if "below 0.0125" in entry.reason]
    result = [note for note in context.notes if note.startswith("All that is relevant is on the page")]
    assert bool(left_out) == bool(result)


def test_a_search_shows_probabilities_and_ends_at_the_floor(weft: Weft) -> None:
    found = weft.search(OWN)
    scores = [candidate.parts[CALIBRATED] for candidate in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert 0.25 <= scores[-1] <= scores[0] < 1
    everything = weft.search(OWN, floor=0)
    assert len(everything.candidates) > len(found.candidates)
    assert [each.node.key for each in everything.candidates][: len(scores)] == [
        each.node.key for each in found.candidates
    ]
    assert any("below the floor of 0.25" in note for note in found.notes)


def test_a_search_for_nonsense_finds_nothing_and_says_why(weft: Weft) -> None:
    found = weft.search("zzqqxx")
    assert found.candidates == ()
    assert any("Nothing here mentions zzqqxx." in note for note in found.notes)


@pytest.mark.parametrize("match", ["hybrid", "bm25", "vector"])
def test_every_way_to_search_keeps_to_the_floor(weft: Weft, match: str) -> None:
    assert weft.search(OWN, match=match).candidates  # type: ignore[arg-type]
    assert weft.search("swift ui navigation stack", match=match).candidates == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(("unspent", "is_said"), [(19_000, True), (1_000, True), (999, False), (0, False)])
def test_a_page_that_leaves_ample_room_names_the_floor_though_texts_are_printed_in_part(unspent, is_said) -> None:
    outcome = Outcome("found", Candidate(Node("n:1", "note")), None, Reason.REDUCED, "reduced to fit")
    notes = complete_page_note([outcome], noise=233, unspent=unspent)
    assert [note for note in notes if "233" in note and "floor" in note] == list(notes)
    assert bool(notes) == is_said


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("shapes") / ".weft") as opened:
        opened.index(str(EXAMPLES / "repo"))
        yield opened


@pytest.mark.parametrize(
    "question",
    [
        "When did Napoleon cross the Alps?",
        "What changed recently in quantum physics?",
        "Which commit introduced the French Revolution?",
        "What tests cover photosynthesis?",
        "Walk me through baking sourdough bread",
        "Which dependencies does the cheese industry have?",
        "How do I add a new recipe for pancakes?",
        "Who calls the fire brigade?",
        "Where is the Eiffel Tower defined?",
    ],
)
def test_a_foreign_question_in_a_form_that_is_understood_gets_silence_too(repository: Weft, question: str) -> None:
    assert is_silent(repository.context(question))


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("When was revive introduced?", "queue: add revive"),
        ("What changed recently in Queue?", "queue:"),
        ("Who calls open_queue?", "open_queue"),
        ("Walk me through Queue.take", "def take"),
    ],
)
def test_the_same_forms_about_what_is_there_are_answered(repository: Weft, question: str, shown: str) -> None:
    assert shown in repository.context(question).text
