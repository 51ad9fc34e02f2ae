"""Name the speaker of a quotation that a question gives, from the scenes on the page.

The words need not be exact: the speech of a printed scene that shares most of them is meant. Who speaks is read
from the scene alone, with the names of the characters that it mentions.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from weft.model import Context
from weft.ports import NodeRow, Snapshot
from weft.story.display_name import parse_name
from weft.story.model import Mention
from weft.story.speakers import NAMED, Turn, read_turns
from weft.story.vocabulary import GIVEN_NAMES, TITLES
from weft.text import analyze

_QUOTED: Final = re.compile(r"[\"“«]([^\"”»]{12,})[\"”»]|(?:^|\s)['‘]([^'‘’]{12,})['’]")
_MIN_TERMS: Final = 3
"""A quotation of fewer words may be anybody's."""
_MIN_SHARE: Final = 0.55
"""The share of the quoted words that a speech must hold; a sixth left out and a tenth replaced still pass."""
_SCENES: Final = ("scene", "chapter")
_MAX_SCENES: Final = 12
_MAX_EDGES: Final = 2000
"""Links of the printed scenes that are read for their characters."""
_SHOWN_CHARACTERS: Final = 60
_WORD_BEFORE: Final = re.compile(r"([^\W\d_]+)[\s,]*$")
_WORD_BEHIND: Final = re.compile(r"[\s,]*([^\W\d_]+)")
_AROUND: Final = 30


def name_speaker(question: str, context: Context, snapshot: Snapshot) -> tuple[str, ...]:
    """Return a note that names who says what the question quotes, if a scene on the page shows it."""
    quoted = max((found.group(1) or found.group(2) for found in _QUOTED.finditer(question)), key=len, default="")
    terms = frozenset(analyze(quoted))
    ids = [source.id for source in context.sources if source.kind in _SCENES][:_MAX_SCENES]
    if len(terms) < _MIN_TERMS or not ids:
        return ()
    rows = [row for _, row in sorted(snapshot.nodes(ids).items())]
    best = max(_match_speeches(rows, terms), key=lambda each: each[0], default=None)
    if best is None or best[0] < _MIN_SHARE:
        return ()
    _, row, span = best
    named = _find_characters(snapshot, row)
    turn = _find_turn(row.node.text, span, named)
    if turn is None or turn.speaker is None:
        return ()
    title = named[turn.speaker][0]
    said = " ".join(row.node.text[slice(*span)].split())
    shown = said if len(said) <= _SHOWN_CHARACTERS else f"{said[:_SHOWN_CHARACTERS].rsplit(' ', 1)[0]} …"
    chapter = "" if row.node.sequence is None else f" (chapter {row.node.sequence})"
    sure = "is said by" if turn.confidence == NAMED else "is probably said by"
    return (f"“{shown}” {sure} {title}{chapter}.",)


def _match_speeches(
    rows: Sequence[NodeRow], terms: frozenset[str]
) -> Iterator[tuple[float, NodeRow, tuple[int, int]]]:
    """Yield every speech of the scenes with the share of the quoted words that it holds."""
    for row in rows:
        for turn in read_turns(0, row.node.text, (), ()):
            # A speech that the narrator interrupts is one: `My dear,` said she, `have you heard?`
            whole = " ".join(row.node.text[start:end] for start, end in turn.quotations)
            span = (turn.quotations[0][0], turn.quotations[-1][1])
            yield len(terms.intersection(analyze(whole))) / len(terms), row, span


def _find_characters(snapshot: Snapshot, row: NodeRow) -> list[tuple[str, tuple[str, ...]]]:
    """Return the title of each character that a scene mentions, with all the names."""
    ids = sorted(
        {
            target
            for source, target, edge in snapshot.edges([row.node.id], _MAX_EDGES)
            if source == row.node.id and edge.type == "mentions"
        }
    )
    people = [each.node for _, each in sorted(snapshot.nodes(ids).items()) if each.node.kind == "character"]
    return [(node.title, (node.title, *(alias.text for alias in node.aliases))) for node in people]


def _find_turn(text: str, span: tuple[int, int], people: Sequence[tuple[str, tuple[str, ...]]]) -> Turn | None:
    """Return the turn that begins at a place, read with the names of some people."""
    owners = {name: index for index, (_, names) in reversed(list(enumerate(people))) for name in names}
    if not owners:
        return None
    # The longest first, so that Lady Catherine is no Catherine.
    pattern = "|".join(re.escape(name) for name in sorted(owners, key=lambda name: (-len(name), name)))
    mentions = [
        (_make_mention(text, match), owners[match.group()]) for match in re.finditer(rf"\b(?:{pattern})\b", text)
    ]
    genders = [_guess_gender(names) for _, names in people]
    turns = read_turns(0, text, mentions, genders)
    return next((turn for turn in turns if turn.quotations[0][0] == span[0]), None)


def _make_mention(text: str, match: re.Match[str]) -> Mention:
    title, names = parse_name(match.group())
    before = _WORD_BEFORE.search(text[max(0, match.start() - _AROUND) : match.start()])
    behind = _WORD_BEHIND.match(text, match.end())
    return Mention(
        0,
        match.start(),
        match.end(),
        title,
        names,
        before=before.group(1).lower() if before else "",
        after=behind.group(1).lower() if behind else "",
        is_possessive=text[match.end() : match.end() + 2] in ("'s", "’s"),
    )


def _guess_gender(names: Sequence[str]) -> str:
    """Return the gender that titles and given names of a person tell, or none."""
    parsed = [parse_name(name) for name in names]
    genders = {TITLES.get(title, "") for title, _ in parsed} | {
        GIVEN_NAMES.get(words[0].lower(), "") for title, words in parsed if words and not title
    }
    genders.discard("")
    return genders.pop() if len(genders) == 1 else ""
