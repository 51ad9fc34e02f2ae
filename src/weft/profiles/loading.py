"""Find profile and lens files, read them, and refuse what does not fit with an error that names every problem.

Templates and parameters are filled in here with what a caller gives.
"""

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from weft.errors import InvalidInput, ProfileError, UnknownName
from weft.model import Json
from weft.profiles.toml_format import Position, amend, read
from weft.profiles.types import (
    Lens,
    Parameter,
    Profile,
)
from weft.text import normalise_name

_BUILTIN: Final = Path(__file__).parent
_LENS_SUFFIX: Final = ".lens.toml"
_LENS_FILE: Final = "lenses.toml"
_CACHED_PROFILES: Final = 64
"""Builtin profiles that stay loaded: far more than there are."""
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An escaped brace, or a placeholder with its name."""
_OPTIONAL: Final = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
"""A part that is printed only with all its values; no part holds another."""
_BRACES: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""Everything with a brace, sound or not: what `_TOKEN` does not match is reported to the author."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
"""The name that a placeholder may have; a name of a table may have a dash too."""
_TYPE_WORDS: Final = {"text": "text", "integer": "a whole number", "number": "a number", "flag": "true or false"}
"""How messages call the types of parameters."""
_FLAGS: Final = {"true": True, "yes": True, "false": False, "no": False}
"""The words that a command line may give for a flag."""
_MAX_INTEGER_CHARACTERS: Final = 18
"""Digits of a whole number that always fit into 64 bits, as stores keep them."""


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
    return tuple(f"{where}: {problem}" for problem in (*problems, *(_find_problems(profile) if profile else ())))


def apply_preset(profile: Profile, name: str) -> Profile:
    """Return the profile with the preset's values instead of its own."""
    if name not in profile.presets:
        raise UnknownName("preset", name, profile.presets, f"These are the presets of {profile.name!r}.")
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
        problems += _find_problems(replace(profile, lens=profile.lenses[0].name))
    if problems:
        raise _make_error(str(path), problems)
    return profile.lenses


def user_lenses(folders: Sequence[Path]) -> tuple[Lens, ...]:
    """Return the lenses of all folders, to be added to a profile; those of the first folder come last and win."""
    return tuple(lens for folder in reversed(folders) for lens in load_lenses(folder))


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
    # A profile that cannot be read at all would give problems that are none of its own; those that ship with Weft
    # are checked when Weft is tested, and not at every start.
    if profile is not None and path.parent != _BUILTIN:
        problems += _find_problems(profile)
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


def _find_problems(profile: Profile) -> tuple[str, ...]:
    # Loaded here: the checks build on this module, and only profiles of the user's own need them.
    from weft.profiles.checks import find_problems

    return find_problems(profile)


def _make_error(where: str, problems: Sequence[str]) -> ProfileError:
    if len(problems) == 1:
        return ProfileError(f"{where}: {problems[0]}")
    listed = "\n".join(f"- {problem}" for problem in problems)
    return ProfileError(f"{where} has {len(problems)} problems:\n{listed}")


def usable_profiles(folders: Sequence[Path]) -> tuple[Profile, ...]:
    """Return every profile that loads, with the user's lenses; `weft profile check` explains those that do not."""
    lenses = user_lenses(folders)
    profiles = []
    for name in available_profiles(folders):
        try:
            profiles.append(with_lenses(load_profile(name, folders), lenses))
        except ProfileError:
            continue
    return tuple(profiles)


# --- what a caller gives: templates and parameters ----------------------------------------------------------


def fill(template: str, values: Mapping[str, Json]) -> str:
    """Return the template with each {name} replaced by its value, and each [[part]] only if all it names is given.

    `{{` and `}}` print braces. A value of None is not given and prints as nothing. Brackets around words
    without a placeholder are ordinary words. Values are never read as templates themselves.
    """
    pieces: list[str] = []
    end = 0
    for part in _OPTIONAL.finditer(template):
        names = placeholders(part[1])
        # Brackets without a placeholder are words, as in a wiki link.
        if names:
            pieces.append(_fill_part(template[end : part.start()], values))
            pieces.append(_fill_part(part[1], values) if all(is_given(values, name) for name in names) else "")
            end = part.end()
    pieces.append(_fill_part(template[end:], values))
    return "".join(pieces)


def placeholders(template: str) -> tuple[str, ...]:
    """Return the names a template uses, in order of first use."""
    return tuple(dict.fromkeys(match[1] for match in _TOKEN.finditer(template) if match[1]))


def is_given(values: Mapping[str, Json], name: str | None) -> bool:
    """Return whether a `when` holds: no name, or a parameter that is neither missing, empty nor false."""
    if name is None:
        return True
    # By identity for False, because 0 is a number that a caller gave.
    value = values.get(name)
    return value is not None and value is not False and value != ""


def malformed(template: str) -> tuple[str, ...]:
    """Return the braces of a template that are neither a plain {name} nor an escaped brace."""
    return tuple(
        match[0]
        for match in _BRACES.finditer(template)
        if match[0] not in ("{{", "}}") and not _PLAIN_NAME.match(match[1] or "")
    )


def _fill_part(template: str, values: Mapping[str, Json]) -> str:
    return _TOKEN.sub(lambda match: _value_text(match, template, values), template)


def _value_text(match: re.Match[str], template: str, values: Mapping[str, Json]) -> str:
    name = match[1]
    # A doubled brace prints one.
    if not name:
        return match[0][0]
    if name not in values:
        allowed = ", ".join(sorted(values)) or "(none)"
        raise ProfileError(f"{{{name}}} in {template!r} has no value. Known here: {allowed}.")
    value = values[name]
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def resolve_parameters(profile: Profile, given: Mapping[str, Json], question: str = "") -> dict[str, Json]:
    """Return every parameter of the profile with its value: the given one, else its default, else None.

    A flag is set by a question that holds one of its phrases.
    """
    known = {parameter.name: parameter for parameter in profile.parameters}
    for name in given:
        if name not in known:
            raise UnknownName("parameter", name, known, f"The profile {profile.name!r} takes no others.")
    return {name: _resolve(parameter, given.get(name), question) for name, parameter in known.items()}


def coerce(parameter: Parameter, value: Json) -> Json:
    """Return the value as the parameter's type; numbers and flags may be text, as a command line gives them."""
    if parameter.type == "choice":
        if value not in parameter.choices:
            raise UnknownName(parameter.name, str(value), parameter.choices)
        return value
    readers = {"text": _read_text, "integer": _read_integer, "number": _read_number, "flag": _read_flag}
    result = readers[parameter.type](value)
    if result is None:
        words = _TYPE_WORDS[parameter.type]
        raise InvalidInput(f"{value!r} is not allowed for the parameter {parameter.name!r}. Give {words}.")
    return result


def _resolve(parameter: Parameter, value: Json, question: str) -> Json:
    # A value that was given wins over what the question seems to ask for.
    if value is not None:
        return coerce(parameter, value)
    if any(_contains(question, phrase) for phrase in parameter.phrases):
        return True
    if parameter.required:
        allowed = ", ".join(parameter.choices) if parameter.choices else _TYPE_WORDS[parameter.type]
        raise InvalidInput(f"The parameter {parameter.name!r} is required. Give one of: {allowed}.")
    return parameter.default


def _contains(question: str, phrase: str) -> bool:
    """Return whether the question has the words of a phrase, one after the other, however they are written."""
    return f" {normalise_name(phrase)} " in f" {normalise_name(question)} "


def _read_text(value: Json) -> Json:
    return value if isinstance(value, str) else None


def _read_integer(value: Json) -> Json:
    if isinstance(value, str):
        digits = value.strip()
        # Not `int()` alone, which also takes underscores and any number of digits.
        is_number = digits.removeprefix("-").isdecimal() and len(digits) <= _MAX_INTEGER_CHARACTERS
        return int(digits) if is_number else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_number(value: Json) -> Json:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    # An integer of a thousand digits is no float, and raises OverflowError.
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _read_flag(value: Json) -> Json:
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return value if isinstance(value, bool) else None
