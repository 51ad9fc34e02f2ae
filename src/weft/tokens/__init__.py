"""Exact token counting and cutting, offline, for the models people use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from weft.tokens.encodings import WORD_PATTERNS, EncodingCounter
from weft.tokens.estimates import MARGIN_OF_MODEL, EstimateCounter, Margin
from weft.tokens.files import FileCounter, file_counter

if TYPE_CHECKING:
    from weft.ports import TokenCounter

__all__ = ["DEFAULT_ENCODING", "EncodingCounter", "EstimateCounter", "FileCounter", "Margin", "counter_for"]

DEFAULT_ENCODING = "cl100k_base"

# First match wins; a model may be written with its provider in front ("openai/gpt-4o", "ft:gpt-4o:…").
_ENCODING_OF_MODEL = (
    (re.compile(r"(?:^|[/:.])(?:chat)?gpt-(?:4o|4\.[15]|5|oss)|(?:^|[/:.])o[134](?:-|$)"), "o200k_base"),
    (re.compile(r"(?:^|[/:.])(?:gpt-4|gpt-3\.?5|text-embedding-(?:3|ada))"), "cl100k_base"),
)


def counter_for(model: str) -> tuple[TokenCounter, str | None]:
    """The counter for a model, encoding or tokenizer.json path, and a note where it is not the model's own."""
    name = model.strip()
    if name in WORD_PATTERNS:
        return EncodingCounter(name), None
    if name.endswith(".json"):
        return file_counter(Path(name)), None
    for pattern, encoding in _ENCODING_OF_MODEL:
        if pattern.search(name.lower()):
            return EncodingCounter(encoding), None
    for pattern, margin in MARGIN_OF_MODEL:
        if pattern.search(name.lower()):
            return EstimateCounter(f"estimate:{name}", margin), _estimate_note(name, margin)
    return EncodingCounter(DEFAULT_ENCODING), _unknown_note(name)


def _estimate_note(model: str, margin: Margin) -> str:
    return (
        f"Tokens for {model!r} are a safe estimate (o200k_base x {margin.per_token:g}, more for text that is not "
        "ASCII). Give the path of its tokenizer.json for exact counts."
    )


def _unknown_note(model: str) -> str:
    return (
        f"The tokenizer of {model!r} is not known, so tokens are counted with {DEFAULT_ENCODING}. "
        "Give the path of its tokenizer.json for exact counts."
    )
