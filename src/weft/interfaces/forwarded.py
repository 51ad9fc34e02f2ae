"""Tell a request that a proxy passed on from one that comes from where its connection comes from."""

from collections.abc import Iterable
from typing import Final

_FORWARDED: Final = frozenset({b"forwarded", b"via", b"x-real-ip", b"true-client-ip", b"cf-connecting-ip"})
_FORWARDED_PREFIX: Final = b"x-forwarded-"
"""Headers that only a proxy sends, in small letters."""


def is_forwarded(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a proxy passed the request on."""
    return any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name, _ in headers)
