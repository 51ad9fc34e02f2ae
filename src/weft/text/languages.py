"""Which languages are code, and which words can only be code."""

import re
from typing import Final

_NAMES: Final = """
    bash c clojure cpp csharp css dart elixir erlang go graphql groovy haskell html java javascript json jsx julia
    kotlin lua matlab objectivec ocaml perl php powershell protobuf python r ruby rust scala scss sh shell sql
    swift toml tsx typescript xml yaml zig
"""
_CODE: Final = frozenset(_NAMES.split())
_CODED: Final = re.compile(r"[_./]|::|[a-z0-9][A-Z]|[A-Za-z]\d")


def is_code(language: str | None) -> bool:
    """Whether texts of a language are written for machines."""
    return language is not None and language.lower() in _CODE


def looks_like_code(name: str) -> bool:
    """Whether a name is made as no word of prose is: `fit_all`, `KeyError`, `Budget.fit`, `src/budget.py`."""
    return _CODED.search(name) is not None
