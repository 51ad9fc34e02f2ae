"""Let mkdocs show the documents that stand outside docs/, and follow the links between all of them.

The files of the repository link to each other as they lie in it. Here the link to a file that is a page of the
site leads to that page, and the link to any other file of the repository (a test, an example) becomes its name.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "bench/README.md": "benchmarks.md",
    "bench/evidence/README.md": "benchmarks-evidence.md",
    "examples/README.md": "examples.md",
}
"""Documents elsewhere in the repository, and the pages of the site that show them."""
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$", re.M | re.S)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents that stand outside the folder of the docs."""
    for source, page in OUTSIDE.items():
        if (ROOT / source).exists():
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links of a page lead to pages of the site."""
    shown = page.file.src_uri
    source = {site: kept for kept, site in OUTSIDE.items()}.get(shown, f"docs/{shown}")
    parts, end = [], 0
    for fence in _FENCED.finditer(markdown):
        parts += [follow_links(markdown[end : fence.start()], source, shown), fence[0]]
        end = fence.end()
    return "".join([*parts, follow_links(markdown[end:], source, shown)])


def follow_links(text: str, source: str, shown: str) -> str:
    """Return a text of the repository's file `source` with its links as the page `shown` of the site has them."""

    def follow(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        path, hash_mark, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return link[0]
        kept = os.path.normpath(str(PurePosixPath(source).parent / path))
        site = kept.removeprefix("docs/") if kept.startswith("docs/") else OUTSIDE.get(kept, "")
        if kept == "docs/decisions":
            site = "decisions/index.md"
        # A file that is no page has its name here; one that does not exist stays, for mkdocs to complain about.
        if not site or (ROOT / "docs" / site).is_dir():
            return words if (ROOT / kept).exists() else link[0]
        return f"[{words}]({os.path.relpath(site, PurePosixPath(shown).parent)}{hash_mark}{anchor})"

    return _LINK.sub(follow, text)
