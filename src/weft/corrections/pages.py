"""Make a kind of page of one's own from the one in use: hide sources, raise or lower kinds; save and undo it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput, UnknownName
from weft.profiles import builtin_profiles, check_profile, find_lens, show_profile
from weft.profiles.types import Profile
from weft.runtime.files import replace_file

if TYPE_CHECKING:
    from weft.api import Weft

_BEFORE: Final = ".before"
"""The ending of the file that holds what a profile was before it was saved the last time."""
LEAST_FACTOR: Final = 0.1
MOST_FACTOR: Final = 10.0
"""Bounds on the factor of a kind: beyond them one kind decides the page alone."""


class PageChange(Struct, frozen=True):
    """Changes of a kind of page: sources that are hidden, and factors for the score of kinds."""

    hide_sources: tuple[str, ...] = ()
    kinds: Mapping[str, float] = {}


def own_profile(
    base: Profile, name: str, change: PageChange, *, sources: Collection[str], lens: str | None = None
) -> Profile:
    """Return a profile like another one with the changes applied; `sources` are all that there are."""
    if name in builtin_profiles():
        raise InvalidInput(f"{name!r} is a built-in profile. Give yours another name.")
    for source in change.hide_sources:
        if source not in sources:
            raise UnknownName("source", source, sources)
    for kind, factor in change.kinds.items():
        if not LEAST_FACTOR <= factor <= MOST_FACTOR:
            raise InvalidInput(
                f"A factor of {factor:g} for {kind!r} is out of range. Give {LEAST_FACTOR:g} to {MOST_FACTOR:g}."
            )
    hidden = tuple(dict.fromkeys((*base.hidden_sources, *change.hide_sources)))
    if change.hide_sources and {*hidden} >= {*(base.sources or sources)}:
        raise InvalidInput("This would hide every source. Leave at least one.")
    used = find_lens(base, lens)
    # Factors multiply what the lens has already, so that raising a kind twice raises it further.
    raised = {**used.raise_kinds}
    for kind, factor in change.kinds.items():
        raised[kind] = round(raised.get(kind, 1.0) * factor, 4)
    lenses = tuple(replace(each, raise_kinds=raised) if each.name == used.name else each for each in base.lenses)
    return replace(
        base,
        name=name,
        description=f"Like {base.name}, changed in the explorer.",
        lens=used.name,
        # The hidden ones and not the others, so that a source that is indexed later is shown.
        hidden_sources=hidden,
        lenses=lenses,
    )


def save_profile(weft: "Weft", profile: Profile) -> Path:
    """Write a profile into the folder of the store, keeping what was there before; return the file."""
    text = show_profile(profile)
    folder = weft.folder / "profiles"
    folder.mkdir(exist_ok=True)
    file = folder / f"{profile.name}.toml"
    # By the same rules as any other file: what is saved can be used.
    if problems := check_profile(text, file.name, weft.folders):
        raise InvalidInput(f"The profile cannot be saved. {problems[0]}.")
    before = file.with_suffix(f".toml{_BEFORE}")
    before.write_bytes(file.read_bytes() if file.is_file() else b"")
    replace_file(file, text.encode())
    return file


def saved_profiles(weft: "Weft") -> tuple[str, ...]:
    """Return the names of the profiles in the folder of the store whose last saving can be undone."""
    folder = weft.folder / "profiles"
    found = folder.glob(f"*.toml{_BEFORE}") if folder.is_dir() else ()
    return tuple(sorted(file.name.removesuffix(f".toml{_BEFORE}") for file in found))


def undo_profile(weft: "Weft", name: str) -> None:
    """Bring back what a profile was before it was saved; a new one is removed."""
    if name not in saved_profiles(weft):
        raise UnknownName("saved profile", name, saved_profiles(weft))
    file = weft.folder / "profiles" / f"{name}.toml"
    before = file.with_suffix(f".toml{_BEFORE}")
    if text := before.read_bytes():
        file.write_bytes(text)
    else:
        file.unlink(missing_ok=True)
    before.unlink()
