"""A judged set: documents, questions, and which documents hold the evidence for each question."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import Json
from weft.ports import Problem
from weft.sources import source_name


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


_LAYOUT: Final = (
    "A judged set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv, as BEIR has it)."
)


def read_folder(folder: Path) -> Judged:
    """The judged set in a folder; lines that cannot be used are among its problems."""
    corpus, queries, qrels = _files(folder)
    problems: list[Problem] = []
    unknown: list[Problem] = []
    documents = tuple(Document(id, record, corpus.name, line) for id, line, record in identified(corpus, problems))
    questions = tuple(_questions(queries, problems))
    _check_some(documents, corpus, problems)
    _check_some(questions, queries, problems)
    known = frozenset(document.id for document in documents)
    asked = frozenset(question.id for question in questions)
    gold = _gold(qrels, known, asked, (problems, unknown))
    scopes = _scopes(folder / "scope.jsonl", documents, questions, (problems, unknown))
    unjudged = tuple(question.id for question in questions if not gold.get(question.id))
    if len(unjudged) == len(questions):
        raise InvalidInput(f"{qrels} judges none of the questions in {queries.name}.{_first(problems + unknown)}")
    excluded = tuple(id for id, allowed in scopes.items() if gold.get(id) and not allowed & gold[id].keys())
    return Judged(
        name=source_name(folder),
        documents=documents,
        questions=questions,
        gold=gold,
        scopes=scopes,
        problems=tuple(problems),
        unknown=tuple(unknown),
        unjudged=unjudged,
        excluded=excluded,
        place=folder.resolve().as_posix(),
    )


def _files(folder: Path) -> tuple[Path, Path, Path]:
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {str(folder)!r}. {_LAYOUT}")
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    tables = [folder / "qrels.tsv", folder / "qrels" / "test.tsv"]
    others = sorted((folder / "qrels").glob("*.tsv"))
    tables += others if len(others) == 1 else []
    qrels = next((table for table in tables if table.is_file()), tables[0])
    missing = [path.name for path in (corpus, queries, qrels) if not path.is_file()]
    if missing:
        raise InvalidInput(f"{str(folder)!r} has no {' and no '.join(missing)}. {_LAYOUT}")
    return corpus, queries, qrels


def _check_some(found: Sequence[object], path: Path, problems: Sequence[Problem]) -> None:
    if not found:
        raise InvalidInput(f"{path} holds nothing that can be used.{_first(problems)} {_LAYOUT}")


def _first(problems: Sequence[Problem]) -> str:
    return f" The first problem is at {problems[0].where}: {problems[0].reason}" if problems else ""


def _questions(path: Path, problems: list[Problem]) -> Iterable[Question]:
    for id, line, record in identified(path, problems):
        text = record.get("text")
        if not isinstance(text, str) or not text.strip():
            reason = f"The question {id!r} has no text. The line was skipped."
            problems.append(Problem(f"{path.name}:{line}", reason))
            continue
        meta = record.get("meta", record.get("metadata"))
        told: Mapping[str, Json] = dict(meta) if isinstance(meta, Mapping) else {}
        answers = [*texts_of(record.get("answer")), *texts_of(told.get("answer_aliases"))]
        yield Question(id, text, tuple(dict.fromkeys(answers)), told)


def texts_of(value: object) -> list[str]:
    """One text or several, as a list; blank ones and anything else are left out."""
    values = value if isinstance(value, list) else [value]
    scalars = [str(each) for each in values if isinstance(each, str | int | float) and not isinstance(each, bool)]
    return [each for each in scalars if each.strip()]


def _gold(
    path: Path, known: frozenset[str], asked: frozenset[str], told: tuple[list[Problem], list[Problem]]
) -> dict[str, dict[str, int]]:
    problems, unknown = told
    gold: dict[str, dict[str, int]] = {}
    for line, question, document, grade in judgements(path, problems):
        where = f"{path.name}:{line}"
        if question not in asked:
            unknown.append(Problem(where, f"There is no question {question!r}. The judgement was left out."))
        elif document not in known:
            unknown.append(Problem(where, f"There is no document {document!r}. The judgement was left out."))
        elif grade > 0:
            gold.setdefault(question, {})[document] = grade
    return gold


def _scopes(
    path: Path,
    documents: Sequence[Document],
    questions: Sequence[Question],
    told: tuple[list[Problem], list[Problem]],
) -> dict[str, frozenset[str]]:
    """The documents each question is limited to: from scope.jsonl, else from `meta.scope` on both sides."""
    if path.is_file():
        known = frozenset(document.id for document in documents)
        return _listed(path, known, frozenset(question.id for question in questions), told)
    members: dict[str, set[str]] = {}
    for document in documents:
        meta = document.record.get("meta", document.record.get("metadata"))
        for scope in texts_of(meta.get("scope")) if isinstance(meta, Mapping) else ():
            members.setdefault(scope, set()).add(document.id)
    named = {question.id: texts_of(question.meta.get("scope")) for question in questions}
    return {
        id: frozenset().union(*(members.get(scope, set()) for scope in scopes))
        for id, scopes in named.items()
        if scopes
    }


def _listed(
    path: Path, known: frozenset[str], asked: frozenset[str], told: tuple[list[Problem], list[Problem]]
) -> dict[str, frozenset[str]]:
    problems, unknown = told
    scopes: dict[str, frozenset[str]] = {}
    for line, record in objects(path, problems):
        where = f"{path.name}:{line}"
        question, listed = record.get("query"), record.get("docs")
        if question is None or not isinstance(listed, list):
            reason = 'A scope is {"query": id, "docs": [id, ...]}. The line was skipped.'
            problems.append(Problem(where, reason))
        elif str(question).strip() not in asked:
            unknown.append(Problem(where, f"There is no question {str(question)!r}. The scope was left out."))
        else:
            wanted = frozenset(str(each).strip() for each in listed)
            unknown += [
                Problem(where, f"There is no document {each!r}. It was left out of the scope.")
                for each in sorted(wanted - known)
            ]
            scopes[str(question).strip()] = wanted & known
    return scopes
