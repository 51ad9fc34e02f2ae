"""Fiction without a language model: who and what a book names, and how they are tied."""

from weft.story.display_name import folded
from weft.story.extract import tell
from weft.story.model import KINDS, TIES, Correction, Entity, Known, Passage, Prose, Story, Tie
from weft.story.relations import noted_relations

__all__ = [
    "KINDS",
    "TIES",
    "Correction",
    "Entity",
    "Known",
    "Passage",
    "Prose",
    "Story",
    "Tie",
    "folded",
    "noted_relations",
    "tell",
]
