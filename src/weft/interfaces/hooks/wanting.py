"""Judge how relevant the store must be to a prompt before a page is added to it.

"yes, do the second one" and "why is the cookie sent twice" differ in two ways: by their words, and by whether the
store speaks to them. Neither decides alone, so both are measured and added up. The words count by their meaning
(the vector of the prompt) and by how ordinary they are (their place in the vocabulary of the model that ships with
Weft), so that no list of phrases has to know them. The store counts by the relevance of its best passage. What a
prompt lacks by its words, the store must make up by relevance.

`python -m bench.wanting --fit` fits the constants.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.text.sentences import split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS: Final = Path(__file__).parent / "wanting.txt"
"""The file of the constants in hundredths: one for each of `NAMED_MEASURES`, the constant term, and one for each
dimension of the vectors."""
UNIT: Final = 100
NAMED_MEASURES: Final = ("relevance", "length", "rarest", "second_rarest", "identifier")
_VECTOR_SCALE: Final = 3.0
"""The weight of the vector beside the other measures, before fitting: a larger one lets single words decide."""
_ORDINARY_RANK: Final = 1_000
"""The place in the vocabulary up to which all words are equally ordinary; signs and letters stand there too."""
_HARDEST: Final = 0.95
"""The relevance from which on a page could hardly reach it: no page is made for such a prompt."""
_MAX_SENTENCES: Final = 12
"""Sentences of a prompt that are judged one by one: courtesies around one may hide that it wants something."""
_MAX_CHARACTERS: Final = 2_000
_MAX_COMMAND_WORDS: Final = 8
"""A command to a tool is short; a longer line that begins with its name is a sentence about it."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|--?[\w-]+|[\w./~-]+")
_IDENTIFIER: Final = re.compile(r"[a-z][A-Z]|\w[._]\w|\w\(\)|::|\w_\w")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOOLS: Final = _words(
    "apt apt-get awk black brew bun bundle cargo cat cd chmod clear cmake code composer conda cp curl deno "
    "docker docker-compose dotnet echo eslint exit export find gem gh git go gradle gradlew grep head helm hub "
    "jest kill kubectl less ls make mkdir mv mvn mvnw mypy nano node nox npm npx open pip pip3 pipx pnpm "
    "poetry pre-commit prettier ps pwd pytest python python3 rake rg rm ruff rustup scp sed source ssh sudo "
    "tail terraform tmux top touch tox tsc uv vim vitest wget yarn"
)
"""Programs whose name opens a command line."""
_VERBS: Final = _words("clear code cut echo exit export find go head kill less make open source tail top touch")
"""Programs named like everyday words: only a single word may follow them in a command."""
_BEFORE_COMMANDS: Final = _words("again and just now ok okay please run then try yes")
"""Words that may stand before a command line."""
_SENTENCE_WORDS: Final = _words(
    "a about after am an are be because been before being breaks broken but can cannot cant could crashes did "
    "didnt do does doesnt dont fail failed failing fails gives had hangs has have he how i if into is it its "
    "like may me might must my never no not our raise raises returns says she should shows since so than that "
    "the then there these they this those throws until us was we were what when where which while who whom "
    "whose why will wont work works would you your"
)
"""Words that make a line a sentence and not a command."""


class Weights(Struct, frozen=True):
    """The constants of the measure: of relevance, of the measures of words, of the vector, and the constant."""

    relevance: float
    words: "NDArray[np.float64]"
    vector: "NDArray[np.float64]"
    constant: float


@cache
def weights() -> Weights:
    """Return the constants, read once a process."""
    import numpy as np

    read = np.array(WEIGHTS.read_text(encoding="ascii").split(), dtype=np.float64) / UNIT
    named = len(NAMED_MEASURES)
    return Weights(float(read[0]), read[1:named], read[named + 1 :], float(read[named]))


def needed_relevance(prompt: str) -> float | None:
    """Return the relevance from which on a page is worth adding to a prompt; None if no page could be."""
    if is_for_a_tool(prompt):
        return None
    known = weights()
    by_words = max(
        float(measure_words(part) @ known.words + measure_meaning(part) @ known.vector) for part in _parts(prompt)
    )
    needed = 1 / (1 + math.exp((by_words + known.constant) / known.relevance))
    return None if needed > _HARDEST else needed


def measure_words(text: str) -> "NDArray[np.float64]":
    """Return the measures of the words of a text: how many, how rare the two rarest are, and identifiers."""
    import numpy as np

    from weft.embed.static import static_embedder

    ranks = static_embedder().word_ranks(text)
    rarities = sorted((math.log(max(rank, _ORDINARY_RANK) / _ORDINARY_RANK) / 4 for rank in ranks), reverse=True)
    rarest, second, *_ = *rarities, 0.0, 0.0
    return np.array([math.log1p(len(ranks)) / 3, rarest, second, float(bool(_IDENTIFIER.search(text)))])


def measure_meaning(text: str) -> "NDArray[np.float64]":
    """Return the vector of a text on the scale of the constants."""
    import numpy as np

    from weft.embed.static import static_embedder

    row: NDArray[np.float64] = static_embedder().embed([text])[0].astype(np.float64)
    return row * _VECTOR_SCALE


def _parts(prompt: str) -> Iterator[str]:
    """Yield the prompt and, if it has several, its sentences."""
    read = prompt[:_MAX_CHARACTERS]
    yield read
    spans = split_sentences(read)
    if len(spans) > 1:
        yield from (read[start:end] for start, end in spans[:_MAX_SENTENCES])


def is_for_a_tool(prompt: str) -> bool:
    """Return whether a prompt has no words, or is a command of the client or for a program."""
    if prompt.startswith(("/", "!")):
        # Commands of the client itself, such as /clear.
        return " " not in prompt.strip() or prompt.startswith("!")
    words = [word.lower() for word in _WORD.findall(prompt) if any(map(str.isalnum, word))]
    if all(word.isdigit() or len(word) == 1 for word in words):
        return True
    return "\n" not in prompt.strip() and _is_command(prompt, words)


def _is_command(prompt: str, words: list[str]) -> bool:
    """Return whether a prompt is a command line for a program, perhaps after words such as "ok, now run"."""
    opening = 0
    while opening < len(words) - 1 and words[opening] in _BEFORE_COMMANDS:
        opening += 1
    command = [words[opening].removeprefix("./"), *words[opening + 1 :]]
    if command[0] not in _TOOLS or len(command) > _MAX_COMMAND_WORDS or "?" in prompt:
        return False
    # `make` and `open` are verbs as well, which a sentence goes on after.
    if len(command) <= 2:
        return True
    # After an option or a path, the line is no sentence.
    is_sure = any(word.startswith("-") or "./" in word for word in command[1:])
    return (is_sure or command[0] not in _VERBS) and not _SENTENCE_WORDS.intersection(command[1:])
