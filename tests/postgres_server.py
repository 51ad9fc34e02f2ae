"""A real PostgreSQL server for tests, from a wheel: started when first needed and stopped with the tests."""

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

_PRELOADED = "pg_textsearch"
"""What the server of the wheel is started with."""


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """The URL of a server whose files are in the folder; a crash of the machine may lose them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver

        server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as link:
            for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
                link.execute(f"ALTER SYSTEM SET {setting}")
            link.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()


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
    options = {"pgdata": folder, "user": server.system_user}
    folder.mkdir(mode=0o700)
    if server.system_user is not None:
        shutil.chown(folder, server.system_user)
    source = str(server.get_postmaster_info().socket_dir)
    pgserver.pg_basebackup(["-h", source, "-U", "postgres", "-R", "-c", "fast"], **options)
    for lock in folder.glob(".s.PGSQL.*.lock"):
        lock.unlink()
    started = ["-w", "-o", f"-k {folder} -h ''", "-o", f"-c shared_preload_libraries={_PRELOADED}"]
    pgserver.pg_ctl([*started, "-l", str(folder / "log"), "start"], **options)
    try:
        yield f"postgresql://postgres:@/postgres?host={folder}"
    finally:
        pgserver.pg_ctl(["-w", "-m", "immediate", "stop"], **options)
