"""Draw questions from sets, and make both pages of each: ours, and the dump of passages by BM25."""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bench.readers.grading import Standard, is_on_page
from weft import Weft
from weft.evaluation import CorpusSource, QuestionShape, read_fact_set, read_folder
from weft.evaluation.baselines import (
    Dump,
    TextFile,
    cut_at_budget,
    make_baselines,
    rank_by_words,
    split_passages,
)
from weft.evaluation.run import page_counter

MAKERS = ("weft", "bm25")
Drawn = TypeVar("Drawn")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The present of every page, fixed so that the same seed makes the same packs on any day."""


class Settings(Struct, frozen=True):
    """How pages are made: tokens, seed, questions from each set, where stores are kept, templates by set."""

    budget: int
    seed: int
    questions: int | None = None
    stores: Path | None = None
    templates: Mapping[str, str] = {}


class Asked(Struct, frozen=True):
    """One question as readers see it, what counts as its answer, and the page of each maker."""

    set: str
    id: str
    text: str
    standard: Standard
    pages: Mapping[str, str]
    held: Mapping[str, bool]


def ask_sets(specs: Sequence[str], settings: Settings) -> list[Asked]:
    """Return the questions drawn from all sets, each with both of its pages."""
    asked = []
    for spec in specs:
        path, _, source = spec.partition("=")
        if Path(path).is_dir():
            asked += _ask_folder(Path(path), settings)
        elif source:
            asked += _ask_facts(Path(path), Path(source), settings)
        else:
            raise SystemExit(f"{spec!r} is no folder. Write SET.json=SOURCE, or the folder of a judged set.")
    if len({(one.set, one.id) for one in asked}) < len(asked):
        raise SystemExit("Two of the sets have the same name. Rename one, so that their questions differ.")
    return asked


def _ask_facts(path: Path, source: Path, settings: Settings) -> list[Asked]:
    """Ask a set of questions with facts about its source."""
    judged = read_fact_set(path)
    with _opened(path.stem, settings) as weft:
        weft.index(source)
        dump = make_baselines(["bm25"], source, None, page_counter())["bm25"]
        return [
            _ask(path.stem, question.id, question.text, Standard(facts=question.facts), (weft, dump), settings)
            for question in draw(judged.questions, path.stem, settings)
        ]


def _ask_folder(folder: Path, settings: Settings) -> list[Asked]:
    """Ask the questions of a judged set whose answers are known."""
    judged = read_folder(folder)
    shape = QuestionShape(settings.templates.get(judged.name, "{text}"))
    # A question without a known answer could be read, but not graded.
    questions = [question for question in judged.measurable_questions(False) if question.answers]
    if not questions:
        raise SystemExit(f"No question of {str(folder)!r} has a known answer; readers could not be graded.")
    shape.check(questions)
    # Long documents are cut as files are, so that both sides print passages.
    passages = [
        passage
        for document in judged.documents
        for passage in split_passages(_as_file(document.record, document.id))
    ]
    with _opened(judged.name, settings) as weft:
        weft.ingest([CorpusSource(judged)])
        makers = (weft, cut_at_budget(rank_by_words(passages), page_counter()))
        return [
            _ask(judged.name, one.id, shape.apply(one).joined, Standard(answers=one.answers), makers, settings)
            for one in draw(questions, judged.name, settings)
        ]


def _as_file(record: Mapping[str, object], id: str) -> TextFile:
    """Return a document as a file that is named after its title."""
    return TextFile(str(record.get("title") or id), tuple(str(record.get("text") or "").splitlines()))


def draw(questions: Sequence[Drawn], name: str, settings: Settings) -> list[Drawn]:
    """Return the questions to ask of a set, in the order of the set."""
    if settings.questions is None or len(questions) <= settings.questions:
        return list(questions)
    # A seed for each set: adding a set to the command leaves what is drawn from the others alone.
    chosen = random.Random(f"{settings.seed} {name}").sample(range(len(questions)), settings.questions)
    return [questions[index] for index in sorted(chosen)]


@contextmanager
def _opened(name: str, settings: Settings) -> Iterator[Weft]:
    with (
        tempfile.TemporaryDirectory(prefix="weft-readers-") as folder,
        Weft.open((settings.stores or Path(folder)) / name) as weft,
    ):
        yield weft


def _ask(
    name: str, id: str, text: str, standard: Standard, makers: tuple[Weft, Dump], settings: Settings
) -> Asked:
    weft, dump = makers
    context = weft.context(text, max_tokens=settings.budget, now=NOW)
    pages = dict(zip(MAKERS, (context.text, dump(text, settings.budget)), strict=True))
    held = {maker: is_on_page(standard, page, text, context.page.title) for maker, page in pages.items()}
    return Asked(name, id, text, standard, pages, held)
