"""Count tokens for models whose tokenizer is not bundled: on the safe side, or exactly by a table or file at hand.

The older encodings of OpenAI are counted by tiktoken's tables if these are in its cache; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from math import ceil
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from weft.errors import InvalidInput, MissingPackage
from weft.tokens import EncodingCounter, encodable, settle

if TYPE_CHECKING:
    from tiktoken import Encoding
    from tokenizers import Tokenizer

    from weft.ports import TokenCounter


class Margin(Struct, frozen=True):
    """The excess of a tokenizer that is not bundled over o200k_base, per token and per non-ASCII character."""

    per_token: float
    per_wide_character: float


# Measured where a tokenizer could be had, else published figures with a margin: docs/decisions/0004.
_MODEL_MARGINS = (
    (re.compile(r"claude-(?:v?[123]|instant)"), Margin(1.4, 1.4)),
    (re.compile(r"claude"), Margin(1.9, 1.4)),
    (re.compile(r"gemini|gemma"), Margin(1.4, 0.4)),
    (re.compile(r"llama-?[34]"), Margin(1.35, 0.4)),
    (re.compile(r"llama|mistral|mixtral|codestral|ministral|vicuna"), Margin(1.85, 0.8)),
    (re.compile(r"qwen"), Margin(1.3, 0.6)),
    (re.compile(r"deepseek"), Margin(1.3, 0.4)),
)

# First match wins; a model may be written with its owner in front ("openai-community/gpt2").
_OLDER_ENCODINGS = (
    (
        re.compile(
            r"^p50k|(?:^|[/:])(?:text-davinci-(?:00[23]|edit)|code-(?:davinci|cushman)|(?:davinci|cushman)-codex)"
        ),
        "p50k_base",
    ),
    (re.compile(r"(?:^|[/:])(?:distil)?gpt-?2(?:$|[-:])"), "gpt2"),
    (
        re.compile(
            r"^r50k|(?:^|[/:])(?:text-)?(?:davinci|curie|babbage|ada)(?:-001|:|$)"
            r"|(?:text|code)-(?:similarity|search)-"
        ),
        "r50k_base",
    ),
)
# The two tables differ in their form only.
_SAME_TABLES = {"gpt2": ("gpt2", "r50k_base"), "r50k_base": ("r50k_base", "gpt2")}
_MAX_PIECE_CHARACTERS = 100_000
_LOADING_TABLE = Lock()

# Other tokenizers spell out what o200k_base does not: digits one by one, long runs of one sign, and scripts that a
# smaller vocabulary only has as bytes (all but Latin, Greek, Cyrillic, CJK and common punctuation).
_DIGITS = re.compile(r"[0-9]")
_SIGN_RUNS = re.compile(r"([^\w\n])\1{3,}")
_BYTE_SPELLED = re.compile(
    "[^\0-\u052f\u1e00-\u1fff\u2010-\u2027\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
# Tokens added for each: o200k_base takes up to three digits, and long runs of a sign, as one token.
_TOKENS_PER_DIGIT = 0.6
_TOKENS_PER_RUN_SIGN = 0.5
# The advice of every error about a tokenizer file.
_FILE_HINT = "Give the path of a Hugging Face tokenizer.json file."


def find_margin(model: str) -> Margin | None:
    """Return how far the tokenizer of a model of that name may exceed o200k_base, where that is known."""
    return next((margin for pattern, margin in _MODEL_MARGINS if pattern.search(model.lower())), None)


class EstimateCounter(Struct, frozen=True):
    """A counter on the safe side for a model whose tokenizer is not bundled."""

    name: str
    margin: Margin

    def count(self, text: str) -> int:
        """Return at least as many tokens as the model is expected to see."""
        exact = EncodingCounter("o200k_base").count(text)
        wide = 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
        margin = self.margin
        return ceil(exact * margin.per_token + wide * margin.per_wide_character + _spelled_out_tokens(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the estimate for each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of whole characters that is estimated at most `max_tokens`."""
        # A first guess by the margin alone; `settle` corrects it by real estimates.
        end = len(EncodingCounter("o200k_base").cut(text, int(max(max_tokens, 0) / self.margin.per_token)))
        return text[: settle(text, end, lambda stop: self.count(text[:stop]) <= max_tokens)]


def _spelled_out_tokens(text: str) -> float:
    """Return the tokens to add for what most tokenizers spell out and o200k_base does not."""
    digits = len(_DIGITS.findall(text))
    signs = sum(match.end() - match.start() for match in _SIGN_RUNS.finditer(text))
    spelled = 0 if text.isascii() else len("".join(_BYTE_SPELLED.findall(encodable(text))).encode())
    return digits * _TOKENS_PER_DIGIT + signs * _TOKENS_PER_RUN_SIGN + spelled


# --- the older encodings of OpenAI --------------------------------------------------------------------------


def find_older_encoding(model: str) -> str | None:
    """Return the older encoding of OpenAI that a model of that name uses, if it is one of these."""
    return next((name for pattern, name in _OLDER_ENCODINGS if pattern.search(model.lower())), None)


def older_counter(model: str, encoding: str) -> tuple[TokenCounter, str | None]:
    """Return an exact counter if the table is on this machine, else one that never counts less, with a note."""
    table = next(filter(None, map(_cached_table, _SAME_TABLES.get(encoding, (encoding,)))), None)
    if table is not None:
        return TableCounter(encoding, table), None
    return ByteCounter(f"bytes:{encoding}"), (
        f"The table of {encoding}, by which {model!r} counts, is not on this machine, so every byte counts as a "
        "token: no page costs more than that, and most cost far less. Name cl100k_base for longer pages, or run "
        f"`python -c \"import tiktoken; tiktoken.get_encoding('{encoding}')\"` there once for exact counts."
    )


@cache
def _cached_table(name: str) -> Encoding | None:
    """Return one of tiktoken's encodings if its table is in tiktoken's cache; never download it."""
    from tiktoken import Encoding, load
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

    def refuse(blobpath: str) -> bytes:
        raise FileNotFoundError(blobpath)

    # Tiktoken has no way to ask for its cache alone, and a page must neither wait for a network nor need one.
    with _LOADING_TABLE:
        download, load.read_file = load.read_file, refuse
        try:
            return Encoding(**ENCODING_CONSTRUCTORS[name]())
        except (OSError, ValueError):
            return None
        finally:
            load.read_file = download


class TableCounter(Struct, frozen=True):
    """An exact counter for an encoding of tiktoken."""

    name: str
    encoding: Encoding

    def count(self, text: str) -> int:
        """Return the tokens of the text, special tokens in it being ordinary text."""
        clean = encodable(text)
        # Cut into pieces, because the regex engine behind tiktoken overflows on very long texts. A cut can only
        # add tokens.
        starts = range(0, len(clean), _MAX_PIECE_CHARACTERS)
        return sum(len(self.encoding.encode_ordinary(clean[at : at + _MAX_PIECE_CHARACTERS])) for at in starts)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of whole characters that counts at most `max_tokens`."""
        clean = encodable(text)
        tokens = self.encoding.encode_ordinary(clean[:_MAX_PIECE_CHARACTERS])[: max(max_tokens, 0)]
        end = len(self.encoding.decode_bytes(tokens).decode("utf-8", "ignore"))
        return text[: settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


class ByteCounter(Struct, frozen=True):
    """A counter that never counts less than any encoding that merges bytes: a token is at least one byte."""

    name: str

    def count(self, text: str) -> int:
        """Return the bytes of the text."""
        return len(encodable(text).encode())

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the bytes of each text."""
        return [self.count(text) for text in texts]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of whole characters that has at most `max_tokens` bytes."""
        clean = encodable(text)
        end = len(clean.encode()[: max(max_tokens, 0)].decode("utf-8", "ignore"))
        return text[: settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


# --- files --------------------------------------------------------------------------------------------------


class FileCounter(Struct, frozen=True):
    """An exact counter for a Hugging Face tokenizer.json."""

    name: str
    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        """Return the tokens of the text, special tokens in it being ordinary text."""
        return len(self.tokenizer.encode(encodable(text), add_special_tokens=False))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text."""
        clean = [encodable(text) for text in texts]
        return [len(found) for found in self.tokenizer.encode_batch(clean, add_special_tokens=False)]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of whole characters that counts at most `max_tokens`."""
        clean = encodable(text)
        ends = [stop for _, stop in self.tokenizer.encode(clean, add_special_tokens=False).offsets]
        end = len(clean) if len(ends) <= max_tokens else max(ends[: max(max_tokens, 0)], default=0)
        return text[: settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


@cache
def file_counter(path: Path) -> FileCounter:
    """Load a counter from a tokenizer.json file; its name has a digest, so another file is another counter."""
    try:
        from tokenizers import Tokenizer
    except ImportError as missing:
        raise MissingPackage("Counting with a tokenizer.json", "tokenizers") from missing
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
