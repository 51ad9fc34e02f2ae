"""What was worked out last is kept."""

from functools import partial

from weft.recent import Recent


def test_a_value_is_made_once_while_it_is_kept_and_the_longest_unasked_goes_first() -> None:
    made: list[str] = []

    def value(key: str) -> str:
        made.append(key)
        return key.upper()

    kept: Recent[str, str] = Recent(2)
    told = [kept.get(key, partial(value, key)) for key in "abacab"]
    assert told == list("ABACAB")
    assert made == ["a", "b", "c", "b"]
