"""What `weft eval` prints: the measures of a set, what each power is worth, and how two runs differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from weft.faces.cli import output

if TYPE_CHECKING:
    from weft.evaluation import Difference

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
