"""The history of a git repository: commits, and the files and definitions they touched."""

from weft.sources.git.history import History

__all__ = ["History"]
