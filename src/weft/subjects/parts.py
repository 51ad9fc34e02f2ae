"""For every subject and part, the candidates that may fill it."""

from collections.abc import Mapping, Sequence

from weft.candidates import told
from weft.frozen import dataclass
from weft.model import Candidate
from weft.ports import Snapshot
from weft.profile import Part
from weft.subjects.neighbours import Neighbours
from weft.subjects.passages import Divide, Tellings, names_of
from weft.text import named_in


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
    tellings = Tellings.of(subjects, parts, near, snapshot, divide, relevance)
    return tuple(
        SubjectPart(subject, part, _candidates(subject, part, near, tellings))
        for subject in subjects
        for part in parts
    )


def _candidates(subject: Candidate, part: Part, near: Neighbours, tellings: Tellings) -> tuple[Candidate, ...]:
    if not part.via:
        return (_pointed(subject),)
    return tellings.passages(subject, part) if part.unit == "passage" else near.candidates(subject, part)


def _pointed(subject: Candidate) -> Candidate:
    """A subject with the place where its own text names it, unless the question points to a part of this."""
    text = subject.node.text
    if any(end - start < len(text) for start, end in subject.spans):
        return subject
    return told(subject, subject.parts, spans=tuple(named_in(text, names_of(subject.node), (0, len(text)))[:1]))
