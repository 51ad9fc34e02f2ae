"""Write the vector columns that `vectors` searches: append rows, list dead ones, and compact when many are."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
from msgspec.structs import replace

from weft.ports import ChangedPassage
from weft.runtime.files import replace_file
from weft.scoring.similarity import norms, sign_bits, stack_rows
from weft.store.derived import Progress, pack_progress
from weft.store.embedded.vectors import (
    ABSENT,
    COLUMNS,
    FORMAT,
    ROWS_PER_DIGEST,
    VectorState,
    block_digests,
    columns_path,
    map_column,
    open_columns,
    state_path,
)
from weft.store.records import known_position, to_microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_DEAD_SHARE: Final = 0.25
"""Share of dead rows beyond which the columns are written anew: every search passes over them."""
_MIN_DEAD_ROWS: Final = 1024
"""Dead rows up to which a small store is not written anew, whatever their share."""


class VectorWriter:
    """The writer of the columns in a folder; one at a time, under the lock of the folder."""

    def __init__(self, folder: Path, state: VectorState) -> None:
        self._folder, self._state = folder, state
        self._digested_rows = state.rows
        self._changed_nodes: list[int] = []

    @property
    def progress(self) -> Progress:
        """The progress of the columns."""
        return self._state.progress

    def add(self, changed_nodes: Sequence[int], passages: Sequence[ChangedPassage]) -> None:
        """Replace the vectors of the changed nodes; passages without one of the right width have no row."""
        self._mark_dead(changed_nodes)
        width = self._state.dimensions
        # While a store is embedded anew, vectors of two widths may come.
        rows = [passage for passage in passages if passage.vector and len(passage.vector) == width]
        names = [name for passage in passages for name in _coded_names(passage).values()]
        progress = self._state.progress.with_names(names)
        self._state = replace(self._state, progress=progress)
        if rows:
            codes = {name: code for code, name in enumerate(progress.names)}
            for name, values in _make_columns(rows, width, codes).items():
                self._append(name, values, self._state.rows)
            self._state = replace(self._state, rows=self._state.rows + len(rows))
        self._changed_nodes.extend(changed_nodes)

    def commit(self, sequence: int) -> None:
        """Make what was added count, together with the sequence that it reaches."""
        progress = self._state.progress.advanced(sequence, sorted(set(self._changed_nodes)))
        self._state = replace(self._state, progress=progress)
        self._changed_nodes.clear()
        stale = None
        if self._state.dead > max(_MIN_DEAD_ROWS, _MAX_DEAD_SHARE * self._state.rows):
            stale, self._state = columns_path(self._folder, self._state.epoch), self._compact()
        self._update_digests()
        save_state(self._folder, self._state)
        # Readers that still have the old columns open go on reading them.
        if stale:
            shutil.rmtree(stale, ignore_errors=True)

    def _update_digests(self) -> None:
        """Bring the digests up to the rows written since they were last computed."""
        # The last block was not full and has grown: only full ones keep their digest.
        kept = self._state.digests[: self._digested_rows // ROWS_PER_DIGEST]
        added = block_digests(open_columns(self._folder, self._state), self._digested_rows)
        self._state = replace(self._state, digests=(*kept, *added))
        self._digested_rows = self._state.rows

    def _mark_dead(self, nodes: Sequence[int]) -> None:
        """List the rows of these nodes as dead."""
        column = map_column(self._folder, "node", self._state)
        if not len(column) or not nodes:
            return
        wanted = np.array(nodes, dtype=np.int64)
        # New nodes have larger ids than any row: leaving them out makes a first indexing run faster.
        rows = np.flatnonzero(np.isin(column, wanted[wanted <= column.max()]))
        # A node may change more than once between two compactions.
        rows = np.setdiff1d(rows, map_column(self._folder, "dead", self._state), assume_unique=True)
        if len(rows):
            self._append("dead", rows.astype("<i8"), self._state.dead)
            self._state = replace(self._state, dead=self._state.dead + len(rows))

    def _append(self, name: str, values: "NDArray[Any]", count: int) -> None:
        """Write behind the entries that count, over whatever a killed writer may have left there."""
        path = columns_path(self._folder, self._state.epoch) / name
        # Where there are no rows yet, a loss of power may have left the state without its folder.
        path.parent.mkdir(exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(count * values.itemsize * (values.shape[1] if values.ndim > 1 else 1))
            file.seek(0, os.SEEK_END)
            file.write(np.ascontiguousarray(values).tobytes())

    def _compact(self) -> VectorState:
        """Write the living rows into a new folder and return its state."""
        alive = np.ones(self._state.rows, dtype=np.bool_)
        alive[map_column(self._folder, "dead", self._state)] = False
        compact = replace(self._state, epoch=self._state.epoch + 1, rows=int(alive.sum()), dead=0)
        target = _make_columns_folder(self._folder, compact.epoch)
        for name in ("values", "signs", *COLUMNS):
            map_column(self._folder, name, self._state)[alive].tofile(target / name)
        self._digested_rows = 0
        return compact


def _make_columns_folder(folder: Path, epoch: int) -> Path:
    """Make an empty folder for column files."""
    target = columns_path(folder, epoch)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    return target


def start_columns(folder: Path, identity: str, dimensions: int) -> VectorState:
    """Start an empty set of columns in a new folder, remove older ones, and return its state."""
    older = sorted(path for path in folder.glob("vectors-*") if path.is_dir())
    epochs = [int(path.name.removeprefix("vectors-")) for path in older if path.name[8:].isdigit()]
    # A number that was never used: readers may still have the old columns mapped.
    state = VectorState(Progress(identity), max(epochs, default=0) + 1, dimensions)
    _make_columns_folder(folder, state.epoch)
    state = replace(state, digests=block_digests(open_columns(folder, state)))
    save_state(folder, state)
    # Last, because readers need the old columns until the state names the new ones.
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return state


def save_state(folder: Path, state: VectorState) -> None:
    """Replace the state file."""
    counts = {name: getattr(state, name) for name in ("epoch", "dimensions", "rows", "dead")}
    progress = pack_progress(state.progress).decode()
    plain = {"format": FORMAT, "progress": progress, **counts, "digests": state.digests}
    replace_file(state_path(folder), orjson.dumps(plain))


def _coded_names(passage: ChangedPassage) -> dict[str, str]:
    """Return the names that rows hold as codes, by column: tenant, kind and source."""
    names = {"tenant": f"tenant:{passage.tenant}"}
    for facet in passage.facets:
        column = facet.partition(":")[0]
        if column in {"kind", "source"}:
            names[column] = facet
    return names


def _make_columns(rows: Sequence[ChangedPassage], width: int, codes: dict[str, int]) -> "dict[str, NDArray[Any]]":
    """Return the values that the rows add to each column file."""
    values = stack_rows([row.vector for row in rows], width)
    names = [_coded_names(row) for row in rows]
    numbers = {
        "passage": [row.id for row in rows],
        "node": [row.node_id for row in rows],
        "position": [_or_absent(known_position(row)) for row in rows],
        "sequence": [_or_absent(row.sequence) for row in rows],
        "time": [_or_absent(to_microseconds(row.time)) for row in rows],
    }
    for column in ("tenant", "kind", "source"):
        numbers[column] = [codes.get(row_names.get(column, ""), -1) for row_names in names]
    columns: dict[str, NDArray[Any]] = {
        name: np.array(column, dtype=COLUMNS[name]) for name, column in numbers.items()
    }
    return {"values": values, "signs": sign_bits(values), "norm": norms(values), **columns}


def _or_absent(value: int | None) -> int:
    return ABSENT if value is None else value
