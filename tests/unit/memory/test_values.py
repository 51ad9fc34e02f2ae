"""Values over a real store: what emerges, how it is stated and linked, and when it is found anew."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from weft import Weft
from weft.errors import InvalidInput, MissingExtra, UnknownName
from weft.interfaces import memory_actions
from weft.memory import (
    Experience,
    Lesson,
    Outcome,
    RootCause,
    Value,
    apply_outcome,
    experience_nodes,
    new_experience,
    value_from_node,
    value_node,
)
from weft.memory.experience_store import reopen_experience
from weft.memory.value_store import list_values, refresh_values, values_are_due
from weft.model import Filter

NOW = datetime(2026, 3, 1, tzinfo=UTC)
THEMES = {
    "clock": ("The clock of the container was off by {} minutes", "Compare the clocks of container and host"),
    "cache": ("A stale cache entry for page {} was served again", "Empty the cache before measuring a page"),
    "lock": ("Worker {} held the database lock while it waited", "Release the database lock before waiting"),
}


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def story(theme: str, number: int) -> Experience:
    surprise, lesson = (words.format(number) for words in THEMES[theme])
    started = new_experience(
        domain="debugging" if theme != "cache" else "performance",
        strategy="read-the-error",
        goal=f"Fix the {theme} trouble of job {number}",
        hypothesis=f"The {theme} has nothing to do with job {number}",
        action=f"Look at job {number} without the {theme}",
        prediction=f"Job {number} runs",
        now=NOW + timedelta(minutes=number),
    )
    outcome = Outcome(
        "falsified",
        f"It was the {theme}",
        surprise=surprise,
        root_cause=RootCause("wrong-assumption", f"The {theme} was trusted in job {number}"),
        lesson=Lesson(lesson),
    )
    return apply_outcome(started, outcome, NOW + timedelta(hours=1))


def fill(weft: Weft, order: Sequence[tuple[str, int]]) -> None:
    """Store resolved experiences in one write."""
    weft.put([node for theme, number in order for node in experience_nodes(story(theme, number))])


STORIES = [(theme, number) for number in range(6) for theme in THEMES]


def test_values_emerge_from_experiences_that_resemble_each_other(weft: Weft) -> None:
    fill(weft, STORIES)
    found = refresh_values(weft.workshop())
    surprises = [value for value in found if value.axis == "surprise"]
    assert len(surprises) == 3
    assert [value.size for value in surprises] == [6, 6, 6]
    assert {value.domain for value in surprises} == {"debugging", "performance"}
    clock = next(value for value in surprises if "clock" in value.text)
    assert clock.text.startswith("The clock of the container was off by")
    assert clock.similarity == max(near for _, near in clock.members) > 0.8
    assert clock.exemplar == clock.members[0][0]
    assert {value.axis for value in found} == {"full", "strategy", "surprise", "root_cause"}


def test_a_value_is_linked_with_its_members_and_found_by_search(weft: Weft) -> None:
    fill(weft, STORIES)
    found = refresh_values(weft.workshop())
    value = next(value for value in found if value.axis == "root_cause")
    linked = {node.key for node, edge in weft.related(value.key) if edge.type == "emerges_from"}
    assert linked == {f"experience:{member}" for member, _ in value.members}
    values = Filter(kinds=("value",))
    assert "lock" in weft.search("database lock", filter=values).candidates[0].node.text


def test_values_do_not_depend_on_the_order_of_storing(tmp_path: Path) -> None:
    refreshed = []
    for seed in (1, 2):
        order = list(STORIES)
        Random(seed).shuffle(order)
        with Weft.open(tmp_path / f"{seed}") as weft:
            fill(weft, order)
            refreshed.append(refresh_values(weft.workshop()))
            assert refresh_values(weft.workshop()) == refreshed[-1]
    assert refreshed[0] == refreshed[1]


def test_what_no_longer_emerges_is_removed(weft: Weft) -> None:
    fill(weft, STORIES)
    before = {value.key for value in refresh_values(weft.workshop())}
    axes = weft.nodes(filter=Filter(kinds=("experience",)), limit=1000)
    weft.delete(*(node.key for node in axes if "clock" in node.text))
    after = {value.key for value in refresh_values(weft.workshop())}
    assert after < before
    assert {node.key for node in weft.nodes(filter=Filter(kinds=("value",)))} == after


def test_a_reopened_experience_is_counted_by_no_value_any_more(weft: Weft) -> None:
    fill(weft, [(theme, number) for number in range(4) for theme in THEMES])
    found = refresh_values(weft.indexing_context())
    value = next(value for value in found if value.axis == "surprise" and "clock" in value.text)
    others = {each.key: each.size for each in found if value.exemplar not in dict(each.members)}
    reopen_experience(weft.indexing_context(), value.exemplar)
    left = list_values(weft.indexing_context(), limit=100)
    assert value.key not in {each.key for each in left}
    (smaller,) = [each for each in left if each.axis == "surprise" and "clock" in each.text]
    assert smaller.size == 3
    linked = {node.key for node, edge in weft.related(smaller.key) if edge.type == "emerges_from"}
    assert linked == {f"experience:{id}" for id, _ in value.members if id != value.exemplar}
    assert others == {each.key: each.size for each in left if each.key in others}
    # Of three, two are too few for a value.
    reopen_experience(weft.indexing_context(), smaller.exemplar)
    left = list_values(weft.indexing_context(), limit=100)
    assert not [each for each in left if each.axis == "surprise" and "clock" in each.text]
    assert weft.verify() == ()


def test_values_are_due_when_enough_was_resolved(weft: Weft) -> None:
    indexing = weft.workshop()
    assert not values_are_due(indexing)
    fill(weft, STORIES[:4])
    assert not values_are_due(indexing)
    fill(weft, STORIES[4:5])
    assert values_are_due(indexing)
    refresh_values(indexing)
    assert not values_are_due(indexing)


def test_values_are_listed_largest_first_and_by_axis(weft: Weft) -> None:
    fill(weft, [*STORIES, ("lock", 7), ("lock", 8)])
    indexing = weft.workshop()
    refresh_values(indexing)
    listed = list_values(indexing, axis="surprise")
    assert [value.size for value in listed] == [8, 6, 6]
    assert "lock" in listed[0].text
    assert list_values(indexing, axis="surprise", limit=1) == listed[:1]
    with pytest.raises(UnknownName, match="full, root_cause, strategy, surprise"):
        list_values(indexing, axis="depth")


def test_few_or_no_experiences_have_no_values(weft: Weft) -> None:
    assert refresh_values_or_none(weft) is None
    fill(weft, STORIES[:2])
    assert refresh_values(weft.workshop()) == ()


def refresh_values_or_none(weft: Weft) -> tuple[Value, ...] | None:
    try:
        return refresh_values(weft.workshop())
    except InvalidInput as error:
        assert "no vectors" in str(error)
        return None


def test_a_store_without_vectors_is_told_what_to_do(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        fill(weft, STORIES[:3])
        with pytest.raises(InvalidInput, match="--embedder static"):
            refresh_values(weft.workshop())


def test_without_the_extra_it_is_said_what_to_install(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(weft, STORIES[:6])
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingExtra, match="pip install scikit-learn"):
        refresh_values(weft.workshop())


def test_a_value_survives_the_way_to_its_node_and_back() -> None:
    value = Value("full", "full-1", "Wait.", "abc", 0.9, (), 4, "debugging", "ask-user", "team")
    assert value_from_node(value_node(value)) == value


def test_values_are_renewed_in_the_background_when_due(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(memory_actions, "start_weft", lambda *command: started.append(command))
    assert not memory_actions.start_values_refresh(weft.workshop(), weft.store.path)
    fill(weft, STORIES[:5])
    assert memory_actions.start_values_refresh(weft.workshop(), weft.store.path, "default")
    assert started[0][:2] == ("values", "--refresh")
    monkeypatch.setattr(memory_actions, "find_spec", lambda name: None)
    assert not memory_actions.start_values_refresh(weft.workshop(), weft.store.path)


@pytest.mark.parametrize("count", [3, 6])
def test_near_identical_experiences_are_a_value(weft: Weft, count: int) -> None:
    for number in range(count):
        weft.put(experience_nodes(story("clock", number)))
    assert {value.axis for value in refresh_values(weft.workshop())} == {
        "full",
        "strategy",
        "surprise",
        "root_cause",
    }
    assert {value.size for value in list_values(weft.workshop())} == {count}


def test_two_experiences_alike_are_no_value(weft: Weft) -> None:
    for number in range(2):
        weft.put(experience_nodes(story("clock", number)))
    assert refresh_values(weft.workshop()) == ()
