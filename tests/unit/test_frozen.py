"""Records that are made quickly are the same records."""

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from weft.frozen import quickly_made


@dataclass(frozen=True, slots=True)
class Slow:
    """A record as dataclasses make it."""

    name: str
    weight: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    """The same record, made quickly."""

    name: str
    weight: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)


@pytest.mark.parametrize("given", [("a",), ("a", 2.0), ("a", 2.0, {"x": 1.0})])
def test_fields_are_set_by_position_and_by_name(given: tuple[object, ...]) -> None:
    names = dict(zip(("name", "weight", "parts"), given, strict=False))
    expected = Slow(*given)  # type: ignore[arg-type]
    for made in (Quick(*given), Quick(**names)):  # type: ignore[arg-type]
        assert (made.name, made.weight, made.parts) == (expected.name, expected.weight, expected.parts)


def test_every_record_has_a_default_of_its_own() -> None:
    assert Quick("a").parts is not Quick("b").parts


@pytest.mark.parametrize("given", [{}, {"name": "a", "colour": "red"}])
def test_missing_and_unknown_fields_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(TypeError):
        Quick(**given)  # type: ignore[arg-type]


def test_they_stay_frozen_and_can_be_compared_copied_changed_and_pickled() -> None:
    made = Quick("a", 2.0, {"x": 1.0})
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]
    assert made == Quick("a", 2.0, {"x": 1.0}) == copy.copy(made) == pickle.loads(pickle.dumps(made))
    assert replace(made, weight=3.0) == Quick("a", 3.0, {"x": 1.0})
    assert list(inspect.signature(Quick).parameters) == ["name", "weight", "parts"]
