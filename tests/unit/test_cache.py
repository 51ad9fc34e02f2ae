"""What was worked out last is kept."""

from functools import partial

from weft.cache import Recent


def test_a_value_is_made_once_while_it_is_kept_and_the_longest_unasked_goes_first() -> None:
    made: list[str] = []

    def value(key: str) -> str:
        made.append(key)
        return key.upper()

    kept: Recent[str, str] = Recent(2)
    told = [kept.get_or_make(key, partial(value, key)) for key in "abacab"]
    assert told == list("ABACAB")
    assert made == ["a", "b", "c", "b"]


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    kept = Recent[str, int](2)
    kept.put("one", 1)
    kept.put("two", 2)
    assert kept.get("one") == 1
    kept.put("three", 3)
    assert (kept.get("one"), kept.get("two"), kept.get("three")) == (1, None, 3)


def test_everything_can_be_forgotten() -> None:
    kept = Recent[str, int](2)
    assert kept.put("one", 1) == 1
    kept.clear()
    assert kept.get("one") is None
