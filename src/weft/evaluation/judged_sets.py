"""Read judged sets: documents, questions, and which documents hold the evidence for each question.

A line that cannot be used is a problem of the set and not an error: most sets have a few, and the rest is
measured.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from weft.errors import InvalidInput
from weft.model import Json
from weft.ports import Problem
from weft.sources import default_source_name

_LAYOUT: Final = (
    "A judged set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv, as BEIR has it)."
)
"""The advice of every error about the files of a set."""
_QRELS_COLUMNS: Final = 3
"""Question, document and grade."""
_GRADE: Final = re.compile(r"[+-]?\d{1,9}(\.0*)?")
"""A whole number, which some sets write as 1.0."""


class _Problems(Struct):
    """The problems met while reading: lines that could not be used, and ids that do not exist."""

    unusable: list[Problem] = field(default_factory=list)
    unknown: list[Problem] = field(default_factory=list)


class Document(Struct, frozen=True):
    """One document as its file gives it, and the line it stands on."""

    id: str
    record: Mapping[str, object]
    file: str
    line: int

    @property
    def empty(self) -> bool:
        """Whether the document has neither a title nor a text to be found by."""
        return not any(str(self.record.get(name) or "").strip() for name in ("title", "text"))


class Question(Struct, frozen=True):
    """One question with the answers that count, if any are known."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict)


class JudgedSet(Struct, frozen=True):
    """A set to measure with. `gold` holds the positive grades by question; ids that do not exist are left out
    of it and listed in `unknown`. `scopes` names the documents each scoped question may be answered from.

    `problems` are lines that could not be used; `unjudged` are questions without gold; `excluded` are those
    whose scope holds none of their gold; `location` tells the set from others of the same name.
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
    location: str = ""

    @property
    def empty_documents(self) -> tuple[str, ...]:
        """The ids of documents without title and text."""
        return tuple(document.id for document in self.documents if document.empty)

    def measurable_questions(self, scoped: bool) -> tuple[Question, ...]:
        """Return the questions that can be measured: judged, and with some of their gold in their scope."""
        left_out = {*self.unjudged, *(self.excluded if scoped else ())}
        return tuple(question for question in self.questions if question.id not in left_out)


def read_folder(folder: Path) -> JudgedSet:
    """Read the judged set in a folder; lines that cannot be used are among its problems."""
    corpus, queries, qrels = _find_files(folder)
    problems = _Problems()
    documents = tuple(
        Document(id, record, corpus.name, line) for id, line, record in _identified(corpus, problems.unusable)
    )
    questions = tuple(_read_questions(queries, problems.unusable))
    # Checked before the judgements, whose problems would only follow from these.
    _check_some(documents, corpus, problems.unusable)
    _check_some(questions, queries, problems.unusable)
    document_ids = frozenset(document.id for document in documents)
    question_ids = frozenset(question.id for question in questions)
    gold = _read_gold(qrels, document_ids, question_ids, problems)
    scope_file = folder / "scope.jsonl"
    # A file is explicit, and wins over what the records say.
    if scope_file.is_file():
        scopes = _read_scopes(scope_file, document_ids, question_ids, problems)
    else:
        scopes = _scopes_in_metadata(documents, questions)
    unjudged = tuple(question.id for question in questions if not gold.get(question.id))
    # A few unjudged questions are usual; none judged at all means that the ids do not match.
    if len(unjudged) == len(questions):
        first = _first_problem(problems.unusable + problems.unknown)
        raise InvalidInput(f"{qrels} judges none of the questions in {queries.name}.{first}")
    excluded = tuple(id for id, allowed in scopes.items() if gold.get(id) and not allowed & gold[id].keys())
    return JudgedSet(
        name=default_source_name(folder),
        documents=documents,
        questions=questions,
        gold=gold,
        scopes=scopes,
        problems=tuple(problems.unusable),
        unknown=tuple(problems.unknown),
        unjudged=unjudged,
        excluded=excluded,
        location=folder.resolve().as_posix(),
    )


def _find_files(folder: Path) -> tuple[Path, Path, Path]:
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {str(folder)!r}. {_LAYOUT}")
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    tables = [folder / "qrels.tsv", folder / "qrels" / "test.tsv"]
    # A split of another name counts where it is the only one.
    others = sorted((folder / "qrels").glob("*.tsv"))
    tables += others if len(others) == 1 else []
    qrels = next((table for table in tables if table.is_file()), tables[0])
    missing = [path.name for path in (corpus, queries, qrels) if not path.is_file()]
    if missing:
        raise InvalidInput(f"{str(folder)!r} has no {' and no '.join(missing)}. {_LAYOUT}")
    return corpus, queries, qrels


def _check_some(found: Sequence[object], path: Path, problems: Sequence[Problem]) -> None:
    if not found:
        raise InvalidInput(f"{path} holds nothing that can be used.{_first_problem(problems)} {_LAYOUT}")


def _first_problem(problems: Sequence[Problem]) -> str:
    return f" The first problem is at {problems[0].where}: {problems[0].reason}" if problems else ""


def _read_questions(path: Path, problems: list[Problem]) -> Iterable[Question]:
    for id, line, record in _identified(path, problems):
        text = record.get("text")
        if not isinstance(text, str) or not text.strip():
            reason = f"The question {id!r} has no text. The line was skipped."
            problems.append(Problem(f"{path.name}:{line}", reason))
            continue
        meta = record.get("meta", record.get("metadata"))
        metadata: Mapping[str, Json] = dict(meta) if isinstance(meta, Mapping) else {}
        # Any of the aliases counts as the answer.
        answers = [*_texts(record.get("answer")), *_texts(metadata.get("answer_aliases"))]
        yield Question(id, text, tuple(dict.fromkeys(answers)), metadata)


def _texts(value: object) -> list[str]:
    """Return one text or several as a list; blank ones and anything else are left out."""
    values = value if isinstance(value, list) else [value]
    # Years and amounts are written as numbers, and True is no answer.
    scalars = [str(item) for item in values if isinstance(item, str | int | float) and not isinstance(item, bool)]
    return [text for text in scalars if text.strip()]


def _read_gold(
    path: Path, document_ids: frozenset[str], question_ids: frozenset[str], problems: _Problems
) -> dict[str, dict[str, int]]:
    """Read the positive grades by question and document."""
    gold: dict[str, dict[str, int]] = {}
    for line, question, document, grade in _judgements(path, problems.unusable):
        where = f"{path.name}:{line}"
        if question not in question_ids:
            reason = f"There is no question {question!r}. The judgement was left out."
            problems.unknown.append(Problem(where, reason))
        elif document not in document_ids:
            reason = f"There is no document {document!r}. The judgement was left out."
            problems.unknown.append(Problem(where, reason))
        # Judgements of 0 say that a document was looked at and holds nothing.
        elif grade > 0:
            gold.setdefault(question, {})[document] = grade
    return gold


def _read_scopes(
    path: Path, document_ids: frozenset[str], question_ids: frozenset[str], problems: _Problems
) -> dict[str, frozenset[str]]:
    """Read the documents that each question is limited to from scope.jsonl."""
    scopes: dict[str, frozenset[str]] = {}
    for line, record in objects(path, problems.unusable):
        where = f"{path.name}:{line}"
        question, listed = record.get("query"), record.get("docs")
        if question is None or not isinstance(listed, list):
            reason = 'A scope is {"query": id, "docs": [id, ...]}. The line was skipped.'
            problems.unusable.append(Problem(where, reason))
        elif str(question).strip() not in question_ids:
            reason = f"There is no question {str(question)!r}. The scope was left out."
            problems.unknown.append(Problem(where, reason))
        else:
            named = frozenset(str(document).strip() for document in listed)
            problems.unknown += [
                Problem(where, f"There is no document {document!r}. It was left out of the scope.")
                for document in sorted(named - document_ids)
            ]
            scopes[str(question).strip()] = named & document_ids
    return scopes


def _scopes_in_metadata(documents: Sequence[Document], questions: Sequence[Question]) -> dict[str, frozenset[str]]:
    """Return the documents that each question is limited to by `meta.scope` on both sides."""
    members: dict[str, set[str]] = {}
    for document in documents:
        meta = document.record.get("meta", document.record.get("metadata"))
        for scope in _texts(meta.get("scope")) if isinstance(meta, Mapping) else ():
            members.setdefault(scope, set()).add(document.id)
    scopes_by_question = {question.id: _texts(question.meta.get("scope")) for question in questions}
    return {
        id: frozenset().union(*(members.get(scope, set()) for scope in scopes))
        for id, scopes in scopes_by_question.items()
        if scopes
    }


# --- lines of files ----------------------------------------------------------------------------------------------


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers; broken UTF-8 is replaced."""
    try:
        # Split at \n only: a lone \r may stand inside of a string.
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{path} cannot be read: {reason}. Check the path and its permissions.") from error


def objects(path: Path, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the JSON objects of a file, one a line, with their line numbers."""
    for number, line in _numbered_lines(path):
        where = f"{path.name}:{number}"
        try:
            # Not strict, because sets in the wild have tabs and the like inside of their strings.
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


def _identified(path: Path, problems: list[Problem]) -> Iterator[tuple[str, int, Mapping[str, object]]]:
    """Yield the objects of a file that have an id (`id` or `_id`); of several with one id the last counts."""
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
    # Yielded at the end only: until then a later line may replace each of them.
    for name, (number, record) in found.items():
        yield name, number, record


def _judgements(path: Path, problems: list[Problem]) -> Iterator[tuple[int, str, str, int]]:
    """Yield the (line, question id, document id, grade) of a file of three tab-separated columns."""
    for index, (number, line) in enumerate(_numbered_lines(path)):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != _QRELS_COLUMNS or not cells[0] or not cells[1]:
            reason = (
                f"{line[:60]!r} has {len(cells)} columns; three separated by tabs are needed: question, document, "
                "grade. The line was skipped."
            )
            problems.append(Problem(f"{path.name}:{number}", reason))
        elif _GRADE.fullmatch(cells[2]):
            yield number, cells[0], cells[1], int(float(cells[2]))
        elif index:
            # The first line may be a header.
            reason = f"The grade {cells[2]!r} is no whole number. The line was skipped."
            problems.append(Problem(f"{path.name}:{number}", reason))
