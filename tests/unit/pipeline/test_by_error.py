"""Which error something leads to, where it is raised, with what parameters, and where options are read."""

from collections.abc import Iterator

import pytest

from weft import Weft
from weft.model import Context, Detail
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import read_shapes

ERRORS = '''"""Errors of the harbour."""


class HarbourError(Exception):
    """Base of all errors of the harbour."""


class BerthTakenError(HarbourError):
    """The berth holds another ship."""


class ShipTooLong(HarbourError):
    """The ship is longer than the berth."""


class CraneError(HarbourError):
    """Trouble with a crane."""


class CraneOverloadError(CraneError):
    """The crane carries more than it may."""
'''

HARBOUR = '''"""Moor ships."""

from harbour.errors import BerthTakenError, CraneOverloadError, ShipTooLong


class Harbour:
    """A harbour of berths."""

    def __init__(self, berths, *, tide_margin=2.5):
        self._tide_margin = tide_margin
        self._ships = {}

    @property
    def tide_margin(self):
        return self._tide_margin

    def depth_at(self, berth, tide):
        """Return the water under a keel."""
        return berth.depth + tide - self._tide_margin

    def moor(
        self,
        ship,
        berth,
        *,
        patience=60.0,
        pilot=None,
    ):
        """Moor a ship."""
        first = berth.number
        second = ship.number
        third = first + second
        fourth = third + second
        if berth.number in self._ships:
            raise BerthTakenError(berth)
        if ship.length > berth.length:
            raise ShipTooLong(ship, berth)
        fifth = fourth + third
        sixth = fifth + fourth
        self._ships[berth.number] = ship, patience, pilot, sixth
        return self._ships

    def lift(self, crate):
        """Hoist a crate."""
        if crate > 9:
            raise CraneOverloadError(crate)
'''


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("worlds") / "work"
    (folder / "harbour").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "harbour" / "errors.py").write_text(ERRORS)
    (folder / "harbour" / "mooring.py").write_text(HARBOUR)
    (folder / "tests" / "test_mooring.py").write_text(
        "from harbour.errors import ShipTooLong\n\n\ndef test_ships():\n    assert ShipTooLong(1, 2)\n"
    )
    with Weft.open(folder.with_name("store")) as weft:
        weft.index(folder)
        yield weft


def shaped(context: Context, shape: Shape) -> list[str]:
    """The definitions that a shape wanted and the page prints."""
    kept = (entry for entry in context.ledger if entry.detail is not Detail.DROPPED)
    return [entry.key.rpartition("#")[2] for entry in kept if f"shape_{shape}" in entry.parts]


@pytest.mark.parametrize(
    "question",
    [
        "Which exception is raised when a ship is longer than the berth?",
        "what error do I get if the ship is too long for its berth",
        "Where is the length of a ship checked against the berth, and which exception results?",
    ],
)
def test_where_an_error_is_raised_is_shown_for_who_asks_which_it_is(harbour: Weft, question: str) -> None:
    context = harbour.context(question, max_tokens=600)
    found = shaped(context, Shape.ERRORS)
    assert {"Harbour.moor", "ShipTooLong"} <= set(found)
    assert "test_ships" not in found
    assert "raise ShipTooLong(ship, berth)" in context.text


def test_of_an_error_that_is_never_raised_itself_those_that_extend_it_are_followed(harbour: Weft) -> None:
    context = harbour.context("which error is raised when there is trouble with a crane?", max_tokens=600)
    assert "raise CraneOverloadError(crate)" in context.text


@pytest.mark.parametrize(
    "question",
    ["where is the error log?", "what is an exception to the rule", "fix this error", "is this an error"],
)
def test_other_questions_about_errors_have_no_such_shape(question: str) -> None:
    assert Shape.ERRORS not in read_shapes(question).asked


def test_a_signature_over_many_lines_is_whole_where_parameters_are_asked_for(harbour: Weft) -> None:
    context = harbour.context(
        "How does Harbour.moor() wait: which parameter, and what is its default?", max_tokens=300
    )
    assert "patience=60.0," in context.text


def test_an_option_is_used_where_the_attribute_is_read_that_keeps_it(harbour: Weft) -> None:
    found = shaped(harbour.context("where is the option tide_margin used?"), Shape.CALLERS)
    assert "Harbour.depth_at" in found
    assert "Harbour.__init__" not in found
