"""Several topics on one page: each has its quota, and what belongs to both is printed once."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest

from tana_world import doc, workspace, write_export
from weft import Weft
from weft.errors import InvalidInput
from weft.interfaces.ask import find_targets, parse_shares
from weft.model import Context, Topic, View
from worlds import prose

NOW = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("topics")
    docs = workspace()
    for index in range(40):
        docs += _filler("apple", index) + _filler("harbour", index)
    with Weft.open(folder / "store") as opened:
        opened.index(write_export(folder / "export.json", docs), source="t")
        yield opened


def _filler(subject: str, place: int) -> list[dict[str, object]]:
    said = f"Of the {subject}: {prose(Random(f'{subject}{place}'), 40)}"
    return [doc(f"{subject}{place}", said)]


def blended(weft: Weft, left: float, right: float, budget: int = 2000) -> Context:
    topics = (Topic("apple", share=left), Topic("harbour", share=right))
    return weft.context(topics=topics, profile="notes", max_tokens=budget, now=NOW)


def spent(context: Context, topic: int) -> int:
    return sum(entry.tokens for entry in context.ledger if entry.section == f"notes:{topic}")


@pytest.mark.parametrize(("left", "right"), [(60, 40), (80, 20), (1, 1)])
def test_each_topic_spends_about_its_share(weft: Weft, left: float, right: float) -> None:
    context = blended(weft, left, right)
    share = spent(context, 1) / (spent(context, 1) + spent(context, 2))
    assert share == pytest.approx(left / (left + right), abs=0.08)
    assert context.tokens <= 2000


def test_each_topic_has_its_heading_and_the_title_names_both(weft: Weft) -> None:
    text = blended(weft, 60, 40).text
    assert text.startswith("# Context: apple + harbour")
    assert text.index("## apple") < text.index("## harbour")


def test_a_node_of_both_topics_is_printed_once(weft: Weft) -> None:
    topics = (Topic(start=("t:orchard",)), Topic(start=("t:review",)))
    context = weft.context(topics=topics, profile="notes", now=NOW)
    keys = [source.key for source in context.sources]
    assert len(keys) == len(set(keys))
    sections = {entry.key: entry.section for entry in context.ledger}
    assert sections["t:orchard"] == "notes:1"
    assert sections["t:review"] == "notes:2"
    assert sections["t:agenda"] == "notes:2"


def test_the_share_of_a_topic_without_material_goes_to_the_other(weft: Weft) -> None:
    topics = (Topic("apple", share=10), Topic(start=("nobody-at-all",), share=90))
    context = weft.context(topics=topics, profile="notes", max_tokens=1500, now=NOW)
    assert context.tokens > 1300
    assert "Nothing matches 'nobody-at-all'." in context.notes


def test_profiles_with_several_sections_can_be_blended(weft: Weft) -> None:
    topics = (Topic("apple"), Topic("harbour"))
    for profile in ("general", "workspace", "knowledge"):
        context = weft.context(topics=topics, profile=profile, max_tokens=1500, now=NOW)
        assert context.text
        assert context.tokens <= 1500


def test_topics_beside_a_question_and_empty_topics_are_refused(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="stand alone"):
        weft.context("why", topics=[Topic("apple")], profile="notes")
    with pytest.raises(InvalidInput, match="empty"):
        weft.context(topics=[Topic("apple"), Topic(" ")], profile="notes")
    with pytest.raises(InvalidInput, match="share of 0"):
        weft.context(topics=[Topic("apple", share=0)], profile="notes")


def test_a_blend_makes_every_word_a_topic(weft: Weft) -> None:
    aimed = find_targets(weft, ["Orchard telemetry", "cold air near the ground"], View(), "notes", "60/40")
    assert aimed.topics == (Topic("", ("Orchard telemetry",), 60.0), Topic("cold air near the ground", (), 40.0))


@pytest.mark.parametrize("blend", ["60", "60/40/10", "a/b", "60/0", "60/-1", "", "/"])
def test_a_blend_that_does_not_fit_the_topics_is_refused(blend: str) -> None:
    with pytest.raises(InvalidInput, match="60/40"):
        parse_shares(blend, 2)


def test_shares_are_read_with_percent_signs_and_as_equal() -> None:
    assert parse_shares("60%/40%", 2) == (60.0, 40.0)
    assert parse_shares("equal", 3) == (1.0, 1.0, 1.0)


def test_an_id_that_is_also_a_word_starts_there_and_searches_too(weft: Weft) -> None:
    aimed = find_targets(weft, ["frost"], View(), "notes")
    assert (aimed.question, aimed.start) == ("frost", ("frost",))
    assert "also a word" in aimed.notes[0]
    context = weft.context(aimed.question, start=aimed.start, profile="notes", now=NOW)
    assert context.sources[0].key == "t:frost"
    assert "t:goal" in [source.key for source in context.sources]


def test_an_id_that_is_no_word_only_starts_there(weft: Weft) -> None:
    aimed = find_targets(weft, ["apple7"], View(), "notes")
    assert (aimed.question, aimed.start, aimed.notes) == ("", ("apple7",), ())
