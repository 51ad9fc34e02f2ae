"""Load, check, show and compare profiles: kinds of page, as data.

`types` defines every table and key of a profile. `toml_format` reads TOML into these types and writes it back,
`checks` finds what the types cannot exclude, and `loading` finds the files and fills in what a caller gives.
"""

from weft.profiles.loading import (
    apply_preset,
    available_profiles,
    builtin_profiles,
    check_profile,
    fill,
    find_lens,
    is_given,
    lens_path,
    load_lens_file,
    load_lenses,
    load_profile,
    placeholders,
    profile_files_state,
    resolve_parameters,
    usable_profiles,
    user_lenses,
    with_lenses,
)
from weft.profiles.toml_format import diff_lenses, diff_profiles, show_lens, show_profile

__all__ = [
    "apply_preset",
    "available_profiles",
    "builtin_profiles",
    "check_profile",
    "diff_lenses",
    "diff_profiles",
    "fill",
    "find_lens",
    "is_given",
    "lens_path",
    "load_lens_file",
    "load_lenses",
    "load_profile",
    "placeholders",
    "profile_files_state",
    "resolve_parameters",
    "show_lens",
    "show_profile",
    "usable_profiles",
    "user_lenses",
    "with_lenses",
]
