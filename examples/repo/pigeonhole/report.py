"""What a person or a monitor wants to know about a queue."""

from pigeonhole.queue import Queue

LONG_WAIT = 300.0


def describe(queue: Queue, now: float) -> str:
    """One line for a terminal."""
    counts = ", ".join(f"{number} {state}" for state, number in queue.counts(now).items())
    late = waiting_for(queue, now)
    return f"{counts}; the oldest has been waiting for {late:.0f} s" if late > LONG_WAIT else counts


def waiting_for(queue: Queue, now: float) -> float:
    """Seconds for which the oldest job that is due has been waiting; 0 where none waits."""
    since = queue.oldest_due()
    return 0.0 if since is None or since > now else now - since


def metrics(queue: Queue, now: float, name: str) -> str:
    """The same numbers in the text format of Prometheus."""
    lines = [
        f'pigeonhole_jobs{{queue="{name}",state="{state.replace(" ", "_")}"}} {number}'
        for state, number in queue.counts(now).items()
    ]
    lines.append(f'pigeonhole_oldest_seconds{{queue="{name}"}} {waiting_for(queue, now):.0f}')
    return "\n".join(lines) + "\n"
