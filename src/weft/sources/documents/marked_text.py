"""Read text with marks of its own (RTF, Fountain, Scrivener): the words, with headings marked as in Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

MARKED_SUFFIXES: Final = frozenset({".rtf", ".fountain"})
SCRIVENER: Final = ".scrivx"
"""The file in a Scrivener project that lists its texts."""

_RTF_TOKEN: Final = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[\r\n]+|(.)", re.IGNORECASE | re.DOTALL
)
_RTF_HIDDEN: Final = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "pict", "header", "footer", "listtable", "listoverridetable"}
    | {"generator", "themedata", "latentstyles", "datastore", "rsidtbl", "xmlnstbl", "expandedcolortbl", "mmathpr"}
)
"""Groups of an RTF file that hold no words of the text."""
_RTF_SIGNS: Final = {
    "par": "\n\n", "line": "\n", "tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "page": "\n\n", "sect": "\n\n", "cell": " ", "row": "\n",
    "outlinelevel": "# ",
}  # fmt: skip
_FOUNTAIN_SCENE: Final = re.compile(r"^(?:\.(?!\.)|(?=(?:INT|EXT|EST|INT\./EXT|I/E)[. ]))(.+)$", re.MULTILINE)
_FOUNTAIN_NOTE: Final = re.compile(r"\[\[.*?\]\]|/\*.*?\*/", re.DOTALL)
_FOUNTAIN_TITLE_PAGE: Final = re.compile(r"\A(?:[A-Z][\w ]*:[^\n]*\n(?:[ \t]+[^\n]*\n)*)+\n")
_FOUNTAIN_SYNOPSIS: Final = re.compile(r"^=(?!=)[^\n]*$", re.MULTILINE)


def read_marked(text: str, suffix: str) -> str:
    """Return the words of a text of that suffix; one without marks of its own stays as it is."""
    if suffix == ".rtf":
        return _read_rtf(text)
    return _read_fountain(text) if suffix == ".fountain" else text


def _read_fountain(text: str) -> str:
    """Return a screenplay with its scene headings as headings, without title page, notes and synopses."""
    plain = _FOUNTAIN_TITLE_PAGE.sub("", _FOUNTAIN_NOTE.sub("", text))
    return _FOUNTAIN_SCENE.sub(r"## \1", _FOUNTAIN_SYNOPSIS.sub("", plain))


def _read_rtf(text: str) -> str:
    """Return the words of an RTF file; paragraphs that its outline levels mark are headings."""
    written: list[str] = []
    depth = hidden_depth = substitutes = 0
    for match in _RTF_TOKEN.finditer(text):
        word, number, byte, sign, brace, letter = match.groups()
        if brace:
            depth += 1 if brace == "{" else -1
            hidden_depth = 0 if depth < hidden_depth else hidden_depth
        elif hidden_depth:
            continue
        elif word in _RTF_HIDDEN or sign == "*":
            hidden_depth = depth
        elif word == "u" and number:
            written.append(chr(int(number) % 65536))
            # A Unicode character is followed by a substitute for old programs.
            substitutes = 1
        elif word:
            written.append(_RTF_SIGNS.get(word, ""))
        elif substitutes and (byte or letter):
            substitutes = 0
        elif byte:
            written.append(bytes.fromhex(byte).decode("cp1252", "replace"))
        elif letter or (sign and sign in "\\{}~"):
            written.append(letter or sign)
    return "".join(written)


# --- Scrivener ---------------------------------------------------------------------------------------------


def read_scrivener(project: Path) -> str:
    """Return the manuscript of a Scrivener project, given its `.scrivx` file, in the order of the binder."""
    binder = ElementTree.parse(project).getroot().find("Binder")
    drafts = [] if binder is None else [item for item in binder if item.get("Type") == "DraftFolder"]
    pieces = [piece for draft in drafts for piece in _binder_pieces(draft, project.parent, 0)]
    return "\n\n".join(pieces) + "\n"


def _binder_pieces(item: ElementTree.Element, folder: Path, depth: int) -> Iterator[str]:
    """Iterate over the texts below an item; those of the first level are chapters, deeper ones scenes."""
    if depth:
        title = item.findtext("Title") or "Untitled"
        yield f"# {title}" if depth == 1 else "* * *"
        content = folder / "Files" / "Data" / (item.get("UUID") or item.get("ID") or "") / "content.rtf"
        if content.is_file():
            yield _read_rtf(content.read_text(encoding="cp1252", errors="replace")).strip()
    for child in item.iterfind("Children/BinderItem"):
        yield from _binder_pieces(child, folder, depth + 1)
