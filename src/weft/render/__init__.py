"""Pages in four formats: what is printed, line by line, and where each line came from."""

from weft.render.formats import FORMATS, open_format
from weft.render.lines import Lines, manifest_of, text_of
from weft.render.page import Format, lines_of, render
from weft.render.pieces import ItemStyle

__all__ = [
    "FORMATS",
    "Format",
    "ItemStyle",
    "Lines",
    "lines_of",
    "manifest_of",
    "open_format",
    "render",
    "text_of",
]
