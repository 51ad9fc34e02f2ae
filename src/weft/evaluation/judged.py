"""A judged set: documents, questions, and which documents hold the evidence for each question."""

from collections.abc import Mapping
from dataclasses import field

from weft.frozen import dataclass
from weft.model import Json
from weft.ports import Problem


@dataclass(frozen=True, slots=True)
class Document:
    """One document as its file gives it, and the line it stands on."""

    id: str
    record: Mapping[str, object]
    file: str
    line: int

    @property
    def empty(self) -> bool:
        """Whether there is nothing to find: neither a title nor a text."""
        return not any(str(self.record.get(name) or "").strip() for name in ("title", "text"))


@dataclass(frozen=True, slots=True)
class Question:
    """One question with the answers that count, if any are known."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judged:
    """A set to measure with. `gold` holds the positive grades by question; ids that do not exist are left out
    of it and listed in `unknown`. `scopes` names the documents each scoped question may be answered from.

    `problems` are lines that could not be used; `unjudged` are questions without gold; `excluded` are those
    whose scope holds none of their gold; `place` tells the set from others of the same name.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    gold: Mapping[str, Mapping[str, int]]
    scopes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    unknown: tuple[Problem, ...] = ()
    unjudged: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    place: str = ""

    @property
    def empty_documents(self) -> tuple[str, ...]:
        """The ids of documents that hold nothing."""
        return tuple(document.id for document in self.documents if document.empty)

    def askable(self, scoped: bool) -> tuple[Question, ...]:
        """The questions that can be measured: judged, and not shut out from all their gold by their scope."""
        out = {*self.unjudged, *(self.excluded if scoped else ())}
        return tuple(question for question in self.questions if question.id not in out)
