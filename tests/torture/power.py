"""Lose power at random moments: what was not synced is lost, in part or whole and in any order.

In every second run some syncs fail as well: what they were to bring to the disk may be lost for good, even where
later syncs succeed.

A process works with `recorder.c` loaded, which notes every change of a file. For each loss the files are made
again up to a random change: what was synced is there, of the rest each sector may be there or not, and of the
renames that no sync of their folder followed, some are. The store must open, hold all that was acknowledged, and
nothing by half.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from torture.native import SYNC, build_recorder, fail_calls
from torture.workload import Ledger, make_files, run_work
from weft.errors import WeftError

_SECTOR_BYTES = 512
_LOSSES_OF_A_RUN = 50
"""Moments at which the power is lost in the same work: recording it takes longer than losing it."""
_STEPS, _ATTEMPTS = 40, 4
"""Steps of the work, and how often it is begun: a step that is refused ends it."""
_HEAD = struct.Struct("=c3q")
Record = tuple[str, str, int, bytes]


def run_power_losses(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how often power was lost, and how much else was."""
    library = build_recorder(folder)
    if library is None:
        print("   no C compiler: losing power is left out")
        return {"power_losses": 0, "losses": 0}
    chance, done, losses, run, failed = random.Random(seed), 0, [], 0, 0
    while time.monotonic() < until and done < most:
        run += 1
        home = folder / f"power{run}"
        records = _record(home, library, seed + run)
        failed += len([record for record in records if record[0] == "F"])
        for number in range(_LOSSES_OF_A_RUN):
            # At least a few, however long the recording took.
            if (time.monotonic() >= until and number >= 5) or done >= most:
                break
            done += 1
            image = folder / "image"
            shutil.rmtree(image, ignore_errors=True)
            cut = chance.randrange(len(records) // 20, len(records))
            ledger = _make_image(records[:cut], home / ".weft", image, chance)
            try:
                losses += ledger.check(image)
            except Exception as error:  # noqa: BLE001  (a store that does not open is lost)
                losses.append(f"does not open: {type(error).__name__}: {error}")
        shutil.rmtree(home)
    for loss in losses[:20]:
        print("  ", loss)
    return {"power_losses": done, "failed_syncs": failed, "losses": len(losses)}


def _record(home: Path, library: Path, seed: int) -> list[Record]:
    """Return every change of files that some work makes."""
    make_files(home / "beside")
    (home / ".weft").mkdir()
    around = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "TORTURE_ROOT": str(home / ".weft"),
        "TORTURE_JOURNAL": str(home / "journal"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    words = [sys.executable, "-m", "torture.power", str(home), str(seed)]
    subprocess.run(words, env=around, check=True)
    return list(_read_journal((home / "journal").read_bytes()))


def _read_journal(content: bytes) -> Iterator[Record]:
    at = 0
    while at + _HEAD.size <= len(content):
        kind, path_bytes, offset, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        path = content[at : at + path_bytes].decode()
        at += path_bytes
        yield kind.decode(), path, offset, content[at : at + size]
        at += size


def _make_image(records: list[Record], root: Path, image: Path, chance: random.Random) -> Ledger:
    """Write the files as a disk would hold them after the records, and return what was acknowledged."""
    ledger, disk = Ledger(), _Disk(chance)
    acknowledged = str(root / "acknowledged")
    for kind, path, offset, data in records:
        if path == acknowledged:
            for line in data.decode().splitlines():
                ledger.read(line)
        elif not path.endswith("-shm"):
            # The index of SQLite's log is memory that it makes anew.
            disk.apply(kind, path, offset, data)
    image.mkdir()
    for path, content in disk.after_loss().items():
        file = image / Path(path).relative_to(root)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return ledger


class _File:
    """One file: what is on the disk, and what it was told since."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.waiting: list[tuple[int, bytes | None]] = []

    def sync(self) -> None:
        for offset, data in self.waiting:
            _change(self.synced, offset, data)
        self.waiting = []

    def fail(self, chance: random.Random) -> None:
        """Lose what waits, whole or in part, as after a sync that failed: the system takes it for written."""
        self.synced, self.waiting = bytearray(self.after_loss(chance)), []

    def after_loss(self, chance: random.Random) -> bytes:
        """Return the file with some of what waits."""
        content, kept = bytearray(self.synced), chance.random()
        for offset, data in self.waiting:
            if data is None:
                if chance.random() < kept:
                    _change(content, offset, None)
                continue
            for start in range(0, len(data), _SECTOR_BYTES):
                if chance.random() < kept:
                    _change(content, offset + start, data[start : start + _SECTOR_BYTES])
        return bytes(content)


def _change(content: bytearray, offset: int, data: bytes | None) -> None:
    """Write into a file, or cut it to a size where there is no data."""
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(offset + len(data) - len(content), 0)))
    content[offset : offset + len(data)] = data


class _Disk:
    """The files below a folder, with the renames that no sync of their folder has followed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names: dict[str, _File] = {}
        self._durable: dict[str, _File] = {}
        self._renames: list[tuple[str, str, _File]] = []

    def apply(self, kind: str, path: str, offset: int, data: bytes) -> None:
        """Take in one change."""
        if kind == "R":
            moved = self._names.pop(path, None)
            if moved is not None:
                self._names[data.decode()] = moved
                self._renames.append((path, data.decode(), moved))
            return
        if kind == "U":
            self._names.pop(path, None)
            self._durable.pop(path, None)
            return
        if kind == "S" and path not in self._names:
            # A folder: the renames in it are on the disk now.
            for rename in self._renames:
                self._settle(rename)
            self._renames = []
            return
        file = self._names.get(path)
        if file is None and kind == "F":
            # A folder: its renames stay uncertain.
            return
        if file is None:
            file = self._names[path] = self._durable[path] = _File()
        if kind == "W":
            file.waiting.append((offset, data))
        elif kind == "T":
            file.waiting.append((offset, None))
        elif kind == "S":
            file.sync()
        elif kind == "F":
            file.fail(self._chance)

    def _settle(self, rename: tuple[str, str, _File]) -> None:
        source, target, file = rename
        if self._durable.get(source) is file:
            del self._durable[source]
        self._durable[target] = file

    def after_loss(self) -> dict[str, bytes]:
        """Return what the disk holds when the power is back."""
        chance = self._chance
        for rename in self._renames[: chance.randint(0, len(self._renames))]:
            self._settle(rename)
        return {path: file.after_loss(chance) for path, file in self._durable.items()}


def _main(home: Path, seed: int) -> None:
    store, chance = home / ".weft", random.Random(seed)
    # Opened by its path each time, because only changes below the store are recorded.
    with (store / "acknowledged").open("ab", buffering=0) as told:

        def acknowledge(line: str) -> None:
            told.write(f"{line}\n".encode())
            if seed % 2 and line.startswith("begin"):
                # Some of the next syncs; most steps make fewer, and go through.
                fail_calls(SYNC, chance.randrange(12), chance.choice((1, 1, 3)))

        for attempt in range(_ATTEMPTS):
            with suppress(WeftError):
                run_work(store, seed * 10 + attempt, _STEPS // _ATTEMPTS, acknowledge, home / "beside")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
