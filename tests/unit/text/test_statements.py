"""Lasting statements in what people write: their form, the words that are kept, and their scope."""

import pytest

from weft.text.addresses import read_address
from weft.text.statements import Form, find_statements, read_statement


@pytest.mark.parametrize(
    ("text", "form", "kept"),
    [
        ("Always answer in metric units.", Form.INSTRUCTION, "Always answer in metric units."),
        ("From now on, reply in German.", Form.INSTRUCTION, "From now on, reply in German."),
        ("Please never touch the generated files", Form.INSTRUCTION, "Please never touch the generated files"),
        ("You should always run the linter first.", Form.INSTRUCTION, "You should always run the linter first."),
        (
            "I want the pages small, so I prefer plain CSS, can you help me with the header?",
            Form.PREFERENCE,
            "I want the pages small, so I prefer plain CSS",
        ),
        ("I'd rather work at night.", Form.PREFERENCE, "I'd rather work at night."),
        ("I'm Ada, a bridge engineer, and I need a plan.", Form.PROFILE, "I'm Ada, a bridge engineer"),
        ("I live in Porto and like to cook.", Form.PROFILE, "I live in Porto and like to cook."),
        ("My coverage has recently improved to 81%.", Form.UPDATE, "My coverage has recently improved to 81%."),
        ("I'm moving the demo to May 3 at noon.", Form.UPDATE, "I'm moving the demo to May 3 at noon."),
    ],
)
def test_a_lasting_statement_is_found_without_what_it_goes_on_to_ask(text: str, form: Form, kept: str) -> None:
    (statement,) = find_statements(text)
    assert (statement.form, statement.text) == (form, kept)


@pytest.mark.parametrize(
    "text",
    [
        "Should I prefer tabs?",
        "How do I always get a list back?",
        "I've never used Rust before.",
        "I'm a bit worried about the deadline.",
        "Never mind.",
        "Let's go with this approach.",
        "Fix the bug in the parser and run the tests.",
        '```python\n# always close the file\nmode = "never"\n```',
    ],
)
def test_what_is_asked_or_done_once_is_no_lasting_statement(text: str) -> None:
    assert find_statements(text) == []


def test_an_order_that_was_to_be_remembered_lasts_though_it_does_not_say_so() -> None:
    statement = read_statement("Use tabs")
    assert statement is not None
    assert statement.form is Form.INSTRUCTION
    assert find_statements("Use tabs") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deadline of Atlas is May 5", "Atlas' deadline is now June 1"),
        ("my weekly target is 900 words", "My weekly target: 1,350 words"),
        ("Use 4 spaces, not tabs", "We use tabs instead of spaces"),
    ],
)
def test_two_wordings_about_one_thing_have_one_address(one: str, other: str) -> None:
    first, second = read_address(one), read_address(other)
    assert first is not None
    assert second is not None
    assert first.key == second.key
    assert not first.gives_same_value(second)


@pytest.mark.parametrize(
    "text", ["Tests are slow", "It is broken", "Is the port 8080?", "use spaces", "", "The build is red"]
)
def test_a_statement_of_another_form_has_no_address(text: str) -> None:
    assert read_address(text) is None
