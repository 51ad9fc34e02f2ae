"""Questions about conversations: whose words are asked for, in which order, how many, and all in short."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Context
from weft.pipeline.by_conversation import read_topic
from weft.pipeline.shape_phrases import Speaker
from weft.pipeline.shapes import read_shapes

PLANTS = ("oak", "elm", "fern", "rose", "mint", "moss", "reed", "palm", "lily", "iris", "sage", "pine")


def code_about(plant: str) -> str:
    return "\n\n```python\n" + "".join(f"{plant}_{row} = water({plant}, {row})\n" for row in range(80)) + "```"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def index_garden(weft: Weft, folder: Path, *, with_code: bool = False) -> None:
    """Index two logs: a person plants twelve things, and long answers repeat the words of any question."""
    days = {"spring": PLANTS[:6], "autumn": PLANTS[6:]}
    for number, (name, plants) in enumerate(days.items(), start=1):
        turns = []
        for plant in plants:
            said = f"Today I planted a {plant} behind the shed." + (code_about(plant) if with_code else "")
            answer = f"A garden lives by its plants. In a garden plants such as {plant} grow well. " * 12
            turns += [{"role": "user", "content": said, "date": f"2026-0{number}-02"}]
            turns += [{"role": "assistant", "content": answer, "date": f"2026-0{number}-02"}]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
        weft.index(str(folder / f"{name}.jsonl"))


def said(context: Context) -> list[str]:
    """The plants that the person says to have planted, in the order of the page."""
    nodes = [item.candidate.node for section in context.page.sections for item in section.items]
    own = [node for node in nodes if node.fields.get("role") == "user"]
    return [plant for node in own for plant in PLANTS if f"planted a {plant} " in node.text]


@pytest.mark.parametrize(
    ("question", "speaker"),
    [
        ("Which bugs did I mention?", Speaker.PERSON),
        ("What is my deadline?", Speaker.PERSON),
        ("What did you recommend for my garden?", Speaker.ASSISTANT),
        ("Repeat your advice about roses", Speaker.ASSISTANT),
        ("Can you show me how to prune a rose?", Speaker.PERSON),
        ("When is the deadline?", Speaker.ANYONE),
    ],
)
def test_a_question_shows_whose_words_it_asks_for(question: str, speaker: Speaker) -> None:
    assert read_shapes(question).speaker is speaker


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        (
            "Can you list the order in which I brought up different aspects of pruning throughout our chats?",
            "of pruning ?",
        ),
        ("Please give me a comprehensive summary of my garden so far", "a of my garden"),
        ("How many roses have I planted?", "roses have I planted?"),
        ("What happened in our last session?", ""),
    ],
)
def test_the_words_that_ask_for_an_order_or_a_number_are_no_topic(question: str, topic: str) -> None:
    assert read_topic(question) == topic


def test_answers_count_for_less_unless_they_are_asked_for(weft: Weft, tmp_path: Path) -> None:
    index_garden(weft, tmp_path)
    best = {}
    for question in (
        "What was said about mint to me?",
        "What was said about mint?",
        "What was said about mint in your answers?",
    ):
        scores = {entry.key: entry.score for entry in weft.context(question).ledger}
        best[question] = scores["spring:spring.jsonl@10"] / scores["spring:spring.jsonl@9"]
    assert list(best.values()) == sorted(set(best.values()))


@pytest.mark.parametrize(
    "question",
    [
        "How many plants did I put behind the shed?",
        "In which order did I plant behind the shed?",
        "Can you give me a recap of our conversations?",
    ],
)
def test_a_question_for_all_gets_every_mention_and_not_the_likeliest(
    weft: Weft, tmp_path: Path, question: str
) -> None:
    index_garden(weft, tmp_path)
    page = weft.context(question, max_tokens=2000).text
    assert [plant for plant in PLANTS if f"planted a {plant} " not in page] == []


def test_code_does_not_keep_other_turns_off_the_page(weft: Weft, tmp_path: Path) -> None:
    index_garden(weft, tmp_path, with_code=True)
    context = weft.context("How many plants did I put behind the shed?", max_tokens=4000)
    assert sorted(said(context)) == sorted(PLANTS)
    assert context.tokens <= 4000


def test_a_store_without_conversations_is_asked_with_all_words(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Orders\n\nThe summary of the order in which ferries leave.\n")
    weft.index(str(tmp_path / "note.md"))
    assert "ferries leave" in weft.context("summary of the order in which ferries leave").text


def test_records_that_are_turns_have_a_speaker_and_may_be_a_rule(weft: Weft, tmp_path: Path) -> None:
    records = [
        {"id": "t:1", "title": "Monday", "text": "user: Always answer in metric units."},
        {"id": "t:2", "title": "Monday", "text": "assistant: Always use fresh yeast."},
        {"id": "t:3", "title": "Monday", "text": "user: How long does dough rise?"},
        {"id": "t:4", "title": "Monday", "text": "Userland: a word with a colon."},
    ]
    (tmp_path / "turns.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    weft.index(str(tmp_path / "turns.jsonl"))
    fields = [weft.show(f"turns:t:{number}")[0].fields for number in range(1, 5)]
    assert [each.get("role") for each in fields] == ["user", "assistant", "user", None]
    assert [each.get("form") for each in fields] == ["instruction", None, None, None]
    page = weft.context("How long does dough rise?").text
    assert page.index("Standing rules") < page.index("metric units")
    assert page.count("metric units") == 1


BIRDS = (
    ("2026-03-02", "user", "I want to build a log for birdwatching."),
    ("2026-03-02", "assistant", "Start with a table: species, place."),
    ("2026-03-02", "user", "I saw a kingfisher at the canal."),
    ("2026-03-02", "assistant", "Nice."),
    ("2026-03-09", "user", "The beta launch is on April 10."),
    ("2026-03-09", "assistant", "OK, plan backwards from that date."),
    ("2026-03-09", "user", "Yesterday I spotted a heron and two woodpeckers."),
    ("2026-03-09", "assistant", "Noted."),
    ("2026-03-20", "user", "The beta launch moved to April 24, the map isn't ready."),
    ("2026-03-20", "assistant", "Understood."),
    ("2026-03-20", "user", "Now 17 people have signed up, and I watched an osprey this morning!"),
    ("2026-03-20", "assistant", "Congratulations."),
)


@pytest.fixture
def birds(tmp_path: Path, weft: Weft) -> Weft:
    lines = [json.dumps({"role": role, "content": text, "date": day}) for day, role, text in BIRDS]
    (tmp_path / "birds.jsonl").write_text("\n".join(lines))
    weft.index(str(tmp_path / "birds.jsonl"))
    return weft


def test_a_plain_value_that_a_later_turn_changes_is_marked_and_the_later_one_leads(birds: Weft) -> None:
    page = birds.context("when is the beta launch?", max_tokens=600).text
    assert "The beta launch moved to April 24, the map isn't ready. (was on April 10 until 2026-03-20)" in page
    assert "The beta launch is on April 10.\n*no longer: April 24 since 2026-03-20*" in page


def test_a_count_has_every_turn_of_the_person_also_those_that_a_search_hardly_finds(birds: Weft) -> None:
    page = birds.context("how many birds have I seen?", max_tokens=800).text
    assert all(bird in page for bird in ("kingfisher", "heron", "osprey"))


def test_turns_that_only_acknowledge_fill_no_page(birds: Weft) -> None:
    page = birds.context("when is the beta launch?", max_tokens=800).text
    assert "plan backwards" in page
    assert not any(words in page for words in ("Noted.", "Nice.", "Understood.", "Congratulations."))
