"""Semantic search over derived, memory-mapped columns: an exact int8 scan, or for very many rows a two-stage one.

Every vector is one row across the column files of a folder. Rows are only ever appended; those of changed nodes
are listed as dead until the folder is written anew. A state file, replaced in one step, says how many rows and
dead rows count, so a reader never sees a half-written append.
"""

import math
import mmap
import os
import shutil
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import xxhash

from weft.cache import Recent
from weft.frozen import dataclass
from weft.ports import TailPassage
from weft.scoring.vectors import (
    cosines,
    graded_distances,
    graded_signs,
    norms,
    sign_distances,
    sign_words,
    signs_of,
    stacked,
)
from weft.store.embedded.files import Intact
from weft.store.progress import Damaged, Progress, packed, unpacked
from weft.store.scope import Scope, cut_at_tie, microseconds, position_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]
    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]
    from numpy.typing import NDArray


ABSENT: Final = np.iinfo(np.int64).min
EXACT_ROWS: Final = 32_768
"""Up to so many rows that may be returned, all are compared exactly. Rows a reader may not see do not count, so
that another tenant's never change what is found."""
_LIKELY_SHARE: Final = 8
_PROMISING: Final = 4096
_PROMISING_SHARE: Final = 64
_GATHERED: Final = 16_384
_MASKS: Final = 64
_SCOPES: Final = 64
DIGESTED: Final = 16_384
_FORMAT: Final = 2
"""Of the columns: signs are taken of turned rows since 2."""
COLUMNS: Final = {
    "passage": "<i8",
    "node": "<i8",
    "tenant": "<i4",
    "kind": "<i4",
    "source": "<i4",
    "position": "<i8",
    "sequence": "<i8",
    "time": "<i8",
    "norm": "<f8",
}


@dataclass(frozen=True, slots=True)
class VectorState:
    """What the state file says: progress, which folder, how wide the rows are and how many count."""

    progress: Progress
    epoch: int = 0
    dimensions: int = 0
    rows: int = 0
    dead: int = 0
    digests: tuple[str, ...] = ()
    """One for each block of rows, over all columns, and a last one for the list of dead rows."""


def state_path(folder: Path) -> Path:
    """The file that says what counts."""
    return folder / "vectors.json"


def columns_path(folder: Path, epoch: int) -> Path:
    """The folder of one generation of column files."""
    return folder / f"vectors-{epoch}"


def read_state(folder: Path) -> VectorState:
    """The state in the folder; raises Damaged when there is none that can be used."""
    try:
        fields = orjson.loads(state_path(folder).read_bytes())
        progress = unpacked(fields["progress"].encode())
        counts = [int(fields[name]) for name in ("epoch", "dimensions", "rows", "dead")]
        digests = tuple(map(str, fields["digests"]))
        written = fields["format"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(str(error)) from error
    if progress is None or written != _FORMAT or min(counts) < 0:
        raise Damaged("no state of this format is recorded")
    return VectorState(progress, counts[0], counts[1], counts[2], counts[3], digests)


def packed_state(state: VectorState) -> bytes:
    """The state as JSON."""
    counts = {name: getattr(state, name) for name in ("epoch", "dimensions", "rows", "dead")}
    progress = packed(state.progress).decode()
    return orjson.dumps({"format": _FORMAT, "progress": progress, **counts, "digests": state.digests})


def mapped(folder: Path, name: str, state: VectorState) -> "NDArray[Any]":
    """One column, mapped into memory."""
    width = {"values": state.dimensions, "signs": sign_words(state.dimensions)}.get(name)
    dtype = np.dtype({"values": "i1", "signs": "<u8", "dead": "<i8"}.get(name) or COLUMNS[name])
    rows = state.dead if name == "dead" else state.rows
    shape = (rows,) if width is None else (rows, width)
    size = math.prod(shape) * dtype.itemsize
    if not size:
        return np.zeros(shape, dtype=dtype)
    try:
        with (columns_path(folder, state.epoch) / name).open("rb") as file:
            content = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise Damaged(str(error)) from error
    return np.frombuffer(content, dtype=dtype).reshape(shape)


@dataclass(frozen=True, slots=True)
class VectorGeneration:
    """The rows as one state file counts them, open for searching."""

    state: VectorState
    columns: "dict[str, NDArray[Any]]"
    alive: "Mask | None"
    coded: "dict[tuple[str, tuple[str, ...]], Mask]" = field(default_factory=dict)
    """Masks by column and names: readers ask for the same tenants and kinds again and again."""
    chosen: "Recent[Hashable, Rows]" = field(default_factory=lambda: Recent(_SCOPES))
    """Rows by whatever a reader calls the scope they are of."""

    @property
    def progress(self) -> Progress:
        """How far these rows have come."""
        return self.state.progress

    def rows(self, scope: Scope) -> "Rows | None":
        """The rows of a scope; None means all."""
        mask = self._mask(scope)
        return None if mask is None else np.flatnonzero(mask)

    def search(self, query: "NDArray[np.int8]", rows: "Rows | None", limit: int) -> "tuple[Ids, Scores]":
        """Of some rows the passages nearest to the query, and those that tie with the last, by cosine and id."""
        rows, scores = self._scored(rows, query, limit)
        if len(scores) > limit > 0:
            kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit])
            rows, scores = (kept if rows is None else rows[kept]), scores[kept]
        passages = self.columns["passage"]
        return cut_at_tie(passages[:] if rows is None else passages[rows], scores, limit)

    def _scored(self, rows: "Rows | None", query: "NDArray[np.int8]", limit: int) -> "tuple[Rows | None, Scores]":
        total = self.state.rows
        wanted = total if rows is None else len(rows)
        if wanted > EXACT_ROWS:
            rows = self._promising(rows, query, max(_PROMISING, 16 * limit, wanted // _PROMISING_SHARE))
        values, lengths = self.columns["values"], self.columns["norm"]
        if rows is None:
            return None, cosines(values, lengths, query)
        if 4 * len(rows) > total:
            return rows, cosines(values, lengths, query)[rows]
        # Copies that fit the processor's cache cost a third of one large copy.
        parts = [rows[start : start + _GATHERED] for start in range(0, len(rows), _GATHERED)]
        scores = [cosines(np.take(values, part, axis=0), lengths[part], query) for part in parts]
        return rows, np.concatenate(scores) if scores else np.zeros(0)

    def _promising(self, rows: "Rows | None", query: "NDArray[np.int8]", wanted: int) -> "Rows":
        """The rows whose signs are nearest to the query's, by all of them roughly and then by its levels."""
        signs, graded = self.columns["signs"], graded_signs(query)
        seen = signs if rows is None else np.take(signs, rows, axis=0)
        likely = _nearest(sign_distances(seen, graded[0]), max(wanted, len(seen) // _LIKELY_SHARE))
        near = likely[_nearest(graded_distances(np.take(seen, likely, axis=0), graded), wanted)]
        return near if rows is None else rows[near]

    def _mask(self, scope: Scope) -> "Mask | None":
        """Which rows may be returned; None means all."""
        view, filter, node = scope.view, scope.filter, self.columns["node"]
        tenants = {name for name in self.progress.names if name.startswith("tenant:")}
        all_tenants = tenants <= {f"tenant:{tenant}" for tenant in view.tenants}
        parts = (
            self.alive,
            ~np.isin(node, scope.masked) if len(scope.masked) else None,
            None if scope.nodes is None else np.isin(node, scope.nodes),
            None if all_tenants else self._coded("tenant", view.tenants),
            self._coded("kind", filter.kinds) if filter.kinds else None,
            self._coded("source", filter.sources) if filter.sources else None,
            self._between("position", None, view.as_of),
            self._between("sequence", filter.sequence_from, filter.sequence_to),
            self._between("time", microseconds(filter.since), microseconds(filter.until)),
        )
        real = [part for part in parts if part is not None]
        return np.logical_and.reduce(real) if real else None

    def _coded(self, column: str, wanted: "tuple[str, ...]") -> "Mask":
        known = self.coded.get((column, wanted))
        if known is None:
            if len(self.coded) >= _MASKS:
                self.coded.clear()
            names = {f"{column}:{each}" for each in wanted}
            codes = [code for code, name in enumerate(self.progress.names) if name in names]
            known = self.coded[column, wanted] = np.isin(self.columns[column], np.array(codes, dtype=np.int32))
        return known

    def _between(self, column: str, low: int | None, high: int | None) -> "Mask | None":
        if low is None and high is None:
            return None
        values = self.columns[column]
        inside: Mask = values > ABSENT
        if low is not None:
            inside &= values >= low
        if high is not None:
            inside &= values <= high
        return inside


def _nearest(distances: "NDArray[np.uint16]", wanted: int) -> "Rows":
    """The places of the smallest distances, with all that tie with the last, in order."""
    last = min(wanted, len(distances)) - 1
    return np.flatnonzero(distances <= np.partition(distances, last)[last])


def digests_of(columns: "Mapping[str, NDArray[Any]]", from_row: int = 0) -> tuple[str, ...]:
    """The digests of the blocks of rows from the one that holds `from_row` on, and of the dead rows."""
    rows = len(columns["passage"])
    blocks = []
    for start in range(from_row // DIGESTED * DIGESTED, rows, DIGESTED):
        digest = xxhash.xxh3_64()
        for name in ("values", "signs", *COLUMNS):
            digest.update(columns[name][start : start + DIGESTED].data)
        blocks.append(digest.hexdigest())
    return (*blocks, xxhash.xxh3_64(columns["dead"].data).hexdigest())


def open_columns(folder: Path, state: VectorState) -> "dict[str, NDArray[Any]]":
    """All columns by name."""
    return {name: mapped(folder, name, state) for name in ("values", "signs", *COLUMNS, "dead")}


def open_generation(folder: Path, intact: Intact | None = None) -> VectorGeneration:
    """The newest rows in the folder; raises Damaged when they cannot be read or are not what was written.

    `intact` remembers what was already checked, so that opening again after a small write is quick.
    """
    state = read_state(folder)
    columns = open_columns(folder, state)
    known: Intact = set() if intact is None else intact
    place = columns_path(folder, state.epoch).name
    if any((place, digest) not in known for digest in state.digests):
        checked = len(list(takewhile(lambda digest: (place, digest) in known, state.digests[:-1])))
        if digests_of(columns, checked * DIGESTED) != state.digests[checked:]:
            raise Damaged("columns differ from what was written")
        known.update((place, digest) for digest in state.digests)
    alive: Mask | None = None
    if state.dead:
        dead = columns["dead"]
        alive = np.ones(state.rows, dtype=np.bool_)
        alive[dead] = False
    return VectorGeneration(state, columns, alive)


_DEAD_SHARE: Final = 0.25
_DEAD_SPARED: Final = 1024


class VectorWriter:
    """Adds vectors to the columns in a folder; one at a time, under the lock of the folder."""

    def __init__(self, folder: Path, state: VectorState) -> None:
        self._folder, self._state = folder, state
        self._digested = state.rows
        self._pending: list[int] = []

    @property
    def progress(self) -> Progress:
        """How far the columns have come."""
        return self._state.progress

    def add(self, changed_nodes: Sequence[int], passages: Sequence[TailPassage]) -> None:
        """Replace the vectors of the changed nodes; passages without one of the right width have no row."""
        self._bury(changed_nodes)
        width = self._state.dimensions
        rows = [passage for passage in passages if passage.vector and len(passage.vector) == width]
        progress = self._state.progress.with_names(
            [name for passage in passages for name in _names(passage).values()]
        )
        self._state = replace(self._state, progress=progress)
        if rows:
            codes = {name: code for code, name in enumerate(progress.names)}
            for name, values in _columns(rows, width, codes).items():
                self._append(name, values, self._state.rows)
            self._state = replace(self._state, rows=self._state.rows + len(rows))
        self._pending.extend(changed_nodes)

    def commit(self, sequence: int) -> None:
        """Make what was added count, together with the sequence that it reaches."""
        progress = self._state.progress.advanced(sequence, sorted(set(self._pending)))
        self._state = replace(self._state, progress=progress)
        self._pending.clear()
        stale = None
        if self._state.dead > max(_DEAD_SPARED, _DEAD_SHARE * self._state.rows):
            stale, self._state = columns_path(self._folder, self._state.epoch), self._compacted()
        self._digest()
        save(self._folder, self._state)
        if stale:
            shutil.rmtree(stale, ignore_errors=True)

    def _digest(self) -> None:
        """Bring the digests up to the rows written since they were last taken."""
        kept = self._state.digests[: self._digested // DIGESTED]
        taken = digests_of(open_columns(self._folder, self._state), self._digested)
        self._state, self._digested = replace(self._state, digests=(*kept, *taken)), self._state.rows

    def _bury(self, nodes: Sequence[int]) -> None:
        """List the rows of these nodes as dead."""
        column = mapped(self._folder, "node", self._state)
        if not len(column) or not nodes:
            return
        known = np.array(nodes, dtype=np.int64)
        rows = np.flatnonzero(np.isin(column, known[known <= column.max()]))
        rows = np.setdiff1d(rows, mapped(self._folder, "dead", self._state), assume_unique=True)
        if len(rows):
            self._append("dead", rows.astype("<i8"), self._state.dead)
            self._state = replace(self._state, dead=self._state.dead + len(rows))

    def _append(self, name: str, values: "NDArray[Any]", count: int) -> None:
        """Write behind the entries that count, over whatever a killed writer may have left there."""
        path = columns_path(self._folder, self._state.epoch) / name
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(count * values.itemsize * (values.shape[1] if values.ndim > 1 else 1))
            file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(values).tobytes())

    def _compacted(self) -> VectorState:
        """The state of a new folder that holds the living rows only."""
        alive = np.ones(self._state.rows, dtype=np.bool_)
        alive[mapped(self._folder, "dead", self._state)] = False
        compact = replace(self._state, epoch=self._state.epoch + 1, rows=int(alive.sum()), dead=0)
        target = fresh_columns(self._folder, compact.epoch)
        for name in ("values", "signs", *COLUMNS):
            mapped(self._folder, name, self._state)[alive].tofile(target / name)
        self._digested = 0
        return compact


def fresh_columns(folder: Path, epoch: int) -> Path:
    """An empty folder for column files."""
    target = columns_path(folder, epoch)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    return target


def started(folder: Path, identity: str, dimensions: int) -> VectorState:
    """The state of an empty set of columns, in a folder that no reader has open; older ones are removed."""
    older = sorted(path for path in folder.glob("vectors-*") if path.is_dir())
    epochs = [int(path.name.removeprefix("vectors-")) for path in older if path.name[8:].isdigit()]
    state = VectorState(Progress(identity), max(epochs, default=0) + 1, dimensions)
    fresh_columns(folder, state.epoch)
    state = replace(state, digests=digests_of(open_columns(folder, state)))
    save(folder, state)
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return state


def save(folder: Path, state: VectorState) -> None:
    """Replace the state file in one step."""
    draft = state_path(folder).with_suffix(".draft")
    draft.write_bytes(packed_state(state))
    draft.replace(state_path(folder))


def _names(passage: TailPassage) -> dict[str, str]:
    """The names that rows hold as codes: tenant, kind and source."""
    names = {"tenant": f"tenant:{passage.tenant}"}
    for facet in passage.facets:
        column = facet.partition(":")[0]
        if column in {"kind", "source"}:
            names[column] = facet
    return names


def _columns(rows: Sequence[TailPassage], width: int, codes: dict[str, int]) -> "dict[str, NDArray[Any]]":
    values = stacked([row.vector for row in rows], width)
    names = [_names(row) for row in rows]
    numbers = {
        "passage": [row.id for row in rows],
        "node": [row.node_id for row in rows],
        "position": [_number(position_of(row)) for row in rows],
        "sequence": [_number(row.sequence) for row in rows],
        "time": [_number(microseconds(row.time)) for row in rows],
        **{c: [codes.get(name.get(c, ""), -1) for name in names] for c in ("tenant", "kind", "source")},
    }
    columns: dict[str, NDArray[Any]] = {n: np.array(v, dtype=COLUMNS[n]) for n, v in numbers.items()}
    return {"values": values, "signs": signs_of(values), "norm": norms(values), **columns}


def _number(value: int | None) -> int:
    return ABSENT if value is None else value
