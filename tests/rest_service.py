"""A service over a real store, asked in this process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from weft import Weft
from weft.config import ServeSettings
from weft.interfaces.keys import Grant, KeyRing, Scope
from weft.interfaces.rest.addresses import Exposure
from weft.interfaces.rest.app import make_app, uvicorn_options
from weft.interfaces.rest.served_store import Served, Serving

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass
class Service:
    """A service with a client on the same machine."""

    store: Path
    served: Served
    http: TestClient

    def ask(self, query: str, *tenants: str, **more: Any) -> dict[str, Any]:
        """The answer to POST /api/context."""
        done = self.http.post("/api/context", json={"query": query, "tenant_ids": list(tenants), **more})
        assert done.status_code == 200, done.text
        answer: dict[str, Any] = done.json()
        return answer


def make_service(
    store: Path,
    *,
    read_only: bool = False,
    client: str = "127.0.0.1",
    exposure: Exposure | None = None,
    **more: Any,
) -> Service:
    """A service over the store in a folder."""
    opener = lambda: Weft.open(store, create=False, read_only=read_only)  # noqa: E731
    served = Served(Serving(store, read_only, exposure=exposure or Exposure(), **more), opener)
    http = TestClient(make_app(served), base_url="http://localhost", client=(client, 5000))
    http.headers["accept"] = "application/json"
    return Service(store, served, http)


def make_key(store: Path, *tenants: str, write: bool = False, **rights: Any) -> dict[str, str]:
    """The header that presents a new key."""
    scopes = (Scope.READ, Scope.WRITE, Scope.MEMORY) if write else (Scope.READ,)
    grant = Grant("test", tenants, **{"scopes": scopes, **rights})
    _, secret = KeyRing(store).create(grant, datetime(2026, 1, 1, tzinfo=UTC))
    return {"Authorization": f"Bearer {secret}"}


@contextmanager
def running(service: Service, **options: Any) -> Iterator[str]:
    """The address of the service while a real server answers for it on this machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(service.http.app, **{**uvicorn_options(ServeSettings(service.store)), **options})
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def make_certificate(cert: Path, key: Path) -> None:
    """Write a certificate of this machine that is its own authority."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
