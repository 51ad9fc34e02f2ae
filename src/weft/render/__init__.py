"""Print pages in four formats, with the source of every line: the last stage between a question and its answer."""

from weft.render.blocks import ItemStyle
from weft.render.lines import Lines, join_lines
from weft.render.node_values import bold_labels
from weft.render.page import FORMATS, Format, build_manifest, open_format, render_lines

__all__ = [
    "FORMATS",
    "Format",
    "ItemStyle",
    "Lines",
    "bold_labels",
    "build_manifest",
    "join_lines",
    "open_format",
    "render_lines",
]
