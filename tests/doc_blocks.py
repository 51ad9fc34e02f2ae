"""Find the code blocks of a document and run them as its reader would, in one folder, from top to bottom.

The kind of a block says how it is tried:

- `console`: what follows `$ ` is a command, and what stands below must be printed; a line `…` stands for any;
- `sh`, `bash`: a script that must succeed;
- `python`: code that must run, in one namespace for the page; `await` may stand at the top;
- `json`, `toml`, `yaml`: data that must be read without an error;
- `text` and blocks without a kind are neither commands nor code: pictures, output, shapes.

A comment on the line above a block changes that: `<!-- not run: REASON -->` leaves it alone, `<!-- file: PATH -->`
writes it into that file of the folder, `<!-- prints: -->` says that the Python above must print it, and
`<!-- new folder -->` begins again in an empty folder.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PORT = "8790"
"""The port that pages name: a free one stands in for it, so that tests can run beside each other."""
RUN = ("console", "sh", "bash", "python", "json", "toml", "yaml")
LEFT_ALONE = ("", "text", "js", "markdown", "xml", "ini", "diff", "html", "csv", "mdx")
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|file|prints|new folder):?(?P<said>.*?) -->\n+)?"
    r"^```(?P<kind>[a-z]*)[^\n]*\n(?P<body>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A block with its kind, the line it begins in, and what the comment above it says."""

    kind: str
    body: str
    line: int
    start: int = 0
    """Where its body begins in the document, in characters."""
    mark: str = ""
    said: str = ""


def find_blocks(text: str) -> list[Block]:
    """The fenced blocks of a document."""
    return [
        Block(
            found["kind"],
            found["body"],
            text.count("\n", 0, found.start("body")),
            found.start("body"),
            found["mark"] or "",
            (found["said"] or "").strip(),
        )
        for found in _BLOCK.finditer(text)
    ]


def steps(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it; a backslash continues a command."""
    parts = re.split(r"^\$ ", body, flags=re.M)[1:]
    found = []
    for part in parts:
        lines = part.split("\n")
        end = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        found.append(("\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :])))
    return found


def is_printed(shown: str, printed: str) -> bool:
    """Whether a command printed what is shown; `…` on a line of its own stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^…\n", shown, flags=re.M)]
    return re.fullmatch("(?:.*\n)*?".join(parts), printed) is not None


@dataclass
class Reader:
    """A reader who follows a page in a folder of their own."""

    folder: Path
    python: str = sys.executable
    source: Path | None = ROOT / "src"
    """Where `weft` is imported from; None where the Python has it installed."""
    namespace: dict[str, Any] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)
    port: str = ""

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.state = self.folder.parent / "state"
        self.state.mkdir(exist_ok=True)
        if self.source is not None and not (self.folder / "examples").exists():
            # A copy: commands of a page may write beside what they read.
            passed_over = shutil.ignore_patterns("__pycache__", ".weft")
            shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=passed_over)
        self.port = str(_find_port())

    def begin_again(self) -> None:
        """Go on in an empty folder beside the last one, in a new shell."""
        self.close()
        (self.state / "shell").unlink(missing_ok=True)
        self.folder = self.folder.with_name(f"{self.folder.name.partition('-')[0]}-{len(self.started)}")
        self.folder.mkdir()

    def environment(self) -> dict[str, str]:
        """An environment in which `weft` is the one under test and nothing of the user's is found."""
        own = ("WEFT_", "XDG_", "COV_", "PYTHONPATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        programs = Path(self.python).parent
        if self.source is not None:
            programs = self.state / "bin"
            self._lay_programs(programs)
            kept["PYTHONPATH"] = str(self.source)
        return {
            **kept,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.state),
            "XDG_CACHE_HOME": str(self.state / "cache"),
            "COLUMNS": "200",
            "NO_COLOR": "1",
        }

    def _lay_programs(self, folder: Path) -> None:
        """Write the programs that an installation would bring, for this checkout."""
        folder.mkdir(exist_ok=True)
        for name, module in (("weft", "-m weft"), ("weft-hook", "-m weft.interfaces.hooks"), ("python", "")):
            program = folder / name
            program.write_text(f'#!/bin/sh\nexec "{self.python}" {module} "$@"\n')
            program.chmod(0o755)
        for name in ("pip", "pipx", "uv"):
            _stand_in(folder / name)

    def shell(self, script: str) -> tuple[int, str, str]:
        """Run a script where the last one left off; return its code, output and errors."""
        kept, out, err = self.state / "shell", self.state / "out", self.state / "err"
        begin = f'cd "{self.folder}"; [ -f "{kept}" ] && . "{kept}"; set -e\n'
        end = f'\n{{ export -p; echo "cd \\"$PWD\\""; }} > "{kept}"\n'
        # Into files, not pipes: a server that goes on would keep a pipe open.
        with out.open("w") as output, err.open("w") as errors:
            done = subprocess.Popen(
                ["bash", "-c", begin + script.replace(PORT, self.port) + end],
                cwd=self.folder, env=self.environment(), stdout=output, stderr=errors, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            self.started.append(done.pid)
            code = done.wait(timeout=120)
        return code, out.read_text("utf-8").replace(self.port, PORT), err.read_text("utf-8")

    def working(self) -> Path:
        """The folder in which the last command left the reader."""
        kept = self.state / "shell"
        found = re.findall(r'^cd "(.*)"$', kept.read_text("utf-8"), re.M) if kept.exists() else []
        return Path(found[-1]) if found else self.folder

    def run_python(self, code: str, name: str) -> str:
        """Run code in the page's namespace, and return what it printed."""
        printed = io.StringIO()
        compiled = compile(code.replace(PORT, self.port), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        before = Path.cwd()
        os.chdir(self.working())
        try:
            with contextlib.redirect_stdout(printed):
                waiting = eval(compiled, self.namespace)
                if inspect.iscoroutine(waiting):
                    asyncio.run(waiting)
        finally:
            os.chdir(before)
        return printed.getvalue().replace(self.port, PORT)

    def close(self) -> None:
        """End what the page's commands started and left running."""
        for leader in self.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGTERM)


def _find_port() -> int:
    """Return a port that is free and that the system gives to nobody by itself, as it does with those above 32768.

    Each process begins elsewhere, so that pages read at the same time get different ones.
    """
    for port in range(20_000 + os.getpid() * 97 % 10_000, 32_000):
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _stand_in(program: Path) -> None:
    """Write a program that installs nothing, and fails for a package or an extra that is not ours."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    program.write_text(
        f"#!{sys.executable}\nimport re, sys\n"
        f"asked = re.findall(r'weft-context(?:\\[([a-z,-]+)\\])?', ' '.join(sys.argv[1:]))\n"
        f"unknown = set(','.join(asked).split(',')) - {set(extras) | {''}!r}\n"
        f"sys.exit(f'no such package or extra: {{sys.argv[1:]}}' if not asked or unknown else 0)\n"
    )
    program.chmod(0o755)


def follow(text: str, name: str, reader: Reader, update: bool = False) -> str:
    """Run the blocks of a document; return it with what was printed where `update` says so."""
    printed, bodies = "", {}
    for block in find_blocks(text):
        where = f"{name}:{block.line}"
        if block.mark == "not run":
            continue
        if block.mark == "new folder":
            reader.begin_again()
        if block.mark == "file":
            path = reader.working() / block.said
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body.replace(PORT, reader.port), encoding="utf-8")
        elif block.mark == "prints":
            if not is_printed(block.body, printed):
                assert update, f"{where}: the Python above prints:\n{printed}"
                bodies[block] = printed
        elif block.kind == "console":
            bodies[block] = _follow_console(block, where, reader, update)
        elif block.kind in ("sh", "bash"):
            code, _, errors = reader.shell(block.body)
            assert code == 0, f"{where}: {errors}"
        elif block.kind == "python":
            printed = reader.run_python(block.body, where)
        elif block.kind in ("json", "toml", "yaml"):
            {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[block.kind](block.body)
        else:
            assert block.kind in LEFT_ALONE, f"{where}: no test knows what to do with a block of {block.kind!r}"
    for block, body in reversed(bodies.items()):
        text = text[: block.start] + body + text[block.start + len(block.body) :]
    return text


def _follow_console(block: Block, where: str, reader: Reader, update: bool) -> str:
    """Run the commands of a block; return it with what they printed where that differs and `update` says so."""
    assert steps(block.body), f"{where}: a console block has commands after `$ `"
    parts = []
    for command, shown in steps(block.body):
        code, printed, errors = reader.shell(command)
        assert code == 0, f"{where}: {command}\n{errors}"
        matches = is_printed(shown, printed)
        assert matches or update, (
            f"{where}: {command} prints something else; DOCS_UPDATE=1 rewrites it:\n{printed}"
        )
        parts.append(f"$ {command}\n{shown if matches else printed}")
    return "".join(parts)
