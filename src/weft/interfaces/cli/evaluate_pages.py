"""`weft eval SET.json`: judge whether questions can be answered from their pages, and print the verdicts."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from weft import __version__
from weft.errors import InvalidInput
from weft.interfaces.cli import output
from weft.interfaces.cli.demo import open_named_or_temporary
from weft.interfaces.cli.output import show_progress

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.evaluation import KeepPage, MakePage, PageVerdict

DEFAULT_BUDGETS: Final = "1000,2000,4000,8000"
"""The tokens that agents spend on one question, from a glance to a thorough reading."""


class PageJob(Struct, frozen=True):
    """The options of a run over a set of questions with facts."""

    path: Path
    source: Path | None
    budgets: tuple[int, ...]
    profile: str | None = None
    baselines: tuple[str, ...] = ()
    limit: int | None = None
    store: Path | None = None
    embedder: str | None = None
    pages: Path | None = None


def judge(job: PageJob, per_query: Path | None) -> dict[str, Any]:
    """Index the source, judge the pages of every question, write the files asked for, and return the result."""
    from weft import evaluation

    questions = evaluation.read_fact_set(job.path)
    source = _check_source(job.source)
    if job.limit is not None and job.limit < 1:
        raise InvalidInput(f"A limit of {job.limit} questions asks nothing. Give 1 or more.")
    # Mistakes are reported before the indexing, which takes long.
    if job.pages is not None:
        _make_folder(job.pages)
    if per_query is not None:
        check_writable(per_query)
    with (
        open_named_or_temporary(job.store, "weft-eval-", job.embedder) as weft,
        show_progress("indexing") as progress,
    ):
        evaluation.check_baselines(job.baselines, weft.reader.embedder)
        profile = None if job.profile is None else weft.profile(job.profile).name
        started = time.perf_counter()
        report = weft.index(source, progress=progress)
        # Measured is the store as it will be, with all its better vectors if it is to have any.
        weft.writer.embed_quality(progress)
        index_seconds = time.perf_counter() - started
        exam = evaluation.PageExam(
            questions.questions[: job.limit],
            job.budgets,
            _make_makers(weft, job, source, profile),
            evaluation.page_counter(),
        )
        verdicts = evaluation.judge_pages(exam, time.perf_counter, progress, _page_writer(job.pages))
        embedder = weft.status().embedder
    if per_query is not None:
        write_rows(per_query, evaluation.verdict_rows(verdicts))
    return {
        "set": questions.name,
        "source": str(job.source),
        "questions": len(exam.questions),
        "profile": profile or "default",
        "embedder": embedder,
        "version": __version__,
        **evaluation.summarise_pages(_of(verdicts, evaluation.OWN_PAGES), job.budgets),
        "index_seconds": round(index_seconds, 3),
        "baselines": {
            name: evaluation.summarise_pages(_of(verdicts, name), job.budgets) for name in job.baselines
        },
        "problems": [asdict(problem) for problem in report.problems],
    }


def check_writable(path: Path) -> None:
    """Raise InvalidInput if the file cannot be written: before the measuring, which takes long, not after it."""
    try:
        path.touch()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{str(path)!r} cannot be written: {reason}. Name another file.") from error


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the measures of each question to a file, a line of JSON each."""
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def _check_source(source: Path | None) -> Path:
    if source is None:
        raise InvalidInput("A set of questions needs what they are asked about. Name it with --source PATH.")
    if not source.exists():
        raise InvalidInput(f"There is no file or folder {str(source)!r}. Name what to index with --source PATH.")
    return source


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{str(folder)!r} cannot hold pages: {reason}. Name another folder.") from error


def _make_makers(weft: "Weft", job: PageJob, source: Path, profile: str | None) -> dict[str, "MakePage"]:
    """Return who makes pages, by name: ourselves first, then the baselines that were asked for."""
    from weft import evaluation

    # One moment for all questions: recency must not differ between them.
    now = datetime.now(UTC)

    def make(question: str, budget: int) -> evaluation.MadePage:
        # Without --profile none is passed: that is the page of a user who passes nothing.
        if profile is None:
            context = weft.context(question, max_tokens=budget, now=now)
        else:
            context = weft.context(question, profile=profile, max_tokens=budget, now=now)
        return evaluation.MadePage(context.text, context.page.title, context.notes)

    def naive(dump: evaluation.Dump) -> "MakePage":
        return lambda question, budget: evaluation.MadePage(dump(question, budget))

    dumps = evaluation.make_baselines(job.baselines, source, weft.reader.embedder, evaluation.page_counter())
    return {evaluation.OWN_PAGES: make, **{name: naive(dump) for name, dump in dumps.items()}}


def _page_writer(folder: Path | None) -> "KeepPage":
    """Return a function that writes each page to a file named after question, maker and budget."""

    def write(verdict: "PageVerdict", text: str) -> None:
        if folder is not None:
            # Quoted, because an id may hold slashes; two ids never become one name.
            name = f"{quote(verdict.question.id, safe='')}.{verdict.maker}.{verdict.budget}.md"
            (folder / name).write_text(text, encoding="utf-8")

    return write


def _of(verdicts: "Sequence[PageVerdict]", maker: str) -> "list[PageVerdict]":
    return [verdict for verdict in verdicts if verdict.maker == maker]


# --- printing ------------------------------------------------------------------------------------------------


def write_judged(result: Mapping[str, Any], budgets: Sequence[int], as_json: bool) -> None:
    """Print the verdicts of a set: a table of grades by budget, and the questions that fail at the smallest."""
    if as_json:
        output.write_json(result)
        return
    output.write(
        f"{result['set']}: {output.count_noun(result['questions'], 'question')}; profile {result['profile']}, "
        f"embedder {result['embedder'] or 'none'}"
    )
    makers = {"weft": result, **result["baselines"]}
    rows = [row for name, measured in makers.items() for row in _maker_rows(name, measured, budgets)]
    output.write_table(("yes / partly / no", *(f"at {budget:,}" for budget in budgets)), rows)
    output.write(f"budget violations: {sum(measured['budget_violations'] for measured in makers.values()):,}")
    smallest = min(budgets)
    failed = result["unanswered"][str(smallest)]
    listed = ", ".join(f"{id} (partly)" if grade == "partly" else id for id, grade in failed.items())
    output.write(f"not answered at {smallest:,} tokens: {listed or 'none'}")
    if result["problems"]:
        output.write_note(f"files that could not be read as a whole: {len(result['problems']):,}")
        output.write_problem_notes([(problem["where"], problem["reason"]) for problem in result["problems"]])
    for note in result["notes"]:
        output.write_note(note)


def _maker_rows(name: str, measured: Mapping[str, Any], budgets: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the two rows of one maker: the grades of its pages, and the tokens they cost on average."""
    grades = [measured["grades"][str(budget)] for budget in budgets]
    return [
        (name, *(f"{each['yes']} / {each['partly']} / {each['no']}" for each in grades)),
        (f"{name}, mean tokens", *(f"{measured['tokens'][str(budget)]:,.0f}" for budget in budgets)),
    ]
