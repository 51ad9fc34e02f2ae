"""From spawn to exit: a hook for each of many prompts, on a store of 100 000 nodes, as Claude Code starts it.

python -m bench.hooks [--store bench/worlds/100000/store-static] [--prompts 200] [--each-session 10] [--served]

With `--served`, an MCP server of the same store runs meanwhile, which the hooks ask.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.measures import percentile
from weft import Weft, config
from weft.interfaces.hooks.local_socket import socket_prefix
from weft.tokens import counter_for

HERE = Path(__file__).parent
WORLD = HERE / "worlds" / "100000"
LIMIT = 0.25


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt: what was answered, and the seconds it took by the clock and of processor time."""

    prompt: str
    session: str
    text: str
    took: float
    worked: float


def ask(prompt: str, session: str, store: Path, options: Sequence[str]) -> Asked:
    """Return the answer of one hook, from its spawn to its exit."""
    payload = {"session_id": session, "cwd": str(store.parent), "hook_event_name": "UserPromptSubmit"}
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "weft.interfaces.hooks", "--store", str(store), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**around, "PYTHONPATH": str(HERE.parent / "src")},
    ) as hook:
        assert hook.stdin is not None
        assert hook.stdout is not None
        hook.stdin.write(json.dumps({**payload, "prompt": prompt}).encode())
        hook.stdin.close()
        out = hook.stdout.read()
        used = os.wait4(hook.pid, 0)[2]
        hook.returncode = 0
    took = time.perf_counter() - began
    text = json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""
    return Asked(prompt, session, text, took, used.ru_utime + used.ru_stime)


def bare() -> float:
    """Return the processor seconds of a process that only loads numpy, which show how busy the machine is."""
    with subprocess.Popen([sys.executable, "-c", "import numpy"]) as process:
        used = os.wait4(process.pid, 0)[2]
        process.returncode = 0
    return used.ru_utime + used.ru_stime


@contextmanager
def serving(store: Path) -> Iterator[None]:
    """Run an MCP server of the store for the block, from when it answers hooks."""
    folder = config.runtime_folder()
    command = [sys.executable, "-m", "weft", "mcp", "--store", str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        while not list(folder.glob(f"{socket_prefix(store)}*")):
            time.sleep(0.1)
        yield
        server.terminate()


def with_material(prompts: Sequence[str], store: Path) -> set[str]:
    """Return the prompts that some text of the store shares a word with."""
    with Weft.open(store, create=False) as weft:
        return {prompt for prompt in prompts if weft.search(prompt, match="bm25", limit=1).candidates}


def repeated(asked: Sequence[Asked]) -> int:
    """Count how many blocks a session was given a second time, by their headings and what follows."""
    seen: set[tuple[str, str]] = set()
    again = 0
    for each in asked:
        for block in each.text.split("\n### ")[1:]:
            again += (each.session, block) in seen
            seen.add((each.session, block))
    return again


def report(asked: Sequence[Asked], material: set[str], beside: Sequence[float]) -> None:
    """Print what was measured."""
    took, worked = [each.took for each in asked], [each.worked for each in asked]
    wanted = [each for each in asked if each.prompt in material]
    count = counter_for("cl100k_base")[0].count
    print(f"prompts {len(asked)}, of them with material {len(wanted)}")
    print(f"answered {sum(bool(each.text) for each in wanted) / max(len(wanted), 1):.1%} of those")
    for name, values in (("from spawn to exit", took), ("processor time", worked), ("  of numpy alone", beside)):
        shares = "   ".join(f"p{share} {1000 * percentile(values, share / 100):4.0f} ms" for share in (50, 95, 99))
        print(f"{name:20} best {1000 * min(values):4.0f} ms   {shares}")
    print(f"within {1000 * LIMIT:.0f} ms {sum(each <= LIMIT for each in took) / len(took):.1%}")
    print(f"most tokens {max(count(each.text) for each in asked)}, blocks given twice {repeated(asked)}")


def main() -> None:
    """Ask every prompt in a new process, on a copy of the store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=WORLD / "store-static")
    parser.add_argument("--questions", type=Path, default=WORLD / "questions.json")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--served", action="store_true", help="with an MCP server of the same store")
    parser.add_argument("--each-session", type=int, default=10, help="prompts in one session")
    given, options = parser.parse_known_args()
    prompts = json.loads(given.questions.read_text("utf-8"))[: given.prompts]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(shutil.copytree(given.store, Path(folder) / ".weft"))
        material = with_material(prompts, store)
        asked, beside = [], []
        with serving(store) if given.served else nullcontext():
            ask(prompts[0], "first", store, options)  # fills the disk cache, and opens the store of a server
            for at, prompt in enumerate(prompts):
                asked.append(ask(prompt, f"s{at // given.each_session}", store, options))
                if at % given.each_session == 0:
                    beside.append(bare())
    report(asked, material, beside)


if __name__ == "__main__":
    main()
