"""Check under which name and from where a request comes, before anything else is read of it."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from msgspec import Struct
from starlette.types import Scope as Connection

from weft.errors import InvalidInput
from weft.interfaces.forwarded import is_forwarded
from weft.interfaces.rest.problems import Problem

_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::([0-9]{1,5}))?\Z")
"""A Host header: a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port."""
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
"""The names under which this machine asks itself."""
_MOST_FORWARDED: Final = 20
"""Addresses in a chain of proxies; a longer chain is a forgery."""

Address = IPv4Address | IPv6Address


class Exposure(Struct, frozen=True):
    """The proxies whose headers are believed, and the names under which the service may be asked."""

    proxies: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Peer(Struct, frozen=True):
    """The caller's address and the name it asked for; `is_local` is this machine itself, asked by a local name."""

    address: str
    host: str
    is_local: bool


def read_peer(connection: Connection, exposure: Exposure) -> Peer:
    """Return where a request comes from; refuse one without a single valid Host, or past the proxies."""
    headers: Sequence[tuple[bytes, bytes]] = connection["headers"]
    client = connection.get("client")
    address = client[0] if client else ""
    host = _only_host([value for name, value in headers if name == b"host"])
    forwarded = is_forwarded(headers)
    is_by_local_name = is_loopback(address) and not forwarded and host in _LOOPBACK_NAMES
    from_proxy = _is_trusted(address, exposure.proxies)
    if exposure.proxies:
        if not from_proxy and not is_loopback(address):
            raise Problem(403, "This service is asked through its proxy only. Ask the proxy's address.")
        if from_proxy and forwarded:
            address, host = _read_forwarded(headers, address, host, exposure)
    # A proxy on this machine may send no such header, and asks by the name that it was told.
    is_local = is_by_local_name and not from_proxy and not _is_of_another_site(headers)
    if exposure.hosts and host not in exposure.hosts and not is_by_local_name:
        raise Problem(421, f"Nothing is served under the name {host!r}. Ask by a name that the service has.")
    return Peer(address, host, is_local)


def _is_of_another_site(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a browser sent a request for a page of another site, and not for this machine's user."""
    given = dict(headers)
    # Older browsers send Origin alone, and that only with what changes something.
    origin = given.get(b"origin", b"")
    is_foreign = bool(origin) and origin.partition(b"://")[2] != given.get(b"host")
    return is_foreign or given.get(b"sec-fetch-site") in (b"cross-site", b"same-site")


def _only_host(given: Sequence[bytes]) -> str:
    """Return the name in the Host header; there must be one."""
    if len(given) != 1:
        raise Problem(400, f"A request has one Host header, and this one has {len(given)}. Send exactly one.")
    return _host_name(given[0], "Host")


def _host_name(given: bytes, header: str) -> str:
    found = _HOST.match(given)
    if found is None or int(found[2] or 0) > 65535:
        raise Problem(400, f"{header} is neither a name nor an address. Send it as name:port.")
    return found[1].decode("ascii").lower()


def _read_forwarded(
    headers: Sequence[tuple[bytes, bytes]], peer: str, host: str, exposure: Exposure
) -> tuple[str, str]:
    """Return the address and the name that a trusted proxy reports."""
    chain = [part.strip() for name, value in headers if name == b"x-forwarded-for" for part in value.split(b",")]
    if len(chain) > _MOST_FORWARDED:
        raise Problem(400, f"X-Forwarded-For names more than {_MOST_FORWARDED} addresses. Send fewer.")
    address = peer
    # From the right: each proxy appends the address it was asked from, and the first one that is no proxy is the
    # caller. What stands before that the caller wrote itself.
    for part in reversed(chain):
        address = _parse_address(part)
        if not _is_trusted(address, exposure.proxies):
            break
    names = [value for name, value in headers if name == b"x-forwarded-host"]
    if len(names) > 1:
        raise Problem(400, "X-Forwarded-Host is there twice. Send it once.")
    return address, _host_name(names[0], "X-Forwarded-Host") if names else host


def _parse_address(given: bytes) -> str:
    try:
        return str(ip_address(given.decode("ascii").strip("[]")))
    except ValueError:
        raise Problem(400, "X-Forwarded-For holds something that is no address. Send addresses only.") from None


def _is_trusted(address: str, proxies: Sequence[str]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in map(_network, proxies) if network.version == found.version)


def _network(written: str) -> IPv4Network | IPv6Network:
    return ip_network(written, strict=False)


def check_proxies(proxies: Sequence[str]) -> None:
    """Refuse proxies that are no addresses, and ranges that hold everybody."""
    for written in proxies:
        try:
            network = _network(written)
        except ValueError:
            raise InvalidInput(
                f"{written!r} is no address of a proxy. Give one such as 10.0.0.5, or a range such as 10.0.0.0/24."
            ) from None
        if network.prefixlen == 0:
            raise InvalidInput(f"{written} is every address there is. Name the addresses of your proxy.")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
