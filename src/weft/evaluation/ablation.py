"""Take one ability away from a profile, to measure what it is worth: other values, the same pipeline."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from weft.model import Detail
from weft.profiles.types import Profile, Score


def without_ability(profile: Profile, ability: str) -> Profile:
    """Return the profile without the named ability, one of ABLATIONS."""
    return ABLATIONS[ability](profile)


def _without_vector(profile: Profile) -> Profile:
    """Search by words only: every probe matches words, and meaning has no weight."""
    lexical = profile.fusion.lexical or 1.0
    return replace(
        profile,
        probes=tuple(replace(probe, match="bm25") for probe in profile.probes),
        fusion=replace(profile.fusion, semantic=0.0, lexical=lexical),
    )


def _without_graph(profile: Profile) -> Profile:
    """Follow no link, and let no rare word lead from one text to another."""
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
    def others(weights: Mapping[str, float]) -> dict[str, float]:
        return {signal: weight for signal, weight in weights.items() if signal != "bridge"}

    return replace(
        score,
        weights=others(score.weights),
        boosts=others(score.boosts),
        without={signal: others(weights) for signal, weights in score.without.items()},
    )


def _without_dedupe(profile: Profile) -> Profile:
    """Let the same thing be printed twice."""
    sections = tuple(
        replace(section, dedupe=section.dedupe and replace(section.dedupe, scope="none"))
        for section in profile.sections
    )
    return replace(profile, dedupe=replace(profile.dedupe, scope="none"), sections=sections)


def _without_excerpting(profile: Profile) -> Profile:
    """Print what does not fit whole by its summary or a pointer."""

    def ladder(detail: tuple[Detail, ...]) -> tuple[Detail, ...]:
        return tuple(level for level in detail if level is not Detail.EXCERPT) or (Detail.POINTER,)

    sections = tuple(
        replace(
            section,
            detail=ladder(section.detail),
            parts=tuple(replace(part, detail=ladder(part.detail)) for part in section.parts),
        )
        for section in profile.sections
    )
    return replace(profile, sections=sections)


ABLATIONS: Final[Mapping[str, Callable[[Profile], Profile]]] = {
    "vector": _without_vector,
    "graph": _without_graph,
    "dedupe": _without_dedupe,
    "excerpting": _without_excerpting,
}
