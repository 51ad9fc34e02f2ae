"""What comments and docstrings say, without the marks around it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

from weft.frozen import dataclass
from weft.sources.code.languages import Language, grammar_of
from weft.sources.code.outline import Import, Outline, Reference, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node as Branch

    Captures = Mapping[str, Sequence[Branch]]


_LONGEST: Final = 400
_OPENING: Final = re.compile(r"^\s*(?:/\*+!?|//+!?|\*+(?!/)|#+!?|--+)[ \t]?")
_CLOSING: Final = re.compile(r"\s*\*+/\s*$|</?(?:summary|para|remarks)>")
_QUOTES: Final = re.compile(r"""^[rRuUbBfF]*("{3}|'{3}|"|')(.*)\1$""", re.DOTALL)
_LEGAL: Final = re.compile(r"copyright|licen[cs]e|SPDX-", re.IGNORECASE)
_TAG: Final = re.compile(r"^(?:@\w|:\w+|\.\. |<\w+>$|[A-Z][a-z]+:\s*$)")
_SPACES: Final = re.compile(r"\s+")


def summary_of_docstring(written: str) -> str:
    """The first paragraph of a docstring."""
    quoted = _QUOTES.match(written.strip())
    return _first_paragraph(cleandoc(quoted.group(2)) if quoted else written)


def summary_of_comments(comments: Sequence[str]) -> str:
    """The first paragraph of the comments that stand above something; legal notices do not count."""
    bare = [_CLOSING.sub("", _OPENING.sub("", line)) for comment in comments for line in comment.split("\n")]
    text = "\n".join(bare)
    return "" if _LEGAL.search(text) else _first_paragraph(text)


def _first_paragraph(text: str) -> str:
    kept: list[str] = []
    for line in text.strip().split("\n"):
        if not line.strip(" \t*-=#/") or _TAG.match(line.strip()):
            if kept:
                break
            continue
        kept.append(line)
    told = _SPACES.sub(" ", " ".join(kept)).strip()
    return told if len(told) <= _LONGEST else told[:_LONGEST].rsplit(" ", 1)[0] + " …"


_KINDS: Final = ("class", "function", "interface", "type", "module", "scope")
_REFERENCES: Final = ("call", "use", "base")
_OWNERS: Final = frozenset({"class", "interface", "type", "scope"})
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
"""What may stand around a definition and belongs to it."""

_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "multiline_comment", "marginalia"})
_LEADING: Final = _COMMENTS | {"attribute_item", "attribute_list", "decorator"}
_NAME: Final = re.compile(r"[\w$]+(?:(?:\.|::|->|\\)[\w$]+)*")
_GLUE: Final = re.compile(r"::|->|\\")
_TAIL: Final = re.compile(r"\s*(?::|\{|=|=>|\bas\b)?\s*$", re.IGNORECASE)
_LONGEST_NAME: Final = 160
_LONGEST_SIGNATURE: Final = 400
_MOST_REFERENCES: Final = 400


@dataclass(frozen=True, slots=True)
class _Definition:
    branch: "Branch"
    outer: "Branch"
    kind: str
    name: str
    body: "Branch | None"


@dataclass(slots=True)
class _Open:
    """A definition around what comes next, and the references met directly inside it."""

    start: int
    end: int
    kind: str
    name: str
    symbol: int | None
    references: dict[tuple[str, str, str], Reference] = field(default_factory=dict)


def outline_of(text: str, language: Language) -> Outline:
    """The outline of a file's text; where it does not follow the grammar, of the parts that do."""
    from tree_sitter import QueryCursor

    grammar = grammar_of(language)
    root = grammar.parse(text.encode())
    matches = [captures for _, captures in QueryCursor(grammar.query).matches(root)]
    opened, symbols, framing = _nested(_definitions(matches))
    whole = _Open(0, root.end_byte + 1, "file", "", None)
    _share_out([whole, *opened], _references(matches))
    named = {each.name: each for each in opened if each.symbol is not None}
    for scope in opened:
        if scope.symbol is None:
            # What an `impl` block or an extension refers to is told of the type it extends.
            named.get(scope.name, whole).references.update(scope.references)
    referring = {each.symbol: _listed(each) for each in opened if each.symbol is not None}
    return Outline(
        language=language.name,
        lines=text.count("\n") + 1,
        summary=_file_summary(root),
        symbols=tuple(replace(each, references=referring[place]) for place, each in enumerate(symbols)),
        imports=_imports(matches),
        references=_listed(whole),
        framing=framing,
        broken=root.has_error,
    )


def _definitions(matches: Iterable["Captures"]) -> list[_Definition]:
    """Every definition once, outer ones before those inside them."""
    found: dict[tuple[int, int], _Definition] = {}
    for captures in matches:
        kind = next((kind for kind in _KINDS if kind in captures), None)
        if kind is None or "name" not in captures:
            continue
        branch = captures[kind][0]
        name = _name(captures["name"][0])
        if "owner" in captures:
            name = f"{_name(captures['owner'][0])}.{name}"
        body = captures["body"][0] if "body" in captures else None
        if name.strip("."):
            made = _Definition(branch, _outermost(branch), kind, name, body)
            found.setdefault((branch.start_byte, branch.end_byte), made)
    return sorted(found.values(), key=lambda each: (each.branch.start_byte, -each.branch.end_byte))


def _outermost(branch: "Branch") -> "Branch":
    while branch.parent is not None and branch.parent.type in _WRAPPERS:
        branch = branch.parent
    return branch


def _nested(definitions: Sequence[_Definition]) -> tuple[list[_Open], list[Symbol], tuple[int, ...]]:
    """The definitions with the names of those around them; what stands inside a function belongs to it."""
    opened: list[_Open] = []
    symbols: list[Symbol] = []
    around: list[_Open] = []
    framing: list[int] = []
    used: dict[str, int] = {}
    for each in definitions:
        while around and around[-1].end <= each.branch.start_byte:
            around.pop()
        if any(outer.kind in ("function", "method") for outer in around):
            continue
        outer = around[-1] if around else None
        name = f"{outer.name}.{each.name}" if outer else each.name
        made = _Open(each.branch.start_byte, each.branch.end_byte, each.kind, name, None)
        if each.kind == "scope":
            framing += [each.branch.start_point.row + 1, each.branch.end_point.row + 1]
        else:
            made.symbol = len(symbols)
            used[name] = used.get(name, 0) + 1
            unique = name if used[name] == 1 else f"{name}~{used[name]}"
            around_it = name.rpartition(".")[0]
            # What a qualified name says is around it may be defined in another file.
            symbols.append(_symbol(each, unique, around_it if around_it in used else "", outer))
        opened.append(made)
        around.append(made)
    return opened, symbols, tuple(framing)


def _symbol(definition: _Definition, name: str, parent: str, outer: _Open | None) -> Symbol:
    leading = list(_leading(definition.outer))
    first = (leading[0] if leading else definition.outer).start_point.row + 1
    owned = "." in definition.name or (outer is not None and outer.kind in _OWNERS)
    comments = [_text(each) for each in leading if each.type in _COMMENTS]
    return Symbol(
        name=name,
        kind="method" if definition.kind == "function" and owned else definition.kind,
        first_line=first,
        last_line=max(first, _last_row(definition.outer) + 1),
        parent=parent,
        signature=_signature(definition),
        summary=_docstring(definition.body) or summary_of_comments(comments),
    )


def _leading(branch: "Branch") -> Iterator["Branch"]:
    """The comments and attributes right above a definition, first to last."""
    found: list[Branch] = []
    row = branch.start_point.row
    while (
        branch.prev_sibling is None and branch.parent is not None and branch.parent.start_byte == branch.start_byte
    ):
        branch = branch.parent
    before = branch.prev_sibling
    while before is not None and before.type in _LEADING and _last_row(before) >= row - 1:
        earlier = before.prev_sibling
        if earlier is not None and earlier.type not in _LEADING and _last_row(earlier) == before.start_point.row:
            break
        found.append(before)
        row, before = before.start_point.row, earlier
    yield from reversed(found)


def _last_row(branch: "Branch") -> int:
    end = branch.end_point
    return end.row if end.column else max(end.row - 1, branch.start_point.row)


def _signature(definition: _Definition) -> str:
    """What stands before the body and the comments above that, on one line; the first line where there is none."""
    whole = definition.outer if definition.outer.type != "decorated_definition" else definition.branch
    content, end = _bytes(whole), definition.body
    while end is not None and end.prev_sibling is not None and end.prev_sibling.type in _COMMENTS:
        end = end.prev_sibling
    content = content.partition(b"\n")[0] if end is None else content[: end.start_byte - whole.start_byte]
    told = content.decode("utf-8", "replace")
    return _TAIL.sub("", _SPACES.sub(" ", told[: 4 * _LONGEST_SIGNATURE])).strip()[:_LONGEST_SIGNATURE]


def _docstring(body: "Branch | None") -> str:
    """What a string that is the first statement of a body says."""
    if body is None or body.type not in ("block", "module") or not body.named_child_count:
        return ""
    first = body.named_children[0]
    string = first.named_children[0] if first.type == "expression_statement" and first.named_child_count else None
    return summary_of_docstring(_text(string)) if string is not None and string.type == "string" else ""


def _file_summary(root: "Branch") -> str:
    told = _docstring(root)
    if told:
        return told
    comments: list[str] = []
    for child in root.children:
        if child.type not in _COMMENTS:
            break
        comments.append(_text(child))
    return summary_of_comments([each for each in comments if not each.startswith("#!")])


def _references(matches: Iterable["Captures"]) -> list[tuple[int, Reference]]:
    """What is referred to, with its place, in the order of the file."""
    found: list[tuple[int, Reference]] = []
    for captures in matches:
        kind = next((kind for kind in _REFERENCES if kind in captures), None)
        if kind is None:
            continue
        branch = captures[kind][0]
        on, _, name = _name(branch).rpartition(".")
        if "on" in captures:
            written = _text(captures["on"][0])
            on = _GLUE.sub(".", written) if len(written) < 60 and _NAME.fullmatch(written) else "?"
        if name:
            found.append((branch.start_byte, Reference(kind, name, on, branch.start_point.row + 1)))
    return sorted(found, key=lambda each: (each[0], each[1].kind))


def _share_out(opened: Sequence[_Open], references: Iterable[tuple[int, Reference]]) -> None:
    """Give each reference to the innermost definition around it."""
    starts = [each.start for each in opened]
    for place, reference in references:
        index = bisect_right(starts, place) - 1
        while opened[index].end <= place:
            index -= 1
        opened[index].references.setdefault((reference.kind, reference.on, reference.name), reference)


def _listed(opened: _Open) -> tuple[Reference, ...]:
    return tuple(opened.references.values())[:_MOST_REFERENCES]


def _imports(matches: Iterable["Captures"]) -> tuple[Import, ...]:
    found: dict[tuple[str, str, str], Import] = {}
    for captures in matches:
        if "from" not in captures:
            continue
        branch = captures["from"][0]
        module = _text(branch).strip("\"'`<>; \t")
        item = _text(captures["item"][0]) if "item" in captures else "*" if "all" in captures else ""
        alias = _text(captures["as"][0]) if "as" in captures else ""
        found.setdefault((module, item, alias), Import(module, item, alias, branch.start_point.row + 1))
    return tuple(found.values())


def _name(branch: "Branch") -> str:
    told = _GLUE.sub(".", _SPACES.sub("", _text(branch).split("<", 1)[0].strip("\"'`")))
    return told[:_LONGEST_NAME].strip(".")


def _text(branch: "Branch") -> str:
    return _bytes(branch).decode("utf-8", "replace")


def _bytes(branch: "Branch") -> bytes:
    return branch.text or b""
