"""`weft version`."""

from weft import __version__
from weft.faces.cli import output
from weft.faces.cli.options import AsJson


def version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        output.write_json({"version": __version__})
    else:
        output.write(f"weft {__version__}")
