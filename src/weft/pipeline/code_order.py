"""Order what a search found in code: files hold together, and definitions come before their uses.

A question about code seldom repeats the words of the one function that answers it. More is known: the words that
the file and its folders are called by, what is defined under a name of the question, how many other pieces of the
file match, and whether it is the code itself or a test or an example of it.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Node
from weft.pipeline.shapes import CODE_KINDS, DEFINITION_KINDS, TEST_TAG
from weft.text import analyze

_TYPE_KINDS: Final = frozenset({"class", "interface", "type"})

# What each sign adds to a relevance between 0 and 1, in round numbers, chosen by hand with all seven repositories
# of a benchmark of code search in view. Free fits on some of them reached 0.83 and 0.92 on the others.
_FILE_NAME: Final = 0.25
"""For a file whose name is made of words of the question only; a part of it for a part of the words."""
_FOLDER: Final = 0.1
"""The same for the folders that a file stands in, which many files share."""
_CODE: Final = 0.15
"""For code, which is what people search a repository for, before documents that describe it."""
_TITLE: Final = 0.15
"""For a definition whose name is made of words of the question only."""
_NAMED_TYPE: Final = 0.4
"""For a class or type that the question calls by its very name: it comes before all that uses it."""
_NAMED_FUNCTION: Final = 0.2
"""The same for a function or method; many have the same name."""
_SAMPLE_FACTOR: Final = 0.6
"""The factor for tests, examples, documents' snippets and code that is kept for compatibility."""
_FILE_LIFT: Final = 0.3
"""For the best piece of the file of which the most other pieces match; a part of it for other files."""
_LIFTING_PIECES: Final = 8
"""Pieces of a file that count for its lift: a long file must not win by its length."""
_FURTHER_PIECE_FACTOR: Final = 0.4
"""The factor for each further piece of a file, so that the first ten show several files."""
_SCORE_DECIMALS: Final = 6

_SAMPLE: Final = re.compile(
    r"(?i)(?:^|/)(?:_*tests?_*|testing|specs?|testdata|fixtures?|examples?|samples?|demos?|benchmarks?|docs?(?:_src)?"
    r"|vendor|third_party|compat|legacy|deprecated|generated)/"
    r"|(?:^|/)(?:test_|conftest\.|compat\.)|(?:_test|_spec|\.test|\.spec|_pb2?|\.min|\.d)\.\w+\Z"
)
_ASKS_FOR_SAMPLES: Final = re.compile(
    r"(?i)\b(?:tests?|tested|specs?|examples?|samples?|demos?|benchmarks?|fixtures?)\b"
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*")
_NAME_SEPARATOR: Final = re.compile(r"::|->|\.")


def order_code(candidates: Sequence[Candidate], question: str) -> tuple[Candidate, ...]:
    """Return the candidates in the order in which a reader of code wants them; as they are where none is code."""
    if not any(candidate.node.kind in CODE_KINDS for candidate in candidates):
        return tuple(candidates)
    terms, names = frozenset(analyze(question)), frozenset(_IDENTIFIER.findall(question))
    wants_samples = _ASKS_FOR_SAMPLES.search(question) is not None
    worth = [_worth(candidate, terms, names, wants_samples=wants_samples) for candidate in candidates]
    lifted = _lift_best_pieces(candidates, worth)
    # Stable, so that what is worth the same keeps the order of the search, which is total.
    by_worth = sorted(range(len(candidates)), key=lambda index: -lifted[index])
    seen: dict[str, int] = {}
    for index in by_worth:
        file = _file(candidates[index].node)
        lifted[index] = round(lifted[index] * _FURTHER_PIECE_FACTOR ** seen.get(file, 0), _SCORE_DECIMALS)
        seen[file] = seen.get(file, 0) + 1
    return tuple(
        replace(candidates[index], score=lifted[index])
        for index in sorted(by_worth, key=lambda index: -lifted[index])
    )


def add_file_parts(candidates: Sequence[Candidate], question: str) -> tuple[Candidate, ...]:
    """Return the candidates, those that are code with the part `file`: how much of their path is asked for."""
    terms = frozenset(analyze(question))
    return tuple([_with_file_part(each, terms) if each.node.kind in CODE_KINDS else each for each in candidates])


def _with_file_part(candidate: Candidate, terms: frozenset[str]) -> Candidate:
    share = round(_path_worth(candidate.node, terms) / (_FILE_NAME + _FOLDER), 6)
    return replace(candidate, parts={**candidate.parts, "file": share}) if share else candidate


def _path_worth(node: Node, terms: frozenset[str]) -> float:
    """Return what the words of a file's name and folders add."""
    file = PurePosixPath(node.origin.file or "")
    return _FILE_NAME * _shared(file.stem, terms) + _FOLDER * _shared(" ".join(file.parts[:-1]), terms)


def _name_worth(node: Node, terms: frozenset[str]) -> float:
    """Return what the words of a file's path and of a definition's name add."""
    worth = _path_worth(node, terms)
    if node.kind in DEFINITION_KINDS:
        worth += _TITLE * _shared(_NAME_SEPARATOR.split(node.title)[-1], terms)
    return worth


def _worth(candidate: Candidate, terms: frozenset[str], names: frozenset[str], *, wants_samples: bool) -> float:
    """Return the relevance of one candidate with all that its file and its name add to it."""
    node, worth = candidate.node, candidate.parts.get("relevance", 0.0)
    worth += _name_worth(node, terms)
    if node.kind in CODE_KINDS:
        worth += _CODE
    if node.kind in DEFINITION_KINDS:
        own_name = _NAME_SEPARATOR.split(node.title)[-1]
        if own_name in names or node.title in names:
            worth += _NAMED_TYPE if node.kind in _TYPE_KINDS else _NAMED_FUNCTION
    return worth * _SAMPLE_FACTOR if is_sample(node) and not wants_samples else worth


def is_sample(node: Node) -> bool:
    """Return whether a node is a test or an example, or stands in a folder of generated or borrowed code."""
    return TEST_TAG in node.tags or _SAMPLE.search(node.origin.file or "") is not None


def _shared(name: str, terms: frozenset[str]) -> float:
    """Return which share of the words of a name the question has."""
    words = set(analyze(_split_name(name)))
    return sum(word in terms for word in words) / len(words) if words else 0.0


def _split_name(name: str) -> str:
    """Return a name as separate words: the terms of a joined one include the whole, which adds nothing."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name)


def _lift_best_pieces(candidates: Sequence[Candidate], worth: Sequence[float]) -> list[float]:
    """Return what candidates are worth, the best piece of each file raised by the other pieces that match."""
    pieces: dict[str, list[int]] = {}
    for index, candidate in enumerate(candidates):
        pieces.setdefault(_file(candidate.node), []).append(index)
    lifts: dict[int, float] = {}
    for indices in pieces.values():
        best, *others = sorted(indices, key=lambda index: -worth[index])[:_LIFTING_PIECES]
        lifts[best] = sum([worth[index] for index in others])
    most = max(lifts.values(), default=0.0)
    return [
        round(value + (_FILE_LIFT * lifts.get(index, 0.0) / most if most > 0 else 0.0), _SCORE_DECIMALS)
        for index, value in enumerate(worth)
    ]


def _file(node: Node) -> str:
    """Return what holds a piece together with others: its file, or itself."""
    return (
        f"{node.tenant}\n{node.origin.source}\n{node.origin.file}"
        if node.origin.file
        else f"{node.tenant}\n{node.key}"
    )
