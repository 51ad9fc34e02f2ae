"""Small measures that several parts of the bench share."""

import resource
import sys
from collections.abc import Sequence
from pathlib import Path


def peak_megabytes() -> float:
    """Return the most memory this process has had resident, mapped files included."""
    # What `getrusage` tells on Linux begins with the peak of the process that started this one.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return _status_megabytes("VmHWM") or peak


def own_megabytes() -> float:
    """Return the memory this process has to itself now, without mapped files, which the system takes back at need.

    Only Linux tells; elsewhere it is 0.
    """
    return _status_megabytes("RssAnon")


def _status_megabytes(name: str) -> float:
    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{name}:")), 0.0)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th and 99th percentile."""
    return {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95), "p99": percentile(values, 0.99)}
