"""Put several topics on one page: each gets its own probes, its own walk and its own share of the budget.

A blended profile holds every probe and section once for each topic; the suffix `:<number>` of a name tells which.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.errors import InvalidInput
from weft.model import Candidate, Request, Topic
from weft.profiles.types import Probe, Profile, Section
from weft.scoring.candidates import NodeRef, node_ref


def topic_label(topic: Topic) -> str:
    """Return the words that name a topic on the page."""
    return topic.question or ", ".join(topic.start)


def check_topics(request: Request) -> None:
    """Refuse topics that are empty, have no share, or come together with another question."""
    for topic in request.topics:
        if not topic_label(topic).strip():
            raise InvalidInput("A topic is empty. Give each topic a question or the nodes to start from.")
        if not 0 < topic.share < float("inf"):
            raise InvalidInput(
                f"The topic {topic_label(topic)!r} has a share of {topic.share:g}. Give more than 0."
            )
    if request.topics and (request.question or request.start or request.candidates is not None):
        raise InvalidInput("Topics stand alone. Leave out question, start and candidates, or make them topics.")


def blend_topics(profile: Profile, topics: Sequence[Topic]) -> Profile:
    """Return the profile with probes and sections for every topic; topics divide each section's share."""
    numbers = range(1, len(topics) + 1)
    total = sum(topic.share for topic in topics)
    return replace(
        profile,
        probes=tuple(probe for number in numbers for probe in _topic_probes(profile, number)),
        sections=tuple(
            section
            for number, topic in zip(numbers, topics, strict=True)
            for section in _topic_sections(profile, number, topic.share / total)
        ),
    )


def topic_values(topics: Sequence[Topic]) -> dict[str, str]:
    """Return the values for the placeholders in the headings of a blended profile."""
    return {_heading_parameter(number): topic_label(topic) for number, topic in enumerate(topics, start=1)}


def profile_for_topic(profile: Profile, number: int) -> Profile:
    """Return a blended profile reduced to the probes and sections of one topic."""
    suffix = f":{number}"
    return replace(
        profile,
        probes=tuple(probe for probe in profile.probes if probe.name.endswith(suffix)),
        sections=tuple(section for section in profile.sections if section.name.endswith(suffix)),
    )


def unite_candidates(by_topic: Iterable[Sequence[Candidate]]) -> tuple[Candidate, ...]:
    """Return the candidates of all topics, each node once, for the topic to which it is nearest."""
    best: dict[NodeRef, Candidate] = {}
    for candidates in by_topic:
        for candidate in candidates:
            ref = node_ref(candidate)
            if ref not in best or _nearness(candidate) < _nearness(best[ref]):
                best[ref] = candidate
    return tuple(best.values())


def _nearness(candidate: Candidate) -> tuple[bool, int, float]:
    """Return the sort key of nearness: starts first, then by distance, then by relevance."""
    return "start" not in candidate.parts, candidate.distance, -candidate.parts.get("relevance", 0.0)


def _topic_probes(profile: Profile, number: int) -> tuple[Probe, ...]:
    return tuple(replace(probe, name=f"{probe.name}:{number}") for probe in profile.probes)


def _topic_sections(profile: Profile, number: int, topic_share: float) -> tuple[Section, ...]:
    # A section without probes takes from all of them, which must not become all probes of all topics.
    all_probes = tuple(probe.name for probe in profile.probes)
    return tuple(
        replace(
            section,
            name=f"{section.name}:{number}",
            heading=f"{{{_heading_parameter(number)}}}" + (f": {section.heading}" if section.heading else ""),
            probes=tuple(f"{name}:{number}" for name in section.probes or all_probes),
            share=section.share * topic_share,
        )
        for section in profile.sections
    )


def _heading_parameter(number: int) -> str:
    return f"topic_{number}"
