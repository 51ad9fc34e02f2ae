"""Summaries of conversations without a language model, and the questions that they answer."""

import json
from pathlib import Path

from weft import Weft
from weft.model import Node
from weft.sources import open_source
from weft.sources.chat.summaries import summarise

SAID = (
    "I'm trying to plan the harbour festival. The budget is $4,500.",
    "My friend Tilda wants lanterns on the pier. Can lanterns stand rain?",
    "We decided to rent 12 lanterns until June 3, because rain ruins paper.",
    "I met Tilda again. The lanterns cost 20% more now.\n\n```python\ncost = 99 days\n```",
    "Who carries the lanterns back to the pier?",
)


def turns(*texts: str, answered: bool = True) -> list[tuple[int, Node]]:
    found: list[tuple[int, Node]] = []
    for text in texts:
        for role, words in (("user", text), ("assistant", "A long answer about lanterns that takes 90 days.")):
            number = len(found) + 1
            found.append((number, Node(f"c@{number}", "message", text=words, fields={"role": role})))
    return found if answered else found[:-1]


def line(summary: str, label: str) -> str:
    return next((each for each in summary.splitlines() if each.startswith(f"{label}:")), "")


def test_a_summary_tells_what_the_person_said_and_in_which_turns() -> None:
    summary = summarise(turns(*SAID), [(5, "We decided to rent lanterns")])
    assert "lanterns" in line(summary, "Topics")
    assert line(summary, "People") == "People: Tilda (@3, @7)."
    assert line(summary, "Dates") == "Dates: June 3 (@5)."
    assert "budget is $4,500 (@1)" in line(summary, "Quantities")
    assert "20% (@7)" in line(summary, "Quantities")
    assert "90 days" not in summary
    assert "99 days" not in summary
    assert line(summary, "Decided") == "Decided: We decided to rent lanterns (@5)."


def test_the_course_has_a_line_for_each_turn_of_the_person_in_order() -> None:
    course = summarise(turns(*SAID), ()).partition("Course:\n")[2].splitlines()
    assert course[0] == "- @1 plan the harbour festival."
    assert [each.split()[1] for each in course] == ["@1", "@3", "@5", "@7", "@9"]


def test_a_question_is_open_until_it_is_answered() -> None:
    assert line(summarise(turns(*SAID), ()), "Open") == ""
    waiting = summarise(turns(*SAID, answered=False), ())
    assert line(waiting, "Open") == "Open: Who carries the lanterns back to the pier? (@9)."


def test_a_short_day_needs_no_summary_and_a_long_one_stays_short() -> None:
    assert summarise(turns(*SAID[:3]), ()) == ""
    many = summarise(turns(*(f"Lantern number {number} is lit." for number in range(500))), ())
    assert len(many.splitlines()) < 70


def write_log(path: Path) -> None:
    entries = [
        {"role": role, "content": text, "date": f"2026-0{month}-02"}
        for month, thing in ((1, "lantern"), (3, "rope"))
        for number in range(5)
        for role, text in (
            ("user", f"Today I bought {thing} number {number} at the market."),
            ("assistant", f"Good. A {thing} is of use on a pier. " * 20),
        )
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_each_day_of_a_session_has_a_summary_that_the_session_contains(tmp_path: Path) -> None:
    write_log(tmp_path / "chat.jsonl")
    source = open_source(str(tmp_path / "chat.jsonl"), name="c")
    unit = source.read(next(name for name, _ in source.units()))
    found = [node for node in unit.nodes if node.kind == "summary"]
    assert [node.created.date().isoformat() for node in found if node.created] == ["2026-01-02", "2026-03-02"]
    assert {edge.source for edge in unit.edges if edge.target == found[0].key} == {"c:chat.jsonl"}


def test_a_timeline_stands_on_the_page_in_the_order_of_time(tmp_path: Path) -> None:
    write_log(tmp_path / "chat.jsonl")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path / "chat.jsonl"))
        page = weft.context("In which order did I buy ropes and lanterns?", max_tokens=800).text
        plain = weft.context("Where did I buy a rope?", max_tokens=800)
    assert page.index(", 2026-01-02") < page.index(", 2026-03-02")
    assert page.count("- @") >= 8
    assert all(entry.kind != "summary" for entry in plain.ledger)


def test_a_summary_that_is_asked_for_begins_with_every_day_in_short(tmp_path: Path) -> None:
    write_log(tmp_path / "chat.jsonl")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path / "chat.jsonl"))
        page = weft.context(
            "Can you summarise how my shopping for ropes and lanterns progressed?", max_tokens=700
        ).text
    heads = [at for day in (", 2026-01-02", ", 2026-03-02") if (at := page.find(day)) >= 0]
    assert len(heads) == 2
    assert page.count("Topics:") == 2
    assert max(heads) < page.index("**User:**")


def test_a_decision_is_summarised_in_the_words_that_decide(tmp_path: Path) -> None:
    said = [
        "I'm trying to plan the shop with a counter and two rooms, and I've decided on oak for the floor.",
        *(f"What does plank number {n} cost at the mill?" for n in range(4)),
    ]
    lines = [{"role": "user", "content": text, "date": "2026-01-02"} for text in said]
    answers = [{"role": "assistant", "content": "Ten euros.", "date": "2026-01-02"}] * len(lines)
    both = [each for pair in zip(lines, answers, strict=True) for each in pair]
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(line) + "\n" for line in both))
    source = open_source(str(tmp_path / "chat.jsonl"), name="c")
    unit = source.read(next(name for name, _ in source.units()))
    (summary,) = [node for node in unit.nodes if node.kind == "summary"]
    assert "Decided: I've decided on oak for the floor. (@1)." in summary.text
