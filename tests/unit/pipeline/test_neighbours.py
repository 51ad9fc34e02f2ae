"""Neighbours: what stands beside a found piece comes too, in order, within the filter and the tenant."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft import Edge, Node, Weft
from weft.model import Context, Filter

QUESTION = "What does Maria say about the broken espresso machine?"
ANSWER = "Ask Tomas, he has a spare gasket."

TURNS = (
    "Good morning everybody.",
    "Shall we look at the plan for the garden?",
    "Maria: the espresso machine is broken again, who can repair the espresso machine?",
    ANSWER,
    "Fine, I will call him in the afternoon.",
    "And the roses?",
)

OpenWeft = Callable[..., Weft]


@pytest.fixture
def open_weft(tmp_path: Path) -> Iterator[OpenWeft]:
    opened: list[Weft] = []

    def open_with(*nodes: Node) -> Weft:
        weft = Weft.open(tmp_path / str(len(opened)))
        opened.append(weft)
        # Other things, so that a chat is not all there is.
        weft.put(
            [
                *nodes,
                *(Node(f"n:note-{n}x", "note", title=f"Note {n}", text=f"Rain in May {n}.") for n in range(60)),
            ]
        )
        return weft

    yield open_with
    for weft in opened:
        weft.close()


def chat(
    name: str = "(session 1)", numbers: tuple[int, ...] = (1, 2, 3, 4, 5, 6), prefix: str = "log:chat:"
) -> list[Node]:
    return [
        Node(f"{prefix}{number}", "message", title=name, text=text)
        for number, text in zip(numbers, TURNS, strict=True)
    ]


def part(context: Context, key: str) -> float:
    return next((entry.parts.get("neighbours", 0.0) for entry in context.ledger if entry.key == key), -1.0)


def test_the_turn_after_the_one_found_is_printed(open_weft: OpenWeft) -> None:
    context = open_weft(*chat()).context(QUESTION, max_tokens=300)
    assert ANSWER in context.text
    assert part(context, "log:chat:4") > part(context, "log:chat:2") > 0


def test_turns_of_one_session_are_printed_in_their_order(open_weft: OpenWeft) -> None:
    text = open_weft(*chat()).context(QUESTION, max_tokens=600).text
    places = [text.find(turn) for turn in TURNS if turn in text]
    assert len(places) > 2
    assert places == sorted(places)


def test_records_that_are_only_numbered_are_no_neighbours(open_weft: OpenWeft) -> None:
    nodes = [
        Node(f"log:{number}", "record", title=f"{text[:12]}", text=text)
        for number, text in enumerate(TURNS, start=1)
    ]
    context = open_weft(*nodes).context(QUESTION, max_tokens=600)
    assert all(part(context, entry.key) <= 0 for entry in context.ledger)


def test_pieces_of_another_session_are_no_neighbours(open_weft: OpenWeft) -> None:
    turns = chat()
    other = [Node("log:chat:4", "message", title="Minutes of the board", text=ANSWER)]
    context = open_weft(*turns[:3], *other).context(QUESTION, max_tokens=600)
    assert part(context, "log:chat:4") <= 0


def test_a_gap_in_the_numbers_ends_a_sequence(open_weft: OpenWeft) -> None:
    context = open_weft(*chat(numbers=(1, 2, 3, 14, 15, 16))).context(QUESTION, max_tokens=600)
    assert part(context, "log:chat:2") > 0
    assert part(context, "log:chat:14") <= 0


def test_numbers_written_with_zeros_are_followed(open_weft: OpenWeft) -> None:
    nodes = [
        Node(f"log:tale#{number:03d}", "scene", title=f"Scene {number}", text=text, sequence=number)
        for number, text in enumerate(TURNS, start=8)
    ]
    assert part(open_weft(*nodes).context(QUESTION, max_tokens=600), "log:tale#011") > 0


def test_the_filter_of_a_request_holds_for_neighbours(open_weft: OpenWeft) -> None:
    nodes = [
        Node(node.key, node.kind, title=node.title, text=node.text, tags=("kept",) if node.text != ANSWER else ())
        for node in chat()
    ]
    context = open_weft(*nodes).context(QUESTION, max_tokens=600, filter=Filter(tags=("kept",)))
    assert ANSWER not in context.text


def test_neighbours_of_another_tenant_stay_there(open_weft: OpenWeft) -> None:
    turns = chat()
    answer = Node("log:chat:4", "message", title="(session 1)", text=ANSWER, tenant="other")
    weft = open_weft(*turns[:3], answer)
    assert ANSWER not in weft.context(QUESTION, max_tokens=600, tenants=["default"]).text


def test_pages_do_not_depend_on_the_order_in_which_turns_were_stored(open_weft: OpenWeft) -> None:
    first, second = open_weft(*chat()), open_weft(*reversed(chat()))
    assert first.context(QUESTION, max_tokens=400).text == second.context(QUESTION, max_tokens=400).text


@pytest.mark.parametrize(
    "numbers", [(1, 1, 2, 2, 1, 2), (3, 3, 3, 3, 3, 3), (9, 8, 7, 6, 5, 4), (1, 9, 17, 2, 40, 3)]
)
def test_sequence_numbers_that_repeat_run_backwards_or_jump_cost_neither_budget_nor_the_find(
    open_weft: OpenWeft, numbers: tuple[int, ...]
) -> None:
    turns = [
        Node(f"log:chat:{at}x", "message", title="(session 1)", text=text, sequence=number)
        for at, (number, text) in enumerate(zip(numbers, TURNS, strict=True))
    ]
    context = open_weft(*turns).context(QUESTION, max_tokens=600)
    assert "espresso machine is broken" in context.text
    assert context.tokens <= 600


def test_turns_that_follow_each_other_in_a_circle_are_each_printed_once(open_weft: OpenWeft) -> None:
    turns = chat()
    weft = open_weft(*turns)
    keys = [turn.key for turn in turns]
    weft.put(
        edges=[Edge(key, "next", following) for key, following in zip(keys, [*keys[1:], keys[0]], strict=True)]
    )
    context = weft.context(QUESTION, max_tokens=2_000)
    assert context.text.count(ANSWER) == 1
    assert context.text == weft.context(QUESTION, max_tokens=2_000).text
    assert context.tokens <= 2_000


@pytest.mark.parametrize("link", ["[[Runbook#Rolling back]]", "[the runbook](Runbook.md#rolling-back)"])
def test_a_link_to_a_heading_brings_what_stands_under_it(link: str, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    filler = "The lead writes down after each deployment who was called, at which hour, and what was said. " * 14
    parts = ["Calling out", "Night shifts", "Rolling back", "Handing over"]
    wanted = (
        "Take yesterday's image from the shelf, tag it as current, and let one machine after the other restart."
    )
    sections = [f"## {part}\n\n{wanted if part == 'Rolling back' else filler}\n" for part in parts]
    (vault / "Runbook.md").write_text("# Runbook\n\n" + "\n".join(sections))
    (vault / "Index.md").write_text(f"# Index\n\nHow a broken deployment is undone again: {link}.\n")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(vault)
        page = weft.context("how do we undo a broken deployment?", max_tokens=120).text
    assert wanted in page


def test_a_link_to_a_heading_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Runbook.md").write_text("# Runbook\n\n## Calling out\n\nThe shift lead is called first.\n")
    (vault / "Index.md").write_text("# Index\n\nHow a broken deployment is undone: [[Runbook#Rolling back]].\n")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(vault)
        assert "The shift lead is called first." in weft.context("undo a broken deployment", max_tokens=200).text
