"""Define the records of a story: its prose, the names found in it, its entities and the ties between them."""

from typing import Final

from msgspec import Struct

KINDS: Final = ("character", "location", "faction", "object", "event")
TIES: Final = (
    "spouse", "betrothed", "parent", "sibling", "relative", "friend", "enemy", "serves", "member", "ruler",
    "located_in",
)  # fmt: skip
"""Ties that prose or a note states; all other ties come from names that stand near one another."""


class Prose(Struct, frozen=True):
    """A scene, or a chapter without scenes; a list of them is in narrative order."""

    key: str
    text: str
    sequence: int


class KnownEntity(Struct, frozen=True):
    """An entity that a note describes; its names there come before any that are found in prose."""

    key: str
    kind: str
    names: tuple[str, ...]


class Correction(Struct, frozen=True):
    """A user's correction of an entity, and the chapter from which it holds.

    `merge` takes several names; `split` and `drop-alias` an entity and the names to take from it; `rename` and
    `type` a new value; `hide` neither.
    """

    action: str
    names: tuple[str, ...]
    value: str = ""
    chapter: int = 0


class Mention(Struct, frozen=True):
    """A name at one place in the prose: a title, the words of the name, and the words around it."""

    # An index into the list of proses: a book has tens of thousands of mentions, which need no key each.
    prose: int
    start: int
    end: int
    title: str
    names: tuple[str, ...]
    before: str = ""
    after: str = ""
    has_article: bool = False
    is_possessive: bool = False
    sentence: int = 0
    is_continued: bool = False
    """Whether a capitalised word that is no name follows directly: the Sperm in Sperm Whale."""
    is_speaker_label: bool = False
    """Whether it stands before a speech, as in a play."""
    is_with_father: bool = False
    """Whether its sentence speaks of a father or a son."""
    pronoun: str = ""
    """The first `he`, `she` or `it` that follows before anyone else is named."""

    @property
    def form(self) -> "Form":
        """The name itself, wherever it stands."""
        return (self.title, self.names)


Form = tuple[str, tuple[str, ...]]
"""A title in lower case (or none) and the words of a name as written."""


class Passage(Struct, frozen=True):
    """A stretch of prose that shows or describes something."""

    prose: int
    start: int
    end: int


class Entity(Struct, frozen=True):
    """A person or thing named in the story, with all its names, by number of mentions."""

    name: str
    kind: str
    aliases: tuple[str, ...]
    confidence: float
    mentions: tuple[Mention, ...]
    definition: Passage
    speech_count: int = 0
    note: str = ""
    """The key of the note that describes it, if there is one."""


class Tie(Struct, frozen=True):
    """A relation between two entities, by their indexes in the story's list, with the passages that show it."""

    source: int
    target: int
    type: str
    weight: float
    confidence: float
    evidence: tuple[Passage, ...]


class Story(Struct, frozen=True):
    """A book as a graph: entities by number of mentions, and the ties between them."""

    entities: tuple[Entity, ...] = ()
    ties: tuple[Tie, ...] = ()
