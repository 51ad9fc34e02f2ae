"""The API keys of a store, which bind callers of the HTTP service to tenants, scopes and routes.

They are kept in a file beside the store, as hashes only. Once a store has had a key it is never served without one
again, until `weft keys open` says so: a key file that is missing or damaged refuses everybody.
"""

import hmac
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson
from filelock import FileLock, Timeout
from msgspec import Struct, convert, to_builtins
from msgspec.structs import asdict, replace

from weft.errors import InvalidInput, StoreError, UnknownName

FILE_NAME: Final = "keys.json"
MARKER_NAME: Final = "keys.required"
"""A file that says that this store has had keys. It is never removed, so that losing the keys opens nothing."""
USES_NAME: Final = "keys.used.json"
"""The file of last uses, kept apart: the keys themselves change rarely and must be written safely."""
EVERY_TENANT: Final = "*"
"""The name that stands for every tenant, present and future; it must be asked for by itself."""
_PREFIX: Final = "weft"
"""The beginning of every token, so that scanners for leaked secrets can recognise one."""
_DUMMY_HASH: Final = sha256(b"no such key").hexdigest()
"""The hash that an unknown key is compared with, so that it takes the same time as a wrong secret."""
_ID_BYTES: Final = 4
"""Random bytes of a key's id. It only has to be unique among the few keys of a store; it is no secret."""
_SECRET_BYTES: Final = 32
"""Random bytes of a secret: 256 bits cannot be guessed, so a fast hash without salt is enough."""
_OWNER_ONLY: Final = 0o600
_USE_SECONDS: Final = 60.0
"""Seconds between two notes of the same key's use: exact to the minute is enough to find unused keys."""
_LONGEST_NAME: Final = 200
"""Characters of a key's name or of a tenant, as everywhere in the service."""
_ROUTE: Final = re.compile(r"/[A-Za-z0-9_/{}.-]{0,199}\Z")
"""A route that a key may be limited to: the beginning of a path, such as /api/context."""


class Scope(StrEnum):
    """A right of a key: to ask, to change nodes and edges, to change what is learnt, to manage the service."""

    READ = "read"
    WRITE = "write"
    MEMORY = "memory"
    ADMIN = "admin"


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The most that a key may use in a minute, and requests at once; 0 is the service's own limit, or none."""

    requests: int = 0
    bytes: int = 0
    tokens: int = 0
    concurrent: int = 0


class Key(Struct, frozen=True, forbid_unknown_fields=True):
    """One key as it is stored: never the secret, only its hash. Times are ISO 8601; no `expires` means never.

    A file with fields that are not known here may limit a key in a way that is not known either: it is refused.
    """

    id: str
    name: str
    tenants: tuple[str, ...]
    scopes: tuple[Scope, ...]
    hash: str
    created: str
    routes: tuple[str, ...] = ()
    expires: str = ""
    limits: Limits = Limits()

    def is_expired(self, now: datetime) -> bool:
        """Return whether the key's time is over."""
        return bool(self.expires) and datetime.fromisoformat(self.expires) <= now


class Grant(Struct, frozen=True):
    """The rights that a new key is to have."""

    name: str
    tenants: tuple[str, ...]
    scopes: tuple[Scope, ...] = (Scope.READ,)
    routes: tuple[str, ...] = ()
    expires: datetime | None = None
    limits: Limits = Limits()


class KeysUnreadable(StoreError):
    """A key file that is missing or damaged where keys are required: nobody is served."""


def renewed_end(old: Key, now: datetime) -> datetime | None:
    """Return when the replacement of a key expires: after as long a life as the old one had."""
    if not old.expires:
        return None
    return now + (datetime.fromisoformat(old.expires) - datetime.fromisoformat(old.created))


class KeyRing:
    """The keys of one store. Every read notices keys that other processes created or revoked."""

    def __init__(self, store: Path) -> None:
        self._file, self._marker = store / FILE_NAME, store / MARKER_NAME
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()
        self._opened = False
        self._had_keys = False
        self._uses = _LastUses(store / USES_NAME)

    def all_keys(self) -> tuple[Key, ...]:
        """Return all keys in the order in which they were created."""
        try:
            state = self._file.stat()
        except FileNotFoundError as error:
            self._stamp, self._keys = None, ()
            # What this process has seen counts too: both files may be lost with a folder.
            if self._had_keys or self._marker.exists():
                raise KeysUnreadable(
                    f"{self._file} is missing, but this store has had keys, so nobody is served. Restore it from "
                    "a copy, make new keys with `weft keys create`, or do without them with `weft keys open`."
                ) from error
            return ()
        except OSError as error:
            raise KeysUnreadable(
                f"{self._file} cannot be reached ({error.strerror}), so nobody is served. Put the folder of the "
                "store back as it was."
            ) from error
        # The inode changes with every write, even when the clock is too coarse for the time of change to.
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        if stamp != self._stamp:
            (self._keys, self._opened), self._stamp = self._read(), stamp
            self._had_keys = not self._opened
        return self._keys

    def is_open(self) -> bool:
        """Return whether no key is needed: the store never had one, or was opened up on purpose."""
        return not self.all_keys() and (self._opened or not self._had_keys)

    def usable(self, now: datetime) -> tuple[Key, ...]:
        """Return the keys that a caller could present now."""
        return tuple(key for key in self.all_keys() if not key.is_expired(now))

    def find(self, token: str, now: datetime) -> Key | None:
        """Return the key of the token that a caller presents, or None. Unknown and wrong ones take equal time."""
        # A token is weft_ID_SECRET; the secret may contain underscores itself.
        prefix, _, rest = token.partition("_")
        key_id, _, secret = rest.partition("_")
        key = next((known for known in self.all_keys() if known.id == key_id), None)
        # A token from a header may hold any character, also lone surrogates.
        hashed = sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        is_same = hmac.compare_digest(hashed, key.hash if key else _DUMMY_HASH)
        if key is None or not is_same or prefix != _PREFIX or key.is_expired(now):
            return None
        self._uses.note(key.id, now)
        return key

    def last_uses(self) -> dict[str, str]:
        """Return when each key was last used, exact to the minute; keys that never were are left out."""
        return self._uses.read()

    def create(self, grant: Grant, now: datetime) -> tuple[Key, str]:
        """Create a key, and return it with the token that its bearer presents, which is not stored."""
        _check_grant(grant, now)
        # Read again under the lock, or a key that another process adds meanwhile would be lost.
        with self._lock():
            return self._add(self._kept(), grant, now)

    def rotate(self, key_id: str, overlap: timedelta, now: datetime) -> tuple[Key, str]:
        """Make a new key with the rights of an old one, which goes on for the time of the overlap."""
        with self._lock():
            old = self._known(key_id)
            ends = now + overlap
            # A key that expires sooner anyway is not made to live longer by being replaced.
            lives_on = not old.expires or datetime.fromisoformat(old.expires) > ends
            ending = replace(old, expires=_moment(ends)) if lives_on else old
            kept = tuple(ending if key.id == key_id else key for key in self.all_keys())
            expires = renewed_end(old, now)
            return self._add(kept, Grant(old.name, old.tenants, old.scopes, old.routes, expires, old.limits), now)

    def revoke(self, key_id: str) -> Key:
        """Remove a key by its id, and return it. Without the last one nobody is served."""
        with self._lock():
            revoked = self._known(key_id)
            self._write(tuple(key for key in self.all_keys() if key.id != key_id))
        return revoked

    def open_up(self) -> None:
        """Let this machine be served without keys again. Keys that are left must be revoked first."""
        with self._lock():
            kept = self._kept()
            if kept:
                named = ", ".join(key.id for key in kept)
                raise InvalidInput(f"The keys {named} are in use. Revoke each with `weft keys revoke ID` first.")
            self._write((), opened=True)

    def require(self) -> None:
        """Note that this store has had keys, for a key file that was written before there was a marker."""
        if self._file.exists() and not self._marker.exists():
            with self._lock():
                self._mark()

    # --- the files ----------------------------------------------------------------------------------------

    def _known(self, key_id: str) -> Key:
        known = {key.id: key for key in self.all_keys()}
        if key_id not in known:
            raise UnknownName("key", key_id, known, "`weft keys list` prints them.")
        return known[key_id]

    def _kept(self) -> tuple[Key, ...]:
        """Return the keys to go on with; a lost file has none, and whoever may write here may make new ones."""
        try:
            return self.all_keys()
        except KeysUnreadable:
            if self._file.exists():
                raise
            return ()

    def _add(self, kept: Sequence[Key], grant: Grant, now: datetime) -> tuple[Key, str]:
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        key = Key(
            id=key_id,
            name=grant.name,
            tenants=tuple(dict.fromkeys(grant.tenants)),
            scopes=tuple(scope for scope in Scope if scope in grant.scopes),
            hash=sha256(secret.encode()).hexdigest(),
            created=_moment(now),
            routes=tuple(dict.fromkeys(grant.routes)),
            expires=_moment(grant.expires) if grant.expires else "",
            limits=grant.limits,
        )
        self._write((*kept, key))
        return key, f"{_PREFIX}_{key_id}_{secret}"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock under which the file is read, changed and written."""
        if not self._file.parent.is_dir():
            raise StoreError(f"There is no store in {self._file.parent}. Make one with `weft index PATH`.")
        try:
            with FileLock(self._file.with_suffix(".lock")):
                yield
        except OSError as error:
            raise StoreError(
                f"{self._file} cannot be written ({error}). Make room or change the permissions, and see "
                "`weft keys list` for what is in it."
            ) from error

    def _read(self) -> tuple[tuple[Key, ...], bool]:
        """Return the keys in the file, and whether the store was opened up."""
        try:
            held = orjson.loads(self._file.read_bytes())
            return tuple(_key_from(row) for row in held["keys"]), held.get("open") is True
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._had_keys = True
            raise KeysUnreadable(
                f"{self._file} cannot be read as keys ({error}), so nobody is served. Restore it from a copy, or "
                "remove it and make new keys with `weft keys create`."
            ) from error

    def _write(self, keys: Sequence[Key], *, opened: bool = False) -> None:
        """Replace the file in one step, readable only by its owner, and on the disk before this returns."""
        # First the marker: if the power fails between the two, the store is closed and not open.
        self._mark()
        held = {"version": 2, "open": opened, "keys": to_builtins(keys)}
        _replace_file(self._file, orjson.dumps(held, option=orjson.OPT_INDENT_2))

    def _mark(self) -> None:
        if not self._marker.exists():
            _replace_file(self._marker, b"This store has had API keys: without keys.json nobody is served.\n")


class _LastUses:
    """When keys were last used, kept in a file of its own, exact to the minute."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._noted: dict[str, float] = {}
        self._guard = threading.Lock()

    def note(self, key_id: str, now: datetime) -> None:
        """Note a use, unless one was noted a moment ago. Trouble with the file is no reason to refuse a caller."""
        with self._guard:
            if time.monotonic() - self._noted.get(key_id, -_USE_SECONDS) < _USE_SECONDS:
                return
            self._noted[key_id] = time.monotonic()
        try:
            # Not waited for: another process notes a use at this moment, and the next minute is soon enough.
            with FileLock(self._file.with_suffix(".lock"), timeout=0):
                uses = {**self.read(), key_id: _moment(now)}
                _replace_file(self._file, orjson.dumps(uses, option=orjson.OPT_SORT_KEYS), synced=False)
        except (OSError, Timeout):
            return

    def read(self) -> dict[str, str]:
        """Return the uses in the file; one that cannot be read is as if no key had been used."""
        try:
            held = orjson.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(name): str(value) for name, value in held.items()} if isinstance(held, dict) else {}


def _replace_file(file: Path, content: bytes, *, synced: bool = True) -> None:
    """Replace a file in one step; what it held before survives until the new one is whole."""
    # The rights are set when the draft is made: the hashes must not be readable even for a moment.
    draft = file.with_name(file.name + ".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(handle, "wb") as out:
        out.write(content)
        if synced:
            out.flush()
            os.fsync(out.fileno())
    draft.replace(file)
    if synced and hasattr(os, "O_DIRECTORY"):
        # Without this the new name may be lost with the power although the file is on the disk.
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _key_from(row: Mapping[str, Any]) -> Key:
    """Return the key of a row in the file; rows of the first format say `write` instead of scopes."""
    values = dict(row)
    if "scopes" not in values:
        values["scopes"] = ("read", "write", "memory") if values.pop("write") else ("read",)
    key = convert(values, Key)
    # Neither could be compared with what a request brings: each request would end in an error that says nothing.
    if key.expires and datetime.fromisoformat(key.expires).tzinfo is None:
        raise ValueError(f"the key {key.id!r} expires at a time without a time zone")
    if not key.hash.isascii():
        raise ValueError(f"the hash of the key {key.id!r} has signs that no hash has")
    return key


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


def _check_grant(grant: Grant, now: datetime) -> None:
    """Refuse rights that no key can have."""
    if not grant.tenants or not all(name.strip() and len(name) <= _LONGEST_NAME for name in grant.tenants):
        raise InvalidInput(
            "A key is bound to tenants. Name at least one with --tenant NAME, or every one with --tenant '*'."
        )
    if EVERY_TENANT in grant.tenants and len(set(grant.tenants)) > 1:
        raise InvalidInput("'*' stands for every tenant. Give it alone, or name the tenants.")
    if not grant.scopes:
        raise InvalidInput(f"A key has scopes. Name at least one of: {', '.join(Scope)}.")
    for route in grant.routes:
        if not _ROUTE.match(route):
            raise InvalidInput(f"{route!r} is no route. Give the beginning of a path, such as /api/context.")
    for name, amount in asdict(grant.limits).items():
        if amount < 0:
            raise InvalidInput(f"A limit of {amount} {name} is below 0. Give 1 or more, or 0 for no limit.")
    if grant.expires is not None and grant.expires <= now:
        raise InvalidInput(f"A key cannot expire in the past ({_moment(grant.expires)}). Give a later time.")
