"""Count and cut text in tokens, exactly and offline, for the models people use; counters load on first use."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.ports import TokenCounter


__all__ = ["BOUND_ENCODING", "DEFAULT_ENCODING", "counter_for"]

DEFAULT_ENCODING = "cl100k_base"
"""The encoding that counts unless another is asked for."""
BOUND_ENCODING = "cl100k_bound"
"""The name of a counter that never counts fewer tokens than cl100k_base, and is ready at once."""
_ENCODINGS = (DEFAULT_ENCODING, "o200k_base")
"""The encodings that are bundled."""
_SURROGATES = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs, which no encoding can represent alone."""
_JOINER = "\u200d"
"""Makes one emoji of several."""


def encodable(text: str) -> str:
    """Return the text with each lone surrogate replaced, so that offsets stay and encoding cannot fail."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def settle(text: str, end: int, fits: Callable[[int], bool]) -> int:
    """Return the end of a prefix near `end` that fits, and does not with one more whole character.

    Steps double as long as they help, because `fits` counts tokens and a guess may be far off.
    """
    # Backwards until it fits, then forwards again: the guess may be on either side.
    end, step = _character_floor(text, end), 1
    while end > 0 and not fits(end):
        end, step = _character_floor(text, max(end - step, 0)), step * 2
    step = 1
    while step:
        following = character_ceiling(text, min(end + step, len(text)))
        if following > end and fits(following):
            end, step = following, step * 2
        else:
            step //= 2
    return end


def _character_floor(text: str, end: int) -> int:
    """Return the nearest offset at or before `end` that does not split what a reader sees as one character."""
    while 0 < end < len(text) and _continues(text, end):
        end -= 1
    return end


def character_ceiling(text: str, end: int) -> int:
    """Return the nearest offset at or after `end` that does not split what a reader sees as one character."""
    while end < len(text) and _continues(text, end):
        end += 1
    return end


def _continues(text: str, offset: int) -> bool:
    """Return whether the character at an offset belongs to the one before it."""
    before, here = text[offset - 1], text[offset]
    # No combining character comes before this one, which settles nearly all texts at once.
    if here < "\u0300":
        return here == "\n" and before == "\r"
    skin_tone = "\U0001f3fb" <= here <= "\U0001f3ff"
    return skin_tone or _JOINER in (before, here) or unicodedata.category(here)[0] == "M"


def counter_for(model: str) -> tuple[TokenCounter, str | None]:
    """Return the counter for a model, encoding or tokenizer.json path, and a note unless it is the model's own."""
    name = model.strip()
    # Each counter is imported where it is chosen, since loading one costs more than counting with it.
    if name == BOUND_ENCODING:
        from weft.tokens.bounds import BoundCounter

        return BoundCounter(name), None
    if name.endswith(".json"):
        from pathlib import Path

        from weft.tokens.estimates import file_counter

        return file_counter(Path(name)), None
    if name in _ENCODINGS:
        from weft.tokens.encodings import EncodingCounter

        return EncodingCounter(name), None
    return _counter_for_model_name(name)


def _counter_for_model_name(name: str) -> tuple[TokenCounter, str | None]:
    from weft.tokens.encodings import EncodingCounter, find_encoding
    from weft.tokens.estimates import EstimateCounter, find_margin

    encoding = find_encoding(name)
    if encoding is not None:
        return EncodingCounter(encoding), None
    margin = find_margin(name)
    # Counted with the usual encoding and a note: a wrong guess at a model must not fail a page.
    if margin is None:
        return EncodingCounter(DEFAULT_ENCODING), _unknown_note(name)
    return EstimateCounter(f"estimate:{name}", margin), _estimate_note(name, margin.per_token)


def _estimate_note(model: str, per_token: float) -> str:
    return (
        f"Tokens for {model!r} are a safe estimate (o200k_base x {per_token:g}, more for text that is not "
        "ASCII). Give the path of its tokenizer.json for exact counts."
    )


def _unknown_note(model: str) -> str:
    return (
        f"The tokenizer of {model!r} is not known, so tokens are counted with {DEFAULT_ENCODING}. "
        "Give the path of its tokenizer.json for exact counts."
    )
