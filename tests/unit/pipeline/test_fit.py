"""Shares, leftovers, caps and levels of detail, with costs that can be read off the texts."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item, Node
from weft.pipeline.fit import fit
from weft.pipeline.slot_filler import MIN_EXCERPT_TOKENS, MIN_ITEM_TOKENS
from weft.pipeline.slots import Outcome, Reason, Slot
from weft.profiles.types import LADDER, Select

POINTER, SUMMARY, FRAME = 10, 20, 12


def candidate(name: str, size: int, *, score: float = 0.0, summary: bool = True) -> Candidate:
    """A candidate whose text has as many characters as tokens."""
    node = Node(name, "note", text="x" * size, summary="s" if summary else "")
    return Candidate(node, score=score, text_tokens=size)


def slot(name: str, *sizes: int, share: float = 1.0, **rest: object) -> Slot:
    """A slot with one candidate for each size."""
    members = tuple(candidate(f"{name}{index}", size) for index, size in enumerate(sizes))
    return replace(Slot(name, members, share, ladder=LADDER), **rest)  # type: ignore[arg-type]


def cost(slot: Slot, item: Item) -> int:
    """Return the cost of an item at its detail."""
    if item.detail is Detail.WHOLE:
        return len(item.candidate.node.text) + FRAME if slot.quotes else FRAME
    if item.detail is Detail.EXCERPT:
        return FRAME + sum(end - start for start, end in item.spans)
    return SUMMARY if item.detail is Detail.SUMMARY else POINTER


def fitted(
    slots: Sequence[Slot], budget: int | None, select: Select = "share", repeats: bool = False
) -> list[Outcome]:
    """The outcomes under the readable costs."""
    return list(
        fit(slots, budget, select=select, cost=cost, shorten=lambda _, room: ((0, room),), repeats=repeats)
    )


def details(outcomes: Sequence[Outcome], name: str = "") -> list[Detail | None]:
    """The levels of detail of one slot's candidates, or of all."""
    return [each.item.detail if each.item else None for each in outcomes if name in ("", each.slot)]


def spent(outcomes: Sequence[Outcome], name: str = "") -> int:
    """Return the cost of one slot's items, or of all."""
    return sum(each.item.tokens for each in outcomes if each.item and name in ("", each.slot))


def test_what_one_section_cannot_spend_goes_to_the_others() -> None:
    outcomes = fitted([slot("small", 20), slot("large", 100, 100, 100)], 400)
    assert details(outcomes) == [Detail.WHOLE] * 4


def test_sections_that_want_more_than_their_share_get_their_share() -> None:
    outcomes = fitted([slot("a", *[50] * 20, share=3), slot("b", *[50] * 20, share=1)], 800)
    assert spent(outcomes, "a") == pytest.approx(600, abs=62)
    assert spent(outcomes, "b") == pytest.approx(200, abs=62)


def test_an_oversize_item_does_not_starve_the_smaller_ones_behind_it() -> None:
    no_excerpts = (Detail.WHOLE,)
    outcomes = fitted([slot("a", 5000, 30, 30, ladder=no_excerpts)], 100)
    assert details(outcomes) == [None, Detail.WHOLE, Detail.WHOLE]
    assert outcomes[0].explanation == "no room: 16 tokens left"
    assert outcomes[0].reason is Reason.NO_ROOM


def test_detail_degrades_from_whole_over_excerpt_and_summary_to_pointer() -> None:
    by_room = {
        room: details(fitted([slot("a", 200)], room))[0]
        for room in (FRAME + 200, FRAME + MIN_EXCERPT_TOKENS, SUMMARY, POINTER, POINTER - 1)
    }
    assert list(by_room.values()) == [Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY, Detail.POINTER, None]


def test_a_node_without_a_summary_goes_straight_to_a_pointer() -> None:
    only = Slot("a", (candidate("k", 500, summary=False),), ladder=LADDER)
    assert details(fitted([only], SUMMARY)) == [Detail.POINTER]


def test_an_item_costs_no_more_than_its_cap_of_the_first_budget() -> None:
    outcomes = fitted([slot("a", 500, cap=0.25)], 400)
    assert spent(outcomes) == 100
    assert outcomes[0].explanation == "reduced to fit: 400 tokens were left, an item may cost 100"


def test_a_cap_leaves_what_the_smallest_excerpt_needs_on_a_small_page() -> None:
    outcomes = fitted([slot("a", 20, 20, cap=0.5, relax=True)], FRAME + 20)
    assert details(outcomes) == [Detail.WHOLE, None]


def test_a_relaxed_cap_gives_way_to_a_short_text_on_a_small_page() -> None:
    strict, relaxed = slot("a", 300, 100, cap=0.5), slot("a", 300, 100, cap=0.5, relax=True)
    assert details(fitted([strict], 500))[0] is Detail.EXCERPT
    assert details(fitted([relaxed], 500)) == [Detail.WHOLE, Detail.WHOLE]
    assert details(fitted([slot("a", 850, 300, cap=0.5, relax=True)], 1000)) == [Detail.EXCERPT, Detail.WHOLE]


def test_a_relaxed_cap_gives_way_only_when_nothing_else_wants_the_room() -> None:
    alone = fitted([slot("a", 500, cap=0.25, relax=True)], 400)
    assert spent(alone) == 400
    crowded = fitted([slot("a", *[500] * 4, cap=0.25, relax=True)], 400)
    assert [each.item.tokens for each in crowded if each.item] == [100] * 4


def test_a_section_takes_no_more_items_than_its_limit_and_says_so() -> None:
    outcomes = fitted([slot("a", 10, 10, 10, limit=2)], 1000)
    assert details(outcomes) == [Detail.WHOLE, Detail.WHOLE, None]
    assert outcomes[2].explanation == "the section's limit of 2 items is reached"


def test_a_section_prints_no_more_pointers_than_its_limit_and_says_so() -> None:
    outcomes = fitted([slot("a", *[500] * 5, max_pointers=2, ladder=(Detail.WHOLE, Detail.POINTER))], 400)
    assert details(outcomes) == [Detail.POINTER, Detail.POINTER, None, None, None]
    assert outcomes[4].explanation == "no room: 380 tokens left, and the section's limit of 2 pointers is reached"


def test_selecting_by_relevance_takes_the_best_of_any_section_first() -> None:
    weak = Slot("a", (candidate("a", 80, score=0.1),), ladder=(Detail.WHOLE,))
    strong = Slot("b", (candidate("b", 80, score=0.9),), ladder=(Detail.WHOLE,))
    assert details(fitted([weak, strong], 100, "relevance")) == [None, Detail.WHOLE]
    assert details(fitted([weak, strong], 100, "share")) == [Detail.WHOLE, None]


def test_a_node_is_printed_once_unless_sections_may_repeat() -> None:
    same = [slot("a", 20), replace(slot("a", 20), name="b")]
    once = fitted(same, 1000)
    assert details(once) == [Detail.WHOLE, None]
    assert once[1].explanation == "already printed in a"
    assert details(fitted(same, 1000, repeats=True)) == [Detail.WHOLE, Detail.WHOLE]


def test_only_what_is_reduced_or_finds_no_room_would_use_more_room() -> None:
    outcomes = fitted([slot("a", 20, 500, 500, 30, limit=3, cap=0.25)], 400)
    assert [(each.reason, each.reason.wants_room) for each in outcomes] == [
        (Reason.FITS_WHOLE, False),
        (Reason.REDUCED, True),
        (Reason.REDUCED, True),
        (Reason.ITEM_LIMIT, False),
    ]


def test_headings_are_paid_once_by_the_first_item_below_them() -> None:
    openings = (("section", 30), ("section/part", 5))
    outcomes = fitted([slot("a", 10, 10, headings=openings, ladder=(Detail.WHOLE,))], 35 + 2 * (10 + FRAME))
    assert details(outcomes) == [Detail.WHOLE] * 2
    outcomes = fitted([slot("a", 10, 10, headings=openings, ladder=(Detail.WHOLE,))], 34 + 2 * (10 + FRAME))
    assert details(outcomes) == [Detail.WHOLE, None]


def test_without_a_budget_everything_is_printed_whole() -> None:
    outcomes = fitted([slot("a", 500, 900, cap=0.1), slot("b", 10_000, limit=5)], None)
    assert details(outcomes) == [Detail.WHOLE] * 3


@pytest.mark.parametrize("detail", [Detail.EXCERPT, Detail.SUMMARY, Detail.POINTER])
def test_without_a_budget_a_section_still_prints_no_more_than_its_highest_level(detail: Detail) -> None:
    outcomes = fitted([slot("a", 500, ladder=(detail,))], None)
    assert details(outcomes) == [detail]
    assert outcomes[0].explanation == f"fits as {detail}, the most that the section prints of it"


def test_without_a_budget_what_has_nothing_to_print_is_dropped_with_its_reason() -> None:
    bare = Slot("a", (candidate("k", 0, summary=False),), ladder=(Detail.EXCERPT, Detail.SUMMARY))
    assert fitted([bare], None)[0].explanation == "has nothing to print as excerpt or summary"


def test_without_a_budget_an_item_still_costs_no_more_than_its_section_allows() -> None:
    bounded = slot("a", 500, 20, max_item_tokens=40, ladder=(Detail.WHOLE,))
    outcomes = fitted([*subject("ada", who=(1, [50])), bounded], None)
    assert details(outcomes) == [Detail.WHOLE, None, Detail.WHOLE]
    assert outcomes[1].explanation == "no room: an item may cost 40"
    shortened = fitted([slot("a", 500, max_item_tokens=40)], None)
    assert shortened[0].explanation == "reduced to fit: an item may cost 40"


def test_an_excerpt_that_a_section_starts_with_grows_into_leftover_room() -> None:
    outcomes = fitted([slot("a", 500, ladder=(Detail.EXCERPT,)), slot("b", 10)], 300)
    assert spent(outcomes, "a") == 300 - 10 - FRAME


def test_a_long_text_that_is_not_printed_does_not_count() -> None:
    outcomes = fitted([slot("a", 5000, quotes=False)], 50)
    assert details(outcomes) == [Detail.WHOLE]


@given(
    sizes=st.lists(st.lists(st.integers(0, 400), max_size=8), min_size=1, max_size=4),
    budget=st.integers(1, 2000),
    cap=st.sampled_from([None, 0.2, 0.9]),
    relax=st.booleans(),
    select=st.sampled_from(["share", "relevance"]),
)
def test_the_budget_is_never_exceeded_and_every_candidate_gets_a_reason(
    sizes: list[list[int]], budget: int, cap: float | None, relax: bool, select: Select
) -> None:
    openings = [((f"{index}", 7),) for index in range(len(sizes))]
    slots = [
        slot(f"{index}-", *each, cap=cap, relax=relax, headings=openings[index])
        for index, each in enumerate(sizes)
    ]
    outcomes = fitted(slots, budget, select)
    opened = {each.slot for each in outcomes if each.item}
    assert spent(outcomes) + 7 * len(opened) <= budget
    assert len(outcomes) == sum(map(len, sizes))
    assert all(each.reason for each in outcomes)


@given(sizes=st.lists(st.integers(40, 400), min_size=1, max_size=8), budget=st.integers(60, 2000))
def test_room_is_left_only_when_nothing_could_use_it(sizes: list[int], budget: int) -> None:
    outcomes = fitted([slot("a", *sizes)], budget)
    left = budget - spent(outcomes)
    if any(detail is not Detail.WHOLE for detail in details(outcomes)):
        assert left <= MIN_EXCERPT_TOKENS + FRAME + MIN_ITEM_TOKENS


def subject(name: str, **parts: tuple[int, list[int]]) -> list[Slot]:
    """The parts of one subject of a section: of each its share and the sizes of its candidates."""
    group = ("cast", name)
    return [slot(f"{name}-{part}", *sizes, share=share, groups=group) for part, (share, sizes) in parts.items()]


def subject_tokens(outcomes: Sequence[Outcome], name: str) -> int:
    """Return the cost of all parts of a subject."""
    return sum(each.item.tokens for each in outcomes if each.item and each.slot.startswith(f"{name}-"))


def test_what_a_part_of_a_subject_leaves_goes_to_the_other_parts_of_that_subject() -> None:
    ada = subject("ada", who=(1, [500]), links=(3, []))
    bea = subject("bea", who=(1, [500]), links=(3, [5]))
    outcomes = fitted([*ada, *bea], 400)
    assert (subject_tokens(outcomes, "ada"), subject_tokens(outcomes, "bea")) == (200, 200)


def test_what_a_subject_leaves_goes_to_the_other_subjects_before_other_sections() -> None:
    ada, bea = subject("ada", who=(30, [20])), subject("bea", who=(30, [1000]))
    outcomes = fitted([*ada, *bea, slot("general", 1000, share=40)], 1000)
    assert (subject_tokens(outcomes, "ada"), subject_tokens(outcomes, "bea")) == (32, 568)
    assert spent(outcomes, "general") == 400


def test_what_another_section_leaves_is_divided_among_subjects_by_their_shares() -> None:
    ada, bea = subject("ada", who=(20, [3000])), subject("bea", who=(40, [3000]))
    outcomes = fitted([*ada, *bea, slot("general", 38, share=40)], 950)
    assert (subject_tokens(outcomes, "ada"), subject_tokens(outcomes, "bea")) == (300, 600)


def test_a_subject_with_nothing_to_tell_leaves_its_share_to_the_other_subjects() -> None:
    ada, bea = subject("ada", who=(30, [])), subject("bea", who=(30, [2000]))
    outcomes = fitted([*ada, *bea, slot("general", 2000, share=40)], 1000)
    assert (subject_tokens(outcomes, "bea"), spent(outcomes, "general")) == (600, 400)


def test_a_part_that_shows_nothing_yet_is_offered_what_is_left_before_one_grows() -> None:
    who, tree, links = subject("ada", who=(5, [500]), tree=(1, [60]), links=(4, [5]))
    outcomes = fitted([who, replace(tree, ladder=(Detail.WHOLE,)), links], 250)
    assert details(outcomes, "ada-tree") == [Detail.WHOLE]
    assert subject_tokens(outcomes, "ada") == 250


@given(
    sizes=st.lists(st.lists(st.lists(st.integers(0, 400), max_size=4), min_size=1, max_size=3), max_size=4),
    budget=st.integers(1, 2000),
)
def test_subjects_with_parts_never_exceed_the_budget_either(sizes: list[list[list[int]]], budget: int) -> None:
    slots = [
        replace(part, headings=(("cast", 5), (f"s{at}", 7), (part.name, 3)))
        for at, parts in enumerate(sizes)
        for part in subject(f"s{at}", **{f"p{index}": (1, each) for index, each in enumerate(parts)})
    ]
    outcomes = fitted([*slots, slot("general", 300)], budget)
    shown = {each.slot for each in outcomes if each.item}
    opened = {heading for each in slots if each.name in shown for heading in each.headings}
    assert spent(outcomes) + sum(tokens for _, tokens in opened) <= budget
    assert len(outcomes) == sum(len(each.candidates) for each in slots) + 1


@given(size=st.integers(300, 900), many=st.integers(2, 5), budget=st.integers(400, 1400))
def test_subjects_with_as_much_to_tell_get_as_much_room(size: int, many: int, budget: int) -> None:
    parts = {"who": (3, [size]), "links": (3, []), "scenes": (4, [size, size])}
    outcomes = fitted([each for at in range(many) for each in subject(f"s{at}", **parts)], budget)
    rooms = [subject_tokens(outcomes, f"s{at}") for at in range(many)]
    assert max(rooms) - min(rooms) <= MIN_EXCERPT_TOKENS + FRAME + MIN_ITEM_TOKENS


def test_a_file_that_is_nothing_but_its_definitions_is_named_by_its_summary_and_not_by_a_heading_alone() -> None:
    files = [
        Candidate(Node("a.py", "file", title="a.py", summary="Defines f."), score=1.0),
        Candidate(Node("b.py", "file", title="b.py"), score=0.9),
        Candidate(Node("n.md", "note", title="n.md"), score=0.8),
    ]
    outcomes = fitted([Slot("files", tuple(files), 1.0, ladder=LADDER)], 1_000)
    assert details(outcomes) == [Detail.SUMMARY, Detail.POINTER, Detail.WHOLE]
