"""How long a question waits when it is asked of many shards at once: a small simulation, with its assumptions.

    python -m bench.fan_out                      # p50 and p99 against the number of shards
    python -m bench.fan_out --median 9 --tail 3 --hedge 0.95

One shard's answer takes a log-normal time with the given median and with a 99th percentile `tail` times as long;
now and then (`--stall`) a shard stalls for `--stall-ms`. A question waits for the slowest shard, then for merging.
With `--hedge Q` a shard that has not answered by the Q-th quantile of its usual time is asked again at a replica,
and the first answer counts. Tenants that live on one shard ask one shard, whatever the number of shards.
"""

import argparse
from statistics import NormalDist

import numpy as np

SHARDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
Z99 = NormalDist().inv_cdf(0.99)


def waited(shards: int, given: argparse.Namespace, draw: np.random.Generator) -> np.ndarray:
    """Return the time in ms of each of many questions asked of so many shards."""
    answers = _answers((given.questions, shards), given, draw)
    if given.hedge:
        usual = given.median * np.exp(NormalDist().inv_cdf(given.hedge) * _sigma(given))
        again = usual + _answers(answers.shape, given, draw)
        answers = np.where(answers > usual, np.minimum(answers, again), answers)
    return answers.max(axis=1) + given.network + given.merge * shards


def _answers(shape: tuple[int, int], given: argparse.Namespace, draw: np.random.Generator) -> np.ndarray:
    usual = given.median * np.exp(_sigma(given) * draw.standard_normal(shape))
    return usual + np.where(draw.random(shape) < given.stall, given.stall_ms, 0.0)


def _sigma(given: argparse.Namespace) -> float:
    return float(np.log(given.tail) / Z99)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.fan_out", description=__doc__)
    parser.add_argument("--median", type=float, default=9.0, help="ms of one shard's search, median")
    parser.add_argument("--tail", type=float, default=2.5, help="p99 of one shard against its median")
    parser.add_argument("--stall", type=float, default=0.001, help="share of answers that stall")
    parser.add_argument("--stall-ms", type=float, default=80.0)
    parser.add_argument("--network", type=float, default=0.5, help="ms there and back")
    parser.add_argument("--merge", type=float, default=0.02, help="ms of merging for each shard")
    parser.add_argument("--hedge", type=float, default=0.0, help="quantile after which a replica is asked too")
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not 0 <= given.hedge < 1:
        parser.error(f"--hedge {given.hedge:g} is no quantile: give a number from 0 (no hedging) to below 1")
    print("| shards | p50, ms | p99, ms | p99.9, ms |\n|---:|---:|---:|---:|")
    for shards in SHARDS:
        times = waited(shards, given, np.random.default_rng(given.seed))
        p50, p99, p999 = np.percentile(times, (50, 99, 99.9))
        print(f"| {shards} | {p50:.1f} | {p99:.1f} | {p999:.1f} |")


if __name__ == "__main__":
    main()
