"""Tests that are asked for by words: with their siblings, and measurements of speed last."""

from collections.abc import Iterator

import pytest

from weft import Weft

TESTS = "".join(
    f"def test_{name}():\n    rope = tie('{name}')\n    assert rope.holds()\n\n\n"
    for name in ("knot_under_load", "knot_under_load_when_wet", "knot_under_load_twice", "knot_in_wire", "colour")
)
BENCHMARK = '''def test_knots_under_load_fast(benchmark):
    """Measure knots under load."""
    assert benchmark(lambda: tie("knot under load"))
'''


@pytest.fixture(scope="module")
def ropes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("worlds") / "ropes"
    (folder / "tests").mkdir(parents=True)
    (folder / "rope.py").write_text('def splice(ends):\n    """Splice two ends."""\n    return ends\n')
    (folder / "tests" / "test_rope.py").write_text(TESTS)
    (folder / "tests" / "test_benchmarks_rope.py").write_text(BENCHMARK)
    with Weft.open(folder.with_name("store")) as weft:
        weft.index(folder)
        yield weft


def wanted(ropes: Weft, question: str) -> list[str]:
    """The tests that are asked for, most wanted first."""
    entries = [entry for entry in ropes.context(question).ledger if "shape_tests" in entry.parts]
    entries.sort(key=lambda entry: -entry.parts["shape_tests"])
    return [entry.key.rpartition("#")[2] for entry in entries if "#" in entry.key]


def test_tests_whose_names_begin_alike_come_with_the_one_that_was_found(ropes: Weft) -> None:
    found = wanted(ropes, "which tests check that something holds under load?")
    assert set(found[:3]) == {
        "test_knot_under_load",
        "test_knot_under_load_when_wet",
        "test_knot_under_load_twice",
    }


def test_measurements_come_after_the_tests_unless_they_are_asked_for(ropes: Weft) -> None:
    found = wanted(ropes, "which tests cover knots under load?")
    assert found.index("test_knots_under_load_fast") > found.index("test_knot_under_load")
    asked = wanted(ropes, "which benchmark tests cover knots under load?")
    assert asked[0] == "test_knots_under_load_fast"


TITLED = "".join(
    f"  it('{title}', function (done) {{\n    request(app({number})).get('/').expect({number}, done)\n  }})\n\n"
    for number, title in enumerate(
        ("sends a file", "sends nothing for a folder", "keeps dotfiles to itself", "sends a dotfile on request", *(
            f"sends part {part} of a file" for part in range(20)
        ))
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("worlds") / "sender"
    (folder / "test").mkdir(parents=True)
    (folder / "sender.js").write_text("exports.app = function app(number) { return serve(number) }\n")
    (folder / "test" / "sender.test.js").write_text(
        f"var app = require('../sender').app\n\ndescribe('sender', function () {{\n{TITLED}}})\n"
    )
    with Weft.open(folder.with_name("store")) as weft:
        weft.index(folder)
        yield weft


def test_tests_with_titles_are_found_by_these_without_the_rest_of_their_suite(sender: Weft) -> None:
    found = wanted(sender, "Which tests are about dotfiles?")
    assert {"sender keeps dotfiles to itself", "sender sends a dotfile on request"} == set(found[:2])
    page = sender.context("Which tests are about dotfiles?", max_tokens=300).text
    assert "it('keeps dotfiles to itself'" in page


def test_of_many_tests_of_a_function_those_that_match_the_rest_of_the_question_come_first(sender: Weft) -> None:
    found = wanted(sender, "Which tests of app() are about dotfiles?")
    assert {"sender keeps dotfiles to itself", "sender sends a dotfile on request"} == set(found[:2])
