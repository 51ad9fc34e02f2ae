"""Fiction without a language model: who and what a book names, and how they are tied."""

from weft.story.model import KINDS, TIES, Correction, Entity, Known, Passage, Prose, Story, Tie
from weft.story.naming import folded
from weft.story.noted import noted_relations
from weft.story.telling import tell

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
