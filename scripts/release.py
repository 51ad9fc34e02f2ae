"""Make a release, all but the upload: `python scripts/release.py 0.3.0`.

Checks that nothing is uncommitted, sets the version, closes the changelog, makes the documents that hold the
version, runs `make check`, builds wheel and sdist twice and compares them, tries the wheel, writes checksums and
the bill of materials, commits and tags. Prints what is left to type. A step that fails leaves the files as
they were.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
OPEN = "## [Unreleased]"
SOURCES = (
    ("pyproject.toml", 'version = "{}"'),
    ("src/weft/__init__.py", '__version__ = "{}"'),
    ("deploy/helm/weft/Chart.yaml", "version: {}"),
    ("deploy/helm/weft/Chart.yaml", "appVersion: {}"),
    ("deploy/helm/weft/values.yaml", '  tag: "{}"'),
)
"""The files that state the version, and how."""


def main() -> int:
    """Make the release that the command line names."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("version", help="such as 0.3.0 or 0.3.0rc1")
    reader.add_argument("--unchecked", action="store_true", help="do not run `make check`")
    reader.add_argument("--date", help="the day of the release; today by default")
    options = reader.parse_args()
    day = options.date or datetime.now(UTC).date().isoformat()
    try:
        release(options.version, day, options.unchecked)
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 1
    print(f"\nv{options.version} is made. What is left to type:")
    print(f"  git push origin HEAD v{options.version}")
    print("  twine upload dist/*.whl dist/*.tar.gz")
    return 0


class Refused(Exception):
    """A reason why there is no release."""


def release(version: str, day: str, unchecked: bool) -> None:
    """Do every step in its order; the first that fails ends it, before anything is committed."""
    before = read_version()
    check_version(version, before)
    if run("git", "status", "--porcelain"):
        raise Refused("there are uncommitted changes. Commit or stash them first.")
    try:
        prepare(version, before, day, unchecked)
    except Refused:
        # Nothing was uncommitted before, so nothing of anybody's is lost.
        run("git", "restore", ".")
        raise
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "--message", f"Release {version}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Weft {version}")


def prepare(version: str, before: str, day: str, unchecked: bool) -> None:
    """Change the files, check them, and build."""
    set_version(before, version)
    close_changelog(version, before, day)
    make_documents()
    if not unchecked:
        step("make check")
        run("make", "check")
    build(day)
    try_wheel(version)
    write_checksums()


def read_version() -> str:
    """Return the version that all files state alike."""
    found = set()
    for name, line in SOURCES:
        text = (ROOT / name).read_text("utf-8")
        pattern = re.escape(line).replace(re.escape("{}"), '([^"\\n]+)')
        match = re.search(f"^{pattern}", text, re.M)
        found.add(match[1] if match else f"none in {name}")
    if len(found) != 1:
        raise Refused(f"the files state different versions: {', '.join(sorted(found))}.")
    return found.pop()


def check_version(version: str, before: str) -> None:
    """Refuse what is no version, or not a later one."""
    if VERSION.fullmatch(version) is None:
        raise Refused(
            f"{version!r} is no version. Write MAJOR.MINOR.PATCH, with a1, b1 or rc1 behind it if need be."
        )
    if _order(version) <= _order(before):
        raise Refused(f"{version} does not come after {before}.")


def _order(version: str) -> tuple[object, ...]:
    numbers, stage, count = re.fullmatch(r"([\d.]+?)(?:(a|b|rc)(\d+))?", version).groups()  # type: ignore[union-attr]
    # A version without a stage comes after all of its candidates, and `z` after every stage.
    return tuple(map(int, numbers.split("."))), stage or "z", int(count or 0)


def set_version(before: str, version: str) -> None:
    """Write the version where it is stated."""
    step(f"version {before} -> {version}")
    for name, line in SOURCES:
        path = ROOT / name
        path.write_text(path.read_text("utf-8").replace(line.format(before), line.format(version), 1), "utf-8")


def close_changelog(version: str, before: str, day: str) -> None:
    """Give what is unreleased its version and day, and open a new part above it."""
    step("changelog")
    path = ROOT / "CHANGELOG.md"
    text = path.read_text("utf-8")
    head, mark, rest = text.partition(f"{OPEN}\n")
    news = rest.partition("\n## [")[0]
    if not mark or not re.search(r"^- ", news, re.M):
        raise Refused(f"CHANGELOG.md has nothing under {OPEN!r} since {before}. Say what changed first.")
    path.write_text(f"{head}{OPEN}\n\n## [{version}] - {day}\n{rest}", "utf-8")


def make_documents() -> None:
    """Make the documents that hold the version or are read from the code."""
    step("documents")
    around = {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    run(sys.executable, "scripts/man_page.py", **around)
    run(sys.executable, "-m", "scripts.reference", **around)


def build(day: str) -> None:
    """Build wheel and sdist into dist/, and once more elsewhere: both must have the same bytes."""
    step("build, twice")
    time = str(int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()))
    target = ROOT / "dist"
    for old in target.glob("weft_context-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as again:
        for folder in (str(target), again):
            run(sys.executable, "-m", "hatchling", "build", "-d", folder, SOURCE_DATE_EPOCH=time)
        for file in Path(again).iterdir():
            if file.read_bytes() != (target / file.name).read_bytes():
                raise Refused(f"{file.name} is not the same when it is built twice.")


def try_wheel(version: str) -> None:
    """Install the wheel into an empty folder, and ask it for its version."""
    step("try the wheel")
    wheel = next((ROOT / "dist").glob(f"weft_context-{version}-*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
        run(*pip, "--target", folder, str(wheel))
        told = run(sys.executable, "-m", "weft", "--version", PYTHONPATH=folder)
    if told.strip() != f"weft {version}":
        raise Refused(f"the wheel says {told.strip()!r}.")


def write_checksums() -> None:
    """Write the bill of materials and the digests of all files beside them."""
    step("bill of materials and checksums")
    target = ROOT / "dist"
    (target / "bill-of-materials.json").write_text(run(sys.executable, "scripts/supply_chain.py"), "utf-8")
    files = sorted(file for file in target.iterdir() if file.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (target / "SHA256SUMS").write_text("".join(lines), "utf-8")


def step(name: str) -> None:
    """Say what is done now."""
    print(f"- {name}", flush=True)


def run(*command: str, **variables: str) -> str:
    """Run a program in the project and return what it printed; its failure ends the release."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command)}` failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
