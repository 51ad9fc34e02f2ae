"""Which languages are code, and which words can only be code."""

import re
from typing import Final

_NAMES: Final = """
    ada apex asm assembly astro awk bash bat batch bazel bicep c c# c++ clj clojure cmake cobol coffeescript
    common-lisp console cpp crystal csharp css cuda cypher d dart delphi diff dockerfile elisp elixir elm
    erlang f# fish fortran fsharp gdscript glsl go gradle graphql groovy hack haskell haxe hcl hlsl html ini
    java javascript jinja js json json5 jsonc jsonl jsx julia kotlin less lisp lua makefile matlab mermaid
    mojo nim nix objective-c objectivec ocaml pascal perl php plsql postgresql powershell prolog properties
    proto protobuf puppet py python r racket reason rego rescript ruby rust sass scala scheme scss sh shell
    smalltalk solidity sparql sql starlark svelte swift systemverilog tcl terraform thrift toml tsql tsx
    typescript vb vbnet verilog vhdl vim vue wasm wgsl xml xslt yaml yml zig zsh
"""
_CODE: Final = frozenset(_NAMES.split())
_CODED: Final = re.compile(r"[_./]|::|[a-z0-9][A-Z]|[A-Za-z]\d")


def is_code(language: str | None) -> bool:
    """Whether texts of a language are written for machines."""
    return language is not None and language.lower() in _CODE


def looks_like_code(name: str) -> bool:
    """Whether a name is made as no word of prose is: `fit_all`, `KeyError`, `Budget.fit`, `src/budget.py`."""
    return _CODED.search(name) is not None
