"""The parts of a subject: for each entity (say), what defines it, what ties it to others, where it is used."""

from weft.subjects.parts import SubjectPart, parts_of
from weft.subjects.relations import with_relations

__all__ = ["SubjectPart", "parts_of", "with_relations"]
