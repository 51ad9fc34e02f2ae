"""Writing the derived vector columns: append, list the dead, then replace the state file."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.ports import TailPassage
from weft.store.progress import Progress
from weft.store.scope import microseconds, position_of
from weft.store.vectors import (
    ABSENT,
    COLUMNS,
    DIGESTED,
    VectorState,
    columns_path,
    digests_of,
    mapped,
    open_columns,
    packed_state,
    state_path,
)
from weft.vectors import norms, signs_of, stacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        progress = self._state.progress.naming([name for passage in passages for name in _names(passage).values()])
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
