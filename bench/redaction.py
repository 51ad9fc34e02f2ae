"""How fast secrets are taken out of text, beside the line scanner of detect-secrets: CPU time, best of three."""

import time
from collections.abc import Callable
from pathlib import Path

from weft.text.redact import redact

_ROOT = Path(__file__).parents[1]
_SCANNED = 60_000
"""Characters the slower one is given."""


def megabytes_a_second(work: Callable[[], object], size: int) -> float:
    """Return the best of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return size / best / 1e6


def main() -> None:
    """Print the speed of both over Weft's own sources and documents."""
    texts = [path.read_text("utf-8") for path in sorted((*_ROOT.glob("src/**/*.py"), *_ROOT.glob("docs/**/*.md")))]
    whole = "\n".join(texts)
    began = time.process_time()
    redact("")
    print(f"first use: {time.process_time() - began:.2f} s")
    # Loaded only now, so that the first use is measured with what it loads.
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    print(f"weft.text.redact: {megabytes_a_second(lambda: [redact(text) for text in texts], len(whole)):.1f} MB/s")
    lines = whole[:_SCANNED].splitlines()
    with default_settings():
        speed = megabytes_a_second(lambda: [list(scan_line(line)) for line in lines], _SCANNED)
    print(f"detect-secrets, line by line: {speed:.2f} MB/s")


if __name__ == "__main__":
    main()
