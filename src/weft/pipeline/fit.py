"""Enforce the budget of a page: shares and levels of detail decide what is printed, and how much of each item."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum, auto
from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item, Node, NodeRef
from weft.pipeline.shapes import CODE_KINDS, TEST_TAG
from weft.pipeline.slot_filler import MIN_EXCERPT_TOKENS, MIN_ITEM_TOKENS, UNLIMITED, SlotFiller
from weft.pipeline.slots import Cost, Outcome, PageBudget, Reason, Shorten, Slot, find_text_ref
from weft.pipeline.snippets import SnippetFiller
from weft.profiles.types import Order, Select
from weft.text import find_signature

_MAX_LEVEL: Final = 6
"""The deepest level that is printed: a tree of a hundred levels would leave no room for words."""
_MIN_TOKENS_FOR_FILES: Final = 1_500
"""Tokens of the smallest page on which further files are opened: smaller ones need it for the best pieces."""
_FILES_SHARE: Final = 0.04
"""The share of a page that is kept for files of which nothing would be shown: a heading and a signature each."""
_LARGE_FILES_SHARE: Final = 0.08
"""The same share of what a page has beyond a small one: the last pieces of a large page matter least, and an agent
wants to know where else to look. Pages of 8,000 tokens showed 95.7 % of wanted files without it, 98.8 with it."""
_SMALL_PAGE_TOKENS: Final = 4_000
_MIN_FILES: Final = 6
"""Files of code among the candidates from which on some may be left out."""
_MIN_OPENING_CHARACTERS: Final = 40
"""Characters that the opening of code without a signature has at least, so that it is more than a brace."""
_FAR_PAST: Final = datetime.min.replace(tzinfo=UTC)

Children = Mapping[NodeRef, Sequence[NodeRef]]


def fit(
    slots: Sequence[Slot],
    budget: int | None,
    *,
    select: Select,
    cost: Cost,
    shorten: Shorten,
    repeats: bool = False,
) -> tuple[Outcome, ...]:
    """Return an outcome for every candidate of every slot; all items together never cost more than the budget.

    First every slot spends its own share; what it leaves goes to the rest of its group, then to the others, better
    detail first, then more items. `repeats` lets one node appear in several slots.
    """
    # Floats throughout: infinity stands for no budget, and shares are fractions.
    page = PageBudget(UNLIMITED if budget is None else float(budget), cost, shorten, repeats)
    reserved = _tokens_for_files(slots, page.total)
    page.total -= reserved
    root = _fill_by_relevance(slots, page) if select == "relevance" else _fill_by_share(slots, page)
    root.share_leftovers()
    fillers = list(root.fillers())
    # Caps give way last, so that one long item never takes what another would have used.
    for filler in fillers:
        if filler.slot.relax:
            filler.offer(page.remaining, relaxed=True)
    opened: dict[NodeRef, Item] = {}
    if reserved:
        page.total += reserved
        for filler in fillers:
            opened |= _open_files(filler, page) if isinstance(filler, SnippetFiller) else {}
        # All of it is left where every file that was found is shown already.
        for filler in fillers:
            filler.offer(page.remaining, relaxed=filler.slot.relax)
    return tuple([_with_opening(outcome, opened) for filler in fillers for outcome in filler.outcomes()])


# --- files of code of which a large page would show nothing -------------------------------------------------


def _tokens_for_files(slots: Sequence[Slot], total: float) -> int:
    """Return the tokens that are kept for files of code of which no piece is shown otherwise."""
    if not _MIN_TOKENS_FOR_FILES <= total < UNLIMITED:
        return 0
    files = {_code_file(each) for slot in slots if slot.snippets is not None for each in slot.candidates} - {None}
    beyond = max(total - _SMALL_PAGE_TOKENS, 0)
    tokens = _FILES_SHARE * (total - beyond) + _LARGE_FILES_SHARE * beyond
    return int(tokens) if len(files) >= _MIN_FILES else 0


def _code_file(candidate: Candidate) -> str | None:
    """Return the file of a piece of code; None for tests, and for anything else."""
    node = candidate.node
    return node.origin.file if node.kind in CODE_KINDS and TEST_TAG not in node.tags else None


def _open_files(filler: SnippetFiller, page: PageBudget) -> dict[NodeRef, Item]:
    """Return the opening of the best piece of each file that the slot shows nothing of, while there is room."""
    candidates = filler.slot.candidates
    shown = {_code_file(candidates[owner]) for owner in filler.item_tokens} | {None}
    opened: dict[NodeRef, Item] = {}
    # Best first, and so are the pieces of each file.
    for candidate in candidates:
        file = _code_file(candidate)
        if file in shown or not candidate.node.text.strip() or find_text_ref(candidate) in page.printed_in:
            continue
        item = Item(candidate, Detail.EXCERPT, (_opening(candidate.node),))
        tokens = page.cost(filler.slot, item)
        if tokens > page.remaining:
            break
        shown.add(file)
        page.spent += tokens
        opened[candidate.node.ref] = replace(item, tokens=tokens)
    return opened


def _opening(node: Node) -> tuple[int, int]:
    """Return the lines of a definition's signature, or the first lines of other code."""
    signature = find_signature(node.text, str(node.fields.get("signature") or ""))
    end = node.text.find("\n", _MIN_OPENING_CHARACTERS)
    return signature or (0, end if end > 0 else len(node.text))


def _with_opening(outcome: Outcome, opened: Mapping[NodeRef, Item]) -> Outcome:
    """Return the outcome of a candidate of which the opening is shown, unless more of it is."""
    item = opened.get(outcome.candidate.node.ref)
    if item is None or outcome.item is not None:
        return outcome
    return replace(outcome, item=item, reason=Reason.OPENS_FILE, explanation=Reason.OPENS_FILE.value)


# --- what each slot gets of the budget -------------------------------------------------------------------------


Filler = SlotFiller | SnippetFiller


def _make_filler(slot: Slot, page: PageBudget, tokens: float) -> Filler:
    """Return what fills a slot; a page without a budget prints all of every text, and needs no snippets."""
    if slot.snippets is None or page.total == UNLIMITED:
        return SlotFiller(slot, page, tokens)
    return SnippetFiller(slot, page, tokens, slot.snippets)


class _LeftoverRule(Enum):
    """The order in which the members of a group get what is left over."""

    IN_TURN = auto()
    BY_SHARE = auto()
    EMPTY_FIRST = auto()


_RULE_BY_DEPTH: Final = (_LeftoverRule.IN_TURN, _LeftoverRule.BY_SHARE, _LeftoverRule.EMPTY_FIRST)
"""The rules for the sections of a page, the subjects of a section and the parts of a subject."""


class _Group(Struct, frozen=True):
    """Slots, or groups of them, that share a budget, and the rule by which they get what is left over.

    Sections get it in turn. Subjects get it by their shares, before it goes to those who can use more. Of
    the parts of a subject those come first that show nothing yet: a tree that its small share could not hold.
    """

    page: PageBudget
    share_tokens: float
    members: "tuple[_Group | Filler, ...]"
    rule: _LeftoverRule = _LeftoverRule.IN_TURN

    @property
    def spent(self) -> int:
        """The tokens of its items and headings."""
        return sum([member.spent for member in self.members])

    def fillers(self) -> Iterator[Filler]:
        """Yield the fillers of all its slots in printed order."""
        for member in self.members:
            if isinstance(member, _Group):
                yield from member.fillers()
            else:
                yield member

    def share_leftovers(self) -> None:
        """Offer what the members leave to each other, the innermost groups first, until none takes much of it."""
        # Inside first: what a part leaves belongs to its subject before it belongs to the section.
        for member in self.members:
            if isinstance(member, _Group):
                member.share_leftovers()
        # One round may free what another needs: an item that grows from a pointer lets a further pointer in.
        left, taken = self.share_tokens - self.spent, UNLIMITED
        while left >= MIN_ITEM_TOKENS and taken > MIN_EXCERPT_TOKENS:
            before = self.page.spent
            self.offer(left)
            taken = self.page.spent - before
            left -= taken

    def offer(self, tokens: float) -> None:
        """Offer so many tokens to the members."""
        # Measured on the page, since members of a group may share headings that only one of them pays.
        end, members = self.page.spent + tokens, self.members
        if self.rule is _LeftoverRule.BY_SHARE and tokens != UNLIMITED:
            for member in members:
                member.offer(tokens * member.share_tokens / self.share_tokens)
        elif self.rule is _LeftoverRule.EMPTY_FIRST:
            # The sort is stable, so that members that are equal here keep their printed order.
            members = tuple(sorted(members, key=lambda member: member.spent > 0))
        for member in members:
            member.offer(end - self.page.spent)


def _fill_by_share(slots: Sequence[Slot], page: PageBudget) -> _Group:
    """Let every slot spend its share of the page."""
    root = _make_group(slots, page, page.total)
    for filler in root.fillers():
        filler.offer(filler.share_tokens)
    return root


def _make_group(slots: Sequence[Slot], page: PageBudget, share_tokens: float, depth: int = 0) -> _Group:
    """Group the slots below one heading: the parts of a subject, the subjects of a section, or the page.

    An empty slot leaves its share to its own group, or where all of that is empty, to the other groups.
    """
    # Slots come in printed order, so that those of one group stand side by side.
    branches = [list(branch) for _, branch in groupby(slots, lambda slot: (*slot.groups, slot.name)[depth])]
    # Branches without candidates get no filler, which divides their share among the others.
    filled = [branch for branch in branches if any(slot.candidates for slot in branch)]
    shares = [sum([slot.share for slot in branch]) for branch in filled]
    total = sum(shares)
    members: list[_Group | Filler] = []
    for branch, share in zip(filled, shares, strict=True):
        tokens = share_tokens * share / total
        if len(branch[0].groups) > depth:
            members.append(_make_group(branch, page, tokens, depth + 1))
        else:
            members.append(_make_filler(branch[0], page, tokens))
    return _Group(page, share_tokens, tuple(members), _RULE_BY_DEPTH[depth])


def _fill_by_relevance(slots: Sequence[Slot], page: PageBudget) -> _Group:
    """Let all slots draw on the whole page, the best-scored candidate of any slot first."""
    fillers = [_make_filler(slot, page, page.total) for slot in slots if slot.candidates]
    # Ties fall by the order of slots and candidates, which is total.
    ranked = sorted(
        (-score, number, index) for number, filler in enumerate(fillers) for score, index in filler.units()
    )
    for _, number, index in ranked:
        fillers[number].try_place(index, page.remaining)
    return _Group(page, page.total, tuple(fillers))


# --- the order in which items are printed -------------------------------------------------------------------


def order_items(items: Sequence[Item], order: Order) -> tuple[Item, ...]:
    """Return the items as printed; pointers come last, so that they read as a list of what else there is."""
    if order == "time":
        items = sorted(items, key=_time_order)
    elif order == "sequence":
        items = sorted(
            items, key=lambda item: (item.candidate.node.sequence is None, item.candidate.node.sequence or 0)
        )
    elif order == "outline":
        items = order_outline(items)
    elif order == "title":
        items = sorted(items, key=lambda item: (item.candidate.node.title, item.candidate.node.key))
    return tuple(sorted(items, key=lambda item: item.detail is Detail.POINTER))


def _time_order(item: Item) -> tuple[datetime, int]:
    """Return when something happened, and its place among others of that moment, which no score decides."""
    node = item.candidate.node
    return node.created or node.modified or _FAR_PAST, node.sequence or 0


def find_nested(candidates: Iterable[Candidate]) -> frozenset[NodeRef]:
    """Return the candidates that stand below another one of them; what a page starts from stands alone."""
    children = _children_of(candidates)
    return frozenset([child for below in children.values() for child in below])


def order_outline(items: Sequence[Item]) -> list[Item]:
    """Return the items with every child below its parent, where both are printed.

    A tree stands where the best of its items would stand.
    """
    printed = {item.candidate.node.ref: item for item in items if item.detail is not Detail.POINTER}
    children = _children_of(item.candidate for item in printed.values())
    nested = {child for below in children.values() for child in below}
    index_of = {item.candidate.node.ref: index for index, item in enumerate(items)}
    trees = [list(_descend(item, printed, children)) for item in items if item.candidate.node.ref not in nested]
    trees.sort(key=lambda tree: min(index_of[item.candidate.node.ref] for item in tree))
    ordered: dict[NodeRef, Item] = {}
    # Items in a circle stand below each other and below nothing else: they follow as they came.
    for item in [*(item for tree in trees for item in tree), *items]:
        ordered.setdefault(item.candidate.node.ref, item)
    return list(ordered.values())


def _descend(root: Item, printed: Mapping[NodeRef, Item], children: Children) -> Iterator[Item]:
    """Yield an item with everything below it, in the order of the outline."""
    seen = {root.candidate.node.ref}
    # A stack and not recursion: an outline may be deeper than the recursion limit.
    waiting = [(root, 0)]
    while waiting:
        item, level = waiting.pop()
        yield replace(item, level=min(level, _MAX_LEVEL))
        for ref in reversed(children.get(item.candidate.node.ref, ())):
            if ref not in seen:
                seen.add(ref)
                waiting.append((printed[ref], level + 1))


def _children_of(candidates: Iterable[Candidate]) -> Children:
    """Return the children of each candidate that are candidates too, but for those that the page starts from."""
    known = {candidate.node.ref: candidate for candidate in candidates}
    return {
        ref: [
            child for child in _child_refs(candidate.node) if child in known and "start" not in known[child].parts
        ]
        for ref, candidate in known.items()
    }


def _child_refs(node: Node) -> list[NodeRef]:
    """Return the children that a source of outlines lists."""
    listed = node.fields.get("_children")
    source = node.key.partition(":")[0]
    names = listed if isinstance(listed, list | tuple) else ()
    return [(node.tenant, f"{source}:{name}") for name in names]
