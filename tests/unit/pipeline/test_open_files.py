"""Large pages of code show the signature of files that have no room for more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Detail

QUESTION = "how are parcels weighed and labelled before the ship leaves"
REASON = "only its signature, as the one piece of its file"
FILES = 9


def body(number: int) -> str:
    """Return lines that no other function has, so that none repeats another."""
    return "\n".join(f"    crate{number}x{line} = stamp(mark{number}y{line})" for line in range(30))


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """One file of many long functions that match, and others of one function that matches less."""
    folder = tmp_path_factory.mktemp("parcels")
    harbour = folder / "harbour"
    harbour.mkdir()
    harbour.joinpath("parcels.py").write_text(
        "\n\n".join(
            f'def weigh_parcel_{number}(parcel):\n    """Weigh and label parcels before a ship leaves."""\n'
            f"{body(number)}"
            for number in range(30)
        ),
        "utf-8",
    )
    for number in range(FILES):
        harbour.joinpath(f"clerk{number}.py").write_text(
            f'def book_{number}(parcel):\n    """Book a parcel that was weighed."""\n{body(100 + number)}\n',
            "utf-8",
        )
    with Weft.open(folder / ".weft") as opened:
        opened.index(str(harbour))
        yield opened


def shown_files(weft: Weft, budget: int) -> set[str]:
    return {str(source.origin.file) for source in weft.context(QUESTION, max_tokens=budget).sources}


@pytest.mark.parametrize("budget", [1_800, 4_000, 8_000])
def test_a_large_page_opens_files_it_has_no_room_for_and_keeps_its_budget(weft: Weft, budget: int) -> None:
    context = weft.context(QUESTION, max_tokens=budget)
    opened = [entry for entry in context.ledger if entry.reason == REASON]
    assert opened
    assert {entry.detail for entry in opened} == {Detail.EXCERPT}
    assert context.tokens <= budget
    for entry in opened:
        name = entry.key.rpartition("#")[2]
        assert context.text.count(f"### {name}\n") == 1
        assert f"def {name}(parcel" in context.text


def test_each_file_is_opened_once(weft: Weft) -> None:
    context = weft.context(QUESTION, max_tokens=8_000)
    opened = [entry.key.partition("#")[0] for entry in context.ledger if entry.reason == REASON]
    assert len(opened) == len(set(opened))
    assert not any("parcels.py" in file for file in opened)


def test_more_room_shows_more_files(weft: Weft) -> None:
    assert len(shown_files(weft, 1_000)) <= len(shown_files(weft, 1_800)) < len(shown_files(weft, 8_000))


def test_a_small_page_keeps_its_room_for_the_best_pieces(weft: Weft) -> None:
    assert not any(entry.reason == REASON for entry in weft.context(QUESTION, max_tokens=1_000).ledger)


def test_a_page_of_few_files_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    for number in range(4):
        text = f'def weigh_{number}(parcel):\n    """Weigh a parcel."""\n' + "    parcel.add(1)\n" * 400
        (tmp_path / "code" / f"m{number}.py").write_text(text, "utf-8")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path / "code"))
        assert not any(entry.reason == REASON for entry in weft.context("weigh parcels", max_tokens=2_000).ledger)
