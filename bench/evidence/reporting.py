"""The results as a table in Markdown and as a plot of evidence recall against the budget."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]


def write_all(results: Results, folder: Path) -> None:
    """Write results.json, README.md and evidence.svg in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(table(results), encoding="utf-8")
    plot(results, folder / "evidence.svg")


def table(results: Results) -> str:
    """Return a table of every set with a row for each system."""
    parts = ["# Evidence, side by side", _made(results), "![Evidence recall against budget](evidence.svg)"]
    for name, one in results["sets"].items():
        told = f"{one['documents']:,} documents, {one['queries']:,} questions, {one['gold']:,} gold"
        shape = f", {one['shape']}" if one["shape"] else ""
        parts += [f"## {name}", f"{told}{shape}.", _rows(one, results["budgets"])]
    return "\n\n".join(parts) + "\n"


def _made(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return (
        f"Made by `{results['command']}` on {results['date']}; {results['machine']}. {versions}. Embedder of "
        f"every system that takes one: {results['embedder']}. In percent; under a number of tokens (cl100k_base) "
        "stands the evidence recall within that budget. Bold is the best of its column."
    )


def _rows(one: Results, budgets: Sequence[int]) -> str:
    ranks, pages = ["R@5", "R@10", "nDCG@10", "MRR"], [f"{budget:,}" for budget in budgets]
    heads = ["system", *ranks, *pages, "ms p50/p95", "index s"]
    names = ["recall@5", "recall@10", "ndcg@10", "mrr", *(f"evidence_recall@{budget}" for budget in budgets)]
    best = {name: max(row.get(name, 0.0) for row in one["systems"].values()) for name in names}
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for system, row in one["systems"].items():
        if "missing" in row:
            lines.append([system, f"not measured: {row['missing']}", *[""] * (len(heads) - 2)])
            continue
        shares = [_share(row[name], row[name] == best[name]) for name in names]
        times = f"{row['latency_ms']['p50']:.1f}/{row['latency_ms']['p95']:.1f}"
        lines.append([system, *shares, times, f"{row['index_seconds']:.1f}"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _share(share: float, best: bool) -> str:
    return f"**{100 * share:.1f}**" if best else f"{100 * share:.1f}"


def plot(results: Results, path: Path) -> None:
    """Plot evidence recall against the budget, a panel for each set."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "weft"
    from matplotlib import pyplot

    sets, budgets = results["sets"], results["budgets"]
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure, panels = pyplot.subplots(rows, columns, figsize=(4.6 * columns, 3.6 * rows), squeeze=False)
    for panel in panels.flat[len(sets) :]:
        panel.set_visible(False)
    for panel, (name, one) in zip(panels.flat, sets.items(), strict=False):
        for system, row in one["systems"].items():
            if "missing" not in row:
                shares = [100 * row[f"evidence_recall@{budget}"] for budget in budgets]
                ours = system == "Weft"
                panel.plot(budgets, shares, marker="o", markersize=3, label=system, linewidth=2.4 if ours else 1.1)
        panel.set_xscale("log", base=2)
        panel.set_xticks(budgets, [f"{budget:,}" for budget in budgets], fontsize=7)
        panel.set_title(name, fontsize=10)
        panel.set_ylabel("evidence recall, %", fontsize=8)
        panel.set_xlabel("budget, tokens", fontsize=8)
        panel.grid(alpha=0.3)
    panels.flat[0].legend(fontsize=6, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
