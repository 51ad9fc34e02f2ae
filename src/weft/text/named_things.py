"""Find the files, symbols, commands and versions that a text names, as people write them in notes and messages."""

import re
from collections.abc import Iterable
from typing import Final

_PATH: Final = re.compile(
    r"(?<![\w/:.])(?:\.{0,2}/)?((?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,5})(?![\w/])", re.IGNORECASE
)
_QUOTED: Final = re.compile(r"`([A-Za-z_][\w.:#]*)(?:\(\))?`")
_CALL: Final = re.compile(r"(?<![\w`.])([A-Za-z_][\w.]*[\w])\(\)")
_JOINED: Final = re.compile(r"(?<![\w`./#:-])([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?![\w`(/-]|\.\w)")
"""Words joined by underscores, which no language writes but code."""
_CAMEL: Final = re.compile(
    r"(?<![\w`./#:@-])((?:[A-Z]+[a-z0-9]+|[a-z]+[a-z0-9]*)(?:[A-Z]+[a-z0-9]*)+)(?![\w`(/-]|\.\w)"
)
"""Words with a capital inside, as `TokenReader` and `readToken`: people and products are called so too, but only
those count that the store holds as a symbol."""
_COMMAND: Final = re.compile(
    r"\b(?P<program>make|just|npm run|npm|pnpm run|pnpm|yarn run|yarn|bun run) (?P<target>[a-z][\w:.-]*[\w])"
)
_VERSION: Final = re.compile(r"\b(?P<name>[A-Za-z][\w.-]*[A-Za-z]) (?:version )?v?(?P<version>\d+(?:\.\d+)+)\b")
MANIFESTS: Final = (
    *("Makefile", "GNUmakefile", "justfile", "package.json", "pyproject.toml", "requirements.txt", "go.mod"),
    *("Cargo.toml", ".python-version", "Gemfile", "pom.xml"),
)
"""Files that declare the commands and versions of a project."""
_MAX_NAMES: Final = 20
"""Names read of one text: one that names more is a list, of which a few may well have gone."""


def find_named_things(text: str) -> tuple[str, ...]:
    """Return what a text names: paths, symbols that are written as such, commands and versions.

    A symbol stands in backticks, has brackets behind it, is joined by underscores, or has a capital inside.

    Commands ("make bench") and versions of something ("Django 4.2") are two words, and the others one.
    """
    names = [match[1] for pattern in (_PATH, _QUOTED, _CALL, _JOINED, _CAMEL) for match in pattern.finditer(text)]
    # "e.g." and "3.11" look like files with a suffix.
    things = [name for name in names if not _is_abbreviation(name)]
    commands = [f"{match['program']} {match['target']}" for match in _COMMAND.finditer(text)]
    versions = [f"{match['name']} {match['version']}" for match in _VERSION.finditer(text)]
    return tuple(dict.fromkeys((*things, *commands, *versions)))[:_MAX_NAMES]


def _is_abbreviation(name: str) -> bool:
    return all(len(part) <= 1 for part in name.split(".")) or name.replace(".", "").isdigit()


def is_declared(claim: str, manifests: Iterable[str]) -> bool:
    """Return whether the text of a manifest declares a command, or gives something that version."""
    program, _, last = claim.rpartition(" ")
    if _COMMAND.fullmatch(claim):
        # A rule of a makefile, or a script of a package.
        target = re.escape(last)
        pattern = re.compile(rf"^{target}\s*(?:[\w\s]*):(?!=)|^\s*\"{target}\"\s*:", re.MULTILINE)
    else:
        pattern = re.compile(
            rf"{re.escape(program)}[^\n]{{0,60}}?(?<![\d.]){re.escape(last)}(?!\d)", re.IGNORECASE
        )
    return any(pattern.search(text) for text in manifests)
