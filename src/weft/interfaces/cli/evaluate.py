"""`weft eval` and `weft demo`: measure a judged set, or show the example worlds.

Both index into a temporary store unless `--store` names one.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer
from msgspec.structs import asdict

from weft import __version__, config
from weft.errors import InvalidInput, SourceError
from weft.interfaces.cli import PARTLY_DONE, AsJson, EmbedderSpec, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import format_origin
from weft.interfaces.request import clean, read_budget
from weft.model import Context, Filter

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.evaluation import Ask, Difference, Evaluation, QuestionResult, ShapedQuestion
    from weft.indexing.ingest import Progress
    from weft.profiles.types import Profile


_COMPARE: Final = "compare"
_MAX_BUDGET: Final = 10**12
"""Budgets in tokens stay below this: larger numbers are typing errors."""
_SHARE_PREFIXES: Final = ("recall@", "ndcg@", "mrr", "evidence_recall@", "all_evidence@", "fill")
"""How the names of measures begin that are shares from 0 to 1, printed as percentages."""
_PACKAGE: Final = Path(__file__).parents[2]
_DEFAULT_QUESTION: Final = "How do I process a refund?"
_MAX_LISTED_SOURCES: Final = 8
"""Sources listed below the page: enough to see where it came from without pushing it off the screen."""


# --- weft eval ---------------------------------------------------------------------------------------------


def evaluate(
    words: Annotated[
        list[str], typer.Argument(metavar="DIR | compare A B", help="A judged set, or two --per-query files.")
    ],
    *,
    profile: Annotated[str, typer.Option(metavar="NAME", help="Kind of page to measure.")] = "general",
    budget: Annotated[
        str, typer.Option(metavar="N,N", help="Budgets in tokens, separated by commas.")
    ] = "2000,8000",
    query_template: Annotated[
        str, typer.Option(metavar="TEXT", help="How to put a question, as in '{meta.story} {text}'.")
    ] = "{text}",
    history: Annotated[
        bool, typer.Option("--history", help="Send the conversation along with each question.")
    ] = False,
    scoped: Annotated[bool, typer.Option("--scoped", help="Limit each question to its scope.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N questions.")] = None,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the measures of each question to this file.")
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Measure again without vector, graph, dedupe and excerpting in turn.")
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
    from weft.evaluation import CorpusSource, Evaluation, QuestionShape, question_rows, read_folder

    judged = read_folder(Path(words[0]))
    source, shape = CorpusSource(judged, scoped=scoped), QuestionShape(query_template, history)
    exam = Evaluation(judged, source, _parse_budgets(budget), shape, scoped, limit)
    # Mistakes in the template and the output file are reported before the indexing, which takes long.
    exam.check()
    if per_query is not None:
        _check_writable(per_query)
    with _open_named_or_temporary(store, "weft-eval-", embedder) as weft:
        answers, result = _run(weft, exam, weft.profile(profile), ablate)
    if per_query is not None:
        per_query.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in question_rows(answers)))
    _write_result(result, as_json)
    if result["problems"]:
        # The measures are printed all the same; the code tells scripts that some input was not used.
        raise typer.Exit(PARTLY_DONE)


def _parse_budgets(text: str) -> tuple[int, ...]:
    """Return the budgets of a list such as `2000,8000`, ascending."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < _MAX_BUDGET for part in parts):
        raise InvalidInput(f"{text!r} is not a list of budgets. Give whole numbers of tokens, such as 2000,8000.")
    return tuple(sorted({int(part) for part in parts}))


def _check_writable(path: Path) -> None:
    """Raise InvalidInput if the file cannot be written: before the measuring, which takes long, not after it."""
    try:
        path.touch()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidInput(f"{str(path)!r} cannot be written: {reason}. Name another file.") from error


def _run(
    weft: "Weft", exam: "Evaluation", profile: "Profile", ablate: bool
) -> tuple["tuple[QuestionResult, ...]", dict[str, Any]]:
    """Index the judged set, put its questions, and return the answers with the measures."""
    from weft import evaluation

    # One moment for all questions and ablations: recency must not differ between them.
    now = datetime.now(UTC)
    with show_progress("indexing") as progress:
        started = time.perf_counter()
        report = weft.ingest([exam.source], progress=progress)
        index_seconds = time.perf_counter() - started
        answers = evaluation.evaluate(exam, _make_asker(weft, profile, now), time.perf_counter, progress)
        result: dict[str, Any] = {
            **evaluation.summarise(answers, exam, evaluation.Costs(index_seconds, _peak_megabytes())),
            "profile": profile.name,
            "embedder": weft.status().embedder,
            "version": __version__,
        }
        result["problems"] += [asdict(problem) for problem in report.problems]
        if ablate:
            result["ablations"] = _measure_ablations(weft, exam, profile, now, answers, progress)
    return answers, result


def _make_asker(weft: "Weft", profile: "Profile", now: datetime) -> "Ask":
    def ask(put: "ShapedQuestion", budget: int, scope: Filter) -> Context:
        return weft.context(
            put.text, history=put.history, profile=profile, max_tokens=budget, filter=scope, now=now
        )

    return ask


def _measure_ablations(
    weft: "Weft",
    exam: "Evaluation",
    profile: "Profile",
    now: datetime,
    answers: "Sequence[QuestionResult]",
    progress: "Progress",
) -> dict[str, Any]:
    """Measure again without each ability in turn, and return how the measures differ from the full ones."""
    from weft import evaluation

    full = {answer.question.id: evaluation.measure_question(answer) for answer in answers}
    ablations = {}
    # The store is the same for all: only the profile changes, so nothing is indexed again.
    for ability in evaluation.ABLATIONS:
        ask = _make_asker(weft, evaluation.without_ability(profile, ability), now)
        reduced = evaluation.evaluate(exam, ask, time.perf_counter, progress)
        differences = evaluation.compare(
            full, {answer.question.id: evaluation.measure_question(answer) for answer in reduced}
        )
        ablations[ability] = {difference.measure: asdict(difference) for difference in differences}
    return ablations


def _peak_megabytes() -> float | None:
    """Return the peak memory of this process, or None on systems that do not report it."""
    try:
        import resource
    except ImportError:
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, Linux kibibytes.
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _compare(first: Path, second: Path, as_json: bool) -> None:
    from weft.evaluation import compare, count_unpaired, read_rows

    left, right = read_rows(first), read_rows(second)
    shared = len(left.keys() & right.keys())
    _write_comparison(compare(left, right), count_unpaired(left, right), shared, as_json)


def _write_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print the measures of a set, and on stderr the problems of its files."""
    if as_json:
        output.write_json(result)
        return
    output.write(
        f"{result['set']}: {output.count_noun(result['documents'], 'document')}, "
        f"{output.count_noun(result['queries'], 'query', 'queries')}, {result['gold']:,} gold; profile "
        f"{result['profile']}, embedder {result['embedder'] or 'none'}"
    )
    latency, peak = result["latency_ms"], result["peak_mb"]
    output.write_table(
        ("measure", "value"),
        [
            *(
                (name, f"{100 * share:.1f} %")
                for name, share in result.items()
                if name.startswith(_SHARE_PREFIXES)
            ),
            ("budget_violations", f"{result['budget_violations']:,}"),
            ("latency_ms", f"p50 {latency['p50']:.1f}, p95 {latency['p95']:.1f}"),
            ("index_seconds", f"{result['index_seconds']:.1f}"),
            ("peak_mb", "unknown" if peak is None else f"{peak:,.0f}"),
        ],
    )
    if "ablations" in result:
        output.write("")
        _write_ablations(result["ablations"])
    _write_problems(result)


def _write_ablations(ablations: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Print a row for each ability that was switched off: the loss in points, with a star where it is real."""
    measures = list(next(iter(ablations.values())))
    rows = [
        (
            f"without {ability}",
            *(
                f"{100 * differences[measure]['difference']:+.1f}{'*' if differences[measure]['real'] else ''}"
                for measure in measures
            ),
        )
        for ability, differences in ablations.items()
    ]
    output.write_table(("points (* real)", *measures), rows)


def _write_problems(result: Mapping[str, Any]) -> None:
    if result["queries_without_gold"]:
        count = output.count_noun(result["queries_without_gold"], "query has", "queries have")
        output.write_note(f"{count} no gold; left out.")
    for name, description in (
        ("queries_shut_out_by_scope", "queries left out because their scope excludes all their gold"),
        ("empty_documents", "documents with neither title nor text"),
    ):
        ids = result[name]
        if ids:
            more = ", …" if len(ids) > output.MAX_LISTED_PROBLEMS else ""
            output.write_note(
                f"{description}: {len(ids):,} ({', '.join(ids[: output.MAX_LISTED_PROBLEMS])}{more})"
            )
    for name, description in (
        ("unknown_ids", "ids that do not exist"),
        ("problems", "lines that could not be used"),
    ):
        problems = result[name]
        if problems:
            output.write_note(f"{description}: {len(problems):,}")
            output.write_problem_notes([(problem["where"], problem["reason"]) for problem in problems])
    for note in result["notes"]:
        output.write_note(note)


def _write_comparison(
    differences: Sequence["Difference"], unpaired: tuple[int, int], shared: int, as_json: bool
) -> None:
    """Print how the second run differs from the first, measure by measure, and whether that is real."""
    if as_json:
        measures = {difference.measure: output.as_dict(difference, "measure") for difference in differences}
        output.write_json({"queries": shared, "only_first": unpaired[0], "only_second": unpaired[1], **measures})
        return
    output.write(f"{output.count_noun(shared, 'query', 'queries')} in both; 95 % intervals by paired bootstrap")
    rows = [
        (
            difference.measure,
            f"{100 * difference.first:.1f}",
            f"{100 * difference.second:.1f}",
            f"{100 * difference.difference:+.1f}",
            f"{100 * difference.low:+.1f} … {100 * difference.high:+.1f}",
            f"{difference.p:.3f}",
            _verdict(difference),
        )
        for difference in differences
    ]
    output.write_table(("measure", "A", "B", "B - A", "interval", "p", "verdict"), rows)
    if any(unpaired):
        output.write_note(f"Left out: {unpaired[0]:,} only in the first file, {unpaired[1]:,} only in the second.")


def _verdict(difference: "Difference") -> str:
    if not difference.real:
        return "no difference shown"
    return "B is better" if difference.difference > 0 else "A is better"


# --- weft demo ---------------------------------------------------------------------------------------------


def demo(
    words: Annotated[list[str] | None, typer.Argument(metavar="QUESTION", help="Ask this instead.")] = None,
    profile: Annotated[str, typer.Option(metavar="NAME", help="Kind of page.")] = "general",
    max_tokens: Annotated[str, typer.Option(metavar="N", help="The budget: a number, or none.")] = "900",
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Index the example worlds and print a page. The store is temporary unless --store names one."""
    question, budget = clean(" ".join(words or ())) or _DEFAULT_QUESTION, read_budget(max_tokens)
    with _open_named_or_temporary(store, "weft-demo-") as weft, show_progress("indexing the examples") as progress:
        for world in _example_worlds():
            weft.index(world, progress=progress)
        # Some of the example worlds bring tenants of their own; the demo reads them all.
        tenants = tuple(weft.status().by_tenant)
        context = weft.context(question, profile=profile, max_tokens=budget, tenants=tenants)
        node_count = weft.status().nodes
    if as_json:
        output.write_json(output.as_dict(context, "page"))
        return
    output.write(context.text)
    _print_summary(context, node_count)


def _example_worlds() -> list[Path]:
    """Return the folders of the example worlds."""
    # They are inside the package when it is installed, and at the root when it runs from a checkout.
    for examples in (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples"):
        if examples.is_dir():
            return sorted(world for world in examples.iterdir() if world.is_dir())
    raise SourceError("The example worlds are missing from this installation. Install Weft again with pip.")


def _print_summary(context: Context, node_count: int) -> None:
    limit = "no limit" if context.max_tokens is None else f"of {context.max_tokens:,}"
    output.write(
        f"\n--- {context.tokens:,} tokens ({limit}), counted by {context.token_model}; "
        f"{node_count:,} nodes searched"
    )
    for source in context.sources[:_MAX_LISTED_SOURCES]:
        output.write(
            f"    {source.detail.value:8} {source.origin.source}: {format_origin(source.origin) or source.key}"
        )
    more = len(context.sources) - _MAX_LISTED_SOURCES
    if more > 0:
        output.write(f"    and {output.count_noun(more, 'source')} more")
    output.write('--- Next: `weft index PATH`, then `weft context "your question" --explain`')


# --- the store of both -------------------------------------------------------------------------------------


@contextmanager
def _open_named_or_temporary(
    store: str | Path | None, prefix: str, embedder: str | None = None
) -> "Iterator[Weft]":
    """Open the named store, or a temporary one whose folder begins with `prefix` and is removed afterwards."""
    # Made in any case, which is simpler than two ways and costs nothing.
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        location = store if store is not None else Path(folder) / config.STORE_NAME
        with config.open_weft(location, embedder=embedder, create=True) as weft:
            yield weft
