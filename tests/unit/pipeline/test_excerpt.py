"""Excerpts are verbatim, around what was asked, and within their tokens."""

from hypothesis import given
from hypothesis import strategies as st

from weft.pipeline.excerpt import Span, choose_excerpt, find_declaration, include_indent, measure_text
from weft.scoring.bm25 import term_hash
from weft.text import analyze
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
FILLER = "The gulls were loud that day and nobody minded them at all. "
ASKED = "The beacon on the northern mole was lit by Isaura herself. "


def weights(question: str) -> dict[int, float]:
    """Every word of the question weighs the same."""
    return {term_hash(term): 1.0 for term in analyze(question)}


def cut(
    text: str, question: str, room: int, focus: tuple[Span, ...] = (), head: Span = (0, 0)
) -> tuple[Span, ...]:
    """The spans of the excerpt."""
    return choose_excerpt(measure_text(text, focus, weights(question), COUNT, head), room, COUNT)


def shown(text: str, question: str, room: int) -> list[str]:
    """The excerpt's pieces."""
    return [text[start:end] for start, end in cut(text, question, room)]


def test_the_sentence_that_speaks_of_what_was_asked_is_shown() -> None:
    pieces = shown(FILLER * 20 + ASKED + FILLER * 20, "who lit the beacon", 60)
    assert any(ASKED.strip() in piece for piece in pieces)


def test_a_sentence_too_long_to_be_shown_begins_instead_of_its_short_neighbours() -> None:
    long = "The beacon was lit " + "and lit again " * 80 + "by her. "
    pieces = shown(f"It rained on us. {long}Nobody came to the harbour after that.", "beacon lit", 40)
    assert len(pieces) == 1
    assert pieces[0].startswith("The beacon was lit")


def test_short_sentences_do_not_stand_alone_between_gaps() -> None:
    text = (FILLER * 3 + "Aye. ") * 8 + ASKED + (FILLER * 3 + "Aye. ") * 8
    assert all(len(piece) > len("Aye.") for piece in shown(text, "beacon", 200))


def test_a_short_line_that_was_asked_for_is_shown_with_those_around_it() -> None:
    text = "\n".join(["x = 1"] * 60 + ["light_beacon()"] + ["x = 1"] * 60)
    pieces = shown(text, "light beacon", 60)
    assert any("light_beacon()" in piece and piece.count("x = 1") > 1 for piece in pieces)
    assert COUNT.count("\n".join(pieces)) > 40


def test_a_long_text_is_read_around_its_matching_passages() -> None:
    text = FILLER * 1000 + ASKED + FILLER * 1000
    start = text.index(ASKED)
    (span, *_) = cut(text, "beacon", 40, ((start, start + len(ASKED)),))
    assert span[0] <= start < span[1]


def test_what_is_read_of_long_code_begins_and_ends_with_whole_lines() -> None:
    lines = [f"    value_{n} = step_{n}(value_{n - 1})" for n in range(1, 3000)]
    text = "\n".join(lines)
    start = text.index("step_1500")
    spans = cut(text, "step_1500", 1500, ((start, start + 400),))
    assert spans
    for first, last in spans:
        assert set(text[first:last].strip().split("\n")) <= {line.strip() for line in lines} | set(lines)


def test_nothing_is_shown_where_nothing_fits() -> None:
    assert cut(FILLER, "", 3) == ()
    assert cut("", "", 100) == ()


@given(
    sentences=st.lists(
        st.sampled_from([FILLER, ASKED, "Aye. ", "- a list\n", "\n\n", "上海的灯。", "x" * 300 + " "])
    ),
    room=st.integers(1, 300),
)
def test_spans_are_in_order_within_the_text_and_within_their_tokens(sentences: list[str], room: int) -> None:
    text = "".join(sentences)
    spans = cut(text, "beacon", room)
    flat = [place for span in spans for place in span]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert sum(COUNT.count(text[start:end]) for start, end in spans) <= room


def test_a_long_function_keeps_its_declaration_and_shows_the_lines_that_were_asked_for() -> None:
    body = "\n".join(f"    value_{n} = step_{n}(value_{n - 1})" for n in range(1, 3000))
    text = f"def run(\n    seed: int,\n) -> int:\n{body}\n    raise QuotaExceeded(seed)\n{body}"
    head = find_declaration(text, "def run(seed: int,) -> int")
    spans = cut(text, "quota", 120, head=head)
    shown = [text[start:end] for start, end in spans]
    assert shown[0].startswith("def run(\n    seed: int,\n) -> int:")
    assert "QuotaExceeded" in "".join(shown)
    assert COUNT.count("".join(shown)) <= 120


def test_a_declaration_ends_where_the_signature_does_or_with_the_first_line() -> None:
    text = "\nasync def take(\n    self,\n) -> None:\n    pass"
    assert (
        text[slice(*find_declaration(text, "async def take(self,) -> None"))]
        == "async def take(\n    self,\n) -> None:"
    )
    assert text[slice(*find_declaration(text, "def other()"))] == "async def take("


def test_code_is_quoted_with_its_indentation() -> None:
    assert include_indent("if a:\n    b()", 10) == 6
    assert include_indent("if a: b()", 6) == 6
