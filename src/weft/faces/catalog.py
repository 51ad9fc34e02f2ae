"""Which lenses there are, profile by profile."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import ProfileError
from weft.loading import available_profiles, load_lenses, load_profile, with_lenses
from weft.profile import Profile


def catalog(folders: Sequence[Path]) -> tuple[Profile, ...]:
    """Every profile that can be used, with the user's lenses; `weft profile check` tells of those that cannot."""
    lenses = [lens for folder in reversed(folders) for lens in load_lenses(folder)]
    found = []
    for name in available_profiles(folders):
        try:
            found.append(with_lenses(load_profile(name, folders), lenses))
        except ProfileError:
            continue
    return tuple(found)
