"""Programs and services around the library; they refuse to run over another package that is called `weft`."""

import weft

# Installed later, the other package replaces `weft/__init__.py` and leaves these files where they are.
if "Weft" not in getattr(weft, "__all__", ()):
    raise ImportError(
        f"Another package called 'weft' was installed over weft-context ({weft.__file__}). Remove both and "
        "install this one again: pip uninstall weft weft-context, then pip install weft-context"
    )
