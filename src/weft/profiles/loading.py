"""Find profile and lens files, read them, and refuse what does not fit with an error that names every problem."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from weft.errors import ProfileError, UnknownName
from weft.profiles.checks import find_problems
from weft.profiles.toml_format import Position, amend, read
from weft.profiles.types import Lens, Profile

_BUILTIN: Final = Path(__file__).parent
_LENS_SUFFIX: Final = ".lens.toml"
_LENS_FILE: Final = "lenses.toml"
_CACHED_PROFILES: Final = 64
"""Builtin profiles that stay loaded: far more than there are."""


def builtin_profiles() -> tuple[str, ...]:
    """Return the names of the profiles that come with Weft."""
    return _names_in(_BUILTIN)


def available_profiles(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the names that `load_profile` knows: the builtin ones and those of the folders."""
    return tuple(sorted({name for folder in (*folders, _BUILTIN) for name in _names_in(folder)}))


def load_profile(name_or_path: str, folders: Sequence[Path] = ()) -> Profile:
    """Load the profile of that name (folders first, in order, then the builtin ones) or in that .toml file."""
    path = _locate(name_or_path, folders)
    # Only these are cached: other files may change while the program runs.
    if path.parent == _BUILTIN:
        return _load_builtin(path)
    return _load(path, tuple(folders), ())


def profile_files_state(folders: Sequence[Path], name: str = "") -> tuple[tuple[str, int, int], ...]:
    """Return the state of the profile files in the folders, and of the named file: it changes when they do."""
    # All files, because a profile may inherit from any of them.
    files = [path for folder in folders if folder.is_dir() for path in folder.glob("*.toml")]
    files += [Path(name)] if name.endswith(".toml") and Path(name).is_file() else []
    states = [(str(path), path.stat()) for path in sorted(files)]
    return tuple((path, state.st_mtime_ns, state.st_size) for path, state in states)


def check_profile(text: str, where: str, folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return all problems of a profile text, not just the first; empty when it can be used."""
    profile, problems = _read(text, tuple(folders), (Path(where),))
    return tuple(f"{where}: {problem}" for problem in (*problems, *(find_problems(profile) if profile else ())))


def apply_preset(profile: Profile, name: str) -> Profile:
    """Return the profile with the preset's values instead of its own."""
    if name not in profile.presets:
        raise UnknownName("preset", name, profile.presets, f"The profile {profile.name!r} has no others.")
    problems: list[str] = []
    # A preset may not add names, so that a typing error in one is an error.
    amended = amend(profile, profile.presets[name], Position(problems, f"presets.{name}", may_add=False))
    if problems:
        raise _make_error(f"profile {profile.name}", problems)
    return amended


def load_lenses(folder: Path) -> tuple[Lens, ...]:
    """Load the lenses in a folder: one in each NAME.lens.toml, or tables [lenses.NAME] in lenses.toml."""
    if not folder.is_dir():
        return ()
    paths = sorted(path for path in folder.iterdir() if _holds_lenses(path))
    return with_lenses(Profile("", lenses=()), [lens for path in paths for lens in load_lens_file(path)]).lenses


def lens_path(folder: Path, name: str) -> Path:
    """Return the path of a lens that has a file of its own in a folder."""
    return folder / f"{name}{_LENS_SUFFIX}"


def load_lens_file(path: Path) -> tuple[Lens, ...]:
    """Load the lenses in one file, or raise an error that names all its problems."""
    try:
        table: Mapping[str, Any] = tomllib.loads(_read_file(path))
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{path}: not valid TOML: {error}. Correct that line.") from error
    # A file of one lens has its keys at the top, and its name in the name of the file.
    if set(table) != {"lenses"}:
        name = path.name.removesuffix(_LENS_SUFFIX).removesuffix(".toml")
        table = {"lenses": {name: {key: value for key, value in table.items() if key != "name"}}}
    problems: list[str] = []
    profile = amend(Profile("lenses", lenses=()), table, Position(problems))
    # The page's lens must exist, and here the first one stands for it.
    if profile.lenses:
        problems += find_problems(replace(profile, lens=profile.lenses[0].name))
    if problems:
        raise _make_error(str(path), problems)
    return profile.lenses


def with_lenses(profile: Profile, lenses: Sequence[Lens]) -> Profile:
    """Return the profile with the lenses added; one of the same name is replaced."""
    merged = {lens.name: lens for lens in (*profile.lenses, *lenses)}
    return replace(profile, lenses=tuple(merged.values()))


def find_lens(profile: Profile, name: str | None = None) -> Lens:
    """Return the lens of that name, or the profile's own when none is named."""
    for lens in profile.lenses:
        if lens.name == (name or profile.lens):
            return lens
    raise UnknownName("lens", name or profile.lens, [lens.name for lens in profile.lenses])


def _names_in(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.stem for path in folder.glob("*.toml") if not _holds_lenses(path)))


def _holds_lenses(path: Path) -> bool:
    return path.name.endswith(_LENS_SUFFIX) or path.name == _LENS_FILE


def _locate(name_or_path: str, folders: Sequence[Path], taken: Sequence[Path] = ()) -> Path:
    """Return the file of a profile; `taken` files are passed over, so that one may inherit from its namesake."""
    # No name has a slash, so this can only be a path.
    if name_or_path.endswith(".toml") or "/" in name_or_path or "\\" in name_or_path:
        return Path(name_or_path)
    for folder in (*folders, _BUILTIN):
        path = folder / f"{name_or_path}.toml"
        if path not in taken and path.is_file() and not _holds_lenses(path):
            return path
    hint = "Or give the path of a .toml file."
    raise UnknownName("profile", name_or_path, available_profiles(folders), hint)


@lru_cache(maxsize=_CACHED_PROFILES)
def _load_builtin(path: Path) -> Profile:
    return _load(path, (), ())


def _load(path: Path, folders: tuple[Path, ...], chain: tuple[Path, ...]) -> Profile:
    profile, problems = _read(_read_file(path), folders, (*chain, path))
    # A profile that cannot be read at all would give problems that are none of its own.
    problems += find_problems(profile) if profile else ()
    if profile is None or problems:
        raise _make_error(str(path), problems)
    return profile


def _read(text: str, folders: tuple[Path, ...], chain: tuple[Path, ...]) -> tuple[Profile | None, list[str]]:
    """Read a profile and all it inherits; return it, if anything can be made of it, and the problems."""
    problems: list[str] = []
    try:
        table = tomllib.loads(text)
        base = _inherited(table.pop("inherits", None), folders, chain)
    except tomllib.TOMLDecodeError as error:
        return None, [f"not valid TOML: {error}. Correct that line."]
    except (ProfileError, UnknownName) as error:
        return None, [f"inherits: {error}"]
    if base is None:
        return read(Profile, table, Position(problems)), problems
    # Two profiles of one name could not be told apart in a page's record.
    if "name" not in table:
        problems.append('name: missing. Add name = "..."; it is not inherited.')
    return amend(base, table, Position(problems)), problems


def _inherited(name: object, folders: tuple[Path, ...], chain: tuple[Path, ...]) -> Profile | None:
    """Load the profile that another inherits from; `chain` are the files that led here, to find circles."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise ProfileError(f"{name!r} is not the name of a profile. Give one in quotes.")
    try:
        path = _locate(name, folders, chain)
    except UnknownName:
        if all(file.stem != name for file in chain):
            raise
        # The name is that of a file on the way here, which was passed over: a circle.
        path = chain[0]
    if path in chain:
        links = " -> ".join([*(file.stem for file in chain), name])
        raise ProfileError(f"{links} goes in a circle. Remove one of the links.")
    return _load(path, folders, chain)


def _read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}. Give the path of a .toml file.") from error
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error


def _make_error(where: str, problems: Sequence[str]) -> ProfileError:
    if len(problems) == 1:
        return ProfileError(f"{where}: {problems[0]}")
    listed = "\n".join(f"- {problem}" for problem in problems)
    return ProfileError(f"{where} has {len(problems)} problems:\n{listed}")


def usable_profiles(folders: Sequence[Path]) -> tuple[Profile, ...]:
    """Return every profile that loads, with the user's lenses; `weft profile check` explains those that do not."""
    # In reverse, because `with_lenses` lets the last lens of a name win and the first folder has precedence.
    lenses = [lens for folder in reversed(folders) for lens in load_lenses(folder)]
    profiles = []
    for name in available_profiles(folders):
        try:
            profiles.append(with_lenses(load_profile(name, folders), lenses))
        except ProfileError:
            continue
    return tuple(profiles)
