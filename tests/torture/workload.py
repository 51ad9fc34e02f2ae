"""The work that is interrupted, and what must hold afterwards: what was acknowledged is there, nothing is half."""

import hashlib
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from weft import Edge, Node, Weft
from weft.interfaces.keys import Grant, KeyRing, KeysUnreadable
from weft.store.sqlite.backup import check_backup, make_backup

TENANT = "torture"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Acknowledge = Callable[[str], None]


def text_of(number: int, version: int) -> str:
    """The text of a node: it names its own digest, so that half of it is noticed."""
    words = " ".join(f"w{number}v{version}x{place}" for place in range(60))
    return f"{words} {hashlib.sha256(words.encode()).hexdigest()}"


def is_whole(text: str) -> bool:
    words, _, digest = text.rpartition(" ")
    return hashlib.sha256(words.encode()).hexdigest() == digest


def make_node(number: int, version: int) -> Node:
    return Node(f"app:{number}", "note", TENANT, title=f"Node {number}", text=text_of(number, version))


def run_work(store: Path, seed: int, steps: int, acknowledge: Acknowledge, beside: Path) -> None:
    """Do random work on a store, and acknowledge each step when it is done: `what number version`."""
    chance = random.Random(seed)
    with Weft.open(store, embedder=None) as weft:
        for step in range(steps):
            number, version = chance.randrange(40), seed * 1000 + step
            acknowledge(f"begin {number} {version}")
            match chance.choices(
                ("put", "delete", "edge", "index", "key", "backup", "copy"), (8, 3, 2, 1, 1, 0.3, 0.3)
            )[0]:
                case "put":
                    weft.put([make_node(number, version)])
                    acknowledge(f"put {number} {version}")
                case "delete":
                    weft.delete(f"app:{number}", tenant=TENANT)
                    acknowledge(f"delete {number} {version}")
                case "edge":
                    weft.put(edges=[Edge(f"app:{number}", f"app:{(number + 1) % 40}", "related", tenant=TENANT)])
                    acknowledge(f"done {number} {version}")
                case "index":
                    weft.index(beside / "files", tenant="files")
                    acknowledge("index 0 0")
                    acknowledge(f"done {number} {version}")
                case "key":
                    key, _ = KeyRing(store).create(Grant("torture", (TENANT,)), NOW)
                    acknowledge(f"key {key.id} 0")
                    acknowledge(f"done {number} {version}")
                case "backup":
                    make_backup(store, beside / f"backup-{version}", NOW)
                    acknowledge(f"done {number} {version}")
                case "copy":
                    with Weft.open(beside / f"copy-{version}", embedder=None) as other:
                        weft.copy_to(other)
                    acknowledge(f"done {number} {version}")


class Ledger:
    """What must be in a store, by what was acknowledged; an interrupted step may have happened or not."""

    def __init__(self) -> None:
        self.nodes: dict[int, int | None] = {}
        self.maybe: dict[int, set[int]] = {}
        self.keys: set[str] = set()
        self.indexed = False

    def read(self, line: str) -> None:
        """Take in one acknowledgement."""
        what, name, version = line.split()
        if what == "begin":
            self.maybe.setdefault(int(name), set()).add(int(version))
        elif what in ("put", "delete"):
            self.nodes[int(name)] = int(version) if what == "put" else None
            self.maybe.pop(int(name), None)
        elif what == "key":
            self.keys.add(name)
        elif what == "index":
            self.indexed = True
        elif what == "done":
            self.maybe[int(name)].discard(int(version))

    def check(self, store: Path) -> list[str]:
        """Return what is lost or half-written; what an interrupted step left counts from now on."""
        wrong: list[str] = []
        with Weft.open(store, embedder=None) as weft:
            wrong += [f"verify: {problem}" for problem in weft.verify()]
            there = {node.key: node.text for node in weft.nodes(tenants=TENANT, limit=1000)}
            wrong += [f"half-written: {key}" for key, text in there.items() if not is_whole(text)]
            for number in {*self.nodes, *self.maybe}:
                wrong += self._check_node(weft, number, there.get(f"app:{number}"))
            if self.indexed and not weft.nodes(tenants="files"):
                wrong.append("lost: what was indexed")
        self.maybe = {}
        try:
            known = {key.id for key in KeyRing(store).all_keys()}
        except KeysUnreadable:
            # Interrupted while the very first key was made: closed, as it should be, and nothing was acknowledged.
            known = set()
        return [*wrong, *(f"lost: key {key}" for key in self.keys - known)]

    def _check_node(self, weft: Weft, number: int, found: str | None) -> list[str]:
        maybe: set[int | None] = {*self.maybe.get(number, ())}
        if maybe or number not in self.nodes:
            maybe.add(None)
        versions = {self.nodes.get(number), *maybe}
        by_text = {None if version is None else text_of(number, version): version for version in versions}
        if found not in by_text:
            return [f"lost: app:{number} should be one of {versions}"]
        self.nodes[number] = version = by_text[found]
        if version is None:
            return []
        # This word is in the text only: the search files must hold it, or know that they lag.
        hits = weft.search(f"w{number}v{version}x1", tenants=TENANT, match="bm25", floor=0).candidates
        is_found = f"app:{number}" in {hit.node.key for hit in hits}
        return [] if is_found else [f"not found: app:{number} version {version}"]


def check_backups(beside: Path) -> list[str]:
    """Return which folders look like backups and are not whole."""
    wrong = []
    for folder in beside.glob("backup-*"):
        if not folder.name.endswith(".unfinished"):
            try:
                check_backup(folder)
            except Exception as error:  # noqa: BLE001  (whatever it is, the backup is not whole)
                wrong.append(f"backup: {error}")
    return wrong


def load_everything() -> None:
    """Load what the work needs, so that processes that are forked from this one begin at once."""
    import weft.indexing.copy
    import weft.indexing.ingest
    import weft.indexing.write
    import weft.sources
    import weft.store.embedded.index  # noqa: F401
    from weft.tokens import DEFAULT_ENCODING, counter_for

    counter_for(DEFAULT_ENCODING)[0].count("some words")


def make_files(beside: Path) -> None:
    """Write some files to index."""
    folder = beside / "files"
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"note{number}.md").write_text(f"# Note {number}\n\n{text_of(number, 0)}\n", encoding="utf-8")
