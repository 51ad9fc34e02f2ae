"""What the types of a profile cannot say: references that exist, names that are unique, words that are known."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from weft.errors import InvalidInput
from weft.model import Detail
from weft.profiles.parameters import coerce, malformed, placeholders
from weft.profiles.toml_reader import NONE, Place, amend, unknown
from weft.profiles.types import (
    AUTO,
    BLOCKS,
    LADDER,
    SIGNALS,
    Block,
    Lens,
    Parameter,
    Part,
    Profile,
    Score,
    Section,
)
from weft.text import name_words

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_COUNTS: Final = ("items", "sections", "sources", "counted")
_RESERVED: Final = ("question", *_COUNTS)
_PRESET_KEEPS: Final = ("name", "presets", "profile_version", "parameters", "adapt")


def problems_of(profile: Profile) -> tuple[str, ...]:
    """Everything a profile says that cannot work, each with its dotted path; nothing when it is sound."""
    found = [*_problems(profile), *_adapting(profile)]
    for name in profile.presets:
        found += _preset_problems(profile, name, found)
    return tuple(found)


def _problems(profile: Profile) -> Iterator[str]:
    yield from _names("", [profile])
    for group in ("parameters", "probes", "lenses", "sections", "adapt"):
        yield from _names(group, getattr(profile, group))
    for group in ("lenses", "sections"):
        if not getattr(profile, group):
            yield f"{group}: empty. Define at least one, or leave the key out for the default."
    yield from _references(profile)
    yield from _templates(profile)
    yield from _score("score", profile.score)
    for parameter in profile.parameters:
        yield from _parameter(parameter)
    for lens in profile.lenses:
        yield from _lens(lens, profile)
    for section in profile.sections:
        yield from _section(section)


def _adapting(profile: Profile) -> Iterator[str]:
    for rule in profile.adapt:
        yield from _known(f"adapt.{rule.name}.preset", [rule.preset], list(profile.presets), "preset")
        for phrase in rule.phrases:
            plain = " ".join(name_words(phrase))
            if phrase != plain:
                yield f"adapt.{rule.name}.phrases: {phrase!r} is compared as {plain!r}. Write it so."
    if AUTO in profile.presets:
        yield f"presets.{AUTO}: the name stands for the choice by the question. Choose another name."


def _names(path: str, items: Sequence[Any]) -> Iterator[str]:
    seen: set[str] = set()
    for item in items:
        where = f"{path}.{item.name}" if path else "name"
        if item.name in seen:
            yield f"{where}: defined twice. Names are unique: rename one of them."
        if not _NAME.match(item.name) or item.name == NONE:
            letters = "a letter, then letters, digits, _ or -"
            yield f"{where}: {item.name!r} cannot be a name. Use {letters}; {NONE!r} is taken."
        seen.add(item.name)


def _references(profile: Profile) -> Iterator[str]:
    lenses = [lens.name for lens in profile.lenses]
    probes = [probe.name for probe in profile.probes]
    parameters = [parameter.name for parameter in profile.parameters]
    yield from _known("lens", [profile.lens], lenses, "lens")
    for probe in profile.probes:
        if (probe.edges or probe.without_tags) and probe.match != "rank":
            yield f'probes.{probe.name}: edges and without_tags go with match = "rank" only. Leave them out.'
        yield from _known(f"probes.{probe.name}.when", _optional(probe.when), parameters, "parameter")
    for section in profile.sections:
        path = f"sections.{section.name}"
        yield from _known(f"{path}.probes", section.probes, probes, "probe")
        yield from _known(f"{path}.lens", _optional(section.lens), lenses, "lens")
        yield from _known(f"{path}.when", _optional(section.when), parameters, "parameter")
        for part in section.parts:
            yield from _known(f"{path}.parts.{part.name}.when", _optional(part.when), parameters, "parameter")
        if section.for_each:
            limit_by = _optional(section.for_each.limit_by)
            yield from _known(f"{path}.for_each.limit_by", limit_by, parameters, "parameter")


def _known(path: str, given: Iterable[str], allowed: Sequence[str], what: str) -> Iterator[str]:
    for name in given:
        if name not in allowed:
            yield f"{path}: {unknown(name, allowed, what)}"


def _optional(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _templates(profile: Profile) -> Iterator[str]:
    allowed = ("question", *(parameter.name for parameter in profile.parameters))
    yield from _template("frame.title", profile.frame.title, allowed)
    yield from _template("frame.footer", profile.frame.footer, (*allowed, *_COUNTS))
    for probe in profile.probes:
        yield from _template(f"probes.{probe.name}.question", probe.question, allowed)
        for name, value in probe.where.items():
            yield from _template(f"probes.{probe.name}.where.{name}", value, allowed)
    for section in profile.sections:
        yield from _template(f"sections.{section.name}.heading", section.heading, allowed)


def _template(path: str, template: str, allowed: Sequence[str]) -> Iterator[str]:
    for braces in malformed(template):
        yield f"{path}: {braces!r} is no placeholder. Write {{name}} with a plain name, or double the brace."
    yield from _known(path, placeholders(template), allowed, "placeholder")


def _parameter(parameter: Parameter) -> Iterator[str]:
    path = f"parameters.{parameter.name}"
    if parameter.name in _RESERVED:
        yield f"{path}: {parameter.name!r} is filled by Weft itself. Choose another name."
    if "-" in parameter.name:
        yield f"{path}: {parameter.name!r} cannot stand in a {{placeholder}}. Use _ instead of -."
    if (parameter.type == "choice") != bool(parameter.choices):
        yield f'{path}.choices: type = "choice" and choices belong together; give both or neither.'
    if parameter.default is None:
        return
    if parameter.required:
        yield f"{path}.default: a required parameter has no use for a default. Remove one of the two."
    try:
        coerce(parameter, parameter.default)
    except InvalidInput as refused:
        yield f"{path}.default: {refused}"


def _lens(lens: Lens, profile: Profile) -> Iterator[str]:
    if lens.depth > profile.max_depth:
        yield f"lenses.{lens.name}.depth: {lens.depth} is more than max_depth, which is {profile.max_depth}."


def _section(section: Section) -> Iterator[str]:
    path = f"sections.{section.name}"
    yield from _names(f"{path}.parts", section.parts)
    yield from _printed(path, section)
    if section.score:
        yield from _score(f"{path}.score", section.score)
    if bool(section.parts) != (section.for_each is not None):
        yield f"{path}.parts: parts and for_each belong together; give both or neither."
    for part in section.parts:
        yield from _printed(f"{path}.parts.{part.name}", part)
        if part.score:
            yield from _score(f"{path}.parts.{part.name}.score", part.score)
        if part.unit == "passage" and not part.via:
            yield f"{path}.parts.{part.name}.unit: passages are those of neighbours. Say over which links: via."


def _printed(path: str, item: Section | Part) -> Iterator[str]:
    steps = [step for step in item.detail if step in LADDER]
    if not steps or tuple(steps) != item.detail or sorted(set(steps), key=LADDER.index) != steps:
        ladder = ", ".join(step.value for step in LADDER)
        yield f"{path}.detail: {_words(item.detail)} is no ladder. Give some of {ladder}, in this order."
    if not item.blocks:
        yield f"{path}.blocks: empty. Give at least one of {', '.join(BLOCKS)}."
    for position, block in enumerate(item.blocks):
        yield from _block(f"{path}.blocks[{position}]", block)


def _words(detail: Sequence[Detail]) -> str:
    return f"[{', '.join(step.value for step in detail)}]"


def _block(path: str, block: Block) -> Iterator[str]:
    yield from _known(path, [block.block], BLOCKS, "block")
    if (block.block == "line") != bool(block.form) and block.block != "bullet":
        yield f'{path}.form: a "line" block prints its form; only it and "bullet" have one. Give both or neither.'


def _score(path: str, score: Score) -> Iterator[str]:
    yield from _weights(f"{path}.weights", score.weights)
    yield from _known(f"{path}.boosts", score.boosts, SIGNALS, "signal")
    yield from _known(f"{path}.without", score.without, SIGNALS, "signal")
    for absent, weights in score.without.items():
        yield from _weights(f"{path}.without.{absent}", weights)
        if absent in weights:
            yield f"{path}.without.{absent}: weighs {absent!r}, which is absent then. Weigh other signals."
    weighed = {*score.weights, *score.boosts, *(name for weights in score.without.values() for name in weights)}
    if ("table" in weighed) != bool(score.table and score.table_field):
        yield f'{path}.table: the signal "table", table_field and table belong together; give all three or none.'


def _weights(path: str, weights: Mapping[str, float]) -> Iterator[str]:
    yield from _known(path, weights, SIGNALS, "signal")
    if not any(weights.values()):
        yield f"{path}: nothing is weighed. Give at least one signal a weight above 0."


def _preset_problems(profile: Profile, name: str, already: Sequence[str]) -> list[str]:
    path = f"presets.{name}"
    changes = profile.presets[name]
    found = [f"{path}.{key}: a preset cannot change {key}." for key in _PRESET_KEEPS if key in changes]
    amended = amend(replace(profile, presets={}), changes, Place(found, path, grow=False))
    if not found:
        found += [f"{path}: {problem}" for problem in _problems(amended) if problem not in already]
    return found
