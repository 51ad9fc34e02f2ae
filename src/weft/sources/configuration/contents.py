"""Parse a configuration file far enough to tell a broken file from data, and say in a sentence what it holds.

A summary names the project, its packages, its jobs, or its keys.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import orjson
from msgspec import Struct

from weft.sources.configuration.parts import list_titles
from weft.sources.files import error_line
from weft.sources.values import check_yaml_depth, yaml_loader

_MAX_ALIASES: Final = 100
"""References in a YAML file beyond which it is not loaded: nested ones multiply what they stand for."""
_MAX_DEPTH: Final = 12
"""Levels of a JSON file beyond which it is data: people do not nest settings so deep."""
_MAX_LIST: Final = 50
"""Entries of a list at the top of a YAML file beyond which it is data, such as a table of people."""
_MAX_COMMENTED_CHARACTERS: Final = 20_000
_TEMPLATE: Final = re.compile(r"(?<!\$)\{\{|\{%")
"""Marks of a template, which is no YAML or JSON before it is filled in; `${{ }}` of workflows is."""
_JSON_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_LAST_COMMA: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')

_MAX_CHARACTERS: Final = 500
"""The longest summary: it stands for the file where there is no room for its text."""
_MAX_NAMES: Final = 12
"""Names that a summary lists of one sort: about as many as fit on two lines."""
_MAX_NAME_CHARACTERS: Final = 60
_LISTED_AS: Final = {
    "dockerfile": "Builds from",
    "graphql": "Types",
    "hcl": "Blocks",
    "ini": "Sections",
    "json": "Keys",
    "jsonc": "Keys",
    "makefile": "Targets",
    "protobuf": "Messages and services",
    "terraform": "Blocks",
    "thrift": "Types",
    "toml": "Tables",
    "yaml": "Keys",
}
_GO_REQUIREMENT: Final = re.compile(r"^(?:require)?[ \t]+([\w.-]+\.[\w./-]+) v\S+[ \t]*$", re.MULTILINE)
_MODULE: Final = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_GO_VERSION: Final = re.compile(r"^go\s+(\S+)", re.MULTILINE)
_PACKAGE: Final = re.compile(r"^\s*([A-Za-z0-9][\w.\[\],-]*)[^#\n]*", re.MULTILINE)
_WORKFLOW: Final = re.compile(r"(?:^|/)\.(?:github|gitea|forgejo)/workflows/[^/]+$")
_COMPOSE: Final = re.compile(r"(?:docker-)?compose(?:\.[\w.-]+)?\.ya?ml$")


class Parsed(Struct, frozen=True):
    """The value in a file, None where there is none, what is wrong with it, and why it is data if it is."""

    value: Any = None
    problem: str = ""
    data: str = ""


def parse(text: str, language: str) -> Parsed:
    """Parse a file of a language that can be checked; others, and templates, have no value and no problem."""
    parser = _PARSERS.get(language)
    if parser is None or (language != "toml" and _TEMPLATE.search(text)):
        return Parsed()
    try:
        value = parser(text)
    # Deeply nested brackets exhaust the stack of parsers written in Python.
    except RecursionError:
        return Parsed(data="data: nested too deeply")
    except ValueError as error:
        return Parsed(
            problem=f"Not {_NAMES[language]} ({error_line(error)}); kept as text. Correct it and index again."
        )
    return Parsed(value, data=_data_reason(value, language))


def _data_reason(value: object, language: str) -> str:
    # Settings in JSON are objects; a list is a table, a fixture or a translation.
    if isinstance(value, list) and (language == "json" or len(value) > _MAX_LIST):
        return f"data: a list of {len(value):,} values"
    if language == "json" and _is_deeper(value, _MAX_DEPTH):
        return f"data: nested deeper than {_MAX_DEPTH} levels"
    return ""


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    if levels == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return any(_is_deeper(each, levels - 1) for each in inner)


def _parse_json(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        first = error
    # Many programs allow comments and a comma before a closing bracket in their JSON, which people write and keep
    # short; in a long file the patterns could backtrack for minutes.
    try:
        if len(text) > _MAX_COMMENTED_CHARACTERS:
            raise first
        bare = _JSON_COMMENT.sub(lambda found: found[1] or "", text)
        return orjson.loads(_JSON_LAST_COMMA.sub(lambda found: found[1] or "", bare))
    except orjson.JSONDecodeError:
        raise first from None


def _parse_yaml(text: str) -> object:
    """Return the first document of a YAML file, None if its references would multiply."""
    # Loaded here, because only reading such files needs it.
    import yaml

    loader = yaml_loader()
    check_yaml_depth(text)
    try:
        # Events are read first: they find every error and expand no reference.
        events = list(yaml.parse(text, Loader=loader))
        if sum(isinstance(event, yaml.AliasEvent) for event in events) > _MAX_ALIASES:
            return None
        return next(iter(yaml.load_all(text, Loader=loader)), None)
    except yaml.constructor.ConstructorError:
        # A tag of a program's own (`!Ref`) is sound YAML that only this program can load.
        return None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "toml": tomllib.loads,
    "json": _parse_json,
    "jsonc": _parse_json,
    "yaml": _parse_yaml,
}
_NAMES: Final = {"toml": "TOML", "json": "JSON", "jsonc": "JSON", "yaml": "YAML"}


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is a mapping, or else an empty one."""
    return value if isinstance(value, Mapping) else {}


# --- summaries ---------------------------------------------------------------------------------------------


def summarise(path: str, text: str, language: str, value: object) -> str:
    """Return what a file holds, by its name and its parsed value; empty where nothing can be said."""
    sentences = list(_describe(path, text, language, as_mapping(value)))
    if not sentences:
        titles = _top_names(text, language, value)
        sentences = [f"{_LISTED_AS[language]}: {_list(titles)}."] if titles and language in _LISTED_AS else []
    summary = " ".join(sentence for sentence in sentences if sentence)
    return summary if len(summary) <= _MAX_CHARACTERS else summary[:_MAX_CHARACTERS].rsplit(" ", 1)[0] + " …"


def _describe(path: str, text: str, language: str, value: Mapping[str, Any]) -> Iterable[str]:
    name = PurePosixPath(path).name.lower()
    if _WORKFLOW.search(path):
        return _describe_workflow(value)
    if _COMPOSE.search(name) and as_mapping(value.get("services")):
        return [f"Services: {_list(as_mapping(value['services']))}."]
    if language == "gomod":
        return _describe_go_module(text)
    if language == "requirements":
        return [f"Required packages: {_list(found[1] for found in _PACKAGE.finditer(text))}."]
    describe = _BY_NAME.get(name)
    return describe(value) if describe else ()


def _describe_python_project(value: Mapping[str, Any]) -> list[str]:
    project, poetry = as_mapping(value.get("project")), as_mapping(as_mapping(value.get("tool")).get("poetry"))
    about = project or poetry
    requires = about.get("requires-python") or as_mapping(poetry.get("dependencies")).get("python")
    dependencies = about.get("dependencies")
    extras = as_mapping(project.get("optional-dependencies") or poetry.get("extras"))
    return [
        _introduce("Python project", about),
        f"Minimum Python version: {requires}." if isinstance(requires, str) else "",
        f"Runtime dependencies: {_list(dependencies)}." if isinstance(dependencies, list | Mapping) else "",
        f"Optional dependencies: {_list(extras)}." if extras else "",
        f"Tools configured: {_list(as_mapping(value.get('tool')))}." if value.get("tool") else "",
    ]


def _describe_package(value: Mapping[str, Any]) -> list[str]:
    sorts = (("dependencies", "Runtime dependencies"), ("devDependencies", "Development dependencies"))
    engines = as_mapping(value.get("engines"))
    return [
        _introduce("Package", value),
        f"Required versions: {_list(f'{name} {version}' for name, version in engines.items())}."
        if engines
        else "",
        f"Scripts: {_list(as_mapping(value.get('scripts')))}." if value.get("scripts") else "",
        *(f"{label}: {_list(as_mapping(value.get(key)))}." for key, label in sorts if value.get(key)),
    ]


def _describe_crate(value: Mapping[str, Any]) -> list[str]:
    package = as_mapping(value.get("package"))
    minimum = package.get("rust-version")
    return [
        _introduce("Rust crate", package) if package else "Rust workspace.",
        f"Minimum Rust version: {minimum}." if isinstance(minimum, str) else "",
        f"Dependencies: {_list(as_mapping(value.get('dependencies')))}." if value.get("dependencies") else "",
        f"Features: {_list(as_mapping(value.get('features')))}." if value.get("features") else "",
    ]


def _describe_go_module(text: str) -> list[str]:
    module, version = _MODULE.search(text), _GO_VERSION.search(text)
    # Indirect requirements end in a comment that says so, replacements have an arrow.
    direct = _GO_REQUIREMENT.findall(text)
    return [
        f"Go module {module[1]}." if module else "",
        f"Minimum Go version: {version[1]}." if version else "",
        f"Direct dependencies: {_list(direct)}." if direct else "",
    ]


def _describe_workflow(value: Mapping[str, Any]) -> list[str]:
    # YAML 1.1 reads the key `on` as true.
    events = value.get("on", value.get(True))  # type: ignore[call-overload]
    names = [events] if isinstance(events, str) else events if isinstance(events, list | Mapping) else ()
    jobs = as_mapping(value.get("jobs"))
    name = value.get("name")
    return [
        f"CI workflow{f' {name}' if isinstance(name, str) else ''}{f', run on {_list(names)}' if names else ''}.",
        f"Jobs: {_list(jobs)}." if jobs else "",
        *(_describe_matrix(job, as_mapping(content)) for job, content in jobs.items()),
    ]


def _describe_matrix(name: str, job: Mapping[str, Any]) -> str:
    matrix = as_mapping(as_mapping(job.get("strategy")).get("matrix"))
    axes = [f"{axis} {_list(values)}" for axis, values in matrix.items() if _is_axis(axis, values)]
    return f"Matrix of {name}: {'; '.join(axes)}." if axes else ""


def _is_axis(name: object, values: object) -> bool:
    return name not in ("include", "exclude") and isinstance(values, list) and not any(map(_is_nested, values))


def _is_nested(value: object) -> bool:
    return isinstance(value, list | Mapping)


def _introduce(what: str, about: Mapping[str, Any]) -> str:
    """Return the name, version and description of a project as a sentence."""
    parts = [what, *(str(about[key]) for key in ("name", "version") if isinstance(about.get(key), str))]
    description = about.get("description")
    return " ".join(parts) + (f": {description.strip().rstrip('.')}." if isinstance(description, str) else ".")


def _top_names(text: str, language: str, value: object) -> Sequence[str]:
    if isinstance(value, Mapping):
        return [str(name) for name in value]
    return list_titles(text.split("\n"), language)


def _list(names: Iterable[object]) -> str:
    listed = [str(name)[:_MAX_NAME_CHARACTERS] for name in names if str(name)]
    more = f" and {len(listed) - _MAX_NAMES} more" if len(listed) > _MAX_NAMES else ""
    return ", ".join(listed[:_MAX_NAMES]) + more


_BY_NAME: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[str]]]] = {
    "cargo.toml": _describe_crate,
    "composer.json": _describe_package,
    "package.json": _describe_package,
    "pyproject.toml": _describe_python_project,
}
