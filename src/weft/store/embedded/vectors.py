"""Search vectors in derived, memory-mapped columns: an exact int8 scan, or for very many rows one in two stages.

Every vector is one row across the column files of a folder. Rows are only ever appended; those of changed nodes
are listed as dead until the folder is written anew. A state file, replaced in one step, holds how many rows and
dead rows count, so a reader never sees a half-written append. `vector_writer` writes the files.
"""

import math
import mmap
from collections.abc import Hashable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import xxhash
from msgspec import Struct, field

from weft.runtime.cache import LruCache
from weft.scoring.similarity import cosines, graded_distances, graded_signs, sign_distances, sign_words
from weft.store.derived import Damaged, Progress, Scope, cut_at_tie, unpack_progress
from weft.store.embedded.files import VerifiedFiles
from weft.store.records import to_microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]
    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]


ABSENT: Final = np.iinfo(np.int64).min
"""The value of a column where a passage has no time, position or sequence."""
EXACT_ROWS: Final = 32_768
"""Rows in scope up to which all are compared exactly; beyond them signs choose the rows to compare. Rows that a
reader may not see do not count, so that those of another tenant never change what is found."""
MIN_CANDIDATES: Final = 4096
"""Rows that the second stage of a two-stage search leaves at least. More find more of the true nearest, and each
costs one exact comparison."""
_CANDIDATES_PER_RESULT: Final = 16
"""Rows that the second stage leaves at least for each passage that the caller wants."""
_CANDIDATE_DIVISOR: Final = 64
"""The second stage leaves at least one row in so many, so that recall stays the same as a store grows."""
_FIRST_STAGE_DIVISOR: Final = 8
"""The first stage leaves at least one row in so many: it compares signs only, which tells near rows but
roughly."""
_DENSE_DIVISOR: Final = 4
"""From one row in so many on, comparing all rows is faster than copying those in scope first."""
_ROWS_PER_COPY: Final = 16_384
"""Rows that are copied at once for an exact comparison: they fit the processor's cache and cost a third of one
large copy."""
_MAX_CACHED_MASKS: Final = 64
"""Masks of tenants, kinds and sources that a generation keeps, of one byte a row each."""
_MAX_CACHED_SCOPES: Final = 64
"""Scopes whose rows a generation keeps."""
ROWS_PER_DIGEST: Final = 16_384
"""Rows that share a digest: a small write then verifies only the last block again. Stores hold digests of such
blocks, so the number is part of the format."""
FORMAT: Final = 2
"""The version of the columns; since 2 the signs are those of rotated rows."""
# Little-endian on every machine, because folders are copied between machines.
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


class VectorState(Struct, frozen=True):
    """The content of the state file: progress, folder of the columns, width of the rows and how many count.

    `epoch` is the number in the name of the columns' folder.
    """

    progress: Progress
    epoch: int = 0
    dimensions: int = 0
    rows: int = 0
    dead: int = 0
    digests: tuple[str, ...] = ()
    """One digest for each block of rows, over all columns, and a last one for the list of dead rows."""


def state_path(folder: Path) -> Path:
    """Return the path of the state file."""
    return folder / "vectors.json"


def columns_path(folder: Path, epoch: int) -> Path:
    """Return the folder of the column files of one epoch."""
    return folder / f"vectors-{epoch}"


def read_state(folder: Path) -> VectorState:
    """Return the state in the folder; raise Damaged when there is none that can be used."""
    try:
        fields = orjson.loads(state_path(folder).read_bytes())
        progress = unpack_progress(fields["progress"].encode())
        counts = [int(fields[name]) for name in ("epoch", "dimensions", "rows", "dead")]
        digests = tuple(map(str, fields["digests"]))
        version = fields["format"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(str(error)) from error
    if progress is None or version != FORMAT or min(counts) < 0:
        raise Damaged("no state of this format is recorded")
    return VectorState(progress, counts[0], counts[1], counts[2], counts[3], digests)


def map_column(folder: Path, name: str, state: VectorState) -> "NDArray[Any]":
    """Return one column, mapped into memory."""
    width = {"values": state.dimensions, "signs": sign_words(state.dimensions)}.get(name)
    dtype = np.dtype({"values": "i1", "signs": "<u8", "dead": "<i8"}.get(name) or COLUMNS[name])
    rows = state.dead if name == "dead" else state.rows
    shape = (rows,) if width is None else (rows, width)
    size = math.prod(shape) * dtype.itemsize
    # An empty file cannot be mapped.
    if not size:
        return np.zeros(shape, dtype=dtype)
    try:
        with (columns_path(folder, state.epoch) / name).open("rb") as file:
            # Only as far as the state counts: a writer may be appending behind it.
            content = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise Damaged(str(error)) from error
    return np.frombuffer(content, dtype=dtype).reshape(shape)


class VectorGeneration(Struct, frozen=True):
    """The rows as one state file counts them, open for searching."""

    state: VectorState
    columns: "dict[str, NDArray[Any]]"
    alive: "Mask | None"
    mask_cache: "dict[tuple[str, tuple[str, ...]], Mask]" = field(default_factory=dict)
    """Masks by column and names: readers ask for the same tenants and kinds again and again."""
    row_cache: "LruCache[Hashable, Rows]" = field(default_factory=lambda: LruCache(_MAX_CACHED_SCOPES))
    """Rows by the key that a reader gives to their scope."""

    @property
    def progress(self) -> Progress:
        """The progress of these rows."""
        return self.state.progress

    def rows(self, scope: Scope) -> "Rows | None":
        """Return the rows of a scope; None means all."""
        mask = self._mask(scope)
        return None if mask is None else np.flatnonzero(mask)

    def search(
        self,
        query: "NDArray[np.int8]",
        rows: "Rows | None",
        limit: int,
        *,
        exact_rows: int = EXACT_ROWS,
        min_candidates: int = MIN_CANDIDATES,
    ) -> "tuple[Ids, Scores]":
        """Return the passages nearest to the query, and those that tie with the last, by cosine and id.

        More than `exact_rows` rows are searched in two stages, of which the second leaves `min_candidates` or
        more.
        """
        in_scope = self.state.rows if rows is None else len(rows)
        # Counted in scope, so that the rows of other tenants never change how this one is searched.
        if in_scope > exact_rows:
            wanted = max(min_candidates, _CANDIDATES_PER_RESULT * limit, in_scope // _CANDIDATE_DIVISOR)
            rows = self._choose_candidates(rows, query, wanted)
        scores = self._score(rows, query)
        # Sorting is left to the cut; a partition finds the few rows that can survive it.
        if len(scores) > limit > 0:
            kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit])
            rows, scores = (kept if rows is None else rows[kept]), scores[kept]
        passages = self.columns["passage"]
        return cut_at_tie(passages[:] if rows is None else passages[rows], scores, limit)

    def _score(self, rows: "Rows | None", query: "NDArray[np.int8]") -> "Scores":
        """Return the cosine of each of the rows, or of all rows where `rows` is None."""
        values, lengths = self.columns["values"], self.columns["norm"]
        if rows is None:
            return cosines(values, lengths, query)
        if _DENSE_DIVISOR * len(rows) > self.state.rows:
            return cosines(values, lengths, query)[rows]
        parts = [rows[start : start + _ROWS_PER_COPY] for start in range(0, len(rows), _ROWS_PER_COPY)]
        scores = [cosines(np.take(values, part, axis=0), lengths[part], query) for part in parts]
        return np.concatenate(scores) if scores else np.zeros(0)

    def _choose_candidates(self, rows: "Rows | None", query: "NDArray[np.int8]", wanted: int) -> "Rows":
        """Return the rows whose signs are nearest to the query's, roughly by all signs, then by graded ones."""
        signs, graded = self.columns["signs"], graded_signs(query)
        in_scope = signs if rows is None else np.take(signs, rows, axis=0)
        # The rough comparison is many times cheaper and spares most rows the better one.
        rough = sign_distances(in_scope, graded[0])
        likely = _nearest(rough, max(wanted, len(in_scope) // _FIRST_STAGE_DIVISOR))
        finer = graded_distances(np.take(in_scope, likely, axis=0), graded[1:], rough[likely])
        near = likely[_nearest(finer, wanted)]
        return near if rows is None else rows[near]

    def _mask(self, scope: Scope) -> "Mask | None":
        """Return which rows may be returned; None means all."""
        view, filter, node = scope.view, scope.filter, self.columns["node"]
        tenants = {name for name in self.progress.names if name.startswith("tenant:")}
        # Most stores have one tenant, and then most searches need no mask.
        all_tenants = tenants <= {f"tenant:{tenant}" for tenant in view.tenants}
        parts = (
            self.alive,
            ~np.isin(node, scope.masked) if len(scope.masked) else None,
            None if scope.nodes is None else np.isin(node, scope.nodes),
            None if all_tenants else self._has_name("tenant", view.tenants),
            self._has_name("kind", filter.kinds) if filter.kinds else None,
            self._has_name("source", filter.sources) if filter.sources else None,
            self._between("position", None, view.as_of),
            self._between("sequence", filter.sequence_from, filter.sequence_to),
            self._between("time", to_microseconds(filter.since), to_microseconds(filter.until)),
        )
        masks = [part for part in parts if part is not None]
        return np.logical_and.reduce(masks) if masks else None

    def _has_name(self, column: str, wanted: "tuple[str, ...]") -> "Mask":
        """Return which rows have one of the names in a column, where names are stored as codes."""
        mask = self.mask_cache.get((column, wanted))
        if mask is None:
            # Masks are quick to make again, so an order of use is not worth its cost.
            if len(self.mask_cache) >= _MAX_CACHED_MASKS:
                self.mask_cache.clear()
            names = {f"{column}:{name}" for name in wanted}
            codes = [code for code, name in enumerate(self.progress.names) if name in names]
            mask = np.isin(self.columns[column], np.array(codes, dtype=np.int32))
            self.mask_cache[column, wanted] = mask
        return mask

    def _between(self, column: str, low: int | None, high: int | None) -> "Mask | None":
        if low is None and high is None:
            return None
        values = self.columns[column]
        # A passage without the value fails wherever a bound is given.
        inside: Mask = values > ABSENT
        if low is not None:
            inside &= values >= low
        if high is not None:
            inside &= values <= high
        return inside


def _nearest(distances: "NDArray[np.uint16]", wanted: int) -> "Rows":
    """Return the indexes of the smallest distances, with all that tie with the last, in order."""
    # There are few different distances, so that counting them is faster than a partition.
    up_to = np.bincount(distances).cumsum()
    # A plain number: one of numpy's would widen all distances before they are compared.
    last = int(np.searchsorted(up_to, min(wanted, len(distances))))
    return np.flatnonzero(distances <= last)


def block_digests(columns: "Mapping[str, NDArray[Any]]", from_row: int = 0) -> tuple[str, ...]:
    """Return the digests of the blocks of rows from the one that holds `from_row` on, and of the dead rows."""
    rows = len(columns["passage"])
    blocks = []
    for start in range(from_row // ROWS_PER_DIGEST * ROWS_PER_DIGEST, rows, ROWS_PER_DIGEST):
        digest = xxhash.xxh3_64()
        for name in ("values", "signs", *COLUMNS):
            digest.update(columns[name][start : start + ROWS_PER_DIGEST].data)
        blocks.append(digest.hexdigest())
    return (*blocks, xxhash.xxh3_64(columns["dead"].data).hexdigest())


def open_columns(folder: Path, state: VectorState) -> "dict[str, NDArray[Any]]":
    """Return all columns by name."""
    return {name: map_column(folder, name, state) for name in ("values", "signs", *COLUMNS, "dead")}


def open_generation(folder: Path, verified: VerifiedFiles | None = None) -> VectorGeneration:
    """Open the newest rows in the folder; raise Damaged when they cannot be read or are not what was written.

    `verified` remembers what was already checked, so that opening again after a small write is quick.
    """
    state = read_state(folder)
    columns = open_columns(folder, state)
    known: VerifiedFiles = set() if verified is None else verified
    name = columns_path(folder, state.epoch).name
    if any((name, digest) not in known for digest in state.digests):
        # Rows are only appended, so the blocks that were verified before come first.
        checked = len(list(takewhile(lambda digest: (name, digest) in known, state.digests[:-1])))
        if block_digests(columns, checked * ROWS_PER_DIGEST) != state.digests[checked:]:
            raise Damaged("columns differ from what was written")
        known.update((name, digest) for digest in state.digests)
    alive: Mask | None = None
    # Without dead rows most searches need no mask at all.
    if state.dead:
        alive = np.ones(state.rows, dtype=np.bool_)
        alive[columns["dead"]] = False
    return VectorGeneration(state, columns, alive)
