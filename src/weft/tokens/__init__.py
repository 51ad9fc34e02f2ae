"""Count and cut text in tokens, exactly and offline, for the models people use; counters load at their first
use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.ports import TokenCounter


__all__ = ["BOUND", "DEFAULT_ENCODING", "counter_for"]

DEFAULT_ENCODING = "cl100k_base"
BOUND = "cl100k_bound"
"""The name of a counter that never counts fewer tokens than cl100k_base, and is ready at once."""
_ENCODINGS = (DEFAULT_ENCODING, "o200k_base")


def counter_for(model: str) -> tuple[TokenCounter, str | None]:
    """Return the counter for a model, encoding or tokenizer.json path, and a note unless it is the model's own."""
    name = model.strip()
    if name == BOUND:
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
