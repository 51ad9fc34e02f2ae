"""Record a session at a terminal as an animated picture: docs/recording.svg, as the README shows it.

    python scripts/terminal_recording.py

The commands are run in an empty folder, and what they print is what the picture shows. Lines appear one after
another; a reader whose browser shows no animation sees the last screen.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "recording.svg"
SESSION = (
    "weft demo --copy worlds && cd worlds/repo",
    "weft index .",
    'weft context "Why does the worker say database is locked?" --max-tokens 120',
    'weft context "How do I bake sourdough bread?"',
)
"""The commands of the picture: something to read, a page within a small budget, a question without an answer."""
COLUMNS = 96
"""The width of the terminal in characters; longer lines are wrapped."""
_CHARACTER_WIDTH = 7.8
_LINE_HEIGHT = 18
_MARGIN = 16
_TITLE_BAR = 34
_SECONDS_A_LETTER = 0.028
"""A command waits as long as somebody takes to type it quickly."""
_SECONDS_A_LINE = 0.09
_PAUSE_SECONDS = 1.2
"""After a command's output, so that it can be read."""


class Line(NamedTuple):
    """A line of the screen and the second at which it appears."""

    text: str
    is_command: bool
    second: float


def record(session: Sequence[str] = SESSION) -> list[Line]:
    """Run the commands in an empty folder and return the lines of the screen."""
    lines, second = [], 0.0
    with tempfile.TemporaryDirectory(prefix="weft-recording-") as folder:
        working = folder
        for command in session:
            lines.append(Line(f"$ {command}", True, second))
            second += len(command) * _SECONDS_A_LETTER + 0.3
            printed, working = _run(command, working, folder)
            for text in wrap(printed):
                lines.append(Line(text, False, second))
                second += _SECONDS_A_LINE
            second += _PAUSE_SECONDS
    return lines


def _run(command: str, working: str, folder: str) -> tuple[str, str]:
    """Return what a command printed on the terminal, and the folder it went to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
    around = {**kept, "PYTHONPATH": str(ROOT / "src"), "HOME": folder, "NO_COLOR": "1", "COLUMNS": str(COLUMNS)}
    script = f'weft() {{ "{sys.executable}" -m weft "$@"; }}\n{command}\npwd > "{folder}/.working"\n'
    done = subprocess.run(
        ["bash", "-ec", script], cwd=working, env=around, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stderr}")
    return done.stdout, Path(folder, ".working").read_text("utf-8").strip()


def wrap(printed: str) -> list[str]:
    """Return the lines as a terminal of `COLUMNS` breaks them."""
    return [
        line[start : start + COLUMNS]
        for line in printed.rstrip("\n").split("\n")
        for start in range(0, max(len(line), 1), COLUMNS)
    ]


def draw(lines: Sequence[Line]) -> str:
    """Return the picture of the lines, each appearing in its time."""
    width = round(COLUMNS * _CHARACTER_WIDTH + 2 * _MARGIN)
    height = _TITLE_BAR + len(lines) * _LINE_HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="A terminal session with weft">',
        "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d1d5db;white-space:pre}"
        ".c{fill:#86efac;font-weight:600}.h{fill:#93c5fd;font-weight:600}.p{fill:#9ca3af}"
        "@keyframes show{from{visibility:hidden}to{visibility:visible}}.l{animation:show 1ms backwards}"
        "@media(prefers-reduced-motion:reduce){.l{animation:none}}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#111827"/>',
        *(
            f'<circle cx="{20 + 18 * n}" cy="17" r="5.5" fill="{c}"/>'
            for n, c in enumerate(("#f87171", "#fbbf24", "#34d399"))
        ),
    ]
    for number, line in enumerate(lines):
        baseline = _TITLE_BAR + (number + 1) * _LINE_HEIGHT - 5
        style = f'style="animation-delay:{line.second:.2f}s"'
        if not line.text:
            continue
        kind = (
            "c"
            if line.is_command
            else "h"
            if line.text.startswith("#")
            else "p"
            if line.text.startswith("*")
            else ""
        )
        parts.append(f'<text class="l {kind}" {style} x="{_MARGIN}" y="{baseline}">{escape(line.text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(record()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
