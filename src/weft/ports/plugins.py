"""Find what other installed packages add to Weft: sources, formats, embedders and tokenizers.

A package declares them as entry points of the groups below; docs/plugins.md describes each. Nothing is looked for
until a name is met that Weft does not know itself, or until files are read.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from weft.errors import WeftError

SOURCES: Final = "weft.sources"
FORMATS: Final = "weft.formats"
EMBEDDERS: Final = "weft.embedders"
TOKENIZERS: Final = "weft.tokenizers"
GROUPS: Final = (SOURCES, FORMATS, EMBEDDERS, TOKENIZERS)

_METADATA: Final = (".dist-info", ".egg-info")
"""How the folders end in which installers keep what a package declares."""


class PluginError(WeftError):
    """A plugin that is installed and cannot be used."""


class Plugin(Struct, frozen=True):
    """One declaration of a package: a name in a group, and the object `module:attribute` that it stands for."""

    group: str
    name: str
    target: str
    package: str

    def load(self) -> Any:
        """Import the object; an error names the package, because its users did not write it."""
        module, _, attribute = self.target.partition(":")
        try:
            found: Any = import_module(module)
            for part in filter(None, attribute.split(".")):
                found = getattr(found, part)
        except Exception as error:
            # Anything can go wrong while another package is imported.
            raise PluginError(
                f"The plugin {self.name!r} of {self.package} cannot be loaded ({self.target}: "
                f"{type(error).__name__}: {error}). Update the package or remove it: pip uninstall {self.package}"
            ) from error
        return found


def find_plugin(group: str, name: str) -> Plugin | None:
    """Return the plugin of this name in a group, or None."""
    return next((plugin for plugin in list_plugins(group) if plugin.name == name), None)


def list_plugins(group: str) -> tuple[Plugin, ...]:
    """Return what installed packages declare in a group, by name."""
    return tuple(plugin for plugin in _find_declared(tuple(sys.path)) if plugin.group == group)


@cache
def _find_declared(folders: tuple[str, ...]) -> tuple[Plugin, ...]:
    """Return the declarations of all packages in these folders; of two equal names the first folder's counts.

    Their files are read here and not by importlib.metadata, which takes 40 ms: before an answer, changed files
    are read with the formats of plugins too.
    """
    found: dict[tuple[str, str], Plugin] = {}
    for folder in folders:
        for plugin in _declared_in(folder or os.curdir):
            found.setdefault((plugin.group, plugin.name), plugin)
    return tuple(sorted(found.values(), key=lambda plugin: (plugin.group, plugin.name)))


def _declared_in(folder: str) -> Iterator[Plugin]:
    try:
        entries = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_METADATA))
    except OSError:
        # A zip file, or a folder that is not there.
        return
    for name in entries:
        try:
            text = (Path(folder) / name / "entry_points.txt").read_text("utf-8")
        except OSError:
            continue
        if "[weft." in text:
            yield from _parse(text, name.partition("-")[0].replace("_", "-"))


def _parse(text: str, package: str) -> Iterator[Plugin]:
    """Yield the declarations of a file that holds lines `name = module:attribute` under a line `[group]`."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]")
        elif group in GROUPS and "=" in line:
            name, _, target = line.partition("=")
            # Extras after the target are a thing of the past that some tools still write.
            yield Plugin(group, name.strip(), target.partition("[")[0].strip(), package)
