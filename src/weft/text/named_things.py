"""Find the files and symbols of code that a text names, as people write them in notes and messages."""

import re
from typing import Final

_PATH: Final = re.compile(
    r"(?<![\w/:.])(?:\.{0,2}/)?((?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,5})(?![\w/])", re.IGNORECASE
)
_QUOTED: Final = re.compile(r"`([A-Za-z_][\w.:#]*)(?:\(\))?`")
_CALL: Final = re.compile(r"(?<![\w`.])([A-Za-z_][\w.]*[\w])\(\)")
_MAX_NAMES: Final = 20
"""Names read of one text: one that names more is a list, of which a few may well have gone."""


def find_named_things(text: str) -> tuple[str, ...]:
    """Return the paths, and the symbols in backticks or with brackets behind them, that a text names."""
    names = [match[1] for pattern in (_PATH, _QUOTED, _CALL) for match in pattern.finditer(text)]
    # "e.g." and "3.11" look like files with a suffix.
    kept = (name for name in names if not _is_abbreviation(name))
    return tuple(dict.fromkeys(kept))[:_MAX_NAMES]


def _is_abbreviation(name: str) -> bool:
    return all(len(part) <= 1 for part in name.split(".")) or name.replace(".", "").isdigit()
