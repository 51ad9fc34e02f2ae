"""Keep the contexts that were handed out beside the store: record, find and compare them."""

from weft.history.compare import Change, Difference, compare
from weft.history.contexts import History
from weft.history.record import Record, already_received, context_id, fingerprint, record_of, request_of, shown_on

__all__ = [
    "Change",
    "Difference",
    "History",
    "Record",
    "already_received",
    "compare",
    "context_id",
    "fingerprint",
    "record_of",
    "request_of",
    "shown_on",
]
