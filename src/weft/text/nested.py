"""Find the texts in values of JSON."""

from collections.abc import Iterator


def nested_texts(value: object) -> Iterator[str]:
    """Yield the texts in a value in their order, however deeply lists and mappings hold them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from nested_texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from nested_texts(each)
