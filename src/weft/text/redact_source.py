"""Take secrets out of code and documents: fewer patterns than for what people paste, and hardly ever a wrong one.

Test data, hashes and ids look like secrets; here a value counts as one by a prefix that providers give their keys,
or by the name it is given to together with how random it looks.
"""

import math
import re
from collections import Counter
from typing import Final

from weft.text.redact import PRIVATE_KEY, TOKENS, Redacted

_PREFIXED: Final = (
    *(pattern for patterns in TOKENS.values() for pattern in patterns),
    r"(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"gh[oprsu]_[A-Za-z0-9]{36,}",
    r"glpat-[\w-]{20,}",
)
_KNOWN: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _PREFIXED))
_NAME: Final = (
    r"(?P<name>[\w.-]*?(?:secret|passw(?:or)?d|passphrase|\bpwd|_pwd|token|credential|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key)\w*)"
)
_ASSIGNED: Final = re.compile(
    rf"{_NAME}[\"'`]?\s*(?::\s*\w+\s*)?(?P<sign>=>|:=|=|:)\s*(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;<>(){{}}\[\]]{{8,200}})(?P=quote)",
    re.IGNORECASE,
)
_SAID: Final = re.compile(
    r"\b(?P<name>password|passphrase|passcode)\s+(?:is|was)\s*:?\s+[\"'`“]?(?P<value>[^\s\"'`”,;<>()]{6,100})",
    re.IGNORECASE,
)
_IN_ADDRESS: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]+://[^\s:/@\"']{1,64}:(?P<value>[^\s:/@\"'{}$<>%]{8,100})@", re.IGNORECASE
)
_HARMLESS_NAME: Final = re.compile(
    r"(?:^|[_.-])(?:id|ids|hash|digest|checksum|sha\d*|public|type|kind|name|url|uri|path|file|field|header|regex|re|pattern"
    r"|env|var|endpoint|length|len|size|count|limit|index|expires?|expiry|ttl)$|public[_-]?key|tokeni[sz]e|tokenizer",
    re.IGNORECASE,
)
"""Names around a secret's that hold no secret: `token_id`, `password_hash`, `secret_name`."""
_EXAMPLE: Final = re.compile(
    r"example|changeme|your|dummy|placeholder|xxxx|\*\*\*|…|test|sample|password|secret", re.I
)
_TEMPLATE: Final = re.compile(r"^[$%]|\[redacted|%\d|://|\\")
"""Variables, escapes and addresses, which hold a secret elsewhere."""
_REFERENCE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:[./:-][A-Za-z_$][\w$]*)*")
"""A variable, an attribute or a dashed word: code that refers to a secret and holds none."""
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[-_.][A-Za-z]*\d*)+")
"""Words with dashes and a number, such as `demo-token-1`: somebody made them up."""
_KEYWORDS: Final = re.compile(
    r"secret|passw|passphrase|passcode|pwd|token|credential|api[_-]?key|_key|akia|asia|gh[oprsu]_|glpat-|:[^\s/:]{8,}@"
    r"|sk-|xox|xapp-|eyj|aiza|gocspx|ya29|hf_|npm_|whsec_|[sr]k_|do[opr]_v1|shp|dapi|hv[sbr]\.|github_pat"
)
"""Words of a line with a secret; most files are done after this one search."""
_MIN_KEY_CHARACTERS: Final = 16
_MIN_KEY_BITS: Final = 3.0
"""Bits of entropy a character of a key: words of a language have less, hexadecimal keys about 3.7, base64 5."""


def redact_source(text: str) -> Redacted:
    """Return the text with `[redacted: KIND]` for each secret; lines keep their numbers."""
    found: list[str] = []
    if "PRIVATE KEY" in text or "PuTTY-User-Key" in text:
        text = PRIVATE_KEY.sub(lambda match: _replace_key(match, found), text)
    lowered = text.lower()
    parts: list[str] = []
    reached = 0
    for match in _KEYWORDS.finditer(lowered):
        start = text.rfind("\n", 0, match.start()) + 1
        if start < reached:
            continue
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        line = text[start:end]
        redacted = _redact_line(line, found)
        if redacted != line:
            parts += [text[reached:start], redacted]
            reached = end
    return Redacted("".join([*parts, text[reached:]]), tuple(found)) if found else Redacted(text)


def _redact_line(line: str, found: list[str]) -> str:
    line = _KNOWN.sub(lambda match: _note(found, "key"), line)
    for pattern in (_ASSIGNED, _SAID, _IN_ADDRESS):
        line = pattern.sub(lambda match: _replace_value(match, found), line)
    return line


def _note(found: list[str], kind: str) -> str:
    found.append(kind)
    return f"[redacted: {kind}]"


def _replace_key(match: re.Match[str], found: list[str]) -> str:
    # A header that stands alone, as in code that looks for keys, holds none.
    if "\n" not in match[0].strip() and "\\n" not in match[0]:
        return match[0]
    return _note(found, "private key") + "\n" * match[0].count("\n")


def _replace_value(match: re.Match[str], found: list[str]) -> str:
    groups, value = match.groupdict(), match["value"].rstrip(".!?")
    # Code may give a variable to a password; quoted, behind a colon, in prose and in addresses stand values.
    may_be_code = groups.get("sign", ":") != ":" and not groups.get("quote")
    if not _is_secret(groups.get("name") or "password", value, may_be_code):
        return match[0]
    start = match.start("value") - match.start()
    return match[0][:start] + _note(found, "secret") + match[0][start + len(value) :]


def _is_secret(name: str, value: str, may_be_code: bool) -> bool:
    """Return whether a value that is given to a name is a secret, by both of them."""
    if _HARMLESS_NAME.search(name) or _TEMPLATE.search(value) or (may_be_code and _REFERENCE.fullmatch(value)):
        return False
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    if _is_random(value):
        return True
    # A password may be short; anything else is long and looks random.
    return "pass" in name.lower() and _EXAMPLE.search(value) is None and "." not in value


def _is_random(value: str) -> bool:
    if len(value) < _MIN_KEY_CHARACTERS or not any(map(str.isdigit, value)) or _WORDS.fullmatch(value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _MIN_KEY_BITS
