"""The work that is interrupted, and what must hold afterwards: what was acknowledged is there, nothing is half."""

import gzip
import hashlib
import io
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from weft import Edge, Node, Weft
from weft.indexing.reembed import count_waiting_passages
from weft.interfaces.cli.backup import migrate
from weft.interfaces.keys import Grant, KeyRing, KeysUnreadable
from weft.store.sqlite.backup import check_backup, make_backup
from weft.store.sqlite.backup_archive import add_to_archive, check_archive

TENANT, BULK = "torture", "bulk"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPERATIONS = {
    **{"put": 8, "delete": 3, "edge": 2, "index": 1, "key": 1},
    **{"backup": 0.3, "archive": 0.3, "copy": 0.3, "reembed": 0.3, "migrate": 0.2, "compact": 0.1},
}
"""The steps of the work and how often they are taken: the last ones take many times as long as the others."""
BULK_NODES = 600
"""Nodes that are replaced at once: after twice as many, the search files of the store are compacted."""
_ARCHIVED = 4
"""Backups of an archive before it is begun anew: each is put together and checked."""
_OLD_STORE = Path(__file__).parents[1] / "fixtures" / "store_0_1_0" / "weft.sqlite.gz"
_NEAREST = 5
"""Nodes that are looked for by meaning after an interruption."""
Acknowledge = Callable[[str], None]


class HashedWords:
    """An embedder without meaning: texts of the same words are near each other. Its name changes the vectors."""

    dimensions = 32

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the sum of a vector for each word, at length one."""
        rows = np.stack([self._sum(text) for text in texts]) if texts else np.zeros((0, self.dimensions))
        lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return np.asarray(rows / lengths, np.float32)

    def _sum(self, text: str) -> NDArray[np.float64]:
        row = np.full(self.dimensions, 1e-3)
        for word in text.split():
            digest = hashlib.blake2b(f"{self.name} {word}".encode(), digest_size=self.dimensions).digest()
            row = row + np.frombuffer(digest, np.uint8) - 127.5
        return row


EMBEDDERS = (HashedWords("hashed-one"), HashedWords("hashed-two"))


@contextmanager
def opened(store: Path) -> Iterator[Weft]:
    """Open a store with the embedder whose vectors it has."""
    with Weft.open(store, embedder=None) as weft:
        known = weft.status().embedder
        weft.reader.embedder = next((each for each in EMBEDDERS if each.name == known), EMBEDDERS[0])
        yield weft


def text_of(number: int, version: int) -> str:
    """The text of a node: it names its own digest, so that half of it is noticed."""
    words = " ".join(f"w{number}v{version}x{place}" for place in range(60))
    return f"{words} {hashlib.sha256(words.encode()).hexdigest()}"


def is_whole(text: str) -> bool:
    words, _, digest = text.rpartition(" ")
    return hashlib.sha256(words.encode()).hexdigest() == digest


def make_node(number: int, version: int) -> Node:
    return Node(f"app:{number}", "note", TENANT, title=f"Node {number}", text=text_of(number, version))


def run_work(
    store: Path, seed: int, steps: int, acknowledge: Acknowledge, beside: Path, favourite: str | None = None
) -> None:
    """Do random work on a store, and acknowledge each step when it is done: `what number version`.

    Every third step is the favourite, if there is one.
    """
    chance = random.Random(seed)
    with opened(store) as weft:
        for step in range(steps):
            number, version = chance.randrange(40), seed * 1000 + step
            what = chance.choices(tuple(OPERATIONS), tuple(OPERATIONS.values()))[0]
            what = favourite if favourite and step % 3 == 1 else what
            acknowledge(f"begin {number} {version} {what}")
            match what:
                case "put":
                    weft.put([make_node(number, version)])
                    acknowledge(f"put {number} {version}")
                case "delete":
                    weft.delete(f"app:{number}", tenant=TENANT)
                    acknowledge(f"delete {number} {version}")
                case "key":
                    key, _ = KeyRing(store).create(Grant("torture", (TENANT,)), NOW)
                    acknowledge(f"key {key.id} 0")
                case "index":
                    weft.index(beside / "files", tenant="files")
                    acknowledge("index 0 0")
                case "compact":
                    weft.put([_bulk_node(each, version) for each in range(BULK_NODES)])
                    acknowledge(f"bulk 0 {version}")
                case "edge":
                    weft.put(edges=[Edge(f"app:{number}", f"app:{(number + 1) % 40}", "related", tenant=TENANT)])
                case _:
                    _do_beside(what, weft, store, beside, version)
            acknowledge(f"done {number} {version}")


def _do_beside(what: str, weft: Weft, store: Path, beside: Path, version: int) -> None:
    """Do what changes no node: back up, copy, migrate another store, or give all passages other vectors."""
    match what:
        case "backup":
            make_backup(store, beside / f"backup-{version}", NOW)
        case "archive":
            add_to_archive(store, beside / "archive", NOW + timedelta(seconds=version))
        case "copy":
            with Weft.open(beside / f"copy-{version}", embedder=None) as other:
                weft.copy_to(other)
        case "reembed":
            held = weft.reader.embedder
            weft.reader.embedder = EMBEDDERS[1] if held is EMBEDDERS[0] else EMBEDDERS[0]
            weft.reembed()
        case "migrate":
            old = beside / f"old-{version}"
            old.mkdir()
            # Complete before it is called a store: copying it is not what is tried.
            (old / "draft").write_bytes(gzip.decompress(_OLD_STORE.read_bytes()))
            (old / "draft").rename(old / "weft.sqlite")
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                migrate(str(old))


def _bulk_node(number: int, version: int) -> Node:
    return Node(f"bulk:{number}", "note", BULK, title=f"Bulk {number}", text=f"b{number}v{version}")


class Ledger:
    """The contents a store must have by what it acknowledged; an interrupted step may have happened or not."""

    def __init__(self) -> None:
        self.nodes: dict[int, int | None] = {}
        self.maybe: dict[int, set[int]] = {}
        self.keys: set[str] = set()
        self.indexed = False
        self.bulk: set[int | None] = {None}
        self.under_way = ""
        """The operation that was begun last and not done; nothing when all were."""

    def read(self, line: str) -> None:
        """Take in one acknowledgement."""
        what, name, version, *more = line.split()
        if what == "begin":
            self.maybe.setdefault(int(name), set()).add(int(version))
            self.under_way = more[0]
            if self.under_way == "compact":
                self.bulk = {*self.bulk, int(version)}
        elif what in ("put", "delete"):
            self.nodes[int(name)] = int(version) if what == "put" else None
            self.maybe.pop(int(name), None)
        elif what == "bulk":
            self.bulk = {int(version)}
        elif what == "key":
            self.keys.add(name)
        elif what == "index":
            self.indexed = True
        elif what == "done":
            self.maybe.get(int(name), set()).discard(int(version))
            self.under_way = ""

    def refuse(self) -> None:
        """Take in that the step under way was refused: what it was to write must not be there."""
        if self.under_way in ("put", "delete", "edge"):
            self.maybe = {}
        self.under_way = ""

    def check(self, store: Path) -> list[str]:
        """Return what is lost or half-written; what an interrupted step left counts from now on."""
        wrong: list[str] = []
        with opened(store) as weft:
            wrong += [f"verify: {problem}" for problem in weft.verify()]
            if count_waiting_passages(weft.store):
                # Embedding anew was interrupted, and goes on where it was.
                weft.reembed()
            there = {node.key: node.text for node in weft.nodes(tenants=TENANT, limit=1000)}
            wrong += [f"half-written: {key}" for key, text in there.items() if not is_whole(text)]
            for number in {*self.nodes, *self.maybe}:
                wrong += self._check_node(weft, number, there.get(f"app:{number}"))
            wrong += [*self._check_bulk(weft), *_check_nearest(weft, there)]
            if self.indexed and not weft.nodes(tenants="files"):
                wrong.append("lost: what was indexed")
        self.maybe = {}
        try:
            known = {key.id for key in KeyRing(store).all_keys()}
        except KeysUnreadable:
            # Interrupted while the very first key was made: closed, as it should be, and nothing was acknowledged.
            known = set()
        return [*wrong, *(f"lost: key {key}" for key in self.keys - known)]

    def _check_bulk(self, weft: Weft) -> list[str]:
        """Return what is wrong with the nodes that are only ever written together."""
        nodes = weft.nodes(tenants=BULK, limit=2 * BULK_NODES)
        found = {int(node.text.rpartition("v")[2]) for node in nodes}
        if not nodes:
            return [] if None in self.bulk else ["lost: all that was written together"]
        if len(found) != 1 or len(nodes) != BULK_NODES or not found <= self.bulk:
            return [f"half-written: {len(nodes)} of {BULK_NODES} nodes of versions {found}, not of {self.bulk}"]
        self.bulk = {*found}
        return []

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


def _check_nearest(weft: Weft, texts: dict[str, str]) -> list[str]:
    """Return which nodes are not nearest to their own words: their vectors are another's, or gone."""
    wrong = []
    for key, text in sorted(texts.items())[:_NEAREST]:
        hits = weft.search(text, tenants=TENANT, match="vector", floor=0, limit=1).candidates
        if key not in {hit.node.key for hit in hits}:
            wrong.append(f"not nearest to its own words: {key}")
    return wrong


def check_beside(beside: Path) -> list[str]:
    """Return which backups are not whole and which old stores lost something, and remove all of them."""
    wrong = []
    for folder in (*beside.glob("backup-*"), *beside.glob("old-*.backups/*")):
        if not folder.name.endswith(".unfinished"):
            try:
                check_backup(folder)
            except Exception as error:  # noqa: BLE001  (whatever it is, the backup is not whole)
                wrong.append(f"backup: {error}")
    archive = beside / "archive"
    try:
        kept = len(check_archive(archive)) < _ARCHIVED if archive.exists() else True
    except Exception as error:  # noqa: BLE001  (an archive that cannot be put together is lost)
        wrong, kept = [*wrong, f"archive: {type(error).__name__}: {error}"], False
    for folder in beside.glob("old-*"):
        if not folder.name.endswith(".backups") and (folder / "weft.sqlite").exists():
            wrong += _check_old_store(folder)
    for left in beside.iterdir():
        if left.name.startswith(("backup-", "copy-", "old-")) or (left == archive and not kept):
            shutil.rmtree(left, ignore_errors=True)
    return wrong


def _check_old_store(folder: Path) -> list[str]:
    """Return what is wrong with a store whose migration was interrupted, once it is opened again."""
    try:
        with Weft.open(folder, embedder=None) as weft:
            problems, nodes = weft.verify(), sum(weft.status().by_tenant.values())
    except Exception as error:  # noqa: BLE001  (a store that does not open is lost)
        return [f"migrate: {type(error).__name__}: {error}"]
    wrong = [f"migrate: verify: {problem}" for problem in problems]
    return wrong if nodes == _old_nodes() else [*wrong, f"migrate: {nodes} nodes instead of {_old_nodes()}"]


@cache
def _old_nodes() -> int:
    """Return how many nodes the old store has, asked of the file itself."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "weft.sqlite"
        file.write_bytes(gzip.decompress(_OLD_STORE.read_bytes()))
        with closing(sqlite3.connect(file)) as connection:
            return int(connection.execute("SELECT count(*) FROM nodes").fetchone()[0])


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
