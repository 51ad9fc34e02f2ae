"""Plan a page: settle presets, topics, lens, budget, parameters and filters of a request before any work is done.

The nodes that a question names help to choose presets, so `find_named_nodes` is here; probes ask it too.
Several topics blend into one profile that holds every probe and section once for each; the suffix `:<number>` of
a name tells which.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.model import Candidate, Filter, Json, Node, NodeRef, Request, Topic, Unset
from weft.pipeline.shapes import read_shapes
from weft.ports import NodeRow, Snapshot
from weft.profiles import apply_preset, fill, find_lens, resolve_parameters
from weft.profiles.types import AUTO, Adapt, Lens, Probe, Profile, Section
from weft.store.records import tag_forms
from weft.text import looks_like_code, name_words
from weft.text.terms import STOP_WORDS

Span = tuple[int, int]

_MAX_PROBE_GROWTH: Final = 8.0
"""The most by which a large budget multiplies the limit of a probe; beyond it a search costs more than it adds."""
_WORD: Final = re.compile(r"\w+(?:[-'’.]\w+)*")
_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_POSSESSIVE: Final = re.compile(r"['’]s?\Z")
_MAX_NAME_WORDS: Final = 5
"""The longest run of words that is looked up as one name. Each further word adds one look-up per word."""
_MAX_QUESTION_WORDS: Final = 40
"""Words of a question that are looked at: a pasted log is longer, and would cost hundreds of look-ups."""


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
    # Every topic is searched by its own probes, so that one topic cannot crowd out another.
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
            ref = candidate.node.ref
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


class Plan(Struct, frozen=True):
    """A request with everything decided that it leaves to its profile, `floor` and `doubt` as relevances."""

    request: Request
    profile: Profile
    lens: Lens
    budget: int | None
    format: str
    include_fields: bool
    values: Mapping[str, Json]
    floor: float = 0.0
    doubt: float = 0.0

    def lens_for(self, name: str | None) -> Lens:
        """Return the lens that a section names, or the plan's own where it names none."""
        return self.lens if name is None else find_lens(self.profile, name)

    def is_given(self, parameter: str | None) -> bool:
        """Return whether the parameter has a value; something that depends on no parameter always applies."""
        return parameter is None or self.values.get(parameter) not in (None, "", False)

    @property
    def prints_names_only(self) -> bool:
        """Whether the budget is so small that the page prints names and types alone."""
        return self.budget is not None and self.budget < self.profile.summary_only_below

    @property
    def noise(self) -> float:
        """The relevance below which a candidate that only a search found is not printed."""
        return self.profile.noise * self.floor

    def probes(self) -> tuple[Probe, ...]:
        """Return the probes to ask, with limits that have grown with the budget."""
        usual = self.profile.max_tokens
        growth = 1.0
        # Only upwards: a small budget still chooses from as many candidates as usual.
        if usual is not None and self.budget is not None:
            growth = min(max(self.budget / usual, 1.0), _MAX_PROBE_GROWTH)
        return tuple(
            replace(probe, limit=int(probe.limit * growth)) if probe.grows else probe
            for probe in self.profile.probes
            if self.is_given(probe.when)
        )

    def sections(self) -> tuple[Section, ...]:
        """Return the sections to fill."""
        return tuple(section for section in self.profile.sections if self.is_given(section.when))

    def weighs(self, signal: str) -> bool:
        """Return whether the page or one of its sections scores by a signal; others need not look for it."""
        rules = [self.profile.score, *(section.score for section in self.sections() if section.score)]
        return any(signal in rule.weights or signal in rule.boosts for rule in rules)

    def metadata(self, token_model: str) -> Mapping[str, Json]:
        """Return how the page is made, for programs that read it."""
        lens = self.lens
        walked: Mapping[str, Json] = {"profile": self.profile.name, "lens": lens.name, "depth": lens.depth}
        return {**walked, "max_tokens": self.budget, "token_model": token_model}

    def by_topic(self) -> "tuple[Plan, ...]":
        """Return one plan for each topic of the request; a request without topics is one topic itself."""
        if not self.request.topics:
            return (self,)
        return tuple(
            replace(
                self,
                request=replace(self.request, question=topic.question, start=topic.start, topics=()),
                profile=profile_for_topic(self.profile, number),
                values={**self.values, "question": topic.question},
            )
            for number, topic in enumerate(self.request.topics, start=1)
        )


def choose_presets(request: Request, profile: Profile, snapshot: Snapshot) -> tuple[Profile, tuple[str, ...]]:
    """Apply the presets that the profile's rules choose for the question, and note which these are.

    The profile is returned unchanged unless the request asks for the preset `auto`.
    """
    if request.preset != AUTO or not profile.adapt:
        return profile, ()
    # With a blank at both ends, so that a phrase matches whole words only.
    words = f" {' '.join(name_words(request.question))} "
    rules = _matching_rules(profile.adapt, words, _count_named_nodes(request.question, profile, snapshot))
    # In the order of the aspects, since a later preset may change what an earlier one set.
    for rule in rules:
        profile = apply_preset(profile, rule.preset)
    chosen = " and ".join(f"{rule.name} (preset {rule.preset})" for rule in rules)
    return profile, (f"The question is read as: {chosen}.",) if rules else ()


def _matching_rules(rules: tuple[Adapt, ...], words: str, named: int) -> tuple[Adapt, ...]:
    """Return the first rule of every aspect that holds for a question of these words that names so many nodes."""
    by_aspect: dict[str, Adapt] = {}
    counts = {"any": True, "none": named == 0, "one": named == 1, "some": named > 0}
    for rule in rules:
        has_phrase = not rule.phrases or any(f" {phrase} " in words for phrase in rule.phrases)
        # One preset for each aspect: two answers to the same question would undo each other.
        if rule.aspect not in by_aspect and has_phrase and counts[rule.names]:
            by_aspect[rule.aspect] = rule
    return tuple(by_aspect.values())


def _count_named_nodes(question: str, profile: Profile, snapshot: Snapshot) -> int:
    """Count the nodes that the question names, of the kinds that the profile looks for by name."""
    probes = [probe for probe in profile.probes if probe.match == "names"]
    if not probes:
        return 0
    # A probe without kinds looks for all of them.
    kinds = {kind for probe in probes for kind in probe.kinds} if all(probe.kinds for probe in probes) else None
    return len(find_named_nodes(question, snapshot, "", lambda node: kinds is None or node.kind in kinds))


def find_named_nodes(
    question: str, snapshot: Snapshot, probe: str, admits: Callable[[Node], bool] = lambda _: True
) -> tuple[Candidate, ...]:
    """Return the nodes that the question names, in its order; part `named` is below 1 where several share a name.

    Nodes that are not admitted have no name: a chapter called "The Lantern Company" hides no faction.
    """
    name_by_run = dict(_possible_names(question))
    # One look-up for all runs, because each costs a round trip to a store on a server.
    found = snapshot.find(sorted(set(name_by_run.values())))
    stored = snapshot.nodes(sorted({node_id for ids in found.values() for node_id in ids}))
    admitted = {node_id for node_id, row in stored.items() if admits(row.node)}
    ids_by_name = {name: [node_id for node_id in ids if node_id in admitted] for name, ids in found.items()}
    # After the look-up, so that a longer run which names nothing hides no shorter one.
    runs = _without_overlaps([run for run, name in name_by_run.items() if ids_by_name.get(name)])
    # Filled from the end: where the question names a node twice, the first mention says how many share the name.
    sharers: dict[int, int] = {}
    for run in reversed(runs):
        ids = ids_by_name[name_by_run[run]]
        for node_id in reversed(ids):
            sharers[node_id] = len(ids)
    return tuple(_named_candidate(stored[node_id], sharers[node_id], probe) for node_id in reversed(sharers))


def _possible_names(question: str) -> Iterator[tuple[Span, str]]:
    """Yield every path, and every run of a few words that could be a name, with the name it would be."""
    # Paths have their own pattern: words end at a slash, and a full stop may end the question.
    yield from ((match.span(), match.group().rstrip(".")) for match in _PATH.finditer(question))
    words = [match.span() for match in _WORD.finditer(question)][:_MAX_QUESTION_WORDS]
    # Without the first word, which a sentence writes with a capital whatever it is.
    capitalised = any(question[start].isupper() for start, _ in words[1:])
    for first, (start, first_end) in enumerate(words):
        for last in range(first, min(first + _MAX_NAME_WORDS, len(words))):
            end = words[last][1]
            name = _POSSESSIVE.sub("", question[start:end])
            if end > first_end or _may_be_name(name, opens=first == 0, capitalised=capitalised):
                yield (start, end), name


def _may_be_name(word: str, *, opens: bool, capitalised: bool) -> bool:
    """Return whether a single word may be meant as a name: "Will" may, but not where it opens a question.

    In a question that writes names with capitals, a lower-case word is no name, unless only code is written so.
    """
    if word.isdigit() or (word.lower() in STOP_WORDS and (opens or not word[:1].isupper())):
        return False
    return not (capitalised and word.islower()) or looks_like_code(word)


def _without_overlaps(runs: Sequence[Span]) -> list[Span]:
    """Drop the runs that overlap a longer one, and return the rest in the order of the question."""
    kept: list[Span] = []
    # Longest first, so that "Odo Farrant" is taken before "Odo" is.
    for start, end in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        if not any(low < end and start < high for low, high in kept):
            kept.append((start, end))
    return sorted(kept)


def _named_candidate(row: NodeRow, sharers: int, probe: str) -> Candidate:
    return Candidate(
        node=row.node,
        parts={"named": round(1 / sharers, 9)},
        probe=probe,
        match_source="name",
        root=row.node.key,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def make_plan(request: Request, profile: Profile, snapshot: Snapshot) -> Plan:
    """Return the plan for a request, or raise an error that names what is wrong with the request."""
    # The preset `auto` of a profile with rules was applied before the plan is made.
    if request.preset is not None and not (request.preset == AUTO and profile.adapt):
        profile = apply_preset(profile, request.preset)
    # After the preset, which may change the sections that topics divide.
    check_topics(request)
    if request.topics:
        profile = blend_topics(profile, request.topics)
    lens = find_lens(profile, request.lens)
    if request.depth is not None:
        lens = replace(lens, depth=_check_depth(request.depth, profile))
    question = request.question or " + ".join(map(topic_label, request.topics))
    # The question comes last: no parameter may take its place.
    values = {
        **resolve_parameters(profile, request.parameters, question),
        **_flags_by_shape(profile, request, question),
        **topic_values(request.topics),
        "question": question,
    }
    if profile.sources or profile.hidden_sources:
        request = replace(request, filter=_among_sources(request.filter, profile, snapshot))
    return Plan(
        request=request,
        profile=profile,
        lens=lens,
        budget=_budget(request, profile),
        format=request.format or profile.format,
        include_fields=profile.include_fields if request.include_fields is None else request.include_fields,
        values=values,
        floor=check_floor(profile.floor if request.floor is None else request.floor),
        # Whoever sets a floor means it.
        doubt=request.floor if request.floor is not None else profile.doubt * profile.floor,
    )


def _flags_by_shape(profile: Profile, request: Request, question: str) -> dict[str, Json]:
    """Return the flags that the request does not give and the shape of its question sets."""
    shaped = [each for each in profile.parameters if each.shape and each.name not in request.parameters]
    asked = {*read_shapes(question).asked, *(["start"] if request.start else [])} if shaped else set()
    return {each.name: True for each in shaped if each.shape in asked}


def _among_sources(filter: Filter, profile: Profile, snapshot: Snapshot) -> Filter:
    """Return the filter of a request within the sources that the profile shows."""
    # Listed at every question, so that a source that is indexed later is shown.
    shown = profile.sources or snapshot.sources()
    both = tuple(
        each
        for each in shown
        if each not in profile.hidden_sources and (not filter.sources or each in filter.sources)
    )
    # No sources at all would mean every source, and no source has an empty name.
    return replace(filter, sources=both or ("",))


def check_floor(floor: float) -> float:
    """Return a floor, or raise an error that says which floors there are."""
    if not 0 <= floor <= 1:
        raise InvalidInput(
            f"A floor of {floor:g} is out of range. Give a relevance from 0 (print whatever is nearest) to 1."
        )
    return floor


def _check_depth(depth: int, profile: Profile) -> int:
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
    """Return the filter of a probe and the request together, or None when the two exclude each other."""
    requested = plan.request.filter
    kinds = probe.kinds or requested.kinds
    if probe.kinds and requested.kinds:
        # Both restrict, so only kinds that both name remain.
        kinds = tuple(kind for kind in probe.kinds if kind in requested.kinds)
        # No kinds at all would mean every kind.
        if not kinds:
            return None
    where = tuple((name, fill(value, plan.values)) for name, value in sorted(probe.where.items()))
    tags = tuple(dict.fromkeys([*probe.tags, *requested.tags]))
    return replace(requested, kinds=kinds, tags=tags, where=where + requested.where)


def passes_filter(node: Node, filter: Filter) -> bool:
    """Return whether a node that no filtered search returned passes the request's filter."""
    return (
        (not filter.kinds or node.kind in filter.kinds)
        and all(any(wanted.casefold() in tag_forms(tag) for tag in node.tags) for wanted in filter.tags)
        and (not filter.sources or node.origin.source in filter.sources)
        and all(_filter_value(node.fields.get(name)) == value for name, value in filter.where)
        and _is_in_time(node, filter)
        and _is_in_sequence(node, filter)
    )


def _filter_value(value: Json) -> str | None:
    """Return a field's value as filters write it; lists, mappings and null equal no value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _is_in_time(node: Node, filter: Filter) -> bool:
    time = node.modified or node.created
    if filter.since is None and filter.until is None:
        return True
    return (
        time is not None
        and (filter.since is None or time >= filter.since)
        and (filter.until is None or time <= filter.until)
    )


def _is_in_sequence(node: Node, filter: Filter) -> bool:
    low, high = filter.sequence_from, filter.sequence_to
    if low is None and high is None:
        return True
    number = node.sequence
    return number is not None and (low is None or number >= low) and (high is None or number <= high)


def is_unnamed_quotation(candidate: Candidate, quoting_field: str | None) -> bool:
    """Return whether the text of a candidate is a quotation and the question does not name its node.

    A node with the quoting field, such as a minor character, repeats a passage that was written about it. The
    words of that passage say nothing for the node itself, so only its name can make it relevant.
    """
    is_quotation = quoting_field is not None and quoting_field in candidate.node.fields
    return is_quotation and not (candidate.parts.get("named") or candidate.parts.get("start"))
