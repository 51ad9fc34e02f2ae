"""What was handed out: the id of every context, its manifest kept beside the store, and what changed since."""

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
