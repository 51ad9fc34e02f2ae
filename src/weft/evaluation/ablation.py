"""A profile with one of its powers taken away, to see what it was worth: other values, the same pipeline."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from weft.model import Detail
from weft.profiles.types import Part, Profile, Score, Section

Ablate = Callable[[Profile], Profile]


def ablated(profile: Profile, power: str) -> Profile:
    """The profile without the named power, one of ABLATIONS."""
    return ABLATIONS[power](profile)


def _without_vector(profile: Profile) -> Profile:
    """Words only: every probe by words, and no weight on meaning."""
    lexical = profile.fusion.lexical or 1.0
    return replace(
        profile,
        probes=tuple(replace(probe, match="bm25") for probe in profile.probes),
        fusion=replace(profile.fusion, semantic=0.0, lexical=lexical),
    )


def _without_graph(profile: Profile) -> Profile:
    """No link is followed, and no rare word leads from one text to another."""
    sections = tuple(
        replace(section, score=section.score and _without_bridges(section.score)) for section in profile.sections
    )
    return replace(
        profile,
        lenses=tuple(replace(lens, walk="none") for lens in profile.lenses),
        score=_without_bridges(profile.score),
        sections=sections,
    )


def _without_bridges(score: Score) -> Score:
    return replace(
        score,
        weights=_others(score.weights),
        boosts=_others(score.boosts),
        without={signal: _others(weights) for signal, weights in score.without.items()},
    )


def _others(weights: Mapping[str, float]) -> dict[str, float]:
    return {signal: weight for signal, weight in weights.items() if signal != "bridge"}


def _without_dedupe(profile: Profile) -> Profile:
    """The same thing may be told twice."""
    sections = tuple(
        replace(section, dedupe=section.dedupe and replace(section.dedupe, scope="none"))
        for section in profile.sections
    )
    return replace(profile, dedupe=replace(profile.dedupe, scope="none"), sections=sections)


def _without_excerpting(profile: Profile) -> Profile:
    """What does not fit whole goes straight to its summary or a pointer."""
    return replace(profile, sections=tuple(map(_section_without_excerpts, profile.sections)))


def _section_without_excerpts(section: Section) -> Section:
    parts = tuple(_part_without_excerpts(part) for part in section.parts)
    return replace(section, detail=_ladder(section.detail), parts=parts)


def _part_without_excerpts(part: Part) -> Part:
    return replace(part, detail=_ladder(part.detail))


def _ladder(detail: tuple[Detail, ...]) -> tuple[Detail, ...]:
    return tuple(level for level in detail if level is not Detail.EXCERPT) or (Detail.POINTER,)


ABLATIONS: Final[Mapping[str, Ablate]] = {
    "vector": _without_vector,
    "graph": _without_graph,
    "dedupe": _without_dedupe,
    "excerpting": _without_excerpting,
}
