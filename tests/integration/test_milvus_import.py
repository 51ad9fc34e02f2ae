"""Filling a collection from files that Milvus takes in by itself.

milvus-lite has no storage of its own and takes no requests over HTTP: a stand-in takes them, reads the files
from the folder and hands their rows to it.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from postgres_server import drop_schema
from weft import Node, Weft
from weft.errors import InvalidInput, StoreError, StoreReadOnly, StoreUnreachable, UnknownName

pytest.importorskip("milvus_lite")

from weft.store.milvus.catch_up import CatchUpLimits
from weft.store.milvus.collection import connect, read_milvus_address


class StandIn(ThreadingHTTPServer):
    """A stand-in for a cluster that is asked to import files, made with milvus-lite."""

    def __init__(self, database: Path, storage: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.database, self.storage = database, storage
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: list[tuple[str, dict[str, Any], str]] = []
        self.failure = ""

    def answer(self, path: str, given: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("create"):
            for (name,) in given["files"]:
                rows = json.loads((self.storage / name).read_text("utf-8"))["rows"]
                for row in rows:
                    row["terms"] = {int(term): gain for term, gain in row["terms"].items()}
                connect(read_milvus_address(f"milvus://{self.database}")).insert(given["collectionName"], rows)
            return {"code": 0, "data": {"jobId": "7"}}
        if self.failure:
            return {"code": 0, "data": {"state": "Failed", "reason": self.failure}}
        result = sum(path.endswith("describe") for path, _, _ in self.asked)
        return {"code": 0, "data": {"state": "Completed" if result > 1 else "Importing", "progress": 50 * result}}


class _Answers(BaseHTTPRequestHandler):
    server: StandIn

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, given, self.headers["Authorization"]))
        body = json.dumps(self.server.answer(self.path, given)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *given: object) -> None:
        """Log nothing."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandIn]:
    storage = tmp_path / "bucket"
    storage.mkdir()
    with StandIn(tmp_path / "milvus.db", storage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def filled(postgres_url: str, tmp_path: Path) -> Iterator[str]:
    """A store on a server, with nothing in Milvus yet."""
    url = f"{postgres_url}&schema=milvus_import"
    with Weft.open(url, folder=tmp_path / "home") as weft:
        weft.put([note(number) for number in range(20)])
    yield url
    drop_schema(postgres_url, "milvus_import")


def note(number: int) -> Node:
    return Node(
        f"s:{number}", "note", title=f"note {number}", text=f"a red fox {number}", tags=(f"t{number % 2}",)
    )


def address(cluster: StandIn) -> str:
    storage, rest = quote(str(cluster.storage), safe=""), quote(cluster.url, safe="")
    return f"milvus://{cluster.database}?import={storage}&rest={rest}&token=secret"


def catch_up(weft: Weft) -> None:
    weft.reader.index.limits = CatchUpLimits(entities_per_file=7, import_poll_seconds=0.0)  # type: ignore[union-attr]
    weft.reader.index.catch_up(weft.store)


def keys(weft: Weft) -> set[str]:
    weft.reader.index._exact_below = 0  # type: ignore[union-attr]
    return {each.node.key for each in weft.search("red fox", limit=50).candidates}


ALL = {f"s:{number}" for number in range(20)}


def test_an_empty_collection_is_filled_from_files_and_caught_up_afterwards(
    filled: str, cluster: StandIn, tmp_path: Path
) -> None:
    with Weft.open(filled, folder=tmp_path / "home", index=address(cluster)) as weft:
        catch_up(weft)
        (path, given, secret), *rest = cluster.asked
        assert path == "/v2/vectordb/jobs/import/create"
        assert (secret, given["dbName"]) == ("Bearer secret", "default")
        assert [name.rpartition("/")[2] for (name,) in given["files"]] == [
            "000000.json",
            "000001.json",
            "000002.json",
        ]
        assert [given["jobId"] for _, given, _ in rest] == ["7", "7"], "it is waited for"
        assert keys(weft) == ALL
        assert weft.search("red fox").notes == ()
        assert not list(cluster.storage.rglob("*.json"))
        weft.put([note(20)])
        assert keys(weft) == {*ALL, "s:20"}
        assert len(cluster.asked) == 3, "what changes later is written page by page"


def test_what_an_import_brings_is_what_inserts_bring(filled: str, cluster: StandIn, tmp_path: Path) -> None:
    found = []
    for index in (address(cluster), f"milvus://{tmp_path / 'inserted.db'}"):
        with Weft.open(filled, folder=tmp_path / "home", index=index) as weft:
            catch_up(weft)
            client = weft.reader.index._client()  # type: ignore[union-attr]
            (name,) = (name for name in client.list_collections() if not name.endswith("_state"))
            rows = client.query(name, filter="id > 0", output_fields=["*"], limit=100)
            found.append(sorted((dict(row) for row in rows), key=lambda row: row["id"]))
    assert len(found[0]) == 20
    assert found[0] == found[1]


def test_an_import_that_fails_is_told_answered_around_and_begun_anew(
    filled: str, cluster: StandIn, tmp_path: Path
) -> None:
    cluster.failure = "the disk of a data node is full"
    with Weft.open(filled, folder=tmp_path / "home", index=address(cluster)) as weft:
        with pytest.raises(StoreError, match=r"disk of a data node.*Leave import= out"):
            catch_up(weft)
        assert keys(weft) == ALL
        cluster.failure = ""
        catch_up(weft)
        assert keys(weft) == ALL
        assert weft.index_status()["passages"] == 20, "what the first one left is gone"


def test_what_cannot_be_imported_from_is_told(filled: str, cluster: StandIn, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    for storage, rest, error in (
        (taken, cluster.url, StoreReadOnly),
        (cluster.storage, "http://127.0.0.1:9", StoreUnreachable),
    ):
        index = f"milvus://{tmp_path / 'other.db'}?import={quote(str(storage))}&rest={quote(rest)}"
        with Weft.open(filled, folder=tmp_path / "home", index=index) as weft, pytest.raises(error):
            catch_up(weft)
    with pytest.raises(InvalidInput, match="the embedded form takes in no files"):
        Weft.open(filled, folder=tmp_path / "home", index=f"milvus://{tmp_path}/a.db?import=/bucket")
    with pytest.raises(UnknownName, match="consistancy"):
        Weft.open(filled, folder=tmp_path / "home", index="milvus://host?consistancy=strong")
