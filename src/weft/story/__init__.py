"""Find the entities of a book, and the relations between them, without a language model.

`extract_story` is the way through: names are found (`find_names`, `word_usage`), their forms counted (`kinds`),
forms of one person merged (`cast`, `merge`, `match_*`, `join_people`, `same_company`), grouped into entities
(`groups`), joined where the prose says so (`marriages`, `stated_names`), described
(`definitions`) and related (`relations`, with `speakers`, `kinship`, `unnamed_kin` and `families`). What other
languages need is in `languages`; `facts` and `continuity` read events when asked. The closed lists of words lie
under `words/`.
"""

from weft.story.display_name import name_key
from weft.story.extract import extract_story
from weft.story.model import KINDS, TIES, Correction, Entity, KnownEntity, Passage, Prose, Story, Tie
from weft.story.relations import describe_kin, read_note_relations

__all__ = [
    "KINDS",
    "TIES",
    "Correction",
    "Entity",
    "KnownEntity",
    "Passage",
    "Prose",
    "Story",
    "Tie",
    "describe_kin",
    "extract_story",
    "name_key",
    "read_note_relations",
]
