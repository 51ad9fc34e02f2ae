"""Judge whether two short texts say the same, contradict each other, or are about different things."""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Final

from msgspec import Struct

from weft.text import analyze
from weft.text.addresses import CONTRAST, chooses, read_address, read_change, read_scope
from weft.text.differences import NEGATION, find_differing_words

_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
"""A number with its decimals, a version or a time of day."""
_REDACTED: Final = re.compile(r"\[redacted: [^\]\n]*\]")
"""The mark of a secret that was taken out: two texts that hold one have nothing in common by it."""
_FILLER_WORDS: Final = "please remember note always really sure make now currently still today anymore"
_FILLERS: Final = frozenset(term for word in _FILLER_WORDS.split() for term in analyze(word))
"""Words that a statement can have or lack without saying anything else."""
_MAX_COMPARED_CHARACTERS: Final = 20_000
"""Characters of each text that are compared, which bounds the time."""
_MIN_SHARED: Final = 0.6
"""The share of their words that two texts have in common when they are about one thing. Lower, texts about
different things would contradict each other; higher, a contradiction in other words would be missed."""
_MIN_SHARED_CHOICE: Final = 0.5
"""The same share where one choice is replaced by another: "tabs" for "spaces" already costs a short text a
word."""
_CHOOSING: Final = frozenset(
    analyze("use prefer run like want choose pick need have keep write make set call take try go work")
)
"""Verbs of any choice: "use spaces" and "we use pip" have nothing in common by them."""
_SEVERAL_AT_ONCE: Final = frozenset(
    analyze("owns review maintain know like love support cover handle fix add test run lint check put build write")
)
"""Verbs with several objects at a time: who owns billing may own search, and one may run both ruff and mypy."""
_CASE: Final = re.compile(
    r"\b(?:in|for|on|under|at|of|with)\s+(?:(?:the|our|my|all)\s+)?([\w./-]*[^\W\d][\w./-]*)", re.I
)
"""The case that a statement is about: "in YAML", "for the API"."""
_NAME: Final = re.compile(
    r"(?<=\s)(?!(?:I|Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|(?:Nov|Dec)(?:ember)?|(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?s?)\b)"
    r"[A-Z][\w.+#-]*"
)
"""A name within a sentence that is no month and no day: Maria, MongoDB, and not March or Monday."""
_CHANGED: Final = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|from (?:now|today) on|as of (?:now|today)|meanwhile"
    r"|has (?:been )?(?:changed|moved|switched))\b",
    re.IGNORECASE,
)
"""Words that say that something was otherwise before."""
_RIVAL_NAMES: Final = """
    tabs spaces | pip uv poetry conda pdm pipenv | npm yarn pnpm bun deno | jest vitest mocha jasmine ava
    pytest unittest nose | black yapf autopep8 ruff | postgres postgresql mysql mariadb sqlite oracle mongodb
    redis memcached valkey | rest graphql grpc soap | merge rebase squash | metric imperial | celsius fahrenheit
    british american | vim emacs vscode nano | git svn mercurial | react vue svelte angular solid
    maven gradle bazel | docker podman | bash zsh fish powershell | aws azure gcp | camelcase snake_case kebab-case
    light dark | miles kilometres kilometers | pounds kilograms | mocks fakes stubs
"""
"""Things of which one is used in place of another, family by family; a new line begins a family too."""
_RIVALS: Final = tuple(
    frozenset(term for word in family.split() for term in analyze(word))
    for family in re.split(r"[|\n]", _RIVAL_NAMES)
    if family.strip()
)
_MAX_REPLACED_WORDS: Final = 2
"""Words that make up one choice; texts that differ in more say different things."""
_MAX_ADDED_SHARE: Final = 0.15
"""The share of words that only one of two texts may have when it repeats the other: about one word in seven."""


class Verdict(StrEnum):
    """The relation of one text to another."""

    SAME = "same"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    OTHER = "other"


class Judgement(Struct, frozen=True):
    """A verdict, and the reason where one text replaces or contradicts the other."""

    verdict: Verdict
    why: str = ""


class _Statement(Struct, frozen=True):
    """The content of a text: its significant words in order, its numbers, and whether it negates."""

    text: str
    words: tuple[str, ...]
    numbers: Counter[str]
    is_negated: bool


class _Difference(Struct, frozen=True):
    """The share of words in common, and the words that only one of two texts has, typing errors forgiven."""

    shared: float
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]
    same_order: bool


def judge(new: str, old: str) -> Judgement:
    """Judge whether `new` repeats `old`, gives one thing another value, contradicts it, or is unrelated."""
    replaced = _find_new_value(new, old)
    if replaced:
        return Judgement(Verdict.SUPERSEDES, replaced)
    if _are_about_two_things(new, old):
        return Judgement(Verdict.OTHER)
    before = read_address(old)
    if before is not None and chooses(new, before.instead) and read_scope(new) == read_scope(old):
        return Judgement(Verdict.CONTRADICTS, f"another choice: {before.instead!r} instead of {before.value!r}")
    left, right = _read_statement(new), _read_statement(old)
    difference = _difference(left.words, right.words)
    # First: a text that negates another has nearly all words in common with it.
    why = _find_contradiction(left, right, difference)
    if why:
        # "Staging runs Debian 12 now" says itself that it takes the place of what was said before.
        is_newer = _CHANGED.search(new) is not None and _CHANGED.search(old) is None
        return Judgement(Verdict.SUPERSEDES if is_newer else Verdict.CONTRADICTS, why)
    return Judgement(Verdict.SAME if _is_repetition(left, right, difference) else Verdict.OTHER)


def _find_new_value(new: str, old: str) -> str:
    """Return how the value that two texts give for one thing has changed; empty if it has not, or is not known."""
    now, before = read_address(new), read_address(old)
    change = read_change(new)
    if change is not None and change.ends(old):
        return f"{change.value!r} instead of {change.instead!r}"
    if now is None or read_scope(new) != read_scope(old):
        return ""
    if before is None:
        # "We use uv instead of pip" ends "we use pip", which does not say what it was chosen over.
        return f"{now.value!r} instead of {now.instead!r}" if chooses(old, now.instead) else ""
    if now.key != before.key or now.gives_same_value(before):
        return ""
    return f"{now.value!r} instead of {before.value!r}"


def _are_about_two_things(new: str, old: str) -> bool:
    """Return whether both texts say what they are about, and that is not the same: a name is no typing error."""
    now, before = read_address(new), read_address(old)
    return now is not None and before is not None and now.key != before.key


def _read_statement(text: str) -> _Statement:
    # What is named only to be ruled out is no part of the statement, and its "not" negates nothing else.
    compared = CONTRAST.sub("", _REDACTED.sub("", text[:_MAX_COMPARED_CHARACTERS]))
    # In lower case, because the parts of a name such as GitHub would count as words of their own.
    terms = (term for term in analyze(NEGATION.sub(" ", compared).lower()) if not _NUMBER.fullmatch(term))
    words = tuple(term for term in terms if term not in _FILLERS)
    # Two negations cancel each other out.
    is_negated = len(NEGATION.findall(compared)) % 2 == 1
    return _Statement(compared, words, Counter(_NUMBER.findall(compared)), is_negated)


def _difference(left: Sequence[str], right: Sequence[str]) -> _Difference:
    only_left, only_right = find_differing_words(left, right)
    longest = max(len(left), len(right), 1)
    shared = (longest - max(len(only_left), len(only_right))) / longest
    common = Counter(left) & Counter(right)
    same_order = [word for word in left if word in common] == [word for word in right if word in common]
    return _Difference(shared, tuple(only_left), tuple(only_right), same_order)


def _find_contradiction(left: _Statement, right: _Statement, difference: _Difference) -> str:
    """Return what makes two close texts contradict each other, or an empty text."""
    if difference.shared >= _MIN_SHARED:
        if left.numbers - right.numbers and right.numbers - left.numbers:
            return "" if _are_other_cases(left, right) else "another number"
        if left.is_negated != right.is_negated:
            return "one of them negates it"
    # Statements with different numbers are about different cases, not another choice in the same one. And to avoid
    # one thing excludes no other: "never use mocks" goes with "use spaces".
    may_choose = left.numbers == right.numbers and not left.is_negated and not right.is_negated
    return _find_other_choice(left, right, difference) if may_choose else ""


def _are_other_cases(left: _Statement, right: _Statement) -> bool:
    """Return whether two statements are about different cases: 2 spaces in YAML, 4 spaces in Python."""
    cases, others = ({case.lower() for case in _CASE.findall(each.text)} for each in (left, right))
    names, other_names = ({name.lower() for name in _NAME.findall(each.text)} for each in (left, right))
    return any(bool(one and two) and one.isdisjoint(two) for one, two in ((cases, others), (names, other_names)))


def _find_other_choice(left: _Statement, right: _Statement, difference: _Difference) -> str:
    """Return how two texts that differ in a few words choose different things in one matter, or an empty text."""
    chosen, instead = difference.only_left, difference.only_right
    if not chosen or not instead or max(len(chosen), len(instead)) > _MAX_REPLACED_WORDS:
        return ""
    matter = set(left.words) - set(chosen) - _CHOOSING
    if _are_rivals(chosen, instead):
        # The words may come in another order: "tabs for indentation", "indentation is done with spaces".
        is_one_matter = difference.shared >= _MIN_SHARED_CHOICE or bool(matter)
    else:
        # A matter in common, as in "… for indentation".
        is_one_matter = (
            bool(matter) and difference.shared >= _MIN_SHARED_CHOICE and _exclude_each_other(left, right)
        )
    return f"another choice: {' '.join(chosen)!r} instead of {' '.join(instead)!r}" if is_one_matter else ""


def _are_rivals(chosen: Sequence[str], instead: Sequence[str]) -> bool:
    """Return whether two things are known to take each other's place."""
    return any(family & set(chosen) and family & set(instead) for family in _RIVALS)


def _exclude_each_other(left: _Statement, right: _Statement) -> bool:
    """Return whether two statements differ in one place, and not in the object of a verb that has several."""
    fillers = _FILLER_WORDS.split()
    words, others = (
        [word for word in re.findall(r"\w+", each.text.lower()) if word not in fillers] for each in (left, right)
    )
    start = _count_common(words, others)
    end = _count_common(words[start:][::-1], others[start:][::-1])
    if set(words[start : len(words) - end]) & set(others[start : len(others) - end]):
        # They differ in two places: Ann reviews the frontend, and Bob reviews the backend.
        return False
    before = analyze(words[start - 1]) if start else []
    return not _SEVERAL_AT_ONCE.intersection(before)


def _count_common(words: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))


def _is_repetition(left: _Statement, right: _Statement, difference: _Difference) -> bool:
    """Return whether both have the same words in the same order, give or take a few that only one of them has."""
    if left.numbers != right.numbers or left.is_negated != right.is_negated or not difference.same_order:
        return False
    # Words replaced on both sides are another statement; words added on one side may be a repetition.
    if difference.only_left and difference.only_right:
        return False
    added = len(difference.only_left) + len(difference.only_right)
    max_added = _MAX_ADDED_SHARE * max(len(left.words), len(right.words))
    # Two texts of fillers alone have nothing in common but that.
    return bool(left.words or left.numbers) and added <= max_added
