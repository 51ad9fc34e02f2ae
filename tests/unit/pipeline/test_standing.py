"""Standing rules on pages: printed whatever was asked, where their scope fits, with what they replaced."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.memory import Outcome, memory_node, new_memory
from weft.memory.experience_store import resolve_experience, start_experience
from weft.memory.memory_store import remember, update_memory
from weft.model import Edge, Filter
from weft.pipeline.standing import asks_what_was_said

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FILLER = "Bread dough rises for two hours in a warm kitchen before it is shaped and baked."


def log(path: Path, turns: Sequence[Mapping[str, str]]) -> Path:
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return path


def turn(text: str, role: str = "user", date: str = "2026-01-02") -> dict[str, str]:
    return {"role": role, "content": text, "date": date}


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def index_chat(weft: Weft, folder: Path, *turns: Mapping[str, str]) -> None:
    weft.index(str(log(folder / "chat.jsonl", turns)))


def rules_on(weft: Weft, question: str, **options: object) -> list[str]:
    context = weft.context(question, now=NOW, **options)  # type: ignore[arg-type]
    section = next((each for each in context.page.sections if each.name == "standing"), None)
    return [item.candidate.node.text for item in section.items] if section else []


def test_a_rule_stands_on_a_page_with_which_it_shares_no_word(weft: Weft, tmp_path: Path) -> None:
    index_chat(
        weft,
        tmp_path,
        turn("Always answer in metric units."),
        turn(FILLER, "assistant"),
        turn("How long does dough rise?"),
    )
    assert rules_on(weft, "How long does bread dough rise?") == ["Always answer in metric units."]


def test_what_was_asked_to_be_remembered_of_a_person_or_a_decision_stands_whatever_is_asked(weft: Weft) -> None:
    for text in ("I'm vegetarian", "We use uv instead of pip", FILLER):
        remember(weft.indexing_context(), text, now=NOW)
    told = rules_on(weft, "How long does bread dough rise?", profile="learning")
    assert sorted(told) == ["I'm vegetarian", "We use uv instead of pip"]


def test_an_assistant_makes_no_rules(weft: Weft, tmp_path: Path) -> None:
    index_chat(
        weft, tmp_path, turn("How does dough rise?"), turn(f"Always use fresh yeast. {FILLER}", "assistant")
    )
    assert rules_on(weft, "How long does bread dough rise?") == []


def test_a_rule_said_twice_is_printed_once_and_the_newer_choice_alone(weft: Weft, tmp_path: Path) -> None:
    index_chat(
        weft,
        tmp_path,
        turn("I prefer rye over wheat for bread."),
        turn(FILLER, "assistant"),
        turn("Always answer in metric units."),
        turn(FILLER, "assistant"),
        turn("I prefer wheat over rye for bread.", date="2026-02-01"),
        turn(FILLER, "assistant"),
        turn("Please always answer in metric units.", date="2026-02-03"),
    )
    context = weft.context("How long does bread dough rise?", now=NOW)
    assert "I prefer wheat over rye for bread. (was rye until 2026-02-01)" in context.text
    assert "I prefer rye over wheat for bread.\n*no longer: wheat since 2026-02-01*" in context.text
    assert sum("metric" in text for text in rules_on(weft, "How long does bread dough rise?")) == 1


def test_the_section_is_capped_and_in_the_order_in_which_things_were_said(weft: Weft, tmp_path: Path) -> None:
    kinds = [f"{letter}-type parts" for letter in "abcdefghijkl"]
    turns = [(turn(f"Always mention {kind} by their number."), turn(FILLER, "assistant")) for kind in kinds]
    index_chat(weft, tmp_path, *(each for pair in turns for each in pair))
    rules = rules_on(weft, "How long does bread dough rise?")
    assert len(rules) == 10
    assert rules == sorted(rules)


def test_a_rule_for_a_language_stands_only_where_that_language_is(weft: Weft, tmp_path: Path) -> None:
    remember(weft.indexing_context(), "Never use panics in Go", now=NOW)
    remember(weft.indexing_context(), f"{FILLER} It cools for one hour.", now=NOW)
    assert rules_on(weft, "How long does bread dough rise?") == []
    assert rules_on(weft, "How long does bread dough rise, and is it written in Go?") == ["Never use panics in Go"]


def test_a_filter_leaves_rules_out(weft: Weft) -> None:
    remember(weft.indexing_context(), "Always answer in metric units", now=NOW)
    remember(weft.indexing_context(), FILLER, now=NOW)
    assert rules_on(weft, "How long does bread dough rise?", filter=Filter(kinds=("commit",))) == []


def test_a_page_of_learning_or_of_chats_that_has_nothing_still_has_the_rules(weft: Weft, tmp_path: Path) -> None:
    rule, foreign = "Always answer in metric units", "Which moons has Jupiter?"
    remember(weft.indexing_context(), rule, now=NOW)
    remember(weft.indexing_context(), FILLER, now=NOW)
    assert rules_on(weft, foreign, profile="learning") == [rule]
    # A default page of code, documents or memories alone says only that it has nothing.
    assert rules_on(weft, foreign) == []
    index_chat(weft, tmp_path, turn("How long does dough rise?"), turn(FILLER, "assistant"))
    context = weft.context(foreign, now=NOW)
    assert "- 2026-03-01: Always answer in metric units" in context.text
    assert "Nothing here speaks to this question." in context.text
    assert len(context.sources) == 1
    # A page so small that the rules would push off the sentence has the sentence.
    assert "Nothing here" in weft.context(foreign, max_tokens=120, now=NOW).text


def test_a_page_that_has_nothing_shows_no_older_value_as_if_it_held(weft: Weft) -> None:
    # As two machines may have stored them, each for itself.
    for text, day in (("We use uv instead of pip", NOW), ("We use pip instead of uv", NOW + timedelta(days=1))):
        weft.put([memory_node(new_memory(text, None, None, (), "default", day))])
    page = weft.context("Which moons has Jupiter?", profile="learning", now=NOW + timedelta(days=2)).text
    assert "- 2026-03-02: We use pip instead of uv (was uv until 2026-03-02)" in page
    assert page.count("instead of") == 1


def test_decisions_and_facts_about_a_person_stand_in_part_on_pages_about_something_else(
    weft: Weft, tmp_path: Path
) -> None:
    said = ["We decided to sell on Fridays only.", "I'm vegetarian.", "I live in Porto.", "My name is Ada."]
    turns = [(turn(text), turn(FILLER, "assistant")) for text in (*said, "Always answer in metric units.")]
    index_chat(weft, tmp_path, *(each for pair in turns for each in pair))
    rules = rules_on(weft, "How long does bread dough rise?")
    assert "Always answer in metric units." in rules
    assert len(set(rules) & set(said)) == 3
    assert "We decided to sell on Fridays only." in rules_on(weft, "On which days do we sell?")


@pytest.mark.parametrize(
    ("question", "is_recalled"),
    [
        ("How many hours did I spend on the dough?", True),
        ("Have I ever baked with rye?", True),
        ("Between the two scores that I mentioned, which is higher?", True),
        ("How should I bake with this dough?", False),
        ("I'm planning to bake on Friday. What would you suggest?", False),
        ("How does dough rise?", False),
    ],
)
def test_a_question_shows_whether_it_asks_for_what_the_person_said(question: str, is_recalled: bool) -> None:
    assert asks_what_was_said(question) is is_recalled


def test_a_rule_ranks_lower_where_what_was_said_is_asked_and_stands_on_the_page_all_the_same(
    weft: Weft, tmp_path: Path
) -> None:
    rule = "Always answer in metric units."
    said = (
        turn(rule),
        turn(FILLER, "assistant"),
        turn("I spent 4 hours on the dough."),
        turn(FILLER, "assistant"),
    )
    index_chat(weft, tmp_path, *said)
    (key,) = (node.key for node in weft.nodes() if node.text == rule)
    scores = [
        next(entry.score for entry in weft.context(question, now=NOW).ledger if entry.key == key)
        for question in ("How many hours did I spend on the dough?", "How many hours should I spend on the dough?")
    ]
    assert scores[0] < scores[1] / 2
    assert rules_on(weft, "How many hours did I spend on the dough?") == [rule]


def test_an_assistant_decides_nothing_that_stands(weft: Weft, tmp_path: Path) -> None:
    index_chat(weft, tmp_path, turn("When?"), turn(f"We decided to sell on Fridays. {FILLER}", "assistant"))
    assert rules_on(weft, "How long does bread dough rise?") == []


def test_a_question_about_oneself_is_answered_from_what_one_told(weft: Weft, tmp_path: Path) -> None:
    index_chat(weft, tmp_path, turn("I'm Ada, a bridge engineer, and I bake."), turn(FILLER, "assistant"))
    assert rules_on(weft, "What profession did I mention?") == ["I'm Ada, a bridge engineer"]


def test_the_latest_value_that_was_stated_stands_on_the_page(weft: Weft, tmp_path: Path) -> None:
    index_chat(
        weft,
        tmp_path,
        turn("My sourdough loaf count has now reached 12."),
        turn(FILLER, "assistant"),
        turn("My sourdough loaf count has now reached 19.", date="2026-02-05"),
    )
    text = weft.context("What is my sourdough loaf count?", now=NOW).text
    assert "2026-02-05: My sourdough loaf count has now reached 19." in text


def test_a_contradiction_that_was_noted_wrongly_or_has_been_settled_is_not_marked_any_more(weft: Weft) -> None:
    context = weft.indexing_context()
    spaces, pip = (remember(context, text, now=NOW).memory for text in ("Use spaces", "We use pip"))
    retries = [remember(context, f"Retry {n} times on a gateway timeout", now=NOW).memory for n in (3, 5)]
    weft.put([], [Edge(spaces.key, pip.key, "contradicts", evidence="another choice")])
    assert "spaces” of" not in weft.context("Use spaces or pip?", profile="learning", now=NOW).text
    assert "may contradict" in weft.context("Retry on a gateway timeout", now=NOW).text
    update_memory(context, retries[0].key, text="Log every gateway timeout", now=NOW)
    assert "contradict" not in weft.context("Retry on a gateway timeout", now=NOW).text
    # What a person says to exclude each other does.
    weft.put([], [Edge(spaces.key, pip.key, "contradicts")])
    assert "may contradict “Use spaces” of" in weft.context("spaces or pip?", profile="learning", now=NOW).text


def test_an_experience_stands_once_on_a_default_page_and_by_its_sides_in_a_premortem(weft: Weft) -> None:
    context = weft.indexing_context()
    started = start_experience(
        context,
        domain="debugging",
        strategy="read-the-error",
        goal="Make the bread rise",
        hypothesis="The yeast is old",
        action="Buy fresh yeast",
        prediction="It rises",
        now=NOW,
    )
    resolve_experience(
        context, started.id, Outcome("falsified", "It did not rise", "The kitchen was cold"), now=NOW
    )
    sources = weft.context("Why did the bread not rise?", now=NOW).sources
    assert [source.key for source in sources] == [started.key]
    premortem = weft.context("", profile="premortem", parameters={"domain": "debugging"}, now=NOW)
    assert f"{started.key}/surprise" in [source.key for source in premortem.sources]


def test_memories_that_contradict_each_other_are_marked_where_they_are_read(weft: Weft) -> None:
    remember(weft.indexing_context(), "Retry 3 times on a gateway timeout", now=NOW)
    remember(weft.indexing_context(), "Retry 5 times on a gateway timeout", now=NOW + timedelta(days=1))
    text = weft.context("How often is a gateway timeout retried?", now=NOW).text
    assert "may contradict “Retry 5 times on a gateway timeout” of 2026-03-02" in text
    assert "may contradict “Retry 3 times on a gateway timeout” of 2026-03-01" in text


def test_a_memory_says_what_its_value_was_before(weft: Weft) -> None:
    remember(weft.indexing_context(), "The gateway timeout is 30 seconds", now=NOW)
    remember(weft.indexing_context(), "The gateway timeout is 90 seconds", now=NOW + timedelta(days=1))
    for profile in ("general", "learning"):
        text = weft.context("What is the gateway timeout?", profile=profile, now=NOW).text
        assert "was 30 seconds until 2026-03-02" in text
        assert "timeout is 30" not in text
