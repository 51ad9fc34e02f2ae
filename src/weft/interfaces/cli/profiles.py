"""`weft profile` and `weft lens`: list, show, check, create and compare profiles and lenses.

Profiles describe kinds of pages; lenses describe how to walk the graph from the nodes that were found.
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput, ProfileError
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.profiles import (
    apply_preset,
    available_profiles,
    check_profile,
    diff_lenses,
    diff_profiles,
    find_lens,
    lens_path,
    load_lens_file,
    load_profile,
    show_lens,
    show_profile,
    user_lenses,
    with_lenses,
)
from weft.profiles.types import Lens, Profile

_DEFAULT_LENS_PROFILE: Final = "notes"
"""The profile whose lenses are meant if none is named: the one that comes with the most."""

ProfileName = Annotated[str, typer.Argument(metavar="NAME", help="A profile's name, or the path of a .toml file.")]
Preset = Annotated[str | None, typer.Option("--preset", metavar="NAME", help="Apply this preset.")]
LensName = Annotated[str, typer.Argument(metavar="NAME", help="A lens's name, or the path of a .toml file.")]
LensProfile = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="The profile that the lenses belong to.")
]


# --- weft profile ------------------------------------------------------------------------------------------


def make_profile_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft profile`."""
    return output.make_group(
        "List, show, check and compare profiles.",
        decorated,
        list=list_profiles,
        show=print_profile,
        check=check_profiles,
        diff=compare_profiles,
    )


def list_profiles(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the profiles that `weft context --profile` accepts."""
    folders = config.find_profile_folders(store)
    rows = [_list_row(name, folders) for name in available_profiles(folders)]
    if as_json:
        output.write_json(rows)
    else:
        columns = ("name", "tokens", "lenses", "presets", "description")
        output.write_table(columns, [[_cell(row[column]) for column in columns] for row in rows])


def _list_row(name: str, folders: tuple[Path, ...]) -> dict[str, object]:
    is_user_profile = any((folder / f"{name}.toml").is_file() for folder in folders)
    try:
        profile = load_profile(name, folders)
    except ProfileError as error:
        # One broken profile must not hide the others.
        profile = Profile(name, description=f"cannot be used: {error}", lenses=())
    return {
        "name": name,
        "origin": "user" if is_user_profile else "built in",
        "tokens": profile.max_tokens,
        "lenses": [lens.name for lens in profile.lenses],
        "presets": sorted(profile.presets),
        "parameters": [output.as_dict(parameter) for parameter in profile.parameters],
        "description": profile.description,
    }


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "no limit" if value is None else str(value)


def print_profile(
    name: ProfileName, preset: Preset = None, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print a profile as TOML, with every default filled in."""
    profile = load_profile(name, config.find_profile_folders(store))
    if preset is not None:
        profile = apply_preset(profile, preset)
    if as_json:
        output.write_json(profile)
    else:
        output.write(show_profile(profile).rstrip())


def check_profiles(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Names of profiles, or paths of .toml files.")
    ],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print every problem of one or more profiles. The exit code is 2 if there are any."""
    folders = config.find_profile_folders(store)
    output.write_check_results({name: _find_profile_problems(name, folders) for name in names}, as_json)


def _find_profile_problems(name: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    # A name is loaded as `weft context` would load it; only a file can have several problems listed.
    if not name.endswith(".toml"):
        try:
            load_profile(name, folders)
        except ProfileError as error:
            return (str(error),)
        return ()
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{name!r} cannot be read ({error}). Give the path of a TOML file.") from error
    return check_profile(text, name, folders)


def compare_profiles(
    first: ProfileName, second: ProfileName, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print how two profiles differ, value by value."""
    folders = config.find_profile_folders(store)
    differences = diff_profiles(load_profile(first, folders), load_profile(second, folders))
    output.write_differences(first, second, differences, as_json)


# --- weft lens ---------------------------------------------------------------------------------------------


def make_lens_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft lens`."""
    return output.make_group(
        "List, show, check, create and compare lenses.",
        decorated,
        list=list_lenses,
        show=print_lens,
        check=check_lenses,
        new=create_lens,
        diff=compare_lenses,
    )


def list_lenses(
    profile: LensProfile = _DEFAULT_LENS_PROFILE, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """List the lenses that `weft context --lens` accepts for a profile."""
    folders = config.find_profile_folders(store)
    # A lens of the user may have the name of a built-in one, which it replaces.
    user_names = {lens.name for lens in user_lenses(folders)}
    lenses = _load_profile(profile, folders).lenses
    rows = [{"origin": "user" if lens.name in user_names else profile, **output.as_dict(lens)} for lens in lenses]
    if as_json:
        output.write_json(rows)
        return
    columns = ("name", "origin", "walk", "depth", "description")
    output.write_table(columns, [[str(row[column]) for column in columns] for row in rows])


def print_lens(
    name: LensName,
    profile: LensProfile = _DEFAULT_LENS_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print a lens as TOML, with every default filled in."""
    lens = _load_lens(name, profile, config.find_profile_folders(store))
    if as_json:
        output.write_json(lens)
    else:
        output.write(show_lens(lens).rstrip())


def check_lenses(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of lenses, or paths of .toml files.")],
    profile: LensProfile = _DEFAULT_LENS_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print every problem of one or more lenses. The exit code is 2 if there are any."""
    folders = config.find_profile_folders(store)
    output.write_check_results({name: _find_lens_problems(name, profile, folders) for name in names}, as_json)


def create_lens(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new lens.")],
    *,
    template: Annotated[
        str | None,
        typer.Option("--from", metavar="LENS", help="The lens to copy. Default: the profile's own."),
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="For all your stores, instead of beside this one.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a lens file that exists already.")] = False,
    profile: LensProfile = _DEFAULT_LENS_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write a copy of a lens for you to edit."""
    if not (name.isascii() and name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum()):
        raise InvalidInput(f"{name!r} cannot name a lens. Use a letter, then letters, digits, `_` or `-`.")
    lens = find_lens(_load_profile(profile, config.find_profile_folders(store)), template)
    around = config.read_environment()
    # Unlike the other commands this one needs a store, or the file would land where nothing reads it.
    folder = (around.user_config if user else config.find_store(store, around)) / "profiles"
    path = lens_path(folder, name)
    if path.exists() and not force:
        raise InvalidInput(f"{path} exists already. Edit it, choose another name, or replace it with --force.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(show_lens(lens), encoding="utf-8")
    if as_json:
        output.write_json({"name": name, "path": str(path), "from": lens.name})
    else:
        output.write(
            f"Wrote {output.short_path(path)}, a copy of {lens.name}. Edit it, then: weft lens check {name}"
        )


def compare_lenses(
    first: LensName,
    second: LensName,
    profile: LensProfile = _DEFAULT_LENS_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print how two lenses differ, value by value."""
    folders = config.find_profile_folders(store)
    differences = diff_lenses(_load_lens(first, profile, folders), _load_lens(second, profile, folders))
    output.write_differences(first, second, differences, as_json)


def _load_profile(name: str, folders: tuple[Path, ...]) -> Profile:
    """Load a profile with the user's lenses added to its own."""
    return with_lenses(load_profile(name, folders), user_lenses(folders))


def _load_lens(name: str, profile: str, folders: tuple[Path, ...]) -> Lens:
    """Load a lens by its name or from the path of a .toml file."""
    if not name.endswith(".toml"):
        return find_lens(_load_profile(profile, folders), name)
    lenses = load_lens_file(Path(name))
    if len(lenses) != 1:
        raise InvalidInput(f"{name!r} holds {len(lenses)} lenses. Give the path of a file with one.")
    return lenses[0]


def _find_lens_problems(name: str, profile: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    try:
        # A file that is only checked may hold several lenses.
        if name.endswith(".toml"):
            load_lens_file(Path(name))
        else:
            _load_lens(name, profile, folders)
    except ProfileError as error:
        return (str(error),)
    return ()
