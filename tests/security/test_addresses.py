"""From where and under which name a request comes: forged hosts and forwarded headers open nothing."""

import datetime
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from rest_service import Service, make_certificate, make_key, make_service, running
from weft import config
from weft.errors import InvalidInput
from weft.interfaces.rest.addresses import Exposure
from weft.interfaces.rest.app import serve

PROXY = "10.0.0.5"
QUESTION = {"query": "refund", "tenant_ids": ["support"]}


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        ["localhost", "localhost"],
        ["localhost", "evil.example"],
        ["evil.example/../"],
        ["a b"],
        [""],
        ["localhost:99999"],
        ["user@localhost"],
    ],
)
def test_a_request_without_one_valid_host_is_refused(service: Service, hosts: list[str]) -> None:
    with running(service) as address:
        lines = ["GET /api/profiles HTTP/1.1", *(f"Host: {host}" for host in hosts), "Connection: close", "", ""]
        assert raw(address, "\r\n".join(lines).encode()).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://localhost/healthz", b"200"),
        ("http://evil.example/healthz", b"400"),
        ("http://user@localhost/healthz", b"400"),
        ("http://localhost:99999/healthz", b"400"),
        ("evil.example:80", b"400"),
        ("//evil.example/healthz", b"401"),
    ],
)
def test_the_request_line_names_no_other_host(store: Path, target: str, status: bytes) -> None:
    make_key(store, "support")
    with running(make_service(store)) as address:
        lines = [f"GET {target} HTTP/1.1", "Host: localhost", "Connection: close", "", ""]
        assert raw(address, "\r\n".join(lines).encode()).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 4"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding: gzip, chunked", "Connection: close"],
        ["Content-Length: 4", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"],
        ["Transfer-Encoding : chunked"],
        ["Content-Length: 4", "Content-Length: 5"],
        ["Content-Length: 4, 4"],
        ["Content-Length: +4"],
        ["X: a", " b"],
    ],
)
def test_where_a_request_ends_is_never_in_doubt(service: Service, lines: list[str]) -> None:
    head = ["POST /api/search HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines, "", ""]
    with running(service) as address:
        answer = raw(
            address, "\r\n".join(head).encode() + b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


def raw(address: str, request: bytes) -> bytes:
    """Return the answer to bytes that no client library would send."""
    import socket

    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    "header",
    [
        *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Server"),
        *("Forwarded", "Via", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"),
    ],
)
def test_without_keys_a_forwarded_request_is_not_this_machines_own(service: Service, header: str) -> None:
    done = service.http.post("/api/context", json=QUESTION, headers={header: "127.0.0.1"})
    assert done.status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
    ],
)
def test_a_page_of_another_site_changes_nothing_without_keys(
    service: Service, headers: dict[str, str], status: int
) -> None:
    # Browsers send a request without a body anywhere, without asking first.
    assert service.http.post("/api/admin/snapshots", headers=headers).status_code == status


def test_behind_a_proxy_only_the_proxy_is_answered(store: Path) -> None:
    key, exposure = make_key(store, "support"), Exposure(proxies=(PROXY,))
    for client, expected in ((PROXY, 200), ("203.0.113.9", 403)):
        asked = make_service(store, client=client, exposure=exposure)
        assert asked.http.post("/api/context", json=QUESTION, headers=key).status_code == expected


@pytest.mark.parametrize("chain", ["localhost", "1.2.3.4, <script>", "999.1.1.1", ",".join(["1.2.3.4"] * 30)])
def test_a_forged_chain_of_proxies_is_refused(store: Path, chain: str) -> None:
    key = make_key(store, "support")
    behind = make_service(store, client=PROXY, exposure=Exposure(proxies=("10.0.0.0/24",)))
    done = behind.http.post("/api/context", json=QUESTION, headers={**key, "X-Forwarded-For": chain})
    assert done.status_code == 400


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "127.0.0.1"}, {}])
def test_a_proxied_request_that_claims_to_be_local_is_not(store: Path, headers: dict[str, str]) -> None:
    # A proxy on the same machine asks by the name that it was told, and may not say for whom.
    behind = make_service(store, client="127.0.0.1", exposure=Exposure(proxies=("127.0.0.1",)))
    assert behind.http.post("/api/context", json=QUESTION, headers=headers).status_code == 403


def test_only_allowed_names_are_answered(store: Path) -> None:
    key = make_key(store, "support")
    named = make_service(store, client="192.0.2.7", exposure=Exposure(hosts=("weft.example",)))
    answers = [
        named.http.post("/api/context", json=QUESTION, headers={**key, "Host": host}).status_code
        for host in ("weft.example", "WEFT.example:443", "evil.example", "localhost")
    ]
    assert answers == [200, 200, 421, 421]


# --- what `weft serve` refuses to do ---


def refused(store: Path, **settings: object) -> str:
    with pytest.raises(InvalidInput) as error:
        serve(config.ServeSettings(store, **settings), "0.0.0.0", 0, 1, lambda _: None)  # type: ignore[arg-type]
    return str(error.value)


def test_a_public_address_needs_a_key_that_has_not_expired(store: Path) -> None:
    assert "weft keys create" in refused(store)
    made = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC)
    make_key(store, "support", expires=made)
    assert "weft keys create" in refused(store)


def test_a_public_address_needs_encryption_or_a_proxy(store: Path) -> None:
    make_key(store, "support")
    assert "--tls-cert" in refused(store)
    assert "no address of a proxy" in refused(store, proxies=("nginx",))
    assert "every address" in refused(store, proxies=("0.0.0.0/0",))
    assert "Give both" in refused(store, tls_cert="cert.pem")
    assert "no certificate" in refused(store, tls_cert=str(store / "weft.sqlite"), tls_key=str(store / "x"))


def test_https_is_served_with_a_certificate(store: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_certificate(cert, key)
    words = [sys.executable, "-m", "weft", "serve", "--port", "0", "--workers", "1"]
    words += ["--store", str(store), "--tls-cert", str(cert), "--tls-key", str(key)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "https://" in line)
        address = next(word for word in line.split() if word.startswith("https://"))
        try:
            with httpx.Client(verify=ssl.create_default_context(cafile=str(cert))) as client:
                assert client.get(f"{address}/healthz").status_code == 200
        finally:
            process.terminate()
