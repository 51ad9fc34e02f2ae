"""Read numbers as books print them: digits, Roman and Chinese numerals, and number words of ten languages."""

import re
from itertools import pairwise
from typing import Final

from weft.text.terms import ENGLISH_CARDINALS, ENGLISH_TENS

_CARDINALS: Final = (
    # English, German, French, Spanish, Italian, Portuguese, Russian, Dutch, Swedish: from one to twenty.
    ENGLISH_CARDINALS,
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn zwanzig",
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf vingt",
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte",
    "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove venti",
    "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezasseis dezassete dezoito "
    "dezanove vinte",
    "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать "
    "пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать",
    "een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien "
    "achttien negentien twintig",
    "ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton tjugo",
)
_ORDINALS: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt vierzehnt fünfzehnt "
    "sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst",
    "premi deuxièm troisièm quatrièm cinquièm sixièm septièm huitièm neuvièm dixièm onzièm douzièm treizièm "
    "quatorzièm quinzièm seizièm dix-septièm dix-huitièm dix-neuvièm vingtièm",
    "primer segund tercer cuart quint sext séptim octav noven décim undécim duodécim decimotercer decimocuart "
    "decimoquint decimosext decimoséptim decimoctav decimonoven vigésim",
    "prim second terz quart quint sest settim ottav non decim undicesim dodicesim tredicesim quattordicesim "
    "quindicesim sedicesim diciassettesim diciottesim diciannovesim ventesim",
    "primeir segund terceir quart quint sext sétim oitav non décim",
    "перв втор трет четверт пят шест седьм восьм девят десят одиннадцат двенадцат тринадцат четырнадцат "
    "пятнадцат шестнадцат семнадцат восемнадцат девятнадцат двадцат",
    "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende",
    "pierwszy drugi trzeci czwarty piąty szósty siódmy ósmy dziewiąty dziesiąty jedenasty dwunasty trzynasty "
    "czternasty piętnasty szesnasty siedemnasty osiemnasty dziewiętnasty dwudziesty",
)
_ORDINAL_ENDINGS: Final = re.compile(r"(?:er|es|en|em|e|ère|a|o|ая|ый|ой|ий|ья|ье|ое|яя)$")
"""The endings by which ordinals agree with the word for a chapter: erstes, première, primera, первая."""
_TENS: Final = (
    ENGLISH_TENS,
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
    "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
)
_HUNDREDS: Final = frozenset({"hundred", "hundert", "cent", "cien", "ciento", "cento", "cem", "сто", "honderd"})
_JOINING: Final = frozenset({"and", "und", "et", "y", "e", "the", "la", "le", "el", "die", "das"})
"""Words between the parts of a number, or before it."""

_WORDS: Final = {
    word: number for row in (*_CARDINALS, *_ORDINALS) for number, word in enumerate(row.split(), start=1)
}
_TEN_WORDS: Final = {word: 10 * number for row in _TENS for number, word in enumerate(row.split(), start=2)}
_GERMAN_COMPOUND: Final = re.compile(r"(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)und(\w+zig|dreißig)(?:st)?")
_SPANISH_COMPOUND: Final = re.compile(r"veinti(\w+)")
_HAN_DIGITS: Final = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
    "兩": 2,
}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
HAN_NUMBER: Final = f"[{''.join([*_HAN_DIGITS, *_HAN_UNITS])}]{{1,8}}"
"""The pattern of a number as Chinese and Japanese books write it."""
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_ROMAN_NUMBER: Final = re.compile(r"m{0,3}(?:c[md]|d?c{0,3})(?:x[cl]|l?x{0,3})(?:i[xv]|v?i{0,4})")


def read_number(written: str) -> int | None:
    """Return the number that digits, Roman or Chinese numerals, or words tell, or None."""
    plain = written.lower().strip()
    if plain.isdecimal():
        return int(plain)
    if re.fullmatch(HAN_NUMBER, plain):
        return read_han(plain)
    if plain and _ROMAN_NUMBER.fullmatch(plain):
        values = [_ROMAN[letter] for letter in plain]
        # A numeral before a larger one is subtracted: IV is four.
        return sum(-here if here < after else here for here, after in pairwise([*values, 0]))
    return _WORDS.get(plain) or _read_words(plain.replace("-", " ").split())


def read_number_word(word: str) -> int | None:
    """Return the number that one word tells, or None."""
    plain = word.lower()
    if plain in _WORDS:
        return _WORDS[plain]
    if plain in _TEN_WORDS:
        return _TEN_WORDS[plain]
    if stem := _ORDINAL_ENDINGS.sub("", plain):
        if stem in _WORDS and stem != plain:
            return _WORDS[stem]
        if match := _GERMAN_COMPOUND.fullmatch(stem):
            return (_WORDS.get(match[1]) or 1) + _TEN_WORDS.get(match[2], 0)
    if match := _SPANISH_COMPOUND.fullmatch(plain):
        return 20 + _WORDS[match[1]] if match[1] in _WORDS else None
    return None


def _read_words(words: list[str]) -> int | None:
    """Return the number of several words: twenty one, one hundred and two, treinta y uno."""
    total, found = 0, False
    for word in words:
        if word in _JOINING:
            continue
        if word in _HUNDREDS:
            total, found = max(total, 1) * 100, True
            continue
        value = read_number_word(word)
        # A unit comes after the tens and only once: `one two` is no number.
        if value is None or (total % 100 and (total % 10 or value >= 20)):
            return None
        total, found = total + value, True
    return total if found else None


def read_han(written: str) -> int:
    """Return the value of a Chinese number: digits before a unit multiply it, and a bare unit counts once."""
    total = digits = 0
    for sign in written:
        if sign in _HAN_DIGITS:
            digits = 10 * digits + _HAN_DIGITS[sign]
        else:
            total, digits = total + (digits or 1) * _HAN_UNITS[sign], 0
    return total + digits
