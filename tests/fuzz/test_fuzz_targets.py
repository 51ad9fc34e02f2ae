"""A few inputs of every fuzzer with every run of the suite, and all that they ever found."""

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.targets import TARGETS, print_page, read_file, read_request, read_text
from security.hostile_files import book, office, word

FEW = settings(
    max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("name", TARGETS)
def test_a_fuzzer_finds_nothing_in_a_few_inputs(name: str) -> None:
    strategy, check = TARGETS[name]

    def try_input(value: object) -> None:
        check(value)

    FEW(given(strategy)(try_input))()


def spoilt(content: bytes, place: int) -> bytes:
    return content[:place] + b"\x00" + content[place + 1 :]


FOUND_IN_FILES = [
    (".md", b"---\na: " + b"[" * 60_000 + b"\n---\n"),
    (".md", b"".join(b"`" * length + b" " for length in range(1, 300))),
    (".yaml", b"a: " + b"[" * 50_000 + b"]" * 50_000),
    (".epub", spoilt(book(""), 52)),
    (".odt", spoilt(office(""), 120)),
    (".docx", spoilt(word(""), 80)),
]


@pytest.mark.parametrize(
    ("suffix", "content"), FOUND_IN_FILES, ids=["depth", "ticks", "closed", "book", "office", "word"]
)
def test_what_was_found_in_files_stays_mended(suffix: str, content: bytes) -> None:
    read_file(suffix, content)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "a" * 5_000, "[[" * 500, "\u202e# x"])
def test_odd_texts_are_read_and_printed(text: str) -> None:
    read_text(text)
    read_request(text)
    print_page(text.encode("utf-8", "replace").decode())
