"""Memories over a real store: remembered, merged, contradicted, found, changed and forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Weft
from weft.errors import InvalidInput, StoreError, UnknownName
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete, put
from weft.memory import Earlier, MemoryUsage, UsageLog, memory_from_node, memory_node, new_memory
from weft.memory.memory_store import (
    find_memory,
    find_stale,
    forget,
    list_memories,
    remember,
    search_memories,
    update_memory,
)
from weft.model import Node

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=2)


@pytest.fixture
def indexing(tmp_path: Path) -> Iterator[IndexingContext]:
    with Weft.open(tmp_path / ".weft") as weft:
        yield weft.workshop()


def test_a_memory_keeps_what_it_was_given(indexing: IndexingContext) -> None:
    done = remember(indexing, " Use tabs. ", now=NOW, category="preference", importance=0.8, tags=["style"])
    assert not done.merged
    assert done.contradictions == ()
    assert find_memory(indexing, done.memory.key) == done.memory
    assert find_memory(indexing, done.memory.key.removeprefix("memory:")) == done.memory
    assert (done.memory.text, done.memory.category, done.memory.importance) == ("Use tabs.", "preference", 0.8)
    assert done.memory.created == done.memory.updated == NOW


def test_a_memory_survives_the_way_to_its_node_and_back() -> None:
    memory = replace(
        new_memory("Say\nmore", "error", 0.25, ("b", "a"), "team", NOW), history=(Earlier("Say", LATER),)
    )
    assert memory_from_node(memory_node(memory)) == memory


def test_a_bare_node_of_another_tool_is_a_memory_too() -> None:
    memory = memory_from_node(Node("memory:x", "memory", text="plain", importance=0.3))
    assert (memory.category, memory.importance, memory.history) == ("fact", 0.3, ())


def test_what_says_the_same_is_merged_and_the_older_text_kept(indexing: IndexingContext) -> None:
    first = remember(indexing, "Use tabs for indentation", now=NOW, category="preference", importance=0.9).memory
    done = remember(indexing, "Please use tabs for indentation.", now=LATER, tags=["style"])
    assert done.merged
    assert done.memory.key == first.key
    assert done.memory.history == (Earlier("Use tabs for indentation", LATER),)
    assert (done.memory.category, done.memory.importance) == ("preference", 0.9)
    assert len(list_memories(indexing)) == 1


def test_the_same_words_again_change_nothing(indexing: IndexingContext) -> None:
    first = remember(indexing, "Use tabs", now=NOW).memory
    again = remember(indexing, "Use tabs", now=LATER)
    assert again.merged
    assert again.memory == first


def test_what_says_otherwise_is_stored_and_reported_with_both_keys(indexing: IndexingContext) -> None:
    first = remember(indexing, "Retry 3 times on a timeout", now=NOW).memory
    done = remember(indexing, "Retry 5 times on a timeout", now=LATER)
    (against,) = done.contradictions
    assert (against.key, against.other, against.why) == (done.memory.key, first.key, "another number")
    assert {memory.key for memory in list_memories(indexing)} == {first.key, done.memory.key}
    with indexing.store.snapshot_of_all_tenants() as snapshot:
        edges = snapshot.edges(snapshot.find([first.key])[first.key])
    assert [edge.type for _, _, edge in edges] == ["contradicts"]


def test_memories_are_listed_newest_first_and_by_category(indexing: IndexingContext) -> None:
    kept = [
        remember(indexing, text, now=NOW + timedelta(hours=hour), category=category).memory
        for hour, (text, category) in enumerate(
            [
                ("The server is heron", "fact"),
                ("Squash before merging", "workflow"),
                ("Ports begin at 9000", "fact"),
            ]
        )
    ]
    assert list_memories(indexing) == tuple(reversed(kept))
    assert list_memories(indexing, limit=1) == (kept[2],)
    assert list_memories(indexing, category="workflow") == (kept[1],)


def test_memories_are_found_by_what_they_say(indexing: IndexingContext) -> None:
    remember(indexing, "The staging server is called heron", now=NOW)
    squash = remember(indexing, "Squash commits before merging a branch", now=NOW, category="workflow").memory
    assert search_memories(indexing, "how do I merge a branch")[0] == squash
    assert search_memories(indexing, "server", category="workflow", limit=5) in ((), (squash,))


def test_an_update_keeps_the_older_text_and_changes_only_what_is_given(indexing: IndexingContext) -> None:
    key = remember(indexing, "The server is heron", now=NOW, importance=0.4).memory.key
    updated = update_memory(indexing, key, now=LATER, text="The server is egret")
    assert updated.history == (Earlier("The server is heron", LATER),)
    assert (updated.importance, updated.created, updated.updated) == (0.4, NOW, LATER)
    assert find_memory(indexing, key) == updated
    assert update_memory(indexing, key, now=LATER + timedelta(days=1)) == updated
    assert update_memory(indexing, key, now=LATER, category="error", importance=1, tags=["x"]).category == "error"


def test_only_the_latest_versions_are_kept(indexing: IndexingContext) -> None:
    key = remember(indexing, "version 0", now=NOW).memory.key
    for number in range(1, 25):
        updated = update_memory(indexing, key, now=NOW, text=f"version {number}")
    assert len(updated.history) == 20
    assert updated.history[-1].text == "version 23"


def test_what_is_forgotten_is_gone(indexing: IndexingContext) -> None:
    one, two = (remember(indexing, text, now=NOW).memory for text in ("One lamp", "Two rivers meet"))
    assert forget(indexing, [one.key]) == (one,)
    assert list_memories(indexing) == (two,)
    with pytest.raises(InvalidInput, match="weft memories"):
        forget(indexing, [two.key, one.key])
    assert list_memories(indexing) == (two,)


def test_tenants_do_not_share_memories(indexing: IndexingContext) -> None:
    mine = remember(indexing, "Use tabs", now=NOW, tenant="a").memory
    other = remember(indexing, "Use tabs", now=NOW, tenant="b")
    assert not other.merged
    assert list_memories(indexing, tenant="a") == (mine,)
    with pytest.raises(InvalidInput):
        find_memory(indexing, mine.key, tenant="b")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": "  "}, "empty"),
        ({"text": "x" * 1_048_576}, "1,048,576 characters"),
        ({"text": "x", "importance": 1.5}, "0 to 1"),
        ({"text": "x", "importance": float("nan")}, "0 to 1"),
    ],
)
def test_what_is_no_memory_is_refused_with_what_to_do(
    indexing: IndexingContext, given: dict[str, str | float], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        remember(indexing, now=NOW, **given)  # type: ignore[arg-type]
    assert list_memories(indexing) == ()


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Indent with 4 spaces", "instruction"),
        ("I prefer small dependencies", "preference"),
        ("We chose Postgres over MySQL", "decision"),
        ("I'm vegetarian", "profile"),
        ("The build takes five minutes", "fact"),
    ],
)
def test_a_memory_without_a_category_gets_the_one_that_its_words_show(
    indexing: IndexingContext, text: str, category: str
) -> None:
    assert remember(indexing, text, now=NOW).memory.category == category
    assert remember(indexing, f"{text} today", now=NOW, category="context").memory.category == "context"


def test_an_unknown_category_names_the_valid_ones(indexing: IndexingContext) -> None:
    with pytest.raises(
        UnknownName, match="context, decision, error, fact, instruction, preference, profile, workflow"
    ):
        remember(indexing, "x", now=NOW, category="opinion")
    with pytest.raises(UnknownName):
        list_memories(indexing, category="opinion")
    with pytest.raises(InvalidInput, match="limit of 0"):
        list_memories(indexing, limit=0)


def test_uses_are_counted_beside_the_store(tmp_path: Path) -> None:
    book = UsageLog(tmp_path)
    slot, other = ("default", "memory:a"), ("default", "memory:b")
    assert book.read_uses([slot]) == {}
    book.forget([slot])
    book.record_uses([slot, slot], NOW)
    book.record_uses([slot, other], LATER)
    assert book.read_uses([slot, other]) == {slot: MemoryUsage(2, LATER), other: MemoryUsage(1, LATER)}
    book.forget([slot])
    assert book.read_uses([slot, other]) == {other: MemoryUsage(1, LATER)}


def test_a_broken_file_of_uses_says_that_nothing_depends_on_it(tmp_path: Path) -> None:
    (tmp_path / "usage.sqlite").write_bytes(b"not a database at all, certainly")
    with pytest.raises(StoreError, match="Nothing else depends"):
        UsageLog(tmp_path).read_uses([("default", "memory:a")])


def test_secrets_are_taken_out_before_anything_is_stored(indexing: IndexingContext) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    done = remember(indexing, f"The bot pushes with {secret} to main", now=NOW)
    assert secret not in done.memory.text
    assert "[redacted: GitHub Token]" in done.memory.text
    assert done.redacted == ("GitHub Token",)
    updated = update_memory(indexing, done.memory.key, now=LATER, text=f"It is {secret} now")
    assert secret not in find_memory(indexing, updated.key).text


def test_a_new_value_takes_the_place_of_the_older_and_names_it(indexing: IndexingContext) -> None:
    first = remember(indexing, "The deadline of Atlas is May 5", now=NOW).memory
    done = remember(indexing, "Atlas' deadline is now June 1", now=LATER)
    assert (done.memory.key, done.superseded) == (first.key, "The deadline of Atlas is May 5")
    assert [memory.text for memory in list_memories(indexing)] == ["Atlas' deadline is now June 1"]
    fields = memory_node(done.memory).fields
    assert (fields["subject"], fields["attribute"], fields["value"]) == ("Atlas", "deadline", "June 1")
    assert (fields["was"], fields["until"]) == ("May 5", f"{LATER:%Y-%m-%d}")


def test_a_choice_names_what_it_ends_and_never_stays_beside_its_reverse(indexing: IndexingContext) -> None:
    first = remember(indexing, "we use pip", now=NOW).memory
    done = remember(indexing, "We use uv instead of pip", now=LATER)
    assert (done.memory.key, done.superseded, done.memory.category) == (first.key, "we use pip", "decision")
    fields = memory_node(done.memory).fields
    assert (fields["was"], fields["until"]) == ("pip", f"{LATER:%Y-%m-%d}")
    # Both are there when they come from another machine: what holds no longer is replaced before all else.
    put(indexing, [memory_node(new_memory("we use pip", None, None, (), "default", NOW))])
    remember(indexing, "We use pip instead of uv", now=LATER + timedelta(hours=1))
    assert "We use uv instead of pip" not in {memory.text for memory in list_memories(indexing)}


def test_a_category_that_was_given_stays_and_one_that_was_read_is_read_again(indexing: IndexingContext) -> None:
    remember(indexing, "The linter is ruff", now=NOW, category="context")
    remember(indexing, "we use pip", now=NOW)
    assert remember(indexing, "The linter is flake8", now=LATER).memory.category == "context"
    assert remember(indexing, "We use uv instead of pip", now=LATER).memory.category == "decision"


def test_a_value_is_superseded_however_many_memories_are_more_alike(indexing: IndexingContext) -> None:
    remember(indexing, "The staging port is 8080", now=NOW)
    for number in range(30):
        remember(indexing, f"Staging needs a port note of kind {number} before the release {number}", now=NOW)
    assert remember(indexing, "The staging port is 9090", now=LATER).superseded == "The staging port is 8080"


def test_a_clock_that_was_set_back_ends_no_value_before_it_began(indexing: IndexingContext) -> None:
    remember(indexing, "The staging port is 8080", now=LATER)
    done = remember(indexing, "The staging port is 9090", now=NOW)
    assert done.memory.text == "The staging port is 9090"
    assert done.memory.history[-1].until >= LATER


def test_orders_preferences_and_facts_about_a_person_stand_and_plain_facts_do_not(
    indexing: IndexingContext,
) -> None:
    said = {
        "Always answer in metric units": "instruction",
        "Never use mocks": "instruction",
        "I'm vegetarian": "profile",
        "I prefer tea": "preference",
        "We decided to keep the monolith": "decision",
        "The parser lives in src/parse.py": None,
    }
    for text, form in said.items():
        fields = memory_node(remember(indexing, text, now=NOW).memory).fields
        assert (fields.get("form"), fields.get("standing", False)) == (form, form is not None), text


def test_a_rule_names_its_scope(indexing: IndexingContext) -> None:
    scopes = {
        "Use tabs in Go": "language:go",
        "Never write comments in src/generated/": "folder:src/generated",
        "Always squash when using git": "tool:git",
        "Never force-push in this repository": "project",
        "Always be brief": None,
    }
    for text, scope in scopes.items():
        assert memory_node(remember(indexing, text, now=NOW).memory).fields.get("scope") == scope, text


def test_a_secret_in_a_sentence_is_not_stored_unless_it_is_said_to_be_none(indexing: IndexingContext) -> None:
    done = remember(indexing, "The staging password is Tr0ub4dor&3", now=NOW)
    assert (done.memory.text, done.redacted) == ("The staging password is [redacted: secret]", ("secret",))
    kept = remember(indexing, "The example password is Tr0ub4dor&3", now=NOW, allow_secrets=True)
    assert kept.memory.text == "The example password is Tr0ub4dor&3"


def index_parser(indexing: IndexingContext) -> None:
    nodes = [
        Node("repo:src/parse.py", "file", title="src/parse.py", text="def parse_line(): ..."),
        Node("repo:src/parse.py#parse_line", "function", title="parse_line", text="def parse_line(): ..."),
    ]
    put(indexing, nodes)


def test_a_memory_is_stale_once_what_it_names_is_gone(indexing: IndexingContext) -> None:
    index_parser(indexing)
    memory = remember(indexing, "The parser is `parse_line()` in src/parse.py, as in e.g. 3.11", now=NOW).memory
    assert memory.names == ("src/parse.py", "parse_line")
    assert find_stale(indexing) == ()
    delete(indexing, [("default", "repo:src/parse.py#parse_line")])
    assert find_stale(indexing) == ((memory, ("parse_line",)),)


def test_a_symbol_with_underscores_needs_no_backticks(indexing: IndexingContext) -> None:
    index_parser(indexing)
    memory = remember(indexing, "parse_line strips blanks, unlike read_table", now=NOW).memory
    delete(indexing, [("default", "repo:src/parse.py#parse_line")])
    assert find_stale(indexing) == ((memory, ("parse_line",)),)


def test_a_name_that_was_never_in_the_store_makes_nothing_stale(indexing: IndexingContext) -> None:
    remember(indexing, "The deploy script is in ops/deploy.sh", now=NOW)
    assert find_stale(indexing) == ()


def test_a_changed_memory_stays_stale_as_long_as_it_names_what_is_gone(indexing: IndexingContext) -> None:
    index_parser(indexing)
    memory = remember(indexing, "The parser is in src/parse.py", now=NOW).memory
    delete(indexing, [("default", "repo:src/parse.py")])
    update_memory(indexing, memory.key, now=LATER, text="The fast parser is in src/parse.py")
    assert [gone for _, gone in find_stale(indexing)] == [("src/parse.py",)]
    update_memory(indexing, memory.key, now=LATER, text="The parser was moved to the core")
    assert find_stale(indexing) == ()


def test_being_shown_neither_raises_a_memory_nor_keeps_it_from_being_marked(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        remember(weft.workshop(), "The port of staging is 8080", now=NOW)
        remember(weft.workshop(), "The port of testing is 8081", now=NOW)
        before = weft.context("Which port has staging?", profile="learning", now=LATER).text
        UsageLog(weft.folder).record_uses(
            [("default", memory.key) for memory in list_memories(weft.workshop())], LATER
        )
        assert weft.context("Which port has staging?", profile="learning", now=LATER).text == before


def test_a_fact_does_not_fade_in_ten_years(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        remember(weft.workshop(), "The port of staging is 8080", now=NOW)
        pages = [
            weft.context("Which port has staging?", profile="learning", now=NOW + timedelta(days=365 * years)).text
            for years in (0, 1, 10)
        ]
        assert len(set(pages)) == 1
        assert "8080" in pages[0]
