"""The formatter of the narrative design: its four documented tests, its degradation, its cache and its log."""

import asyncio
import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from weft import Node, Weft
from weft.assemblers import (
    EntityContextBuilder,
    ImportancePriority,
    NarrativePriority,
    RelevancePriority,
    SmartContextFormatter,
    UsageBasedPriority,
)
from weft.assemblers.narrative.formatter import TimedCache
from weft.errors import UnknownName
from weft.model import Alias
from weft.tokens import counter_for

VAULT = UUID("6f1aaf71-4379-484e-8000-000000000001")
OTHER = UUID("6f1aaf71-4379-484e-8000-000000000002")
COUNT, _ = counter_for("cl100k_base")
PROSE = "The harbour was quiet and the lamps stood doubled in the water. " * 40


class Kind(Enum):
    CHARACTER = "character"
    LOCATION = "location"


@dataclass(frozen=True)
class Entity:
    id: str
    name: str
    entity_type: Kind = Kind.CHARACTER
    description: str | None = None


@dataclass(frozen=True)
class Document:
    title: str
    content: str
    doc_type: str = "chunk"
    sequence: int | None = None


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(Path(tmp_path_factory.mktemp("narrative")) / ".weft") as opened:
        opened.put(_story(str(VAULT)))
        opened.put([replace(_story(str(OTHER))[0], text="Odo Farrant is a cat in another vault.")])
        yield opened


def _story(tenant: str) -> list[Node]:
    return [
        Node(
            "s:odo",
            "character",
            tenant,
            title="Odo Farrant",
            aliases=(Alias("Odo"),),
            text="Odo Farrant was tide clerk for nineteen years.",
        ),
        Node("s:tamsin", "character", tenant, title="Tamsin Roke", text="Tamsin Roke writes down what she sees."),
        Node("s:bare", "character", tenant, title="Bare Name"),
        *(
            Node(f"s:ch{number}", "chapter", tenant, title=f"Chapter {number}", text=text, sequence=number)
            for number, text in enumerate(
                (
                    "Odo Farrant met Tamsin Roke on the harbour steps and gave her a key.",
                    "Odo Farrant sat alone and played the flute until the tide turned.",
                    "Tamsin Roke copied the true hours by the light of one lamp.",
                ),
                start=1,
            )
        ),
    ]


def _prose(seed: int) -> str:
    words = ("tide", "lamp", "rope", "salt", "bar", "table", "clerk", "flute", "boat", "key", "ink")
    return " ".join(f"{words[(seed * 7 + at * at + seed * at) % 11]}{seed}" for at in range(120)) + "."


ODO, TAMSIN = Entity("s:odo", "Odo Farrant"), Entity("s:tamsin", "Tamsin Roke")


def formatted(weft: Weft, query: str = "Who is Odo Farrant?", **given: object) -> str:
    return asyncio.run(SmartContextFormatter().format_context(query, VAULT, session=weft, **given))  # type: ignore[arg-type]


# --- the document's own tests ------------------------------------------------------------------------------


def test_format_context_with_entities(weft: Weft) -> None:
    page = formatted(weft, entities=[ODO], documents=[Document("Tides", PROSE)])
    assert page.startswith(
        "# Context for Query: Who is Odo Farrant?\n\n## Key Entities\n\n### Odo Farrant (CHARACTER)"
    )
    assert "**Definition:**\nOdo Farrant was tide clerk for nineteen years." in page
    assert re.search(r"\*\*Relationships:\*\*\n- \([^)]+\) Odo Farrant met Tamsin Roke", page)
    assert re.search(r"\*\*Context:\*\*\n- \([^)]+\) Odo Farrant sat alone", page)
    assert "## General Context\n\n**[chunk] Tides**\nThe harbour was quiet" in page


def test_format_context_without_entities(weft: Weft) -> None:
    page = formatted(weft, documents=[Document("Tides", PROSE)])
    assert "## Key Entities" not in page
    assert "**[chunk] Tides**" in page


@pytest.mark.parametrize("budget", [60, 300, 900, 2000])
def test_format_context_respects_token_budget(weft: Weft, budget: int) -> None:
    documents = [Document(f"Part {number}", _prose(number)) for number in range(20)]
    page = formatted(weft, entities=[ODO, TAMSIN], documents=documents, max_total_tokens=budget)
    assert COUNT.count(page) <= budget
    if budget >= 900:
        assert COUNT.count(page) >= 0.9 * budget


def test_hierarchical_structure(weft: Weft) -> None:
    page = formatted(weft, entities=[ODO], documents=[Document("Tides", PROSE)])
    headings = [line for line in page.splitlines() if line.startswith(("#", "**"))]
    assert headings == [
        "# Context for Query: Who is Odo Farrant?",
        "## Key Entities",
        "### Odo Farrant (CHARACTER)",
        "**Definition:**",
        "**Relationships:**",
        "**Context:**",
        "## General Context",
        "**[chunk] Tides**",
    ]


# --- entities ------------------------------------------------------------------------------------------------


def test_entities_keep_the_callers_order_and_stop_at_max_entities(weft: Weft) -> None:
    page = formatted(weft, entities=[TAMSIN, ODO], max_entities=5)
    assert page.index("### Tamsin Roke") < page.index("### Odo Farrant")
    assert "### Odo Farrant" not in formatted(weft, entities=[TAMSIN, ODO], max_entities=1)


def test_the_pictures_of_an_entity_stand_above_its_definition(tmp_path: Path) -> None:
    images = [{"ref": "maps/quay one.png", "alt": "The quay"}, "https://example.org/a.png"]
    quay = Node("s:quay", "location", str(VAULT), title="Quay", text="A wall.", fields={"images": images})
    shown = (
        "### Quay (LOCATION)\n![The quay](maps/quay%20one.png)\n![a.png](https://example.org/a.png)\n\n"
        "**Definition:**\nA wall."
    )
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.put([quay])
        assert shown in formatted(weft, "What is the Quay?", entities=[Entity("s:quay", "Quay")])
        assert shown in formatted(weft, "What is the Quay?")


@pytest.mark.parametrize("given", [{}, {"entities": [ODO, TAMSIN]}])
def test_who_matters_more_gets_more_where_importance_is_asked_for(tmp_path: Path, given: dict[str, Any]) -> None:
    people = [
        Node("s:odo", "character", str(VAULT), title="Odo Farrant", text="A clerk.", fields={"importance": 1.0}),
        Node("s:tamsin", "character", str(VAULT), title="Tamsin Roke", text="Hers.", fields={"importance": 0.0}),
    ]
    scenes = [
        Node(f"s:{name}{at}", "chapter", str(VAULT), title=f"{name} {at}", text=f"{name} said {_prose(at)}")
        for name in ("Odo Farrant", "Tamsin Roke", "What they do, the tide")
        for at in range(12)
    ]

    def tokens_of_both(page: str) -> tuple[int, int]:
        first, second = page.partition("## General")[0].split("### Tamsin Roke")
        return COUNT.count(first), COUNT.count(second)

    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.put([*(replace(each, importance=float(str(each.fields["importance"]))) for each in people), *scenes])
        question = "What do Odo Farrant and Tamsin Roke do?"
        odo, tamsin = tokens_of_both(formatted(weft, question, max_total_tokens=900, **given))
        more, less = tokens_of_both(
            formatted(weft, question, max_total_tokens=900, importance_scoring=True, **given)
        )
        assert more / less > 1.3 * odo / tamsin


def test_everybody_is_told_of_though_their_notes_are_of_one_template(tmp_path: Path) -> None:
    template = "## Appearance\n\nTo be written.\n\n## History\n\nTo be written."
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.put([Node(name, "character", str(VAULT), title=name, text=template) for name in ("Odo", "Eva")])
        page = formatted(weft, "How do Odo and Eva know each other?")
    assert "### Odo (CHARACTER)" in page and "### Eva (CHARACTER)" in page


def test_given_neither_entities_nor_documents_both_are_found(weft: Weft) -> None:
    page = formatted(weft, "What did Odo play?")
    assert "### Odo Farrant (CHARACTER)" in page
    assert "played the flute" in page


def test_an_empty_list_is_none_of_them(weft: Weft) -> None:
    assert formatted(weft, entities=[], documents=[]) == ""


def test_a_vault_sees_nothing_of_another(weft: Weft) -> None:
    assert "cat" not in formatted(weft)
    other = asyncio.run(SmartContextFormatter(weft).format_context("Who is Odo?", OTHER))
    assert "cat in another vault" in other
    assert "nineteen years" not in other


def test_nothing_after_max_sequence_is_told(weft: Weft) -> None:
    documents = [
        Document("Early", "A lamp.", sequence=1),
        Document("Late", "A fire.", sequence=3),
        Document("?", "x"),
    ]
    page = formatted(weft, entities=[ODO], documents=documents, max_sequence=1)
    assert "Early" in page
    assert "flute" not in page
    assert "Late" not in page
    assert "**[chunk] ?**" not in page
    assert "flute" in formatted(weft, entities=[ODO], max_sequence=1, temporal_mode="none")


def test_a_preset_gives_way_to_explicit_numbers(weft: Weft) -> None:
    documents = [Document(f"Part {number}", _prose(number)) for number in range(40)]
    quick = formatted(weft, documents=documents, preset="quick")
    assert 2700 <= COUNT.count(quick) <= 3000
    assert COUNT.count(formatted(weft, documents=documents, preset="quick", max_total_tokens=500)) <= 500


# --- degradation -----------------------------------------------------------------------------------------------


def test_an_entity_that_cannot_be_built_falls_back_to_its_description(weft: Weft) -> None:
    ghost = Entity("nobody", "Mrs. Nobody", description="A lady of no fixed address.")
    page = formatted(weft, entities=[ghost, ODO])
    assert "### Mrs. Nobody (CHARACTER)\n\n**Definition:**\nA lady of no fixed address.\n" in page
    assert "[more: entity" not in page
    assert "### Odo Farrant (CHARACTER)" in page


def test_an_entity_without_context_or_description_is_skipped(weft: Weft) -> None:
    page = formatted(weft, entities=[Entity("nobody", "Nobody"), Entity("s:bare", "Bare Name"), ODO])
    assert "Nobody" not in page
    assert "### Bare Name" not in page
    assert "### Odo Farrant" in page


def test_a_failing_builder_leaves_descriptions_and_documents(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("the database is on fire")

    monkeypatch.setattr(EntityContextBuilder, "build_context", fails)
    documents = [Document("Tides", PROSE)]
    page = formatted(weft, entities=[dataclasses.replace(ODO, description="A clerk.")], documents=documents)
    assert "**Definition:**\nA clerk." in page
    assert "### " not in formatted(weft, entities=[ODO], documents=documents)
    assert formatted(weft, entities=[ODO]) == ""


def test_it_never_raises_whatever_it_is_given(weft: Weft) -> None:
    strange = [None, 3, {"name": "Odo Farrant"}, "Odo Farrant", object(), {"content": "Salt."}]
    assert "### Odo Farrant" in formatted(weft, entities=strange, documents=strange)
    assert formatted(weft, entities=[ODO], max_total_tokens=-5) == ""
    assert asyncio.run(SmartContextFormatter(weft).format_context("Odo " * 9_000, VAULT)) != ""


# --- the log ----------------------------------------------------------------------------------------------------


def test_every_step_is_logged_at_its_level(weft: Weft) -> None:
    with capture_logs() as logs:
        formatted(weft, entities=[ODO, Entity("nobody", "Nobody")])
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("smart_context_formatting_started", "info"),
        ("entity_context_build_failed", "warning"),
        ("entity_context_built", "debug"),
        ("smart_context_formatting_complete", "info"),
    ]
    assert "nobody" in logs[1]["error"]


def test_an_empty_context_is_logged(weft: Weft) -> None:
    with capture_logs() as logs:
        formatted(weft, entities=[])
    assert "smart_context_empty" in [entry["event"] for entry in logs]


# --- the cache --------------------------------------------------------------------------------------------------


def test_a_page_is_kept_for_five_minutes_and_until_a_chapter_changes(tmp_path: Path) -> None:
    moments = [0.0]
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.put(_story(str(VAULT)))
        formatter = SmartContextFormatter(weft, cache=TimedCache(clock=lambda: moments[0]))

        def hits() -> int:
            with capture_logs() as logs:
                asyncio.run(formatter.format_context("Who is Odo?", VAULT))
            return sum(entry["event"] == "smart_context_cached" for entry in logs)

        assert hits() == 0
        moments[0] = 299.0
        assert hits() == 1
        moments[0] = 300.0
        assert hits() == 0
        weft.put([replace(_story(str(VAULT))[3], text="Odo Farrant left at dawn.")])
        assert hits() == 0
        assert "left at dawn" in asyncio.run(formatter.format_context("Who is Odo?", VAULT))


def test_a_kept_page_is_given_to_nobody_who_asks_for_another(tmp_path: Path) -> None:
    with (
        Weft.open(tmp_path / "one", embedder=None) as weft,
        Weft.open(tmp_path / "two", embedder=None) as second,
    ):
        weft.put(_story(str(VAULT)))
        weft.put([replace(_story(str(OTHER))[0], text="Odo Farrant is a cat.")])
        second.put([*_story(str(VAULT))[1:], replace(_story(str(VAULT))[0], text="Odo Farrant is a ship.")])
        second.put([replace(_story(str(OTHER))[0], text="Odo Farrant is a dog.")])
        asked: list[dict[str, Any]] = [
            {},
            {"max_sequence": 1},
            {"max_sequence": 2},
            {"max_sequence": 2, "temporal_mode": "none"},
            {"vault_id": OTHER},
            {"session": second},
            {"max_total_tokens": 60},
            {"preset": "quick"},
            {"entities": [ODO]},
            {"entities": [dataclasses.replace(ODO, id="nobody", name="Nobody", description="A clerk.")]},
            *({"documents": [Node("d:1", "chunk", text=text)]} for text in ("Salt.", "Ink.")),
        ]
        fresh = [_page(SmartContextFormatter(weft, cache=TimedCache(0)), **each) for each in asked]
        keeping = SmartContextFormatter(weft)
        for _ in range(2):
            assert [_page(keeping, **each) for each in asked] == fresh


def _page(formatter: SmartContextFormatter, **given: Any) -> str:
    return asyncio.run(formatter.format_context(**{"query": "Who is Odo?", "vault_id": VAULT, **given}))


def test_the_oldest_pages_go_when_there_are_too_many() -> None:
    cache = TimedCache()
    for number in range(300):
        cache.put(number, "state", str(number))
    assert cache.get(0, "state") is None
    assert cache.get(299, "state") == "299"
    assert cache.get(299, "another state") is None


# --- the builder ------------------------------------------------------------------------------------------------


def built(weft: Weft, **given: object) -> list[str]:
    builder = EntityContextBuilder(session=weft, **given)  # type: ignore[arg-type]
    return [f"{each.part}: {each.content}" for each in asyncio.run(builder.build_context("s:odo", VAULT)).chunks]


def test_the_builder_tells_definition_relationships_and_context_apart(weft: Weft) -> None:
    assert built(weft) == [
        "definition: Odo Farrant was tide clerk for nineteen years.",
        "relationships: Odo Farrant met Tamsin Roke on the harbour steps and gave her a key.",
        "context: Odo Farrant sat alone and played the flute until the tide turned.",
    ]


def test_the_builder_stays_within_its_budget(weft: Weft) -> None:
    builder = EntityContextBuilder(max_tokens=40, session=weft)
    context = asyncio.run(builder.build_context("Odo", VAULT))
    assert 0 < context.total_tokens <= 40


def test_the_builder_names_an_entity_that_does_not_exist(weft: Weft) -> None:
    with pytest.raises(UnknownName, match=r"nobody.*looked for in the vault"):
        asyncio.run(EntityContextBuilder(session=weft).build_context("nobody", VAULT))


@pytest.mark.parametrize("strategy", [UsageBasedPriority(), RelevancePriority(), NarrativePriority()])
def test_strategies_can_be_swapped(weft: Weft, strategy: UsageBasedPriority) -> None:
    assert len(built(weft, priority_strategy=strategy, query="flute")) == 3


@pytest.fixture(scope="module")
def chunked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A vault of short chunks: twenty that name Odo beside another, nine that name him alone."""
    tenant = str(VAULT)
    with Weft.open(Path(tmp_path_factory.mktemp("chunked")) / ".weft", embedder=None) as opened:
        opened.put(
            [
                *_story(tenant)[:3],
                *(
                    Node(f"c:m{at}", "chunk", tenant, text=f"Odo met Tamsin Roke. Odo {at} smiled.")
                    for at in range(20)
                ),
                *(Node(f"c:s{at}", "chunk", tenant, text=f"Odo rowed out {at} times, alone.") for at in range(9)),
            ]
        )
        yield opened


@pytest.mark.parametrize("strategy", [UsageBasedPriority(), RelevancePriority(), ImportancePriority()])
def test_chunks_are_sorted_as_documented_whatever_the_strategy(
    chunked: Weft, strategy: UsageBasedPriority
) -> None:
    chunks = built(chunked, priority_strategy=strategy)
    tied = [each for each in chunks if each.startswith("relationships: ")]
    alone = [each for each in chunks if each.startswith("context: ")]
    assert len(tied) == 3 and all("Tamsin Roke" in each for each in tied)
    assert len(alone) == 5 and not any("Tamsin Roke" in each or "smiled" in each for each in alone)


def test_the_pages_of_the_formatter_sort_chunks_as_the_builder_does(chunked: Weft) -> None:
    for given in ({}, {"entities": [ODO]}):
        page = formatted(chunked, max_entities=1, **given)
        ties, _, context = page.partition("**Relationships:**")[2].partition("**Context:**")
        assert ties.count("\n- ") == 3 and ties.count("Tamsin Roke") == 3
        listed = context.partition("\n#")[0]
        assert listed.count("\n- ") == 5 and "Tamsin Roke" not in listed
