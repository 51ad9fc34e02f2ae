"""Remember which files of a source were not read and why, so that a question for one of them can say so.

Each is one unit of a source that no folder can be called, named `<source>:<path>`, with the reason as its stamp.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weft.ports import Changes, Store, Unit

_NOT_READ: Final = ":not-read"
"""The source under whose units the reasons are kept."""
_PROBLEM: Final = "problem"
"""The reason for a unit that gave nothing but problems; the detail is the first of them."""
_DETAIL: Final = ": "
_MAX_EXPLAINED: Final = 3
"""Files of the same name that an explanation names; more would bury what was asked for."""


def unit_reason(unit: Unit) -> str:
    """Return why nothing of a unit was read, or an empty text if something was."""
    if unit.nodes or unit.edges:
        return ""
    return unit.skipped or (f"{_PROBLEM}{_DETAIL}{unit.problems[0].reason}" if unit.problems else "")


def count_reasons(reasons: Mapping[str, str]) -> Counter[str]:
    """Count files by reason, without details; problems are reported on their own."""
    counted = Counter(reason.partition(_DETAIL)[0] for reason in reasons.values())
    del counted[_PROBLEM]
    return counted


def problems_of(reasons: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the files that could not be read with what went wrong, by name."""
    start = f"{_PROBLEM}{_DETAIL}"
    return tuple((name, why[len(start) :]) for name, why in sorted(reasons.items()) if why.startswith(start))


def stored_reasons(store: Store, tenant: str, source: str) -> dict[str, str]:
    """Return the reasons that are stored of a source, by the name of the file or folder in it."""
    return {
        name.removeprefix(f"{source}:"): reason
        for name, reason in store.units(tenant, _NOT_READ).items()
        if name.startswith(f"{source}:")
    }


def store_reasons(store: Store, tenant: str, source: str, reasons: Mapping[str, str]) -> None:
    """Make these the reasons that are stored of a source."""
    before = stored_reasons(store, tenant, source)
    # An empty stamp makes the store forget the unit.
    changed = {name: reasons.get(name, "") for name in sorted(before.keys() | reasons.keys())}
    units = tuple(
        (tenant, _NOT_READ, f"{source}:{name}", reason)
        for name, reason in changed.items()
        if before.get(name) != (reason or None)
    )
    if units:
        store.write(Changes(units=units))


def explain(store: Store, tenants: Sequence[str], name: str) -> tuple[str, ...]:
    """Return a sentence for each file or folder that was not read and that a key, path or file name means."""
    found = (
        f"{path} was not read: {reason.rstrip('.')}."
        for tenant in tenants
        for path, reason in _matches(store.units(tenant, _NOT_READ), name.strip())
    )
    return tuple(dict.fromkeys(found))[:_MAX_EXPLAINED]


def _matches(reasons: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    """Iterate over (path, reason) of what a name means, in the order of the paths."""
    for key, reason in sorted(reasons.items()):
        path = key.partition(":")[2]
        bare = path.rstrip("/")
        is_inside = path.endswith("/") and f"/{name.partition(':')[2] or name}".startswith(f"/{path}")
        if name and (name.rstrip("/") in (key.rstrip("/"), bare) or bare.endswith(f"/{name}") or is_inside):
            yield path, reason
