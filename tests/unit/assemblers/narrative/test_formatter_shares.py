"""Test that the budget of a page is divided among its entities evenly, or by 1 + importance."""

import asyncio
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from weft import Node, Weft
from weft.assemblers import SmartContextFormatter
from weft.tokens import counter_for

VAULT = UUID("6f1aaf71-4379-484e-8000-000000000003")
COUNT, _ = counter_for("cl100k_base")
CAST = {"Marta Quill": 0.0, "Jonas Feld": 1.0, "Ilse Varga": 0.0}
SLACK = 60
"""The tokens that one entity may get more than another of the same share: a sentence with its bullet."""


@dataclass(frozen=True)
class Entity:
    id: str
    name: str
    entity_type: str = "character"


def _paragraph(name: str, words: random.Random) -> str:
    """Five sentences, the first of which names somebody."""
    syllables = ["ba", "del", "fi", "gor", "kan", "lu", "mes", "nor", "pi", "rol", "sut", "tam"]
    sentences = [" ".join("".join(words.choices(syllables, k=2)) for _ in range(12)) for _ in range(5)]
    return f"{name} {sentences[0]}. " + " ".join(f"{sentence.capitalize()}." for sentence in sentences[1:])


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A book that tells of each of its people alone, in chapters of the same length."""
    words = random.Random(7)
    nodes = [
        Node(f"c:{name}", "character", str(VAULT), title=name, text=_paragraph(name, words), importance=importance)
        for name, importance in CAST.items()
    ]
    for number in range(12):
        name = list(CAST)[number % len(CAST)]
        text = "\n\n".join(_paragraph(name, words) for _ in range(6))
        nodes.append(Node(f"b:{number}", "chapter", str(VAULT), title=f"{number + 1}", text=text, sequence=number))
    with Weft.open(Path(tmp_path_factory.mktemp("shares")) / ".weft") as opened:
        opened.put(nodes)
        yield opened


def test_a_page_has_three_relationships_and_five_contexts_of_an_entity_however_many_there_are(
    tmp_path: Path,
) -> None:
    words = random.Random(3)
    paragraphs = [_paragraph(name, words) for name in 8 * ("Marta Quill", "Marta Quill met Jonas Feld where")]
    nodes = [
        *(Node(f"c:{name}", "character", str(VAULT), title=name, text=f"{name} lives.") for name in CAST),
        *(Node(f"b:{at}", "chapter", str(VAULT), title=f"{at}", text=text) for at, text in enumerate(paragraphs)),
    ]
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put(nodes)
        page = asyncio.run(
            SmartContextFormatter().format_context(
                "Marta Quill", VAULT, session=weft, entities=[Entity("c:Marta Quill", "Marta Quill")]
            )
        )
    _, relationships, context = re.split(r"\*\*(?:Relationships|Context):\*\*", page)
    assert (relationships.count("\n- "), context.count("\n- ")) == (3, 5)


def rooms(weft: Weft, *names: str, tokens: int, **given: object) -> dict[str, int]:
    """Return the tokens that the page spends on each entity."""
    page = asyncio.run(
        SmartContextFormatter().format_context(
            " and ".join(names), VAULT, session=weft, max_total_tokens=tokens, **given
        )  # type: ignore[arg-type]
    )
    entities = page.partition("## General Context")[0]
    return {part.partition(" (")[0]: COUNT.count(part) for part in re.split(r"(?m)^### ", entities)[1:]}


@pytest.mark.parametrize("tokens", [900, 1300, 2000, 2600])
def test_entities_get_the_same_room_on_pages_of_any_size(weft: Weft, tokens: int) -> None:
    shown = rooms(weft, "Marta Quill", "Ilse Varga", tokens=tokens, max_entities=2)
    assert list(shown) == ["Marta Quill", "Ilse Varga"]
    assert abs(shown["Marta Quill"] - shown["Ilse Varga"]) <= SLACK


@pytest.mark.parametrize("tokens", [600, 900, 1300])
def test_entities_without_documents_get_the_same_room_too(weft: Weft, tokens: int) -> None:
    given = [Entity("c:Marta Quill", "Marta Quill"), Entity("c:Ilse Varga", "Ilse Varga")]
    shown = rooms(weft, "Marta Quill", "Ilse Varga", tokens=tokens, entities=given, documents=[])
    assert abs(shown["Marta Quill"] - shown["Ilse Varga"]) <= SLACK


@pytest.mark.parametrize("tokens", [500, 700, 900])
@pytest.mark.parametrize("names", [("Marta Quill", "Jonas Feld"), ("Jonas Feld", "Marta Quill")])
def test_with_importance_scoring_the_shares_are_by_one_plus_importance(
    weft: Weft, tokens: int, names: tuple[str, str]
) -> None:
    given = [Entity(f"c:{name}", name) for name in names]
    shown = rooms(weft, *names, tokens=tokens, entities=given, importance_scoring=True)
    assert shown["Jonas Feld"] == pytest.approx(2 * shown["Marta Quill"], abs=2 * SLACK)
