"""When a failed job is tried again."""

MOST_ATTEMPTS = 8
_LONGEST_PAUSE = 3600.0


def pause(attempt: int, number: int) -> float:
    """Seconds to wait after the given failed attempt: doubling, capped, and spread by the job's number."""
    base = min(2.0**attempt, _LONGEST_PAUSE)
    spread = (number * 2_654_435_761 % 1000) / 1000
    return base * (1 + spread / 4)


def exhausted(attempt: int) -> bool:
    """Whether a job has failed too often to be tried again."""
    return attempt >= MOST_ATTEMPTS
