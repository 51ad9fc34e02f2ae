"""What a story is made of: its prose, who and what is named in it, and how they are tied."""

from typing import Final

from weft.frozen import dataclass

KINDS: Final = ("character", "location", "faction", "object", "event")
TIES: Final = ("spouse", "parent", "sibling", "friend", "enemy", "member", "ruler", "located_in")
"""Ties that somebody states, in prose or in a note; other ties come of standing near one another."""


@dataclass(frozen=True, slots=True)
class Prose:
    """A scene, or a chapter without scenes; the list they come in is the narrative order."""

    key: str
    text: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Known:
    """An entity that a note describes: what it is called there comes before anything found in prose."""

    key: str
    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    """What somebody said about an entity, and from which chapter on it holds.

    `merge` takes several names; `rename` and `type` a new value; `hide` neither.
    """

    action: str
    names: tuple[str, ...]
    value: str = ""
    chapter: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A name standing in the prose: a title, the words of the name, and the words around it."""

    prose: int
    start: int
    end: int
    title: str
    names: tuple[str, ...]
    before: str = ""
    after: str = ""
    article: bool = False
    owns: bool = False
    sentence: int = 0
    goes_on: bool = False
    """Whether another capital follows directly, of a word that is no name: the Sperm in Sperm Whale."""
    labels: bool = False
    """Whether it stands before what somebody says, as in a play."""
    pronoun: str = ""
    """The first `he`, `she` or `it` that follows before anyone else is named."""

    @property
    def form(self) -> "Form":
        """The name as such, wherever it stands."""
        return (self.title, self.names)


Form = tuple[str, tuple[str, ...]]
"""A title in lower case (or none) and the words of a name as written."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of prose that shows or describes something."""

    prose: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something named in the story, with all it is called, by number of mentions."""

    name: str
    kind: str
    aliases: tuple[str, ...]
    confidence: float
    mentions: tuple[Sighting, ...]
    definition: Passage
    spoke: int = 0
    note: str = ""
    """The key of the note that describes it, if there is one."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation between two entities, by their places in the story's list, with the passages that show it."""

    source: int
    target: int
    type: str
    weight: float
    confidence: float
    evidence: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A book as a graph: entities by number of mentions, and the ties between them."""

    entities: tuple[Entity, ...] = ()
    ties: tuple[Tie, ...] = ()
