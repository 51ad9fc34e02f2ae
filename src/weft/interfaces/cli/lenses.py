"""`weft lens`: list, show, check, make and compare the ways to walk."""

from pathlib import Path
from typing import Annotated

import typer

from weft import config
from weft.errors import InvalidInput, ProfileError
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, StoreFolder
from weft.interfaces.cli.output import group, write_differences, write_problems
from weft.interfaces.cli.profiles import profile_folders
from weft.profiles import (
    diff_lenses,
    find_lens,
    lens_path,
    lenses_in,
    load_lenses,
    load_profile,
    show_lens,
    with_lenses,
)
from weft.profiles.types import Lens, Profile

LensName = Annotated[str, typer.Argument(metavar="NAME", help="A lens's name, or the path of a .toml file.")]
ProfileName = Annotated[str, typer.Option("--profile", metavar="NAME", help="The profile whose lenses are meant.")]
_PROFILE = "notes"


def make_app(decorated: bool) -> typer.Typer:
    """The commands under `weft lens`."""
    told = "List, show, check, make and compare lenses."
    return group(told, decorated, list=list_lenses, show=show, check=check, new=new, diff=diff)


def list_lenses(profile: ProfileName = _PROFILE, store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the lenses that `weft context --lens` knows for a profile."""
    folders = profile_folders(store)
    own = {lens.name for lens in _users(folders)}
    lenses = _known(profile, folders).lenses
    rows = [{"origin": "user" if lens.name in own else profile, **output.shape(lens)} for lens in lenses]
    if as_json:
        output.write_json(rows)
        return
    columns = ("name", "origin", "walk", "depth", "description")
    output.write_table(columns, [[str(row[column]) for column in columns] for row in rows])


def show(
    name: LensName, profile: ProfileName = _PROFILE, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print a lens as TOML, with every default filled in."""
    lens = _lens(name, profile, profile_folders(store))
    if as_json:
        output.write_json(lens)
    else:
        output.write(show_lens(lens).rstrip())


def check(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of lenses, or paths of .toml files.")],
    profile: ProfileName = _PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Name every problem of one or more lenses; the exit code is 2 when there are any."""
    folders = profile_folders(store)
    write_problems({name: _problems(name, profile, folders) for name in names}, as_json)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the lens is to be called.")],
    *,
    like: Annotated[
        str | None,
        typer.Option("--from", metavar="LENS", help="The lens to begin with. Default: the profile's own."),
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="For all your stores, instead of beside this one.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a lens file that is there already.")] = False,
    profile: ProfileName = _PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write a lens of your own to begin with, as a copy of one that works."""
    _check_name(name)
    lens = find_lens(_known(profile, profile_folders(store)), like)
    path = lens_path(_folder(user, store), name)
    if path.exists() and not force:
        raise InvalidInput(f"{path} is there already. Edit it, choose another name, or replace it with --force.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(show_lens(lens), encoding="utf-8")
    if as_json:
        output.write_json({"name": name, "path": str(path), "from": lens.name})
    else:
        output.write(f"Wrote {output.shown(path)}, like {lens.name}. Edit it, then: weft lens check {name}")


def diff(
    first: LensName,
    second: LensName,
    profile: ProfileName = _PROFILE,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print what differs between two lenses, value by value."""
    folders = profile_folders(store)
    differences = diff_lenses(_lens(first, profile, folders), _lens(second, profile, folders))
    write_differences(first, second, differences, as_json)


def _users(folders: tuple[Path, ...]) -> tuple[Lens, ...]:
    return tuple(lens for folder in reversed(folders) for lens in load_lenses(folder))


def _known(profile: str, folders: tuple[Path, ...]) -> Profile:
    return with_lenses(load_profile(profile, folders), _users(folders))


def _lens(name: str, profile: str, folders: tuple[Path, ...]) -> Lens:
    if not name.endswith(".toml"):
        return find_lens(_known(profile, folders), name)
    lenses = lenses_in(Path(name))
    if len(lenses) != 1:
        raise InvalidInput(f"{name!r} holds {len(lenses)} lenses. Give the path of a file with one.")
    return lenses[0]


def _problems(name: str, profile: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    try:
        if name.endswith(".toml"):
            lenses_in(Path(name))
        else:
            _lens(name, profile, folders)
    except ProfileError as error:
        return (str(error),)
    return ()


def _check_name(name: str) -> None:
    if not (name.isascii() and name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum()):
        raise InvalidInput(f"{name!r} cannot name a lens. Use a letter, then letters, digits, `_` or `-`.")


def _folder(user: bool, store: str | Path | None) -> Path:
    """Where the new lens goes; a store that is not found is told, so that nothing lands where nobody looks."""
    around = config.surroundings()
    return (around.user_config if user else config.find_store(store, around)) / "profiles"
