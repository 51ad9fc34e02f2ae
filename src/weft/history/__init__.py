"""Keep the contexts that were handed out beside the store: record, find and compare them."""

# `compare` is also the name of its module; the function is what this package offers.
from weft.history.compare import Change, Difference, compare
from weft.history.contexts import History
from weft.history.record import (
    Record,
    context_id,
    fingerprint,
    is_received,
    make_record,
    read_shown,
    rebuild_request,
)

__all__ = [
    "Change",
    "Difference",
    "History",
    "Record",
    "compare",
    "context_id",
    "fingerprint",
    "is_received",
    "make_record",
    "read_shown",
    "rebuild_request",
]
