"""A profile without one of its powers."""

from pathlib import Path

import pytest

from weft.evaluation import ABLATIONS, without_ability
from weft.model import Detail
from weft.profiles import load_profile

PROFILES = sorted(path.stem for path in (Path(__file__).parents[3] / "src" / "weft" / "profiles").glob("*.toml"))


@pytest.mark.parametrize("name", PROFILES)
def test_each_power_can_be_taken_from_every_profile(name: str) -> None:
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


def test_taking_a_power_away_leaves_the_name_and_the_others() -> None:
    profile = load_profile("general", ())
    for power in ABLATIONS:
        assert without_ability(profile, power).name == "general"
        assert without_ability(profile, power) != profile
    assert without_ability(profile, "graph").probes == profile.probes
