"""The engines that the contracts are tried on; a new engine adds one entry."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.ports import Index, Store

STORES = ("sqlite", "postgres")
PAIRS = ("sqlite", "postgres", "postgres-engines", "postgres-tsvector", "postgres-files", "postgres-milvus")
"""Stores with their indexes: in the server exactly, by its engines, by tsvector, in files, in Milvus."""
CLUSTER = "postgres-cluster"
"""Two shards, which here are two schemas of one server; tried on the suites that plugins are held to."""


@dataclass(frozen=True)
class Backend:
    """One store with its index, at places below a folder or in schemas of a server; travels between processes."""

    name: str
    folder: Path
    server: str = ""

    def store(self, place: str = "world", **options: Any) -> Store:
        """The store at a place, opened; the same place twice is the same store opened twice."""
        if self.name == "sqlite":
            from weft.store.sqlite.store import SqliteStore

            return SqliteStore.open(self.folder / place / ".weft", **options)
        from weft.store.open import read_address, read_addresses
        from weft.store.postgres import PostgresStore

        if self.name == CLUSTER:
            from weft.store.cluster import ClusterStore

            return ClusterStore.open(read_addresses(self.url(place)), **options)
        return PostgresStore.open(read_address(self.url(place)), **options)

    def url(self, place: str = "world") -> str:
        """The address of the store at a place."""
        if self.name == CLUSTER:
            shards = ("a", "b")
            return " ".join(f"{self.server}&schema={place.lower()}_{name}&shard={name}" for name in shards)
        words = "&words=tsvector" if self.name == "postgres-tsvector" else ""
        return f"{self.server}&schema={place.lower()}{words}"

    def index(self, over: Store, place: str = "world", **options: Any) -> Index:
        """The index of that store, opened as a new process would."""
        if self.name in ("sqlite", "postgres-files"):
            from weft.store.embedded.index import EmbeddedIndex

            return EmbeddedIndex(self.derived(place), **{"exact_below": 0, **options})
        if self.name == "postgres-milvus":
            from weft.store.milvus import MilvusIndex

            return MilvusIndex(f"milvus://{self.folder / 'milvus.db'}", exact_below=0)
        if self.name == CLUSTER:
            from weft.store.cluster import ClusterIndex

            return ClusterIndex(over)
        from weft.store.postgres import PostgresIndex

        exact = {} if self.name == "postgres" else {"exact_below": 0}
        return PostgresIndex(over, **exact)

    def derived(self, place: str = "world") -> Path:
        """Where an index that keeps files keeps them."""
        return self.folder / place / ".weft" / "derived"


def child_process(function: Callable[..., None], backend: Backend, *given: str) -> subprocess.Popen[str]:
    """A process of its own that calls a function of a test's module with the engine, to be killed or to die."""
    place = f"Backend({backend.name!r}, Path({str(backend.folder)!r}), {backend.server!r})"
    program = f"from pathlib import Path; from backends import Backend; import {function.__module__} as t"
    program += f"; t.{function.__name__}({', '.join([place, *map(repr, given)])})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
