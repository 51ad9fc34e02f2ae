"""The hourly digest of new orders for the warehouse."""

from collections.abc import Callable, Sequence

from pigeonhole.handlers import handles
from pigeonhole.queue import Queue
from pigeonhole.schedule import Recurring

HOUR = 3600.0
RECURRING = (Recurring("digest", HOUR), Recurring("report", 24 * HOUR))
WAREHOUSE = "warehouse@shop.example"

Orders = Callable[[], Sequence[str]]


def make_digest(queue: Queue, new_orders: Orders) -> Callable[[object, Callable[[], None]], None]:
    """Make the handler of the digest; it puts a mail, so that sending has retries and limits of its own."""

    @handles("digest")
    def digest(body: object, renew: Callable[[], None]) -> None:
        orders = new_orders()
        # An empty digest taught people not to read it.
        if orders:
            queue.put("mail", {"to": WAREHOUSE, "subject": f"{len(orders)} orders", "text": "\n".join(orders)})

    return digest
