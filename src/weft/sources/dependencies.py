"""Find the installed packages that a Python project declares, in the environment that the project uses."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput

_ENVIRONMENTS: Final = (".venv", "venv", "env")
"""Folders in which projects keep their environment."""
_REQUIREMENT: Final = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


class Package(Struct, frozen=True):
    """An installed package: its name, its version, and the folders and files of its modules."""

    name: str
    version: str
    paths: tuple[Path, ...]


def find_dependencies(root: Path, environment: str) -> tuple[Package, ...]:
    """Return the packages that a project declares and its environment holds, by name.

    `environment` is the active one, used where the project has none of its own.
    """
    declared = sorted(set(_declared(root)))
    if not declared:
        raise InvalidInput(
            f"{root} declares no dependencies that are understood: neither `dependencies` in pyproject.toml nor "
            "requirements.txt. Index a package by its folder instead: weft index PATH --source NAME."
        )
    folders = [folder for place in _environments(root, environment) for folder in _package_folders(place)]
    if not folders:
        raise InvalidInput(
            f"No environment was found in {root} ({', '.join(_ENVIRONMENTS)}), and none is active. Install the "
            "project's dependencies, or activate its environment, and try again."
        )
    installed = {_normal(found.metadata["Name"]): found for found in distributions(path=list(map(str, folders)))}
    return tuple(package for name in declared if name in installed for package in _packages(name, installed[name]))


def _declared(root: Path) -> Iterator[str]:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8")).get("project", {})
        lines = list(project.get("dependencies", ()))
    except (OSError, tomllib.TOMLDecodeError, AttributeError):
        lines = []
    with suppress(OSError):
        lines += (root / "requirements.txt").read_text("utf-8").splitlines()
    for line in lines:
        match = _REQUIREMENT.match(str(line))
        if match is not None:
            yield _normal(match[1])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _environments(root: Path, active: str) -> Iterator[Path]:
    own = [root / name for name in _ENVIRONMENTS if (root / name / "pyvenv.cfg").is_file()]
    yield from own or ([Path(active)] if active else [])


def _package_folders(environment: Path) -> Iterator[Path]:
    yield from sorted(environment.glob("lib/python*/site-packages"))
    yield from sorted(environment.glob("Lib/site-packages"))


def _packages(name: str, found: Distribution) -> Iterator[Package]:
    tops = sorted({file.parts[0] for file in found.files or () if file.suffix == ".py" and ".." not in file.parts})
    paths = tuple(Path(str(found.locate_file(top))) for top in tops)
    paths = tuple(path for path in paths if path.exists())
    if paths:
        yield Package(name, found.version, paths)
