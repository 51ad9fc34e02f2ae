"""What a caller's words mean: nodes to start from, a question, or several topics with their shares."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import Node, Topic, View

if TYPE_CHECKING:
    from weft.faces.library import Weft

_SHARE: Final = re.compile(r"\d{1,6}(\.\d{1,6})?%?\Z")
_EQUAL: Final = "equal"


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a page begins; `notes` say what was decided on the caller's behalf."""

    question: str = ""
    start: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    notes: tuple[str, ...] = ()


def aim(weft: "Weft", words: Sequence[str], view: View, profile: str, blend: str | None = None) -> Aim:
    """Words that all name nodes are where to start; otherwise together they are the question.

    With a blend every word is a topic of its own, a node or a question.
    """
    if not words and not _asks_by_itself(weft, profile):
        raise InvalidInput(
            'The question is empty. Ask something, as in `weft context "how are refunds approved"`, or give the '
            "key, id or title of a node."
        )
    if blend is not None:
        return blended(weft, words, view, shares_of(blend, len(words)))
    named = {word: weft.show(word, tenants=view.tenants, as_of=view.as_of) for word in words}
    if not words or not all(named.values()):
        return Aim(question=" ".join(words))
    both = [word for word in words if _is_also_a_word(weft, word, named[word], view)]
    return Aim(question=" ".join(both), start=tuple(words), notes=tuple(map(_told, both)))


def shares_of(blend: str, topics: int) -> tuple[float, ...]:
    """The shares of `60/40`, one for each topic; `equal` divides equally."""
    if blend.strip().lower() == _EQUAL:
        return (1.0,) * topics
    parts = [part.strip() for part in blend.split("/")]
    if not all(_SHARE.match(part) and float(part.rstrip("%")) > 0 for part in parts):
        raise InvalidInput(
            f"{blend!r} is no blend. Write a share above 0 for each topic, as in 60/40, or `equal`."
        )
    if len(parts) != topics:
        raise InvalidInput(
            f"The blend {blend!r} has {len(parts)} shares for {topics} topics. Give each topic one, and quote "
            'topics of several words: weft context "project X" "person Y" --blend 60/40.'
        )
    return tuple(float(part.rstrip("%")) for part in parts)


def blended(weft: "Weft", words: Sequence[str], view: View, shares: Sequence[float]) -> Aim:
    """Topics of which each is a node or a question, with their shares."""
    topics, both = [], []
    for word, share in zip(words, shares, strict=True):
        named = weft.show(word, tenants=view.tenants, as_of=view.as_of)
        asked = not named or _is_also_a_word(weft, word, named, view)
        both += [word] if named and asked else []
        topics.append(Topic(word if asked else "", (word,) if named else (), share))
    return Aim(topics=tuple(topics), notes=tuple(map(_told, both)))


def _is_also_a_word(weft: "Weft", word: str, named: Sequence[Node], view: View) -> bool:
    """Whether a bare id is also said in other nodes, so that the caller may as well mean the word."""
    titles = {name.casefold() for node in named for name in (node.title, *(each.text for each in node.aliases))}
    written = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    if not written or word.casefold() in titles:
        return False
    limit = len(named) + 1
    found = weft.search(word, match="bm25", limit=limit, tenants=view.tenants, as_of=view.as_of).candidates
    keys = {(node.tenant, node.key) for node in named}
    return any((each.node.tenant, each.node.key) not in keys for each in found)


def _told(word: str) -> str:
    return f"{word!r} is the id of a node and also a word: the page starts from the node and holds both."


def _asks_by_itself(weft: "Weft", profile: str) -> bool:
    return any("{question}" not in probe.question for probe in weft.profile(profile).probes)
