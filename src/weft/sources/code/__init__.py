"""Code files: their definitions, and the imports, calls, inheritance and tests that link them."""

from weft.sources.code.format import Code

__all__ = ["Code"]
