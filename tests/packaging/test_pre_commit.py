"""The hooks of pre-commit run on the whole project without the network, and stop a commit that does not hold."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from distribution import ROOT, find_tool, run

_NOT_COPIED = shutil.ignore_patterns(
    "__pycache__", ".weft", ".venv*", ".git", "dist", "site", ".*_cache", ".hypothesis"
)
_AUTHOR = {
    f"GIT_{role}_{part}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
}


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of this project under a git of its own, with the hooks installed."""
    if not request.config.getoption("--packaging"):
        pytest.skip("checks the whole project: run with --packaging")
    copy = Path(shutil.copytree(ROOT, tmp_path / "weft", ignore=_NOT_COPIED))
    (copy / ".venv").symlink_to(sys.prefix)
    assert run("git", "init", "--quiet", folder=copy).returncode == 0
    (copy / ".git" / "info" / "exclude").write_text(".venv\n")
    assert run("git", "add", "--all", folder=copy).returncode == 0
    return copy


def test_every_hook_holds_offline_and_a_fault_is_not_committed(project: Path) -> None:
    pre_commit = find_tool("pre-commit")
    # Nothing listens there: whatever tries to fetch something fails.
    nowhere = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")}
    around = {
        **nowhere,
        **_AUTHOR,
        "PRE_COMMIT_HOME": str(project.parent / "hooks"),
        "PYTHONPATH": str(project / "src"),
        "PATH": f"{pre_commit.parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = run(pre_commit, "run", "--all-files", environment=around, folder=project)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Passed") == 6
    assert run(pre_commit, "install", environment=around, folder=project).returncode == 0
    (project / "src" / "weft" / "unused.py").write_text('"""Nothing."""\n\nimport os\n')
    run("git", "add", "src/weft/unused.py", folder=project)
    refused = run("git", "commit", "--quiet", "--message", "Begin", environment=around, folder=project)
    assert refused.returncode != 0
    assert "`os` imported but unused" in refused.stderr + refused.stdout
