"""Profiles without one ability, and the paired bootstrap: real differences are distinguished from chance."""

from pathlib import Path
from random import Random

import pytest

from weft.errors import InvalidInput
from weft.evaluation import ABLATIONS, compare, count_unpaired, read_rows, without_ability
from weft.model import Detail
from weft.profiles import load_profile

PROFILES = sorted(path.stem for path in (Path(__file__).parents[3] / "src" / "weft" / "profiles").glob("*.toml"))


@pytest.mark.parametrize("name", PROFILES)
def test_each_ability_can_be_taken_from_every_profile(name: str) -> None:
    profile = load_profile(name, ())
    vector, graph = without_ability(profile, "vector"), without_ability(profile, "graph")
    assert {probe.match for probe in vector.probes} == {"bm25"}
    assert vector.fusion.semantic == 0
    assert {lens.walk for lens in graph.lenses} == {"none"}
    for score in (graph.score, *(section.score for section in graph.sections if section.score)):
        assert not any("bridge" in each for each in (score.weights, score.boosts, *score.without.values()))
    assert without_ability(profile, "dedupe").dedupe.scope == "none"
    for section in without_ability(profile, "excerpting").sections:
        for detail in (section.detail, *(part.detail for part in section.parts)):
            assert detail
            assert Detail.EXCERPT not in detail


def test_taking_an_ability_away_leaves_the_name_and_the_others() -> None:
    profile = load_profile("general", ())
    for ability in ABLATIONS:
        assert without_ability(profile, ability).name == "general"
        assert without_ability(profile, ability) != profile
    assert without_ability(profile, "graph").probes == profile.probes


def run(values: list[float]) -> dict[str, dict[str, float]]:
    return {f"q{number}": {"mrr": value} for number, value in enumerate(values)}


def test_a_clear_gain_is_real_and_its_interval_holds_the_difference() -> None:
    random = Random(1)
    before = [random.random() * 0.5 for _ in range(100)]
    (found,) = compare(run(before), run([value + 0.1 + 0.2 * random.random() for value in before]))
    assert found.real
    assert 0 < found.low <= found.difference <= found.high
    assert found.difference == pytest.approx(found.second - found.first, abs=1e-5)
    assert found.p == 0.0


def test_noise_is_not_called_real() -> None:
    random = Random(2)
    (found,) = compare(run([random.random() for _ in range(60)]), run([random.random() for _ in range(60)]))
    assert not found.real
    assert found.p > 0.05


def test_runs_that_do_not_differ_have_no_difference_at_all() -> None:
    (found,) = compare(run([0.1, 0.7, 0.3]), run([0.1, 0.7, 0.3]))
    assert (found.difference, found.low, found.high, found.p, found.real) == (0, 0, 0, 1, False)


def test_the_interval_is_that_of_the_mean_difference() -> None:
    # Half the questions gain 1: the mean of 100 coin tosses has a standard error of 0.05.
    (found,) = compare(run([0.0] * 100), run([1.0, 0.0] * 50))
    assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)


def test_the_same_seed_gives_the_same_answer_and_order_does_not_matter() -> None:
    random = Random(3)
    first, second = (run([random.random() for _ in range(40)]) for _ in range(2))
    turned = dict(reversed(second.items()))
    assert compare(first, second, seed=5) == compare(first, turned, seed=5)
    assert compare(first, second, seed=5) != compare(first, second, seed=6)


def test_only_questions_and_measures_that_both_have_are_compared() -> None:
    first = {"a": {"mrr": 0.0, "x": 1.0}, "b": {"mrr": 1.0, "x": 1.0}}
    second = {"b": {"mrr": 1.0}, "c": {"mrr": 0.0}}
    (found,) = compare(first, second)
    assert (found.measure, found.first) == ("mrr", 1.0)
    assert count_unpaired(first, second) == (1, 1)


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no question in common"):
        compare({"a": {"mrr": 1.0}}, {"b": {"mrr": 1.0}})
    with pytest.raises(InvalidInput, match="no measure in common"):
        compare({"a": {"mrr": 1.0}}, {"a": {"x": 1.0}})


@pytest.mark.parametrize(
    "content",
    ["", "nonsense\n", '{"id": "q1"}\n', '{"measures": {"mrr": 1}}\n', '{"id": 1, "measures": {"mrr": "x"}}\n'],
)
def test_a_file_that_per_query_did_not_write_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match="--per-query"):
        read_rows(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_rows(tmp_path / "absent.jsonl")


@pytest.mark.parametrize(("differing", "real"), [(1, False), (5, False), (6, True)])
def test_a_handful_of_questions_proves_nothing(differing: int, real: bool) -> None:
    first = {f"q{number}": {"m": 0.0} for number in range(8)}
    second = {name: {"m": float(index < differing)} for index, name in enumerate(first)}
    (found,) = compare(first, second)
    assert found.real is real
