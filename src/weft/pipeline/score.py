"""Score candidates: weigh their signals into one score, and order them so that together they cover the question.

All parts of a score stay on the candidate, because the ledger explains every ranking by them.

In code, files hold together and definitions come before their uses. A question seldom repeats the words of the one
function that answers it, but more is known: what its file and folders are called, what is defined by a name of the
question, how many pieces of the file match, and whether it is a test or an example.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from weft.model import Candidate, Node
from weft.pipeline.plan import is_unnamed_quotation
from weft.pipeline.shape_phrases import Speaker
from weft.pipeline.shapes import CODE_KINDS, COMMIT, DEFINITION_KINDS, TEST_TAG
from weft.ports import LINE_OF
from weft.profiles.types import Lens, Score
from weft.scoring.snippets import weigh_imports, weigh_prose
from weft.text import analyze, is_code, normalise_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ORDER_DIGITS: Final = 3
"""Digits of a score that decide an order: a text that is added elsewhere moves the fourth of every score, and must
not reorder a page that a model has in its cache."""
_PASSING_HALF_LIFE_DAYS: Final = {"context": 30.0, "error": 180.0}
"""Days after which a memory of a category that passes has half its importance: what is going on, and what went
wrong. Facts, preferences, decisions and workflows keep theirs for ever."""
_MAX_COVERAGE_PICKS: Final = 80
"""Items that are picked one by one for what they add; behind so many, order no longer decides what is printed."""
_MIN_TERM_GAIN: Final = 1e-12
"""The least gain by which a term is divided, so that a term that adds nothing anywhere divides by no 0."""
_SECONDS_PER_DAY: Final = 86_400
_IRREGULAR_PLURALS: Final = {"people": "person", "persons": "person", "children": "child", "dates": "date"}
_SHORTEST_PLURAL: Final = 4
"""Letters of the shortest word whose last s is taken for a plural: `gas` has one of its own."""
_STEMS_KEPT: Final = 4096
"""Labels whose stems are kept: a store has hundreds of them, and each candidate has some."""

# How the words of a path are weighed, beside what `search_results.py` adds for its list.
_ASKED_PERSON: Final = re.compile(r"(?i)who(?:'s| is| was| are| were) (?:the )?([^?]{2,60})\??")
_MAX_PERSON_CHARACTERS: Final = 80
"""A longer question asks for more than who somebody is."""
_ASKED_PERSON_VALUE: Final = 0.5
"""The value of the node that has the name, as that of what a shape of the question asks for."""
_FILE_NAME: Final = 0.25
"""For a file whose name is made of words of the question only; a part of it for a part of the words."""
_FOLDER: Final = 0.1
"""The same for the folders that a file stands in, which many files share."""
_LIFTING_PIECES: Final = 8
"""Pieces of a file that count for its lift: a long file must not win by its length."""
# What makes up the part `file` on a page, chosen among eleven settings with the same repositories and the judged
# questions about three others in view: wanted files on a page of 500 tokens 0.87 without title and lift, 0.90 now.
_PAGE_TITLE: Final = 0.45
"""For a definition whose name is made of words of the question only; by the square of the share of them."""
_PAGE_PATH: Final = 0.31
"""For a path that is made of words of the question only."""
_PAGE_LIFT: Final = 0.24
"""For the best piece of the file of which the most other pieces match."""
_TURN_REPEAT: Final = 0.8
"""The share that a person's turn loses of what another text would by repeating words of the question: each turn
about a topic has its words, and says something of its own. Chosen on five conversations among nine values."""
SCORE_DECIMALS: Final = 6
_MIN_CODE_SHARE, _AMONG_DOCUMENTS_FACTOR = 0.25, 0.8
"""The share of code among all candidates but commits below which it lies among documents and seldom answers, as a
script that draws a figure; and its factor there, beside those of the profile and the shape."""

_SAMPLE: Final = re.compile(
    r"(?i)(?:^|/)(?:_*tests?_*|testing|specs?|testdata|fixtures?|examples?|samples?|demos?|benchmarks?|docs?(?:_src)?"
    r"|vendor|third_party|compat|legacy|deprecated|generated)/"
    r"|(?:^|/)(?:test_|conftest\.|compat\.)|(?:_test|_spec|\.test|\.spec|_pb2?|\.min|\.d)\.\w+\Z"
)
_FOLDER_FILES: Final = frozenset({"__init__", "index", "mod"})
"""The names of files that stand for their folders."""
NAME_SEPARATOR: Final = re.compile(r"::|->|\.")


def score(
    candidates: Sequence[Candidate], rule: Score, lens: Lens, now: datetime, absent: Collection[str]
) -> tuple[Candidate, ...]:
    """Return the candidates with score and parts, in the one total order: by score, then tenant and key.

    `absent` are signals this request cannot have at all (no embedder, say): the profile states the weights to
    use then, for all candidates alike.
    """
    scored = [*map(_make_scorer(rule, active_weights(rule, absent), lens, now), candidates)]
    start_first = rule.start_first
    return tuple(
        sorted(
            scored,
            key=lambda candidate: (
                start_first and "start" not in candidate.parts,
                -round(candidate.score, _ORDER_DIGITS),
                candidate.node.tenant,
                candidate.node.key,
            ),
        )
    )


def active_weights(rule: Score, absent: Collection[str]) -> Mapping[str, float]:
    """Return the weights to use when some signals are absent from the request."""
    # The first that is absent decides, in the order of the profile.
    for signal, weights in rule.without.items():
        if signal in absent:
            return weights
    return rule.weights


def _make_scorer(
    rule: Score, weights: Mapping[str, float], lens: Lens, now: datetime
) -> Callable[[Candidate], Candidate]:
    """Return the function that scores one candidate; plain loops, because all candidates of a page run through."""
    # Everything that is the same for all candidates is decided here, once.
    readers = {name: _signal_reader(name, rule, now) for name in (*weights, *rule.boosts)}
    if lens.named_with is not None and "relevance" in readers:
        readers["relevance"] = lambda candidate: _own_relevance(candidate, lens)
    weighed, boosted, product = tuple(weights.items()), tuple(rule.boosts.items()), rule.combine == "product"
    raises = bool(lens.raise_tags or lens.raise_kinds)
    by_tag = {label_stem(tag): factor for tag, factor in lens.raise_tags.items()}
    by_kind = {label_stem(kind): factor for kind, factor in lens.raise_kinds.items()}

    def score_candidate(candidate: Candidate) -> Candidate:
        known = candidate.parts
        # A copy, because a candidate may stand in several sections that score it differently.
        parts = {**known}
        for name, read in readers.items():
            parts[name] = known.get(name, 0.0) if read is None else read(candidate)
        base = 1.0 if product else 0.0
        for name, weight in weighed:
            base = base * parts[name] ** weight if product else base + parts[name] * weight
        # Boosts multiply, so that no signal lifts a candidate that has no base.
        boosts = 1.0
        for name, boost in boosted:
            boosts *= 1.0 + boost * parts[name]
        raised = _lens_factor(candidate, by_kind, by_tag) if raises else 1.0
        if raised != 1.0:
            parts["raised"] = raised
        # The shape of a question lowers or raises whole kinds.
        shaped = known.get("shape_factor", 1.0)
        return replace(candidate, parts=parts, score=round(base * boosts * raised * shaped, 6))

    return score_candidate


def _lens_factor(candidate: Candidate, by_kind: Mapping[str, float], by_tag: Mapping[str, float]) -> float:
    """Return the factor of the lens for a candidate's kind, times that of its best other tag or folder."""
    node = candidate.node
    kind = label_stem(node.kind)
    tags = [label_stem(part) for tag in node.tags for part in tag.split("/")]
    # A note in `Meetings/` is a meeting, though nobody tagged it; a task in it is none, nor is code there.
    if "_form" in node.fields and node.origin.file and LINE_OF not in node.fields:
        tags += [label_stem(part) for part in node.origin.file.split("/")[:-1]]
    # A note whose kind nobody gave is of the kind that it is tagged with.
    if kind not in by_kind:
        kind = next((tag for tag in tags if tag in by_kind), kind)
    factors = [by_tag[tag] for tag in tags if tag in by_tag and not (tag == kind and kind in by_kind)]
    return by_kind.get(kind, 1.0) * max(factors, default=1.0)


@lru_cache(_STEMS_KEPT)
def label_stem(label: str) -> str:
    """Return a tag, kind or folder as lenses compare them: in small letters, in the singular."""
    word = label.strip().casefold().lstrip("#").replace(" ", "-").replace("_", "-")
    if word in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[word]
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return f"{word[:-3]}y"
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= _SHORTEST_PLURAL
    return word[:-1] if is_plural else word


def _signal_reader(name: str, rule: Score, now: datetime) -> Callable[[Candidate], float] | None:
    """Return the function that reads a signal off a candidate; None for one that stands among its parts."""
    if name == "distance":
        return lambda candidate: _closeness(candidate.distance, rule)
    if name == "recency":
        return lambda candidate: _recency(
            candidate.node.modified or candidate.node.created, rule.half_life_days, now
        )
    if name == "importance":
        return lambda candidate: candidate.node.importance * _endurance(candidate.node, now)
    if name == "table":
        return lambda candidate: rule.table.get(str(candidate.node.fields.get(rule.table_field, "")), 0.0)
    if name == "edge":
        return lambda candidate: candidate.parts.get("edge", 1.0)
    return None


def _own_relevance(candidate: Candidate, lens: Lens) -> float:
    """Return the relevance of a candidate; the words of a quotation belong to the quoted passage."""
    return 0.0 if is_unnamed_quotation(candidate, lens.named_with) else candidate.parts.get("relevance", 0.0)


def _endurance(node: Node, now: datetime) -> float:
    """Return what is left of the importance of a memory: all of it, unless its category passes with time."""
    category = str(node.fields.get("category", "")) if node.kind == "memory" else ""
    half_life = _PASSING_HALF_LIFE_DAYS.get(category)
    return 1.0 if half_life is None else _recency(node.modified or node.created, half_life, now)


def _closeness(distance: int, rule: Score) -> float:
    return round(1.0 / (distance + 1) if rule.distance == "decay" else 1.0 / max(distance, 1), 9)


def _recency(time: datetime | None, half_life_days: float, now: datetime) -> float:
    """Return 1 for now or later, halved every half-life; 0 for a node without a date."""
    if time is None:
        return 0.0
    days = max((now - time).total_seconds(), 0.0) / _SECONDS_PER_DAY
    return round(float(0.5 ** (days / half_life_days)), 9)


def order_by_coverage(
    ranked: Sequence[Candidate], rule: Score, weights: Mapping[str, float]
) -> tuple[Candidate, ...]:
    """Order the candidates by what each adds to those before it, with that as its score.

    Scores only fall, so the order stays one by score; ties keep the order given, which is total.
    """
    if not rule.coverage or not weights.get("lexical") or not any(candidate.covers for candidate in ranked):
        return tuple(ranked)
    return _pick_by_gain(ranked, _lexical_factors(ranked, weights), rule.coverage)


def _lexical_factors(ranked: Sequence[Candidate], weights: Mapping[str, float]) -> list[float]:
    """Return what one unit of the lexical part adds to each score: boosts and lenses multiplied the sum."""
    sums = [sum([item.parts.get(name, 0.0) * weight for name, weight in weights.items()]) for item in ranked]
    factors = [item.score / base if base > 0 else 1.0 for item, base in zip(ranked, sums, strict=True)]
    repeats = [_TURN_REPEAT if item.node.fields.get("role") == Speaker.PERSON else 1.0 for item in ranked]
    return [weights["lexical"] * factor * repeat for factor, repeat in zip(factors, repeats, strict=True)]


def _pick_by_gain(ranked: Sequence[Candidate], factors: Sequence[float], coverage: float) -> tuple[Candidate, ...]:
    """Pick the best of what is left, again and again.

    What a candidate adds only falls, so one that was counted anew and is still ahead of all others is the best:
    few are counted each time. Sums are made term by term, so that they are the same on every machine.
    """
    max_gain = _max_gains(ranked)
    # The share of each term that the picked candidates have covered: it grows from 0 towards 1.
    covered = dict.fromkeys(max_gain, 0.0)

    def worth(index: int) -> float:
        candidate = ranked[index]
        repeated = sum([gain * covered[term] for term, gain in candidate.covers.items()])
        return candidate.score - factors[index] * repeated

    # (-worth, index, pick at which the worth was computed)
    waiting = [(-candidate.score, index, 0) for index, candidate in enumerate(ranked)]
    heapify(waiting)
    order: list[tuple[int, float]] = []
    for pick in range(min(len(ranked), _MAX_COVERAGE_PICKS)):
        while waiting[0][2] < pick:
            heapreplace(waiting, (-worth(waiting[0][1]), waiting[0][1], pick))
        negative_worth, index, _ = heappop(waiting)
        order.append((index, round(-negative_worth, 6)))
        for term, gain in ranked[index].covers.items():
            covered[term] += (1.0 - covered[term]) * coverage * gain / max_gain[term]
    # The others are ordered by what they add to all that was picked, without counting anew after each.
    rest = sorted([(-round(worth(index), 6), index) for _, index, _ in waiting])
    order += [(index, -negative_worth) for negative_worth, index in rest]
    return tuple([_rescore(ranked[index], max(new_score, 0.0)) for index, new_score in order])


def _max_gains(ranked: Sequence[Candidate]) -> dict[int, float]:
    """Return the most that each term adds to any candidate."""
    max_gain: dict[int, float] = {}
    for candidate in ranked:
        for term, gain in candidate.covers.items():
            max_gain[term] = max(gain, max_gain.get(term, _MIN_TERM_GAIN))
    return max_gain


def _rescore(candidate: Candidate, new_score: float) -> Candidate:
    repeated = round(candidate.score - new_score, 6)
    if repeated <= 0:
        return candidate
    return replace(candidate, parts={**candidate.parts, "repeated": -repeated}, score=new_score)


def score_factor(candidate: Candidate, weights: Mapping[str, float]) -> float:
    """Return by what boosts and lenses multiplied the sum of a candidate's weighed parts."""
    base = sum([weight * candidate.parts.get(name, 0.0) for name, weight in weights.items()])
    # Repeating what better ones say was taken off afterwards.
    return (candidate.score - candidate.parts.get("repeated", 0.0)) / base if base > 0 else 1.0


def score_besides_match(candidate: Candidate, weights: Mapping[str, float], factor: float) -> float:
    """Return what a node's score has besides words and meaning, which are measured by snippet; `factor` is that of
    `score_factor`."""
    names = ("lexical", "semantic", "relevance")
    measured = sum([weights.get(name, 0.0) * candidate.parts.get(name, 0.0) for name in names])
    return candidate.score - factor * measured


def weigh_texts(
    candidates: Sequence[Candidate], owner: Sequence[int], start: Sequence[int], end: Sequence[int]
) -> tuple["Floats", "Floats"]:
    """Return two factors for each snippet: below 1 where a document holds data, or a code file only imports.

    The head of a file that was asked for keeps its score.
    """
    is_prose = [not is_code(candidate.node.language) for candidate in candidates]
    is_head = [
        candidate.node.kind == "file" and not prose and not candidate.parts.get("shape")
        for candidate, prose in zip(candidates, is_prose, strict=True)
    ]
    texts = [candidate.node.text for candidate in candidates]
    spans = list(zip(owner, start, end, strict=True))
    prose = [texts[of][first:last] if is_prose[of] else "" for of, first, last in spans]
    return weigh_prose(prose), weigh_imports(
        [texts[of][first:last] if is_head[of] else "" for of, first, last in spans]
    )


def best_first(scores: Sequence[float]) -> list[int]:
    """Return the indexes of some scores, the best first, and those of equal ones in their order."""
    falling = [-round(score, _ORDER_DIGITS) for score in scores]
    # Sorting is stable, so that equal ones keep their order.
    return sorted(range(len(scores)), key=falling.__getitem__)


# --- people: who is asked about ------------------------------------------------------------------------------


def raise_asked_person(candidates: Sequence[Candidate], question: str) -> tuple[Candidate, ...]:
    """Return the candidates; where a question is "Who is NAME?", the node of that name is what it asks for."""
    asked = _ASKED_PERSON.fullmatch(question.strip()) if len(question) <= _MAX_PERSON_CHARACTERS else None
    if asked is None:
        return tuple(candidates)
    name = normalise_name(asked[1])
    return tuple([_with_asked_person(each, name) for each in candidates])


def _with_asked_person(candidate: Candidate, name: str) -> Candidate:
    names = (candidate.node.title, *(alias.text for alias in candidate.node.aliases))
    if name not in map(normalise_name, names):
        return candidate
    value = max(_ASKED_PERSON_VALUE, candidate.parts.get("shape", 0.0))
    return replace(candidate, parts={**candidate.parts, "shape": value})


# --- code: what files, paths and definitions add ------------------------------------------------------------


def add_file_parts(candidates: Sequence[Candidate], question: str) -> tuple[Candidate, ...]:
    """Return the candidates, code with the part `file`, or less worth where it lies among documents.

    The part is made of the words shared with the question, and for a file's best piece of how its others match.
    """
    pieces = [each for each in candidates if each.node.kind in CODE_KINDS]
    if len(pieces) < _MIN_CODE_SHARE * sum(each.node.kind != COMMIT for each in candidates):
        return tuple([_lower(each) if each.node.kind in CODE_KINDS else each for each in candidates])
    terms = frozenset(analyze(question))
    code = [each for each in pieces if not is_sample(each.node)]
    relevance = [each.parts.get("relevance", 0.0) for each in code]
    lifts = dict(zip([each.node.id for each in code], file_lifts(code, relevance), strict=True))
    return tuple([
        _with_file_part(each, terms, lifts.get(each.node.id, 0.0)) if each.node.kind in CODE_KINDS else each
        for each in candidates
    ])  # fmt: skip


def _lower(candidate: Candidate) -> Candidate:
    # What a question asks for by its shape, such as the callers of a function, is wanted wherever it stands.
    lowered = {"shape_factor": _AMONG_DOCUMENTS_FACTOR * candidate.parts.get("shape_factor", 1.0)}
    return candidate if candidate.parts.get("shape") else replace(candidate, parts={**candidate.parts, **lowered})


def _with_file_part(candidate: Candidate, terms: frozenset[str], lift: float) -> Candidate:
    node = candidate.node
    path, title = path_worth(node, terms) / (_FILE_NAME + _FOLDER), 0.0
    own_words = set(analyze(_split_name(NAME_SEPARATOR.split(node.title)[-1])))
    # A name of one word (`toBudget` has no other that counts) is a word like any other; a part of a longer one
    # says little.
    if node.kind in DEFINITION_KINDS and len(own_words) > 1:
        title = (len(own_words & terms) / len(own_words)) ** 2
    # Much about one word of the question elsewhere in a file says little for a piece that holds only that word.
    lift *= candidate.parts.get("lexical", 0.0)
    share = round(_PAGE_PATH * path + _PAGE_TITLE * title + _PAGE_LIFT * lift, SCORE_DECIMALS)
    return replace(candidate, parts={**candidate.parts, "file": share}) if share else candidate


def path_worth(node: Node, terms: frozenset[str]) -> float:
    """Return what the words of a file's name and folders add."""
    file = PurePosixPath(node.origin.file or "")
    # `mod.rs` and `__init__.py` are known by the name of their folder.
    if file.stem in _FOLDER_FILES:
        file = file.parent
    return _FILE_NAME * name_share(file.stem, terms) + _FOLDER * name_share(" ".join(file.parts[:-1]), terms)


def find_export(name: str, node: Node) -> re.Match[str] | None:
    """Return the statement by which a file that stands for its folder hands on a name defined elsewhere."""
    if (
        node.kind != "file"
        or PurePosixPath(node.origin.file or "").stem not in _FOLDER_FILES
        or name not in node.text
    ):
        return None
    return re.search(rf"(?m)^\s*(?:pub use|export|from \S+ import)\b[^;]*?\b{re.escape(name)}\b", node.text)


def is_sample(node: Node) -> bool:
    """Return whether a node is a test or an example, or stands in a folder of generated or borrowed code."""
    return TEST_TAG in node.tags or _SAMPLE.search(node.origin.file or "") is not None


def name_share(name: str, terms: frozenset[str]) -> float:
    """Return which share of the words of a name the question has."""
    words = set(analyze(_split_name(name)))
    return sum(word in terms for word in words) / len(words) if words else 0.0


def _split_name(name: str) -> str:
    """Return a name as separate words: the terms of a joined one include the whole, which adds nothing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name)


def file_lifts(candidates: Sequence[Candidate], worth: Sequence[float]) -> list[float]:
    """Return for the best piece of each file how much its others match, 1 for the most, and 0 for the others."""
    pieces: dict[str, list[int]] = {}
    for index, candidate in enumerate(candidates):
        pieces.setdefault(file_of(candidate.node), []).append(index)
    lifts: dict[int, float] = {}
    for indices in pieces.values():
        best, *others = sorted(indices, key=lambda index: -worth[index])[:_LIFTING_PIECES]
        lifts[best] = sum([worth[index] for index in others])
    most = max(lifts.values(), default=0.0)
    return [lifts.get(index, 0.0) / most if most > 0 else 0.0 for index in range(len(candidates))]


def file_of(node: Node) -> str:
    """Return what holds a piece together with others: its file, or itself."""
    held = f"{node.origin.source}\n{node.origin.file}" if node.origin.file else node.key
    return f"{node.tenant}\n{held}"
