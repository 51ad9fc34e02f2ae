"""Read judged sets (documents, questions, which documents hold the evidence for each), and offer them as a source.

A line that cannot be used is a problem of the set and not an error: most sets have a few, and the rest is
measured. As a source, the documents of a set are indexed like everything else.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.model import DEFAULT_TENANT, Filter, Json
from weft.ports import Problem, Unit
from weft.sources import default_source_name
from weft.sources.files import SourceSettings
from weft.sources.record_schema import ParsedRecords, parse_record
from weft.sources.values import sequence_edges

_LAYOUT: Final = (
    "A judged set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv, as BEIR has it)."
)
"""The advice of every error about the files of a set."""
_QRELS_COLUMNS: Final = 3
"""Question, document and grade."""
_GRADE: Final = re.compile(r"[+-]?\d{1,9}(\.0*)?")
"""A whole number, which some sets write as 1.0."""

_DOCUMENTS_PER_UNIT: Final = 1_000
"""Documents of one unit, which is read again as a whole when one of them changed: about a batch of indexing."""
_VERSION: Final = 2
"""Raise it when the same documents would become other nodes."""


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


# --- the corpus as a source --------------------------------------------------------------------------------


class CorpusSource:
    """The documents of a set, a thousand a unit, each with a mark for every scope it belongs to.

    A mark is a field with a number, which filters see and searches do not.
    """

    def __init__(self, judged: JudgedSet, *, scoped: bool = False) -> None:
        self.name = judged.name
        self.maker = f"evaluation:{judged.name}@{_VERSION}"
        self._settings = SourceSettings(judged.name, self.maker, DEFAULT_TENANT)
        self._marks = _scope_marks(judged) if scoped else {}
        self._scopes = judged.scopes if scoped else {}
        self._location = judged.location
        self._documents = {document.id: document for document in judged.documents}
        # Empty documents could not be found by any search; the report lists them.
        full = [document for document in judged.documents if not document.empty]
        self._units = {
            f"{full[start].file}#{start}": full[start : start + _DOCUMENTS_PER_UNIT]
            for start in range(0, len(full), _DOCUMENTS_PER_UNIT)
        }
        self._marks_by_document = _marks_by_document(self._marks)

    def identity(self) -> str:
        """Return a fingerprint of where the set is, which tells two sets of the same name apart."""
        return xxhash.xxh3_128_hexdigest(self._location.encode("utf-8", "surrogateescape"))

    def units(self) -> Iterable[tuple[str, str]]:
        """Return the (name, stamp) of each unit of documents; the stamp is a hash of their content."""
        return [(name, self._stamp(documents)) for name, documents in self._units.items()]

    def read(self, unit: str) -> Unit:
        """Return the nodes of one unit, made of their records as `weft index` would make them."""
        into = ParsedRecords()
        for document in self._units[unit]:
            self._read_document(document, into)
        nodes = tuple(found.node for found in into.nodes)
        edges = (*(edge for found in into.nodes for edge in found.edges), *into.edges, *sequence_edges(nodes))
        return Unit(unit, self._stamp(self._units[unit]), nodes, edges, tuple(into.problems))

    def key(self, document: str) -> str:
        """Return the key of the node that a document becomes."""
        return f"{self.name}:{document}"

    def document(self, key: str) -> str:
        """Return the document that a key stands for; keys of other sources are returned as they are."""
        return key.removeprefix(f"{self.name}:")

    def texts(self, documents: Iterable[str]) -> dict[str, str]:
        """Return the texts of some documents by key."""
        return {self.key(id): str(self._documents[id].record.get("text") or "") for id in documents}

    def filter(self, question: str) -> Filter:
        """Return the filter that limits a question to its scope, if it has one."""
        allowed = self._scopes.get(question)
        return Filter() if allowed is None else Filter(where=((self._marks[allowed], "1"),))

    def _read_document(self, document: Document, into: ParsedRecords) -> None:
        """Parse one document, and give its node its key and marks."""
        before = len(into.nodes)
        # Records may have a key of their own, but judgements name documents by id.
        record = {**document.record, "key": document.id}
        parse_record(record, f"{document.file}:{document.line}", self._settings, into)
        # A record that cannot be used adds a problem instead of a node.
        if len(into.nodes) > before:
            found = into.nodes[-1]
            marks = dict.fromkeys(self._marks_by_document.get(document.id, ()), 1)
            node = replace(found.node, key=self.key(document.id), fields={**found.node.fields, **marks})
            into.nodes[-1] = replace(found, node=node)

    def _stamp(self, documents: Iterable[Document]) -> str:
        content = [
            (document.id, document.line, document.record, self._marks_by_document.get(document.id, ()))
            for document in documents
        ]
        return xxhash.xxh3_128_hexdigest(orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS))


def _scope_marks(judged: JudgedSet) -> dict[frozenset[str], str]:
    """Return a field name for each different scope, numbered in the order of the questions."""
    # Questions often share a scope: one mark for each different one keeps nodes small.
    scopes = dict.fromkeys(judged.scopes[id] for id in judged.scopes)
    return {allowed: f"judged_scope_{number}" for number, allowed in enumerate(scopes)}


def _marks_by_document(marks: Mapping[frozenset[str], str]) -> dict[str, tuple[str, ...]]:
    """Return the marks of each document."""
    found: dict[str, list[str]] = {}
    for documents, mark in marks.items():
        for document in documents:
            found.setdefault(document, []).append(mark)
    # Sorted, because sets have no order and the stamp of a unit is a hash of these.
    return {document: tuple(sorted(its_marks)) for document, its_marks in found.items()}
