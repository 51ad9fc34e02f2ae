"""Where a parameter is declared, what default it has, where its value goes, and the fields of a small class."""

from collections.abc import Iterator

import pytest

from weft import Weft
from weft.model import Context, Detail
from weft.pipeline.excerpt import find_declaration
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import read_shapes

BAKERY = '''"""Bake bread."""

from bakery.errors import TrayTooHeavyError


def final(cls):
    return cls


@final
class Oven:
    """An oven."""

    def __init__(
        self,
        shelves,
        *,
        max_tray_weight: float = 12.5,
        glow: "bool | Callable[[Tray], None]" = False,
        PADDING
    ):
        self._max_tray_weight = max_tray_weight
        self._glow = glow

    @property
    def glow(self):
        return self._glow

    def put(self, tray):
        """Put a tray in."""
        if tray.weight > self._max_tray_weight:
            raise TrayTooHeavyError(tray)
        return tray

    def heat(self, tray):
        """Heat a tray."""
        if callable(self._glow):
            self._glow(tray)
        return tray.bread


def open_bakery(door, *, patience=60.0, lamp=None):
    """Open the bakery."""
    return Shift(door, patience=patience, lamp=lamp)


class Shift:
    """A working day."""

    def __init__(self, door, *, patience=60.0, lamp=None):
        self._patience = patience
        self._lamp = lamp

    def close(self):
        """Close the door."""
        self.door.wait_for_guests(self._patience)


class OvenSettings:
    heat: int = 220
    steam: bool = True
    minutes: float = 35.0

    # heat_of_the_stone: a heat that no oven settings can have yet
    # heat_of_the_air: another heat of the oven settings
    # heat_of_the_tray: the heat of the settings of a tray

    def double(self):
        return self.heat * 2
'''
ERRORS = '''class TrayTooHeavyError(Exception):
    """The weight of the tray is above the maximum."""
'''


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("worlds") / "work" / "bakery"
    folder.mkdir(parents=True)
    # A signature of many parameters is stored only in part.
    padding = "\n        ".join(f"spare_part_number_{number}: int | None = None," for number in range(30))
    (folder / "oven.py").write_text(BAKERY.replace("PADDING", padding))
    (folder / "errors.py").write_text(ERRORS)
    with Weft.open(folder.parent.with_name("store")) as weft:
        weft.index(folder.parent)
        yield weft


def shaped(context: Context, shape: Shape) -> list[str]:
    """The definitions that a shape wanted and the page prints."""
    kept = (entry for entry in context.ledger if entry.detail is not Detail.DROPPED)
    return [entry.key.rpartition("#")[2] for entry in kept if f"shape_{shape}" in entry.parts]


def test_what_may_be_passed_is_told_by_the_constructor_and_by_what_reads_it(bakery: Weft) -> None:
    page = bakery.context("What may be passed as `glow` to `Oven`, and where is it read?", max_tokens=500)
    assert 'glow: "bool | Callable[[Tray], None]" = False,' in page.text
    assert "if callable(self._glow):" in page.text
    # Of the class itself nothing is shown but that it is one.
    assert '"""An oven."""' not in page.text


def test_a_parameter_is_followed_to_where_its_value_goes(bakery: Weft) -> None:
    page = bakery.context(
        "How long is the patience of open_bakery: which parameter, and what waits?", max_tokens=500
    )
    assert "patience=60.0" in page.text
    assert "self.door.wait_for_guests(self._patience)" in page.text
    assert "Shift.close" in shaped(page, Shape.PARAMETER)


def test_of_a_long_signature_only_the_parameter_that_is_asked_about_is_shown(bakery: Weft) -> None:
    page = bakery.context(
        "which parameter of Oven.__init__ sets the glow, and what is its default?", max_tokens=300
    )
    assert 'glow: "bool | Callable[[Tray], None]" = False,' in page.text
    assert "spare_part_number_3" not in page.text


def test_the_default_of_a_limit_stands_in_the_signature_that_sets_it(bakery: Weft) -> None:
    question = "where is the maximum weight of a tray enforced, what is the default and which error results?"
    page = bakery.context(question, max_tokens=500)
    assert "raise TrayTooHeavyError(tray)" in page.text
    assert "max_tray_weight: float = 12.5," in page.text


def test_a_question_about_something_unnamed_does_not_list_the_users_of_what_it_names() -> None:
    asked = read_shapes("What may be passed as glow_of to OvenSettings, and where is a callable invoked?").asked
    assert Shape.PARAMETER in asked
    assert Shape.CALLERS not in asked


def test_a_declaration_goes_on_to_its_last_bracket_and_begins_with_its_decorators() -> None:
    text = "@final\n@cached\ndef bake(\n    bread,\n    oven=Oven(1),\n):\n    return bread\n"
    start, end = find_declaration(text, "def bake( bread, ov")
    assert text[start:end] == "@final\n@cached\ndef bake(\n    bread,\n    oven=Oven(1),\n):"


def test_a_small_class_is_shown_by_its_fields_before_its_remarks(bakery: Weft) -> None:
    page = bakery.context("which fields do the oven settings have, and what is the heat?", max_tokens=300)
    for field in ("heat: int = 220", "steam: bool = True", "minutes: float = 35.0"):
        assert field in page.text
