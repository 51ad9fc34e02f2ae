"""`weft eval`: measure ranking and evidence on a judged set, judge pages, or compare two such runs."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from msgspec.structs import asdict

from weft import __version__
from weft.errors import InvalidInput
from weft.interfaces.cli import PARTLY_DONE, AsJson, EmbedderSpec, output
from weft.interfaces.cli.demo import open_named_or_temporary
from weft.interfaces.cli.evaluate_pages import (
    DEFAULT_BUDGETS,
    PageJob,
    check_writable,
    judge,
    write_judged,
    write_rows,
)
from weft.interfaces.cli.output import show_progress
from weft.model import Context, Filter

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.evaluation import Ask, Difference, Evaluation, QuestionResult, ShapedQuestion
    from weft.indexing.ingest import Progress
    from weft.profiles.types import Profile


_COMPARE: Final = "compare"
_DEFAULT_PROFILE: Final = "general"
_DEFAULT_TEMPLATE: Final = "{text}"
_DEFAULT_BUDGETS: Final = "2000,8000"
_MAX_BUDGET: Final = 10**12
"""Budgets in tokens stay below this: larger numbers are typing errors."""
_SHARE_PREFIXES: Final = ("recall@", "ndcg@", "mrr", "evidence_recall@", "all_evidence@", "gold_text@", "fill")
"""How the names of measures begin that are shares from 0 to 1, printed as percentages."""

# The options of the command, each with its help.
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR | SET.json | compare A B",
        help="A judged set, questions with facts, or two --per-query files.",
    ),
]
SubjectPath = Annotated[
    Path | None, typer.Option(metavar="PATH", help="What the questions of a SET.json are about.")
]
Baselines = Annotated[
    str, typer.Option(metavar="NAME,NAME", help="With a SET.json: naive pages beside ours; bm25, mix, grep.")
]
PagesFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="With a SET.json: write every page to this folder.")
]
MeasuredProfile = Annotated[
    str | None, typer.Option(metavar="NAME", help="Kind of page to measure. Default: that of weft context.")
]
Budgets = Annotated[
    str | None,
    typer.Option(
        metavar="N,N",
        help=f"Budgets in tokens. Default: {_DEFAULT_BUDGETS}; for a SET.json {DEFAULT_BUDGETS}.",
    ),
]
Template = Annotated[str, typer.Option(metavar="TEXT", help="How to put a question, as in '{meta.story} {text}'.")]
WithHistory = Annotated[bool, typer.Option("--history", help="Send the conversation along with each question.")]
Scoped = Annotated[bool, typer.Option("--scoped", help="Limit each question to its scope.")]
QuestionLimit = Annotated[int | None, typer.Option(metavar="N", help="Only the first N questions.")]
RowsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the measures of each question to this file.")
]
Ablate = Annotated[
    bool, typer.Option("--ablate", help="Measure again without vector, graph, dedupe and excerpting in turn.")
]
KeptStore = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Index here and keep it. Default: temporary.")
]


def evaluate(
    words: Words,
    *,
    source: SubjectPath = None,
    baseline: Baselines = "",
    pages: PagesFolder = None,
    profile: MeasuredProfile = None,
    budget: Budgets = None,
    query_template: Template = _DEFAULT_TEMPLATE,
    history: WithHistory = False,
    scoped: Scoped = False,
    limit: QuestionLimit = None,
    per_query: RowsFile = None,
    ablate: Ablate = False,
    store: KeptStore = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Measure pages on a judged set or on questions with facts, or compare two such runs."""
    if words[0] == _COMPARE and len(words) == 3:
        _compare(Path(words[1]), Path(words[2]), as_json)
        return
    if len(words) != 1:
        raise InvalidInput(
            f"{' '.join(words)!r} is not one set. Give `weft eval DIR`, `weft eval SET.json --source PATH`, or "
            "`weft eval compare A B` for two files that --per-query wrote."
        )
    path = Path(words[0])
    # A path that does not exist is taken for what its name says.
    if path.is_file() or (path.suffix == ".json" and not path.is_dir()):
        shaped = history or scoped or ablate or query_template != _DEFAULT_TEMPLATE
        _refuse(shaped, path, "a file", "--history, --scoped, --ablate and --query-template", "a folder")
        budgets, names = _parse_budgets(budget or DEFAULT_BUDGETS), _split_names(baseline)
        job = PageJob(path, source, budgets, profile, names, limit, store, embedder, pages)
        verdicts = judge(job, per_query)
        write_judged(verdicts, budgets, as_json)
        _exit_if_problems(verdicts)
        return
    _refuse(bool(source or baseline or pages), path, "a folder", "--source, --baseline and --pages", "a SET.json")
    from weft.evaluation import question_rows

    shape, budgets = (query_template, history), _parse_budgets(budget or _DEFAULT_BUDGETS)
    exam = _read_exam(path, budgets, shape, scoped, limit)
    if per_query is not None:
        check_writable(per_query)
    with open_named_or_temporary(store, "weft-eval-", embedder) as weft:
        answers, result = _run(weft, exam, weft.profile(profile or _DEFAULT_PROFILE), ablate)
    if per_query is not None:
        write_rows(per_query, question_rows(answers))
    _write_result(result, as_json)
    _exit_if_problems(result)


def _read_exam(
    folder: Path, budgets: tuple[int, ...], shape: tuple[str, bool], scoped: bool, limit: int | None
) -> "Evaluation":
    """Read the judged set in a folder, and refuse a shape of questions that does not suit it."""
    from weft.evaluation import CorpusSource, Evaluation, QuestionShape, read_folder

    judged = read_folder(folder)
    exam = Evaluation(judged, CorpusSource(judged, scoped=scoped), budgets, QuestionShape(*shape), scoped, limit)
    # Mistakes in the template are reported before the indexing, which takes long.
    exam.check()
    return exam


def _split_names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as `bm25,grep`, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _exit_if_problems(result: Mapping[str, Any]) -> None:
    if result["problems"]:
        raise typer.Exit(PARTLY_DONE)


def _refuse(given: bool, path: Path, what: str, options: str, other: str) -> None:
    """Raise InvalidInput if options were given that belong to the other kind of set."""
    if given:
        raise InvalidInput(f"{str(path)!r} is {what}; {options} are for {other}. Leave them out.")


def _parse_budgets(text: str) -> tuple[int, ...]:
    """Return the budgets of a list such as `2000,8000`, ascending."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < _MAX_BUDGET for part in parts):
        raise InvalidInput(f"{text!r} is not a list of budgets. Give whole numbers of tokens, such as 2000,8000.")
    return tuple(sorted({int(part) for part in parts}))


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
        # Measured is the store as it will be, with all its better vectors if it is to have any.
        weft.writer.embed_quality(progress)
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
    if "categories" in result:
        output.write("")
        _write_categories(result["categories"])
    if "ablations" in result:
        output.write("")
        _write_ablations(result["ablations"])
    _write_problems(result)


def _write_categories(categories: Mapping[str, Mapping[str, float]]) -> None:
    """Print a row for each category of questions: how many there are, and their measures in percent."""
    measures = [name for name in next(iter(categories.values())) if name != "queries"]
    rows = [
        (name or "without", f"{means['queries']:,}", *(f"{100 * means[measure]:.1f}" for measure in measures))
        for name, means in categories.items()
    ]
    output.write_table(("category", "queries", *measures), rows)


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
