"""The cache keeps the values used last and drops the others."""

from functools import partial

from weft.runtime.cache import LruCache


def test_a_value_is_made_once_while_it_is_kept_and_the_longest_unused_goes_first() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    cache: LruCache[str, str] = LruCache(2)
    values = [cache.get_or_make(key, partial(make, key)) for key in "abacab"]
    assert values == list("ABACAB")
    assert made == ["a", "b", "c", "b"]


def test_the_value_used_longest_ago_is_dropped_first() -> None:
    cache = LruCache[str, int](2)
    cache.put("one", 1)
    cache.put("two", 2)
    assert cache.get("one") == 1
    cache.put("three", 3)
    assert (cache.get("one"), cache.get("two"), cache.get("three")) == (1, None, 3)


def test_clearing_drops_every_value() -> None:
    cache = LruCache[str, int](2)
    assert cache.put("one", 1) == 1
    cache.clear()
    assert cache.get("one") is None
