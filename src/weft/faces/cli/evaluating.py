"""`weft eval`: how much of the evidence reaches the page, on a judged set of your own."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer

from weft import __version__
from weft.errors import InvalidInput
from weft.faces import wiring
from weft.faces.cli import PARTLY_DONE, evaluated
from weft.faces.cli.options import AsJson, EmbedderSpec
from weft.faces.cli.progress import watched
from weft.model import Context, Filter

if TYPE_CHECKING:
    from weft.evaluation import Answered, Ask, Exam, Put
    from weft.faces.library import Weft
    from weft.ingest import Progress
    from weft.profile import Profile

_COMPARE: Final = "compare"


def evaluate(
    words: Annotated[
        list[str], typer.Argument(metavar="DIR | compare A B", help="A judged set, or two --per-query files.")
    ],
    *,
    profile: Annotated[str, typer.Option(metavar="NAME", help="Kind of page to measure.")] = "general",
    budget: Annotated[str, typer.Option(metavar="N,N", help="Budgets in tokens, with commas.")] = "2000,8000",
    query_template: Annotated[
        str, typer.Option(metavar="TEXT", help="How a question is put, as in '{meta.story} {text}'.")
    ] = "{text}",
    history: Annotated[bool, typer.Option("--history", help="Put the conversation after the question.")] = False,
    scoped: Annotated[bool, typer.Option("--scoped", help="Limit each question to its scope.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N questions.")] = None,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the measures of each question here.")
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also without vector, graph, dedupe and excerpting, one by one.")
    ] = False,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="Index here and keep it. Default: temporary.")
    ] = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Measure ranking and evidence on a judged set, or compare two such runs."""
    if words[0] == _COMPARE and len(words) == 3:
        _compare(Path(words[1]), Path(words[2]), as_json)
        return
    if len(words) != 1:
        raise InvalidInput(
            f"{' '.join(words)!r} is not one folder. Give `weft eval DIR`, or `weft eval compare A B` for two "
            "files that --per-query wrote."
        )
    from weft.evaluation import CorpusSource, Exam, Shape, read_folder, rows_of

    judged = read_folder(Path(words[0]))
    source, shape = CorpusSource(judged, scoped=scoped), Shape(query_template, history)
    exam = Exam(judged, source, budgets_of(budget), shape, scoped, limit)
    exam.check()
    _touch(per_query)
    with _opened(store, embedder) as weft:
        answers, result = _run(weft, exam, weft.profile(profile), ablate)
    if per_query is not None:
        per_query.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows_of(answers)))
    evaluated.write_result(result, as_json)
    if result["problems"]:
        raise typer.Exit(PARTLY_DONE)


def budgets_of(given: str) -> tuple[int, ...]:
    """The budgets in a list such as `2000,8000`, ascending."""
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 10**12 for part in parts):
        raise InvalidInput(f"{given!r} is no list of budgets. Give whole numbers of tokens, such as 2000,8000.")
    return tuple(sorted({int(part) for part in parts}))


def _touch(path: Path | None) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    if path is None:
        return
    try:
        path.touch()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{str(path)!r} cannot be written: {reason}. Name another file.") from error


@contextmanager
def _opened(store: Path | None, embedder: str | None) -> "Iterator[Weft]":
    with tempfile.TemporaryDirectory(prefix="weft-eval-") as folder:
        place = store if store is not None else Path(folder) / wiring.STORE_NAME
        with wiring.open_weft(place, embedder=embedder, create=True) as weft:
            yield weft


def _run(
    weft: "Weft", exam: "Exam", profile: "Profile", ablate: bool
) -> tuple["tuple[Answered, ...]", dict[str, Any]]:
    from weft import evaluation

    now = datetime.now(UTC)
    with watched("indexing") as tell:
        started = time.perf_counter()
        report = weft.ingest([exam.source], progress=tell)
        spent = time.perf_counter() - started
        answers = evaluation.evaluate(exam, _asker(weft, profile, now), time.perf_counter, tell)
        result: dict[str, Any] = {
            **evaluation.summary(answers, exam, evaluation.Costs(spent, _peak_megabytes())),
            "profile": profile.name,
            "embedder": weft.status().embedder,
            "version": __version__,
        }
        result["problems"] += [asdict(problem) for problem in report.problems]
        if ablate:
            result["ablations"] = _ablations(weft, exam, profile, now, (answers, tell))
    return answers, result


def _asker(weft: "Weft", profile: "Profile", now: datetime) -> "Ask":
    def ask(put: "Put", budget: int, wanted: Filter) -> Context:
        return weft.context(
            put.text, history=put.history, profile=profile, max_tokens=budget, filter=wanted, now=now
        )

    return ask


def _ablations(
    weft: "Weft",
    exam: "Exam",
    profile: "Profile",
    now: datetime,
    told: tuple["Sequence[Answered]", "Progress"],
) -> dict[str, Any]:
    """The measures without each power, and how they differ from those with all of them."""
    from weft import evaluation

    answers, tell = told
    full = {one.question.id: evaluation.measures(one) for one in answers}
    found = {}
    for power in evaluation.ABLATIONS:
        asker = _asker(weft, evaluation.ablated(profile, power), now)
        again = evaluation.evaluate(exam, asker, time.perf_counter, tell)
        found[power] = evaluation.compare(full, {one.question.id: evaluation.measures(one) for one in again})
    return {power: {each.measure: asdict(each) for each in differences} for power, differences in found.items()}


def _peak_megabytes() -> float | None:
    """The most memory this process ever had; None on systems that do not tell."""
    try:
        import resource
    except ImportError:
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _compare(first: Path, second: Path, as_json: bool) -> None:
    from weft.evaluation import compare, read_rows, unpaired

    left, right = read_rows(first), read_rows(second)
    shared = len(left.keys() & right.keys())
    evaluated.write_comparison(compare(left, right), unpaired(left, right), shared, as_json)
