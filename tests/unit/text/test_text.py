"""Text analysis: what a term, a name, a sentence and a passage is."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import text as package
from weft.model import Passage
from weft.text import (
    analyze,
    find_end_without_opening,
    fold,
    name_words,
    normalise_name,
    split_passages,
    split_sentences,
)
from weft.text.passages import _size
from weft.text.terms import MAX_TERM_CHARACTERS

ANYTHING = st.text(
    st.one_of(
        st.sampled_from("ab Z19\n\r\t'._-/,$#+=:;(){}!?。、`我市がカ한ก้éß\u0301\ud83d👍"),
        st.characters(codec=None),
    ),
    max_size=120,
)
PROSE_WORDS = [
    "The",
    "fox",
    "ran.",
    "Dr.",
    "Who",
    "said",
    "no!",
    "\n",
    "\n\n",
    "# Den\n",
    "- item\n",
    "上海。",
    "x = 1;\n",
]
PROSE = st.lists(st.sampled_from(PROSE_WORDS), max_size=120).map(" ".join)
FENCED = "```\n" + "a b c d e f g h\n\n" * 30 + "```"


def spoken(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def printed(text: str, passages: list[Passage]) -> list[str]:
    return [text[passage.start : passage.end] for passage in passages]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("max_tokens", ["max_tokens", "max", "token"]),
        ("HTTPServer2", ["httpserver2", "http", "server"]),
        ("getUsers", ["getus", "get", "user"]),
        ("dotted.path.names", ["dotted.path.names", "dot", "path", "name"]),
        ("kebab-case", ["kebab-case", "kebab", "case"]),
        ("self._private __init__", ["self._private", "self", "privat", "init"]),
        ("foo::bar", ["foo::bar", "foo", "bar"]),
        ("URLs IDs NASA", ["url", "id", "nasa"]),
        ("sha256 utf8", ["sha256", "sha", "256", "utf8", "utf"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("3.11", ["3.11"]),
        ("1.2.3-rc1", ["1.2.3-rc1", "rc"]),
        ("2024-05-01", ["2024-05-01", "2024"]),
        ("$100", ["$100", "100"]),
        ("1,000 and 1000", ["1000", "1000"]),
        ("€1,234.50", ["€1234.50", "1234.50"]),
        ("C++ C# c++11", ["c++", "c#", "c++", "11"]),
        ("U.S.A.", ["usa"]),
    ],
)
def test_numbers_versions_and_signs_are_kept(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Ned's dogs' running", ["ned", "dog", "run"]),
        ("Ned’s", ["ned"]),
        ("O'Brien", ["obrien", "brien"]),
        ("l'école", ["lecol", "ecol"]),
        ("Café CAFÉ cafe\u0301", ["cafe", "cafe", "cafe"]),
        ("ＡＢＣ straße Malmø", ["abc", "strass", "malmo"]),
        ("the dog", ["dog"]),
        ("don’t they're", ["don't", "they"]),
    ],
)
def test_spelling_endings_and_fillers_do_not_matter(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


def test_a_line_of_stop_words_only_is_kept_for_titles_and_famous_questions() -> None:
    assert analyze("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert analyze("The Who\nThe band is loud") == ["the", "who", "band", "loud"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("上海", "我住在上海市"),
        ("東京", "私は東京に住んでいます"),
        ("猫", "私の猫が好き"),
        ("カタカナ", "ｶﾀｶﾅで書く"),
        ("서울", "저는 서울에 살아요"),
        ("ไทย", "ภาษาไทยง่าย"),
        ("हिन्दी", "यह हिन्दी है"),
        ("москва", "Я люблю МОСКВА"),
        ("מחמד", "מֻחַמַּד"),
    ],
)
def test_every_script_is_found(query: str, text: str) -> None:
    assert set(analyze(query)) <= set(analyze(text))


def test_a_term_is_never_longer_than_the_limit_and_long_ones_stay_distinct() -> None:
    first, second = analyze("a" * 100 + "b"), analyze("a" * 100 + "c")
    assert first != second
    assert [len(term) for term in first + second] == [MAX_TERM_CHARACTERS, MAX_TERM_CHARACTERS]


@settings(max_examples=300)
@given(ANYTHING)
def test_any_text_has_clean_terms_that_are_always_the_same(text: str) -> None:
    terms = analyze(text)
    assert terms == analyze(text)
    assert all(0 < len(term) <= MAX_TERM_CHARACTERS and not any(map(str.isspace, term)) for term in terms)
    assert all(term.encode() for term in terms)


@given(
    st.lists(st.sampled_from(["fox", "Fox", "the", "max_tokens", "上海", "3.11", "Ned's", "don't"]), max_size=9)
)
def test_terms_of_lines_are_the_terms_of_each_line(lines: list[str]) -> None:
    assert analyze("\n".join(lines)) == [term for line in lines for term in analyze(line)]


@given(ANYTHING)
def test_folding_and_naming_twice_changes_nothing(text: str) -> None:
    assert normalise_name(normalise_name(text)) == normalise_name(text)
    assert fold(fold(text)) == fold(text)


def test_names_are_equal_when_only_their_dress_differs() -> None:
    assert normalise_name("  The Café–Noir ") == normalise_name("the CAFE noir") == "the cafe noir"
    assert normalise_name("O’Brien") == normalise_name("O'Brien") == "obrien"
    assert name_words("C++ vs. C#") == ["c++", "vs", "c#"]
    assert normalise_name("!!!") == "!!!"


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = 'Dr. Smith met J. K. Rowling at 3.15 p.m. in the U.S. He said "No!" Then it\nrained? Yes… 我来。你好！'
    assert spoken(text) == [
        'Dr. Smith met J. K. Rowling at 3.15 p.m. in the U.S. He said "No!"',
        "Then it\nrained?",
        "Yes…",
        "我来。",
        "你好！",
    ]


def test_a_line_of_code_or_of_a_list_is_one_unit() -> None:
    listed = "Intro goes on\nhere. End.\n- one. Two.\n- three\n"
    text = listed + "x = f(1). y\nif (a) {\n  go();\n}\n```\na. B\n\nc. D\n```\n"
    assert spoken(text) == [
        "Intro goes on\nhere.",
        "End.",
        "- one. Two.",
        "- three",
        "x = f(1). y",
        "if (a) {",
        "go();",
        "}",
        "```",
        "a. B",
        "c. D",
        "```",
    ]


@settings(max_examples=300)
@given(st.one_of(ANYTHING, PROSE))
def test_sentences_are_in_order_and_hold_all_that_is_not_blank(text: str) -> None:
    spans = split_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    assert "".join("".join(spoken(text)).split()) == "".join(text.split())


@settings(max_examples=300)
@given(st.one_of(ANYTHING, PROSE), st.integers(1, 12), st.integers(0, 12), st.booleans())
def test_passages_are_in_order_within_the_limit_and_hold_all_that_is_not_blank(
    text: str, target: int, more: int, markdown: bool
) -> None:
    passages = split_passages(text, target=target, limit=target + more, markdown=markdown)
    assert [passage.ordinal for passage in passages] == list(range(len(passages)))
    assert all(first.end <= second.start for first, second in itertools.pairwise(passages))
    assert "".join("".join(printed(text, passages)).split()) == "".join(text.split())
    for passage in passages:
        assert passage.first_line == text.count("\n", 0, passage.start) + 1
        assert passage.last_line == text.count("\n", 0, passage.end) + 1
        assert len(text[passage.start : passage.end].split()) <= target + more


@given(PROSE)
def test_a_text_under_the_limit_is_a_single_passage(text: str) -> None:
    passages = split_passages(text, limit=1000, markdown=True)
    assert len(passages) == (1 if text.strip() else 0)


def test_a_paragraph_that_fits_is_not_divided() -> None:
    paragraphs = [f"Paragraph {number} " + "goes on and on. " * 30 for number in range(9)]
    passages = split_passages("\n\n".join(paragraphs))
    assert len(passages) > 3
    text = printed("\n\n".join(paragraphs), passages)
    assert all(any(paragraph.strip() in passage for passage in text) for paragraph in paragraphs)


def test_a_long_paragraph_is_divided_between_sentences() -> None:
    text = "The fox ran over the hill to the old red barn. " * 100
    passages = split_passages(text)
    assert len(passages) > 4
    assert all(passage.endswith("barn.") for passage in printed(text, passages))


@pytest.mark.parametrize("text", ["x" * 50_000, "上海" * 3_000, "word " * 5_000, FENCED])
def test_what_has_no_sentences_is_divided_all_the_same(text: str) -> None:
    passages = split_passages(text, target=60, limit=100)
    assert len(passages) > 2
    assert all(_size(passage) <= 100 for passage in printed(text, passages))


def test_a_passage_knows_the_headings_above_it() -> None:
    body = "A line about weaving. " * 60
    text = f"# Loom\n\n{body}\n\n## Warp\n\n{body}\n\n### Knots {{ #knots }} ##\n\n{body}\n\n## Weft\n\n{body}"
    paths = list(dict.fromkeys(passage.heading_path for passage in split_passages(text, markdown=True)))
    assert paths == [("Loom",), ("Loom", "Warp"), ("Loom", "Warp", "Knots"), ("Loom", "Weft")]
    assert {passage.heading_path for passage in split_passages(text)} == {()}


def test_a_hash_inside_a_fence_is_no_heading() -> None:
    text = "# Real\n\n```\n# comment\n```\n" + "word " * 700
    assert {passage.heading_path for passage in split_passages(text, markdown=True)} == {("Real",)}


def test_importing_the_package_loads_no_stemmer() -> None:
    script = "import sys, weft.text; sys.exit(bool({'Stemmer', 'xxhash', 'numpy', 'regex'} & set(sys.modules)))"
    source = str(Path(package.__file__).parents[2])
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": source}, check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A sentence.\n\n## Paging\n", "A sentence."),
        ("A sentence.\n\n## Paging\n\n/// note | Warning\n", "A sentence."),
        ("A sentence:\n\n```python\n", "A sentence:"),
        ("```python\nrun()\n```\n", "```python\nrun()\n```"),
        ("## Paging\n", "## Paging"),
        ("", ""),
    ],
)
def test_lines_that_open_what_is_cut_off_do_not_end_a_span(text: str, left: str) -> None:
    assert text[: find_end_without_opening(text, 0, len(text))].rstrip() == left
