"""The list of a function's callers is complete, and holds nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Context, Detail

MANY = 30

CRATES = '''"""Lift crates."""


class Crate:
    """A crate. Call `lift_crate(crate)` to lift it from outside."""

    def lift(self):
        """Lift it."""
        return 1

    def stack(self):
        return self.lift()


class HeavyCrate:
    def lift(self):
        return 2

    def stack(self):
        return self.lift()


def lift_crate(crate):
    """Lift a crate."""
    return crate


def show_crates(crates):
    """Show crates.

    For example::

        lift_crate(crates[0])
    """
    return crates


def lift_all(crates):
    return [lift_crate(crate) for crate in crates]


def lift_anything(things):
    return [thing.lift() for thing in things]


def keep_for_later():
    return lift_crate
'''


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A store of one file with namesakes, and of one with many callers."""
    folder = tmp_path_factory.mktemp("worlds") / "depot"
    (folder / "tests").mkdir(parents=True)
    (folder / "crates.py").write_text(CRATES)
    many = (
        f"def haul_{number}(cart):\n"
        + "".join(f"    cart = cart + {line}\n" for line in range(14))
        + "    return weigh_cart(cart)\n"
        for number in range(MANY)
    )
    (folder / "carts.py").write_text("def weigh_cart(cart):\n    return cart\n\n\n" + "\n\n".join(many))
    (folder / "tests" / "test_crates.py").write_text(
        "from crates import lift_crate\n\n\ndef test_lifting():\n    assert lift_crate(1)\n"
    )
    with Weft.open(folder.with_name("store"), embedder=None) as weft:
        weft.index(folder)
        yield weft


def printed(context: Context) -> list[str]:
    return [entry.key.partition("#")[2] for entry in context.ledger if entry.detail is not Detail.DROPPED]


def test_the_callers_of_a_namesake_are_left_out(depot: Weft) -> None:
    found = printed(depot.context("who calls HeavyCrate.lift?"))
    # What `thing.lift()` means is not known, so that the resolver takes it for a call of either.
    assert found == ["HeavyCrate.stack", "lift_anything", "HeavyCrate.lift"]


def test_a_call_beside_the_class_that_is_named_counts_although_others_have_the_method(tmp_path: Path) -> None:
    folder = tmp_path / "builders"
    folder.mkdir()
    for name in ("ShipBuilder", "CartBuilder"):
        (folder / f"{name}.py").write_text(
            f"class {name}:\n    def build(self):\n        return 1\n\n\n"
            f"def {name}_new():\n    return {name}().build()\n"
        )
    fill = "".join(f"    number = number + {line}\n" for line in range(14))
    (folder / "yard.py").write_text(
        f"def launch(carts, number):\n    carts.build()\n{fill}"
        "    ready = ShipBuilder().with_sails()\n    return ready.build()\n"
    )
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(folder)
        context = weft.context("who calls ShipBuilder.build?")
    assert "launch" in printed(context)
    assert "CartBuilder_new" not in printed(context)
    assert "return ready.build()" in context.text


def test_calls_in_tests_count_and_examples_in_documentation_do_not(depot: Weft) -> None:
    found = printed(depot.context("who calls lift_crate?"))
    assert set(found) == {"lift_all", "test_lifting", "lift_crate"}


def test_where_something_is_used_brings_more_than_calls(depot: Weft) -> None:
    assert "keep_for_later" in printed(depot.context("where is lift_crate used?"))


def test_many_callers_come_with_one_line_each_so_that_all_fit(depot: Weft) -> None:
    context = depot.context("who calls weigh_cart?", max_tokens=2000)
    assert set(printed(context)) == {"weigh_cart", *(f"haul_{number}" for number in range(MANY))}
    assert context.text.count("return weigh_cart(cart)") == MANY
    assert "cart = cart + 13" not in context.text


def test_beside_its_callers_a_definition_is_only_its_signature(depot: Weft) -> None:
    text = depot.context("who calls lift_crate?").text
    assert "def lift_crate(crate):" in text and "return crate\n" not in text
    assert "return crate\n" in depot.context("who calls lift_crate, and what does it return for a crate?").text
