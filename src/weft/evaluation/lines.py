"""Lines of judged sets: JSON objects with an id, and judgements; what cannot be used is said with its line."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from weft.errors import InvalidInput
from weft.ports import Problem

_COLUMNS: Final = 3
_GRADE: Final = re.compile(r"[+-]?\d{1,9}(\.0*)?")


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers; broken UTF-8 is replaced."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{path} cannot be read: {reason}. Check the path and its permissions.") from error


def objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """The JSON objects of a file, one a line."""
    for number, line in numbered(path):
        where = f"{path.name}:{number}"
        try:
            value = json.loads(line, strict=False)
        except (ValueError, RecursionError) as error:
            message = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            problems.append(Problem(where, f"Not JSON ({message}): {line[:60]!r}. The line was skipped."))
            continue
        if isinstance(value, Mapping):
            yield number, value
        else:
            reason = f"A line is one JSON object, not {type(value).__name__}. The line was skipped."
            problems.append(Problem(where, reason))


def identified(path: Path, problems: list[Problem]) -> Iterator[tuple[str, int, Mapping[str, object]]]:
    """The objects of a file that have an id (`id` or `_id`); of those with the same id the last one counts."""
    found: dict[str, tuple[int, Mapping[str, object]]] = {}
    for number, record in objects(path, problems):
        given = record.get("id", record.get("_id"))
        if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
            reason = f"The id {given!r} is not one; give a string or a whole number. The line was skipped."
            problems.append(Problem(f"{path.name}:{number}", reason))
            continue
        name = str(given).strip()
        if name in found:
            reason = f"The id {name!r} is also that of line {found[name][0]}; the last one counts."
            problems.append(Problem(f"{path.name}:{number}", reason))
        found[name] = (number, record)
    for name, (number, record) in found.items():
        yield name, number, record


def judgements(path: Path, problems: list[Problem]) -> Iterator[tuple[int, str, str, int]]:
    """The (line, question id, document id, grade) of a file of three tab-separated columns, header or not."""
    for place, (number, line) in enumerate(numbered(path)):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != _COLUMNS or not cells[0] or not cells[1]:
            reason = (
                f"{line[:60]!r} has {len(cells)} columns; three separated by tabs are needed: question, document, "
                "grade. The line was skipped."
            )
            problems.append(Problem(f"{path.name}:{number}", reason))
        elif _GRADE.fullmatch(cells[2]):
            yield number, cells[0], cells[1], int(float(cells[2]))
        elif place:
            reason = f"The grade {cells[2]!r} is no whole number. The line was skipped."
            problems.append(Problem(f"{path.name}:{number}", reason))
