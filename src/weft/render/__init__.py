"""Pages in four formats: what is printed, line by line, and where each line came from."""

from weft.render.body import ItemStyle
from weft.render.lines import Lines, manifest_of, text_of
from weft.render.page import FORMATS, Format, lines_of, open_format, render

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
