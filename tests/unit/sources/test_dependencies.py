"""The installed packages that a project declares are found in the environment that it uses."""

from pathlib import Path

import pytest

from weft.errors import InvalidInput
from weft.sources.dependencies import find_dependencies


def install(environment: Path, name: str, module: str) -> Path:
    """Lay out an installed package as pip does."""
    folder = environment / "lib" / "python3.11" / "site-packages"
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text("def load():\n    return 1\n")
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n{module}-1.2.dist-info/METADATA,,\n")
    (environment / "pyvenv.cfg").write_text("home = /usr\n")
    return folder / module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["Big_Templates >= 1", "absent"]\n')
    return tmp_path


def test_declared_packages_are_found_in_the_environment_of_the_project(project: Path) -> None:
    folder = install(project / ".venv", "big-templates", "templates")
    install(project / "elsewhere", "absent", "absent")
    (package,) = find_dependencies(project, str(project / "elsewhere"))
    assert (package.name, package.version, package.paths) == ("big-templates", "1.2", (folder,))


def test_without_an_environment_of_its_own_the_active_one_is_used(project: Path) -> None:
    install(project / "elsewhere", "absent", "absent")
    assert [package.name for package in find_dependencies(project, str(project / "elsewhere"))] == ["absent"]


def test_what_is_missing_is_said(project: Path) -> None:
    with pytest.raises(InvalidInput, match="No environment was found"):
        find_dependencies(project, "")
    (project / "pyproject.toml").unlink()
    with pytest.raises(InvalidInput, match="declares no dependencies"):
        find_dependencies(project, "")
