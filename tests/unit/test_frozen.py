"""Records that are made quickly are the same records."""

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, field, fields, replace
from dataclasses import dataclass as standard

import pytest

from weft.frozen import dataclass


@standard(frozen=True, slots=True)
class Slow:
    """A record as dataclasses make it."""

    name: str
    weight: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)


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


def test_what_they_take_can_be_asked_before_and_after_the_first_one_is_made() -> None:
    @dataclass(frozen=True, slots=True)
    class New:
        name: str
        weight: float = 1.0

    for _ in range(2):
        assert str(inspect.signature(New)) == "(name, weight=1.0)"
        New("a")


def test_fields_may_be_called_like_anything() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        self: str
        kind: str
        cls: str = ""

    for _ in range(2):
        made = Named(kind="a", self="b", cls="c")
        assert (made.self, made.kind, made.cls) == ("b", "a", "c")


def test_a_record_may_be_made_of_another_and_say_what_its_fields_are() -> None:
    @dataclass(frozen=True, slots=True)
    class Child(Quick):
        age: int = 0

        def __post_init__(self) -> None:
            assert self.age >= 0

    made = Child("a", age=3)
    assert (made.name, made.weight, made.age) == ("a", 1.0, 3)
    assert copy.copy(made) == made
    with pytest.raises(FrozenInstanceError):
        made.age = 4  # type: ignore[misc]
    with pytest.raises(AssertionError):
        Child("a", age=-1)


def test_a_class_of_ones_own_may_be_made_of_a_record() -> None:
    class Own(Quick):
        def told(self) -> str:
            return f"{self.name} {self.weight}"

    made = Own("a", parts={"x": 1.0})
    assert (made.told(), made.parts) == ("a 1.0", {"x": 1.0})
    assert copy.copy(made).told() == made.told()
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]


def test_they_read_and_hash_as_others_do() -> None:
    quick, slow = Quick("a", 2.0, {"x": 1.0}), Slow("a", 2.0, {"x": 1.0})
    assert repr(quick) == repr(slow).replace("Slow", "Quick")
    assert quick != slow
    assert Quick("a") != Quick("b")
    assert [each.name for each in fields(quick)] == [each.name for each in fields(slow)]
    assert Quick.__match_args__ == Slow.__match_args__
    with pytest.raises(TypeError, match="unhashable"):
        hash(quick)


def test_equal_records_are_one_key_and_fields_left_out_of_comparing_do_not_count() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str
        note: str = field(default="", compare=False, repr=False)

    assert {Named("a", "x"), Named("a", "y"), Named("b")} == {Named("a"), Named("b")}
    assert repr(Named("a", "x")).endswith("Named(name='a')")


def test_what_a_class_says_itself_is_kept() -> None:
    @dataclass(frozen=True, slots=True)
    class Folded:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Folded) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return self.name.lower()

    assert {Folded("A"), Folded("a")} == {Folded("a")}
    assert repr(Folded("A")) == "a"


def test_records_that_are_not_frozen_can_be_changed_and_are_no_keys() -> None:
    @dataclass(slots=True)
    class Open:
        count: int = 0

        def __post_init__(self) -> None:
            self.count += 1

    made = Open()
    made.count += 1
    assert made == Open(1)
    with pytest.raises(AttributeError):
        made.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_a_record_may_have_no_fields() -> None:
    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert (repr(Nothing()).endswith("Nothing()"), len({Nothing(), Nothing()})) == (True, 1)


def test_a_record_may_add_to_another() -> None:
    @dataclass(frozen=True, slots=True)
    class More(Quick):
        also: int = 7

    made = More("a", also=8)
    assert (made.name, made.weight, made.also) == ("a", 1.0, 8)
    assert made != Quick("a")
    with pytest.raises(FrozenInstanceError):
        del made.name
