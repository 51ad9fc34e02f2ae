"""Read what a short statement is about, its address, the value that it gives there, and where it holds.

"The deadline of Atlas is May 5" and "Atlas' deadline is now June 1" have one address and two values; so have "we
use
uv instead of pip" and its reverse. Only statements of a few plain forms have an address: where the form leaves
doubt
there is none, and two statements are then compared by their words alone.
"""

import re
from typing import Final

from msgspec import Struct

from weft.text.terms import analyze

_MAX_READ_CHARACTERS: Final = 240
"""A longer text says more than one thing, and has no single address."""
_MAX_SUBJECT_TERMS: Final = 7
"""Terms of what is spoken about; with more it is a sentence of its own."""
_MAX_VALUE_CHARACTERS: Final = 120
_DETERMINER: Final = r"(?:the|my|our|your|this|that|a|an)"
_CHANGED: Final = (
    r"(?:moved|changed|switched|updated|rescheduled|postponed|shifted|pushed|raised|increased|lowered|reduced|cut|"
    r"improved|dropped|grown|risen|extended|shortened|bumped|upgraded|set|renamed|expanded)"
)
_NAMED_VALUE: Final = re.compile(
    rf"^\W*(?:note(?: that)?:?|remember(?: that)?:?|update:|now|currently|as of [^,]+,)?\s*"
    rf"(?P<subject>(?:{_DETERMINER}\s+)?[^.,;:!?=]{{2,90}}?)"
    rf"(?:\s+(?:is|are|was|were|has been|have been|will be)(?:\s+(?:now|currently|still|always|again))?"
    rf"(?:\s+{_CHANGED}\s+(?:from\s+[^,;]{{1,60}}?\s+)?to)?\s+|\s*(?:=|:)\s+"
    r"|\s+(?:has\s+|have\s+)?(?:now\s+|recently\s+|already\s+)?(?:reached|hit)\s+"
    r"|\s+(?:has\s+|have\s+)?(?:now\s+)?(?:went|gone|came|come|fell|rose|climbed|grew)"
    r"\s+(?:up\s+|down\s+)?to\s+"
    rf"|\s+(?:has\s+|have\s+)?(?:now\s+|recently\s+)?{_CHANGED}\s+(?:from\s+[^,;]{{1,60}}?\s+)?to\s+)"
    rf"(?P<value>[^;!?]{{1,{_MAX_VALUE_CHARACTERS}}}?)[.!]?\s*$",
    re.IGNORECASE,
)
_MOVED: Final = re.compile(
    rf"\b(?P<verb>{_CHANGED}|moving|changing|switching|rescheduling|postponing|moved|raising|extending)\s+"
    rf"(?P<subject>{_DETERMINER}\s+[^.,;:!?]{{2,80}}?)\s+(?:from\s+[^,;]{{1,60}}?\s+)?to\s+"
    r"(?P<value>[^.,;!?]{1,60}(?:, \d{4})?)",
    re.IGNORECASE,
)
_USES: Final = (
    r"(?:use|uses|using|prefer|prefers|run|write|choose|chose|chosen|pick|picked|want|like|go with|stick with|"
    r"stick to|indent with|format with|deploy with|build with|test with|develop on|work with|write in|draft in|"
    r"drafting in|answer in|reply in)"
)
CONTRAST: Final = re.compile(
    r"[\s,(]*(?:\b(?:instead of|rather than|in place of|as opposed to)|\band not|,\s*not)\s+"
    r"(?!to\b)[\w@#+./'’-]+(?:\s+[\w@#+./'’-]+){0,3}?\)?(?=[.,;!?)]|\s*$|\s(?:for|in|on|when|because"
    r"|since|due|to|as)\b)",
    re.IGNORECASE,
)
"""A thing that a statement names only to say that it is not meant: "4 spaces, not tabs" negates nothing of "use
spaces"."""
_THING: Final = r"[\w@#+./'’-]+(?: [\w@#+./'’-]+){0,3}?"
_CHOICE: Final = re.compile(
    rf"\b{_USES}\s+(?P<value>{_THING}),?\s+(?:instead of|rather than|over|and not|not|in place of|never)\s+"
    rf"(?P<other>{_THING})(?=[.,;!?)]|\s+(?:for|in|on|when|because|since|due|to|as|with|at|from|if|and"
    rf"|any)\b|\s*$)",
    re.IGNORECASE,
)
_SWITCH: Final = re.compile(
    rf"\b(?:switched|moved|migrated|changed|switch|move|migrate)\s+(?:over\s+)?from\s+(?P<other>{_THING})\s+to\s+"
    rf"(?P<value>{_THING})(?=[.,;!?)]|\s+(?:for|in|on|when|because|since|due|as|with|at|if)\b|\s*$)",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    rf"\b(?:{_CHANGED}|migrated|moving|changing|switching|migrating)\s+(?P<subject>(?!from\b)[^.,;:!?]{{2,60}}?)\s+"
    rf"from\s+(?P<other>{_THING})\s+to\s+(?P<value>{_THING})(?=[.,;!?)]|\s+(?:for|in|on|because|since|due|as)\b|\s*$)",
    re.IGNORECASE,
)
_BARE_CHOICE: Final = re.compile(
    r"(?!(?:the|an?|it|this|that)\b)(?P<value>[\w@#+./'’-]+(?: [\w@#+./'’-]+){0,2}?)"
    r"(?:,? (?:instead of|rather than|and not|in place of)|, not) (?P<other>[\w@#+./'’-]+(?: [\w@#+./'’-]+){0,2}?)"
    r"(?: (?:for|in|on|when|while) [\w@#+./'’ -]{1,40})?[.!]?",
    re.IGNORECASE,
)
"""A choice and nothing else: "4 spaces, not tabs"."""
_PLAIN_CHOICE: Final = re.compile(
    rf"(?:(?:please|always|we|I|you|our team|my team|the project|the team)\s+)*{_USES}\s+(?P<value>{_THING})[.!]?",
    re.IGNORECASE,
)
_USE: Final = re.compile(r"[\s,]*\b(?:for|in|on|when|while)\s+((?:[\w'’/.-]+\s*){1,4})", re.IGNORECASE)
"""The purpose of a choice, where that is said right behind it."""
_QUANTIFIED: Final = re.compile(
    rf"^\W*(?P<subject>(?:{_DETERMINER}\s+)?[^.,;:!?=]{{2,60}}?)\s+(?:now\s+|currently\s+)?"
    r"(?P<verb>costs?|takes?|weighs?|lasts?|starts?|ends?|begins?|closes?|opens?|expires?|requires?|allows?)"
    r"\s+"
    r"(?:now\s+)?(?P<value>(?:on |at |by |about |up to )?(?:[$€£]?\d[\d.,:]*"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d+)"
    r"(?P<unit>[^.,;!?\d]{0,40}))(?: now)?[.!]?\s*$",
    re.IGNORECASE,
)
"""A quantity or a day that a verb gives to a thing: "the sprint ends on Friday", "the licence costs 9 euros"."""
_KIND_BEFORE_NAME: Final = re.compile(r"\b(?:[Pp]roject|[Tt]eam|[Ss]ervice) (?=[A-Z])")
"""The kind of a thing that is named: "Project Heron" is Heron."""
_NUMBER: Final = re.compile(r"^\d[\d.,:%]*$")
_QUANTITY: Final = re.compile(
    r"^(?:(?:about|around|roughly|exactly|at least|at most|at|on|by|~|v|version)\s*)*(?:[$€£¥~]?\d"
    r"|(?:jan|feb|mar|apr|may|jun|"
    r"jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve"
    r"|mon|tues|wednes|"
    r"thurs|fri|satur|sun|tomorrow|noon|midnight)[a-z]*\b(?!-))",
    re.IGNORECASE,
)
"""A value that is a number, an amount, a date or a time: of these a thing has one at a time."""
_SINGLE_VALUED_NOUNS: Final = """
    name owner lead leader manager maintainer boss reviewer author assignee contact port host hostname url
    endpoint domain address branch version release deadline date due start end birthday database db framework
    backend engine provider registry region timezone zone language editor ide shell formatter linter runner
    manager tool stack colour color theme font status priority role title job profession city country office
    location venue room topic budget price cost salary target goal limit quota timeout size weight height age
    score grade rate frequency cadence day time schedule plan style convention licence license default
    favourite favorite
"""
_SINGLE_VALUED: Final = frozenset(_SINGLE_VALUED_NOUNS.split())
"""Nouns of what a thing has one of at a time: a new one takes the place of the old."""
_VALUE_END: Final = re.compile(
    r"\s+(?:might|(?-i:may)|but|which|because|since|due|so|and I|and we|after|in order|would|could"
    r"|will|if|although|though)\b.*$",
    re.IGNORECASE,
)
_AMOUNT_BEFORE_CLAUSE: Final = re.compile(r"[^,]+(?=,\s+[^\W\d])")
"""An amount or a date, and behind a comma another clause: "April 24, the map isn't ready"."""
_MAX_VALUE_WORDS: Final = 8
_NOT_A_SUBJECT: Final = re.compile(
    r"^\W*(?:it|this|that|there|he|she|they|we|I|you|what|who|which|where|when|why|how|if|because|one|here|all|"
    r"everything|nothing|something|these|those)\b",
    re.IGNORECASE,
)
_ATTRIBUTE_JOINT: Final = re.compile(r"\s+(?:of|for|in|on|at|from|to)\s+(?:the |my |our )?", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"^(?P<owner>.+?)['’]s?\s+(?P<attribute>.+)$")
_PROJECT: Final = re.compile(
    r"\b(?:in|for|on) (?:this|the|our) (?:project|repo|repository|codebase|workspace)\b", re.I
)
_LANGUAGE: Final = re.compile(
    r"\b(?:in|for|with|writing|when using) (python|typescript|javascript|rust|golang|go|java|kotlin"
    r"|swift|ruby|php|"
    r"c\+\+|c#|scala|haskell|elixir|sql|bash|shell|css|html|markdown)(?: code| files?| modules?"
    r"| tests?)?(?=$|[\s,.;:)])",
    re.IGNORECASE,
)
_FOLDER: Final = re.compile(
    # Where things are put is what a rule says, and not where it holds.
    r"(?<!\bgo )(?<!\bgoes )(?<!\bbelong )(?<!\bbelongs )(?<!\blive )(?<!\blives )(?<!\bkept )(?<!\bstored )"
    r"\b(?:in|under|inside|for|below) [`'\"]?((?:[\w.-]+/)+[\w.-]*)[`'\"]?"
)
_PLACING: Final = re.compile(
    r"^\W*(?:(?:please|always|also)\s+)*(?:put|place|store|keep|save|move|write|create|add)\b", re.IGNORECASE
)
_TOOL: Final = re.compile(
    r"\b(?:when (?:you |we |I )?(?:use|using|run|running|call|calling)|(?:in|with|for|on)) "
    r"(git|docker|pytest|npm|pnpm|yarn|cargo|make|kubectl|terraform|bash|jira|slack|github|gitlab|vim|excel)\b",
    re.IGNORECASE,
)


_PLACE: Final = r"(?P<value>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3})"
_NEW_PLACE: Final = _PLACE.replace("value", "moved")
_OF_PERSON: Final = (
    (
        "home",
        re.compile(
            rf"\bI(?:['’]m| am)? (?:now |currently )?(?:live|living|based|reside) (?:now )?in {_PLACE}"
            rf"|\bI(?:['’]ve| have)? (?:just |recently |now )?(?:moved house|moved home|relocated) to {_NEW_PLACE}"
        ),
    ),
    ("employer", re.compile(rf"\bI (?:now |currently )?work (?:now )?(?:at|for) {_PLACE}")),
    ("diet", re.compile(r"\bI(?:['’]m| am) (?:now )?(?:an? )?(?P<value>vegetarian|vegan|pescatarian|omnivore)\b")),
)
"""Attributes of which a person has one value at a time, as the person states them."""


class Address(Struct, frozen=True):
    """The thing that a statement is about, in words and as a key for all wordings, and the value it has."""

    subject: str
    attribute: str
    value: str
    key: str
    instead: str = ""
    """The thing that is given up for the value, where a choice is made for everything."""

    def gives_same_value(self, other: "Address") -> bool:
        """Return whether two statements about one thing also say the same about it."""
        return analyze(self.value) == analyze(other.value)


def read_address(text: str) -> Address | None:
    """Return the address of a short statement, or None where its form does not show one."""
    line = " ".join(text.split())
    if not line or len(line) > _MAX_READ_CHARACTERS or line.endswith("?"):
        return None
    return (
        _read_choice(line)
        or _read_of_person(line)
        or _read_moved(line)
        or _read_named_value(line)
        or _read_quantity(line)
    )


class Change(Struct, frozen=True):
    """A change that a sentence states, as in "we moved CI from Jenkins to Drone"."""

    subject: str
    instead: str
    value: str

    def ends(self, text: str) -> bool:
        """Return whether a text says what holds no longer: it is about the same, and has only the older value."""
        terms, value = set(analyze(text)), set(analyze(self.value))
        gone = {*analyze(self.subject), *analyze(self.instead)}
        return bool(gone) and gone <= terms and not (value - gone) <= terms


def read_change(text: str) -> Change | None:
    """Return the change that a short statement tells, or None."""
    line = " ".join(text.split())
    match = _CHANGE.search(line) if len(line) <= _MAX_READ_CHARACTERS else None
    return None if match is None else Change(match["subject"], match["other"], match["value"])


def states_quantity(text: str) -> bool:
    """Return whether a short statement gives one thing a number, an amount, a date or a time."""
    address = read_address(text)
    return address is not None and address.key.startswith("of:") and bool(_QUANTITY.match(address.value))


def is_bare_choice(line: str) -> bool:
    """Return whether a line is a choice and nothing else: "4 spaces, not tabs"."""
    return _BARE_CHOICE.fullmatch(line) is not None


def chooses(text: str, thing: str) -> bool:
    """Return whether a text says that a thing is used, and no more: "we use pip"."""
    match = _PLAIN_CHOICE.fullmatch(" ".join(text.split()))
    return match is not None and bool(thing) and _bare(match["value"]) == _bare(thing)


def read_scope(text: str) -> str:
    """Return the scope that a statement names, such as `language:python`, `folder:src/api` or `project`."""
    for name, pattern in (("folder", _FOLDER), ("language", _LANGUAGE), ("tool", _TOOL)):
        match = pattern.search(text)
        if match is not None and not (name == "folder" and _PLACING.match(text)):
            return f"{name}:{match[1].rstrip('/.').lower()}"
    return "project" if _PROJECT.search(text) else ""


def _read_choice(line: str) -> Address | None:
    """Read one thing chosen over another: its address is the pair of them."""
    match = _CHOICE.search(line) or _SWITCH.search(line) or _BARE_CHOICE.fullmatch(line)
    if match is None:
        return None
    value, other = match["value"].strip(), match["other"].strip()
    pair = [_bare(value), _bare(other)]
    if not all(pair) or pair[0] == pair[1]:
        return None
    # "Tabs, not spaces, for makefiles" is another choice than the one for everything else.
    use = _USE.match(line, match.end("other") if match.re is _BARE_CHOICE else match.end())
    condition = sorted(set(analyze(use[1]))) if use is not None else []
    key = "choice:" + "|".join(sorted(pair)) + "".join(f" {term}" for term in condition)
    return Address("choice", " or ".join(sorted(pair)), value, key, "" if condition else other)


def _read_of_person(line: str) -> Address | None:
    for attribute, pattern in _OF_PERSON:
        match = pattern.search(line)
        if match is not None:
            value = match["value"] or match["moved"]
            return Address("I", attribute, value, f"person:{attribute}")
    return None


def _read_moved(line: str) -> Address | None:
    match = _MOVED.search(line)
    return None if match is None else _make_address(match["subject"], match["value"])


def _read_named_value(line: str) -> Address | None:
    match = _NAMED_VALUE.match(line)
    if match is None or _NOT_A_SUBJECT.match(match["subject"]):
        return None
    return _make_address(match["subject"], match["value"])


def _read_quantity(line: str) -> Address | None:
    """Read a quantity or day that a verb gives; another unit is another matter: 8 characters, 2 digits."""
    match = _QUANTIFIED.match(line)
    if match is None or _NOT_A_SUBJECT.match(match["subject"]):
        return None
    terms = sorted(set(analyze(match["subject"])))
    if not terms or len(terms) > _MAX_SUBJECT_TERMS:
        return None
    verb, unit = analyze(match["verb"]), analyze(match["unit"])
    key = " ".join(["of:" + " ".join(terms), *verb, *unit])
    return Address(match["subject"].strip(), match["verb"], match["value"].strip(), key)


def _make_address(subject: str, value: str) -> Address | None:
    words = subject.strip(" '\"`*")
    terms = sorted(set(analyze(_KIND_BEFORE_NAME.sub("", words))))
    value = _VALUE_END.sub("", value).strip(" '\"`*,")
    if (amount := _AMOUNT_BEFORE_CLAUSE.match(value)) and _QUANTITY.match(value):
        value = amount[0]
    if not terms or len(terms) > _MAX_SUBJECT_TERMS or not value or len(value.split()) > _MAX_VALUE_WORDS:
        return None
    owner, attribute = _split_subject(words)
    # Anything else may have several values at once: "the client is slow" takes nothing from "the client is in Go".
    is_single = not _SINGLE_VALUED.isdisjoint(re.findall(r"[a-z]+", attribute.lower()))
    if not (is_single or _QUANTITY.match(value)):
        return None
    return Address(owner, attribute, value, "of:" + " ".join(terms))


def _split_subject(words: str) -> tuple[str, str]:
    """Return the thing that has something, and what it has: "deadline of Atlas" and "Atlas' deadline" alike."""
    bare = re.sub(rf"^{_DETERMINER}\s+", "", words, flags=re.IGNORECASE)
    possessive = _POSSESSIVE.match(bare)
    if possessive is not None:
        return possessive["owner"], possessive["attribute"]
    parts = _ATTRIBUTE_JOINT.split(bare, maxsplit=1)
    if len(parts) == 2:
        return parts[1], parts[0]
    owner, _, attribute = bare.rpartition(" ")
    return owner or bare, attribute


def _bare(thing: str) -> str:
    """Return the terms of a thing without numbers: "4 spaces" and "spaces" are one choice."""
    return " ".join(term for term in analyze(thing) if not _NUMBER.match(term))
