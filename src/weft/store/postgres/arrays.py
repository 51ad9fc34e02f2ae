"""Many whole numbers as one value of a statement, in the form that the server reads.

psycopg looks at the elements of a list one by one, which took as long as the query that the list was for.
"""

import struct
from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Final

import numpy as np
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from weft.ports.arrays import Ids

_BIGINT: Final = 20
_BIGINTS: Final = 1016
_ELEMENT: Final = np.dtype([("bytes", ">i4"), ("value", ">i8")])


def bigints(numbers: Iterable[int]) -> "Ids":
    """The numbers in the form that is sent as `bigint[]`."""
    if isinstance(numbers, np.ndarray):
        return numbers.astype(np.int64, copy=False)
    return np.fromiter(numbers, np.int64, len(numbers) if isinstance(numbers, Sized) else -1)


class _BigintsDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINTS

    def dump(self, obj: "Ids") -> Buffer | None:
        if not len(obj):
            return struct.pack("!iii", 0, 0, _BIGINT)
        elements = np.empty(len(obj), _ELEMENT)
        elements["bytes"], elements["value"] = 8, obj
        return struct.pack("!iiiii", 1, 0, _BIGINT, len(obj), 1) + elements.tobytes()


def know_arrays(connection: Connection) -> None:
    """Let a connection send numpy arrays of whole numbers."""
    connection.adapters.register_dumper(np.ndarray, _BigintsDumper)
