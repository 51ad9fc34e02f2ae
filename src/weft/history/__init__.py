"""Keep the contexts that were handed out beside the store: record, find and compare them."""

# `compare` is also the name of its module; the function is what this package offers.
from weft.history.compare import Change, Difference, compare, printed_entries, rebuild_request
from weft.history.contexts import (
    History,
    Record,
    context_id,
    fingerprint,
    is_received,
    make_record,
    read_shown,
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
    "printed_entries",
    "read_shown",
    "rebuild_request",
]
