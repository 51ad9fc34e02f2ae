"""Print code and history briefly: numbered lines, outlines of files and classes, commits, and links."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput
from weft.interfaces.describe import commit_reference, format_origin, one_line, printable, whole_text
from weft.model import Edge, Node, NodeRef, View
from weft.pipeline.by_history import commits_in, commits_of
from weft.pipeline.by_symbol import find_definitions
from weft.pipeline.folders import Folder, find_folder_at
from weft.pipeline.ledger import describe_shallow
from weft.pipeline.lookup import Place, definition_at, find_file_nodes, look_up, read_place
from weft.pipeline.outline import ALL_EDGES, file_members, shown_first
from weft.pipeline.query import Reading

if TYPE_CHECKING:
    from weft.api import Weft


_CODE_KINDS: Final = frozenset(
    [
        "class",
        "constant",
        "enum",
        "function",
        "interface",
        "macro",
        "method",
        "module",
        "property",
        "struct",
        "trait",
        "type",
        "variable",
    ]
)
"""Kinds that are definitions in code."""
_OUTLINED_KINDS: Final = frozenset({"class", "enum", "interface", "module", "struct", "trait"})
"""Definitions that hold others: of these the members are listed, and each can be asked for by its line."""
_MAX_SHOWN_LINES: Final = 80
"""Lines of a definition or file that are shown; of a longer one its beginning, its outline, or some lines."""
_MAX_SHOWN_TOGETHER: Final = 120
"""Lines of all the definitions of one name; of the others only their places are listed."""
_MAX_CLASS_LINES: Final = 24
"""Own lines of a class that are shown above its members; of more, those that tell what it is."""
_LINES_AROUND: Final = 15
_SIGNATURE_WIDTH: Final = 90
_MAX_LISTED_FILES: Final = 12
"""Files of a commit that are named; a merge or a move may touch hundreds."""
_MAX_TOUCHED: Final = 6
_SUBJECT_WIDTH: Final = 90
_CALL_LINE: Final = "line "


# --- one name -------------------------------------------------------------------------------------------------


def texts_of(weft: "Weft", name: str, view: View, *, whole: bool = False, outline: bool = False) -> list[str]:
    """Return the texts that a name stands for: lines of a file, an outline, a definition, a commit or a node.

    With `whole`, nodes are printed with all their facts and fields; with `outline`, files and definitions by what
    they define alone. Nothing is returned for an unknown name.
    """
    place = read_place(name)
    with weft.reading(view) as reading:
        if place is not None:
            shown = _place_text(weft, place, reading)
            if shown:
                return [shown]
        nodes = look_up(name, reading)
        folder = find_folder_at(name, reading) if not nodes else None
        if folder is not None:
            return [_folder_text(folder)]
        if whole:
            return [whole_text(weft, node, view) for node in nodes]
        if not any(node.language and node.kind in _CODE_KINDS for node in nodes):
            # A file is one text, however many of its parts carry its name.
            return list(dict.fromkeys(_node_text(weft, node, reading, view, outline) for node in nodes))
        # A class comes before the README of the same title, and `url_for` may mean a method as well.
        named = [*nodes, *(row.node for row in find_definitions(name.removesuffix("()"), reading))]
        once = {node.ref: node for node in sorted(named, key=lambda node: node.kind not in _CODE_KINDS)}
        texts = {_node_text(weft, node, reading, view, outline): node for node in once.values()}
        return _limit_texts(texts, {node.ref for node in nodes})


def _limit_texts(texts: Mapping[str, Node], asked: set[NodeRef]) -> list[str]:
    """Return the texts of what was asked for, up to some number of lines, and the places of the others."""
    shown: list[str] = []
    others: list[str] = []
    left = _MAX_SHOWN_TOGETHER
    for text, node in texts.items():
        left -= text.count("\n") + 1 if node.ref in asked else 0
        if node.ref in asked and node.kind in _CODE_KINDS and (left >= 0 or not shown):
            shown.append(text)
        else:
            others.append(f"{one_line(node.title)} {format_origin(node.origin)}")
    return [*shown, f"[… also: {'; '.join(others)}]"] if others else shown


def _node_text(weft: "Weft", node: Node, reading: Reading, view: View, outline: bool) -> str:
    if node.kind == "commit":
        return "\n".join(_commit_lines(node))
    if node.language and node.origin.file and node.kind in _CODE_KINDS:
        return _definition_text(node, reading, outline)
    if node.language and node.origin.file and node.kind == "file":
        return _file_text(weft, node, reading, outline)
    # With the view as it was asked for: it decides which chapters of a story are visible.
    return whole_text(weft, node, view)


def _definition_text(node: Node, reading: Reading, outline: bool) -> str:
    """Return a short definition whole, of a long one the beginning, and of a class its outline."""
    heading = f"{one_line(node.title)} ({node.kind}) {_range(node)}"
    lines, first, file = node.text.split("\n"), node.origin.first_line or 1, one_line(node.origin.file or "")
    inner: list[Node] = []
    if node.kind in _OUTLINED_KINDS:
        inner = [member for member in file_members(node, reading) if member.title.startswith(f"{node.title}.")]
    if outline:
        return "\n".join([heading, *_outline_lines([node, *inner])])
    limit = _MAX_CLASS_LINES if inner else _MAX_SHOWN_LINES
    part = shown_first(node) if inner and len(lines) > limit else None
    if part is not None:
        limit = min(limit, node.text.count("\n", 0, part[1]) + 1)
    shown = _numbered(lines[:limit], first)
    return "\n".join([heading, *shown, *_goes_on(len(lines), limit, first, file), *_outline_lines(inner)])


def _file_text(weft: "Weft", node: Node, reading: Reading, outline: bool) -> str:
    """Return a short file whole, and of a longer one what it defines."""
    lines = _read_lines(weft, node, reading)
    file = one_line(node.origin.file or node.key)
    heading = f"{file}{_mark(node)}, {len(lines):,} lines"
    members = [member for member in file_members(node, reading) if member.kind in _CODE_KINDS]
    if not members or (len(lines) <= _MAX_SHOWN_LINES and not outline):
        shown = _numbered(_without_secrets(lines[:_MAX_SHOWN_LINES]), 1)
        return "\n".join([heading, *shown, *_goes_on(len(lines), _MAX_SHOWN_LINES, 1, file)])
    if len(members) <= _MAX_SHOWN_LINES:
        return "\n".join([heading, *_outline_lines(members)])
    # What stands in classes is left to the outlines of these.
    outer = [member for member in members if "." not in member.title] or members
    inner = len(members) - len(outer)
    more = [f"[… {inner:,} members of classes: show a class by its name]"] if inner else []
    listed = list(_outline_lines(outer))
    rest = [f"[… {len(listed) - _MAX_SHOWN_LINES:,} more: {file}:{outer[_MAX_SHOWN_LINES].origin.first_line}-]"]
    return "\n".join([heading, *listed[:_MAX_SHOWN_LINES], *(rest if len(listed) > _MAX_SHOWN_LINES else more)])


def _folder_text(folder: Folder) -> str:
    """Return the names of what stands in a folder, with the number of files in each folder."""
    inside = Counter(
        rest if not more else f"{rest}/"
        for node in folder.files
        for rest, more, _ in [(node.origin.file or "")[len(folder.path) + 1 :].partition("/")]
    )
    lines = [
        f"  {one_line(name)}{f' ({count:,})' if name.endswith('/') else ''}" for name, count in inside.items()
    ]
    return "\n".join([f"{one_line(folder.path)}/, {len(folder.files):,} files of code", *lines[:_MAX_SHOWN_LINES]])


def _goes_on(count: int, limit: int, first: int, file: str) -> list[str]:
    """Return the line that tells how to see the lines behind the shown ones, if there are any."""
    return [f"[… goes on: {file}:{first + limit}-{first + count - 1}]"] if count > limit else []


def _place_text(weft: "Weft", place: Place, reading: Reading) -> str:
    """Return the lines of a place; of a single line the definition around it, as far as it is not long."""
    files = find_file_nodes(place.file, reading)
    if not files:
        return ""
    node = files[0]
    lines = _read_lines(weft, node, reading)
    if not 1 <= place.first <= len(lines):
        raise InvalidInput(f"{node.origin.file} has {len(lines):,} lines, so there is no line {place.first:,}.")
    first, last, title = place.first, place.last or place.first, ""
    if place.last is None:
        around = definition_at(place.first, file_members(node, reading))
        first, last = max(1, place.first - _LINES_AROUND), min(len(lines), place.first + _LINES_AROUND)
        if around is not None:
            title = f" {one_line(around.title)}"
            start, end = around.origin.first_line or first, around.origin.last_line or last
            is_long = end - start >= _MAX_SHOWN_LINES
            first, last = (max(start, first), min(end, last)) if is_long else (start, end)
    last = min(last, len(lines))
    heading = f"{one_line(node.origin.file or '')}:{first}-{last}{_mark(node)}{title}"
    return "\n".join([heading, *_numbered(_without_secrets(lines[first - 1 : last]), first)])


def _read_lines(weft: "Weft", node: Node, reading: Reading) -> list[str]:
    """Return the lines of a node's file: from the disk where it is known, else as far as they are stored."""
    root = weft.reader.upkeep.roots([node.tenant]).get((node.tenant, node.origin.source))
    text = _read_file(root, node.origin.file or "") if root is not None else None
    if text is not None:
        return printable(text).rstrip("\n").split("\n")
    lines: dict[int, str] = {}
    for member in (node, *file_members(node, reading)):
        first = member.origin.first_line or 1
        lines |= dict(enumerate(member.text.split("\n"), first))
    return [lines.get(number, "") for number in range(1, max(lines, default=0) + 1)]


def _read_file(root: Path, file: str) -> str | None:
    path = root / file if root.is_dir() else root
    try:
        return path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError:
        return None


def _without_secrets(lines: Sequence[str]) -> list[str]:
    """Redact lines that come from the disk: stored ones were redacted when they were read."""
    from weft.text.redact import redact

    return redact("\n".join(lines), keep_lines=True).text.split("\n")


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number}: {printable(line)}".rstrip() for number, line in enumerate(lines, first)]


def _outline_lines(members: Sequence[Node]) -> Iterator[str]:
    """Yield a line for each definition, indented below the one that holds it."""
    for node in members:
        if node.kind not in _CODE_KINDS:
            continue
        signature = one_line(str(node.fields.get("signature") or f"{node.kind} {node.title}"), _SIGNATURE_WIDTH)
        depth = "  " * (node.title.count(".") if node.fields.get("signature") else 0)
        last = f"-{node.origin.last_line}" if node.kind not in _OUTLINED_KINDS else ""
        yield f"{node.origin.first_line}{last}: {depth}{signature}"


def _range(node: Node) -> str:
    origin = node.origin
    return f"{one_line(origin.file or '')}:{origin.first_line}-{origin.last_line}{_mark(node)}"


def _mark(node: Node) -> str:
    return f" ({node.origin.stale.value})" if node.origin.stale is not None else ""


# --- commits ----------------------------------------------------------------------------------------------------


def _commit_lines(node: Node) -> Iterator[str]:
    yield _commit_line(node)
    body = printable(node.text).partition("\n")[2].strip()
    if body:
        yield body
    files = [str(file) for file in _listed(node.fields.get("files_changed"))]
    if files:
        more = f" and {len(files) - _MAX_LISTED_FILES} more" if len(files) > _MAX_LISTED_FILES else ""
        yield f"files: {', '.join(files[:_MAX_LISTED_FILES])}{more}"


def _commit_line(node: Node) -> str:
    fields = node.fields
    size = f" (+{fields.get('insertions', 0)} -{fields.get('deletions', 0)})"
    subject = f"{one_line(str(fields.get('author', '')))}: {one_line(node.title, _SUBJECT_WIDTH)}"
    return f"{commit_reference(node)} {subject}{size}"


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def log_lines(weft: "Weft", name: str, view: View, limit: int) -> list[str]:
    """Return the newest commits that touched a file or definition, each with what it changed there.

    Nothing is returned for a name that means nothing.
    """
    with weft.reading(view) as reading:
        nodes = look_up(name, reading)
        folder = find_folder_at(name, reading) if not nodes else None
        if not nodes and folder is None:
            return []
        rows = commits_in(folder, reading) if folder else [row for row, _ in commits_of(nodes, reading)]
        commits = [row.node for row in rows]
        shown = commits[:limit]
        touched = _touched_names(shown, {node.origin.file for node in nodes}, reading)
        sources = {node.origin.source for node in (folder.files if folder else nodes)}
        shallow = reading.repositories.list_shallow(view.tenants) if reading.repositories else ()
    cut_off = [source for source in shallow if source in sources]
    notes = [describe_shallow(cut_off)] if cut_off else []
    what = one_line(folder.path if folder else nodes[0].title or nodes[0].key)
    if not commits:
        hint = "`weft index` reads commits where it finds a git repository."
        return [f"{what}: no commit in the store touched it. {hint}", *notes]
    count = f"{len(shown)} of {len(commits):,}" if len(shown) < len(commits) else f"{len(commits):,}"
    lines = [f"{what}: {count} {'commits, newest first' if len(commits) > 1 else 'commit'}"]
    return [*lines, *(_commit_line(node) + touched.get(node.id, "") for node in shown), *notes]


def _touched_names(commits: Sequence[Node], files: set[str | None], reading: Reading) -> Mapping[int, str]:
    """Return the definitions of these files that each commit touched, in words, by the commit's id."""
    snapshot = reading.snapshot
    by_commit: dict[int, list[int]] = {}
    for source, target, edge in snapshot.edges([node.id for node in commits], ALL_EDGES):
        if edge.type == "touches":
            by_commit.setdefault(source, []).append(target)
    rows = snapshot.nodes(sorted({target for targets in by_commit.values() for target in targets}))
    named = {}
    for commit, targets in by_commit.items():
        titles = sorted(
            one_line(rows[id].node.title)
            for id in targets
            if id in rows and rows[id].node.origin.file in files and rows[id].node.kind in _CODE_KINDS
        )
        more = f" and {len(titles) - _MAX_TOUCHED} more" if len(titles) > _MAX_TOUCHED else ""
        if titles:
            named[commit] = f" [{', '.join(titles[:_MAX_TOUCHED])}{more}]"
    return named


# --- links ------------------------------------------------------------------------------------------------------

RELATED_COLUMNS: Final = ("link", "kind", "title", "at")


def related_rows(neighbours: Sequence[tuple[Node, Edge]], start_keys: set[str]) -> list[tuple[str, ...]]:
    """Return a row for each neighbour: the link with its direction, and where it stands."""
    return [
        (
            f"{edge.type} {'→' if edge.source in start_keys else '←'}",
            node.kind,
            one_line(node.title, _SUBJECT_WIDTH),
            _link_place(node, edge, start_keys),
        )
        for node, edge in neighbours
    ]


def _link_place(node: Node, edge: Edge, start_keys: set[str]) -> str:
    """Return where a link stands: the calling line of a caller, with its text, else the neighbour's own place."""
    if node.kind == "commit":
        return commit_reference(node)
    line = edge.evidence.removeprefix(_CALL_LINE)
    if edge.source not in start_keys and node.origin.file and line.isdigit():
        inner = int(line) - (node.origin.first_line or 1)
        lines = node.text.split("\n")
        written = f": {one_line(lines[inner].strip(), _SUBJECT_WIDTH)}" if 0 <= inner < len(lines) else ""
        return f"{node.origin.file}:{line}{_mark(node)}{written}"
    return format_origin(node.origin) if node.origin.file else node.key
