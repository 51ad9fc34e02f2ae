"""Snippets: all of a text, in whole sentences and lines, none of them too short to stand alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text import is_blank, split_snippets
from weft.text.sentences import split_blocks, split_sentences

SENTENCE = "The harbour lamp burns whale oil and the keeper counts every barrel of it twice."


def snippets(text: str) -> list[str]:
    return [text[start:end] for start, end in split_snippets(text, 0, len(text))]


def test_sentences_are_never_cut() -> None:
    text = " ".join([SENTENCE] * 12)
    assert all(snippet.startswith("The") and snippet.endswith(".") for snippet in snippets(text))


@pytest.mark.parametrize(
    "line",
    [
        "from the barn. It stood",
        "return to the house by night; and nobody saw it, not even",
        "The keeper had forgotten the oil;",
        "public is concerned. To the",
        "function that the keeper's wife had named (as always)",
    ],
)
def test_a_line_of_prose_that_begins_or_ends_like_code_runs_on(line: str) -> None:
    text = f"He took it\n{line}\nand more of it"
    assert line not in [text[low:high] for block in split_blocks(text) for low, high in block.units]


@pytest.mark.parametrize(
    "line",
    [
        "from weft.model import Node",
        "import os.path",
        "return self.keeper",
        "let a = [1, 2, 3];",
        "public static void main(String[] args) {",
        'throw new Error("the oil of the keeper");',
        "A -> B [color=red];",
    ],
)
def test_a_line_of_code_stands_alone(line: str) -> None:
    text = f"x\n{line}\ny"
    assert line in [text[low:high] for block in split_blocks(text) for low, high in block.units]


def test_a_full_paragraph_ends_a_snippet() -> None:
    paragraph = " ".join([SENTENCE] * 3)
    assert snippets(f"{paragraph}\n\n{paragraph}") == [paragraph, paragraph]


def test_a_heading_stands_with_the_text_below_it() -> None:
    found = snippets(f"{SENTENCE} {SENTENCE}\n\n## Oil\n\n{SENTENCE} {SENTENCE}")
    assert found[1].startswith("## Oil\n\nThe harbour")


def test_the_last_words_join_the_snippet_before_them() -> None:
    assert snippets(f"{SENTENCE} {SENTENCE}\n\nSo be it.") == [f"{SENTENCE} {SENTENCE}\n\nSo be it."]


@pytest.mark.parametrize(
    "lead_in",
    ["The keeper does as follows:", "## Oil", "```sh", "/// warning", "!!! note", "::: tip", ".. code-block:: sh"],
)
def test_a_lead_in_stands_with_what_it_leads_to(lead_in: str) -> None:
    first, second = snippets(f"{SENTENCE} {SENTENCE}\n\n{lead_in}\n{SENTENCE} {SENTENCE}")
    assert first == f"{SENTENCE} {SENTENCE}"
    assert second.startswith(lead_in)


@pytest.mark.parametrize("closing", ["```", "///", ":::"])
def test_no_snippet_begins_with_the_end_of_a_fence_or_a_box(closing: str) -> None:
    text = f"{closing} note\n\n{SENTENCE} {SENTENCE} {SENTENCE}\n\n{closing}\n\n{SENTENCE} {SENTENCE}"
    assert not any(snippet.startswith(f"{closing}\n\n") for snippet in snippets(text))


def test_lines_that_all_lead_on_are_still_parted() -> None:
    text = "\n".join(f"- level {number} of the endless outline:" for number in range(400))
    assert max(len(snippet.split()) for snippet in snippets(text)) < 100


def test_code_keeps_its_indentation() -> None:
    body = "\n".join(f"    value_{number} = compute(value_{number - 1}, factor)" for number in range(1, 40))
    assert all(snippet.startswith("    value_") for snippet in snippets(f"def f():\n{body}")[1:])


@given(st.text(alphabet="ab .\n#`-?é世", max_size=600), st.integers(0, 20))
def test_together_they_hold_all_that_is_not_blank(text: str, start: int) -> None:
    spans = split_snippets(text, min(start, len(text)), len(text))
    position = min(start, len(text))
    for low, high in spans:
        assert low < high
        assert is_blank(text, position, low)
        position = high
    assert is_blank(text, position, len(text))


def test_a_sentence_runs_on_below_an_item_of_a_list_and_in_a_quotation() -> None:
    text = (
        "* Turn the key until it\n  clicks. Then wait.\n* Push. Do not pull.\n"
        "> If you do not want the link, set it\n> to an empty string. Else\n> leave it.\n>\n"
        "> - a quoted item\n>   goes on\n"
        "x = 1\nThe end.\n"
    )
    assert [text[start:end] for start, end in split_sentences(text)] == [
        "* Turn the key until it\n  clicks.",
        "Then wait.",
        "* Push. Do not pull.",
        "> If you do not want the link, set it\n> to an empty string.",
        "Else\n> leave it.",
        ">",
        "> - a quoted item\n>   goes on",
        "x = 1",
        "The end.",
    ]
