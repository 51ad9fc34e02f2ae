"""A request meets its profile: presets, lens, budget, parameters and filters settled before any work is done."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import Filter, Json, Node, Request, Unset
from weft.pipeline.by_name import call_by_name
from weft.pipeline.topics import blended, check_topics, label_of, only, topic_values
from weft.ports import Snapshot
from weft.profiles import apply_preset, fill, find_lens, resolve_parameters
from weft.profiles.types import AUTO, Adapt, Lens, Probe, Profile, Section
from weft.text import name_words

_MOST_GROWTH: Final = 8.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a request leaves to its profile, decided."""

    request: Request
    profile: Profile
    lens: Lens
    budget: int | None
    format: str
    include_fields: bool
    values: Mapping[str, Json]

    def lens_named(self, name: str | None) -> Lens:
        """The lens a section asks for, or the one in force."""
        return self.lens if name is None else find_lens(self.profile, name)

    def given(self, parameter: str | None) -> bool:
        """Whether something conditional on a parameter takes place."""
        return parameter is None or self.values.get(parameter) not in (None, "", False)

    def probes(self) -> tuple[Probe, ...]:
        """The probes to ask, with the limits that the budget calls for."""
        return tuple(
            replace(probe, limit=int(probe.limit * self._growth())) if probe.grows else probe
            for probe in self.profile.probes
            if self.given(probe.when)
        )

    def _growth(self) -> float:
        """How much more a page takes than the profile's own."""
        usual = self.profile.max_tokens
        if usual is None or self.budget is None:
            return 1.0
        return min(max(self.budget / usual, 1.0), _MOST_GROWTH)

    def sections(self) -> tuple[Section, ...]:
        """The sections to fill."""
        return tuple(section for section in self.profile.sections if self.given(section.when))

    def by_topic(self) -> "tuple[Plan, ...]":
        """One plan for each topic of the request."""
        return tuple(
            replace(
                self,
                request=replace(self.request, question=topic.question, start=topic.start, topics=()),
                profile=only(self.profile, number),
                values={**self.values, "question": topic.question},
            )
            for number, topic in enumerate(self.request.topics, start=1)
        )


def make_plan(request: Request, profile: Profile) -> Plan:
    """The plan for a request, or an error that names what is wrong with it."""
    if request.preset is not None and not (request.preset == AUTO and profile.adapt):
        profile = apply_preset(profile, request.preset)
    check_topics(request)
    if request.topics:
        profile = blended(profile, request.topics)
    lens = find_lens(profile, request.lens)
    if request.depth is not None:
        lens = replace(lens, depth=_depth(request.depth, profile))
    asked = request.question or " + ".join(map(label_of, request.topics))
    values = {
        **resolve_parameters(profile, request.parameters, asked),
        **topic_values(request.topics),
        "question": asked,
    }
    return Plan(
        request=request,
        profile=profile,
        lens=lens,
        budget=_budget(request, profile),
        format=request.format or profile.format,
        include_fields=profile.include_fields if request.include_fields is None else request.include_fields,
        values=values,
    )


def _depth(depth: int, profile: Profile) -> int:
    if not 0 <= depth <= profile.max_depth:
        raise InvalidInput(
            f"Depth {depth} is out of range. Profile {profile.name!r} walks 0 to {profile.max_depth} steps."
        )
    return depth


def _budget(request: Request, profile: Profile) -> int | None:
    budget = profile.max_tokens if isinstance(request.max_tokens, Unset) else request.max_tokens
    if budget is not None and budget < 1:
        raise InvalidInput(f"A budget of {budget} tokens is not possible. Give 1 or more, or none for no limit.")
    return budget


def probe_filter(plan: Plan, probe: Probe) -> Filter | None:
    """What a probe may return under the request's own filter; None when the two exclude each other."""
    asked = plan.request.filter
    kinds = _both(probe.kinds, asked.kinds)
    if kinds is None:
        return None
    where = tuple((name, fill(value, plan.values)) for name, value in sorted(probe.where.items()))
    tags = tuple(dict.fromkeys([*probe.tags, *asked.tags]))
    return replace(asked, kinds=kinds, tags=tags, where=where + asked.where)


def _both(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    if not left or not right:
        return left or right
    return tuple(kind for kind in left if kind in right) or None


def passes(node: Node, filter: Filter) -> bool:
    """Whether a node that was walked to, or handed in, passes the request's filter."""
    return (
        (not filter.kinds or node.kind in filter.kinds)
        and all(tag in node.tags for tag in filter.tags)
        and (not filter.sources or node.origin.source in filter.sources)
        and all(_scalar(node.fields.get(name)) == value for name, value in filter.where)
        and _in_time(node, filter)
        and _in_sequence(node, filter)
    )


def _scalar(value: Json) -> str | None:
    """A field's value as filters write it; lists, mappings and nothing equal no value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _in_time(node: Node, filter: Filter) -> bool:
    time = node.modified or node.created
    if filter.since is None and filter.until is None:
        return True
    return (
        time is not None
        and (filter.since is None or time >= filter.since)
        and (filter.until is None or time <= filter.until)
    )


def _in_sequence(node: Node, filter: Filter) -> bool:
    low, high = filter.sequence_from, filter.sequence_to
    if low is None and high is None:
        return True
    place = node.sequence
    return place is not None and (low is None or place >= low) and (high is None or place <= high)


def adapted(request: Request, profile: Profile, snapshot: Snapshot) -> tuple[Profile, tuple[str, ...]]:
    """The profile with the presets that its rules choose, and a note that says which; as it is unless asked."""
    if request.preset != AUTO or not profile.adapt:
        return profile, ()
    words = f" {' '.join(name_words(request.question))} "
    rules = chosen(profile.adapt, words, _named(request.question, profile, snapshot))
    for rule in rules:
        profile = apply_preset(profile, rule.preset)
    read = " and ".join(f"{rule.name} (preset {rule.preset})" for rule in rules)
    return profile, (f"The question is read as: {read}.",) if rules else ()


def chosen(rules: tuple[Adapt, ...], words: str, named: int) -> tuple[Adapt, ...]:
    """Of every aspect the first rule that holds."""
    found: dict[str, Adapt] = {}
    for rule in rules:
        if rule.aspect not in found and _holds(rule, words, named):
            found[rule.aspect] = rule
    return tuple(found.values())


def _holds(rule: Adapt, words: str, named: int) -> bool:
    spoken = not rule.phrases or any(f" {phrase} " in words for phrase in rule.phrases)
    counted = {"any": True, "none": named == 0, "one": named == 1, "some": named > 0}
    return spoken and counted[rule.names]


def _named(question: str, profile: Profile, snapshot: Snapshot) -> int:
    """How many nodes the question names, of the kinds that the profile looks for by name."""
    probes = [probe for probe in profile.probes if probe.match == "names"]
    if not probes:
        return 0
    kinds = {kind for probe in probes for kind in probe.kinds} if all(probe.kinds for probe in probes) else None
    return len(call_by_name(question, snapshot, "", lambda node: kinds is None or node.kind in kinds))
