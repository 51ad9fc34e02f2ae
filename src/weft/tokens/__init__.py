"""Count and cut text in tokens, exactly and offline, for the models people use; counters load on first use.

Pages are counted again and again while they are fitted, so lines are counted once and remembered, and runs of
blanks are cut beforehand, which lets the regex engine work without looking ahead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tiktoken import Encoding

    from weft.ports import TokenCounter


__all__ = ["BOUND_ENCODING", "DEFAULT_ENCODING", "counter_for"]

DEFAULT_ENCODING = "cl100k_base"
"""The encoding that counts unless another is asked for."""
BOUND_ENCODING = "cl100k_bound"
"""The name of a counter that never counts fewer tokens than cl100k_base, and is ready at once."""
_ENCODINGS = (DEFAULT_ENCODING, "o200k_base")
"""The encodings that are bundled."""
# Not every interface takes a path, so that the advice names what each of them takes.
_EXACT_HINT = (
    f"{' and '.join(_ENCODINGS)} and the models of these are counted exactly; others by the path of their "
    "tokenizer.json, on the command line and in the library."
)
_SURROGATES = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs, which no encoding can represent alone."""
_JOINER = "\u200d"
"""Makes one emoji of several."""
# How each encoding cuts text into words before merging, as far as that can be said without looking ahead: engines
# are twice as fast then. Runs of blanks, for which the public patterns look ahead, are marked beforehand.
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
_MODEL_ENCODINGS = (
    (re.compile(r"(?:^|[/:.])(?:chat)?gpt-(?:4o|4\.[15]|5|oss)|(?:^|[/:.])o[134](?:-|$)|^o200k"), "o200k_base"),
    (
        re.compile(r"(?:^|[/:.])(?:gpt-4|gpt-3\.?5|text-embedding-(?:3|ada)|(?:davinci|babbage)-002)"),
        "cl100k_base",
    ),
)

# Characters counted at once: the regex engine behind tiktoken keeps one state a character and overflows on runs
# near a million.
_MAX_WHOLE_CHARACTERS = 100_000
# No word of either encoding holds a letter or digit followed by one of these, so a cut there is exact.
_WORD_END = re.compile(r"[^\W_](?=[\s!-&(-/:-@\[-`{-~。，、！？；：「」])")
# Tokens added for a cut inside a word. Merging is local: such a cut was never seen to lose more than two tokens.
_FORCED_CUT_ALLOWANCE = 4
# Characters before an end that are searched first for the end of a word, which mostly stands there.
_TAIL_REACH = 32
# Each further search reaches so many times as far back.
_TAIL_REACH_GROWTH = 16
# Tokens of our own, of characters that are for private use: one between texts that are counted together, one
# where blanks are cut. Numbers above those of every token of either encoding.
_TEXT_MARK = "\uf8ff\ue000\uf8ff\ue001"
_RUN_MARK = "\uf8ff\ue000\uf8ff\ue002"
_TEXT_MARK_TOKEN, _RUN_MARK_TOKEN = 1_000_000, 1_000_001
# White space as the encodings know it, without the characters that end a line.
_BLANK = "\t\x0b\x0c\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# The blanks that are not ASCII, to be looked for one by one.
_RARE_BLANKS = (
    "\x85",
    "\xa0",
    "\u1680",
    *map(chr, range(0x2000, 0x200B)),
    "\u2028",
    "\u2029",
    "\u202f",
    "\u205f",
    "\u3000",
)
# All blanks of a run but the last are one word; the last belongs to what follows it. Never looked at twice.
_BLANK_RUN = re.compile(f"(?<![ {_BLANK}])[ {_BLANK}]++(?<=[ {_BLANK}]{{2}})(?=[^ {_BLANK}\r\n])")
# The same where blanks are only spaces, which most texts are: found five times as fast.
_SPACE_RUN = re.compile("   *+")
# Fewer texts are counted one by one: joining them saves nothing, and lines that came before are remembered.
_MIN_JOINED_TEXTS = 16
# A line with the blank ones below it: words of either encoding end there, except where slashes follow.
_LINE = re.compile(r"[^\n]*\n(?:\s*\n)?|[^\n]+")
# Lines come back: from an item to its page, and with headings, pointers and passages from page to page.
_MAX_CACHED_LINE_CHARACTERS = 1_000
# Longer texts are no pages, and their lines would only push others out.
_MAX_BY_LINE_CHARACTERS = 60_000
# Lines remembered in each encoding: a few hundred pages of them.
_CACHED_LINES = 8_192
# Characters in the longest token of either encoding (a run of spaces): more text than this cannot fit.
_MAX_TOKEN_CHARACTERS = 128


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
        return EncodingCounter(name), None
    return _counter_for_model_name(name)


def _counter_for_model_name(name: str) -> tuple[TokenCounter, str | None]:
    from weft.tokens.estimates import EstimateCounter, find_margin, find_older_encoding, older_counter

    encoding = find_encoding(name)
    if encoding is not None:
        return EncodingCounter(encoding), None
    older = find_older_encoding(name)
    if older is not None:
        return older_counter(name, older)
    margin = find_margin(name)
    if margin is None:
        from weft.ports.plugins import TOKENIZERS, find_plugin

        kind, _, argument = name.partition(":")
        plugin = find_plugin(TOKENIZERS, kind)
        # Counted with the usual encoding and a note: a wrong guess at a model must not fail a page.
        return (
            (plugin.load()(argument), None) if plugin else (EncodingCounter(DEFAULT_ENCODING), _unknown_note(name))
        )
    return EstimateCounter(f"estimate:{name}", margin), _estimate_note(name, margin.per_token)


def _estimate_note(model: str, per_token: float) -> str:
    return (
        f"Tokens for {model!r} are a safe estimate (o200k_base x {per_token:g}, more for text that is not "
        f"ASCII). {_EXACT_HINT}"
    )


def _unknown_note(model: str) -> str:
    return f"The tokenizer of {model!r} is not known, so tokens are counted with {DEFAULT_ENCODING}. {_EXACT_HINT}"


# --- the two public encodings of OpenAI, from tables that are on this machine -------------------------------


def find_encoding(model: str) -> str | None:
    """Return the encoding that a model of that name uses, where it is one of these."""
    return next((name for pattern, name in _MODEL_ENCODINGS if pattern.search(model.lower())), None)


class EncodingCounter(Struct, frozen=True):
    """An exact counter for the named OpenAI encoding, whose tables load at the first use."""

    name: str

    def count(self, text: str) -> int:
        """Return the tokens of the text, special tokens in it being ordinary text."""
        if _is_by_line(text):
            return self._count_by_line(text)
        text = encodable(text)
        if len(text) <= _MAX_WHOLE_CHARACTERS:
            return self.count_whole(text)
        return sum(self.count_whole(text[start:end]) + extra for start, end, extra in _pieces(text))

    def _count_by_line(self, text: str) -> int:
        cached, uncached = _line_counters(self.name)
        lines = _LINE.findall(text)
        if len(text) <= _MAX_CACHED_LINE_CHARACTERS:
            return sum(map(cached, lines))
        return sum(
            [cached(line) if len(line) <= _MAX_CACHED_LINE_CHARACTERS else uncached(line) for line in lines]
        )

    def count_whole(self, text: str) -> int:
        """Return the tokens of a text that is not too long to be counted at once."""
        if self.name == DEFAULT_ENCODING and not _encoding.cache_info().currsize:
            from weft.tokens.bounds import count_before_engine

            tokens = count_before_engine(text)
            if tokens is not None:
                return tokens
        encoding = _encoding(self.name)
        if not _has_runs(text):
            return len(encoding.encode_ordinary(text))
        if _RUN_MARK in text or _TEXT_MARK in text:
            # The text has our own marks in it, which must not be taken for ours.
            return sum(len(encoding.encode_ordinary(part)) for part in _split_at_runs(text))
        marked = _mark_runs(text)
        return len(encoding.encode(marked, allowed_special={_RUN_MARK})) - marked.count(_RUN_MARK)

    def count_with_known_parts(self, text: str, known: Iterable[tuple[str, int]]) -> int:
        """Return the tokens of a text in which others stand on lines of their own, in this order, with known
        counts.

        Those of them that do not stand so are counted with the rest.
        """
        if not _is_by_line(text):
            return self.count(text)
        # What stands in a text that is counted by line is counted so too.
        count = self._count_by_line
        total = reached = 0
        for part, tokens in known:
            start = _find_on_lines(text, part, reached)
            if start < 0:
                continue
            # A part's last sign may make one token with the blank lines below it, so it goes with them.
            end = _last_word_end(text, start + len(part), start)
            total += count(text[reached:start]) + tokens - count(text[end : start + len(part)])
            reached = end
        return total + count(text[reached:])

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; many are counted in one call, during which other threads may run."""
        if len(texts) < _MIN_JOINED_TEXTS or any(
            len(text) > _MAX_WHOLE_CHARACTERS or _TEXT_MARK in text or _RUN_MARK in text for text in texts
        ):
            return [self.count(text) for text in texts]
        marked = [_mark_runs(text) if _has_runs(text) else text for text in texts]
        joined = encodable(_TEXT_MARK.join([*marked, ""]))
        tokens = _encoding(self.name).encode_to_numpy(joined, allowed_special="all", disallowed_special=())
        # Counts are the distances between text marks, less the run marks between them.
        ends = (tokens == _TEXT_MARK_TOKEN).nonzero()[0]
        run_marks = (tokens == _RUN_MARK_TOKEN).cumsum()[ends].tolist()
        real_ends = [end - marks for end, marks in zip(ends.tolist(), run_marks, strict=True)]
        return [end - start - 1 for start, end in pairwise([-1, *real_ends])]

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of whole characters that counts at most `max_tokens`."""
        clean = encodable(text[: max(max_tokens, 0) * _MAX_TOKEN_CHARACTERS + 1])
        end = self._guess_end(clean, max_tokens)
        # Mostly only the last word changes while the end is settled, so the text before it is counted once.
        anchor = _last_word_end(clean, end)
        head = self.count(clean[:anchor])

        def fits(stop: int) -> bool:
            tokens = head + self.count(clean[anchor:stop]) if stop >= anchor else self.count(clean[:stop])
            return tokens <= max_tokens

        return text[: settle(clean, end, fits)]

    def _guess_end(self, text: str, max_tokens: int) -> int:
        """Return where the text ends that the first `max_tokens` tokens spell out."""
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
    """Return a function that counts a line in an encoding and remembers it, and one that does not remember."""
    counter = EncodingCounter(name)

    def count(line: str) -> int:
        return counter.count_whole(encodable(line))

    return lru_cache(_CACHED_LINES)(count), count


@cache
def _encoding(name: str) -> Encoding:
    """Build an encoding from tables that are on this machine."""
    # These imports cost more than the whole of this module, and many commands never count.
    import zlib
    from binascii import a2b_base64

    from tiktoken import Encoding

    from weft.tokens.bounds import table_file

    fields = zlib.decompress(table_file(name).read_bytes(), wbits=31).split()
    # Lines are "token rank" with ranks 0, 1, 2 … (the tests check it), so the ranks need no parsing.
    ranks = dict(zip(map(a2b_base64, fields[::2]), range(len(fields) // 2), strict=True))
    special = {_TEXT_MARK: _TEXT_MARK_TOKEN, _RUN_MARK: _RUN_MARK_TOKEN}
    return Encoding(name, pat_str=WORD_PATTERNS[name], mergeable_ranks=ranks, special_tokens=special)


def _is_by_line(text: str) -> bool:
    """Return whether the lines of a text can be counted one by one."""
    return len(text) <= _MAX_BY_LINE_CHARACTERS and "\r" not in text and "\n/" not in text


def _find_on_lines(text: str, part: str, start: int) -> int:
    """Return where a part stands on lines of its own; -1 where it does not, or has blanks around it."""
    found = text.find(part, start) if part and part == part.strip() else -1
    is_alone = text[found - 1 : found] in ("", "\n") and text[found + len(part) : found + len(part) + 1] in (
        "",
        "\n",
    )
    return found if is_alone else -1


def _has_runs(text: str) -> bool:
    """Return whether there may be blanks side by side; a space between words is none of them."""
    return "  " in text or _has_other_blanks(text)


def _has_other_blanks(text: str) -> bool:
    """Return whether there are blanks that are not spaces."""
    if "\t" in text or "\x0b" in text or "\x0c" in text:
        return True
    return not text.isascii() and any(blank in text for blank in _RARE_BLANKS)


def _mark_runs(text: str) -> str:
    """Return the text with marks around all blanks of each run but the last."""
    if not _has_other_blanks(text):
        return _SPACE_RUN.sub(_mark_run, text)
    return _BLANK_RUN.sub(lambda run: f"{_RUN_MARK}{run[0][:-1]}{_RUN_MARK}{run[0][-1]}", text)


def _mark_run(run: re.Match[str]) -> str:
    """Mark one run of spaces; spaces before the end of a line, or of the text, belong to that."""
    if run.string[run.end() : run.end() + 1] in ("", "\r", "\n"):
        return run[0]
    return f"{_RUN_MARK}{run[0][:-1]}{_RUN_MARK} "


def _split_at_runs(text: str) -> Iterator[str]:
    """Yield the text in the parts that `_mark_runs` marks."""
    start = 0
    for run in _BLANK_RUN.finditer(text):
        yield from (text[start : run.start()], text[run.start() : run.end() - 1])
        start = run.end() - 1
    yield text[start:]


def _pieces(text: str, size: int = _MAX_WHOLE_CHARACTERS) -> Iterator[tuple[int, int, int]]:
    """Yield spans that cover the text, cut between words, each with the tokens to allow for its forced cut."""
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
    """Return the last offset up to `end` where a cut between words is exact, or `start` when there is none."""
    reach = _TAIL_REACH
    while True:
        low = max(start, end - reach)
        found = [match.end() for match in _WORD_END.finditer(text, low, min(end + 1, len(text)))]
        if found:
            return found[-1]
        if low == start:
            return start
        reach *= _TAIL_REACH_GROWTH


def _window(max_tokens: int) -> int:
    """Return enough characters for most texts to overrun the limit in one piece."""
    return min(max(max_tokens, 0) * 6 + 64, _MAX_WHOLE_CHARACTERS)
