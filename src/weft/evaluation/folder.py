"""Judged sets on disk: a corpus, questions and judgements in one folder, in our layout or BEIR's."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from weft.errors import InvalidInput
from weft.evaluation.judged import Document, Judged, Question
from weft.evaluation.lines import identified, judgements, objects
from weft.model import Json
from weft.ports import Problem
from weft.sources import source_name

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
