"""How the words on a command line become values."""

import os
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import InvalidInput
from weft.interfaces.request import clean, make_filter, read_budget, read_parameters, read_tenants, read_time
from weft.model import UNSET, Filter


@given(st.binary(max_size=200))
def test_any_bytes_become_printable_valid_text(raw: bytes) -> None:
    words = clean(os.fsdecode(raw))
    words.encode("utf-8")
    assert all(
        character in "\n\t" or not (ord(character) < 32 or 127 <= ord(character) < 160) for character in words
    )


def test_ordinary_words_stay_as_they_are() -> None:
    assert clean("why? 上海 naïve 🌊") == "why? 上海 naïve 🌊"


@pytest.mark.parametrize(
    ("given_words", "budget"), [(None, UNSET), ("none", None), (" None ", None), ("4000", 4000)]
)
def test_a_budget_is_a_number_none_or_left_to_the_profile(given_words: str | None, budget: object) -> None:
    assert read_budget(given_words) == budget


@pytest.mark.parametrize("words", ["", "-1", "4k", "1e3", "٣", "9" * 40])
def test_anything_else_is_no_budget(words: str) -> None:
    with pytest.raises(InvalidInput, match="number of tokens"):
        read_budget(words)


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert read_time(None) is None
    assert read_time("2026-05-01") == datetime(2026, 5, 1, tzinfo=UTC)
    assert read_time("2026-05-01T12:00:00+02:00") == datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))


def test_parameters_may_hold_equal_signs() -> None:
    assert read_parameters(["query=a=b", "domain=", "domain=x"]) == {"query": "a=b", "domain": "x"}
    with pytest.raises(InvalidInput, match="NAME=VALUE"):
        read_parameters(["=x"])


def test_tenants_are_default_unless_told_and_each_once() -> None:
    assert read_tenants(None) == ("default",)
    assert read_tenants(["a", "b", "a"]) == ("a", "b")


def test_tags_may_be_written_with_their_sign() -> None:
    assert make_filter({"kinds": ["note"], "tags": ["#sea"]}) == Filter(kinds=("note",), tags=("sea",))
