"""Read the shape of a question, whether it asks for commits, tests, callers or an ending, and weigh candidates by
it.

`read_shapes` looks at the words of a question and at nothing else; the phrases that it looks for are in
`shape_phrases.py`. `by_shape.py` finds in a store what is wanted, and is loaded only for questions that have a
shape. The parts of a candidate say how much it is wanted (`shape`, and `shape_callers` or the like, so that the
ledger tells which shape was understood), and the factor of its kind (`shape_factor`): commits count for less
where nobody asked for history.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Filter, Node
from weft.pipeline.shape_phrases import (
    ASSISTANT_SAID,
    FIRST_PERSON,
    HINTS,
    PHRASES,
    WORDS,
    Shape,
    Speaker,
)
from weft.ports import NodeRow, Snapshot
from weft.text import looks_like_code
from weft.text.terms import STOP_WORDS

_MAX_PROSE_CHARS: Final = 1_200
"""Characters of a question that are read for phrases; people ask before or after what they paste."""
_MAX_NAMES: Final = 6
"""Names that are looked up; a question with more is a pasted piece of code."""
_MIN_QUOTED_WORDS: Final = 4
"""Fewer words in quotation marks are a name or a term, and not a text to look for."""
_MAX_QUOTATION_CHARS: Final = 400
_MAX_SPELLED_WORDS: Final = 40  # of a longer question, which is about more than its single words
_SHORTEST_PLURAL: Final = 3  # letters of the shortest word with an s that may be a plural: `is` and `gas` have one
_MAX_TYPE_QUESTION_CHARS: Final = 80  # a longer question is not about a single word

_CODE_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS_OF_LOGS: Final = (":", "\n", ", line ")
"""One of these stands in every line of a log that tells a place or an error, and in few questions."""
_PLACE: Final = re.compile(
    r"(?<![\w/.])(?P<file>(?:[\w.-]{1,100}/){0,12}[\w.-]{1,100}\.[A-Za-z]\w{0,5}):(?P<line>\d{1,6})\b"
)
_FILE: Final = re.compile(r"(?<![\w/.])(?:[\w.-]{1,100}/){0,12}[\w-][\w.-]{0,100}\.[A-Za-z]\w{0,5}(?![\w/])")
_HASH: Final = re.compile(r"(?<![\w./-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w./-])")
_QUOTED: Final = re.compile(
    "[\"\u201c]([^\"\u201d\n]{12,400})[\"\u201d]|(?<!\\w)['\u2018]([^'\u2019\n]{12,400})['\u2019](?!\\w)"
)
_PLAIN_WORD: Final = re.compile(r"(?<![\w.`])[A-Za-z][A-Za-z0-9]*(?![\w`(]|\.\w)")
"""A word of prose: those inside of a name that is written out, such as `test_client`, make no other name."""
_BACKQUOTED: Final = re.compile(r"`([A-Za-z_][\w.]{1,100})(?:\(\))?`")
_IDENTIFIER: Final = re.compile(r"(?<![\w./@-])([A-Za-z_]\w{0,100}(?:(?:\.|::|->)[A-Za-z_]\w{0,100}){0,5})(\(\))?")
_ASKED_TYPE: Final = re.compile(
    r"\s*(?:(?:what|where)(?:'s| is| are| does| do)|how do(?:es)?|show(?: me)?|explain|describe|define)?\s*"
    r"(?:(?:the|an?)\s+)?(?:class\s+|type\s+|struct\s+|interface\s+)?"
    r"(?-i:([A-Z][a-z]{2,40}))(?:\s+(?:class|type|struct|interface))?(?:\s+\w+){0,2}\s*\??\s*",
    re.IGNORECASE,
)
"""A short question about a single word with a capital, which a store of code may have a class for."""
_CHANGED_WORD: Final = re.compile(r"\b(?:in|to|of|changed|touched)\s+(?:the\s+)?(?:class\s+)?([A-Z]\w{2,40})\b")
_CALLED_WORD: Final = re.compile(
    r"\b(?:calls?|uses?|invokes?|(?:callers?|usages?|users?|uses) of|references? to|function|method|class)\s+"
    r"(?:the\s+)?(?:function\s+|method\s+|class\s+)?([A-Za-z_]\w{2,100})"
)
_DEFINED_WORD: Final = re.compile(
    r"\bwhere(?:'s| is| are| was)\s+(?:the\s+)?(?:function\s+|method\s+|class\s+)?([A-Za-z_]\w{2,100})\s+"
    r"(?:defined|implemented|declared)\b",
    re.IGNORECASE,
)
_FILE_ENDING: Final = re.compile(
    r"\.(?:py|md|rst|txt|go|js|ts|tsx|rs|java|toml|json|ya?ml|cfg|ini|c|h|cpp|rb|html|com|org|io)\Z"
)
_CHAPTER: Final = re.compile(r"\bchapter\s+(\d{1,3}|[ivxlc]{1,7}|[a-z]+)\b", re.IGNORECASE)
_PLAIN_NAMES: Final = {Shape.CALLERS: _CALLED_WORD, Shape.DEFINITION: _DEFINED_WORD, Shape.RECENT: _CHANGED_WORD}
_ABOUT_NAMES: Final = frozenset({Shape.DEFINITION, Shape.CALLERS})

Span = tuple[int, int]


_ANSWER_FACTORS: Final[Mapping[Speaker, float]] = {
    Speaker.PERSON: 0.4,
    Speaker.ASSISTANT: 1.0,
    Speaker.ANYONE: 0.7,
}
"""The factor for what an assistant wrote, by whose words are asked for. People mostly look for what they said
themselves; answers are ten times as long, and full of the words of any question."""

DEFINITION_KINDS: Final = ("class", "function", "interface", "method", "type")
CODE_KINDS: Final = (*DEFINITION_KINDS, "file", "module")
_LISTS: Final = frozenset({Shape.CALLERS, Shape.RECENT, Shape.COMMIT, Shape.PLACE, Shape.TRACEBACK})
"""Shapes that ask for certain nodes, all of them, which a look-up finds and no search can complete.
A traceback of so few words is a place."""
_LISTED: Final = (*sorted(_LISTS), Shape.DEFINITION)
_BESIDE_LISTS: Final = frozenset({Shape.HISTORY, Shape.RELEASES, Shape.DEFINITION, Shape.FILE})
"""Shapes that come along with those: what changed is about history, and `Shelf.fetch` is spelt as a file."""
_MAX_LIST_WORDS: Final = 14
"""A longer question asks for more than a list: why, how, or what to do about it."""
_PACKAGES: Final = re.compile(r".*[/\\](?:site-packages|node_modules)[/\\]")
_MAX_FOREIGN: Final = 3
"""Files of other projects that are named of a traceback; of some frameworks it has dozens."""
_REQUEST: Final = re.compile(
    r"(?i)(?<=[.?!])\s+(?:please\s+)?(?:list|name|give|show|tell|print|include|say)\b[^.?!]*"
)
"""A sentence behind a question that says how to answer it, as in "List them with file and line"."""
COMMIT: Final = "commit"
MARK: Final = "mark"
"""The field of what a profile's form may print beside an item."""
TEST_TAG: Final = "test-code"
"""The tag that the code source gives to everything in test files."""

_UNASKED_FACTOR: Final = 0.5
"""The factor for commits and change logs unless history is asked for: they repeat the words of what changed."""
_ASKED_TESTS_FACTOR: Final = 1.6
"""The factor for test code where tests are asked for; it takes back what profiles lower tests by."""
_CHANGE_LOG_VALUE: Final = 0.15
"""Change logs are raised a little where a release or a change is asked for."""
_CHANGE_LOG: Final = re.compile(
    r"(?i)(?:^|/)(?:changelog|changes|history|news|release[-_]?notes|releases?)\b[^/]*\Z"
)
_NAME: Final = r"`?[A-Za-z_][\w.]*(?:_\w+|\(\)|\.\w+)`?|`\w+`|\w*[a-z]\w*[A-Z]\w*"
"""A word spelt as only code is."""
_GAP: Final = r"(?:\s+[^\s?!;]+){0,5}?"
"""Up to five words, as few as possible."""


class Frame(Struct, frozen=True):
    """One line of a traceback, or one place that a question names: a file, a line in it, and a function."""

    file: str = ""
    line: int = 0
    function: str = ""


class Shapes(Struct, frozen=True):
    """The shapes of one question, and the names, files, frames, hashes and so on that they are about."""

    asked: frozenset[Shape] = frozenset()
    names: tuple[str, ...] = ()
    type: str = ""  # the one word with a capital that a short question is about
    files: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    places: tuple[Frame, ...] = ()
    hashes: tuple[str, ...] = ()
    quotations: tuple[str, ...] = ()
    chapters: tuple[int, ...] = ()
    speaker: Speaker = Speaker.ANYONE
    spelled: tuple[str, ...] = ()  # names that neighbouring words would make, such as `jsonobject`


@lru_cache(maxsize=64)
def read_shapes(question: str) -> Shapes:
    """Return the shapes of a question; a question of no special shape has an empty record."""
    prose, frames, errors = _split_log(question)
    names = tuple(dict.fromkeys(_names(prose)))[:_MAX_NAMES]
    low = prose.lower()
    asked = {shape for shape in PHRASES if shape not in _ABOUT_NAMES and _holds_phrase(shape, prose, low)}
    named = {shape for shape in _ABOUT_NAMES if _holds_phrase(shape, prose, low)}
    # "who calls dispatch?", "where is loads defined?" and "what changed in Session?" name them by plain words.
    for shape, word in _PLAIN_NAMES.items():
        if shape in asked | named and not names:
            names = tuple(dict.fromkeys(match[1] for match in word.finditer(prose)))[:_MAX_NAMES]
    # "Which versions do we test against in CI" asks for no test of ours.
    asked = asked | named if names else asked - ({Shape.TESTS} if Shape.AUTOMATION in asked else set())
    quotations = tuple(dict.fromkeys((*errors, *_quotations(prose))))
    places = tuple(Frame(match["file"], int(match["line"])) for match in _PLACE.finditer(prose))[:_MAX_NAMES]
    hashes = tuple(dict.fromkeys(match[0] for match in _HASH.finditer(prose)))[:_MAX_NAMES]
    files = tuple(dict.fromkeys(_FILE.findall(prose)))[:_MAX_NAMES]
    present = {
        Shape.TRACEBACK: frames,
        Shape.QUOTATION: quotations,
        Shape.PLACE: places,
        Shape.COMMIT: hashes,
        # With a line, it is that which is asked about; with a change, its commits are.
        Shape.FILE: () if places or frames or Shape.RECENT in asked else files,
    }
    asked |= {shape for shape, found in present.items() if found}
    chapters = _read_chapters(prose) if "hapter" in prose else ()
    about = _ASKED_TYPE.fullmatch(prose) if not names and len(prose) < _MAX_TYPE_QUESTION_CHARS else None
    type, speaker = about[1] if about else "", _read_speaker(prose)
    # Who names a file asks about what it holds, and not about what else its words may be the name of.
    spelled = () if frames or files else tuple(spell_names(prose))
    return Shapes(
        frozenset(asked), names, type, files, frames, places, hashes, quotations, chapters, speaker, spelled
    )


def spell_names(question: str) -> dict[str, None]:
    """Return the names that two or three neighbouring words of a question make, as `jsonobject` and `json_object`.

    "Cleanup contexts of an application" are those of the class CleanupContext: the last word may be a plural.
    """
    words = [word.lower() for word in _PLAIN_WORD.findall(question)][:_MAX_SPELLED_WORDS]
    runs = [words[start : start + length] for length in (2, 3) for start in range(len(words) - length + 1)]
    spelled: dict[str, None] = {}
    for *first, last in runs:
        if not STOP_WORDS.isdisjoint([*first, last]):
            continue
        singular = last.removesuffix("s") if len(last) > _SHORTEST_PLURAL else last
        for ending in dict.fromkeys((singular, last)):
            spelled |= dict.fromkeys(("".join([*first, ending]), "_".join([*first, ending])))
    return spelled


def shapes_of(question: str, starts: Sequence[Candidate]) -> Shapes:
    """Return the shapes of a question; definitions that are named without one are asked for as such."""
    if question or not starts or any(start.node.kind not in DEFINITION_KINDS for start in starts):
        return read_shapes(question)
    return Shapes(frozenset({Shape.DEFINITION}), tuple(dict.fromkeys(start.node.title for start in starts)))


def is_shaped(shapes: Shapes, searched: Sequence[Candidate], snapshot: Snapshot) -> bool:
    """Return whether something is to be looked for by the shape of a question, or by a name in it."""
    if shapes.asked or shapes.names:
        return True
    # Only code has names that are made of several words; where a search finds none, nothing more is asked.
    is_code = any(candidate.node.kind in CODE_KINDS for candidate in searched)
    return is_code and bool(shapes.type or (shapes.spelled and snapshot.find(shapes.spelled)))


def _read_chapters(prose: str) -> tuple[int, ...]:
    # Loaded for the few questions that name a chapter.
    from weft.text.numerals import read_number

    return tuple(filter(None, (read_number(match[1]) for match in _CHAPTER.finditer(prose))))


def _read_speaker(prose: str) -> Speaker:
    """Return whose words a question asks for: "what did you suggest", "which bugs did I mention"."""
    if ASSISTANT_SAID.search(prose):
        return Speaker.ASSISTANT
    return Speaker.PERSON if FIRST_PERSON.search(prose) else Speaker.ANYONE


def _holds_phrase(shape: Shape, prose: str, low: str) -> bool:
    """Return whether a question, given also in small letters, holds a phrase of a shape."""
    return any(map(low.__contains__, HINTS.get(shape, ("",)))) and _pattern(shape).search(prose) is not None


@cache
def _pattern(shape: Shape) -> re.Pattern[str]:
    """Return the phrases of a shape as one pattern, made when it is needed first."""
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(_expand, PHRASES[shape]))})(?![\w-])", re.IGNORECASE)


def _expand(phrase: str) -> str:
    """Return the regular expression for a phrase in the notation of the table."""
    phrase = re.sub(r"<(\w+)>", lambda match: WORDS.get(match[1], match[0]), phrase)
    phrase = phrase.replace(" .. ", "\0 ").replace(" ..", "\0").replace(" ", r"\s+")
    # A name is told by its capitals, which no other phrase looks at.
    return phrase.replace("\0", _GAP).replace("<name>", f"(?-i:{_NAME})")


def _split_log(question: str) -> tuple[str, tuple[Frame, ...], tuple[str, ...]]:
    """Return what was asked in words, and the frames and the error of a log that was pasted with it."""
    if not any(mark in question for mark in _MARKS_OF_LOGS):
        return _shorten_prose(_CODE_FENCE.sub(" ", question)), (), ()
    # Only the few questions that may hold a line of a log pay for loading this.
    from weft.pipeline.stack_traces import error_messages, read_frames, split_log

    log, asked = split_log(question)
    return _shorten_prose(asked), read_frames(log), tuple(error_messages(log))


def _shorten_prose(prose: str) -> str:
    prose = prose.replace("\u2019", "'")
    if len(prose) <= _MAX_PROSE_CHARS:
        return prose
    half = _MAX_PROSE_CHARS // 2
    return f"{prose[:half]}\n{prose[-half:]}"


def _quotations(prose: str) -> Iterator[str]:
    for match in _QUOTED.finditer(prose):
        text = match[1] or match[2]
        if len(text.split()) >= _MIN_QUOTED_WORDS:
            yield text[:_MAX_QUOTATION_CHARS]


def _names(prose: str) -> Iterator[str]:
    """Yield what a question calls by the name it has in code: quoted, with brackets, or spelt as no word is."""
    yield from (match[1] for match in _BACKQUOTED.finditer(prose))
    for match in _IDENTIFIER.finditer(prose):
        name = match[1]
        dotted = "." in name or "::" in name or "->" in name
        # "e.g" and "i.e" are dotted as well.
        spelt = len(name) > 3 and (dotted or _is_spelt_as_code(name)) and not _FILE_ENDING.search(name)
        if match[2] or spelt:
            yield name


def _is_spelt_as_code(word: str) -> bool:
    """Return whether a word has the underscores or the inner capitals of code: `fit_all`, `fitAll`, `KeyError`."""
    if "_" in word.strip("_"):
        return True
    # HTTP and JSON are words; looking at the letters after the first leaves out all names of people.
    return not word.isupper() and any(map(str.isupper, word[1:])) and looks_like_code(word)


# --- weighing candidates -----------------------------------------------------------------------------------


class Wanted(Struct, frozen=True):
    """A node that a shape wants, how much (0 to 1), and the part of it that is wanted, if not all.

    With `alone` nothing but that part is shown, else it is shown first. Of `members` the signatures are shown,
    and a `mark`, such as the gist of a change, is printed beside it.
    """

    row: NodeRow
    shape: Shape
    value: float
    part: Span | None = None
    alone: bool = True
    members: tuple[Node, ...] = ()
    mark: str = ""


def kinds_to_leave_out(filter: Filter) -> tuple[str, ...]:
    """Return the kinds that the search for a question leaves out, unless it finds next to nothing without them."""
    # Most repositories hold more commits than anything else: they would crowd the code out of the search. Where
    # history is asked for, they are searched for apart.
    return (COMMIT,) if not filter.kinds else ()


def add_wanted(
    candidates: Sequence[Candidate], wanted: Mapping[int, Sequence[Wanted]], probe: str
) -> list[Candidate]:
    """Return the candidates, and new ones, as if a probe had found them, for what is wanted and was not found."""
    known = {candidate.node.id for candidate in candidates}
    fresh = [each[0] for number, each in wanted.items() if number not in known]
    return [
        *candidates,
        *(
            Candidate(
                each.row.node,
                probe=probe,
                match_source="shape",
                root=each.row.node.key,
                text_tokens=each.row.text_tokens,
                sketch=each.row.sketch,
            )
            for each in fresh
        ),
    ]


def asks_history(shapes: Shapes) -> bool:
    """Return whether a question asks for commits: what changed, when, or one of them by its hash."""
    return bool(shapes.asked & {Shape.HISTORY, Shape.RECENT, Shape.COMMIT})


def lists_all(question: str, shapes: Shapes, wanted: Mapping[int, Sequence[Wanted]]) -> bool:
    """Return whether a short question asks for a list and nothing else, and the list was found.

    "Who calls X" is answered by its callers; what else shares words with the question only costs its reader time.
    """
    asked = shapes.asked - _BESIDE_LISTS
    if not asked or not asked <= _LISTS or len(_REQUEST.sub(" ", question).split()) > _MAX_LIST_WORDS:
        return False
    found = {each.shape for every in wanted.values() for each in every}
    return not asked.isdisjoint(found)


def is_listed(candidate: Candidate) -> bool:
    """Return whether a candidate belongs to the list that a question asks for, or is what the list is about."""
    return any(f"shape_{shape}" in candidate.parts for shape in _LISTED)


def keep_list_order(candidate: Candidate) -> Candidate:
    """Return a candidate of a list with nothing but its place in the list speaking for it."""
    shaped = {name: value for name, value in candidate.parts.items() if name.startswith("shape")}
    # Callers all hold the name that is asked about: that they repeat each other is no fault of theirs.
    return replace(candidate, parts=shaped, covers={})


def name_foreign_frames(shapes: Shapes, wanted: Mapping[int, Sequence[Wanted]]) -> tuple[str, ...]:
    """Return the note that names the files of a traceback that the store does not hold, the innermost first."""
    if not shapes.frames:
        return ()
    held = [each.row.node.origin.file or "" for every in wanted.values() for each in every]
    own = {file.rpartition("/")[2] for file in held}
    files = dict.fromkeys(_PACKAGES.sub("", frame.file) for frame in shapes.frames)
    foreign = [file for file in reversed(files) if file and file.rpartition("/")[2] not in own]
    more = f" and {len(foreign) - _MAX_FOREIGN} more" if len(foreign) > _MAX_FOREIGN else ""
    return (f"Frames outside of this store: {', '.join(foreign[:_MAX_FOREIGN])}{more}.",) if foreign else ()


def weigh_by_shape(
    candidates: Sequence[Candidate], wanted: Mapping[int, Sequence[Wanted]], shapes: Shapes
) -> tuple[Candidate, ...]:
    """Return the candidates with the part `shape` where a shape wants them, and the factor of their kind."""
    # Decided once: most candidates get nothing, and a page has hundreds.
    wants_history = asks_history(shapes)
    asks_changes = bool(shapes.asked & {Shape.HISTORY, Shape.RELEASES})
    # A summary tells what both sides said.
    answer_factor = 1.0 if Shape.SUMMARY in shapes.asked else _ANSWER_FACTORS[shapes.speaker]

    def weigh(candidate: Candidate) -> Candidate:
        node = candidate.node
        if node.kind == COMMIT and not wants_history:
            candidate = _with_parts(candidate, {"shape_factor": _UNASKED_FACTOR})
        elif Shape.TESTS in shapes.asked and TEST_TAG in node.tags:
            candidate = _with_parts(candidate, {"shape_factor": _ASKED_TESTS_FACTOR})
        elif _CHANGE_LOG.search(node.origin.file or ""):
            raised = {"shape": _CHANGE_LOG_VALUE, f"shape_{Shape.RELEASES}": _CHANGE_LOG_VALUE}
            candidate = _with_parts(candidate, raised if asks_changes else {"shape_factor": _UNASKED_FACTOR})
        elif node.fields.get("role") == Speaker.ASSISTANT:
            candidate = _with_parts(candidate, {"shape_factor": answer_factor})
        each = wanted.get(node.id)
        return candidate if each is None else _apply(each, candidate)

    return tuple([weigh(candidate) for candidate in candidates])


def _with_parts(candidate: Candidate, parts: Mapping[str, float]) -> Candidate:
    return replace(candidate, parts={**candidate.parts, **parts})


def _apply(by_shape: Sequence[Wanted], candidate: Candidate) -> Candidate:
    """Return a candidate with what the shapes say about it: its worth, and the part to show."""
    wanted, parts = by_shape[0], {}
    for each in reversed(by_shape):
        parts[f"shape_{each.shape}"] = round(each.value, 6)
    value = round(max(wanted.value, candidate.parts.get("shape", 0.0)), 6)
    # What was asked for by its shape is an item of its own, whatever way the walk went to it.
    node = candidate.node
    if wanted.mark:
        node = replace(node, fields={**node.fields, MARK: wanted.mark})
    weighed = replace(
        candidate,
        node=node,
        parts={**candidate.parts, **parts, "shape": value},
        path=(),
        distance=0,
        root=candidate.node.key,
        members=wanted.members,
    )
    if wanted.part is None:
        return weighed
    if not wanted.alone:
        return replace(weighed, spans=(wanted.part, *candidate.spans))
    # The stored count is that of the whole text.
    return replace(weighed, spans=(wanted.part,), window=wanted.part, text_tokens=None)
