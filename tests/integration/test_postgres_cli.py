"""Every command works on a store on a server as on an embedded one, and several services on it behave as one."""

import json
from pathlib import Path

from command_line import EXAMPLES, Cli
from starlette.testclient import TestClient

from rest_service import Service
from weft import Weft
from weft.interfaces.rest.app import make_app
from weft.interfaces.rest.served_store import Served, Serving


def test_commands_print_on_a_server_what_they_print_on_a_folder(cli: Cli, url: str, tmp_path: Path) -> None:
    helpdesk = EXAMPLES / "helpdesk"
    for store in (url, tmp_path / "embedded"):
        assert cli("index", helpdesk, "--store", store).code == 0
    asked = ("How do I process a refund?", "--tenant", "support")
    for words in (("context", *asked), ("search", *asked), ("search", *asked, "--index", "files")):
        on_server, embedded = cli(*words, "--store", url), cli(*words, "--store", tmp_path / "embedded")
        assert (on_server.code, on_server.out) == (0, embedded.out)
    result = cli("doctor", "--store", url)
    assert result.code == 0
    assert "server: PostgreSQL 18" in result.out
    assert "not by row-level security" in result.out, "the tests connect as a superuser"
    assert cli("related", "refund policy", "--tenant", "support", "--store", url).code in (0, 2)
    status = json.loads(cli("status", "--json", "--store", url).out)
    assert status["engine"]["engine"] == "PostgreSQL"
    assert status["nodes"] == 44
    result = cli("status", "--store", url, "--index", "server").out
    assert "search: by postgresql, up to date" in result
    assert "vector 0." in result


def test_a_store_moves_to_a_server_and_back(cli: Cli, url: str, tmp_path: Path) -> None:
    cli("index", EXAMPLES / "novel", "--store", tmp_path / "one")
    assert "the same in both" in cli("copy", "--from", tmp_path / "one", "--to", url).out
    assert cli("copy", "--from", url, "--to", tmp_path / "two").code == 0
    pages = [cli("context", "Why were the boots dry?", "--store", place).out for place in (tmp_path / "one", url)]
    assert pages[0] == pages[1] == cli("context", "Why were the boots dry?", "--store", tmp_path / "two").out


def test_a_parameter_that_nobody_knows_is_told_with_those_that_weft_does(cli: Cli, url: str) -> None:
    result = cli("status", "--store", f"{url}&scheme=x")
    assert result.code == 2
    assert '"scheme"' in result.err
    assert "schema, replica, words, connections, candidates" in result.err


def test_an_address_that_lacks_slashes_is_not_taken_for_a_folder(cli: Cli) -> None:
    result = cli("status", "--store", "postgresql:/weft:secret@db/knowledge")
    assert result.code == 2
    assert "postgresql://USER@HOST/DATABASE" in result.err
    assert "secret" not in result.err


def test_an_unknown_index_and_a_broken_address_are_told(cli: Cli, url: str, tmp_path: Path) -> None:
    assert "Unknown index 'fils'. Did you mean 'files'?" in cli("status", "--store", url, "--index", "fils").err
    assert cli("status", "--store", url.replace("schema=", "schema=1 ")).code == 2
    cli("index", EXAMPLES / "novel", "--store", tmp_path / "one")
    assert (
        "cannot search the embedded store" in cli("status", "--store", tmp_path / "one", "--index", "server").err
    )


def test_what_one_worker_acknowledged_another_answers_with_at_once(cli: Cli, url: str, tmp_path: Path) -> None:
    cli("index", EXAMPLES / "helpdesk", "--store", url)
    workers = [_worker(url, tmp_path / name) for name in ("one", "two")]
    for number in range(4):
        writer, reader = workers[number % 2], workers[1 - number % 2]
        before = reader.ask("zephyr", "support")
        text = f"The zephyr clause number {number} is new."
        node = {
            "key": f"api:zephyr{number}",
            "node_type": "faq",
            "tenant_id": "support",
            "content": {"text": text},
        }
        made = writer.http.post("/api/nodes", json={**node, "title": f"Zephyr {number}"})
        assert made.status_code in (200, 201), made.text
        after = reader.ask("zephyr", "support")
        assert before != after
        assert text in json.dumps(after)
    for worker in workers:
        worker.served.close()


def _worker(url: str, folder: Path) -> Service:
    served = Served(
        Serving(folder, on_server=True), lambda: Weft.open(url, folder=folder, create=False, read_only=False)
    )
    http = TestClient(make_app(served), base_url="http://localhost", client=("127.0.0.1", 5000))
    http.headers["accept"] = "application/json"
    return Service(folder, served, http)
