"""Numbers as headings write them: in digits, Roman or Chinese numerals, or words."""

import re
from itertools import pairwise
from typing import Final

_COUNTED: Final = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_ORDERED: Final = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"), start=2)
}
_WORDED: Final = {
    word: number for row in (_COUNTED, _ORDERED) for number, word in enumerate(row.split(), start=1)
} | _TENS
_HAN: Final = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
HAN_NUMBER: Final = f"[{''.join([*_HAN, *_HAN_UNITS])}]{{1,8}}"
"""A number as Chinese and Japanese books write it, as a pattern."""
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def value_of(written: str) -> int | None:
    """The number that digits, Roman numerals or words tell."""
    plain = written.lower().removeprefix("the ").strip()
    if plain.isdigit():
        return int(plain)
    if plain in _WORDED:
        return _WORDED[plain]
    tens, _, unit = plain.partition("-")
    if tens in _TENS and unit in _WORDED:
        return _TENS[tens] + _WORDED[unit]
    if re.fullmatch(HAN_NUMBER, plain):
        return _han_value(plain)
    if plain and all(letter in _ROMAN for letter in plain):
        values = [_ROMAN[letter] for letter in plain]
        return sum(-here if here < after else here for here, after in pairwise([*values, 0]))
    return None


def _han_value(written: str) -> int:
    total = digits = 0
    for sign in written:
        if sign in _HAN:
            digits = 10 * digits + _HAN[sign]
        else:
            total, digits = total + (digits or 1) * _HAN_UNITS[sign], 0
    return total + digits


def number_in(name: str) -> int | None:
    """The number in the name of a chapter's file: `07 The Ferry`, `chapter-seven`, `第七章`."""
    if counted := re.search(f"第({HAN_NUMBER})", name):
        return _han_value(counted.group(1))
    for word in re.findall(r"\d+|[^\W\d_]+", name):
        number = int(word) if word.isdigit() else _WORDED.get(word.lower())
        if number is not None:
            return number
    return None
