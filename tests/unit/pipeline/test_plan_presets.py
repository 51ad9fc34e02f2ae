"""Which page suits which question."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Request, Weft
from weft.errors import UnknownName
from weft.model import View
from weft.pipeline.plan import choose_presets
from weft.profiles import apply_preset, check_profile, load_profile
from weft.profiles.types import Profile


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(Path(tmp_path_factory.mktemp("adapting")) / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node("s:odo", "character", title="Odo", text="A clerk."),
                Node("s:ada", "character", title="Ada", text="A pilot."),
                Node("s:ch", "chapter", title="Springs", text="Odo met Ada."),
            ]
        )
        yield opened


def chosen(weft: Weft, question: str, preset: str | None = "auto") -> tuple[Profile, tuple[str, ...]]:
    with weft.store.snapshot(View()) as snapshot:
        return choose_presets(Request(question, preset=preset), load_profile("narrative"), snapshot)


@pytest.mark.parametrize(
    ("question", "tokens", "entities", "share"),
    [
        ("Who is Odo?", 3000, 2, 70),
        ("Tell me about Odo.", 6000, 1, 70),
        ("Who are Odo's allies?", 12000, 15, 70),
        ("What happened to Odo?", 10000, 10, 70),
        ("Analyze the political alliances of Odo and Ada", 15000, 15, 70),
        ("Compare Odo and Ada", 15000, 15, 70),
        ("Did Odo take the key?", 8000, 5, 70),
        ("What is the magic system?", 8000, 5, 40),
        ("What happened in the war?", 10000, 10, 40),
    ],
)
def test_the_type_of_a_question_sets_budget_and_entities_and_a_name_in_it_the_split(
    weft: Weft, question: str, tokens: int, entities: int, share: int
) -> None:
    profile, notes = chosen(weft, question)
    section, general = profile.sections
    assert section.for_each is not None
    assert (profile.max_tokens, section.for_each.limit, section.share) == (tokens, entities, share)
    assert section.share + general.share == 100
    assert notes[0].startswith("The question is read as: ")


@pytest.mark.parametrize(
    ("preset", "questions"),
    [
        (
            "quick",
            ["WHO IS ODO?", "who's odo", "“Who’s Odo?”", "Where does Odo live?", "Remind me who Odo is"],
        ),
        (
            "profile",
            ["Describe Odo!", "What do we know about Odo?", "character sheet for odo", "Odo’s backstory"],
        ),
        (
            "relationships",
            ["HOW ARE ODO AND ADA RELATED", "Who trusts whom?", "Who works for Ada?", "Do they love each other?"],
        ),
        (
            "timeline",
            ["What has happened so far?", "Recap, please", "what did Odo do next", "What events led to the war?"],
        ),
        (
            "analysis",
            ["Analyze political alliances in Westeros", "What does the sea symbolize?", "What’s Ada’s motive?"],
        ),
        ("standard", ["Did Odo take the key?", "What is the magic system?", "", "???", "Odo", "Who is he?"]),
    ],
)
def test_every_type_is_known_by_the_words_people_use(weft: Weft, preset: str, questions: list[str]) -> None:
    wanted = apply_preset(load_profile("narrative"), preset)
    for question in questions:
        profile, _ = chosen(weft, question)
        assert (profile.max_tokens, _entities(profile)) == (wanted.max_tokens, _entities(wanted)), question


def _entities(profile: Profile) -> int | None:
    rule = profile.sections[0].for_each
    return rule.limit if rule else None


def test_a_timeline_is_told_in_the_order_of_the_story(weft: Weft) -> None:
    profile, notes = chosen(weft, "What happened to Odo?")
    assert {part.order for part in profile.sections[0].parts if part.via} == {"sequence"}
    assert notes == ("The question is read as: timeline (preset timeline) and names-an-entity (preset focused).",)


def test_only_whole_words_are_phrases(weft: Weft) -> None:
    assert chosen(weft, "Did the familyless Odo nap?")[0].max_tokens == 8000


def test_chapters_are_not_entities(weft: Weft) -> None:
    assert chosen(weft, "What is Springs?")[0].sections[0].share == 40


def test_without_the_preset_nothing_is_chosen(weft: Weft) -> None:
    assert chosen(weft, "Who is Odo?", preset=None) == (load_profile("narrative"), ())
    assert chosen(weft, "Who is Odo?", preset="quick") == (load_profile("narrative"), ())


def test_explicit_arguments_win(weft: Weft) -> None:
    given = weft.context("Who is Odo?", profile="narrative", preset="auto", max_tokens=500)
    assert given.max_tokens == 500
    assert weft.context("Who is Odo?", profile="narrative", preset="auto").max_tokens == 3000


def test_a_profile_without_rules_has_no_auto(weft: Weft) -> None:
    with pytest.raises(UnknownName, match="auto"):
        weft.context("Who is Odo?", preset="auto")


def test_rules_that_cannot_work_are_refused() -> None:
    text = (
        'name = "p"\n[presets.auto]\nmax_tokens = 5\n[[adapt]]\nname = "a"\npreset = "no"\nphrases = ["Who\'s"]\n'
    )
    found = "\n".join(check_profile(text, "p.toml"))
    assert "adapt.a.preset" in found
    assert "'whos'" in found
    assert "presets.auto" in found
