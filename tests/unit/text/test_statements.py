"""Lasting statements in what people write: their form, the words that are kept, and their scope."""

import pytest

from weft.text.addresses import read_address
from weft.text.statements import Form, find_statements, read_scope, read_statement


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
        ("I'm a nurse.", Form.PROFILE, "I'm a nurse."),
        ("Remember that I'm on Windows", Form.PROFILE, "Remember that I'm on Windows"),
        ("We use tabs here.", Form.INSTRUCTION, "We use tabs here."),
        ("Keep your answers short.", Form.INSTRUCTION, "Keep your answers short."),
        (
            "I want you to reply in short sentences in all future messages.",
            Form.INSTRUCTION,
            "I want you to reply in short sentences in all future messages.",
        ),
        ("Ich bevorzuge kleine Commits.", Form.PREFERENCE, "Ich bevorzuge kleine Commits."),
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
        "Indent this block with 4 spaces.",
        "Use this function instead of that one.",
        "Answer in the file below.",
        "Write a function that always returns 1.",
        "Don't change the file again.",
        '```python\n# always close the file\nmode = "never"\n```',
    ],
)
def test_what_is_asked_or_done_once_is_no_lasting_statement(text: str) -> None:
    assert find_statements(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs",
        "Indent with 4 spaces",
        "Ensure every function has a docstring",
        "Run make check before every commit",
        "Tests must not touch the network",
        "Fixtures go in tests/data",
        "No mocks in unit tests",
        "Metric units only",
        "British English, please",
        "Commit messages are in the imperative",
        "4 spaces, not tabs",
        "pytest instead of unittest",
        "pls never use mocks",
        "British spelling",
        "Max line length 100",
        "Be concise",
        "PRs are squashed",
        "Tests go next to the code",
        "Error messages end without a period",
        "Every PR needs two reviews",
        "When you change the schema, add a migration",
        "If tests fail, stop and ask",
        "Before committing run make lint",
        "You are not allowed to run migrations",
        "It is forbidden to use eval",
        "Times are in UTC",
        "All dates are ISO 8601",
        "Public functions need docstrings",
        "In tests, use fixtures instead of setUp",
        "Antworte immer auf Deutsch",
        "Nie Mocks verwenden",
        "Réponds toujours en français",
        "Responde siempre en español",
        "Никогда не пушить в main",
    ],
)
def test_an_order_that_was_to_be_remembered_lasts_though_it_does_not_say_so(text: str) -> None:
    statement = read_statement(text)
    assert statement is not None
    assert (statement.form, statement.scope) == (Form.INSTRUCTION, "")


@pytest.mark.parametrize(
    "text",
    [
        "Test suite takes 5 minutes",
        "The test needs a database",
        "Errors are common there",
        "I live with that bug for now",
        "Log files are in /var/log",
        "Build times have doubled",
        "Release 4.2 is out",
        "Import errors come from a missing extra",
        "Name of the lead: Ann",
        "Order 1234 was shipped",
        "No one knows why the build fails",
        "The deadline of Atlas is May 5",
        "The cause was a race, not a deadlock",
        "Anna lives over the hill",
        "retry helped with the flaky upload",
        "set up took two days",
        "parse() returns its input",
        "test",
        "load tests found a leak in the pool",
        "Das hat noch nie funktioniert",
        "Ce test est toujours rouge",
    ],
)
def test_a_fact_that_begins_with_a_noun_like_a_verb_is_no_order(text: str) -> None:
    assert read_statement(text) is None


@pytest.mark.parametrize("text", ["Indent with 4 spaces.", "Answer in German.", "No emojis in commit messages."])
def test_an_order_about_how_things_are_done_lasts_in_a_conversation_too(text: str) -> None:
    assert [(each.form, each.text) for each in find_statements(text)] == [(Form.INSTRUCTION, text)]


def test_a_folder_that_things_are_put_into_is_not_where_a_rule_holds() -> None:
    assert read_scope("Put fixtures in tests/data/") == ""
    assert read_scope("Tests go in tests/unit") == ""
    assert read_scope("Never use mocks in tests/unit") == "folder:tests/unit"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deadline of Atlas is May 5", "Atlas' deadline is now June 1"),
        ("my weekly target is 900 words", "My weekly target: 1,350 words"),
        ("Use 4 spaces, not tabs", "We use tabs instead of spaces"),
        ("4 spaces, not tabs", "Tabs rather than spaces"),
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
