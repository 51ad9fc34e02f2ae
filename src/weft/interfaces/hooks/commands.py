"""Find the test or build in a shell command, and whether the command's exit code is that of the test or build."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

Kind = Literal["test", "build"]

_NO_TARGET: Final = ""
"""Stands for a call without a target; alone, for a program that tests or builds whatever its arguments are."""


def _with_targets(programs: str, *targets: str) -> dict[str, tuple[str, ...]]:
    """Return the programs of a list, each with the targets (words such as `test`) that make it count."""
    return dict.fromkeys(programs.split(), targets)


_TESTS: Final = {
    **_with_targets("pytest py.test tox nox jest vitest mocha ava rspec phpunit pest ctest unittest", _NO_TARGET),
    **_with_targets("npm pnpm yarn bun", "test", "t"),
    **_with_targets(
        "cargo go deno dotnet mix swift bazel flutter dart sbt stack cabal playwright just hatch", "test"
    ),
    **_with_targets("make gmake gradle gradlew rake", "test", "tests", "check", "spec"),
    **_with_targets("mvn mvnw", "test", "verify"),
    **_with_targets("nextest cypress", "run"),
    **_with_targets("manage.py", "test"),
}
_BUILDS: Final = {
    **_with_targets("tsc ninja webpack javac gcc g++ clang clang++ rustc build", _NO_TARGET),
    **_with_targets("make gmake", _NO_TARGET, "all", "build"),
    **_with_targets("npm pnpm yarn bun go dotnet swift bazel stack cabal", "build"),
    **_with_targets("vite next hatch docker just flutter zig uv poetry", "build"),
    **_with_targets("gradle gradlew", "build", "assemble"),
    **_with_targets("mvn mvnw", "compile", "package", "install"),
    **_with_targets("cargo", "build", "check"),
    **_with_targets("cmake", "--build"),
}
_WRAPPERS: Final = frozenset(
    ["sudo", "time", "nice", "env", "timeout", "command", "exec", "nohup", "xvfb-run", "npx", "bunx"]
)
"""Programs that run the program after them."""
_RUNNERS: Final = {
    *((program, "run") for program in ("uv", "poetry", "pipenv", "hatch", "pdm")),
    *((program, "exec") for program in ("bundle", "pnpm", "npm")),
    *((program, "dlx") for program in ("pnpm", "yarn")),
    ("cargo", "nextest"),
}
"""Programs with the subcommand that makes them run the program after it."""
_SCRIPT_RUNNERS: Final = ("npm", "pnpm", "yarn", "bun")
_HERE_DOCUMENT: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.M | re.S)
_ASSIGNMENT: Final = re.compile(r"\w+=")
_PYTHON: Final = re.compile(r"(?:python|py)[\d.]*(?:\.exe)?\Z")
_DURATION: Final = re.compile(r"\d+[smh]?\Z")
_SEPARATORS: Final = frozenset(";&|()\n")
_REDIRECTIONS: Final = frozenset("<>&|")


class Run(Struct, frozen=True):
    """A test or build in a shell command."""

    kind: Kind
    words: str
    is_exit_code_hidden: bool = False
    """Whether the exit code is that of a later command, as in `pytest | tail`, so that only the output counts."""
    is_followed: bool = False
    """Whether another command comes after it, whose failure may be the one that the exit code reports."""


def find_run(command: str) -> Run | None:
    """Return the last test or build that a shell command waits for, or None."""
    try:
        parts = list(_split_commands(command))
    except ValueError:
        # A quotation without end: such a command cannot be analysed.
        return None
    # The operators after which a failure of the command before still is the failure of the whole.
    transparent = ("&&", "|") if "pipefail" in command else ("&&",)
    # From the end: the last test decides what the output ends with.
    for i in reversed(range(len(parts))):
        words, operator = parts[i]
        kind = _classify(words)
        if kind is not None and operator != "&":
            operators = [later for _, later in parts[i:-1]]
            is_hidden = any(later not in transparent for later in operators)
            return Run(kind, " ".join(words), is_hidden, bool(operators))
    return None


def _split_commands(command: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of each simple command, with the operator that links it to the next one."""
    from shlex import shlex

    # The text of a here document is data, and newlines outside quotations separate commands.
    lexer = shlex(_HERE_DOCUMENT.sub("", command), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    is_target_of_redirection = False
    for word in lexer:
        if set(word) <= _REDIRECTIONS and not set(word) <= _SEPARATORS:
            # The number of a stream stands before the sign: 2>&1.
            words = words[:-1] if words and words[-1].isdecimal() else words
            is_target_of_redirection = True
        elif word and set(word) <= _SEPARATORS:
            if words:
                yield words, word
            words = []
        # The file of a redirection is no argument of the command.
        elif is_target_of_redirection:
            is_target_of_redirection = False
        else:
            words.append(word)
    if words:
        yield words, ""


def _classify(words: Sequence[str]) -> Kind | None:
    """Return whether a simple command tests or builds, or None if it does neither."""
    program, arguments = _find_program(words)
    if program in _SCRIPT_RUNNERS and arguments[:1] in (["run"], ["run-script"]):
        return _classify_script(arguments[1:2])
    # Some options are targets, as in `cmake --build`.
    targets = [word for word in arguments if not word.startswith("-") or word in _BUILDS.get(program, ())]
    # Two words, because an option before the target may have a value: `make -C server test`. The part after a
    # colon is the task of a subproject: `gradlew :app:test`.
    candidates = [part for word in targets[:2] for part in word.rsplit(":", 1)] or [_NO_TARGET]
    if _has_target(_TESTS.get(program, ()), candidates):
        return "test"
    return "build" if _has_target(_BUILDS.get(program, ()), candidates) else None


def _has_target(targets: Sequence[str], candidates: Sequence[str]) -> bool:
    return bool(targets) and (tuple(targets) == (_NO_TARGET,) or any(word in targets for word in candidates))


def _classify_script(name: Sequence[str]) -> Kind | None:
    """Return whether a script of a package tests or builds, by the words of its name."""
    words = set(re.split(r"[:\-_.]", name[0])) if name else set()
    if words & {"test", "tests", "e2e", "spec"}:
        return "test"
    return "build" if words & {"build", "compile"} else None


def _find_program(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program that really runs and its arguments, after assignments, wrappers and runners."""
    rest = list(words)
    while rest:
        # Programs may be written with a path, also of Windows.
        name = rest[0].replace("\\", "/").rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        elif name in _WRAPPERS:
            rest = _skip_options(rest[1:])
        elif tuple(rest[:2]) in _RUNNERS:
            # nextest is itself the program that tests; the others run what comes next.
            rest = rest[1:] if rest[1] == "nextest" else _skip_options(rest[2:])
        elif _PYTHON.match(name):
            rest = _skip_interpreter_options(rest[1:])
        else:
            return name.removesuffix(".exe"), rest[1:]
    return "", []


def _skip_options(words: list[str]) -> list[str]:
    """Return the words after the options of a wrapper and the durations that some take, as in `timeout 60`."""
    while words and (words[0].startswith("-") or _DURATION.match(words[0])):
        words = words[1:]
    return words


def _skip_interpreter_options(words: list[str]) -> list[str]:
    """Return the module or script that Python runs and its arguments; nothing for code on the command line."""
    while words and words[0].startswith("-"):
        if words[0] == "-m":
            return words[1:]
        if words[0] == "-c":
            return []
        words = words[1:]
    return words
