"""API keys: bound to tenants and to reading or writing, kept hashed in a file of their own beside the store."""

import hmac
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

import orjson
from filelock import FileLock

from weft.errors import InvalidInput, StoreError, UnknownName
from weft.frozen import dataclass

FILE_NAME: Final = "keys.json"
_PREFIX: Final = "weft"
_NOBODY: Final = sha256(b"no such key").hexdigest()


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key: never the secret, only its hash."""

    id: str
    name: str
    tenants: tuple[str, ...]
    write: bool
    hash: str
    created: str


class KeyRing:
    """The keys of one store. Reading notices what other processes made or revoked."""

    def __init__(self, store: Path) -> None:
        self._file = store / FILE_NAME
        self._seen: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """All keys in the order they were made."""
        try:
            state = self._file.stat()
        except FileNotFoundError:
            self._seen, self._keys = None, ()
            return ()
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        if stamp != self._seen:
            self._keys, self._seen = self._read(), stamp
        return self._keys

    def find(self, given: str) -> Key | None:
        """The key that a caller presents, or None; unknown and wrong ones take the same time."""
        prefix, _, rest = given.partition("_")
        number, _, secret = rest.partition("_")
        key = next((each for each in self.keys() if each.id == number), None)
        hashed = sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        same = hmac.compare_digest(hashed, key.hash if key else _NOBODY)
        return key if key and same and prefix == _PREFIX else None

    def create(self, name: str, tenants: Sequence[str], *, write: bool, now: datetime) -> tuple[Key, str]:
        """A new key and, this once, what its bearer presents."""
        named = tuple(dict.fromkeys(each.strip() for each in tenants))
        if not named or not all(named):
            raise InvalidInput("A key is bound to tenants. Name at least one with --tenant NAME.")
        number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        hashed = sha256(secret.encode()).hexdigest()
        key = Key(number, name, named, write, hashed, now.isoformat(timespec="seconds"))
        with self._changing():
            self._write((*self.keys(), key))
        return key, f"{_PREFIX}_{number}_{secret}"

    def revoke(self, number: str) -> Key:
        """Take a key away by its id."""
        with self._changing():
            known = {key.id: key for key in self.keys()}
            if number not in known:
                raise UnknownName("key", number, known, "`weft keys list` shows them.")
            self._write(tuple(key for key in known.values() if key.id != number))
        return known[number]

    def _changing(self) -> FileLock:
        if not self._file.parent.is_dir():
            raise StoreError(f"There is no store in {self._file.parent}. Make one with `weft index PATH`.")
        return FileLock(self._file.with_suffix(".lock"))

    def _read(self) -> tuple[Key, ...]:
        try:
            listed = orjson.loads(self._file.read_bytes())["keys"]
            return tuple(Key(**{**each, "tenants": tuple(each["tenants"])}) for each in listed)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self._file} cannot be read as keys ({error}). Restore it from a copy, or remove it and make "
                "new keys with `weft keys create`."
            ) from error

    def _write(self, keys: Sequence[Key]) -> None:
        """Replace the file in one step, readable by its owner alone."""
        fresh = self._file.with_suffix(".new")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps({"keys": [asdict(key) for key in keys]}, option=orjson.OPT_INDENT_2))
        fresh.replace(self._file)
