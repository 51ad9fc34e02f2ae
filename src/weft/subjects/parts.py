"""For every subject and part, the candidates that may fill it."""

from collections.abc import Mapping, Sequence

from weft.frozen import dataclass
from weft.model import Candidate
from weft.ports import Snapshot
from weft.profile import Part
from weft.subjects.neighbours import Neighbours
from weft.subjects.passages import Divide, Tellings


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """The candidates of one part of one subject, unscored."""

    subject: Candidate
    part: Part
    candidates: tuple[Candidate, ...]


def parts_of(
    subjects: Sequence[Candidate],
    parts: Sequence[Part],
    kinds: Sequence[str],
    snapshot: Snapshot,
    divide: Divide,
    relevance: Mapping[int, float],
) -> tuple[SubjectPart, ...]:
    """For every subject and part, in order, what may fill it.

    `divide` cuts nodes into passages; `relevance`, by node id, is what is known of the texts before they are
    opened, and decides which of very many are.
    """
    near = Neighbours.of(subjects, parts, kinds, snapshot)
    told = Tellings.of(subjects, parts, near, snapshot, divide, relevance)
    return tuple(
        SubjectPart(subject, part, _candidates(subject, part, near, told))
        for subject in subjects
        for part in parts
    )


def _candidates(subject: Candidate, part: Part, near: Neighbours, told: Tellings) -> tuple[Candidate, ...]:
    if not part.via:
        return (subject,)
    return told.passages(subject, part) if part.unit == "passage" else near.candidates(subject, part)
