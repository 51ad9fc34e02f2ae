"""The API keys of a store, which bind callers of the HTTP service to tenants and to reading or writing.

They are kept in a file beside the store, as hashes only.
"""

import hmac
import os
import secrets
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

import orjson
from filelock import FileLock
from msgspec import Struct
from msgspec.structs import asdict

from weft.errors import InvalidInput, StoreError, UnknownName

FILE_NAME: Final = "keys.json"
_PREFIX: Final = "weft"
"""The beginning of every token, so that scanners for leaked secrets can recognise one."""
_DUMMY_HASH: Final = sha256(b"no such key").hexdigest()
"""The hash that an unknown key is compared with, so that it takes the same time as a wrong secret."""
_ID_BYTES: Final = 4
"""Random bytes of a key's id. It only has to be unique among the few keys of a store; it is no secret."""
_SECRET_BYTES: Final = 32
"""Random bytes of a secret: 256 bits cannot be guessed, so a fast hash without salt is enough."""
_OWNER_ONLY: Final = 0o600


class Key(Struct, frozen=True):
    """One key as it is stored: never the secret, only its hash."""

    id: str
    name: str
    tenants: tuple[str, ...]
    write: bool
    hash: str
    created: str


class KeyRing:
    """The keys of one store. Every read notices keys that other processes created or revoked."""

    def __init__(self, store: Path) -> None:
        self._file = store / FILE_NAME
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """Return all keys in the order in which they were created."""
        try:
            state = self._file.stat()
        except FileNotFoundError:
            self._stamp, self._keys = None, ()
            return ()
        # The inode changes with every write, even when the clock is too coarse for the time of change to.
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        if stamp != self._stamp:
            self._keys, self._stamp = self._read(), stamp
        return self._keys

    def find(self, token: str) -> Key | None:
        """Return the key of the token that a caller presents, or None. Unknown and wrong ones take equal time."""
        # A token is weft_ID_SECRET; the secret may contain underscores itself.
        prefix, _, rest = token.partition("_")
        key_id, _, secret = rest.partition("_")
        key = next((known for known in self.keys() if known.id == key_id), None)
        # A token from a header may hold any character, also lone surrogates.
        hashed = sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        is_same = hmac.compare_digest(hashed, key.hash if key else _DUMMY_HASH)
        return key if key and is_same and prefix == _PREFIX else None

    def create(self, name: str, tenants: Sequence[str], *, write: bool, now: datetime) -> tuple[Key, str]:
        """Create a key, and return it with the token that its bearer presents, which is not stored."""
        names = tuple(dict.fromkeys(tenant.strip() for tenant in tenants))
        if not names or not all(names):
            raise InvalidInput("A key is bound to tenants. Name at least one with --tenant NAME.")
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        hashed = sha256(secret.encode()).hexdigest()
        key = Key(key_id, name, names, write, hashed, now.isoformat(timespec="seconds"))
        # Read again under the lock, or a key that another process adds meanwhile would be lost.
        with self._lock():
            self._write((*self.keys(), key))
        return key, f"{_PREFIX}_{key_id}_{secret}"

    def revoke(self, key_id: str) -> Key:
        """Remove a key by its id, and return it."""
        with self._lock():
            known = {key.id: key for key in self.keys()}
            if key_id not in known:
                raise UnknownName("key", key_id, known, "`weft keys list` prints them.")
            self._write(tuple(key for key in known.values() if key.id != key_id))
        return known[key_id]

    def _lock(self) -> FileLock:
        """Return the lock under which the file is read, changed and written."""
        if not self._file.parent.is_dir():
            raise StoreError(f"There is no store in {self._file.parent}. Make one with `weft index PATH`.")
        return FileLock(self._file.with_suffix(".lock"))

    def _read(self) -> tuple[Key, ...]:
        try:
            rows = orjson.loads(self._file.read_bytes())["keys"]
            return tuple(Key(**{**row, "tenants": tuple(row["tenants"])}) for row in rows)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self._file} cannot be read as keys ({error}). Restore it from a copy, or remove it and make "
                "new keys with `weft keys create`."
            ) from error

    def _write(self, keys: Sequence[Key]) -> None:
        """Replace the file in one step, readable only by its owner."""
        # The rights are set when the draft is made: the hashes must not be readable even for a moment.
        draft = self._file.with_suffix(".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps({"keys": [asdict(key) for key in keys]}, option=orjson.OPT_INDENT_2))
        draft.replace(self._file)
