"""The release script does everything but the upload, and refuses what is no release, in a copy of the project."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from distribution import ROOT, run

_NOT_COPIED = shutil.ignore_patterns(
    "__pycache__", ".weft", ".venv*", ".git", "dist", "site", ".*_cache", ".hypothesis"
)
_AUTHOR = {
    f"GIT_{role}_{part}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this project under a git of its own, with one line in the changelog."""
    pytest.importorskip("hatchling")
    copy = Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("release") / "weft", ignore=_NOT_COPIED))
    changes = copy / "CHANGELOG.md"
    head, _, rest = changes.read_text("utf-8").partition("## [Unreleased]\n")
    changes.write_text(f"{head}## [Unreleased]\n\n### Added\n\n- An oven.\n{rest}", "utf-8")
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "Begin")):
        assert run("git", *command, environment=_AUTHOR, folder=copy).returncode == 0
    return copy


def _release(project: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    around = {**_AUTHOR, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return run(
        *(sys.executable, project / "scripts" / "release.py", *words, "--unchecked", "--date", "2027-01-02"),
        environment={**around, "PYTHONPATH": str(project / "src")},
        folder=project,
    )


@pytest.mark.parametrize(
    ("version", "problem"), [("0.0.9", "does not come after"), ("next", "is no version"), ("0.1", "is no version")]
)
def test_what_is_no_later_version_is_refused(project: Path, version: str, problem: str) -> None:
    refused = _release(project, version)
    assert refused.returncode == 1
    assert problem in refused.stderr


def test_uncommitted_changes_are_refused(project: Path) -> None:
    stray = project / "stray.txt"
    stray.write_text("x", "utf-8")
    refused = _release(project, "9.0.0")
    stray.unlink()
    assert refused.returncode == 1
    assert "uncommitted changes" in refused.stderr


def test_a_release_sets_the_version_closes_the_changelog_builds_checks_commits_and_tags(project: Path) -> None:
    done = _release(project, "9.0.0")
    assert done.returncode == 0, done.stderr
    assert 'version = "9.0.0"' in (project / "pyproject.toml").read_text("utf-8")
    assert '__version__ = "9.0.0"' in (project / "src" / "weft" / "__init__.py").read_text("utf-8")
    assert "weft 9.0.0" in (project / "docs" / "weft.1").read_text("utf-8")
    changes = (project / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]\n\n## [9.0.0] - 2027-01-02\n\n### Added\n\n- An oven.\n" in changes
    names = {file.name for file in (project / "dist").iterdir()}
    assert names == {
        "weft_context-9.0.0-py3-none-any.whl",
        "weft_context-9.0.0.tar.gz",
        "bill-of-materials.json",
        "SHA256SUMS",
    }
    for line in (project / "dist" / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((project / "dist" / name).read_bytes()).hexdigest() == digest
    assert run("git", "tag", folder=project).stdout.split() == ["v9.0.0"]
    assert run("git", "status", "--porcelain", folder=project).stdout == ""
    assert "twine upload" in done.stdout
    # Nothing changed since, so there is nothing to release.
    again = _release(project, "9.0.1")
    assert again.returncode == 1
    assert "has nothing under" in again.stderr
    assert run("git", "status", "--porcelain", folder=project).stdout == ""


def test_the_hooks_of_commits_run_programs_that_the_project_installs() -> None:
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"ruff", "ruff-format", "mypy", "layers", "reference", "manual-page"}
    for hook in hooks:
        assert hook["language"] == "system"
        # Not make, which would install what pyproject.toml asks for in the middle of a commit.
        assert hook["entry"].startswith(".venv/bin/")
