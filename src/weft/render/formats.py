"""The formats there are, by name; each is loaded when a page is first printed in it."""

from functools import cache
from importlib import import_module
from typing import Final

from weft.errors import UnknownName
from weft.render.page import Format

_CLASSES: Final = {
    "markdown": ("markdown", "Markdown"),
    "xml": ("xml", "Xml"),
    "plain": ("plain", "Plain"),
    "json": ("jsontext", "JsonText"),
}

FORMATS: Final = tuple(_CLASSES)


@cache
def open_format(name: str) -> Format:
    """The format of that name; refuses any other and lists those there are."""
    if name not in _CLASSES:
        raise UnknownName("format", name, FORMATS)
    module, kind = _CLASSES[name]
    made: Format = getattr(import_module(f"weft.render.{module}"), kind)()
    return made
