"""Recognise text that reads like instructions to a model: it overrides others, gives a role, or asks for secrecy.

The text of any source may be read by a model, so somebody may write it for one. The patterns here are phrases that
hardly occur in text for people; each has examples, and innocent sentences that come near, in its test. What they
find is a hint for the reader and no proof, and what they miss is not safe.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

_MAX_CHARACTERS: Final = 400_000
"""Characters of a text that are looked at, so that one enormous file costs milliseconds and not seconds."""
_MAX_DECODED: Final = 20
"""Runs of base64 that are decoded: a file of data has thousands, and none of them speaks."""


class Instruction(StrEnum):
    """The ways in which a text can speak to a model; the values are words for a mark."""

    OVERRIDE = "overrides other instructions"
    ROLE = "gives a model a role"
    ADDRESS = "speaks to a model"
    FRAME = "imitates the frame of a prompt"
    PROMPT = "asks for a prompt"
    SECRECY = "asks to hide something from the user"
    DISCLOSURE = "asks to send data away"
    CONDUCT = "says what a model should answer or do"


_MODEL: Final = (
    r"(?:(?:an?|the|any|all|every)\s+)?(?:ai|a\.i\.|llms?|gpt(?:-\d\w*)?|chatgpt|(?:large\s+)?language\s+models?"
    r"|chatbots?|(?:ai|coding|autonomous|virtual)[\s-]+(?:agents?|assistants?|models?|systems?|reviewers?))"
)
_STRICT_ORDERS: Final = r"(?:instructions?|prompts?|directives?|guidelines?|programming|system\s+messages?)"
_ORDERS: Final = (
    rf"(?:{_STRICT_ORDERS}|directions?|rules?|commands?|orders?|constraints?|restrictions?|guardrails?|training)"
)
_EARLIER: Final = (
    r"(?:previous(?:ly)?|prior|preceding|earlier|above|foregoing|initial|original|former|past|other|system|given)"
)
_FILLER: Final = r"(?:all|any|every|each|and|or|of|the|these|those|my|our|previous|prior|earlier|above|other)"
_DROP: Final = r"(?:ignore|disregard|forget|overrule|neglect|discard|stop\s+following|pay\s+no\s+attention\s+to)"
# "You can ignore the previous instructions" stands in many an installation guide.
_PERMITTED: Final = re.compile(r"\b(?:can|may|safely|to|will|that|which|who)\s$")
_BEGINNING: Final = re.compile(r"(?:^|[.!?:;,(\"'“‘>*\]\n-]\s*|\b(?:and|but|please|now|must|should|then)\s)$")
_MAX_BEFORE: Final = 12
"""Characters before a phrase that are looked at: the word or the mark in front of it."""
_USER: Final = r"(?:the|your|any)\s+(?:users?|humans?|operators?)\b(?!['’]s)"

_FOREIGN: Final = (
    r"\b(?:ignoriere?(?:n\s+sie)?|vergiss|vergessen\s+sie|missachte)\s+(?:\w+\s+){0,3}"
    r"(?:vorherigen?|bisherigen?|früheren?|obigen?|vorigen?|deine)\s+(?:\w+\s+)?"
    r"(?:anweisung(?:en)?|instruktionen|befehle|regeln|vorgaben)\b"
    r"|\b(?:ignore[sz]?|ignorer|oublie[sz]?|oublier)\s+(?:\w+\s+){0,3}(?:instructions|consignes|directives|règles)"
    r"\s+(?:\w+\s+)?(?:précédentes|antérieures|ci-dessus|initiales)\b"
    r"|\b(?:ignora|ignore|olvida|olvide|omite)\s+(?:\w+\s+){0,3}(?:instrucciones|indicaciones|órdenes|reglas)\s+"
    r"(?:anteriores|previas|de\s+arriba)\b"
    r"|\b(?:ignora|ignorate|dimentica|dimenticate)\s+(?:\w+\s+){0,3}(?:istruzioni|indicazioni|regole)\s+"
    r"(?:precedenti|anteriori|di\s+cui\s+sopra)\b"
    r"|\b(?:ignore|esqueça|desconsidere)\s+(?:\w+\s+){0,3}(?:instruções|regras|orientações)\s+"
    r"(?:anteriores|prévias|acima)\b"
    r"|\b(?:negeer|vergeet)\s+(?:\w+\s+){0,3}(?:vorige|eerdere|bovenstaande)\s+(?:instructies|opdrachten|regels)\b"
    r"|\b(?:игнорируй(?:те)?|забудь(?:те)?)\s+(?:\w+\s+){0,3}(?:предыдущие|прежние|прошлые|вышеуказанные)\s+"
    r"(?:инструкции|указания|команды|правила)\b"
    r"|(?:忽略|无视|忘记|忘掉|不要理会)(?:你|您)?的?(?:所有|一切|全部)?(?:之前|以上|前面|上面|先前|此前)的?"
    r"(?:所有|一切|全部)?的?(?:指令|指示|提示|说明|规则)"
    r"|(?:これまで|以前|上記|今まで|先ほど)の(?:すべての|全ての)?(?:指示|命令|指令|プロンプト|ルール)(?:は|を)?"
    r"(?:すべて|全て)?(?:無視|忘れ)"
    r"|(?:이전|위의|앞의|지금까지의)\s*(?:모든\s*)?(?:지시|명령|지침|프롬프트)(?:사항)?(?:은|는|을|를)?\s*(?:모두\s*)?(?:무시|잊)"
)
"""Overrides in other languages: those that a model reads as well as English."""
_FOREIGN_VERBS: Final = (
    *(
        "ignor",
        "vergiss",
        "vergessen",
        "missachte",
        "oubli",
        "olvid",
        "omite",
        "dimentic",
        "esqueça",
        "desconsidere",
    ),
    *("negeer", "vergeet", "игнориру", "забудь", "忽略", "无视", "忘", "不要理会", "無視", "무시", "잊"),
)
"""The beginnings of their verbs: a text without any of them needs no closer look."""
_ANYWHERE: Final[tuple[tuple[Instruction, str], ...]] = (
    (
        Instruction.OVERRIDE,
        rf"\b{_DROP}\s+(?:(?:all|any|every|each|of|the|about)\s+){{0,3}}your\s+(?:\w+\s+){{0,2}}{_ORDERS}\b"
        rf"|\b{_DROP}\s+(?:everything|anything|all|what(?:ever)?)\s+(?:that\s+)?(?:you(?:'ve|\s+(?:were|have|had))"
        r"\s+(?:been\s+)?(?:told|given|instructed|taught)|(?:above|before)\s+(?:this|and\b))"
        rf"|\b(?:do\s+not|don'?t|stop|no\s+longer)\s+(?:follow|obey)(?:ing)?\s+(?:{_FILLER}\s+){{0,3}}"
        rf"(?:your|{_EARLIER})\s+(?:\w+\s+){{0,2}}{_STRICT_ORDERS}\b"
        rf"|\b(?:these|the\s+following|my)\s+{_ORDERS}\s+(?:override|supersede|replace|take\s+precedence\s+over)\s+"
        rf"(?:{_FILLER}\s+){{0,3}}(?:your|{_EARLIER})\s+(?:\w+\s+){{0,2}}{_ORDERS}\b"
        rf"|\byour\s+(?:{_EARLIER}\s+)?{_ORDERS}\s+(?:are|have\s+been)\s+(?:now\s+)?"
        r"(?:void|cancelled|canceled|revoked|overridden|suspended|replaced)\b",
    ),
    (
        Instruction.ROLE,
        r"\byou\s+are\s+(?:now|no\s+longer|henceforth)\s+(?:dan\b|(?:an?|the|my)?\s*(?:[\w-]+\s+){0,3}"
        r"(?:ai|assistant|chatbot|language\s+model|llm|hacker|persona)\b(?!\s+(?:of|manager|professor|editor))"
        r"|(?:in\s+)?(?:developer|god|jailbreak|unrestricted|dan|sudo|debug|maintenance)\s+mode"
        r"|free\s+(?:from|of)\s+(?:all\s+|any\s+|your\s+)*(?:rules|restrictions|guidelines|limitations|constraints)"
        r"|unrestricted|unfiltered|uncensored|jailbroken|bound\s+by)"
        r"|\bfrom\s+now\s+on,?\s+you\s+(?:are\s+(?:an?|the|no\s+longer|my)\b|(?:will|must|shall|should|only)\s+(?:only\s+)?"
        r"(?:act|answer|respond|reply|obey|behave|speak|pretend|ignore)\b)"
        r"|\b(?:pretend|imagine|act|behave|respond|answer)\s+(?:to\s+be|that\s+you\s+are|you\s+are|as\s+if\s+you\s+(?:are|were|had)"
        r"|as(?:\s+though\s+you\s+were)?)\s+(?:an?\s+|the\s+|my\s+)?(?:[\w-]+\s+){0,2}"
        r"(?:ai|assistant\b(?!\s+(?:manager|professor|editor|coach))|chatbot|language\s+model|dan|jailbroken\s+\w+|linux\s+terminal)\b"
        r"|\bas\s+if\s+you\s+(?:have|had|were\s+under)\s+no\s+(?:rules|restrictions|guidelines|limitations|filters?)\b"
        r"|\b(?:enable|enter|activate|switch\s+(?:in)?to)\s+(?:dan|jailbreak|unrestricted|uncensored|unfiltered)\s+mode\b"
        r"|\bdo\s+anything\s+now\b",
    ),
    (
        Instruction.ADDRESS,
        rf"\bif\s+you\s+are\s+{_MODEL}(?:\s*[,.:;]|\s+(?:and|reading|processing|parsing|summari[sz]ing|analy[sz]ing|then)\b)"
        rf"|\b(?:note|message|attention|important|instructions?|notice|reminder|memo)\s*(?:to|for|:|,)\s*{_MODEL}"
        r"(?:\s+(?:reading|processing|parsing)\s+this(?:\s+\w+)?)?\s*(?:[:,!.]|\s-\s|$)"
        rf"|\b{_MODEL}\s+(?:that\s+(?:is|are)\s+|who\s+(?:is|are)\s+)?(?:reading|processing|parsing|summari[sz]ing|"
        r"reads?|reviewing)\s+(?:this|these|the)\s+\w+[^.\n]{0,30}\b(?:must|should|shall|has\s+to|have\s+to|please)\b"
        r"|\b(?:dear|hey|hello|attention)\s+(?:ai|chatgpt|assistant|language\s+model|llm|chatbot)\s*[,:!]",
    ),
    (
        Instruction.FRAME,
        r"<[|｜](?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|eom_id|begin_of_text)[|｜]>"
        r"|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"
        r"|</?(?:system[-_](?:reminder|prompt|message)|tool_results?|function_(?:calls|results?)|untrusted[-_]\w+)>"
        r"|^[\s#*>_-]*(?:system|developer|assistant|admin)(?:\s+(?:message|prompt|note|override|instructions?))?\s*[*_]*:[*_]*\s*"
        r"(?:you\s+(?:are|must|will|should|have)|ignore|disregard|forget|from\s+now\s+on|new\s+instructions?|the\s+user\s+(?:has|is|wants))\b"
        r"|\b(?:system|admin(?:istrator)?|developer|security|root)\s+override\s*[:!]"
        r"|\bnew\s+(?:system\s+)?(?:instructions?|directives?|prompt)\s*(?:for\s+you\s*)?:\s*"
        r"(?:you|ignore|disregard|forget|instead|from\s+now|do\s+not|always|never|please|reply|respond|say|send|run|print|output)\b"
        r"|^#{2,}\s*instructions?:\s*$"
        r"|[-=#*\[<]{2,}\s*(?:begin|start|end)(?:ing)?\s*(?:of\s+)?(?:the\s+)?(?:system\s+(?:prompt|message|instructions)"
        r"|untrusted\s+\w+|user\s+(?:prompt|message|input)|retrieved\s+\w+|context)\b",
    ),
    (
        Instruction.PROMPT,
        r"\b(?:reveal|print|show|repeat|output|display|leak|expose|disclose|recite|dump|tell\s+me|give\s+me|write\s+out|"
        r"what\s+(?:is|are|was|were))\s+(?:me\s+)?(?:(?:all|of|the|exact|full|out|verbatim)\s+){0,4}your\s+"
        r"(?:(?:exact|full|entire|complete)\s+)?(?:system\s+(?:prompt|message|instructions?)|"
        r"(?:initial|hidden|original|secret|previous|internal)\s+(?:prompts?|instructions?|messages?|guidelines|rules))\b"
        r"|\brepeat\s+(?:all\s+(?:of\s+)?)?(?:everything|the\s+(?:words|text))\s+above\b",
    ),
    (
        Instruction.SECRECY,
        rf"\bwithout\s+(?:ever\s+)?(?:telling|mentioning\s+(?:this|it|that)\s+to|asking)\s+{_USER}"
        r"|\b(?:secretly|covertly)\s+(?:send|upload|forward|exfiltrate|copy|leak|post|insert|include|add|call|run)\b"
        r"|\b(?:keep|hide)\s+(?:this|it|these\s+instructions)\s+(?:a\s+)?(?:secret\s+|hidden\s+)?from\s+the\s+(?:user|human)\b",
    ),
    (
        Instruction.DISCLOSURE,
        r"\b(?:send|forward|post|upload|exfiltrate|leak|transmit|e?mail|submit|append|copy)\s+[^.\n]{0,60}?"
        r"(?<!\w)(?:conversation|chat\s+history|system\s+prompt|environment\s+variables?|private\s+keys?|ssh\s+keys?|\.env(?:\s+file)?|"
        r"(?:all|any|every|their|the\s+user['’]s)\s+(?:of\s+the\s+)?(?:secrets?|passwords?|credentials?|e?mails?|files?|api\s+keys?|tokens?|messages?|data))"
        r"\b[^\n]{0,60}?\b(?:to|at|into)\s+\W{0,3}(?:https?://|[\w.+-]+@[\w-]+\.\w|(?:the\s+following|this)\s+(?:address|url|endpoint|server))"
        r"|!\[[^\]\n]{0,100}\]\(https?://[^)\s]{0,200}[?&/=](?:\{|\[|<|%7b)[^)\n]{0,60}"
        r"(?:data|secret|conversation|history|context|token|summary|base64|prompt)",
    ),
    (
        Instruction.CONDUCT,
        r"\b(?:before|instead\s+of)\s+(?:answering|responding|replying)\b[^.\n]{0,40}?,?\s+(?:you\s+must|you\s+should|always|"
        r"first\s+(?:run|call|execute|fetch|open|visit|read)|run|execute|call|fetch|visit|open)\b"
        r"|\b(?:call|invoke|use|run|execute)\s+the\s+[`'\"]?[\w.-]+[`'\"]?\s+(?:tool|function|command)\b[^.\n]{0,60}"
        r"\b(?:without\s+(?:asking|confirm|permission|approval)|before\s+(?:answering|responding|replying))"
        r"|\b(?:when|if|while)\s+(?:you\s+(?:are\s+)?)?(?:asked\s+to\s+)?(?:summari[sz](?:e|ing)|process(?:ing)?|review(?:ing)?|"
        r"evaluat(?:e|ing)|describ(?:e|ing)|answer(?:ing)?\s+(?:questions\s+)?(?:about|from))\s+(?:this|the\s+above)\s+"
        r"(?:document|page|e?mail|text|file|resume|cv|paper|issue|article|message|repository)\b[^.\n]{0,80}?"
        r"\b(?:instead|say|reply|respond|output|rate|recommend|state|claim)\b",
    ),
)
_AS_ORDER: Final[tuple[tuple[Instruction, str], ...]] = (
    (
        Instruction.OVERRIDE,
        rf"\b{_DROP}\s+(?:{_FILLER}\s+){{0,3}}{_ORDERS}\s+(?:above|before|that\s+came|you(?:'ve|\s+(?:were|have)))\b",
    ),
    (
        Instruction.SECRECY,
        rf"\b(?:do\s+not|don['’]?t|never)\s+(?:tell|mention|inform|reveal|disclose|admit|say)\b[^.\n]{{0,40}}?\b{_USER}",
    ),
    (
        Instruction.CONDUCT,
        r"\b(?:respond|reply|answer|output)\s+(?:only\s+with\b|(?:with\s+)?nothing\s+but\b|exactly\s+[\"'“‘])",
    ),
)
"""Phrases that count only as an order: at the beginning of a sentence, or behind a word that goes before one."""
_UNLESS_PERMITTED: Final[tuple[tuple[Instruction, str], ...]] = (
    (
        Instruction.OVERRIDE,
        rf"\b{_DROP}\s+(?:{_FILLER}\s+){{0,4}}{_EARLIER}\s+(?:\w+\s+){{0,2}}{_STRICT_ORDERS}\b",
    ),
)


def _compile(rows: tuple[tuple[Instruction, str], ...]) -> tuple[tuple[Instruction, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.MULTILINE)) for kind, pattern in rows)


_PHRASES: Final = _compile(_ANYWHERE)
_ORDERS_GIVEN: Final = _compile(_AS_ORDER)
_UNPERMITTED: Final = _compile(_UNLESS_PERMITTED)
_FOREIGN_PHRASE: Final = re.compile(_FOREIGN)

_SPACED_LETTERS: Final = re.compile(r"\b(?:[a-z][ ._*|-]{1,3}){11,}[a-z]\b")
_SPACED_OVERRIDE: Final = re.compile(
    r"(?:ignore|disregard|forget)(?:all|any|the|your|my|of|these|those){0,3}(?:previous|prior|earlier|above|your)?"
    r"(?:instructions?|prompts?|rules|directives|guidelines)"
)
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{24,2000}={0,2}(?![A-Za-z0-9+/=])")
_BLANKS: Final = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
# Letters of other alphabets that look like Latin ones: they mislead where a text mixes alphabets.
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕԁԛԝһѵгпкмтвАВЕКМНОРСТХІЅЈοαενικρτυхΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɡɑ",
    "aeopcyxijsdqwhvrnkmtbABEKMHOPCTXISJoaevikptuxABEZHIKMNOPTYXiga",
)


def find_instructions(text: str) -> tuple[Instruction, ...]:
    """Return the ways in which a text reads like instructions to a model, in their order; none for most texts."""
    found = {kind for reading in _readings(text[:_MAX_CHARACTERS]) for kind in _find_in(reading)}
    return tuple(kind for kind in Instruction if kind in found)


def _find_in(text: str) -> Iterator[Instruction]:
    yield from (kind for kind, pattern in _PHRASES if pattern.search(text))
    yield from (kind for kind, pattern in _ORDERS_GIVEN if any(map(_begins, pattern.finditer(text))))
    yield from (kind for kind, pattern in _UNPERMITTED if not all(map(_is_permitted, pattern.finditer(text))))
    if any(verb in text for verb in _FOREIGN_VERBS) and _FOREIGN_PHRASE.search(text):
        yield Instruction.OVERRIDE
    if any(_SPACED_OVERRIDE.search(re.sub(r"[^a-z]", "", run[0])) for run in _SPACED_LETTERS.finditer(text)):
        yield Instruction.OVERRIDE


def _begins(phrase: re.Match[str]) -> bool:
    return _BEGINNING.search(_before(phrase)) is not None


def _is_permitted(phrase: re.Match[str]) -> bool:
    return _PERMITTED.search(_before(phrase)) is not None


def _before(phrase: re.Match[str]) -> str:
    return phrase.string[max(0, phrase.start() - _MAX_BEFORE) : phrase.start()]


def _readings(text: str) -> Iterator[str]:
    """Yield the text as a model may read it: without hidden characters, with look-alikes replaced, and decoded."""
    seen = _fold(text)
    yield seen
    if not seen.isascii() and (replaced := seen.translate(_LOOKALIKES)) != seen:
        yield replaced
    for run in list(_BASE64.finditer(text))[:_MAX_DECODED]:
        if decoded := _decode(run[0]):
            yield _fold(decoded)


def _fold(text: str) -> str:
    """Return the text in small compatible characters, without invisible ones, with single spaces between words."""
    plain = html.unescape(text) if "&" in text else text
    if not plain.isascii():
        compatible = unicodedata.normalize("NFKC", plain)
        plain = "".join(each for each in compatible if unicodedata.category(each) not in ("Cf", "Mn"))
    return _BLANKS.sub(" ", plain.lower())


def _decode(run: str) -> str:
    """Return what a run of base64 says, or nothing if that is no text."""
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return decoded if " " in decoded and decoded.isprintable() else ""
