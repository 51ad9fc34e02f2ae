"""A store looked over as a whole: counts, timelines, casts, what sessions were given, and what was learned."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Edge, Node, Weft
from weft.errors import UnknownName
from weft.history.runs import KEPT_RUNS, Run, RunLog
from weft.memory.memory_store import remember
from weft.model import Origin, View
from weft.overview.cast import read_cast
from weft.overview.census import OLDER, UNDATED, take_census
from weft.overview.given import read_given
from weft.overview.learned import read_learned
from weft.overview.neighbourhood import MOST_NODES, read_neighbourhood
from weft.overview.timeline import read_timeline

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        yield opened


def commit(number: int, at: datetime | None) -> Node:
    origin = Origin("git", commit=f"{number:040x}")
    title = f"Change number {number}"
    return Node(
        f"git:commit/{number}",
        "commit",
        title=title,
        text=f"{title}\n\nBecause of {number}.",
        fields={"author": "Ada"},
        origin=origin,
        created=at,
        modified=at,
    )


# --- counts ----------------------------------------------------------------------------------------------------


def test_every_node_is_counted_once_by_age_and_once_by_kind(weft: Weft) -> None:
    days = (0, 3, 20, 60, 200, 900)
    weft.put([commit(number, NOW - timedelta(days=each)) for number, each in enumerate(days)])
    weft.put([Node("a:1", "note", title="Undated", text="No date at all.")])
    census = take_census(weft, ("default",), NOW)
    assert census.nodes == 7
    assert sum(census.by_age.values()) == 7
    assert census.by_age[OLDER] == census.by_age[UNDATED] == census.by_age["a week"] == 1
    (git,) = [source for source in census.sources if source.source == "git"]
    assert git.kinds == {"commit": 6}
    assert sum(git.ages.values()) == git.nodes == 6


def test_what_changed_since_it_was_read_and_what_failed_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n\nThe first text.\n")
    (folder / "broken.jsonl").write_text('{"key": "x"\n')
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.index(folder)
    (folder / "one.md").write_text("# One\n\nAnother text.\n")
    with Weft.open(tmp_path / ".weft", embedder=None, refresh_seconds=0) as opened:
        census = take_census(opened, ("default",), NOW)
    (docs,) = census.sources
    assert docs.changed == ("one.md",)
    assert census.notes
    assert [where for where, _ in docs.problems] == ["broken.jsonl#1"]
    assert census.runs[-1].sources == ("docs",)
    assert census.runs[-1].passages > 0
    assert census.runs[-1].problems


def test_another_tenant_adds_nothing_to_the_counts(weft: Weft) -> None:
    weft.put([Node("a:1", "note", title="Own", text="Own text.")])
    before = take_census(weft, ("default",), NOW)
    weft.put([Node("b:1", "secret", "other", title="Other", text="Other text.")])
    RunLog(weft.folder).add(Run(NOW, "other", ("b",), 1, 0, 1))
    after = take_census(weft, ("default",), NOW)
    assert (after.sources, after.by_kind, after.by_age, after.runs) == (
        before.sources,
        before.by_kind,
        before.by_age,
        before.runs,
    )


# --- runs ------------------------------------------------------------------------------------------------------


def test_runs_are_read_back_and_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    runs = [Run(NOW, "default", ("a",), 3, 1, 9, (("x.md", "no text"),)), Run(NOW, "other")]
    for run in runs:
        log.add(run)
    with log.file.open("ab") as file:
        file.write(b'{"half": \n')
    assert log.read() == tuple(runs)
    log.forget_tenant("other")
    assert log.read() == (runs[0],)


def test_the_file_of_runs_does_not_grow_without_bound(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    problem = (("a" * 900, "b" * 900),)
    for number in range(KEPT_RUNS + 5):
        log.add(Run(NOW, "default", (), number, 0, 0, problem))
    assert log.read()[-1].written == KEPT_RUNS + 4
    assert len(log.file.read_bytes().splitlines()) <= KEPT_RUNS + 5


# --- timelines -------------------------------------------------------------------------------------------------


def test_commits_lie_in_months_and_the_latest_month_is_shown_newest_first(weft: Weft) -> None:
    times = [datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)]
    times += [datetime(2026, 2, 10, tzinfo=UTC)]
    weft.put([commit(number, at) for number, at in enumerate(times)])
    found = read_timeline(weft, View(("default",)), now=NOW)
    assert found.track == "commits"
    assert [(span.name, span.count) for span in found.spans] == [("2026-01", 1), ("2026-02", 2)]
    assert [event.title for event in found.events] == ["Change number 2", "Change number 1"]
    # The title is not told twice.
    assert found.events[0].text == "Because of 2."
    assert found.events[0].who == ("Ada",)
    january = read_timeline(weft, View(("default",)), "commits", "2026-01", NOW)
    assert [event.title for event in january.events] == ["Change number 0"]


@pytest.mark.parametrize(("years", "name"), [(4, "2023 Q1"), (30, "1997")])
def test_longer_histories_have_longer_spans_and_lose_nothing(weft: Weft, years: int, name: str) -> None:
    weft.put([commit(year, datetime(2027 - year, 2, 3, tzinfo=UTC)) for year in range(1, years + 1)])
    found = read_timeline(weft, View(("default",)), "commits", now=NOW)
    assert found.spans[0].name == name
    assert sum(span.count for span in found.spans) == years


def test_chapters_stand_in_their_order_with_those_who_appear(weft: Weft) -> None:
    for number in (2, 1):
        text = "Mira walked to the harbour."
        weft.put([Node(f"book:{number}", "chapter", title=f"Chapter {number}", text=text, sequence=number)])
    weft.put([Node("book:mira", "character", title="Mira")], [Edge("book:1", "book:mira", "mentions")])
    found = read_timeline(weft, View(("default",)), "story")
    assert [event.sequence for event in found.events] == [1, 2]
    assert found.events[0].who == ("Mira",)


def test_a_track_that_does_not_exist_is_refused_with_those_that_do(weft: Weft) -> None:
    with pytest.raises(UnknownName, match="commits"):
        read_timeline(weft, View(("default",)), "comets")


# --- casts, sessions, memories ---------------------------------------------------------------------------------


def test_the_cast_has_its_ties_by_place(weft: Weft) -> None:
    people = [Node(f"book:{name}", "character", title=name) for name in ("Ada", "Bo")]
    edges = [
        Edge("book:1", "book:Bo", "mentions"),
        Edge("book:Ada", "book:Bo", "friend", evidence="They met."),
        Edge("book:Ada", "book:1", "mentions"),
    ]
    weft.put([*people, Node("book:1", "chapter", title="One", text="Bo.", sequence=1)], edges)
    cast = read_cast(weft)
    names = [member.node.title for member in cast.members]
    friends = [tie for tie in cast.ties if tie.type == "friend"]
    assert [(names[tie.source], names[tie.target], tie.evidence) for tie in friends] == [
        ("Ada", "Bo", "They met.")
    ]


def test_a_session_is_told_prompt_by_prompt_with_reasons(weft: Weft) -> None:
    weft.put([Node("a:1", "note", title="Lunch", text="Lunch is served at noon in the yellow hall.")])
    for question in ("When is lunch?", "Where is lunch served?"):
        weft.context(question, session="agent", now=NOW)
    weft.context("What about the yellow hall?", keep=True, now=NOW)
    found = read_given(weft.recent(100), "agent")
    assert {line.name: line.pages for line in found.sessions} == {"": 1, "agent": 2}
    assert [page.asked for page in found.pages] == ["When is lunch?", "Where is lunch served?"]
    assert [entry.title for entry in found.pages[0].items] == ["Lunch"]
    assert found.pages[0].items[0].reason
    assert read_given(()).sessions == ()


def test_memories_have_a_status_with_its_reason(weft: Weft) -> None:
    context = weft.indexing_context()
    remember(context, "The build takes four minutes on the small machine.", now=NOW)
    remember(context, "Deploys happen on Tuesdays.", now=NOW)
    (older, _) = reversed(read_learned(weft).memories)
    assert older.status == "current"
    weft.put(
        [], [Edge(older.memory.key, read_learned(weft).memories[0].memory.key, "contradicts", evidence="times")]
    )
    assert {known.status for known in read_learned(weft).memories} == {"contradicted"}
    assert "times" in read_learned(weft).memories[0].why


# --- neighbourhoods --------------------------------------------------------------------------------------------


def test_a_neighbourhood_is_small_and_the_same_in_another_order_of_writing(tmp_path: Path) -> None:
    names = [f"n:{number}" for number in range(120)]
    nodes = [Node(name, "note", title=f"Note {name}") for name in names]
    # A hub of which every neighbour has neighbours of its own.
    edges = [Edge("n:0", name, "link", weight=1 / (number + 1)) for number, name in enumerate(names[1:60])]
    edges += [Edge(names[number], names[number + 59], "cites") for number in range(1, 60)]
    drawn = []
    for folder, order in (("one", 1), ("two", -1)):
        with Weft.open(tmp_path / folder, embedder=None) as weft:
            weft.put(nodes[::order], edges[::order])
            drawn.append(read_neighbourhood(weft, View(("default",)), "n:0"))
    assert drawn[0] == drawn[1]
    found = drawn[0]
    assert 20 < len(found.nodes) <= MOST_NODES
    assert found.nodes[0].key == "n:0"
    assert {node.ring for node in found.nodes} == {0, 1, 2}
    assert found.left_out > 0
    for node in found.nodes[1:]:
        assert found.nodes[node.parent].ring == node.ring - 1
    assert {link.type for link in found.links} == {"link", "cites"}


def test_a_neighbourhood_stays_in_its_tenants_and_names_what_is_not_there(weft: Weft) -> None:
    weft.put([Node("a:1", "note", title="One"), Node("a:2", "note", "shared", "Two")])
    weft.put([], [Edge("a:1", "a:2", "link", target_tenant="shared")])
    assert [node.key for node in read_neighbourhood(weft, View(("default",)), "a:1").nodes] == ["a:1"]
    assert len(read_neighbourhood(weft, View(("default", "shared")), "a:1").nodes) == 2
    with pytest.raises(UnknownName, match="a:9"):
        read_neighbourhood(weft, View(("default",)), "a:9")
