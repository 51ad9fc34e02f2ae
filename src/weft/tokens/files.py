"""Any tokenizer that has a Hugging Face tokenizer.json file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import InvalidInput, MissingExtra
from weft.frozen import dataclass
from weft.tokens.cutting import encodable, settle

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE_HINT = "Give the path of a Hugging Face tokenizer.json file."


@dataclass(frozen=True, slots=True)
class FileCounter:
    """Counts exactly as a Hugging Face tokenizer.json does."""

    name: str
    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        """The tokens of the text, special tokens in it being ordinary text."""
        return len(self.tokenizer.encode(encodable(text), add_special_tokens=False))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        clean = [encodable(text) for text in texts]
        return [len(found) for found in self.tokenizer.encode_batch(clean, add_special_tokens=False)]

    def cut(self, text: str, max_tokens: int) -> str:
        """The longest prefix of whole characters that counts at most `max_tokens`."""
        clean = encodable(text)
        ends = [stop for _, stop in self.tokenizer.encode(clean, add_special_tokens=False).offsets]
        end = len(clean) if len(ends) <= max_tokens else max(ends[: max(max_tokens, 0)], default=0)
        return text[: settle(clean, end, lambda stop: self.count(clean[:stop]) <= max_tokens)]


@cache
def file_counter(path: Path) -> FileCounter:
    """A counter from a tokenizer.json file."""
    try:
        from tokenizers import Tokenizer
    except ImportError as missing:
        raise MissingExtra("Counting with a tokenizer.json", "tokenizers") from missing
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
