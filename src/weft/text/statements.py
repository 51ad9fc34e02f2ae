"""Recognise what people state to last: instructions, preferences, decisions and facts about themselves.

`find_statements` reads prose as a person writes it to an assistant; `read_statement` one text that was meant to be
remembered. Both say where a statement holds (its scope); `weft.text.addresses` says what it is about.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from weft.model import Json
from weft.text.addresses import is_bare_choice, read_address, read_scope, states_quantity
from weft.text.sentences import split_sentences


class Form(StrEnum):
    """The form of a lasting statement."""

    INSTRUCTION = "instruction"
    PREFERENCE = "preference"
    DECISION = "decision"
    PROFILE = "profile"
    CONSTRAINT = "constraint"
    UPDATE = "update"


class Statement(Struct, frozen=True):
    """A lasting statement: its form, its words, and the scope in which it holds, empty for everywhere."""

    form: Form
    text: str
    scope: str = ""


_MAX_CHARACTERS: Final = 320
"""A longer statement is pasted text, or several at once; a page shows some ten of them in a few hundred tokens."""
_LEAD_CHARACTERS: Final = 150
"""Characters before the telling words that are kept: they often give the reason, or what the statement is
about."""
_LOOSE_LEAD_CHARACTERS: Final = 80
"""The same where the statement is only joined to them by "and", "but" or a comma, and gives no reason."""
_FENCE: Final = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_POLITE: Final = (
    r"(?:(?:please|pls|plz|kindly|also|and|ok(?:ay)?|so|remember(?: that)?|note(?: that)?|again|one more thing)"
    r"[,:]?\s+)*"
)
_STANDING_TIME: Final = (
    r"(?:from now on|from here on|from this point on|going forward|in (?:the )?future|at all times|every time|"
    r"each time|in (?:every|each|all|any) (?:(?:of )?(?:your|the|our|future|further) )*"
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|files?|commits?)"
    r"|(?:for|in|throughout|across) (?:this|the|our) (?:whole|entire) "
    r"(?:project|repo|repository|codebase|conversation|chat)|by default|as a rule)"
)
_SPEAKER: Final = r"\b(?:I|we|my team|our team)\b"

_INSTRUCTION: Final = re.compile(
    rf"^\W*{_POLITE}(?:always|never)\s+(?!been\b|had\b|mind\b|thought\b|knew\b|the\b|a\b|did\b|was\b|were\b)[a-z]"
    rf"|^\W*{_POLITE}{_STANDING_TIME}\b"
    rf"|^\W*{_POLITE}(?:whenever|any ?time|every time|each time)\s+(?:I|you|we|there)\b"
    rf"|^\W*{_POLITE}(?:do not|don['’]t|stop|avoid|refrain from|use|keep|write|answer|reply|respond|call|address)"
    # "Write a function that always returns 1" and "don't touch the file again" are for now.
    rf"\b(?!.*\b(?:the|this|that|these|those|it)\b.*\bagain\b)"
    rf".*(?<!\bthat )(?<!\bwhich )(?<!\bwho )\b(?:ever|again|always|never|{_STANDING_TIME})\b"
    r"|\b(?:you|assistants?) (?:should|must|have to|need to|are to|can) (?:always|never)\b"
    rf"|\bI(?:['’]d| would)? (?:want|need|expect|ask|like) you to (?:(?:always|never)\b|.*\b{_STANDING_TIME}\b)"
    r"|\b(?:make sure|be sure|remember|take care) (?:to|that you|you) (?:always|never)\b"
    rf"|{_SPEAKER} (?:always|never) (?!been\b|had\b|did\b|was\b|were\b|knew\b|thought\b)(?:use|run|write|commit|"
    r"deploy|merge|push|squash|rebase|mock|log|test|name|store|ship|release|import|call|ask|keep|put|add|check)\b"
    rf"|{_SPEAKER} (?:only |always )?(?:use|follow) [\w@#+./ -]{{2,30}} here\W*$"
    r"|^\W*(?:rule|convention|policy|house rule)\s*:",
    re.IGNORECASE,
)
_PREFERENCE: Final = re.compile(
    r"\b(?<!should )(?<!do )(?<!can )(?<!did )(?<!would )"
    r"(?:I|we)(?:['’]d| would)? (?:\w+ly |still |also |much )?(?:prefer|favou?r)\b"
    r"|\b(?:I|we)(?:['’]d| would) (?:much )?rather\b"
    r"|\bmy (?:strong |personal |stated )?preferences? (?:is|are|for)\b|\bmy favou?rite\b"
    r"|\b(?:I|we) (?:really |absolutely )?(?:dislike|hate|can['’]?t stand|cannot stand|do not like"
    r"|don['’]t like)\b"
    r"|\b(?:I|we) (?:really |absolutely )?(?:like|love|enjoy) \w+ing\b(?! (?:you|this|that)\b)"
    r"|\b(?:I|we) (?:\w+ly )?(?:like|love) (?:it|things|code|answers|text) (?:when|better|best|short|simple)\b"
    r"|\bI (?:\w+ly )?(?:like|love|want) (?:my |your )?(?:short|brief|long|detailed|concise|simple|plain|formal)"
    r" \w+s[.!]?\s*$"
    r"|\b(?<!should )(?<!do )(?<!can )(?<!could )(?<!did )(?:I|we)(?: have|['’]ve)? (?:always )?prioriti[sz]ed?\b"
    r"|\b(?:I['’]m|I am|we['’]re|we are) (?:most|more) (?:productive|focused|comfortable"
    r"|at ease) (?:when|in|with|at)\b",
    re.IGNORECASE,
)
_CONSTRAINT: Final = re.compile(
    r"\b(?:trying|want|need|like|have|aim|aiming|hope|hoping) to (?:keep|stay|remain|limit)\b"
    r"[^.?!]{0,120}\b(?:under|below|within|at most|no more than|simple|small|minimal|light|lightweight|short)\b"
    r"|\b(?:how to|how (?:can|do|should) I|want to|trying to|need to|like to)\b[^.?!]{0,160}?"
    r"\bwithout (?:\w+ ){0,2}?(?:\w+ing|compromising|too much)\b",
    re.IGNORECASE,
)
"""Bounds that a person sets to what is asked for: they hold for this matter, and perhaps for the next like it."""
_DECISION: Final = re.compile(
    r"\b(?:(?:we|I)(?:['’]ve| have| all)? (?:just |finally |recently )?(?:decided|agreed|chosen|chose|settled on|"
    r"switched|adopted|committed to|opted)"
    r"|(?:we|I)(?:['’]ll| will) (?:go|stick) with|let['’]?s (?:go|stick) with|we(?:['’]re| are) going with"
    r"|(?:final )?decision ?:|decided (?:to|on|against|that) |agreed ?:)"
    r"|\b(?:we|I) (?:now )?use [^.?!]{1,80}\b(?:instead of|rather than|in place of|over)\b",
    re.IGNORECASE,
)
_CONDITION: Final = (
    r"vegetarian|vegan|pescatarian|allergic|intolerant|celiac|coeliac|diabetic|left-handed"
    r"|colou?r-?blind|blind|deaf|"
    r"dyslexic|pregnant|married|single|divorced|widowed|retired|self-employed|unemployed|bilingual|religious|"
    r"based in|from|located in|born in|living in|originally from"
    r"|on (?:a )?(?i:windows|linux|mac|macos|ubuntu|debian|fedora|android|chromebook)"
)
_PROFILE: Final = re.compile(
    rf"\b(?:I['’]m|I am) (?:a |an )?(?:\w+ly )?(?:{_CONDITION})\b"
    r"|\b(?:I['’]m|I am) an? (?!bit\b|little\b|lot\b|few\b|huge\b|big\b|fan\b|loss\b|mess\b|couple\b|while\b)"
    r"(?:[\w/-]+ ){0,3}?(?:[\w/-]*(?:er|or|ist|ian|ant|ent|yst|eer|ess|ive|man|woman|ect|cian|ic|nurse|chef|coach|"
    r"student|teen|parent|mother|father|mom|dad))\b"
    r"|\b(?:I['’]m|I am) [A-Z][a-z]+, (?:an?|the|\d)"
    r"|\b(?:I['’]m|I am) \d{1,2}(?: years? old)?\b(?=[ ,.;]|$)(?! (?:minutes|hours|days|weeks|months|percent|%))"
    r"|\b(?:I|my partner and I) (?:currently )?(?:work|live|study|teach) (?:as|at|for|in|with|near|remotely)\b"
    r"(?! (?:it|this|that|these|those)\b)"
    r"|\b[Mm]y (?:full |first |last |middle )?name is\b|\b(?:[Cc]all me|[Mm]y pronouns are|I go by) "
    r"|\b[Mm]y (?:wife|husband|partner|spouse|son|daughter|child|mother|father|mum|mom|dad|brother"
    r"|sister|dog|cat|boss|"
    r"manager|birthday|address|time ?zone|native language|mother tongue|job|profession|occupation|role|title|age|"
    r"height|weight|salary|income|blood type|phone|email|home ?town)(?:['’]s name)? (?:is|are)\b"
    r"|\bI have (?:asthma|diabetes|arthritis|adhd|dyslexia|an? (?:\w+ )?(?:allergy|intolerance"
    r"|condition|disability|"
    r"dog|cat|son|daughter|child|kid|brother|sister))\b"
    r"|\bI (?:do not|don['’]t|never) (?:eat|drink|smoke|drive|fly|use)\b(?! (?:the|this|that|it)\b)"
    r"|\bI speak (?:[A-Z]\w+|fluent)",
)
_NUMBER_OR_DATE: Final = (
    r"(?:[$€£~]?\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d|one|two|three|four|five|six|seven)"
)
_UPDATE: Final = re.compile(
    r"\b(?:has|have|had|is|are|was|were|been|being|which|that|now|recently|just|currently|already"
    r"|newly|I|we|my|it|to)\b"
    r"[^.?!]{0,40}?\b(?:improved|increased|dropped|grown|grew|risen|rose|raised|reduced|cut|lowered"
    r"|shortened|extended|moved|"
    r"shifted|pushed|changed|updated|rescheduled|postponed|bumped|expanded|upgraded|switched|doubled|tripled)\b"
    rf"[^.?!]{{0,60}}?\b(?:to|at|by|until|for)\b (?:\w+ ){{0,4}}?{_NUMBER_OR_DATE}"
    r"|\b(?:moving|moved|rescheduling|postponing|extending|raising|changing|shifting|updating)\b"
    rf"[^.?!]{{2,80}}? to (?:\w+ ){{0,3}}?{_NUMBER_OR_DATE}"
    rf"|\b(?:now|recently|currently|already|so far|to date|as of)\b[^.?!]{{0,60}}?{_NUMBER_OR_DATE}"
    rf"|\b(?:I|we)(?:['’]ve| have)? (?:\w+ )?(?:completed|reached|added|secured|gathered|collected"
    rf"|finished|written|merged|"
    rf"saved|earned|spent|logged|read|sent|received|solved|hit) (?:\w+ ){{0,2}}?{_NUMBER_OR_DATE}"
    rf"|\b(?:reached|hit|stands at|is at|are at|is down to|is up to|is set for|is scheduled for) {_NUMBER_OR_DATE}"
    rf"|\bnew (?:\w+ ){{1,4}}(?:of|is|:) {_NUMBER_OR_DATE}",
)
"""Words that give a thing the value that it has from now on."""
_NOT_LASTING: Final = re.compile(
    r"^\W*(?:do|did|does|should|could|would|can|what|which|when|where|how|why|who|is|are|have|has"
    r"|if)\b[^.]*\?\s*$",
    re.IGNORECASE,
)
"""Questions that state nothing on the way."""
_REQUEST: Final = re.compile(
    r"[\s,;:–—-]*(?:\b(?:and|so|but|or)\b[\s,]*)*"
    r"\b(?:(?:can|could|would|will) (?:you|we)\b|how (?:can|do|should|would|could|might) (?:I|we"
    r"|you)\b|what(?:['’]s| (?:is|are|do"
    r"|would|should))\b|should (?:I|we)\b|do you (?:think|have|know)\b|is (?:it|that|this) (?:a "
    r"|the )?(?:good|ok|right|"
    r"possible)\b|are there\b|any (?:tips|ideas|advice|pointers)\b|help me\b|I(?:['’]m"
    r"| am) (?:not sure|wondering)\b)",
    re.IGNORECASE,
)
"""Where a sentence goes on to ask for something: what stands behind is for now, not to last."""
_BACKWARD: Final = re.compile(
    r"\b(?:with|do|take|try|use|on|to) (?:it|this|that|these|those)(?: \w+)?\W*$", re.IGNORECASE
)
"""The end of a decision that only points back: alone it says nothing later."""
_MAX_STATED_CHARACTERS: Final = 220
"""Characters from the telling words on, after which a statement ends with its clause: the rest is another
matter."""
_NEXT_SUBJECT: Final = re.compile(r",\s+(?:and|but|so) (?:now )?(?:I|we|my|can|could|how|what)\b", re.IGNORECASE)
"""Where a sentence goes on with something else."""
_LEADING_JOINT: Final = re.compile(r"^\W*(?:(?:and|but|so|because|since|or)\b[\s,]*)+", re.IGNORECASE)
_REASONED: Final = re.compile(r"\b(?:so|therefore|hence|that['’]s why|which is why)[,\s]+$", re.IGNORECASE)
_MIN_STATED_CHARACTERS: Final = 8
_RULE_SHARE: Final = 0.7
"""The share of a text that a statement must have for the text to be nothing else."""
_CLAUSE_START: Final = re.compile(r"[,;:–—]\s+|\s(?:so|and|but|because|since)\s")
_OF_THE_MOMENT: Final = (Form.CONSTRAINT, Form.UPDATE)
"""Forms that count only where a conversation is read: what was asked to be remembered lasts or is a fact."""
_VERBS: Final = """
    add align annotate ask assume avoid be begin bind capitali[sz]e cite close convert create delete describe
    develop ensure exclude explain expose favou?r fetch follow generate give handle hide highlight ignore
    include indent inject install keep leave lint lowercase make mention merge migrate omit open parse prefer
    publish put read rebase refer reject remove rename render reply require respond restrict rotate sanitize
    save separate serve skip speak specify squash stick summari[sz]e tell throw translate treat uppercase use
    validate verify wait write
"""
"""Verbs that open an order and are hardly ever nouns."""
_NOUNS_TOO: Final = """
    address answer build bump call catch check commit cover default deploy display document draft end escape export
    fix format group import label limit link list load log mark measure mock name number order pass pin place point
    prefix print push quote raise release report retry return review round run set show sign sort split stage start
    state store structure suffix tag target test trim type update wrap
"""
"""Verbs that open an order, and are also nouns, which a statement may begin with."""
_IMPERATIVE: Final = re.compile(
    rf"^\W*{_POLITE}(?:(?:always|never|do not|don['’]t|{'|'.join(_VERBS.split())})\b(?!\()"
    rf"|(?:{'|'.join(_NOUNS_TOO.split())})\b(?!\(|['’]s\b|\s*:|\s+(?:of|number|#)\b|\s+[\d#]"
    # "Test runs are slow" and "log files have dates" begin with a noun: their verb comes later.
    r"|(?:\s+[\w./-]+){0,4}?\s+(?:is|are|was|were|has|have|had|will|takes?|needs?|fails?|does|did|lives?|goes|go|"
    r"runs?|happens?|costs?|means?|comes?|came|says?|seems?|breaks?|took|found|got|gave|made|left|lost|grew|ran|hit|lags?"
    r"|\w+ed (?:with|by|in|to|from|out|the|a|an|on|for))\b))",
    re.IGNORECASE,
)
_NORM: Final = re.compile(
    r"^\W*(?!(?:I|we|he|she|they|it|this|that|there|you)\b)[^.;?!]{2,80}?\s"
    r"(?:must(?! have been\b)|shall|may (?:not|only)|(?:should|has to|have to|needs? to) (?:always|never|not|be|"
    r"have|use|go|stay|keep|come|start|end|follow)|go(?:es)? (?:in|into|under|to|next|beside|behind|below|above)"
    r"|belongs? (?:in|under|to)|(?:starts?|ends?) with(?:out)?|requires? (?:an?|the|two|at least|approval|review)"
    r"|(?:is|are) (?:always |never )?(?:squashed|rebased|reviewed|signed|versioned"
    r"|written|named|kept|formatted|indented|sorted|forbidden|banned|required|"
    r"mandatory|not allowed|in (?:the )?(?:imperative|present|past|lower|upper|snake|camel|kebab|pascal)))\b"
    # "Every PR needs two reviews", "you are not allowed to push", "when you change the schema, add a migration".
    r"|^\W*(?:every|each|all|any) [^.;?!]{2,80}? (?:needs?|requires?|gets?|has|have|must|should|starts?|ends?) "
    r"|\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|off[ -]limits|not (?:allowed|permitted|to be)"
    r"|only allowed)\b"
    rf"|^\W*(?:if|when(?:ever)?|before|after|once|unless|while)\b[^.;?!]{{2,80}}?(?:,\s*(?:then\s+)?|\w+ing\s+)"
    rf"(?:please\s+)?(?:always|never|do not|don['’]t|run|stop|use|{'|'.join(_VERBS.split())}"
    rf"|{'|'.join(_NOUNS_TOO.split())})\b"
    r"|^\W*(?:(?:max(?:imum)?|min(?:imum)?) )?(?:line|file|function|message|title) (?:length|size)s?"
    r"(?: is| are|:)? \d"
    r"|^\W*(?:american|british|australian|canadian) (?:spelling|english)[.!]?\s*$"
    r"|^\W*(?:all )?(?:dates?|times?|timestamps?|numbers?|units?|amounts?|names?|errors?|logs?) "
    r"(?:(?:(?:are|is) )?(?:as|in) [\w -]{2,30}|are (?:iso|utc|rfc)\b[\w -]{0,20})\s*$"
    # Plurals without an article: "public functions need docstrings", and not "the test needs a database".
    r"|^\W*(?!(?:the|my|our|your|some|two|these|those)\b)(?:[\w-]+ )?[\w-]+s need (?:an? )?[\w-]+\s*$"
    # "In tests, use fixtures".
    rf"|^\W*(?:in|for|with|on) [^.,;!?]{{2,40}},\s+(?:please\s+)?(?:always|never|do not|don['’]t|use"
    rf"|{'|'.join(_VERBS.split())})\b"
    r"|^\W*no (?!one\b|longer\b|idea\b|problem\b)[\w-]+(?:[ /][\w-]+){0,6}[.!]?\s*$"
    r"|^\W*(?:[\w-]+,? ){1,5}(?:only|please)[.!]?\s*$|^\W*only (?:[\w-]+ ?){1,6}[.!]?\s*$",
    re.IGNORECASE,
)
"""Rules that are no orders: "tests must not touch the network", "fixtures go in tests/data", "no mocks in unit
tests", "metric units only"."""
_CONVENTION: Final = re.compile(
    rf"^\W*{_POLITE}(?:indent (?:with|by|using)|(?:answer|reply|respond|speak|talk)(?: to me)? (?:in|with)"
    r"|(?:format|lint|sort|prefix|suffix|annotate|sign) (?:all |every |our |my )?[\w-]+(?: [\w-]+)? "
    r"(?:with|by|in|as)"
    r"|(?:write|keep|name|put) (?:all|every|your) [\w-]+"
    r"|your (?:answers?|replies|responses|messages) (?:should|must) be"
    r"|I (?:need|want|would like) (?:all|every|your) [\w ]{2,30} (?:in|as|to be)"
    r"|no (?:emojis?|mocks?|abbreviations|jokes|small ?talk)\b"
    r"|use [\w@#+./-]+(?: [\w@#+./-]+){0,3},? "
    r"(?:instead of|rather than|and not|not|for all|for every|everywhere)\b)",
    re.IGNORECASE,
)
_PERSONS: Final = (
    r"(?:ich|wir|er|sie|es|das|du|ihr|je|tu|il|elle|on|nous|ils|ça|c['’]|yo|él|ella|eu|ele|io|ik|wij|hij)"
)
_ORDER_ELSEWHERE: Final = re.compile(
    r"^\W*(?:(?:bitte|s['’]il (?:te|vous) pla[iî]t|merci de|por favor|per favore|alsjeblieft)[,\s]+)?"
    rf"(?!{_PERSONS}\b)(?:ne |n['’]|no )?(?:\w+\s+)?"
    r"(?:immer|stets|nie|niemals|nur noch|toujours|jamais|siempre|nunca|jamás|sempre|mai|altijd|nooit)\b"
    r"|^\W*(?:ab (?:jetzt|sofort|heute)|künftig|in zukunft|désormais|dorénavant"
    r"|à partir de maintenant|a partir de ahora|de ahora en adelante"
    r"|d['’]ora in poi|vanaf nu|voortaan|a partir de agora|всегда|никогда)\b",
    re.IGNORECASE,
)
"""Orders that last in German, French, Spanish, Portuguese, Italian, Dutch and Russian."""
_PREFERENCE_ELSEWHERE: Final = re.compile(
    r"\b(?:ich|wir) (?:bevorzuge|ziehe|mag|hasse|bevorzugen)\b|\bmir ist\b.{2,40}\blieber\b"
    r"|\bje (?:préfère|déteste)\b"
    r"|\b(?:prefiero|preferimos|odio|prefiro|preferisco)\b|\bik heb liever\b",
    re.IGNORECASE,
)
_MAX_CONVENTION_WORDS: Final = 14
"""A longer order to an assistant describes a piece of work."""
_OF_NOW: Final = re.compile(
    r"\b(?:this|these|that|those|it|here|now|today|again|above|below|following|first|next|for me|the)\b|\?", re.I
)
"""Words by which an order is about something at hand, and not meant to last."""


def find_statements(text: str) -> list[Statement]:
    """Return the lasting statements in what a person wrote to an assistant, in their order."""
    prose = _FENCE.sub("\n\n", text)
    found = [
        statement
        for start, end in split_sentences(prose)
        if (statement := _read_sentence(" ".join(prose[start:end].split()))) is not None
    ]
    # A sentence that is pasted twice is one statement.
    return list({(statement.form, statement.text): statement for statement in found}.values())


def read_statement(text: str) -> Statement | None:
    """Return the statement that a text is which somebody asked to remember, or None if it is none of the forms."""
    line = " ".join(text.split())
    if len(line) > _MAX_CHARACTERS:
        return None
    form = next((form for form, _ in _match_forms(line) if form not in _OF_THE_MOMENT), None)
    # One word alone orders nothing: "test" and "build" are typed to try the command out.
    if form is None and " " in line and (_IMPERATIVE.search(line) or _NORM.search(line) or is_bare_choice(line)):
        # Asked to be remembered, "use tabs" is no command of the moment.
        form = Form.INSTRUCTION
    return None if form is None else Statement(form, line, read_scope(line))


def describe(text: str, form: Form | None) -> dict[str, Json]:
    """Return the fields of a node with this text: the form of a standing rule, its scope, and what it is about."""
    fields: dict[str, Json] = {} if form is None else {"standing": True, "form": form.value}
    if scope := read_scope(text):
        fields["scope"] = scope
    if (address := read_address(text)) is not None:
        fields |= {"address": address.key, "subject": address.subject, "attribute": address.attribute}
        fields["value"] = address.value
    return fields


def describe_rule(text: str) -> dict[str, Json]:
    """Return the fields of a text that states one lasting thing and hardly anything else; none for any other."""
    if len(text) > _MAX_CHARACTERS:
        return {}
    found = [statement for statement in find_statements(text) if statement.form is not Form.DECISION]
    if len(found) != 1 or len(found[0].text) < _RULE_SHARE * len(text):
        return {}
    return describe(found[0].text, found[0].form)


def _read_sentence(sentence: str) -> Statement | None:
    if _NOT_LASTING.search(sentence) and not re.search(r"\b(?:prefer|rather|always|never)\b", sentence, re.I):
        return None
    if _is_convention(sentence):
        return Statement(Form.INSTRUCTION, sentence.strip(" \t-*#>"), read_scope(sentence))
    for form, match in _match_forms(sentence):
        words = _cut(sentence, match)
        if words and not (form is Form.DECISION and _BACKWARD.search(words)):
            return Statement(form, words, read_scope(words))
    # "The launch is on April 10" is what a later "the launch moved to April 24" takes the place of.
    return Statement(Form.UPDATE, sentence, read_scope(sentence)) if states_quantity(sentence) else None


def _is_convention(sentence: str) -> bool:
    """Return whether an order without "always" is about how things are done, as "indent with 4 spaces" is."""
    is_short = len(sentence.split()) <= _MAX_CONVENTION_WORDS
    return is_short and bool(_CONVENTION.search(sentence)) and not _OF_NOW.search(sentence)


def _match_forms(sentence: str) -> Iterator[tuple[Form, re.Match[str]]]:
    """Yield the forms that a sentence may have with the words that tell, the surest first."""
    for form, pattern in (
        (Form.INSTRUCTION, _INSTRUCTION),
        (Form.INSTRUCTION, _ORDER_ELSEWHERE),
        (Form.PREFERENCE, _PREFERENCE),
        (Form.PREFERENCE, _PREFERENCE_ELSEWHERE),
        (Form.DECISION, _DECISION),
        (Form.PROFILE, _PROFILE),
        (Form.CONSTRAINT, _CONSTRAINT),
        (Form.UPDATE, _UPDATE),
    ):
        match = pattern.search(sentence)
        if match is not None:
            yield form, match


def _cut(sentence: str, match: re.Match[str]) -> str:
    """Return the part of a sentence that states something: without what it goes on to ask, and a long lead."""
    start, end = 0, len(sentence)
    request = _REQUEST.search(sentence, match.end() + _MIN_STATED_CHARACTERS)
    if request is not None:
        end = request.start()
    # A statement that would end with its telling words, as in "like I prefer, but", goes on behind them.
    later_subject = _NEXT_SUBJECT.search(sentence, match.end() + _MIN_STATED_CHARACTERS, end)
    if later_subject is not None:
        end = later_subject.start()
    *_, before = None, *_REQUEST.finditer(sentence, 0, match.start())
    gives_reason = bool(_REASONED.search(sentence, 0, match.start()))
    allowed = _LEAD_CHARACTERS if gives_reason else _LOOSE_LEAD_CHARACTERS
    if before is not None or match.start() > allowed:
        # The statement begins behind a request, or far into the sentence: with its own clause.
        least = max(before.end() if before is not None else 0, match.start() - allowed)
        starts = [clause.end() for clause in _CLAUSE_START.finditer(sentence, least, match.start() + 1)]
        start = next((at for at in starts if at <= match.start()), match.start())
    if end - match.start() > _MAX_STATED_CHARACTERS:
        later = _CLAUSE_START.search(sentence, match.start() + _MAX_STATED_CHARACTERS // 2, end)
        end = min(end, later.start() if later is not None else end)
    words = _LEADING_JOINT.sub("", sentence[start:end]).strip(" \t,;:–—-*#>")
    return words if len(words) <= _MAX_CHARACTERS else words[:_MAX_CHARACTERS].rsplit(" ", 1)[0]
