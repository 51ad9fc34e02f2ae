"""Grade what readers answered against the facts or the known answers of each question."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from weft.evaluation.fact_sets import FactQuestion, Grade, blank_question, grade_share, missing_facts
from weft.text.terms import analyze

YES_OVERLAP, PARTLY_OVERLAP = 0.7, 0.4
"""F1 of the terms of two answers from which they say the same, or something of it: readers use their own words."""
NO_ANSWER = "-"
REMARKS = ("helped", "hindered")

Row = dict[str, Any]


class Standard(Struct, frozen=True):
    """The grading key of a question: facts that must all be in an answer, or answers of which it must give one."""

    facts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def is_on_page(standard: Standard, page: str, question: str, title: str = "") -> bool:
    """Tell whether the page holds all facts, or one of the answers word by word, outside of its title."""
    if standard.facts:
        return not missing_facts(page, FactQuestion("", question, standard.facts), title)
    terms = analyze(blank_question(page, question, title))
    return any(_contains(terms, analyze(answer)) for answer in standard.answers)


def grade_answer(standard: Standard, answer: str, quotes: str) -> Grade:
    """Return the grade of one answer; for facts, what the reader quotes from the page counts as well."""
    if answer.strip() == NO_ANSWER:
        return Grade.NO
    if standard.facts:
        # Pages break lines where quotes do not, and the other way round.
        told = f"{answer}\n{quotes}\n{' '.join(f'{answer} {quotes}'.split())}"
        held = [re.search(fact, told, re.IGNORECASE) is not None for fact in standard.facts]
        return grade_share(sum(held) / len(held))
    terms = analyze(answer)
    overlap = max(_overlap(terms, analyze(known)) for known in standard.answers)
    if overlap >= YES_OVERLAP or any(_contains(terms, analyze(known)) for known in standard.answers):
        return Grade.YES
    return Grade.PARTLY if overlap >= PARTLY_OVERLAP else Grade.NO


def _contains(terms: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether some terms stand among others, together and in their order."""
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(terms)} "


def _overlap(terms: Sequence[str], known: Sequence[str]) -> float:
    """Return the F1 of two lists of terms."""
    shared = sum((Counter(terms) & Counter(known)).values())
    return 2 * shared / (len(terms) + len(known)) if shared else 0.0


# --- a folder of packs ---------------------------------------------------------------------------------------


def read_folder(folder: Path) -> tuple[list[Row], dict[tuple[str, str, int], Row]]:
    """Return the key of a folder, and the answers by reader, pack and number."""
    key_file = folder / "key" / "key.jsonl"
    if not key_file.is_file():
        raise SystemExit(f"There is no {key_file}. Give the folder that `make` wrote.")
    key = [row for _, row in _rows(key_file)]
    answers: dict[tuple[str, str, int], Row] = {}
    for reader, pack in dict.fromkeys((row["reader"], row["pack"]) for row in key):
        path = folder / reader / f"{pack}.answers.jsonl"
        for place, row in _rows(path) if path.is_file() else ():
            if not isinstance(row.get("number"), int):
                raise SystemExit(f"{place} has no number. Each line answers one numbered question.")
            answers[reader, pack, row["number"]] = row
    return key, answers


def _rows(path: Path) -> list[tuple[str, Row]]:
    """Return the JSON objects of a file, each with its place."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"{path}:{number} is not JSON: {error}. Write one object a line.") from error
            if not isinstance(row, dict):
                raise SystemExit(f"{path}:{number} is not one JSON object.")
            rows.append((f"{path}:{number}", row))
    return rows


def grade(key: Sequence[Row], answers: Mapping[tuple[str, str, int], Row]) -> Row:
    """Return the grades of every answer, what they add up to for each maker and set, and the remarks."""
    graded, remarks = [], []
    for row in key:
        given = answers.get((row["reader"], row["pack"], row["number"]), {})
        told = {name: str(given.get(name) or "").strip() for name in ("answer", "quotes", *REMARKS)}
        place = {name: row[name] for name in ("reader", "pack", "number", "set", "id", "maker")}
        remarks += [{**place, "kind": name, "remark": told[name]} for name in REMARKS if told[name]]
        # An empty line was not read yet; a reader who found nothing writes the sign for it.
        if told["answer"] or told["quotes"]:
            standard = convert(row["standard"], Standard)
            verdict = str(grade_answer(standard, told["answer"], told["quotes"]))
            graded.append({**place, "held": row["held"], "grade": verdict, "answer": told["answer"]})
    sets = ["all", *dict.fromkeys(row["set"] for row in key)]
    makers = list(dict.fromkeys(sorted((row["maker"] for row in key), reverse=True)))
    return {
        "pages": len(key),
        "answered": len(graded),
        "sets": {name: _compare(graded, name, makers) for name in sets},
        "answers": graded,
        "remarks": sorted(
            remarks, key=lambda one: (makers.index(one["maker"]), one["kind"], one["set"], one["id"])
        ),
    }


def _compare(graded: Sequence[Row], name: str, makers: Sequence[str]) -> Row:
    """Return the counts of each maker in one set, and the questions that only one of them answers."""
    chosen = [row for row in graded if name in ("all", row["set"])]
    counts = {maker: _count([row for row in chosen if row["maker"] == maker]) for maker in makers}
    yes = {
        maker: {(row["set"], row["id"]) for row in chosen if row["maker"] == maker and row["grade"] == "yes"}
        for maker in makers
    }
    # Only questions that were read from both sides can speak for one of them.
    sides = Counter((row["set"], row["id"]) for row in chosen)
    both = {question for question, pages in sides.items() if pages == len(makers)}
    others = {maker: set().union(*(yes[other] for other in makers if other != maker)) for maker in makers}
    only = {maker: len((yes[maker] - others[maker]) & both) for maker in makers}
    return {"makers": counts, "read_from_both": len(both), "only": only}


def _count(rows: Sequence[Row]) -> Row:
    grades = Counter(row["grade"] for row in rows)
    return {
        **{str(grade): grades[grade] for grade in Grade},
        "held": sum(row["held"] for row in rows),
        "held_but_missed": sum(row["held"] and row["grade"] != "yes" for row in rows),
        "not_held_but_answered": sum(not row["held"] and row["grade"] == "yes" for row in rows),
    }


def report(graded: Row) -> str:
    """Return the grades as a table in Markdown, and below it the remarks of the readers."""
    lines = [
        f"{graded['answered']} of {graded['pages']} pages were answered.",
        "",
        "| set | page | yes / partly / no | page holds it | held, missed | answered, not held | only from it |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for name, compared in graded["sets"].items():
        for maker, counts in compared["makers"].items():
            grades = " / ".join(str(counts[str(grade)]) for grade in Grade)
            rest = [counts[key] for key in ("held", "held_but_missed", "not_held_but_answered")]
            cells = [name, maker, grades, *rest, f"{compared['only'][maker]} of {compared['read_from_both']}"]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    for row in graded["remarks"]:
        place = f"{row['maker']}, {row['kind']} ({row['set']} {row['id']}, {row['reader']})"
        lines += [""] * (row is graded["remarks"][0]) + [f"- {place}: {row['remark']}"]
    return "\n".join(lines)
