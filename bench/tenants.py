"""Many tenants in one PostgreSQL store: what loading, asking and writing cost as their number grows.

    python -m bench.tenants --tenants 1000,10000,100000
    python -m bench.tenants --tenants 10000 --large 90000    # and one tenant that holds most of the nodes
    python -m bench.tenants --tenants 100000 --notes 1 --no-vectors
    python -m bench.tenants --url URL                        # a local server that is there already

Every tenant holds a few notes. Processor time is that of this process and of the server together, so that the
figures mean something on a busy machine too.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice

import psycopg

from bench.backends import Server, running, started
from weft import Node, Weft
from weft.indexing.prepare import prepare
from weft.ports import Changes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN_AT_ONCE, ASKED, PUT = 3000, 40, 10
WORDS = ("refund", "invoice", "harbour", "lantern", "schema", "orchard", "parcel", "ledger", "violin", "canyon")


def notes(tenant: str, count: int, draw: random.Random) -> Iterator[Node]:
    """Return the notes of one tenant, of words that all tenants share."""
    for number in range(count):
        words = draw.choices(WORDS, k=30)
        yield Node(f"n:{number}", "note", tenant, f"{words[0]} {words[1]} {number}", text=" ".join(words))


def measure(tenants: int, given: argparse.Namespace, server: Server) -> dict[str, float]:
    """Measure what loading, making the search indexes, a question and a write in one small tenant cost."""
    with psycopg.connect(server.url, autocommit=True) as link:
        link.execute("DROP SCHEMA IF EXISTS tenants CASCADE")
    embedder = "static" if given.vectors else None
    with (
        tempfile.TemporaryDirectory(prefix="weft-bench-") as folder,
        Weft.open(f"{server.url}&schema=tenants", folder=folder, embedder=embedder) as weft,
    ):
        draw = random.Random(1)
        names = [f"tenant {number:06}" for number in range(tenants)]
        nodes = chain(notes("large", given.large, draw), *(notes(name, given.notes, draw) for name in names))
        load, index = _load(weft, nodes, server)
        chosen = draw.sample(names, ASKED + PUT)
        return {
            "load, nodes/s of processor time": (given.notes * tenants + given.large) / load,
            "search indexes, s of processor time": index,
            "context, ms of processor time": 1000 * _asked(weft, chosen[:ASKED], server) / ASKED,
            "context again, ms of processor time": 1000 * _asked(weft, chosen[:ASKED], server) / ASKED,
            "put of one note, ms of processor time": 1000 * _put(weft, chosen[ASKED:], server) / PUT,
        }


def _spent(server: Server) -> float:
    return time.process_time() + server.seconds()


def _load(weft: Weft, nodes: Iterator[Node], server: Server) -> tuple[float, float]:
    shop, spent = weft.workshop(), 0.0
    if shop.embed is not None:
        shop.store.remember_embedder(shop.embed.name, shop.embed.dimensions)
    while batch := list(islice(nodes, WRITTEN_AT_ONCE)):
        prepared = prepare([(node, "") for node in batch], shop.embed, shop.count)
        begun = _spent(server)
        shop.store.write(Changes(upserts=prepared))
        spent += _spent(server) - begun
    begun = _spent(server)
    shop.index.catch_up(shop.store)
    return spent, _spent(server) - begun


def _asked(weft: Weft, names: Sequence[str], server: Server) -> float:
    begun = _spent(server)
    for name in names:
        weft.context("refund of an invoice in the harbour", tenants=(name,), max_tokens=1000, now=NOW)
    return _spent(server) - begun


def _put(weft: Weft, names: Sequence[str], server: Server) -> float:
    begun = _spent(server)
    for name in names:
        weft.put([Node("n:new", "note", name, "a new note", text="a refund that came late")])
    return _spent(server) - begun


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.tenants", description=__doc__)
    parser.add_argument("--tenants", default="1000,10000")
    parser.add_argument("--large", type=int, default=0, help="nodes of one large tenant beside them")
    parser.add_argument("--notes", type=int, default=3, help="of each of the other tenants")
    parser.add_argument("--vectors", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--url", default="", help="a server that is there already, instead of a new one")
    given = parser.parse_args()
    sizes = [int(size) for size in given.tenants.split(",")]
    with running(given.url) if given.url else started() as server:
        found = [measure(size, given, server) for size in sizes]
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    print(f"| tenants | {' | '.join(f'{size:,}' for size in sizes)} |\n|---|{'---:|' * len(sizes)}")
    for label in found[0]:
        print(f"| {label} | {' | '.join(f'{each[label]:,.1f}' for each in found)} |")


if __name__ == "__main__":
    main()
