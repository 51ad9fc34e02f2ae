"""The formats there are, by name."""

from typing import Final

from weft.errors import UnknownName
from weft.render.jsontext import JsonText
from weft.render.markdown import Markdown
from weft.render.page import Format
from weft.render.plain import Plain
from weft.render.xml import Xml

_FORMATS: Final[tuple[Format, ...]] = (Markdown(), Xml(), Plain(), JsonText())

FORMATS: Final = tuple(format.name for format in _FORMATS)


def open_format(name: str) -> Format:
    """The format of that name; refuses any other and lists those there are."""
    for format in _FORMATS:
        if format.name == name:
            return format
    raise UnknownName("format", name, FORMATS)
