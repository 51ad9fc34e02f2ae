"""The docs site builds strictly, holds every page, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.docs_site import OUTSIDE, follow_links

from doc_blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    around = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=around)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    written = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    expected = [*written, *(Path(page).with_suffix(".html") for page in OUTSIDE.values())]
    assert [str(page) for page in expected if not (site / page).exists()] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//[^\"]*\"")
    styles = re.compile(r"<link[^>]*rel=\"(?:stylesheet|preload|preconnect)\"[^>]*href=\"(?:https?:)?//[^\"]*\"")
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert loaded.findall(text) + styles.findall(text) == [], page.name


def test_links_between_files_of_the_repository_become_links_between_pages() -> None:
    text = "[a](../CHANGELOG.md#x) [b](eval.md) [c](../tests) [d](../gone.md)"
    shown = follow_links(text, "docs/cli.md", "cli.md")
    assert shown == "[a](changes.md#x) [b](eval.md) c [d](../gone.md)"
    assert follow_links("[a](docs/cli.md)", "CONTRIBUTING.md", "contributing.md") == "[a](cli.md)"
