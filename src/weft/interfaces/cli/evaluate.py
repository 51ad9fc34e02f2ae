"""What `weft eval` prints: the measures of a set, what each power is worth, and how two runs differ."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer

from weft import __version__, config
from weft.errors import InvalidInput
from weft.interfaces.cli import PARTLY_DONE, output
from weft.interfaces.cli.options import AsJson, EmbedderSpec
from weft.interfaces.cli.progress import watched
from weft.model import Context, Filter

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.evaluation import Answered, Ask, Difference, Exam, Put
    from weft.indexing.ingest import Progress
    from weft.profiles.types import Profile


_SHOWN: Final = 20
_SHARES: Final = ("recall@", "ndcg@", "mrr", "evidence_recall@", "all_evidence@", "fill")


def write_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print the measures of a set, and on stderr what was wrong with its files."""
    if as_json:
        output.write_json(result)
        return
    output.write(
        f"{result['set']}: {output.counted(result['documents'], 'document')}, "
        f"{output.counted(result['queries'], 'query', 'queries')}, {result['gold']:,} gold; profile "
        f"{result['profile']}, embedder {result['embedder'] or 'none'}"
    )
    rows = [(name, _percent(value)) for name, value in result.items() if name.startswith(_SHARES)]
    output.write_table(("measure", "value"), [*rows, *_costs(result)])
    if "ablations" in result:
        output.write("")
        _write_ablations(result["ablations"])
    _tell_problems(result)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _costs(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    latency, peak = result["latency_ms"], result["peak_mb"]
    return [
        ("budget_violations", f"{result['budget_violations']:,}"),
        ("latency_ms", f"p50 {latency['p50']:.1f}, p95 {latency['p95']:.1f}"),
        ("index_seconds", f"{result['index_seconds']:.1f}"),
        ("peak_mb", "unknown" if peak is None else f"{peak:,.0f}"),
    ]


def _write_ablations(ablations: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A row for each power that was taken away: what is lost in points, a star where the loss is real."""
    names = list(next(iter(ablations.values())))
    rows = [(f"without {power}", *(_points(found[name]) for name in names)) for power, found in ablations.items()]
    output.write_table(("points (* real)", *names), rows)


def _points(difference: Mapping[str, Any]) -> str:
    return f"{100 * difference['difference']:+.1f}{'*' if difference['real'] else ''}"


def _tell_problems(result: Mapping[str, Any]) -> None:
    if result["queries_without_gold"]:
        left = output.counted(result["queries_without_gold"], "query has", "queries have")
        output.note(f"{left} no gold; left out.")
    for name, what in (
        ("queries_shut_out_by_scope", "queries left out because their scope excludes all their gold"),
        ("empty_documents", "documents hold neither title nor text"),
    ):
        if result[name]:
            output.note(f"{what}: {len(result[name]):,} ({_listed(result[name])})")
    for name, what in (("unknown_ids", "ids that do not exist"), ("problems", "lines that could not be used")):
        if result[name]:
            output.note(f"{what}: {len(result[name]):,}")
            _tell_each(result[name])
    for note in result["notes"]:
        output.note(note)


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")


def _tell_each(problems: Sequence[Mapping[str, str]]) -> None:
    for problem in problems[:_SHOWN]:
        output.note(f"  {problem['where']}: {problem['reason']}")
    if len(problems) > _SHOWN:
        output.note(f"  and {len(problems) - _SHOWN:,} more (--json lists all)")


def write_comparison(
    differences: Sequence["Difference"], unpaired: tuple[int, int], shared: int, as_json: bool
) -> None:
    """Print how the second run differs from the first, measure by measure, and whether that is real."""
    if as_json:
        measures = {each.measure: output.shape(each, "measure") for each in differences}
        output.write_json({"queries": shared, "only_first": unpaired[0], "only_second": unpaired[1], **measures})
        return
    output.write(f"{output.counted(shared, 'query', 'queries')} in both; 95 % intervals by paired bootstrap")
    rows = [
        (
            each.measure,
            f"{100 * each.first:.1f}",
            f"{100 * each.second:.1f}",
            f"{100 * each.difference:+.1f}",
            f"{100 * each.low:+.1f} … {100 * each.high:+.1f}",
            f"{each.p:.3f}",
            _verdict(each),
        )
        for each in differences
    ]
    output.write_table(("measure", "A", "B", "B - A", "interval", "p", "verdict"), rows)
    if any(unpaired):
        output.note(f"Left out: {unpaired[0]:,} only in the first file, {unpaired[1]:,} only in the second.")


def _verdict(difference: "Difference") -> str:
    if not difference.real:
        return "no difference shown"
    return "B is better" if difference.difference > 0 else "A is better"


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
    write_result(result, as_json)
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
        place = store if store is not None else Path(folder) / config.STORE_NAME
        with config.open_weft(place, embedder=embedder, create=True) as weft:
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
    write_comparison(compare(left, right), unpaired(left, right), shared, as_json)
