"""The same tree gives the same bytes of wheel and sdist, wherever and whenever it is built."""

import os
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from distribution import ROOT, build

_PACKED = ("src", "tests", "docs", "examples", "deploy")
_NOT_PACKED = shutil.ignore_patterns("__pycache__", ".weft", ".hypothesis", "site")


def _copy_tree(target: Path, age: int) -> Path:
    """Copy what is packed, with other times of change and other rights."""
    for name in _PACKED:
        shutil.copytree(ROOT / name, target / name, ignore=_NOT_PACKED)
    for file in ROOT.iterdir():
        if file.is_file() and file.name != ".git":
            shutil.copy(file, target / file.name)
    for path in target.rglob("*"):
        os.utime(path, (age, age))
        if path.is_file():
            path.chmod(0o600 if age % 2 else 0o644)
    return target


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    return [
        build(_copy_tree(tmp_path_factory.mktemp(name), age), tmp_path_factory.mktemp(f"{name}-dist"))
        for name, age in (("first", 1_500_000_001), ("second", 1_600_000_000))
    ]


def test_wheel_and_sdist_have_the_same_bytes_when_built_twice(builds: list[dict[str, bytes]]) -> None:
    assert [name.rpartition(".")[2] for name in builds[0]] == ["whl", "gz"]
    assert builds[0] == builds[1]


def test_the_wheel_holds_the_package_its_data_and_the_examples_and_nothing_else(
    builds: list[dict[str, bytes]],
) -> None:
    content = next(content for name, content in builds[0].items() if name.endswith(".whl"))
    names = zipfile.ZipFile(BytesIO(content)).namelist()
    assert {"weft/py.typed", "weft/embed/data/vectors.npy", "weft/profiles/general.toml"} <= set(names)
    assert any(name.startswith("weft/examples/novel/") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"weft", "weft_context"}
    assert not [name for name in names if "__pycache__" in name or "/.weft/" in name]
