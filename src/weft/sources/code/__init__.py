"""Files of code: what they define, and who imports, calls, extends and tests whom."""

from weft.sources.code.format import Code

__all__ = ["Code"]
