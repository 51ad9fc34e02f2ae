"""Asking a real store: starts, filters, views, presets, parameters, and questions of every shape."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft import Candidate, Context, Edge, Filter, Node, Origin, Weft
from weft.errors import EmbedderError, EmbedderMismatch, InvalidInput, UnknownName
from weft.indexing.ingest import IndexingContext, ingest
from weft.model import Alias, Detail
from weft.tokens import counter_for
from worlds import NOW, MemorySource

COUNT, _ = counter_for("cl100k_base")


def day(number: int) -> datetime:
    """A day of January 2026."""
    return datetime(2026, 1, number, tzinfo=UTC)


NODES = (
    Node(
        "world:pump",
        "note",
        title="Bilge Pump",
        text="The bilge pump keeps the hold dry.",
        tags=("ship", "tool"),
        aliases=(Alias("the old sucker", "source:world@1"),),
        fields={"state": "worn", "spare": True},
        origin=Origin("world"),
        sequence=1,
        modified=day(1),
    ),
    Node(
        "world:valve",
        "part",
        title="Foot Valve",
        text="A leather flap.",
        tags=("ship",),
        origin=Origin("world"),
        sequence=2,
        modified=day(2),
    ),
    Node(
        "world:leather",
        "material",
        title="Ox Leather",
        text="Cut thick.",
        origin=Origin("world"),
        sequence=3,
        modified=day(3),
    ),
    Node(
        "world:secret",
        "note",
        title="Sealed Letter",
        text="The pump was sabotaged.",
        origin=Origin("world"),
        sequence=9,
        known_from=5,
    ),
    Node(
        "world:other",
        "note",
        tenant="other",
        title="Bilge Pump",
        text="Another tenant's pump.",
        origin=Origin("world"),
    ),
)
EDGES = (Edge("world:pump", "world:valve", "has", 0.9), Edge("world:valve", "world:leather", "made_of", 0.8))


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A small store without an embedder."""
    opened = Weft.open(tmp_path_factory.mktemp("library") / ".weft", embedder=None)
    ingest([MemorySource(NODES, EDGES)], IndexingContext(opened.store, opened.reader.index, None, COUNT))
    yield opened
    opened.close()


def keys(context: Context) -> set[str]:
    """The nodes that are printed."""
    return {entry.key for entry in context.ledger if entry.detail is not Detail.DROPPED}


@pytest.mark.parametrize("name", ["world:pump", "pump", "Bilge Pump", "bilge pump", "the old sucker"])
def test_a_start_is_found_by_key_title_or_alias(weft: Weft, name: str) -> None:
    context = weft.context(start=[name], now=NOW)
    assert keys(context) == {"world:pump", "world:valve", "world:leather"}


def test_a_start_is_found_by_id(weft: Weft) -> None:
    number = str(weft.show("world:pump")[0].id)
    assert "world:pump" in keys(weft.context(start=[number], now=NOW))


def test_an_unknown_start_is_noted_and_the_page_says_that_nothing_was_found(weft: Weft) -> None:
    context = weft.context(start=["no such thing"], now=NOW)
    assert "No node is named 'no such thing'." in context.notes
    assert "No matching nodes found." in context.text


def test_walked_nodes_carry_their_path_and_distance(weft: Weft) -> None:
    context = weft.context(start=["pump"], profile="notes", now=NOW)
    entry = next(each for each in context.ledger if each.key == "world:leather")
    assert entry.distance == 2
    assert [(step.edge_type, step.direction) for step in entry.path] == [("has", "out"), ("made_of", "out")]


def test_depth_bounds_the_walk_and_is_checked(weft: Weft) -> None:
    assert keys(weft.context(start=["pump"], depth=1, now=NOW)) == {"world:pump", "world:valve"}
    assert keys(weft.context(start=["pump"], depth=0, now=NOW)) == {"world:pump"}
    with pytest.raises(InvalidInput, match="Depth 9 is out of range"):
        weft.context(start=["pump"], depth=9, now=NOW)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(kinds=("part",)), {"world:valve"}),
        (Filter(tags=("ship", "tool")), {"world:pump"}),
        (Filter(sources=("elsewhere",)), set()),
        (Filter(where=(("state", "worn"),)), {"world:pump"}),
        (Filter(where=(("spare", "true"),)), {"world:pump"}),
        (Filter(where=(("absent", "None"),)), set()),
        (Filter(since=day(2)), {"world:valve", "world:leather"}),
        (Filter(until=day(2)), {"world:pump", "world:valve"}),
        (Filter(sequence_from=2, sequence_to=2), {"world:valve"}),
    ],
)
def test_filters_hold_for_what_is_found_walked_to_and_handed_in(
    weft: Weft, wanted: Filter, expected: set[str]
) -> None:
    question = "bilge pump foot valve ox leather"
    assert keys(weft.context(question, filter=wanted, now=NOW)) - {"world:secret"} == expected
    handed = [Candidate(replace(node, id=0), score=0.5) for node in NODES[:3]]
    assert keys(weft.context(question, candidates=handed, filter=wanted, now=NOW)) == expected
    walked = keys(weft.context(start=["pump"], filter=wanted, now=NOW))
    assert walked == expected | {"world:pump"}


def test_a_view_as_of_a_point_does_not_know_what_comes_later(weft: Weft) -> None:
    question = "who sabotaged the pump"
    assert "world:secret" in keys(weft.context(question, now=NOW))
    assert "world:secret" not in keys(weft.context(question, as_of=4, now=NOW))
    assert "world:secret" in keys(weft.context(question, as_of=5, now=NOW))


def test_tenants_see_their_own_and_no_tenant_sees_nothing(weft: Weft) -> None:
    assert keys(weft.context("pump", tenants=["other"], now=NOW)) == {"world:other"}
    assert keys(weft.context("pump", tenants=[], now=NOW)) == set()


@pytest.mark.parametrize("question", ["", " ", "?!", "\x00\x1b[31m\u202e", "pump " * 50_000, "\ud800", "上海"])
def test_any_question_gives_a_page_within_its_budget(weft: Weft, question: str) -> None:
    context = weft.context(question, max_tokens=300, now=NOW)
    assert 0 < context.tokens <= 300
    assert "\x1b" not in context.text


def test_a_missing_embedder_is_noted(weft: Weft) -> None:
    assert (
        "No embedder is in use: candidates come from words and links alone." in weft.context("pump", now=NOW).notes
    )


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_a_budget_that_takes_no_title_goes_to_the_names_that_fit(weft: Weft, format: str) -> None:
    asked = "Which of all the things on board keeps the hold dry when the pump is worn out once more? " * 2
    context = weft.context(asked, max_tokens=60 if format == "json" else 40, format=format, now=NOW)
    assert 0 < context.tokens <= 60
    assert "Bilge Pump" in context.text
    assert "Which of all" not in context.text
    assert any("takes no title" in note for note in context.notes)
    assert "world:pump" in keys(context)


def test_a_budget_below_the_smallest_page_gives_no_text_and_says_why(weft: Weft) -> None:
    context = weft.context("pump", max_tokens=1, now=NOW)
    assert (context.text, context.tokens) == ("", 0)
    assert any("too small for a page" in note for note in context.notes)
    assert all(entry.detail is Detail.DROPPED for entry in context.ledger)


def test_a_budget_below_the_smallest_page_of_subjects_prints_none_of_them(weft: Weft) -> None:
    subject = Candidate(Node("x:1", "entity", title="Somebody", text="Somebody."), score=1.0)
    context = weft.context("pump", profile="narrative", candidates=[subject], max_tokens=1, now=NOW)
    assert [(entry.key, entry.detail) for entry in context.ledger] == [("x:1", Detail.DROPPED)]


@pytest.mark.parametrize("budget", [0, -5])
def test_an_impossible_budget_is_refused(weft: Weft, budget: int) -> None:
    with pytest.raises(InvalidInput, match=f"A budget of {budget} tokens"):
        weft.context("pump", max_tokens=budget, now=NOW)


@pytest.mark.parametrize("profile", ["general", "knowledge", "notes", "narrative", "workspace", "learning"])
def test_no_limit_is_a_budget_too(weft: Weft, profile: str) -> None:
    assert weft.context("pump", profile=profile, max_tokens=None, now=NOW).max_tokens is None


def test_results_of_another_search_enter_without_ids_and_keep_their_order(weft: Weft) -> None:
    handed = [
        Candidate(
            Node(f"x:{number}", "hit", title=f"Hit {number}", text=f"Words of hit number {number} alone."),
            score=score,
        )
        for number, score in enumerate((0.2, 0.9, 0.5))
    ]
    context = weft.context("pump", candidates=handed, now=NOW)
    assert [entry.key for entry in context.ledger] == ["x:1", "x:2", "x:0"]


def test_a_count_that_is_handed_in_with_a_text_is_not_believed(weft: Weft) -> None:
    pump = weft.show("world:pump")[0]
    long = "Many words of a text that came from elsewhere. " * 40
    for node in (Node("x:1", "hit", title="Hit", text=long.strip()), replace(pump, text=long.strip())):
        context = weft.context(
            "pump", candidates=[Candidate(node, score=1.0, text_tokens=3)], max_tokens=100, now=NOW
        )
        assert context.tokens == counter_for("cl100k_base")[0].count(context.text) <= 100


def test_an_id_of_another_store_is_not_walked_from(weft: Weft) -> None:
    pump = weft.show("world:pump")[0]
    stranger = Candidate(Node("x:1", "hit", title="Hit", text="Not a pump.", id=pump.id), score=1.0)
    assert keys(weft.context("anything", candidates=[stranger], now=NOW)) == {"x:1"}
    ours = Candidate(pump, score=1.0)
    assert keys(weft.context("anything", candidates=[ours], now=NOW)) >= {"world:pump", "world:valve"}


def test_no_candidates_handed_in_is_not_the_same_as_searching(weft: Weft) -> None:
    assert keys(weft.context("pump", candidates=[], now=NOW)) == set()


def test_fields_are_left_out_when_asked(weft: Weft) -> None:
    assert "**State**: worn" in weft.context(start=["pump"], profile="notes", now=NOW).text
    assert "State" not in weft.context(start=["pump"], profile="notes", include_fields=False, now=NOW).text


def test_presets_change_the_budget_and_unknown_names_are_listed(weft: Weft) -> None:
    assert weft.context("pump", profile="narrative", preset="quick", now=NOW).max_tokens == 3000
    for wrong in ({"preset": "quik"}, {"lens": "wide"}, {"format": "pdf"}):
        with pytest.raises(InvalidInput):
            weft.context("pump", profile="narrative", now=NOW, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="Did you mean 'narrative'"):
        weft.context("pump", profile="narative", now=NOW)


def test_parameters_are_required_checked_and_known(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="'domain' is required"):
        weft.context(profile="premortem", now=NOW)
    with pytest.raises(UnknownName, match="debugging"):
        weft.context(profile="premortem", parameters={"domain": "debuging"}, now=NOW)
    with pytest.raises(UnknownName, match="parameter 'colour'"):
        weft.context("pump", parameters={"colour": "red"}, now=NOW)


def test_a_time_without_a_zone_is_refused(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="has no time zone"):
        weft.context("pump", now=datetime(2026, 1, 1))  # noqa: DTZ001


def test_searching_finds_without_walking_and_needs_a_limit(weft: Weft) -> None:
    assert weft.search("leather flap").candidates[0].node.key == "world:valve"
    with pytest.raises(InvalidInput, match="limit of 0"):
        weft.search("pump", limit=0)


def test_related_nodes_come_with_their_edges(weft: Weft) -> None:
    assert {(node.key, edge.type) for node, edge in weft.related("pump")} >= {("world:valve", "has")}


def test_a_named_start_is_never_dropped_as_a_repeat_of_something_else(tmp_path: Path) -> None:
    text = "The quarterly report lists every ship, its cargo, its pilot and the hour at which it crossed the bar."
    old, new = (
        Node("w:old", "note", title="Old", text=text),
        Node("w:new", "note", title="New", text=text, modified=NOW),
    )
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        source = MemorySource((old, new), (Edge("w:old", "w:new", "links"),), "w")
        ingest([source], IndexingContext(weft.store, weft.reader.index, None, COUNT))
        assert "w:old" in keys(weft.context(start=["w:old"], profile="notes", now=NOW))


def test_subjects_of_the_same_key_in_two_tenants_keep_their_own_parts(tmp_path: Path) -> None:
    nodes = tuple(
        Node(
            "w:hero",
            "character",
            tenant=tenant,
            title=f"Hero of {tenant}",
            text=text,
        )
        for tenant, text in (
            ("east", "Born in east, by the sea."),
            ("west", "Born in west, among mountains and snow."),
        )
    )
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        ingest([MemorySource(nodes, (), "w")], IndexingContext(weft.store, weft.reader.index, None, COUNT))
        text = weft.context("hero", profile="narrative", tenants=["east", "west"], now=NOW).text
    assert "Born in east" in text
    assert "Born in west" in text


def test_another_embedder_than_the_stores_asks_by_words_with_a_note_and_may_not_write(tmp_path: Path) -> None:
    class Small:
        name, dimensions = "small", 4

        def embed(self, texts: list[str]) -> object:
            import numpy as np

            return np.full((len(texts), 4), 0.5, dtype=np.float32)

    weft = Weft.open(tmp_path / ".weft")
    ingest([MemorySource(NODES[:1])], IndexingContext(weft.store, weft.reader.index, Small(), COUNT))  # type: ignore[arg-type]
    page = weft.context("pump", now=NOW)
    assert "pump" in page.text
    (note,) = [note for note in page.notes if "made by 'small'" in note]
    assert "weft reembed" in note
    with pytest.raises(EmbedderMismatch, match="weft reembed"):
        weft.put(Node(key="s:new", kind="note", title="new"))
    weft.close()


def test_asking_makes_derived_files_that_are_missing_and_the_page_stays_the_same(tmp_path: Path) -> None:
    folder = tmp_path / ".weft"
    (tmp_path / "pump.md").write_text("# Bilge Pump\n\nThe bilge pump keeps the hold dry.\n", encoding="utf-8")
    with Weft.open(folder) as opened:
        opened.index(tmp_path / "pump.md")
        before = opened.context("Is the pump dry?", now=NOW)
    shutil.rmtree(folder / "derived")
    with Weft.open(folder, read_only=True) as reading:
        scanned = reading.context("Is the pump dry?", now=NOW)
    assert not (folder / "derived").exists()
    with Weft.open(folder) as again:
        made = again.context("Is the pump dry?", now=NOW)
    assert (folder / "derived" / "vectors.json").is_file()
    assert before.text == scanned.text == made.text
    assert before.notes == scanned.notes == made.notes


class Silent:
    """An embedder that made the store's vectors, and whose service has gone away since."""

    def __init__(self, weft: Weft) -> None:
        with weft.store.snapshot_of_all_tenants() as snapshot:
            self.name, self.dimensions = snapshot.embedder() or ("", 0)

    def embed(self, texts: object) -> object:
        raise EmbedderError("The endpoint at example.org does not answer.")


def test_a_question_goes_on_by_words_where_the_embedder_does_not_answer(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.put(NODES)
        before = weft.context("bilge pump", now=NOW)
        weft.reader.embedder = Silent(weft)  # type: ignore[assignment]
        after = weft.context("bilge pump", now=NOW)
        found = weft.search("bilge pump")
    assert "The bilge pump keeps the hold dry." in after.text
    assert found.candidates[0].node.key == "world:pump"
    for notes in (after.notes, found.notes):
        assert [note for note in notes if "example.org does not answer" in note]
    assert not [note for note in after.notes if "No embedder is in use" in note]
    assert not [note for note in before.notes if "words" in note]


def test_a_string_where_several_names_are_expected_is_one_name(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put(Node(key="a:soc", kind="note", title="SOC Defender", text="Guards the gate.", tenant="ops"))
        page = weft.context(start="SOC Defender", tenants="ops")
        assert "Guards the gate." in page.text
        assert Filter(kinds="note") == Filter(kinds=("note",))
        assert weft.nodes(tenants="ops", filter=Filter(kinds="note"))[0].title == "SOC Defender"


def test_a_context_prints_as_its_text_and_shows_as_markdown_in_notebooks(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node(key="a:b", kind="note", title="Boots", text="Boots are dry.")])
        page, plain = weft.context("boots"), weft.context("boots", format="plain")
        assert str(page) == page.text == page._repr_markdown_()
        assert plain._repr_markdown_() == f"```plain\n{plain.text}\n```"
