"""`weft lens`: list, show, check, create and compare lenses, which say how to walk from what was found."""

from pathlib import Path
from typing import Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput, ProfileError
from weft.interfaces.cli import AsJson, StoreFolder, output
from weft.interfaces.cli.profiles import find_profile_folders
from weft.profiles import (
    diff_lenses,
    find_lens,
    lens_path,
    load_lens_file,
    load_lenses,
    load_profile,
    show_lens,
    with_lenses,
)
from weft.profiles.types import Lens, Profile

_DEFAULT_PROFILE: Final = "notes"
"""The profile whose lenses are meant if none is named: the one that comes with the most."""

LensName = Annotated[str, typer.Argument(metavar="NAME", help="A lens's name, or the path of a .toml file.")]
ProfileName = Annotated[
    str, typer.Option("--profile", metavar="NAME", help="The profile that the lenses belong to.")
]


def make_lens_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft lens`."""
    return output.make_group(
        "List, show, check, create and compare lenses.",
        decorated,
        list=list_lenses,
        show=show,
        check=check,
        new=new,
        diff=diff,
    )


def list_lenses(
    profile: ProfileName = _DEFAULT_PROFILE, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """List the lenses that `weft context --lens` accepts for a profile."""
    folders = find_profile_folders(store)
    user_names = {lens.name for lens in _load_user_lenses(folders)}
    lenses = _load_profile(profile, folders).lenses
    rows = [{"origin": "user" if lens.name in user_names else profile, **output.as_dict(lens)} for lens in lenses]
    if as_json:
        output.write_json(rows)
        return
    columns = ("name", "origin", "walk", "depth", "description")
    output.write_table(columns, [[str(row[column]) for column in columns] for row in rows])


def show(
    name: LensName, profile: ProfileName = _DEFAULT_PROFILE, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print a lens as TOML, with every default filled in."""
    lens = _load_lens(name, profile, find_profile_folders(store))
    if as_json:
        output.write_json(lens)
    else:
        output.write(show_lens(lens).rstrip())


def check(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of lenses, or paths of .toml files.")],
    profile: ProfileName = _DEFAULT_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print every problem of one or more lenses. The exit code is 2 if there are any."""
    folders = find_profile_folders(store)
    output.write_check_results({name: _find_problems(name, profile, folders) for name in names}, as_json)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new lens.")],
    *,
    template: Annotated[
        str | None,
        typer.Option("--from", metavar="LENS", help="The lens to copy. Default: the profile's own."),
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="For all your stores, instead of beside this one.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a lens file that exists already.")] = False,
    profile: ProfileName = _DEFAULT_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write a copy of a lens for you to edit."""
    if not (name.isascii() and name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum()):
        raise InvalidInput(f"{name!r} cannot name a lens. Use a letter, then letters, digits, `_` or `-`.")
    lens = find_lens(_load_profile(profile, find_profile_folders(store)), template)
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


def diff(
    first: LensName,
    second: LensName,
    profile: ProfileName = _DEFAULT_PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print how two lenses differ, value by value."""
    folders = find_profile_folders(store)
    differences = diff_lenses(_load_lens(first, profile, folders), _load_lens(second, profile, folders))
    output.write_differences(first, second, differences, as_json)


def _load_user_lenses(folders: tuple[Path, ...]) -> tuple[Lens, ...]:
    # The first folder, beside the store, has precedence; `with_lenses` lets the last lens of a name win.
    return tuple(lens for folder in reversed(folders) for lens in load_lenses(folder))


def _load_profile(name: str, folders: tuple[Path, ...]) -> Profile:
    """Load a profile with the user's lenses added to its own."""
    return with_lenses(load_profile(name, folders), _load_user_lenses(folders))


def _load_lens(name: str, profile: str, folders: tuple[Path, ...]) -> Lens:
    """Load a lens by its name or from the path of a .toml file."""
    if not name.endswith(".toml"):
        return find_lens(_load_profile(profile, folders), name)
    lenses = load_lens_file(Path(name))
    if len(lenses) != 1:
        raise InvalidInput(f"{name!r} holds {len(lenses)} lenses. Give the path of a file with one.")
    return lenses[0]


def _find_problems(name: str, profile: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    try:
        # A file that is only checked may hold several lenses.
        if name.endswith(".toml"):
            load_lens_file(Path(name))
        else:
            _load_lens(name, profile, folders)
    except ProfileError as error:
        return (str(error),)
    return ()
