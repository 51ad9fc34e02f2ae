"""Several topics on one page: each has its own probes, its own walk and its own share of the budget."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.errors import InvalidInput
from weft.model import Candidate, Request, Topic
from weft.profiles.types import Probe, Profile, Section


def label_of(topic: Topic) -> str:
    """What a topic is called on the page."""
    return topic.question or ", ".join(topic.start)


def check_topics(request: Request) -> None:
    """Refuse topics that say nothing, have no share, or stand beside another question."""
    for topic in request.topics:
        if not label_of(topic).strip():
            raise InvalidInput("A topic is empty. Give each topic a question or the nodes to start from.")
        if not 0 < topic.share < float("inf"):
            raise InvalidInput(f"The topic {label_of(topic)!r} has a share of {topic.share:g}. Give more than 0.")
    if request.topics and (request.question or request.start or request.candidates is not None):
        raise InvalidInput("Topics stand alone. Leave out question, start and candidates, or make them topics.")


def blended(profile: Profile, topics: Sequence[Topic]) -> Profile:
    """The profile with probes and sections for every topic; a section's share is divided by the topics' shares."""
    numbers = range(1, len(topics) + 1)
    total = sum(topic.share for topic in topics)
    return replace(
        profile,
        probes=tuple(probe for number in numbers for probe in _probes(profile, number)),
        sections=tuple(
            section
            for number, topic in zip(numbers, topics, strict=True)
            for section in _sections(profile, number, topic.share / total)
        ),
    )


def topic_values(topics: Sequence[Topic]) -> dict[str, str]:
    """What the headings of a blended profile refer to."""
    return {_heading_name(number): label_of(topic) for number, topic in enumerate(topics, start=1)}


def only(profile: Profile, number: int) -> Profile:
    """Of a blended profile, what belongs to one topic."""
    mine = f":{number}"
    return replace(
        profile,
        probes=tuple(probe for probe in profile.probes if probe.name.endswith(mine)),
        sections=tuple(section for section in profile.sections if section.name.endswith(mine)),
    )


def united(gathered: Iterable[Sequence[Candidate]]) -> tuple[Candidate, ...]:
    """The candidates of all topics, each node once, for the topic that it has most to do with."""
    best: dict[tuple[str, str], Candidate] = {}
    for candidates in gathered:
        for each in candidates:
            slot = (each.node.tenant, each.node.key)
            if slot not in best or _nearness(each) < _nearness(best[slot]):
                best[slot] = each
    return tuple(best.values())


def _nearness(candidate: Candidate) -> tuple[bool, int, float]:
    return "start" not in candidate.parts, candidate.distance, -candidate.parts.get("relevance", 0.0)


def _probes(profile: Profile, number: int) -> tuple[Probe, ...]:
    return tuple(replace(probe, name=f"{probe.name}:{number}") for probe in profile.probes)


def _sections(profile: Profile, number: int, part: float) -> tuple[Section, ...]:
    everything = tuple(probe.name for probe in profile.probes)
    return tuple(
        replace(
            section,
            name=f"{section.name}:{number}",
            heading=f"{{{_heading_name(number)}}}" + (f": {section.heading}" if section.heading else ""),
            probes=tuple(f"{name}:{number}" for name in section.probes or everything),
            share=section.share * part,
        )
        for section in profile.sections
    )


def _heading_name(number: int) -> str:
    return f"topic_{number}"
