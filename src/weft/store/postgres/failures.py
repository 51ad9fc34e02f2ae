"""What the server's errors mean, in words and with what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg_pool import PoolTimeout

from weft.errors import (
    InvalidInput,
    StoreAway,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreGone,
    StoreReadOnly,
    WeftError,
)
from weft.store.addresses import OWN_PARAMETERS, Address
from weft.store.records import not_unicode

_GONE: Final = ("08", "57P")
_AGAIN: Final = ("40001", "40P01")
_DAMAGED: Final = ("XX001", "XX002")


@contextmanager
def explained(address: Address) -> Iterator[None]:
    """Turn the server's errors inside the block into ours."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise explain(error, address) from error
    except UnicodeEncodeError as error:
        raise not_unicode(error) from error
    except OverflowError as error:
        raise _value(str(error), address) from error


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that the same work may succeed on another one."""
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_GONE)


def is_passing(error: BaseException) -> bool:
    """Whether the same work may succeed when it is done once more."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _AGAIN)


def explain(error: Exception, address: Address) -> WeftError:
    """Our error for one of the server's."""
    where, message = address.shown, " ".join(str(error).split())
    state = getattr(error, "sqlstate", None) or ""
    if refusal := _refused(message, where):
        return refusal
    if is_lost(error):
        kind = StoreAway if isinstance(error, PoolTimeout) else StoreGone
        return kind(
            f"The database at {where} cannot be reached ({message}). Check that the server runs and can be "
            "connected to; questions and writes go on by themselves once it is back."
        )
    if state[:2] in ("22", "23", "54"):
        return _value(message, address)
    return _trouble(state, message, address)


def _trouble(state: str, message: str, address: Address) -> StoreError:
    where = address.shown
    # A quota or a limit on the size of files comes as an internal error.
    if state == "53100" or "could not extend file" in message:
        return StoreError(
            f"The disk of the server at {where} is full; nothing was written. Make room and try again."
        )
    if state in ("55P03", *_AGAIN):
        return StoreBusy(f"{where} is kept busy by another writer ({message}). Try again when it has finished.")
    if state in ("25006", "42501"):
        return StoreReadOnly(
            f"{where} takes no writes from this user ({message}). Connect to the primary with a user that owns "
            "the store, or index into another store with --store."
        )
    if state in ("42P01", "42703", "3F000") or state in _DAMAGED:
        return StoreCorrupt(
            f"The schema {address.schema!r} at {where} cannot be read as a Weft store ({message}). Restore it "
            "from a copy, or choose another with ?schema=NAME."
        )
    return StoreError(f"The database at {where} cannot be used ({message}). `weft doctor` looks closer.")


def _value(message: str, address: Address) -> InvalidInput:
    return InvalidInput(
        f"A value does not fit the store at {address.shown} ({message}); nothing was written. Allowed are whole "
        "numbers of at most 64 bits with sign, numbers that are not NaN, and each passage of a node once: correct "
        "the source that gave it."
    )


def _refused(message: str, where: str) -> WeftError | None:
    """The answer to a connection that the server turns away; such errors come without a code."""
    if "invalid URI query parameter" in message:
        return InvalidInput(
            f"{where}: {message}. Beside what PostgreSQL takes, a URL may say {', '.join(OWN_PARAMETERS)}."
        )
    if "password authentication failed" in message or "no password supplied" in message:
        return StoreError(
            f"{where} refused the user or the password. Give the right ones in the URL, in PGPASSWORD or in "
            "~/.pgpass."
        )
    if "does not exist" in message and ("database" in message or "role" in message) and "FATAL" in message:
        return StoreError(f"{where} has no such database or user ({message}). Create it, or correct the URL.")
    if "too many" in message and ("clients" in message or "connection" in message):
        return StoreBusy(
            f"{where} takes no more connections ({message}). Lower ?connections=N, or raise its limit."
        )
    return None
