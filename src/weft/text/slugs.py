"""Make the last part of a key from a title."""

import re
from collections.abc import Iterable
from typing import Final

_NOT_IN_SLUG: Final = re.compile(r"[^\w.]+")
_MAX_SLUG_CHARACTERS: Final = 80
"""How much of a title a key holds; keys are printed in ledgers and manifests."""


def title_slug(title: str) -> str:
    """Return a title in small letters with dashes between its words; empty if it has no word."""
    return _NOT_IN_SLUG.sub("-", title.lower()).strip("-")[:_MAX_SLUG_CHARACTERS]


def number_repeated(slugs: Iterable[str]) -> list[str]:
    """Return the slugs in order, those that were there before with a number: `notes`, `notes-2`."""
    times_used: dict[str, int] = {}
    numbered = []
    for slug in slugs:
        times_used[slug] = times_used.get(slug, 0) + 1
        numbered.append(f"{slug}-{times_used[slug]}" if times_used[slug] > 1 else slug)
    return numbered
