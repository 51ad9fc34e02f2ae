"""`weft profile`: list, show, check and compare profiles, which describe kinds of pages."""

from pathlib import Path
from typing import Annotated

import typer

from weft import config
from weft.errors import InvalidInput, ProfileError, StoreError
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.profiles import (
    apply_preset,
    available_profiles,
    check_profile,
    diff_profiles,
    load_profile,
    show_profile,
)
from weft.profiles.types import Profile

ProfileName = Annotated[str, typer.Argument(metavar="NAME", help="A profile's name, or the path of a .toml file.")]
Preset = Annotated[str | None, typer.Option("--preset", metavar="NAME", help="Apply this preset.")]


def make_profile_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft profile`."""
    return output.make_group(
        "List, show, check and compare profiles.",
        decorated,
        list=list_profiles,
        show=show,
        check=check,
        diff=diff,
    )


def find_profile_folders(store: str | Path | None) -> tuple[Path, ...]:
    """Return the folders in which the user keeps profiles and lenses, those beside the store first."""
    around = config.read_environment()
    try:
        return config.profile_folders(config.find_store(store, around), around)
    except StoreError:
        # Profiles are of use before there is a store.
        return config.profile_folders(None, around)


def list_profiles(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the profiles that `weft context --profile` accepts."""
    folders = find_profile_folders(store)
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


def show(name: ProfileName, preset: Preset = None, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Print a profile as TOML, with every default filled in."""
    profile = load_profile(name, find_profile_folders(store))
    if preset is not None:
        profile = apply_preset(profile, preset)
    if as_json:
        output.write_json(profile)
    else:
        output.write(show_profile(profile).rstrip())


def check(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Names of profiles, or paths of .toml files.")
    ],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print every problem of one or more profiles. The exit code is 2 if there are any."""
    folders = find_profile_folders(store)
    output.write_check_results({name: _find_problems(name, folders) for name in names}, as_json)


def _find_problems(name: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
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


def diff(first: ProfileName, second: ProfileName, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Print how two profiles differ, value by value."""
    folders = find_profile_folders(store)
    differences = diff_profiles(load_profile(first, folders), load_profile(second, folders))
    output.write_differences(first, second, differences, as_json)
