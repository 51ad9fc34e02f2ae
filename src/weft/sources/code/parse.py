"""Parse a code file into its outline: definitions with signatures and summaries, references, and imports."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.sources.code.languages import Language, has_grammar, load_grammar, recognise_language
from weft.sources.code.outline import Import, Outline, Reference, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode

    Captures = Mapping[str, Sequence[SyntaxNode]]


_MAX_SUMMARY_CHARACTERS: Final = 400
"""How much of a docstring's first paragraph is the summary: a few lines that stand for the whole definition."""
_MAX_NAME_CHARACTERS: Final = 160
"""A longer name is code that a grammar took for one; names become keys."""
_MAX_SIGNATURE_CHARACTERS: Final = 400
"""Signatures with more are cut: they stand in for a definition where there is no room for it."""
_MAX_REFERENCES: Final = 400
"""References kept of one definition or file; those with more are tables or generated."""
_MAX_RECEIVER_CHARACTERS: Final = 60
"""A longer expression before the dot of a call is no name that could be resolved."""
_SNIPPET_SHARE: Final = 0.8
"""The share of a text's lines that definitions take where it is code; imports and calls may stand around them."""
_FRAME: Final = "Snippet"
"""The name of the class that is put around a method, so that its grammar can read it."""
_COMMENT_START: Final = re.compile(r"^\s*(?:/\*+!?|//+!?|\*+(?!/)|#+!?|--+(?:[ \t]*[|^])?)[ \t]?")
_COMMENT_END: Final = re.compile(r"\s*\*+/\s*$|</?(?:summary|para|remarks)>")
_QUOTES: Final = re.compile(r"""^[rRuUbBfF]*("{3}|'{3}|"|')(.*)\1$""", re.DOTALL)
_LEGAL_NOTICE: Final = re.compile(r"copyright|licen[cs]e|SPDX-", re.IGNORECASE)
_DOC_TAG: Final = re.compile(r"^(?:@\w|:\w+|\.\. |<\w+>$|[A-Z][a-z]+:\s*$)")
_SPACES: Final = re.compile(r"\s+")
_KINDS: Final = ("class", "function", "interface", "type", "module", "scope", "test", "suite")
"""The captures that a query marks as definitions. A test that is written as a call with a title, and a block of
such tests, are called by their titles, as the programs that run them print these."""
_TITLED: Final = frozenset({"test", "suite"})
_TITLE_MARKS: Final = re.compile(r"[\"'`(),#~/\s]+")
"""Quotes of a title, and characters that stand between the parts of a key."""
_REFERENCE_KINDS: Final = ("call", "use", "base")
_METHOD_OWNERS: Final = frozenset({"class", "interface", "type", "scope"})
"""A function inside one of these is a method."""

_WRAPPERS: Final = frozenset(
    {
        "ambient_declaration",
        "decorated_definition",
        "export_statement",
        "expression_statement",
        "lexical_declaration",
        "statement",
        "template_declaration",
        "type_declaration",
        "type_definition",
        "variable_declaration",
    }
)
"""Types of nodes that may stand around a definition and belong to it."""

_COMMENT_TYPES: Final = frozenset(
    {"block_comment", "comment", "haddock", "line_comment", "marginalia", "multiline_comment"}
)
_EQUATIONS: Final = frozenset({"bind", "function", "signature"})
"""Types of nodes of Haskell that together define one function: its signature, and an equation for each case."""
_LEADING_TYPES: Final = _COMMENT_TYPES | {"attribute_item", "attribute_list", "decorator"}
_NAME: Final = re.compile(r"[\w$]+(?:(?:\.|::|->|\\)[\w$]+)*")
_SCRIPT: Final = re.compile(r"<script\b[^<>]{0,400}>", re.IGNORECASE)
_NOT_LINE_END: Final = re.compile(r"[^\n]")
_NAME_SEPARATORS: Final = re.compile(r"::|->|\\")
_SIGNATURE_END: Final = re.compile(r"\s*(?::|\{|=|=>|\bas\b)?\s*$", re.IGNORECASE)


class _Definition(Struct, frozen=True):
    """A definition as the query found it; `outer` includes decorators, `export` and the like."""

    node: "SyntaxNode"
    outer: "SyntaxNode"
    kind: str
    name: str
    body: "SyntaxNode | None"


class _Scope(Struct):
    """The bytes of a definition or of the file, and the references directly inside it.

    `symbol` is the index of the definition's symbol; an `impl` block or an extension has none.
    """

    start: int
    end: int
    kind: str
    name: str
    symbol: int | None
    references: dict[tuple[str, str, str], Reference] = field(default_factory=dict)


def parse_outline(text: str, language: Language) -> Outline:
    """Return the outline of a file's text; where it does not follow the grammar, of the parts that do.

    Where the grammar is not installed, the file is one part without definitions.
    """
    if not has_grammar(language):
        return Outline(language=language.name, lines=text.count("\n") + 1)
    from tree_sitter import QueryCursor

    grammar = load_grammar(language)
    root = grammar.parse((_keep_scripts(text) if language.embedded else text).encode())
    matches = [captures for _, captures in QueryCursor(grammar.query).matches(root)]
    scopes, symbols, framing = _nest_definitions(_find_definitions(matches))
    whole = _Scope(0, root.end_byte + 1, "file", "", None)
    _assign_references([whole, *scopes], _find_references(matches))
    # By qualified name; several definitions of one name share the last scope.
    by_name = {scope.name: scope for scope in scopes if scope.symbol is not None}
    for scope in scopes:
        if scope.symbol is None:
            # The references of an `impl` block or an extension belong to the type that it extends.
            by_name.get(scope.name, whole).references.update(scope.references)
    references = {scope.symbol: _first_references(scope) for scope in scopes if scope.symbol is not None}
    return Outline(
        language=language.name,
        lines=text.count("\n") + 1,
        summary=_file_summary(root),
        symbols=tuple(replace(symbol, references=references[index]) for index, symbol in enumerate(symbols)),
        imports=_find_imports(matches),
        references=_first_references(whole),
        framing=framing,
        broken=root.has_error,
    )


def describe_snippet(text: str) -> tuple[str, str] | None:
    """Return the language and the summary of a text that is one definition of code or several, else None.

    The first line proposes a language; its grammar has to agree, so that a text that only begins with a line of
    code stays prose.
    """
    language = recognise_language(text)
    if language is None:
        return None
    # PHP needs its mark, and a method a class around it.
    is_framed = language.name == "php"
    outline = parse_outline(f"<?php class {_FRAME} {{\n{text}\n}}" if is_framed else text, language)
    top = [symbol for symbol in outline.symbols if symbol.parent == (_FRAME if is_framed else "")]
    if sum(symbol.last_line - symbol.first_line + 1 for symbol in top) < _SNIPPET_SHARE * (text.count("\n") + 1):
        return None
    return language.name, top[0].summary


def _keep_scripts(text: str) -> str:
    """Return a page with blanks outside its `<script>` elements, so that lines stay where they are."""
    kept: list[str] = []
    reached = 0
    lowered = text.lower()
    while opening := _SCRIPT.search(text, reached):
        # A script that is never closed is left out, and so is everything after it.
        end = lowered.find("</script", opening.end())
        if end < 0:
            break
        kept += [_NOT_LINE_END.sub(" ", text[reached : opening.end()]), text[opening.end() : end]]
        reached = end
    return "".join([*kept, _NOT_LINE_END.sub(" ", text[reached:])])


def _find_definitions(matches: Iterable["Captures"]) -> list[_Definition]:
    """Return every definition once, outer ones before those inside them."""
    found: dict[tuple[int, int], _Definition] = {}
    for captures in matches:
        kind = next((kind for kind in _KINDS if kind in captures), None)
        if kind is None or "name" not in captures:
            continue
        node = captures[kind][0]
        name = _read_title(captures["name"][0]) if kind in _TITLED else _read_name(captures["name"][0])
        if "owner" in captures:
            name = f"{_read_name(captures['owner'][0])}.{name}"
        body = captures["body"][0] if "body" in captures else None
        if name.strip("."):
            # Several patterns of a query may match the same definition; the first one counts.
            definition = _Definition(node, _with_wrappers(node), kind, name, body)
            found.setdefault((node.start_byte, node.end_byte), definition)
    return sorted(found.values(), key=lambda found: (found.node.start_byte, -found.node.end_byte))


def _with_wrappers(node: "SyntaxNode") -> "SyntaxNode":
    while node.parent is not None and node.parent.type in _WRAPPERS:
        node = node.parent
    return node


def _nest_definitions(definitions: Sequence[_Definition]) -> tuple[list[_Scope], list[Symbol], tuple[int, ...]]:
    """Return scopes, symbols and framing lines, with names qualified by the definitions around them.

    Definitions inside a function are part of it and get no symbol of their own.
    """
    scopes: list[_Scope] = []
    symbols: list[Symbol] = []
    enclosing: list[_Scope] = []
    framing: list[int] = []
    used: dict[str, int] = {}
    for definition in definitions:
        node = definition.node
        # Definitions come in the order of the file, so those that ended before this one enclose nothing any more.
        while enclosing and enclosing[-1].end <= node.start_byte:
            enclosing.pop()
        if any(outer.kind in ("function", "method") for outer in enclosing):
            continue
        outer = _find_outer(definition, enclosing)
        joint = " " if definition.kind in _TITLED else "."
        name = f"{outer.name}{joint}{definition.name}" if outer else definition.name
        if node.type in _EQUATIONS and scopes and scopes[-1].symbol is not None and scopes[-1].name == name:
            symbols[-1] = replace(symbols[-1], last_line=_last_row(node) + 1)
            scopes[-1].end = node.end_byte
            enclosing.append(scopes[-1])
            continue
        scope = _Scope(node.start_byte, node.end_byte, _node_kind(definition), name, None)
        if definition.kind in ("scope", "suite"):
            framing += [node.start_point.row + 1, node.end_point.row + 1]
        else:
            scope.symbol = len(symbols)
            used[name] = used.get(name, 0) + 1
            unique = name if used[name] == 1 else f"{name}~{used[name]}"
            parent = name.rpartition(".")[0]
            # The parent that a qualified name gives may be defined in another file.
            symbols.append(_make_symbol(definition, unique, parent if parent in used else "", outer))
        scopes.append(scope)
        enclosing.append(scope)
    return scopes, symbols, tuple(framing)


def _find_outer(definition: _Definition, enclosing: Sequence[_Scope]) -> _Scope | None:
    """Return the definition around this one whose name begins its own; a suite names only the tests in it."""
    is_test = definition.kind in _TITLED
    return next((scope for scope in reversed(enclosing) if is_test or scope.kind != "suite"), None)


def _make_symbol(definition: _Definition, name: str, parent: str, outer: _Scope | None) -> Symbol:
    leading = list(_leading_nodes(definition.outer))
    first = (leading[0] if leading else definition.outer).start_point.row + 1
    is_owned = "." in definition.name or (outer is not None and outer.kind in _METHOD_OWNERS)
    comments = [_node_text(node) for node in leading if node.type in _COMMENT_TYPES]
    return Symbol(
        name=name,
        kind="method" if definition.kind == "function" and is_owned else _node_kind(definition),
        first_line=first,
        last_line=max(first, _last_row(definition.outer) + 1),
        parent=parent,
        signature=_read_signature(definition),
        summary=_read_docstring(definition.body) or summary_of_comments(comments),
    )


def _node_kind(definition: _Definition) -> str:
    return "function" if definition.kind == "test" else definition.kind


def _leading_nodes(node: "SyntaxNode") -> Iterator["SyntaxNode"]:
    """Iterate over the comments and attributes right above a definition, first to last."""
    found: list[SyntaxNode] = []
    row = node.start_point.row
    # The comment above the first statement of a file may be a sibling of a parent that begins at the same byte.
    while node.prev_sibling is None and node.parent is not None and node.parent.start_byte == node.start_byte:
        node = node.parent
    before = node.prev_sibling
    while before is not None and before.type in _LEADING_TYPES and _last_row(before) >= row - 1:
        earlier = before.prev_sibling
        # The line that names the interpreter belongs to the script.
        if earlier is None and _node_bytes(before).startswith(b"#!"):
            break
        # A comment at the end of a line of code belongs to that line.
        if (
            earlier is not None
            and earlier.type not in _LEADING_TYPES
            and _last_row(earlier) == before.start_point.row
        ):
            break
        found.append(before)
        row, before = before.start_point.row, earlier
    yield from reversed(found)


def _last_row(node: "SyntaxNode") -> int:
    # A node that ends at column 0 ends with the line break of the row before.
    end = node.end_point
    return end.row if end.column else max(end.row - 1, node.start_point.row)


def _read_signature(definition: _Definition) -> str:
    """Return the code before the body and its comments on one line, or the first line if there is no body."""
    # Decorators are left out of a signature, `export` and `template <…>` are not: they say how to use it.
    whole = definition.outer if definition.outer.type != "decorated_definition" else definition.node
    content, end = _node_bytes(whole), definition.body
    while end is not None and end.prev_sibling is not None and end.prev_sibling.type in _COMMENT_TYPES:
        end = end.prev_sibling
    content = content.partition(b"\n")[0] if end is None else content[: end.start_byte - whole.start_byte]
    text = content.decode("utf-8", "replace")
    return _SIGNATURE_END.sub("", _SPACES.sub(" ", text[: 4 * _MAX_SIGNATURE_CHARACTERS])).strip()[
        :_MAX_SIGNATURE_CHARACTERS
    ]


def _read_docstring(body: "SyntaxNode | None") -> str:
    """Return the summary of a string that is the first statement of a body."""
    if body is None or body.type not in ("block", "module") or not body.named_child_count:
        return ""
    first = body.named_children[0]
    string = first.named_children[0] if first.type == "expression_statement" and first.named_child_count else None
    return summary_of_docstring(_node_text(string)) if string is not None and string.type == "string" else ""


def _file_summary(root: "SyntaxNode") -> str:
    docstring = _read_docstring(root)
    if docstring:
        return docstring
    comments: list[str] = []
    for child in root.children:
        if child.type not in _COMMENT_TYPES:
            break
        comments.append(_node_text(child))
    # The first line of a script names its interpreter and describes nothing.
    return summary_of_comments([comment for comment in comments if not comment.startswith("#!")])


def _find_references(matches: Iterable["Captures"]) -> list[tuple[int, Reference]]:
    """Return (offset, reference) of everything that is referred to, in the order of the file."""
    found: list[tuple[int, Reference]] = []
    for captures in matches:
        kind = next((kind for kind in _REFERENCE_KINDS if kind in captures), None)
        if kind is None:
            continue
        node = captures[kind][0]
        on, _, name = _read_name(node).rpartition(".")
        if "on" in captures:
            written = _node_text(captures["on"][0]).rstrip(".")
            on = (
                _NAME_SEPARATORS.sub(".", written)
                if len(written) < _MAX_RECEIVER_CHARACTERS and _NAME.fullmatch(written)
                else "?"
            )
        if name:
            found.append((node.start_byte, Reference(kind, name, on, node.start_point.row + 1)))
    return sorted(found, key=lambda pair: (pair[0], pair[1].kind))


def _assign_references(scopes: Sequence[_Scope], references: Iterable[tuple[int, Reference]]) -> None:
    """Add each reference to the innermost scope around it, once a name."""
    # Scopes are sorted by their start with outer ones first, so the last one that began is the innermost.
    starts = [scope.start for scope in scopes]
    for offset, reference in references:
        index = bisect_right(starts, offset) - 1
        # Scopes before the last one that begins here may have ended; the whole file never has.
        while scopes[index].end <= offset:
            index -= 1
        scopes[index].references.setdefault((reference.kind, reference.on, reference.name), reference)


def _first_references(scope: _Scope) -> tuple[Reference, ...]:
    return tuple(scope.references.values())[:_MAX_REFERENCES]


def _find_imports(matches: Iterable["Captures"]) -> tuple[Import, ...]:
    found: dict[tuple[str, str, str], Import] = {}
    for captures in matches:
        if "from" not in captures:
            continue
        node = captures["from"][0]
        # Scala has no node for the path alone.
        module = _node_text(node).removeprefix("import ").strip("\"'`<>; \t")
        item = _node_text(captures["item"][0]) if "item" in captures else "*" if "all" in captures else ""
        alias = _node_text(captures["as"][0]) if "as" in captures else ""
        found.setdefault((module, item, alias), Import(module, item, alias, node.start_point.row + 1))
    return tuple(found.values())


def _read_name(node: "SyntaxNode") -> str:
    """Return a name with dots between its parts, without type arguments and quotes."""
    name = _NAME_SEPARATORS.sub(".", _SPACES.sub("", _node_text(node).split("<", 1)[0].strip("\"'`")))
    return name[:_MAX_NAME_CHARACTERS].strip(".")


def _read_title(node: "SyntaxNode") -> str:
    """Return the title of a test or a suite, without its quotes and what has a meaning in a key."""
    title = _SPACES.sub(" ", _TITLE_MARKS.sub(" ", _node_text(node)))
    return title[:_MAX_NAME_CHARACTERS].strip()


def _node_text(node: "SyntaxNode") -> str:
    return _node_bytes(node).decode("utf-8", "replace")


def _node_bytes(node: "SyntaxNode") -> bytes:
    return node.text or b""


def summary_of_docstring(written: str) -> str:
    """Return the first paragraph of a docstring, without its quotes."""
    quoted = _QUOTES.match(written.strip())
    return _first_paragraph(cleandoc(quoted.group(2)) if quoted else written)


def summary_of_comments(comments: Sequence[str]) -> str:
    """Return the first paragraph of comments, without their marks; a legal notice has none."""
    bare = [
        _COMMENT_END.sub("", _COMMENT_START.sub("", line)) for comment in comments for line in comment.split("\n")
    ]
    text = "\n".join(bare)
    return "" if _LEGAL_NOTICE.search(text) else _first_paragraph(text)


def _first_paragraph(text: str) -> str:
    kept: list[str] = []
    for line in text.strip().split("\n"):
        if not line.strip(" \t*-=#/") or _DOC_TAG.match(line.strip()):
            if kept:
                break
            continue
        kept.append(line)
    paragraph = _SPACES.sub(" ", " ".join(kept)).strip()
    if len(paragraph) <= _MAX_SUMMARY_CHARACTERS:
        return paragraph
    return paragraph[:_MAX_SUMMARY_CHARACTERS].rsplit(" ", 1)[0] + " …"
