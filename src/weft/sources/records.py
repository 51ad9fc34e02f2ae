"""Read records in JSON, JSONL and CSV files; `record_schema` turns each into a node or an edge."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import orjson
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from weft.ports import Problem, Unit
from weft.sources.configuration.file_types import JSON, find_data_folders
from weft.sources.configuration.format import read_configuration
from weft.sources.files import (
    BINARY_SNIFF_BYTES,
    MAX_TEXT_CHARACTERS,
    UNREADABLE,
    SourceSettings,
    binary_problem,
    clean,
    decode,
    file_stamp,
    is_memory_export,
    looks_binary,
    read_bytes,
)
from weft.sources.record_schema import QUESTION_AND_ANSWER, ParsedRecords, RecordNode, parse_record
from weft.sources.values import sequence_edges
from weft.sources.walk_files import File

BLOCK_LINES: Final = 2000
"""Lines of JSONL in one unit. A change to a line makes its whole block be read again, while a smaller block means
more units to remember."""
_MAX_BLOCK_BYTES: Final = 8_000_000
"""Bytes after which a block of JSONL ends early, so that long lines do not fill the memory."""
_MAX_LINE_BYTES: Final = 32_000_000
"""The longest line of JSONL that is parsed; the longest text of a node takes 30 MB with every character
escaped as \\uXXXX."""
_MAX_FILE_BYTES: Final = 256_000_000
"""The largest JSON or CSV file, which is parsed in memory as a whole; larger collections belong in JSONL."""
_QUOTED_CHARACTERS: Final = 60
"""How much of a line that is not JSON its problem quotes."""
_DELIMITERS: Final = ",;\t|"
_LINE_SUFFIXES: Final = (".jsonl", ".ndjson")
_READER_VERSION: Final = "3"
"""Part of the stamp of JSON and CSV; to be changed whenever the same file would give other nodes."""
_CONFIGURATION_SUFFIX: Final = ".json"
_NO_RECORDS: Final = "no records"
_NODE_COLUMNS: Final = frozenset({"key", "id", "_id"})
_PAIRED_COLUMNS: Final = (frozenset({"source", "target"}), frozenset({"from", "to"}), QUESTION_AND_ANSWER)
"""Columns that together make an edge, or a node without a key."""


class _Block(Struct, frozen=True):
    """A unit: some lines of a JSONL file, or a whole file of another kind (its offset and length are not used)."""

    file: File
    offset: int = 0
    length: int = 0
    first_line: int = 1


class Records:
    """The record files of one source. JSONL is read in blocks of lines, JSON and CSV a file at a time."""

    suffixes = frozenset({".jsonl", ".ndjson", ".json", ".csv", ".tsv"})

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._blocks: dict[str, _Block] = {}
        self._unit_numbers: dict[str, int] = {}
        self._data_folders: dict[str, str] = {}
        """Why a JSON file without records is not read as configuration either, by name."""
        self._unit_by_key_hash: dict[int, int] = {}
        """The number of the unit in which a key was read first. Hashes and numbers stand for keys and names,
        because a source may have millions of records."""

    def takes(self, file: File) -> bool:
        """Take every file with one of the suffixes, but no export of memories."""
        return not is_memory_export(file.path)

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every unit: hashes of blocks for JSONL, time and size for the rest."""
        self._blocks.clear()
        self._data_folders = find_data_folders(
            file.name for file in files if file.path.suffix.lower() == _CONFIGURATION_SUFFIX
        )
        self._unit_by_key_hash.clear()
        for file in files:
            for name, stamp, block in _blocks(file):
                self._blocks[name] = block
                self._unit_numbers[name] = len(self._unit_numbers)
                yield name, stamp

    def read(self, unit: str) -> Unit:
        """Read the nodes and edges of one unit; of records with the same key the last one counts."""
        block = self._blocks[unit]
        parsed = ParsedRecords()
        reader = _READERS.get(block.file.path.suffix.lower(), _read_lines)
        stamp = reader(block, self.settings, parsed)
        if parsed.is_broken or not (parsed.nodes or parsed.edges or parsed.problems):
            return self._without_records(block.file, Unit(unit, stamp, problems=tuple(parsed.problems)))
        kept = self._drop_repeated_keys(unit, parsed)
        # The edges of a record that a later one replaces are dropped with it.
        edges = [edge for record in kept for edge in record.edges] + parsed.edges
        edges += sequence_edges(record.node for record in kept)
        return Unit(unit, stamp, tuple(record.node for record in kept), tuple(edges), tuple(parsed.problems))

    def _without_records(self, file: File, unit: Unit) -> Unit:
        """Return a JSON file without records as configuration, and any other as it is, skipped."""
        if file.path.suffix.lower() != _CONFIGURATION_SUFFIX:
            return replace(unit, skipped=_NO_RECORDS)
        if file.name in self._data_folders and not file.explicit:
            return replace(unit, skipped=self._data_folders[file.name])
        read = read_configuration(file, JSON, self.settings)
        # What is kept as text has its own problem; a file that is not kept is reported by its own.
        return replace(read, stamp=unit.stamp, problems=read.problems if read.nodes else unit.problems)

    def _drop_repeated_keys(self, unit: str, parsed: ParsedRecords) -> list[RecordNode]:
        """Keep the last record of each key, and report keys that repeat within the unit or in another one."""
        last = {(record.node.tenant, record.node.key): record for record in parsed.nodes}
        number = self._unit_numbers[unit]
        for record in parsed.nodes:
            full_name = (record.node.tenant, record.node.key)
            key_hash = xxhash.xxh3_64_intdigest("\0".join(full_name).encode())
            if self._unit_by_key_hash.setdefault(key_hash, number) != number or last[full_name] is not record:
                reason = (
                    f"The key {record.node.key!r} is used more than once; the last record counts. "
                    "Give each its own key."
                )
                parsed.problems.append(Problem(record.where, reason))
        return list(last.values())


def _blocks(file: File) -> Iterator[tuple[str, str, _Block]]:
    """List the units of a file as (name, stamp, block)."""
    if file.path.suffix.lower() not in _LINE_SUFFIXES:
        yield file.name, f"{file_stamp(file.path)}-{_READER_VERSION}", _Block(file)
        return
    try:
        yield from _line_blocks(file)
    except OSError:
        yield f"{file.name}#1", UNREADABLE, _Block(file)


def _line_blocks(file: File) -> Iterator[tuple[str, str, _Block]]:
    """Cut a JSONL file into blocks and hash each of them, in one streaming pass."""
    offset = length = lines = 0
    first_line = 1
    digest = xxhash.xxh3_128()
    with file.path.open("rb") as stream:
        # A longer line arrives in several pieces; only the last one ends it.
        while piece := stream.readline(_MAX_BLOCK_BYTES):
            digest.update(piece)
            length += len(piece)
            lines += piece.endswith(b"\n")
            # A block ends with a line, so that a record is never split between two units.
            if piece.endswith(b"\n") and (lines == BLOCK_LINES or length >= _MAX_BLOCK_BYTES):
                yield f"{file.name}#{first_line}", digest.hexdigest(), _Block(file, offset, length, first_line)
                offset, first_line = offset + length, first_line + lines
                length = lines = 0
                digest = xxhash.xxh3_128()
    if length:
        yield f"{file.name}#{first_line}", digest.hexdigest(), _Block(file, offset, length, first_line)


def _read_lines(block: _Block, settings: SourceSettings, parsed: ParsedRecords) -> str:
    """Read the records of a block of JSONL and return the block's hash as it was read, which may be new by now."""
    digest = xxhash.xxh3_128()
    number, left = block.first_line, block.length
    with block.file.path.open("rb") as stream:
        if looks_binary(stream.read(BINARY_SNIFF_BYTES)):
            parsed.problems.append(binary_problem(block.file.name))
            return "binary"
        stream.seek(block.offset)
        while left > 0 and (line := stream.readline(left)):
            left -= len(line)
            digest.update(line)
            _read_line(line, number, block.file, settings, parsed)
            number += 1
    return digest.hexdigest()


def _read_line(line: bytes, number: int, file: File, settings: SourceSettings, parsed: ParsedRecords) -> None:
    line = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not line:
        return
    where = f"{file.name}:{number}"
    if len(line) > _MAX_LINE_BYTES:
        reason = f"The line has {len(line):,} bytes; at most {_MAX_LINE_BYTES:,} are read. The record was skipped."
        parsed.problems.append(Problem(where, reason))
        return
    value = _parse_json(line, where, parsed)
    if value is not None:
        parse_record(value[0], where, settings, parsed)


def _parse_json(content: bytes, where: str, parsed: ParsedRecords) -> tuple[object] | None:
    """Return the JSON value in a tuple of one, or None and a problem; broken UTF-8 is replaced."""
    try:
        return (orjson.loads(content),)
    except orjson.JSONDecodeError:
        text, problems = decode(content, where)
        parsed.problems.extend(problems)
    # The slower parser of the standard library accepts what the strict one refuses: NaN, control characters.
    try:
        return (json.loads(text, strict=False),)
    except (ValueError, RecursionError) as error:
        message = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        start = clean(text[:_QUOTED_CHARACTERS])
        parsed.problems.append(Problem(where, f"Not JSON ({message}): {start!r}. The record was skipped."))
        return None


def _read_json(block: _Block, settings: SourceSettings, parsed: ParsedRecords) -> str:
    """Read the records of a JSON file; one in a folder that holds no records is passed over without a problem."""
    file = block.file
    content, problem = read_bytes(file, _MAX_FILE_BYTES)
    if problem:
        parsed.problems.append(problem)
        return file_stamp(file.path)
    value = _parse_json(content.removeprefix(b"\xef\xbb\xbf"), file.name, parsed)
    parsed.is_broken = value is None
    records = _find_records(value[0]) if value else ()
    # Folders are full of JSON that is configuration; only a list that the user named must hold records.
    if records is None or not (file.explicit or _looks_like_records(records)):
        return file_stamp(file.path)
    for number, record in enumerate(records, start=1):
        parse_record(record, f"{file.name}: record {number}", settings, parsed)
    return file_stamp(file.path)


def _looks_like_records(values: Sequence[object]) -> bool:
    """Return whether any value has the columns of a record; most lists in JSON files are something else."""
    return not values or any(isinstance(value, Mapping) and _has_columns([*map(str, value)]) for value in values)


def _find_records(value: object) -> Sequence[object] | None:
    """Return the list of records in a JSON value, or None if it has none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return None
    parts = [value.get("nodes"), value.get("edges")]
    if any(isinstance(part, list) for part in parts):
        return [record for part in parts if isinstance(part, list) for record in part]
    return None


def _read_csv(block: _Block, settings: SourceSettings, parsed: ParsedRecords) -> str:
    """Read the records of a CSV or TSV file, one a row."""
    file = block.file
    content, problem = read_bytes(file, _MAX_FILE_BYTES)
    if problem:
        parsed.problems.append(problem)
        return file_stamp(file.path)
    text, problems = decode(content, file.name)
    parsed.problems.extend(problems)
    # The module's own limit of 128 KB a cell is far below what a node may hold.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * MAX_TEXT_CHARACTERS))
    try:
        _read_rows(clean(text), file, settings, parsed)
    except csv.Error as error:
        parsed.problems.append(Problem(file.name, f"Not CSV ({error}). The rest of the file was skipped."))
    return file_stamp(file.path)


def _read_rows(text: str, file: File, settings: SourceSettings, parsed: ParsedRecords) -> None:
    # Spreadsheets write `;` or tabs in some locales, whatever the suffix says: the header's commonest one counts.
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    header = [name.strip().lower() for name in next(rows, [])]
    if not _has_columns(header):
        if file.explicit:
            reason = (
                f"The columns {header!r} name no records; `key` or `id`, `question` and `answer`, or `source` "
                "and `target`, are needed."
            )
            parsed.problems.append(Problem(file.name, reason))
        return
    line = rows.line_num + 1
    for row in rows:
        # A cell may hold line breaks, so the next row begins where the reader stopped after this one.
        where = f"{file.name}:{line}"
        line = rows.line_num + 1
        if len(row) > len(header):
            reason = f"The row has {len(row)} cells for {len(header)} columns. The record was skipped."
            parsed.problems.append(Problem(where, reason))
        elif any(cell.strip() for cell in row):
            # Spreadsheets leave out empty cells at the end of a row, so a row may be shorter than the header.
            parse_record(dict(zip(header, map(_parse_cell, row), strict=False)), where, settings, parsed)


def _has_columns(header: Sequence[str]) -> bool:
    """Return whether the columns are those of nodes or of edges."""
    names = set(header)
    return bool(names & _NODE_COLUMNS) or any(pair <= names for pair in _PAIRED_COLUMNS)


def _parse_cell(cell: str) -> object:
    """Return the JSON list or object that a cell holds, or else its text."""
    if cell[:1] in ("{", "["):
        try:
            value: object = orjson.loads(cell)
        except orjson.JSONDecodeError:
            return cell
        return value
    return cell


_READERS: Final[Mapping[str, Callable[[_Block, SourceSettings, ParsedRecords], str]]] = {
    ".json": _read_json,
    ".csv": _read_csv,
    ".tsv": _read_csv,
}
