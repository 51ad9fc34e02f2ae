"""Trace one `weft context` through the source: draw its way in ARCHITECTURE.md, and count the files it crosses.

python scripts/trace_question.py             # print the picture
python scripts/trace_question.py --files     # print every file with its calls
python scripts/trace_question.py --write     # put the picture into ARCHITECTURE.md
"""

import io
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "weft"
QUESTION = "How does a worker take a job?"
BEGIN, END = "<!-- traced by scripts/trace_question.py -->", "<!-- end of trace -->"


def trace() -> Counter[str]:
    """Count the entries into each file of the package while a question is answered, in order of first entry."""
    from weft import Weft
    from weft.interfaces.cli import run

    crossed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / ".weft")
        with Weft.open(store) as weft:
            weft.index(ROOT / "examples" / "repo")

        def enter(frame: FrameType, event: str, _: object) -> None:
            # Code at the top of a module runs when it is imported, which says nothing about the question's way.
            if event == "call" and frame.f_code.co_name != "<module>":
                path = frame.f_code.co_filename
                if path.startswith(str(PACKAGE)):
                    crossed[str(Path(path).relative_to(PACKAGE))] += 1

        with redirect_stdout(io.StringIO()):
            sys.setprofile(enter)
            try:
                run(["context", QUESTION, "--store", store])
            finally:
                sys.setprofile(None)
    return crossed


def picture(crossed: Counter[str]) -> str:
    """Draw the way as folders in the order in which they are first entered, each with its files."""
    folders: dict[str, list[str]] = {}
    for file in crossed:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder or ".", []).append(name.removesuffix(".py"))
    width = max(map(len, folders))
    lines = [
        f"    {folder.ljust(width)}  {' '.join(name if name != '__init__' else '(door)' for name in names)}"
        for folder, names in folders.items()
    ]
    return "\n".join([f"`weft context` crosses {len(crossed)} files, in this order:", "", *lines])


def main() -> None:
    """Print the picture or write it into ARCHITECTURE.md."""
    crossed = trace()
    if "--files" in sys.argv:
        for file, calls in crossed.items():
            print(f"{calls:7,}  {file}")
        print(f"{len(crossed)} files")
    elif "--write" in sys.argv:
        page = ROOT / "ARCHITECTURE.md"
        before, rest = page.read_text("utf-8").split(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{picture(crossed)}\n{END}{rest.split(END)[1]}", "utf-8")
    else:
        print(picture(crossed))


if __name__ == "__main__":
    main()
