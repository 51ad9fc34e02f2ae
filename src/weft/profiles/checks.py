"""Check what the types of a profile cannot: references, unique names, sound templates, values of parameters."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.profiles.loading import coerce, malformed, placeholders
from weft.profiles.toml_format import NONE, Position, amend, describe_unknown
from weft.profiles.types import AUTO, BLOCKS, LADDER, SIGNALS, Block, Parameter, Part, Profile, Score, Section
from weft.text import name_words

_TABLE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
"""The name of a probe, lens, section or parameter: no `:`, `/` or `.`, which we put between names ourselves."""
_FOOTER_COUNTS: Final = ("items", "sections", "sources", "counted")
"""The placeholders that only a footer has: they are known when the page is finished."""
_RESERVED: Final = ("question", *_FOOTER_COUNTS)
"""The names that no parameter may have, because Weft gives them a value."""
_FIXED_IN_PRESETS: Final = ("name", "presets", "profile_version", "parameters", "adapt")
"""The keys that no preset may change: a caller gives parameters and chooses presets before any is applied."""


def find_problems(profile: Profile) -> tuple[str, ...]:
    """Return every problem of a profile, each with its dotted path; nothing when it is sound."""
    # A preset repeats most problems of its profile, so those are found first and reported once.
    found = [*_check_page(profile), *_check_rules(profile)]
    for name in profile.presets:
        found += _check_preset(profile, name, found)
    return tuple(found)


def _check_page(profile: Profile) -> Iterator[str]:
    """Check everything but the presets and the rules that choose them: a preset is applied and checked so too."""
    yield from _check_names("", [profile])
    for group in ("parameters", "probes", "lenses", "sections", "adapt"):
        yield from _check_names(group, getattr(profile, group))
    for group in ("lenses", "sections"):
        if not getattr(profile, group):
            yield f"{group}: empty. Define at least one, or leave the key out for the default."
    yield from _check_references(profile)
    yield from _check_templates(profile)
    yield from _check_score("score", profile.score)
    for parameter in profile.parameters:
        yield from _check_parameter(parameter)
    # Checked here and not as a bound, because each profile sets its own limit.
    for lens in profile.lenses:
        if lens.depth > profile.max_depth:
            yield f"lenses.{lens.name}.depth: {lens.depth} is more than max_depth, which is {profile.max_depth}."
    for section in profile.sections:
        yield from _check_section(section)


def _check_rules(profile: Profile) -> Iterator[str]:
    """Check the rules by which the preset `auto` chooses."""
    for rule in profile.adapt:
        yield from _check_known(f"adapt.{rule.name}.preset", [rule.preset], list(profile.presets), "preset")
        for phrase in rule.phrases:
            plain = " ".join(name_words(phrase))
            if phrase != plain:
                yield f"adapt.{rule.name}.phrases: {phrase!r} is compared as {plain!r}. Write it so."
    if AUTO in profile.presets:
        yield f"presets.{AUTO}: the name stands for the choice by the question. Choose another name."


def _check_names(path: str, items: Sequence[Any]) -> Iterator[str]:
    """Check that names are well-formed and unique within their table."""
    seen: set[str] = set()
    for item in items:
        where = f"{path}.{item.name}" if path else "name"
        if item.name in seen:
            yield f"{where}: defined twice. Names are unique: rename one of them."
        if not _TABLE_NAME.match(item.name) or item.name == NONE:
            letters = "a letter, then letters, digits, _ or -"
            yield f"{where}: {item.name!r} cannot be a name. Use {letters}; {NONE!r} is taken."
        seen.add(item.name)


def _check_references(profile: Profile) -> Iterator[str]:
    """Check that every lens, probe and parameter that something names is defined."""
    lenses = [lens.name for lens in profile.lenses]
    probes = [probe.name for probe in profile.probes]
    parameters = [parameter.name for parameter in profile.parameters]
    yield from _check_known("lens", [profile.lens], lenses, "lens")
    for probe in profile.probes:
        if (probe.edges or probe.without_tags) and probe.match != "rank":
            yield f'probes.{probe.name}: edges and without_tags go with match = "rank" only. Leave them out.'
        yield from _check_known(f"probes.{probe.name}.when", _optional(probe.when), parameters, "parameter")
    for section in profile.sections:
        path = f"sections.{section.name}"
        yield from _check_known(f"{path}.probes", section.probes, probes, "probe")
        yield from _check_known(f"{path}.lens", _optional(section.lens), lenses, "lens")
        yield from _check_known(f"{path}.when", _optional(section.when), parameters, "parameter")
        for part in section.parts:
            yield from _check_known(
                f"{path}.parts.{part.name}.when", _optional(part.when), parameters, "parameter"
            )
        if section.for_each:
            limit_by = _optional(section.for_each.limit_by)
            yield from _check_known(f"{path}.for_each.limit_by", limit_by, parameters, "parameter")


def _check_known(path: str, given: Iterable[str], allowed: Sequence[str], what: str) -> Iterator[str]:
    """Check that every given word is allowed, and name the nearest if not."""
    for name in given:
        if name not in allowed:
            yield f"{path}: {describe_unknown(name, allowed, what)}"


def _optional(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _check_templates(profile: Profile) -> Iterator[str]:
    """Check that every {placeholder} has a value when its text is filled in."""
    allowed = ("question", *(parameter.name for parameter in profile.parameters))
    yield from _check_template("frame.title", profile.frame.title, allowed)
    yield from _check_template("frame.footer", profile.frame.footer, (*allowed, *_FOOTER_COUNTS))
    for probe in profile.probes:
        yield from _check_template(f"probes.{probe.name}.question", probe.question, allowed)
        for name, value in probe.where.items():
            yield from _check_template(f"probes.{probe.name}.where.{name}", value, allowed)
    for section in profile.sections:
        yield from _check_template(f"sections.{section.name}.heading", section.heading, allowed)


def _check_template(path: str, template: str, allowed: Sequence[str]) -> Iterator[str]:
    for braces in malformed(template):
        yield f"{path}: {braces!r} is no placeholder. Write {{name}} with a plain name, or double the brace."
    yield from _check_known(path, placeholders(template), allowed, "placeholder")


def _check_parameter(parameter: Parameter) -> Iterator[str]:
    path = f"parameters.{parameter.name}"
    if parameter.name in _RESERVED:
        yield f"{path}: {parameter.name!r} is filled by Weft itself. Choose another name."
    # A dash is allowed in other names, which never stand in a template.
    if "-" in parameter.name:
        yield f"{path}: {parameter.name!r} cannot stand in a {{placeholder}}. Use _ instead of -."
    if (parameter.type == "choice") != bool(parameter.choices):
        yield f'{path}.choices: type = "choice" and choices belong together; give both or neither.'
    # A default of None is none, and nothing more can be wrong with it.
    if parameter.default is None:
        return
    if parameter.required:
        yield f"{path}.default: a required parameter has no use for a default. Remove one of the two."
    try:
        coerce(parameter, parameter.default)
    except InvalidInput as refused:
        yield f"{path}.default: {refused}"


def _check_section(section: Section) -> Iterator[str]:
    path = f"sections.{section.name}"
    yield from _check_names(f"{path}.parts", section.parts)
    yield from _check_printing(path, section)
    if section.score:
        yield from _check_score(f"{path}.score", section.score)
    if bool(section.parts) != (section.for_each is not None):
        yield f"{path}.parts: parts and for_each belong together; give both or neither."
    for part in section.parts:
        yield from _check_printing(f"{path}.parts.{part.name}", part)
        if part.score:
            yield from _check_score(f"{path}.parts.{part.name}.score", part.score)
        if part.unit == "passage" and not part.via:
            yield f"{path}.parts.{part.name}.unit: passages are those of neighbours. Say over which links: via."


def _check_printing(path: str, item: Section | Part) -> Iterator[str]:
    """Check how items are printed: the ladder of details and the blocks."""
    steps = [step for step in item.detail if step in LADDER]
    if not steps or tuple(steps) != item.detail or sorted(set(steps), key=LADDER.index) != steps:
        given, ladder = (", ".join(step.value for step in steps) for steps in (item.detail, LADDER))
        yield f"{path}.detail: [{given}] is no ladder. Give some of {ladder}, in this order."
    if not item.blocks:
        yield f"{path}.blocks: empty. Give at least one of {', '.join(BLOCKS)}."
    for position, block in enumerate(item.blocks):
        yield from _check_block(f"{path}.blocks[{position}]", block)


def _check_block(path: str, block: Block) -> Iterator[str]:
    yield from _check_known(path, [block.block], BLOCKS, "block")
    if (block.block == "line") != bool(block.form) and block.block != "bullet":
        yield f'{path}.form: a "line" block prints its form; only it and "bullet" have one. Give both or neither.'


def _check_score(path: str, score: Score) -> Iterator[str]:
    yield from _check_weights(f"{path}.weights", score.weights)
    yield from _check_known(f"{path}.boosts", score.boosts, SIGNALS, "signal")
    yield from _check_known(f"{path}.without", score.without, SIGNALS, "signal")
    for absent, weights in score.without.items():
        yield from _check_weights(f"{path}.without.{absent}", weights)
        if absent in weights:
            yield f"{path}.without.{absent}: weighs {absent!r}, which is absent then. Weigh other signals."
    # Also the weights without a signal: a table that only they use is used.
    weighed = {*score.weights, *score.boosts, *(name for weights in score.without.values() for name in weights)}
    if ("table" in weighed) != bool(score.table and score.table_field):
        yield f'{path}.table: the signal "table", table_field and table belong together; give all three or none.'


def _check_weights(path: str, weights: Mapping[str, float]) -> Iterator[str]:
    yield from _check_known(path, weights, SIGNALS, "signal")
    if not any(weights.values()):
        yield f"{path}: nothing is weighed. Give at least one signal a weight above 0."


def _check_preset(profile: Profile, name: str, already: Sequence[str]) -> list[str]:
    """Apply a preset and return the problems that the profile does not have without it."""
    path = f"presets.{name}"
    changes = profile.presets[name]
    found = [f"{path}.{key}: a preset cannot change {key}." for key in _FIXED_IN_PRESETS if key in changes]
    # Without its presets, which the amended profile would check once more, and so on.
    amended = amend(replace(profile, presets={}), changes, Position(found, path, may_add=False))
    if not found:
        found += [f"{path}: {problem}" for problem in _check_page(amended) if problem not in already]
    return found
