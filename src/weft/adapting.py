"""A page that suits the question: the presets that a profile's rules choose for it."""

from weft.loading import apply_preset
from weft.model import Request
from weft.naming import call_by_name
from weft.ports import Snapshot
from weft.profile import AUTO, Adapt, Profile
from weft.text import name_words


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
