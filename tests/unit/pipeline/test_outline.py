"""Outlines on a page: classes and files by their members, long functions by signature and the asked block."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Context

PROSE = "\n    ".join(f"Paragraph {number} tells how books are kept on a ferry.\n" for number in range(12))
METHODS = "\n".join(
    f'    def enter_{number}(self, parcel):\n        """Write down parcel {number}."""\n        return {number}\n'
    for number in range(60)
)
STEPS = "\n".join(f"    ballast_{number} = parcels[{number}] * {number}" for number in range(80))
BOOKS = f'''"""Books of a ferry."""


class Ledger:
    """Keep the books.

    {PROSE}
    """

{METHODS}

def settle_account(parcels, tariff):
    """Settle the account of a customer."""
{STEPS}

    # The toll of the lighthouse is waived on the feast of the harbour master.
    if tariff.is_feast:
        return waive_lighthouse_toll(tariff)
    return 0
'''


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("books")
    (folder / "code").mkdir()
    (folder / "code" / "books.py").write_text(BOOKS)
    (folder / "code" / "tolls.py").write_text("def waive_lighthouse_toll(tariff):\n    return tariff.zero\n")
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "code")
        yield opened


def item(context: Context, title: str) -> str:
    """The text of one item of a page, from its heading to the next."""
    return context.text.partition(f"### {title}\n")[2].partition("\n### ")[0]


def test_a_class_that_is_asked_for_is_its_head_and_a_line_a_method(weft: Weft) -> None:
    shown = item(weft.context("what is Ledger?", max_tokens=1000), "Ledger")
    assert 'class Ledger:\n    """Keep the books.' in shown
    assert "] def enter_" in shown


@pytest.mark.parametrize("budget", [500, 1000, 2000])
def test_an_outline_leaves_room_for_others(weft: Weft, budget: int) -> None:
    context = weft.context("what is Ledger?", max_tokens=budget)
    lines = [line for line in item(context, "Ledger").splitlines() if line.startswith("[… ")]
    assert lines
    assert len(lines) * 20 < budget / 2


def test_every_line_of_an_outline_is_that_of_the_file(weft: Weft) -> None:
    numbered = [
        line.partition(":] ")
        for line in item(weft.context("what is Ledger?", max_tokens=1000), "Ledger").splitlines()
        if line.startswith("[… ")
    ]
    stored = BOOKS.split("\n")
    assert numbered
    assert all(stored[int(mark.removeprefix("[… ")) - 1].strip().startswith(code) for mark, _, code in numbered)


def test_a_file_that_is_named_is_its_outline(weft: Weft) -> None:
    context = weft.context("what does books.py do?", max_tokens=600)
    assert "] class Ledger\n" in item(context, "books.py")
    assert "] def settle_account(parcels, tariff)" in item(context, "books.py")
    (entry,) = [entry for entry in context.ledger if entry.key == "code:books.py"]
    assert entry.parts["shape_file"]


def test_an_excerpt_of_a_long_function_begins_with_its_signature(weft: Weft) -> None:
    shown = item(
        weft.context("when is the toll of the lighthouse waived by the harbour master", max_tokens=300),
        "settle_account",
    )
    assert "def settle_account(parcels, tariff):" in shown
    assert "# The toll of the lighthouse is waived" in shown
    assert "ballast_40" not in shown


def test_no_line_of_code_is_cut_at_its_beginning(weft: Weft) -> None:
    context = weft.context("when is the toll of the lighthouse waived by the harbour master", max_tokens=300)
    printed = context.text.split("\n")
    quoted = [
        line
        for entry in context.manifest
        if entry.verbatim and entry.key == "code:books.py#settle_account"
        for line in printed[entry.first_line - 1 : entry.last_line]
    ]
    assert quoted and set(quoted) <= set(BOOKS.split("\n"))


OVERLOADS = """from typing import overload


@overload
def hoist(sail: int) -> int: ...
@overload
def hoist(sail: str) -> str: ...
def hoist(sail):
    # The mainsail goes up before the jib, whatever the wind says.
    rigging = find_rigging(sail)
    return rigging.haul()
"""


def test_overloads_are_one_item_with_their_signatures(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sails.py").write_text(OVERLOADS)
    with Weft.open(tmp_path / "store") as opened:
        opened.index(tmp_path / "code")
        context = opened.context("where is hoist() defined?", max_tokens=500)
    assert context.text.count("### hoist\n") == 1
    assert "[… 5:] def hoist(sail: int) -> int" in context.text
    assert "[… 7:] def hoist(sail: str) -> str" in context.text
    assert "# The mainsail goes up before the jib" in context.text
    reasons = [entry.reason for entry in context.ledger if entry.title == "hoist"]
    assert reasons.count("an overload of what is shown under the same name") == 2


def test_a_class_with_long_signatures_comes_with_as_many_members_as_a_small_page_takes(tmp_path: Path) -> None:
    words = ("captain", "rope", "load", "bank")
    given = ", ".join(f"the_{word}_of_the_ferry: str | None = None" for word in words)
    method = "    def cross_{}(self, " + given + ") -> int:\n        return {}\n\n"
    methods = "".join(method.format(number, number) for number in range(6))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ferry.py").write_text(f'class FerryBoat:\n    """Carries parcels."""\n\n{methods}')
    with Weft.open(tmp_path / "store") as weft:
        weft.index(tmp_path / "work")
        page = weft.context("where is FerryBoat defined?", max_tokens=300)
    assert page.text.startswith("# Context: where is FerryBoat defined?\n\n### FerryBoat\n")
    assert 0 < page.text.count("def cross_") < 6
