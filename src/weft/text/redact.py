"""Take secrets out of text before anything is stored: keys, tokens, passwords, private keys.

The formats of most providers are those of detect-secrets. Its own line scanner is slow (`bench/redaction.py`) and
names what it found without saying where, so its patterns are run here and what each one matches is replaced.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Json, Node
from weft.text.spoken_secrets import KEYWORDS, TEMPLATE_SIGNS, find_spoken_secrets, has_letters_and_digits

_NO_SECRETS: Final = frozenset({"Public IP (ipv4)"})
"""Kinds that detect-secrets finds and a reader may know."""

PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\\A-Za-z0-9+/=:,.-]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\\A-Za-z0-9+/=]*)"
    r"|PuTTY-User-Key-File-\d.*?(?:Private-MAC:[^\n]*|\Z)",
    re.DOTALL,
)

TOKENS: Final[Mapping[str, tuple[str, ...]]] = {
    "Anthropic key": (r"sk-ant-[\w-]{20,}",),
    "OpenAI key": (r"sk-(?<!\wsk-)(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{32,}",),
    # The pattern of detect-secrets leaves the signature.
    "JSON Web Token": (r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*",),
    "GitHub token": (r"github_pat_\w{22,}",),
    "Google key": (r"AIza[\w-]{35}", r"GOCSPX-[\w-]{28}", r"ya29\.[\w-]{20,}"),
    "Hugging Face token": (r"hf_(?<!\whf_)[A-Za-z0-9]{30,}",),
    "NPM token": (r"npm_[A-Za-z0-9]{36}\b",),
    "Slack token": (r"xapp-\d-[\w-]{20,}", r"xox[a-z]-[\w-]{20,}"),
    "Stripe key": (r"sk_test_\w{24,}", r"rk_test_\w{24,}", r"whsec_\w{24,}"),
    "DigitalOcean token": (r"do[opr]_v1_[a-f0-9]{64}\b",),
    "Shopify token": (r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",),
    "Databricks token": (r"dapi[a-f0-9]{32}\b",),
    "Vault token": (r"hv[sbr]\.[\w-]{20,}",),
    "age key": (r"AGE-SECRET-KEY-1[0-9A-Z]{58}\b",),
}
"""Formats that detect-secrets does not have (yet); letters in front make a pattern quick to search for."""

_REST_OF_WORD: Final = re.compile(r"(?<=\w)\w+")
_AUTHORIZATION: Final = re.compile(r"\b(?:bearer|basic)\s+([\w.~+/-]{16,}=*)", re.IGNORECASE)
_NAMES: Final = (
    r"(?:api|access|auth|private)[_-]?key|secret(?:[_-]?key)?|passw(?:or)?d|passphrase|pwd|token|(?-i:[A-Z]_PASS)"
)
_UNQUOTED: Final = re.compile(rf"({_NAMES})[ \t]*[=:][ \t]*([^\s'\"`,;(){{}}<>\[\]$]{{6,}}+)(?!\()", re.IGNORECASE)
_OPTION: Final = re.compile(
    rf"--[\w-]*(?:{_NAMES})[ \t]+([^\s'\"`,;(){{}}<>\[\]$-][^\s'\"`]{{5,}})", re.IGNORECASE
)
_SECRET_NAME: Final = re.compile(rf"[\w.-]*(?:{_NAMES})", re.IGNORECASE)
ALLOWED_MARK: Final = "pragma: allowlist secret"
"""The words that keep a secret on their line, as other tools write them too: examples and test data are none."""
_MIN_SECRET_CHARACTERS: Final = 6
"""Shorter values are words and numbers more often than secrets."""
_ASSIGNS: Final = "(?:=|:|:=|=>| +|::)"
"""A part of all patterns that detect-secrets builds for `NAME = secret`: slow, and needed only where a name
stands."""
_PIECE_CHARACTERS: Final = 800
"""Half of what is searched together for quoted values: the patterns for them backtrack, so a long line is read in
overlapping pieces."""


class Redacted(Struct, frozen=True):
    """A text without its secrets, and the kind of each one that was replaced, in the order of the text."""

    text: str
    kinds: tuple[str, ...] = ()


class _Secret(Struct, frozen=True):
    start: int
    end: int
    kind: str


def redact(text: str, *, keep_lines: bool = False, prose: bool = False) -> Redacted:
    """Return the text with `[redacted: KIND]` in the place of every secret that was recognised.

    With `keep_lines`, a secret of several lines leaves as many, so that what follows keeps its line numbers.
    `prose` says that people wrote the text, who tell secrets in sentences; in code these would be names and types.
    """
    # Several patterns find the same key; joined, it is replaced once and no end of it remains.
    secrets = _join_overlapping(
        sorted(_find_secrets(text, prose), key=lambda secret: (secret.start, -secret.end, secret.kind))
    )
    if ALLOWED_MARK in text:
        secrets = [secret for secret in secrets if ALLOWED_MARK not in _line_of(text, secret)]
    if not secrets:
        return Redacted(text)
    parts: list[str] = []
    reached = 0
    for secret in secrets:
        parts += [text[reached : secret.start], f"[redacted: {secret.kind}]"]
        if keep_lines:
            parts.append("\n" * text.count("\n", secret.start, secret.end))
        reached = secret.end
    return Redacted("".join([*parts, text[reached:]]), tuple(secret.kind for secret in secrets))


def _line_of(text: str, secret: _Secret) -> str:
    """Return the line in which a secret begins."""
    end = text.find("\n", secret.start)
    return text[text.rfind("\n", 0, secret.start) + 1 : end if end >= 0 else len(text)]


def redact_node(node: Node) -> tuple[Node, tuple[str, ...]]:
    """Return the node without secrets in its title, summary, text and fields, and the kinds that were replaced."""
    title, summary, text = redact(node.title), redact(node.summary), redact(node.text)
    found = [*title.kinds, *summary.kinds, *text.kinds]
    fields = {name: _redact_value(value, name, found) for name, value in node.fields.items()}
    if not found:
        return node, ()
    return replace(node, title=title.text, summary=summary.text, text=text.text, fields=fields), tuple(found)


def _redact_value(value: Json, name: str, found: list[str]) -> Json:
    """Return a field's value without secrets; the kinds that were replaced are added to `found`."""
    if isinstance(value, str):
        # A field's name says what its value is, though the value alone has no known format.
        if _SECRET_NAME.fullmatch(name) and _is_plausible(value, name):
            found.append("secret")
            return "[redacted: secret]"
        redacted = redact(value)
        found += redacted.kinds
        return redacted.text
    if isinstance(value, Mapping):
        return {key: _redact_value(part, key, found) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_redact_value(part, name, found) for part in value]
    return value


def _find_secrets(text: str, prose: bool) -> Iterator[_Secret]:
    """Yield secrets of known formats from the whole text, and assigned values from each line with a keyword."""
    for kind, pattern in _formats().anywhere:
        for match in pattern.finditer(text):
            yield _matched_secret(match, kind, 0)
    line_start = 0
    for line in text.splitlines(keepends=True):
        lowered = line.lower()
        if any(word in lowered for word in KEYWORDS):
            yield from _find_values(line, line_start)
        if prose:
            for start, end in find_spoken_secrets(line):
                yield _Secret(line_start + start, line_start + end, "secret")
        line_start += len(line)


def _join_overlapping(secrets: Sequence[_Secret]) -> list[_Secret]:
    """Return the secrets in order, those that overlap joined under the name of the first."""
    joined: list[_Secret] = []
    for secret in secrets:
        if joined and secret.start < joined[-1].end:
            joined[-1] = replace(joined[-1], end=max(joined[-1].end, secret.end))
        else:
            joined.append(secret)
    return joined


def _matched_secret(match: re.Match[str], kind: str, offset: int) -> _Secret:
    """Return what a pattern matched; where its one group ends the match, as in `://user:(password)@`, the group.

    Providers make their keys longer over the years, so the secret reaches to the end of the word.
    """
    inner = match.re.groups == 1 and match.end() - match.end(1) <= 1
    start, end = match.span(1) if inner else match.span()
    if rest := _REST_OF_WORD.match(match.string, end):
        end = rest.end()
    found = match.string[start:end]
    left = len(found) - len(found.lstrip(" \t\r\n=:\"'"))
    right = len(found) - len(found.rstrip(" \t\r\n\"'"))
    return _Secret(offset + start + left, offset + end - right, kind)


def _find_values(line: str, line_start: int) -> Iterator[_Secret]:
    """Yield the values that a line gives to something that is named like a secret."""
    for kind, pattern in _formats().assigned:
        for match in pattern.finditer(line):
            yield _matched_secret(match, kind, line_start)
    for match in _AUTHORIZATION.finditer(line):
        if has_letters_and_digits(match[1]):
            yield _Secret(line_start + match.start(1), line_start + match.end(1), "authorization")
    for match in _UNQUOTED.finditer(line):
        if _is_plausible(match[2], match[1]):
            yield _Secret(line_start + match.start(2), line_start + match.end(2), "secret")
    for match in _OPTION.finditer(line):
        if has_letters_and_digits(match[1]):
            yield _Secret(line_start + match.start(1), line_start + match.end(1), "secret")
    if any(quote in line for quote in "'\"`"):
        for start in range(0, len(line), _PIECE_CHARACTERS):
            # Twice the step, so that a value on the border of two pieces is whole in one of them.
            yield from _find_quoted(line[start : start + 2 * _PIECE_CHARACTERS], line_start + start)


def _find_quoted(piece: str, offset: int) -> Iterator[_Secret]:
    """Yield the quoted values of a short line, or of a piece of a long one."""
    for pattern, group in _keyword_patterns():
        for match in pattern.finditer(piece):
            # A quoted value is judged as if its name were a constant's: it needs no digit.
            if _is_plausible(match[group], "QUOTED"):
                yield _Secret(offset + match.start(group), offset + match.end(group), "secret")


def _is_plausible(value: str, name: str) -> bool:
    """Return whether a value given to a name like a secret's is one, not a word, a variable or a template."""
    if (
        len(value) < _MIN_SECRET_CHARACTERS
        or not value.isprintable()
        or any(character.isspace() for character in value)
    ):
        return False
    if value[0] in TEMPLATE_SIGNS or not any(character.isalpha() for character in value) or "://" in value:
        return False
    # `token: string` is documentation, while a constant in capitals is mostly set to a real value.
    return name.isupper() or any(character.isdigit() for character in value)


class _Formats(Struct, frozen=True):
    """The known formats by kind: those to look for anywhere, and those that name what they set."""

    anywhere: tuple[tuple[str, re.Pattern[str]], ...]
    assigned: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _formats() -> _Formats:
    """Return our own formats and those of detect-secrets."""
    # Loading the detector is slow, so only commands that store what people wrote pay for it.
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    kinds: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    known = [
        (kind, pattern)
        for kind, detector in sorted(kinds.items())
        if issubclass(detector, RegexBasedDetector) and kind not in _NO_SECRETS
        for pattern in detector.denylist
    ]
    own = [(kind, re.compile(pattern)) for kind, patterns in TOKENS.items() for pattern in patterns]
    assigned = tuple(known_format for known_format in known if _ASSIGNS in known_format[1].pattern)
    anywhere = (known_format for known_format in known if known_format not in assigned)
    return _Formats((("private key", PRIVATE_KEY), *own, *anywhere), assigned)


@cache
def _keyword_patterns() -> Sequence[tuple[re.Pattern[str], int]]:
    """Return the detector's patterns for quoted values that are given to a name, and which group is the value."""
    from detect_secrets.plugins.keyword import QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP

    return tuple(QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP.items())
