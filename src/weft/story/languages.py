"""Set right what capitals cannot tell in German, Russian, Chinese and Japanese prose.

In German every noun has a capital, so a word that takes an article or an adjective is no name. In Russian a name
has a form for each case, which are one name, and a preposition at the head of a sentence is no initial. Chinese
and Japanese names have no capitals: they are found beside the words of speech, and then everywhere.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from weft.story.display_name import parse_name
from weft.story.model import Mention, Prose
from weft.story.vocabulary import FOREIGN_KIN, GIVEN_NAMES

_SAMPLE: Final = 20_000
"""Characters of a book by which its language is told."""
_GERMAN: Final = re.compile(
    r"\b(?:und|nicht|der|die|das|ist|war|sich|auf|ein|eine|dem|den|mit|nach|sie|ich|hatte|sagte|ihre?[mnrs]?)\b"
)
_GERMAN_SHARE: Final = 0.06
"""The share of these words in German prose; no other language has a third of it."""
_CYRILLIC: Final = re.compile(r"[а-яё]", re.IGNORECASE)
_UNSPACED: Final = re.compile(r"[一-鿿ぁ-んァ-ヶ]")
_SCRIPT_SHARE: Final = 0.3
"""The share of a script's letters from which on a book is written in it."""

_WITH_NOUNS: Final = frozenset(
    (
        *("der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "kein"),
        *("keine", "keinen", "mein", "meine", "meinen", "meinem", "meiner", "dein", "deine", "sein", "seine"),
        *("seinen", "seinem", "seiner", "ihr", "ihre", "ihren", "ihrem", "ihrer", "unser", "unsere", "euer"),
        *("dieser", "diese", "dieses", "diesen", "diesem", "jeder", "jede", "jedes", "jeden", "welcher", "welche"),
        *("manche", "alle", "vom", "zum", "zur", "im", "am", "beim", "ins", "ans", "aufs", "ums", "fürs"),
        *("guten", "gute", "guter", "viel", "viele", "mehr", "etwas", "nichts", "zwei", "drei", "durchs", "übers"),
    )
)
"""Words before a German noun, and hardly ever before a name."""
_NOUN_SHARE: Final = 0.12
"""A word of whose places so many follow such a word is a noun: a name takes an article once in a while."""

_PREPOSITIONS: Final = frozenset("вскуоиая")
_CASES: Final = re.compile(r"(?:ого|ому|ой|ей|ою|ею|ом|ем|ым|им|ью|а|я|у|ю|е|ы|и|ь|й)$")
"""The endings of names in Russian cases."""
_MIN_STEM: Final = 2

_SAID_ZH: Final = re.compile(r"(?<=[”」。！？，\n])([一-鿿]{2,3}?)(?:说|问|道|答|喊|笑道|回答)(?!话)")
_SAID_JA: Final = re.compile(r"[」』]と、?([一-鿿]{2,4}|[ァ-ヶー]{2,8})(?:は|が)")
_TITLED_JA: Final = re.compile(r"([一-鿿]{2,3}|[ァ-ヶー]{2,8})(?=さん|くん|君|様|ちゃん)")
_SPEAKING_ZH: Final = frozenset("说问道答喊")
_NOBODY: Final = frozenset(
    (
        "他们",
        "她们",
        "我们",
        "你们",
        "大家",
        "有人",
        "父亲",
        "母亲",
        "先生",
        "彼女",
        "自分",
        "父親",
        "母親",
        "私達",
    )
)
"""Words that stand where a speaker's name does and name nobody."""
_SENTENCE_END: Final = re.compile(r"[。！？\n]")
_SPOKEN: Final = "said"


def settle_names(proses: Sequence[Prose], mentions: Sequence[Mention]) -> Sequence[Mention]:
    """Return the names of a book, corrected for its language."""
    sample = "".join(prose.text[:_SAMPLE] for prose in proses)[:_SAMPLE]
    letters = max(1, sum(map(str.isalpha, sample)))
    if len(_UNSPACED.findall(sample)) > _SCRIPT_SHARE * letters:
        return [*mentions, *_find_unspaced(proses)]
    if len(_CYRILLIC.findall(sample)) > _SCRIPT_SHARE * letters:
        return _unite_cases([_without_preposition(mention) for mention in mentions])
    if len(_GERMAN.findall(sample)) > _GERMAN_SHARE * len(sample.split()):
        return _without_nouns(mentions)
    return mentions


# --- German ----------------------------------------------------------------------------------------------


def _without_nouns(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions without those of nouns: words that stand behind articles, unless they have a title."""
    mentions = [_without_kinship(mention) for mention in mentions]
    total: Counter[tuple[str, ...]] = Counter()
    as_noun: Counter[tuple[str, ...]] = Counter()
    for mention in mentions:
        # `Seine Frau Greta` says nothing of Greta alone.
        if not mention.title:
            total[mention.names] += 1
            as_noun[mention.names] += mention.has_article or mention.before in _WITH_NOUNS
    kept = []
    for mention in mentions:
        is_noun = as_noun[mention.names] > _NOUN_SHARE * total[mention.names]
        if mention.title or mention.names[0].lower() in GIVEN_NAMES or not is_noun:
            kept.append(mention)
        elif (tail := _name_behind(mention)) is not None:
            kept.append(tail)
    return kept


def _without_kinship(mention: Mention) -> Mention:
    """Return a mention without a word of kinship before the name: Orla in `seiner Schwester Orla`."""
    first, names = mention.names[0].lower(), mention.names[1:]
    # `Bruder von Anna` is left to `_name_behind`.
    if mention.title or first not in FOREIGN_KIN or not names or not names[0][0].isupper():
        return mention
    return replace(mention, start=mention.end - len(" ".join(names)), names=names, before=first, has_article=False)


def _name_behind(mention: Mention) -> Mention | None:
    """Return the name of whose brother or house a noun speaks: Anna in `der Bruder von Anna`."""
    behind = next((index for index, name in enumerate(mention.names) if name == "von"), 0)
    if not behind or behind + 1 == len(mention.names):
        return None
    spelling = " ".join(mention.names[behind + 1 :])
    title, names = parse_name(spelling)
    start = mention.end - len(spelling)
    return replace(mention, start=start, title=title, names=names, before="von", has_article=False)


# --- Russian ---------------------------------------------------------------------------------------------


def _without_preposition(mention: Mention) -> Mention:
    """Return a mention without a preposition that stands before it at the head of a sentence."""
    first = mention.names[0]
    if len(mention.names) < 2 or first.lower().rstrip(".") not in _PREPOSITIONS:
        return mention
    names = mention.names[1:]
    return replace(mention, start=mention.end - len(" ".join(names)), names=names, before=first.lower())


def _unite_cases(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions with each name in the form in which it is written most, in whatever case it stands."""
    counts = Counter(name for mention in mentions for name in mention.names)
    by_stem: dict[str, list[str]] = {}
    for name in counts:
        by_stem.setdefault(_stem(name), []).append(name)
    # Of equally frequent forms one in -а or -я is a woman's nominative, else the shortest a man's.
    usual = {
        name: max(forms, key=lambda form: (counts[form], form.endswith(("а", "я")), -len(form), form))
        for forms in by_stem.values()
        for name in forms
    }
    return [replace(mention, names=tuple(usual[name] for name in mention.names)) for mention in mentions]


def _stem(name: str) -> str:
    stem = _CASES.sub("", name.lower())
    return stem if len(stem) >= _MIN_STEM else name.lower()


# --- Chinese and Japanese --------------------------------------------------------------------------------


def _find_unspaced(proses: Sequence[Prose]) -> Iterator[Mention]:
    """Yield every place of a name that somebody speaks by, or that has a form of address behind it."""
    spoken: Counter[str] = Counter()
    for prose in proses:
        for pattern in (_SAID_ZH, _SAID_JA, _TITLED_JA):
            spoken.update(match.group(1) for match in pattern.finditer(prose.text))
    names = sorted((name for name in spoken if name not in _NOBODY), key=lambda name: (-len(name), name))
    if not names:
        return
    anywhere = re.compile("|".join(map(re.escape, names)))
    for number, prose in enumerate(proses):
        sentence = last = 0
        for match in anywhere.finditer(prose.text):
            sentence += len(_SENTENCE_END.findall(prose.text, last, match.start()))
            last = match.start()
            after = prose.text[match.end() : match.end() + 1]
            is_speaker = after in _SPEAKING_ZH or prose.text[max(0, match.start() - 1) : match.start()] == "と"
            mark = _SPOKEN if is_speaker else ""
            yield Mention(number, *match.span(), "", (match.group(),), after=mark, sentence=sentence)
