"""Find the secrets that people tell in sentences and in commands they paste: "the staging password is …"."""

import re
from collections.abc import Iterator
from typing import Final

from weft.text.terms import STOP_WORDS

KEYWORDS: Final = (
    *("key", "pass", "pwd", "secret", "token", "contrase", "bearer", "basic ", "pw"),
    *(" pin", "pin ", "pin:", "cred", "login", "log-in", "account", "kennwort", "senha"),
    *("wachtwoord", "lösenord", "hasło", "парол", "密码", "密碼", "パスワード", "비밀번호"),
)
"""A line without one of these gives nothing a secret, so the slow patterns need not run on it."""
_SPOKEN_KEYWORDS: Final = (
    *KEYWORDS,
    *("log in", "sign in", "curl", "mysql", "redis-cli", "combination", "phrase", "mnemonic"),
    *(
        "door code",
        "gate code",
        "alarm code",
        "entry code",
        "safe code",
        "lock code",
        "lockbox code",
        "garage code",
    ),
    *(
        "building code",
        "access code",
        "security code",
        "2fa code",
        "mfa code",
        "otp code",
        "backup code",
        "recovery code",
    ),
)
"""The same for what is told in a sentence."""
TEMPLATE_SIGNS: Final = frozenset("$%<{[*")
"""First characters of values that stand for a secret and are none: variables, placeholders, asterisks."""
_BARE: Final = r"[^\s\"'`“”‘’]"
_VALUE: Final = rf"(?:(?P<quote>[\"'`“‘])(?P<quoted>[^\"'`“”‘’\n]{{4,80}})[\"'`”’]?|(?P<value>{_BARE}{{4,}}))"
_DOORS: Final = (
    r"(?:door|gate|alarm|entry|safe|lock|lockbox|garage|building|access|security|2fa|mfa|otp|backup)"
    r" code|combination"
)
_NAMES: Final = (
    # A name in capitals ends like one (`DB_PASSWORD is …`), so an underscore may stand before it.
    r"(?<![^\W_])(?P<name>pass(?:word|phrase|code|wd|wort)|kennwort|mot de passe|contraseña|senha|wachtwoord"
    r"|lösenord(?:et)?|hasło|пароль|pwd?|pass(?=:)|(?:db|database|root|admin|wi-?fi|sudo|ssh|ftp|smtp|vpn) pass"
    rf"|pin(?: code)?|{_DOORS}"
    r"|(?:api|access|secret|private|licen[cs]e|recovery|encryption|ssh|account|signing)[ _-]?key"
    r"|(?:access|auth|api|bearer|refresh|session)?[ _-]?token"
)
_TOLD: Final = re.compile(
    rf"{_NAMES}|secret|cred(?:ential)?s?|login)s?\b"
    r"[^.\n=:\"'`]{0,40}?(?:\s(?:is|was|are|were|to|reads|says|equals|ist|war|lautet|est|es|é|è|är|это|has)"
    r"(?: now| still| just| again| been| (?:changed|re-?set|set|updated|rotated) to){0,2}\s+"
    r"|:\s+|\s+(?:=>?|->|→|⇒)\s+)"
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""A secret told in a sentence: "the staging password is …", "use the api key: …"."""
_TOLD_BEFORE: Final = re.compile(
    rf"(?<!\S){_VALUE}\s+(?:is|was|as)\s+(?:(?:the|our|my|your|its|a)\s+)?(?:[\w-]+\s+){{0,3}}?{_NAMES})"
    # What the name is but a part of is no secret: "sha256 is the password hash".
    r"(?=\s*(?:[.,;!?)]|$|(?:for|of|to|on|in|at|and|there|here)\b))",
    re.IGNORECASE,
)
"""A secret told before its name: "… is the staging password"."""
_LOGIN: Final = re.compile(
    r"\b(?P<name>log[ -]?in|sign[ -]?in|cred(?:ential)?s?|account)\b"
    r"[^.\n=:/]{0,30}?(?:\s(?:is|are|was|were|with|as|using)|\s?[:=])\s+"
    r"[\w.@+-]+\s?[/:|]\s?(?P<value>[^\s\"'`“”‘’]{4,})",
    re.IGNORECASE,
)
"""The second of a pair of a user's name and a password: "the login is admin / …"."""
_NAMED_KEY: Final = re.compile(
    # Before it may stand an underscore: `AWS_SECRET_ACCESS_KEY …`.
    r"(?<![^\W_])(?P<name>(?:api|access|secret|licen[cs]e|auth)[ _-](?:key|token)"
    r"|password|passphrase|passwort|passcode|pwd?"
    # A token is also a word of a text, and what follows one is then a name with signs in it.
    r"|token(?=\s+[A-Za-z0-9+]{12,}=*(?![\w./-])))\s+"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{4,80})|(?P<value>[^\s\"'`]{6,}))",
    re.IGNORECASE,
)
"""A key that follows its name directly: "api key 8f3k…"."""
_USER_AND_PASS: Final = re.compile(
    rf"\b(?:user(?:name)?|login):?\s+\S+[,;]?\s+(?:and\s+|/\s+)?(?P<name>pass(?:word)?):?\s+(?P<value>{_BARE}{{4,}})",
    re.IGNORECASE,
)
"""The second of a user's name and a password that both are named: "user jo, pass …"."""
_BARE_KEY: Final = re.compile(
    r"\bkey\b[^.\n=:\"'`]{0,40}?(?:\s(?:is|was)(?: now)?\s+|:\s+|\s)(?P<value>[\w-]{12,})(?![\w./-])",
    re.IGNORECASE,
)
"""A key of which nothing says what it opens, but that looks like one."""
_POSSESSED: Final = re.compile(
    rf"(?P<name>\bpass(?:word|phrase|code)|\bpwd?|\bpin)['’]s\s+(?:now\s+|still\s+)?(?P<value>{_BARE}{{4,}})"
    r"(?=\s*$|\s+(?:for|on|and|now)\b)",
    re.IGNORECASE,
)
"""A secret told with a shortened "is": "my password's …"."""
_GIVEN_UP: Final = re.compile(
    rf"{_NAMES})s?\b[^.\n=:\"'`]{{0,40}}?\sfrom\s+(?P<value>{_BARE}{{4,}})\s+to\s+{_BARE}{{4,}}", re.IGNORECASE
)
"""The secret that another one took the place of: "changed the password from … to …"."""
_PLAIN_WORD: Final = re.compile(
    r"(?<![^\W_])(?P<name>pass(?:word|phrase|code|wort)|kennwort|mot de passe|contraseña|senha|pwd?)"
    r"[^.\n=:\"'`,]{0,40}?(?:\s(?:is|was|ist|lautet|est|es)(?: now| still)?\s+|:\s+)"
    r"(?P<value>[^\W\d_]{5,24})(?=[.!)]?\s*$|,\s|\.\s)",
    re.IGNORECASE,
)
"""A password that is a plain word, which ends its sentence: "the password is swordfish"."""
_WITHOUT_VERB: Final = re.compile(
    r"\b(?P<name>pass(?:word|phrase|code|wort)|kennwort|mot de passe|contraseña|senha|wachtwoord"
    r"|lösenord|hasło|пароль)(?:[ :]+[^\W\d_]+){0,4}?[ :]+"
    r"(?P<value>(?=\S*\d)(?=\S*[^\W\d_])(?=\S*[!#$%&@^]\w)(?!\S+@\S+\.\w)[^\s/<{(\[]{6,40})(?=\s|$)"
    rf"|\b(?:{_DOORS})\s+(?P<digits>\d{{4,8}})(?=[#*]?[.,;!]?(?:\s|$))",
    re.IGNORECASE,
)
"""A value of letters, digits and a sign within behind a password's name, or digits behind a door's: neither needs
a verb."""
_WITHOUT_BLANKS: Final = re.compile(
    r"(?:密码|密碼|パスワード|비밀번호)\s?(?:[是为為はが는은]|[:：])?\s*(?P<value>[!-~]{4,40})"
)
"""A password in a script that has no blanks between words."""
_WORDS: Final = re.compile(
    r"\b(?P<name>passphrase|(?:recovery|seed|secret|backup) phrase|mnemonic)\b"
    r"[^.\n=:\"'`]{0,40}?(?:\s(?:is|was)\s+|:\s+)"
    r"(?P<value>[^\W\d_]+(?: [^\W\d_]+){3,23})(?=[.!]?\s*$)",
    re.IGNORECASE,
)
"""A secret of several words: "the passphrase is correct horse …"."""
_CODES: Final = re.compile(
    r"\b(?P<name>(?:backup|recovery|2fa|mfa|otp|one-time) codes?)\b[^.\n=:\"'`]{0,30}?(?:\s(?:is|are)\s+|:\s*)"
    r"(?P<value>[\w-]*\d[\w-]{3,}(?:,?\s+(?:and\s+)?[\w-]*\d[\w-]{3,})*)",
    re.IGNORECASE,
)
"""Codes that stand in for a second factor, one or several."""
_IN_COMMAND: Final = re.compile(
    r"\b(?:curl\b[^\n|;]*?\s(?:-u|--user)[ =]?['\"]?[\w.@%+-]+:|mysql(?:dump|admin)?\b[^\n|;]*?\s-p"
    r"|sshpass\s+-p\s*['\"]?|docker login\b[^\n|;]*?\s-p\s*['\"]?|redis-cli\b[^\n|;]*?\s-a\s*['\"]?)"
    r"(?P<value>[^\s'\"`$<{]{4,})"
)
"""A password that a client's command line holds."""
_PATTERNS: Final = (_TOLD, _TOLD_BEFORE, _LOGIN, _NAMED_KEY, _USER_AND_PASS, _POSSESSED, _GIVEN_UP)
_PIN: Final = re.compile(rf"pin\b|passcode|{_DOORS}", re.IGNORECASE)
"""Names of secrets that are digits alone."""
_PATH: Final = re.compile(r"[~.]{0,2}(?:/[\w.{}:-]+){2,}/?")
_ALGORITHM: Final = re.compile(
    r"(?:nist|fips|rsa|dsa|ecdsa|ed|x|curve|aes|sha|md|hmac|pbkdf|bcrypt|scrypt|argon|chacha|jwt|oauth|oidc|totp|hotp"
    r"|fido|pkcs|base|utf|es|rs|hs|ps|tls|ssl|v|rfc|iso|http|ipv)[-_/.]?\d[\w.]{0,6}(?:[-_/.]\w{1,8}){0,3}",
    re.IGNORECASE,
)
"""Names of algorithms, standards and versions: the ssh key is ed25519, and that is no secret."""
_LETTER_BESIDE_DIGIT: Final = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_MIN_CHANGES: Final = 4
"""Changes between letters and digits from which on a word is random: names and versions have fewer."""
_MIN_CHARACTERS: Final = 4
"""Characters of a secret that a sentence names as one; a PIN has four."""
_MAX_PLAIN_WORD: Final = 24
"""A longer run of plain letters is no word of a sentence."""
_MIN_MNEMONIC_WORDS: Final = 12
"""Words of a phrase that restores a wallet; it may hold fillers, where a passphrase holds none."""
_STATES_OF_PASSWORDS: Final = """
    absent again alone always anyway bytes char correct default different either elsewhere empty enough every false
    field fields first fresh gone hash hashes here identical integer known later long login longer mandatory maybe
    missing mixed needed never nothing null number object optional plain plaintext present private public random
    right safe salted same secret sent short shown shorter simple soon spoken stale strict string strong system
    temporary text there today tomorrow true twice unique unknown unsafe valid varchar visible weak wrong yours
"""
_STATES: Final = frozenset(_STATES_OF_PASSWORDS.split())
"""Words that say how a password is, or of what type, and not what it is."""
_STATE_ENDING: Final = re.compile(
    r"(?:ed|en|ing|able|ible|ive|ful|less|ly|ous|ary|ory|ent|ant|ical|onal|id|wn|cht|iert|ert|ich|oire|é|ée|do|da)\Z",
    re.IGNORECASE,
)
"""Endings of words for a state: required, hidden, expiring, invalid, and the like in other languages."""


def find_spoken_secrets(line: str) -> Iterator[tuple[int, int]]:
    """Yield where the secrets begin and end that a line of prose tells."""
    lowered = line.lower()
    if not any(word in lowered for word in _SPOKEN_KEYWORDS):
        return
    for pattern in _PATTERNS:
        for match in pattern.finditer(line):
            is_quoted = bool(match.groupdict().get("quote"))
            group = "quoted" if is_quoted else "value"
            value = match[group] if is_quoted else match[group].rstrip(".,;:!?)]}”’*_")
            # Quoted values that are assigned are found by other patterns; one before its name may be an example.
            is_meant = (
                is_quoted
                and "=" not in line[match.end("name") : match.start(group)]
                and pattern is not _TOLD_BEFORE
            )
            if _looks_told(value, is_meant=is_meant, is_pin=bool(_PIN.match(match["name"]))):
                yield match.start(group), match.start(group) + len(value)
    for match in _PLAIN_WORD.finditer(line):
        if _looks_like_plain_password(match["value"]):
            yield match.span("value")
    for match in _WORDS.finditer(line):
        words = match["value"].lower().split()
        if len(words) >= _MIN_MNEMONIC_WORDS or (match["name"].lower() == "passphrase" and _are_telling(words)):
            yield match.span("value")
    for match in _BARE_KEY.finditer(line):
        if len(_LETTER_BESIDE_DIGIT.findall(match["value"])) >= _MIN_CHANGES:
            yield match.span("value")
    for pattern in (_CODES, _IN_COMMAND, _WITHOUT_BLANKS, _WITHOUT_VERB):
        for match in pattern.finditer(line):
            yield match.span(match.lastgroup or "value")


def has_letters_and_digits(value: str) -> bool:
    """Return whether a value mixes both, as keys do and words do not."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _looks_told(value: str, *, is_meant: bool, is_pin: bool) -> bool:
    """Return whether a word of a sentence is a secret: no plain word, number, path, placeholder or name of
    code."""
    if len(value) < _MIN_CHARACTERS or value[0] in TEMPLATE_SIGNS or "://" in value:
        return False
    # Brackets make a type or a call of it.
    if any(sign in value for sign in "[](){}<>") or _PATH.fullmatch(value) or _ALGORITHM.fullmatch(value):
        return False
    if value.isdigit():
        return is_pin
    if is_meant:
        # What is quoted is meant as it stands, but for a name in capitals, which is a variable's.
        return not value.replace("_", "").isupper()
    if value.isalpha():
        return len(value) > _MAX_PLAIN_WORD
    inner = value[1:-1]
    has_sign = any(not character.isalnum() and character not in "-_./'’,:=" for character in inner)
    return has_letters_and_digits(value) or has_sign or (is_pin and value.rstrip("#*").replace("-", "").isdigit())


def _looks_like_plain_password(word: str) -> bool:
    """Return whether a word after "the password is" is one, and does not say how the password is."""
    lowered = word.lower()
    return lowered not in STOP_WORDS and lowered not in _STATES and not _STATE_ENDING.search(lowered)


def _are_telling(words: list[str]) -> bool:
    """Return whether no word is a filler: a sentence has some, a passphrase has none."""
    return STOP_WORDS.isdisjoint(words)
