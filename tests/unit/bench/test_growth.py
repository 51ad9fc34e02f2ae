"""Laws fitted to measured costs, and the machines and money that follow from them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bench import growth
from bench.laws import COSTS, Law, fitted, laws_of, points_of
from bench.layout import Terms, laid_out, smallest_machine

SIZES = (10_000, 100_000, 1_000_000)


def figures(nodes: int) -> dict[str, float]:
    """Return measures such as an engine might have: linear bytes and times, questions by the square root."""
    return {
        "store_bytes_per_node": 5000.0,
        "index_bytes_per_node": 1000.0,
        "load_nodes_per_processor_second": 2500.0,
        "index_processor_seconds": nodes / 1000,
        "client_processor_ms": 20.0,
        "server_processor_ms": (nodes / 10_000) ** 0.5,
    }


@pytest.fixture
def measured() -> dict[str, Any]:
    circumstances = {"date": "2026-11-16", "load": 0.5}
    return {str(size): {**circumstances, "server": figures(size), "embedded": figures(size)} for size in SIZES}


@pytest.mark.parametrize(("factor", "exponent"), [(3.0, 1.0), (0.5, 0.25), (7.0, 0.0)])
def test_a_law_is_found_again_from_points_on_it(factor: float, exponent: float) -> None:
    law = fitted([(size, factor * size**exponent) for size in SIZES])
    assert law.factor == pytest.approx(factor)
    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.at(1e8) == pytest.approx(factor * 1e8**exponent)


def test_a_point_off_the_line_is_weighed_by_its_ratio_to_it() -> None:
    law = fitted([(1e4, 10.0), (1e5, 10.0), (1e6, 40.0)])
    assert law.exponent == pytest.approx(0.301, abs=1e-3)


def test_a_cost_that_falls_is_taken_for_constant() -> None:
    assert fitted([(1e4, 20.0), (1e6, 5.0)]) == Law(pytest.approx(10.0), 0.0)


def test_costs_are_those_of_all_nodes_and_sizes_without_them_are_left_out(measured: dict[str, Any]) -> None:
    del measured["100000"]["server"]["store_bytes_per_node"]
    measured["1000000"]["server"]["load_nodes_per_processor_second"] = 0.0
    assert points_of(measured, "server", COSTS["store"]) == [(1e4, 5e7), (1e6, 5e9)]
    assert points_of(measured, "server", COSTS["loading"]) == [(1e4, 4.0), (1e5, 40.0)]
    assert laws_of({"10000": measured["10000"]}, "server") == {}


def test_the_growth_table_tells_what_was_measured_the_exponent_and_what_follows(measured: dict[str, Any]) -> None:
    lines = list(growth.growth_table(measured, [1e8]))
    assert lines[0] == "| cost | 10^4 | 10^5 | 10^6 | b | at 10^8 |"
    assert "| PostgreSQL: bytes of the store | 50 MB | 500 MB | 5 GB | 1.00 | 500 GB |" in lines
    assert "| PostgreSQL: processor ms of a question, server | 1 | 3.16 | 10 | 0.50 | 100 |" in lines
    assert "| PostgreSQL: processor s of loading | 4 | 40 | 400 | 1.00 | 40,000 |" in lines
    assert not any("files" in line for line in lines), "it was not measured"


def test_a_size_that_lacks_a_cost_has_an_empty_cell(measured: dict[str, Any]) -> None:
    del measured["100000"]["server"]["index_processor_seconds"]
    (line,) = (line for line in growth.growth_table(measured, []) if "making" in line)
    assert line.endswith("| 10 |  | 1,000 | 1.00 |")


def test_the_facts_tell_when_it_was_measured_and_how_much_dearer_a_question_became(
    measured: dict[str, Any],
) -> None:
    result = list(growth.facts(measured))
    assert "10^6 on 2026-11-16 (load average 0.5 at its start)" in result[0]
    assert any(
        line.startswith("- PostgreSQL: 6 kB a node at 10^6, a question costs 1.30 times") for line in result
    )


def test_a_small_store_takes_one_machine_without_a_replica(measured: dict[str, Any]) -> None:
    layout = laid_out(1e6, laws_of(measured, "server"), Terms())
    assert (layout.shards, layout.memory, layout.copies) == (1, 8, 1)
    # 50 questions of 30 ms keep 1.5 cores busy, which is more than three fifths of two.
    assert layout.cores == 3
    assert layout.month == pytest.approx(8 * 4 + 6 * 0.1 + 3 * 25)
    assert layout.bottleneck.startswith("processor time (70% ")


def test_a_large_store_is_cut_into_shards_whose_memory_holds_what_is_searched(measured: dict[str, Any]) -> None:
    layout = laid_out(1e8, laws_of(measured, "server"), Terms(machine=64.0, touched=0.1))
    # 100 GB of search and a tenth of 500 GB, of which three quarters of 64 GB hold 48.
    assert (layout.shards, layout.memory, layout.copies) == (4, 64, 2)
    assert layout.storage == pytest.approx(6e11)
    assert layout.building_hours == pytest.approx(2.5e7 / 1000 / 3600)
    assert layout.cores == 8 * 2
    assert layout.month == pytest.approx(2 * (4 * 64 * 4 + 600 * 0.1) + 16 * 25)
    assert layout.bottleneck.startswith("memory ")


def test_more_questions_take_more_cores_and_dearer_memory_more_money(measured: dict[str, Any]) -> None:
    laws = laws_of(measured, "server")
    usual, busy, dear = (
        laid_out(1e8, laws, Terms(**given)) for given in ({}, {"questions": 5000}, {"memory_price": 8})
    )
    assert busy.cores > usual.cores
    assert busy.shards == usual.shards
    assert dear.month - usual.month == pytest.approx(2 * 4 * 64 * 4)


@pytest.mark.parametrize(("needed", "memory"), [(0.1, 8), (6.0, 8), (6.1, 16), (48.0, 64), (49.0, 128)])
def test_the_smallest_machine_leaves_a_quarter_of_its_memory(needed: float, memory: float) -> None:
    assert smallest_machine(needed) == memory


def test_tenants_share_shards_or_are_spread_over_them(measured: dict[str, Any]) -> None:
    layout = laid_out(1e8, laws_of(measured, "server"), Terms())
    assert growth.machines(layout, 10_000) == "4 shards of 64 GB with a replica, 2,500 tenants each"
    assert growth.machines(layout, 2) == "4 shards of 64 GB with a replica, a tenant spread over 2"


def test_layouts_need_every_cost_of_the_server(measured: dict[str, Any]) -> None:
    for size in SIZES:
        del measured[str(size)]["server"]["index_processor_seconds"]
    (line,) = growth.layout_table(measured, {1e6: 100}, Terms())
    assert "not measured for processor s of making the search indexes" in line


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (999, "B", "999 B"),
        (1234, "B", "1.23 kB"),
        (5e16, "B", "50 PB"),
        (0.5, "ms", "0.5"),
        (123_456, "s", "123,000"),
    ],
)
def test_amounts_have_three_digits(value: float, unit: str, told: str) -> None:
    assert growth.amount(value, unit) == told


def test_the_command_prints_both_tables_at_the_prices_given(
    measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "backends.json"
    kept.write_text(json.dumps(measured))
    monkeypatch.setattr(
        sys, "argv", ["growth", "--file", str(kept), "--layouts", "1e6:100", "--core-price", "100"]
    )
    growth.main()
    result = capsys.readouterr().out
    assert "| cost | 10^4 |" in result
    assert "100 for a core" in result
    assert "| 10^6 | 100 | 6 GB | 1 GB | one server of 8 GB | 3 |" in result
    assert "| 333 USD |" in result


def test_figures_that_are_not_there_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["growth", "--file", str(tmp_path / "none.json")])
    with pytest.raises(SystemExit):
        growth.main()
    assert "bench.backends" in capsys.readouterr().err
