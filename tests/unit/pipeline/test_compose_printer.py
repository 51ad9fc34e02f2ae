"""The printer measures a text once for a page, however often the budget asks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.model import Candidate, Node
from weft.pipeline.compose import Printer
from weft.pipeline.query import QuestionTerms
from weft.render import open_format
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")


@dataclass
class Noting:
    """A counter that notes the texts it was given by the many."""

    read: list[str] = field(default_factory=list)
    name: str = COUNT.name

    def count(self, text: str) -> int:
        return COUNT.count(text)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        self.read += texts
        return COUNT.count_many(texts)

    def cut(self, text: str, max_tokens: int) -> str:
        return COUNT.cut(text, max_tokens)


def test_a_text_is_read_once_for_excerpts_of_all_lengths() -> None:
    noting = Noting()
    printer = Printer(open_format("markdown"), noting, {}, QuestionTerms({}, ()), stored=None)
    candidate = Candidate(Node("notes:a", "note", text="The gulls were loud. " * 200))
    assert all(printer.shorten(candidate, room) for room in (40, 80, 120))
    assert len(noting.read) == 200
