"""From spawn to the answer to `initialize`: `weft mcp` beside a bare server of the official SDK.

python bench/mcp_startup.py [--runs 15]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = "from mcp.server import MCPServer; MCPServer('bare').run('stdio')"
SOURCES = Path(__file__).parents[1] / "src"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def spawn_to_answer(command: list[str], folder: str) -> tuple[float, float]:
    """Return milliseconds until a new server answers `initialize`, and those of processor time in its whole life.

    The second figure hardly depends on what else the machine does.
    """
    around = {**os.environ, "PYTHONPATH": str(SOURCES)}
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=around
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        took = (time.perf_counter() - began) * 1000
        assert answer["result"]["serverInfo"]["name"]
        server.stdin.close()
        used = os.wait4(server.pid, 0)[2]
        server.returncode = 0
    return took, (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Measure both in turn and print the medians and what ours costs more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    commands = {"bare": [sys.executable, "-c", BARE], "weft": [sys.executable, "-m", "weft", "mcp"]}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(runs + 1):
            for name, command in commands.items():
                measured = spawn_to_answer(command, folder)
                if turn:  # the first one fills the disk cache
                    took[name].append(measured)
    for at, what in enumerate(("to the answer", "processor time")):
        medians = {name: statistics.median(each[at] for each in took[name]) for name in took}
        pairs = [ours[at] - bare[at] for ours, bare in zip(took["weft"], took["bare"], strict=True)]
        print(
            f"{what:15} bare {medians['bare']:5.0f} ms   weft {medians['weft']:5.0f} ms   "
            f"more, median of pairs {statistics.median(pairs):4.0f} ms"
        )


if __name__ == "__main__":
    main()
