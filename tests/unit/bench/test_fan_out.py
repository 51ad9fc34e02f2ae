"""The simulation of questions that are asked of many shards at once."""

import sys
from argparse import Namespace

import numpy as np
import pytest
from bench import fan_out

USUAL = {"median": 9.0, "tail": 2.5, "stall": 0.0, "stall_ms": 80.0, "network": 0.5, "merge": 0.02, "hedge": 0.0}


def percentiles(shards: int, **given: float) -> tuple[float, float]:
    """The median and the 99th percentile of what questions wait."""
    settings = Namespace(**{**USUAL, **given}, questions=20_000)
    return tuple(np.percentile(fan_out.waited(shards, settings, np.random.default_rng(1)), (50, 99)))  # type: ignore[return-value]


def test_one_shard_takes_its_own_median_and_tail_beside_network_and_merging() -> None:
    middle, slow = percentiles(1)
    assert middle == pytest.approx(9.0 + 0.52, rel=0.02)
    assert slow == pytest.approx(9.0 * 2.5 + 0.52, rel=0.03)


def test_the_slowest_of_many_shards_is_waited_for() -> None:
    medians = [percentiles(shards)[0] for shards in (1, 8, 64)]
    assert medians == sorted(medians)
    # The median of the slowest of 64 is the quantile 0.5 ** (1 / 64) of one.
    quantile = fan_out.NormalDist().inv_cdf(0.5 ** (1 / 64))
    assert medians[2] == pytest.approx(9.0 * 2.5 ** (quantile / fan_out.Z99) + 0.5 + 64 * 0.02, rel=0.02)


def test_a_rare_stall_is_seen_by_many_shards_and_hidden_by_asking_a_replica_too() -> None:
    assert percentiles(1, stall=0.001)[1] < 30
    assert percentiles(64, stall=0.001)[1] > 80
    assert percentiles(64, stall=0.001, hedge=0.95)[1] < 45


def test_a_hedge_that_is_no_quantile_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fan_out", "--hedge", "1"])
    with pytest.raises(SystemExit):
        fan_out.main()
    assert "is no quantile" in capsys.readouterr().err
