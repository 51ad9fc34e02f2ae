"""Which shell commands test or build, and whether their exit code is the test's own."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from weft.frozen import dataclass

Kind = Literal["test", "build"]

_ANY: Final = ""
"""Stands for a program whose name alone says what it does."""


def _each(programs: str, *words: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(programs.split(), words)


_TESTS: Final = {
    **_each("pytest py.test tox nox jest vitest mocha ava rspec phpunit pest ctest unittest", _ANY),
    **_each("npm pnpm yarn bun", "test", "t"),
    **_each("cargo go deno dotnet mix swift bazel flutter dart sbt stack cabal playwright just hatch", "test"),
    **_each("make gmake gradle gradlew rake", "test", "tests", "check", "spec"),
    **_each("mvn mvnw", "test", "verify"),
    **_each("nextest cypress", "run"),
    **_each("manage.py", "test"),
}
_BUILDS: Final = {
    **_each("tsc ninja webpack javac gcc g++ clang clang++ rustc build", _ANY),
    **_each("make gmake", _ANY, "all", "build"),
    **_each("npm pnpm yarn bun go dotnet swift bazel stack cabal", "build"),
    **_each("vite next hatch docker just flutter zig uv poetry", "build"),
    **_each("gradle gradlew", "build", "assemble"),
    **_each("mvn mvnw", "compile", "package", "install"),
    **_each("cargo", "build", "check"),
    **_each("cmake", "--build"),
}
_WRAPPERS: Final = frozenset(_each("sudo time nice env timeout command exec nohup xvfb-run npx bunx"))
_RUNNERS: Final = {
    *((program, "run") for program in ("uv", "poetry", "pipenv", "hatch", "pdm")),
    *((program, "exec") for program in ("bundle", "pnpm", "npm")),
    *((program, "dlx") for program in ("pnpm", "yarn")),
    ("cargo", "nextest"),
}
_SCRIPTS: Final = ("npm", "pnpm", "yarn", "bun")
_HERE_DOCUMENT: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.M | re.S)
_ASSIGNMENT: Final = re.compile(r"\w+=")
_PYTHON: Final = re.compile(r"(?:python|py)[\d.]*(?:\.exe)?\Z")
_NUMBER: Final = re.compile(r"\d+[smh]?\Z")
_SEPARATORS: Final = frozenset(";&|()\n")
_REDIRECTIONS: Final = frozenset("<>&|")


@dataclass(frozen=True, slots=True)
class Run:
    """A test or build in a shell command.

    Where what comes after it has the last word on the exit code, that is `hidden`, and only the output tells.
    """

    kind: Kind
    words: str
    hidden: bool = False
    followed: bool = False


def run_in(command: str) -> Run | None:
    """The last test or build that a shell command waits for, or None."""
    try:
        parts = list(_simple_commands(command))
    except ValueError:
        # An unfinished quotation: nothing can be said of such a command.
        return None
    passing_on = ("&&", "|") if "pipefail" in command else ("&&",)
    for at in reversed(range(len(parts))):
        words, link = parts[at]
        kind = _kind(words)
        if kind is not None and link != "&":
            after = [each for _, each in parts[at:-1]]
            return Run(kind, " ".join(words), any(each not in passing_on for each in after), bool(after))
    return None


def _simple_commands(command: str) -> Iterator[tuple[list[str], str]]:
    """The words of each simple command, with what links it to the next one."""
    from shlex import shlex

    lexer = shlex(_HERE_DOCUMENT.sub("", command), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    redirected = False
    for word in lexer:
        if set(word) <= _REDIRECTIONS and not set(word) <= _SEPARATORS:
            # The number of a stream stands before the sign: 2>&1.
            words = words[:-1] if words and words[-1].isdecimal() else words
            redirected = True
        elif word and set(word) <= _SEPARATORS:
            if words:
                yield words, word
            words = []
        elif redirected:
            redirected = False
        else:
            words.append(word)
    if words:
        yield words, ""


def _kind(words: Sequence[str]) -> Kind | None:
    """Whether a simple command tests or builds."""
    program, rest = _program(words)
    if program in _SCRIPTS and rest[:1] in (["run"], ["run-script"]):
        return _script_kind(rest[1:2])
    targets = [word for word in rest if not word.startswith("-") or word in _BUILDS.get(program, ())]
    said = [part for word in targets[:2] for part in word.rsplit(":", 1)] or [_ANY]
    if _does(_TESTS.get(program, ()), said):
        return "test"
    return "build" if _does(_BUILDS.get(program, ()), said) else None


def _does(allowed: Sequence[str], said: Sequence[str]) -> bool:
    return bool(allowed) and (tuple(allowed) == (_ANY,) or any(word in allowed for word in said))


def _script_kind(name: Sequence[str]) -> Kind | None:
    """What a script of a package does, by its name."""
    words = set(re.split(r"[:\-_.]", name[0])) if name else set()
    if words & {"test", "tests", "e2e", "spec"}:
        return "test"
    return "build" if words & {"build", "compile"} else None


def _program(words: Sequence[str]) -> tuple[str, list[str]]:
    """The program that really runs and its arguments, without settings, wrappers and runners before it."""
    rest = list(words)
    while rest:
        name = rest[0].replace("\\", "/").rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        elif name in _WRAPPERS:
            rest = _after_options(rest[1:])
        elif tuple(rest[:2]) in _RUNNERS:
            rest = rest[1:] if rest[1] == "nextest" else _after_options(rest[2:])
        elif _PYTHON.match(name):
            rest = _after_interpreter(rest[1:])
        else:
            return name.removesuffix(".exe"), rest[1:]
    return "", []


def _after_options(words: list[str]) -> list[str]:
    """What follows the options of a wrapper, and the numbers that some of them take."""
    while words and (words[0].startswith("-") or _NUMBER.match(words[0])):
        words = words[1:]
    return words


def _after_interpreter(words: list[str]) -> list[str]:
    """The module or script that Python runs; nothing for code on the command line."""
    while words and words[0].startswith("-"):
        if words[0] == "-m":
            return words[1:]
        if words[0] == "-c":
            return []
        words = words[1:]
    return words
