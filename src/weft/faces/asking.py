"""One question from any face: the command line and the tools ask through here, so that they answer alike."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, UnknownName
from weft.faces.aiming import aim
from weft.faces.catalog import catalog
from weft.faces.values import clean
from weft.frozen import dataclass
from weft.model import DEFAULT_TENANT, UNSET, Context, Filter, Json, Unset, View

if TYPE_CHECKING:
    from weft.faces.library import Weft

DEFAULT_PROFILE: Final = "general"


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks for, in clean values; unset ones come from the profile."""

    words: tuple[str, ...] = ()
    profile: str | None = None
    preset: str | None = None
    lens: str | None = None
    depth: int | None = None
    max_tokens: int | Unset | None = UNSET
    format: str | None = None
    include_fields: bool | None = None
    filter: Filter = field(default_factory=Filter)
    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    as_of: int | None = None
    consistency: str = ""
    parameters: Mapping[str, Json] | None = None
    token_model: str = "cl100k_base"
    now: datetime | None = None
    session: str | None = None
    blend: str | None = None


def ask(weft: "Weft", asked: Asked) -> Context:
    """The context for what is asked, kept for later comparison."""
    profile = asked.profile or profile_with(weft, asked.lens)
    _check_depth(asked.depth, weft.profile(profile).max_depth)
    aimed = aim(weft, asked.words, View(asked.tenants, asked.as_of, asked.consistency), profile, asked.blend)
    notes = check_filter(weft, asked.filter, asked.tenants)
    found = weft.context(
        aimed.question,
        start=aimed.start,
        topics=aimed.topics,
        profile=profile,
        preset=asked.preset,
        lens=asked.lens,
        depth=asked.depth,
        max_tokens=asked.max_tokens,
        format=asked.format,
        include_fields=asked.include_fields,
        filter=asked.filter,
        tenants=asked.tenants,
        as_of=asked.as_of,
        consistency=asked.consistency,
        parameters=asked.parameters,
        token_model=asked.token_model,
        now=asked.now,
        session=session_name(asked.session),
        keep=True,
    )
    return replace(found, notes=(*notes, *aimed.notes, *found.notes))


def _check_depth(depth: int | None, most: int) -> None:
    """Refuse what is no way to walk; who wants no links at all asks `search`."""
    if depth is not None and not 1 <= depth <= most:
        raise InvalidInput(f"Depth {depth} is out of range. Give 1 to {most}, or leave it out for the lens's own.")


def session_name(given: str | None) -> str | None:
    """A session's name as it is kept, or None when none is given."""
    if given is None:
        return None
    name = " ".join(clean(given).split())
    if not name or len(name) > 200:
        raise InvalidInput(f"{given[:50]!r} cannot name a session. Give a name of 1 to 200 characters.")
    return name


def profile_with(weft: "Weft", lens: str | None) -> str:
    """The profile to use when none is named: the general one, or the first that has the lens."""
    if lens is None or lens in {each.name for each in weft.profile(DEFAULT_PROFILE).lenses}:
        return DEFAULT_PROFILE
    known = {profile.name: {each.name for each in profile.lenses} for profile in catalog(weft.folders)}
    found = next((name for name, lenses in known.items() if lens in lenses), None)
    if found is None:
        raise UnknownName("lens", lens, {each for lenses in known.values() for each in lenses})
    return found


def check_filter(weft: "Weft", wanted: Filter, tenants: Sequence[str]) -> tuple[str, ...]:
    """Refuse kinds and sources that the tenants do not have; a note for each tenant that holds nothing."""
    notes = []
    for tenant in tenants:
        if not weft.holds(tenant):
            known = ", ".join(sorted(weft.status().by_tenant)) or "(none)"
            notes.append(f"The tenant {tenant!r} holds nothing. Known: {known}.")
    if wanted.kinds or wanted.sources:
        status = weft.status(tenants)
        _check("kind", wanted.kinds, status.by_kind)
        _check("source", wanted.sources, status.by_source)
    return tuple(notes)


def _check(what: str, given: Sequence[str], allowed: Mapping[str, int]) -> None:
    for each in given:
        if each not in allowed:
            raise UnknownName(what, each, allowed, f"These are the {what}s in the store.")
