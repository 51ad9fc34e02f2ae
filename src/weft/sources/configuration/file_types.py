"""Recognise configuration and build files by their names, and the folders that hold data instead."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

JSON: Final = "json"
YAML: Final = "yaml"
TOML: Final = "toml"
INI: Final = "ini"

_LANGUAGE_BY_SUFFIX: Final = {
    ".bat": "bat",
    ".bazel": "starlark",
    ".bzl": "starlark",
    ".cff": YAML,
    ".cfg": INI,
    ".cmake": "cmake",
    ".conf": INI,
    ".csproj": "xml",
    ".dockerfile": "dockerfile",
    ".fsproj": "xml",
    ".gemspec": "ruby",
    ".gradle": "gradle",
    ".graphql": "graphql",
    ".hcl": "hcl",
    ".ini": INI,
    ".json5": "jsonc",
    ".jsonc": "jsonc",
    ".mk": "makefile",
    ".nix": "nix",
    ".podspec": "ruby",
    ".properties": "properties",
    ".proto": "protobuf",
    ".ps1": "powershell",
    ".ru": "ruby",
    ".sbt": "scala",
    ".tf": "terraform",
    ".thrift": "thrift",
    ".toml": TOML,
    ".yaml": YAML,
    ".yml": YAML,
}
_LANGUAGE_BY_NAME: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), language)
    for pattern, language in (
        (r"(?:dockerfile|containerfile)(?:\.[\w.-]+)?", "dockerfile"),
        (r"(?:gnu)?makefile(?:\.\w+)?|justfile", "makefile"),
        (
            r"(?:[\w.-]*[_.-])?(?:requirements|constraints)(?:[_.-][\w.-]*)?\.(?:txt|in)|manifest\.in",
            "requirements",
        ),
        (r"go\.(?:mod|work)", "gomod"),
        (r"cmakelists\.txt", "cmake"),
        (r"pipfile", TOML),
        (r"(?:gem|rake|vagrant|brew|pod|fast|danger)file", "ruby"),
        (r"(?:pom|androidmanifest)\.xml|directory\.(?:build|packages)\.(?:props|targets)|nuget\.config", "xml"),
        (r"jenkinsfile(?:\.\w+)?", "groovy"),
        (r"(?-i:BUILD|WORKSPACE)|tiltfile", "starlark"),
        (r"procfile", YAML),
        (r"\.(?:coveragerc|editorconfig|flake8|isort|pylintrc)", INI),
        (r"\.(?:babelrc|eslintrc|prettierrc|stylelintrc)", "jsonc"),
        (r"\.(?:clang-format|clang-tidy)", YAML),
        (r"\.env\.\w+|env\.(?:example|sample|template|dist)", "dotenv"),
        (
            r"\.(?:bazelrc|browserslistrc|dockerignore|nvmrc|tool-versions|(?:node|python|ruby)-version)|codeowners",
            "properties",
        ),
    )
)
_REQUIREMENTS_FOLDER: Final = "requirements"
"""A folder in which every file of these suffixes lists packages."""
# JSON of other names may hold records, which a reader finds out by its content.
_KNOWN_JSON: Final = re.compile(
    r"(?:angular|app|biome|bower|components|composer|deno|devcontainer|firebase|lerna|manifest|nest-cli|now|nx"
    r"|package|project|pyrightconfig|renovate|tsdoc|tslint|turbo|typedoc|vercel|wrangler)\.json"
    r"|(?:ts|js)config(?:[.-][\w.-]+)?\.json|[\w.-]+\.config\.json|\.\w[\w.-]*\.json",
    re.IGNORECASE,
)
_LOCK_FILE: Final = re.compile(
    r".+\.lockb?|go\.sum|go\.work\.sum|npm-shrinkwrap\.json|(?:package|packages)[.-]lock\.json|pnpm-lock\.ya?ml"
    r"|[\w.-]+\.lock\.(?:json|ya?ml|toml)|gradle\.lockfile|package\.resolved",
    re.IGNORECASE,
)

_MAX_JSON_IN_FOLDER: Final = 50
_MAX_OTHERS_IN_FOLDER: Final = 200
"""Files of one suffix in one folder beyond which they are data: nobody keeps that many settings side by side."""
_MAX_IN_TREE: Final = 1_000
"""The same for everything below one folder at the root, however it is spread."""


def find_file_type(path: str) -> str | None:
    """Return the language of a configuration or build file by its path, or None if it is none."""
    parts = PurePosixPath(path)
    suffix = parts.suffix.lower()
    for pattern, language in _LANGUAGE_BY_NAME:
        if pattern.fullmatch(parts.name):
            return language
    if suffix in (".txt", ".in") and parts.parent.name == _REQUIREMENTS_FOLDER:
        return "requirements"
    if suffix == ".json":
        return JSON if _KNOWN_JSON.fullmatch(parts.name) else None
    return _LANGUAGE_BY_SUFFIX.get(suffix)


def is_lock_file(path: str) -> bool:
    """Return whether a program wrote the file to pin what was installed."""
    return _LOCK_FILE.fullmatch(PurePosixPath(path).name) is not None


def find_data_folders(paths: Iterable[str]) -> dict[str, str]:
    """Return the reason for each file that lies among so many of its suffix that they are data, not settings."""
    counted = [path for path in paths if not (_KNOWN_JSON.fullmatch(PurePosixPath(path).name) or _is_hidden(path))]
    folders = Counter((str(PurePosixPath(path).parent), PurePosixPath(path).suffix) for path in counted)
    trees = Counter((path.split("/")[0], PurePosixPath(path).suffix) for path in counted if "/" in path)
    found: dict[str, str] = {}
    for path in counted:
        parts = PurePosixPath(path)
        limit = _MAX_JSON_IN_FOLDER if parts.suffix == ".json" else _MAX_OTHERS_IN_FOLDER
        here, below = folders[str(parts.parent), parts.suffix], trees[path.split("/")[0], parts.suffix]
        if here > limit or below > _MAX_IN_TREE:
            where = "one folder" if here > limit else f"{path.split('/')[0]}/"
            found[path] = f"data folder: {max(here, below):,} {parts.suffix or 'such'} files in {where}"
    return found


def _is_hidden(path: str) -> bool:
    # Folders of workflows are read whole: a large project has hundreds of them.
    return any(part.startswith(".") for part in path.split("/"))
