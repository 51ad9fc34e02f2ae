"""Records in JSON, JSONL and CSV files: nodes and edges with the documented fields."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash

from weft.frozen import dataclass
from weft.ports import Problem, Unit
from weft.sources.files import MAX_TEXT, Naming, binary_problem, clean, decode, looks_binary, read_bytes
from weft.sources.files import stamp_of as _file_stamp
from weft.sources.record_schema import Found, Understood, understand
from weft.sources.values import following
from weft.sources.walk_files import File

BLOCK_LINES: Final = 2000
_BLOCK_BYTES: Final = 8_000_000
_MAX_LINE: Final = 32_000_000
_MAX_FILE: Final = 256_000_000
_DELIMITERS: Final = ",;\t|"
_NODE_COLUMNS: Final = frozenset({"key", "id", "_id"})
_EDGE_COLUMNS: Final = (frozenset({"source", "target"}), frozenset({"from", "to"}))


@dataclass(frozen=True, slots=True)
class _Block:
    file: File
    offset: int = 0
    length: int = 0
    first_line: int = 1


class Records:
    """Record files of one source. JSONL is read in blocks of lines, JSON and CSV a file at a time."""

    suffixes = frozenset({".jsonl", ".ndjson", ".json", ".csv", ".tsv"})

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._blocks: dict[str, _Block] = {}
        self._seen: dict[int, int] = {}
        self._numbers: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """Every file of its suffixes."""
        return True

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every unit: hashes of blocks for JSONL, time and size for the rest."""
        self._blocks.clear()
        self._seen.clear()
        for file in files:
            for name, stamp, block in _blocks(file):
                self._blocks[name] = block
                self._numbers[name] = len(self._numbers)
                yield name, stamp

    def read(self, unit: str) -> Unit:
        """The nodes and edges of one unit; of records with the same key the last one counts."""
        block = self._blocks[unit]
        suffix = block.file.path.suffix.lower()
        into = Understood()
        reader = _READERS.get(suffix, _read_lines)
        stamp = reader(block, self.naming, into)
        found = self._last_of_each(unit, into)
        edges = [edge for one in found for edge in one.edges] + into.edges
        edges += following(one.node for one in found)
        return Unit(unit, stamp, tuple(one.node for one in found), tuple(edges), tuple(into.problems))

    def _last_of_each(self, unit: str, into: Understood) -> list[Found]:
        last = {(found.node.tenant, found.node.key): found for found in into.nodes}
        for found in into.nodes:
            name = (found.node.tenant, found.node.key)
            tag = xxhash.xxh3_64_intdigest("\0".join(name).encode())
            if self._seen.setdefault(tag, self._numbers[unit]) != self._numbers[unit] or last[name] is not found:
                into.problems.append(_twice(found))
        return list(last.values())


def _twice(found: Found) -> Problem:
    reason = f"The key {found.node.key!r} is used more than once; the last record counts. Give each its own key."
    return Problem(found.where, reason)


def _blocks(file: File) -> Iterator[tuple[str, str, _Block]]:
    if file.path.suffix.lower() not in (".jsonl", ".ndjson"):
        yield file.name, _file_stamp(file.path), _Block(file)
        return
    try:
        yield from _line_blocks(file)
    except OSError:
        yield f"{file.name}#1", "unreadable", _Block(file)


def _line_blocks(file: File) -> Iterator[tuple[str, str, _Block]]:
    """One streaming pass that cuts a file into blocks and hashes each of them."""
    offset = length = lines = 0
    first_line = 1
    digest = xxhash.xxh3_128()
    with file.path.open("rb") as stream:
        while piece := stream.readline(_BLOCK_BYTES):
            digest.update(piece)
            length += len(piece)
            lines += piece.endswith(b"\n")
            if piece.endswith(b"\n") and (lines == BLOCK_LINES or length >= _BLOCK_BYTES):
                yield f"{file.name}#{first_line}", digest.hexdigest(), _Block(file, offset, length, first_line)
                offset, first_line = offset + length, first_line + lines
                length = lines = 0
                digest = xxhash.xxh3_128()
    if length:
        yield f"{file.name}#{first_line}", digest.hexdigest(), _Block(file, offset, length, first_line)


def _read_lines(block: _Block, naming: Naming, into: Understood) -> str:
    digest = xxhash.xxh3_128()
    number, left = block.first_line, block.length
    with block.file.path.open("rb") as stream:
        if looks_binary(stream.read(8192)):
            into.problems.append(binary_problem(block.file.name))
            return "binary"
        stream.seek(block.offset)
        while left > 0 and (line := stream.readline(left)):
            left -= len(line)
            digest.update(line)
            _read_line(line, number, block.file, naming, into)
            number += 1
    return digest.hexdigest()


def _read_line(line: bytes, number: int, file: File, naming: Naming, into: Understood) -> None:
    line = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not line:
        return
    where = f"{file.name}:{number}"
    if len(line) > _MAX_LINE:
        reason = f"The line has {len(line):,} bytes; at most {_MAX_LINE:,} are read. The record was skipped."
        into.problems.append(Problem(where, reason))
        return
    parsed = _parse(line, where, into)
    if parsed is not None:
        understand(parsed[0], where, naming, into)


def _parse(content: bytes, where: str, into: Understood) -> tuple[object] | None:
    """The JSON value in a tuple of one, leniently: broken UTF-8 and lone surrogates are replaced."""
    try:
        return (orjson.loads(content),)
    except orjson.JSONDecodeError:
        text, problems = decode(content, where)
        into.problems.extend(problems)
    try:
        return (json.loads(text, strict=False),)
    except (ValueError, RecursionError) as error:
        message = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        start = clean(text[:60])
        into.problems.append(Problem(where, f"Not JSON ({message}): {start!r}. The record was skipped."))
        return None


def _read_json(block: _Block, naming: Naming, into: Understood) -> str:
    file = block.file
    content, problem = read_bytes(file, _MAX_FILE)
    if problem:
        into.problems.append(problem)
        return _file_stamp(file.path)
    parsed = _parse(content.removeprefix(b"\xef\xbb\xbf"), file.name, into)
    records = _records_of(parsed[0]) if parsed else ()
    if records is None or not (file.explicit or _hold_records(records)):
        if file.explicit:
            reason = 'The file holds no records; a list, or {"nodes": [...], "edges": [...]}, is allowed.'
            into.problems.append(Problem(file.name, reason))
        return _file_stamp(file.path)
    for number, record in enumerate(records, start=1):
        understand(record, f"{file.name}: record {number}", naming, into)
    return _file_stamp(file.path)


def _hold_records(listed: Sequence[object]) -> bool:
    """Whether any of some values is a record, as it is in a list that was not made for something else."""
    return not listed or any(isinstance(each, Mapping) and _is_table([*map(str, each)]) for each in listed)


def _records_of(value: object) -> Sequence[object] | None:
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return None
    parts = [value.get("nodes"), value.get("edges")]
    if any(isinstance(part, list) for part in parts):
        return [record for part in parts if isinstance(part, list) for record in part]
    return None


def _read_csv(block: _Block, naming: Naming, into: Understood) -> str:
    file = block.file
    content, problem = read_bytes(file, _MAX_FILE)
    if problem:
        into.problems.append(problem)
        return _file_stamp(file.path)
    text, problems = decode(content, file.name)
    into.problems.extend(problems)
    # The module's own limit of 128 KB a cell is far below what a node may hold.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * MAX_TEXT))
    try:
        _read_rows(clean(text), file, naming, into)
    except csv.Error as error:
        into.problems.append(Problem(file.name, f"Not CSV ({error}). The rest of the file was skipped."))
    return _file_stamp(file.path)


def _read_rows(text: str, file: File, naming: Naming, into: Understood) -> None:
    header_line = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header_line.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    header = [name.strip().lower() for name in next(rows, [])]
    if not _is_table(header):
        if file.explicit:
            reason = (
                f"The columns {header!r} name no records; `key` or `id`, or `source` and `target`, are needed."
            )
            into.problems.append(Problem(file.name, reason))
        return
    line = rows.line_num + 1
    for row in rows:
        where = f"{file.name}:{line}"
        line = rows.line_num + 1
        if len(row) > len(header):
            reason = f"The row has {len(row)} cells for {len(header)} columns. The record was skipped."
            into.problems.append(Problem(where, reason))
        elif any(cell.strip() for cell in row):
            understand(dict(zip(header, map(_cell, row), strict=False)), where, naming, into)


def _is_table(header: Sequence[str]) -> bool:
    names = set(header)
    return bool(names & _NODE_COLUMNS) or any(ends <= names for ends in _EDGE_COLUMNS)


def _cell(cell: str) -> object:
    if cell[:1] in ("{", "["):
        try:
            value: object = orjson.loads(cell)
        except orjson.JSONDecodeError:
            return cell
        return value
    return cell


_READERS: Final[Mapping[str, Callable[[_Block, Naming, Understood], str]]] = {
    ".json": _read_json,
    ".csv": _read_csv,
    ".tsv": _read_csv,
}
