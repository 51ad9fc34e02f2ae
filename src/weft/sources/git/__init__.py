"""The history of a git repository: commits, and the files and definitions they touched."""

from weft.sources.git.commits import History

__all__ = ["History"]
