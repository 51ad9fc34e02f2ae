"""The places on a page that take items, and what became of each candidate for one."""

from weft.frozen import dataclass
from weft.model import Candidate, Detail, Item


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place on the page that takes items: a section, or one part of one subject of a section.

    `openings` are the headings to be printed before its first item, outermost first, as (name, tokens);
    leaves may share them. `cap` is the fraction of the leaf's first budget that one item may cost; it always
    leaves what the smallest excerpt needs. With `relax` it gives way to a short text, and in the end, when nothing
    else wants the room, to all; `item_tokens` never does. `quotes` says that whole items print their text, so that
    one costs at least its text's tokens. `own` leaves print what the heading above them names, however often;
    those that print `again` take a passage of which less than half stands elsewhere. `within` names the groups it
    belongs to, outermost first: what it cannot spend goes to the rest of its group before anyone else gets it.
    """

    name: str
    candidates: tuple[Candidate, ...]
    share: float = 1.0
    openings: tuple[tuple[str, int], ...] = ()
    limit: int | None = None
    cap: float | None = None
    relax: bool = False
    pointers: int | None = None
    ladder: tuple[Detail, ...] = ()
    quotes: bool = True
    item_tokens: int | None = None
    own: bool = False
    again: bool = False
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one candidate of a leaf: its item, or none, and why."""

    leaf: str
    candidate: Candidate
    item: Item | None
    reason: str
