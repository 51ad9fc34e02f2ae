"""Ranges of characters that are written without spaces between words, as parts of a regex class."""

import re
from functools import cache

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
# Thai, Lao, Myanmar and Khmer, with the vowel signs that are not letters to the regex engine.
SOUTHEAST_ASIAN = "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
# The scripts of India write spaces, but their vowel signs are not letters to the regex engine either.
INDIC = "\u0900-\u0963\u0966-\u0dff"

CJK = HAN + KANA + HANGUL
UNSPACED = CJK + SOUTHEAST_ASIAN


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when first used: with these ranges that takes milliseconds, and few texts need it."""
    return re.compile(pattern)
