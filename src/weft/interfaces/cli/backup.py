"""`weft backup`, `weft restore`, `weft migrate` and `weft tenants`: look after a store that others rely on."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from weft import config
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.audit import AuditLog
from weft.interfaces.cli import AsJson, StoreFolder, clean_argument, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean

_FOLLOW_SECONDS = 1.0
"""Seconds between two looks at what was written: what a lost disk costs at most."""
_BACKUPS = "backups"
"""The folder beside the store's own in which `weft migrate` keeps what was there before."""


def backup(
    target: Annotated[
        str, typer.Argument(metavar="FOLDER", help="A new folder, or an archive with --incremental.")
    ],
    incremental: Annotated[
        bool, typer.Option("--incremental", help="Add to an archive only the pages that changed since its last.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Add every later write to the archive too, until stopped.")
    ] = False,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Copy the store into a new folder, while it is used, and verify the copy."""
    from weft.store.sqlite.backup import make_backup

    if follow:
        _follow_store(_local_store(store), Path(target).expanduser(), as_json)
        return
    if incremental:
        _back_up_changes(_local_store(store), Path(target).expanduser(), as_json)
        return
    with show_progress("backing up"):
        made = make_backup(_local_store(store), Path(target).expanduser(), datetime.now(UTC))
    if as_json:
        output.write_json({"folder": target, **output.as_dict(made)})
    else:
        nodes = output.count_noun(made.nodes, "node")
        output.write(f"{nodes} up to write {made.sequence}, {len(made.files)} files, verified, in {target}.")


def _back_up_changes(store: Path, archive: Path, as_json: bool) -> None:
    from weft.store.sqlite.backup_archive import add_to_archive

    leftovers: list[int] = []
    with show_progress("backing up"):
        made = add_to_archive(store, archive, datetime.now(UTC), on_leftovers=leftovers.append)
    for count in leftovers:
        output.write_note(f"{output.count_noun(count, 'folder')} of interrupted backups removed from {archive}.")
    if as_json:
        output.write_json({"folder": str(archive), **output.as_dict(made)})
        return
    kind = "everything" if made.whole else "what changed"
    output.write(
        f"{kind.capitalize()} up to write {made.sequence}, {made.bytes:,} bytes, in {archive / made.name}."
    )


def _follow_store(store: Path, archive: Path, as_json: bool) -> None:
    """Add a backup to an archive, then every write, until a signal says to stop."""
    import signal
    import threading

    from weft.store.sqlite.backup_log import Follower

    stopped = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: stopped.set())
    written = 0
    with Follower(store, archive, lambda: datetime.now(UTC)) as follower:
        if as_json:
            output.write_json({"folder": str(archive), **output.as_dict(follower.base)})
        else:
            output.write(
                f"Following {output.short_path(store)} into {archive}, from write {follower.base.sequence}."
            )
        sys.stdout.flush()
        while not stopped.wait(_FOLLOW_SECONDS):
            written += follower.poll()
        written += follower.poll()
    if not as_json:
        output.write(f"{output.count_noun(written, 'transaction')} followed.")


def restore(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder that `weft backup` made.")],
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="N", min=0, help="With an archive: leave out all writes after N."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move a store that is there aside, instead of refusing.")
    ] = False,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the store, after verifying every file of it."""
    from weft.store.sqlite.backup import MANIFEST, restore_backup
    from weft.store.sqlite.backup_archive import list_archive, restore_at

    around, now = config.read_environment(), datetime.now(UTC)
    if config.server_url(store, around):
        raise InvalidInput(_ON_SERVER)
    place = config.find_store_to_write(store, around)
    source = Path(folder).expanduser()
    is_whole = (source / MANIFEST).is_file()
    if is_whole and at is not None:
        raise InvalidInput(f"{folder} is one backup. --at chooses from an archive of `weft backup --incremental`.")
    with show_progress("restoring"):
        if at is None and not list_archive(source):
            restored, aside = restore_backup(source, place, replace=replace, now=now)
        else:
            restored, aside = restore_at(source, place, sequence=at, replace=replace, now=now)
    AuditLog(place).write("restore", backup=str(folder), sequence=restored.sequence)
    if as_json:
        output.write_json(
            {"store": str(place), "moved": str(aside) if aside else None, **output.as_dict(restored)}
        )
        return
    nodes = output.count_noun(restored.nodes, "node")
    output.write(
        f"{nodes} up to write {restored.sequence}, of {restored.made}, are in {output.short_path(place)}."
    )
    if aside:
        output.write_note(
            f"What was there is in {output.short_path(aside)}. Remove it when you no longer need it."
        )


def migrate(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """Back up a store of an older version, and bring it up to date."""
    import sqlite3
    from contextlib import closing

    from weft.store.sqlite.backup import make_backup
    from weft.store.sqlite.connection import read_version, translate_errors
    from weft.store.sqlite.schema import SCHEMA_VERSION
    from weft.store.sqlite.store import FILE_NAME

    folder, now = _local_store(store), datetime.now(UTC)
    with translate_errors(folder / FILE_NAME):
        connection = sqlite3.connect(f"{(folder / FILE_NAME).resolve().as_uri()}?mode=ro", uri=True)
        with closing(connection):
            before = read_version(connection, str(folder / FILE_NAME))
    kept: Path | None = None
    if before != SCHEMA_VERSION:
        kept = folder.with_name(f"{folder.name}.{_BACKUPS}") / f"schema-{before}-{now:%Y%m%dT%H%M%S}"
        make_backup(folder, kept, now)
    with show_progress("migrating"), config.open_weft(store, embedder="none") as weft:
        damage = weft.verify()
    if as_json:
        output.write_json(
            {"from": before, "to": SCHEMA_VERSION, "backup": str(kept) if kept else None, "problems": list(damage)}
        )
    elif kept is None:
        output.write(f"The store has schema {SCHEMA_VERSION}, the newest. Nothing is to be done.")
    else:
        output.write(
            f"Schema {before} became {SCHEMA_VERSION}. The store as it was is in {output.short_path(kept)}."
        )
    for problem in damage:
        output.write_note(problem)


_ON_SERVER = (
    "A store on a server is backed up with its server's own tools (pg_dump, pg_basebackup), or copied into a "
    "folder with `weft copy`."
)


def _local_store(store: str | None) -> Path:
    """Return the folder of an embedded store."""
    around = config.read_environment()
    if config.server_url(store, around):
        raise InvalidInput(_ON_SERVER)
    return config.find_store(store, around)


# --- weft tenants ------------------------------------------------------------------------------------------

Tenant = Annotated[str, typer.Argument(metavar="TENANT", parser=clean_argument, help="The tenant's name.")]


def make_tenants_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft tenants`."""
    return output.make_group(
        "List, export, import and delete whole tenants.",
        decorated,
        list=list_tenants,
        export=export_tenant,
        **{"import": import_tenant},
        delete=delete_tenant,
    )


def list_tenants(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the tenants and how many nodes each holds."""
    with config.open_weft(store, embedder="none") as weft, show_progress("counting"):
        held = weft.status().by_tenant
    if as_json:
        output.write_json({"tenants": dict(sorted(held.items()))})
    else:
        output.write_table(("tenant", "nodes"), [(name, str(count)) for name, count in sorted(held.items())])


def export_tenant(
    tenant: Tenant,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file; - is stdout.")] = "-",
    store: StoreFolder = None,
) -> None:
    """Write a tenant as lines of JSON: a head, its nodes, its edges, and an end with the counts."""
    from weft.interfaces import tenants
    from weft.memory.exchange import ExportKind, note_export

    with config.open_weft(store, embedder="none") as weft:
        _check_known(weft.store.tenants(), tenant)
        lines = tenants.export_tenant(weft, tenant)
        if file == "-":
            for line in lines:
                sys.stdout.buffer.write(line)
            return
        # "x" refuses a file that is there: an export never replaces another.
        try:
            with Path(file).open("xb") as out, show_progress("exporting"):
                out.writelines(lines)
        except FileExistsError:
            raise InvalidInput(f"{file} is there already. Name a new file.") from None
        note_export(weft.indexing_context(), Path(file), ExportKind.TENANT, tenant)
    output.write(f"{tenant} is in {file}.")


def import_tenant(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `weft tenants export` wrote; - is stdin.")],
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Another tenant than the one in the file.")
    ] = None,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Store an export; nodes of the same key are replaced."""
    from weft.interfaces import tenants

    path = Path(file).expanduser()
    if file != "-" and not path.is_file():
        raise InvalidInput(f"There is no file {file}. Give one that `weft tenants export` wrote.")
    lines = sys.stdin.buffer if file == "-" else path.open("rb")
    with lines, show_progress("importing"), config.open_weft(store, create=True) as weft:
        done = tenants.import_tenant(weft, lines, clean(tenant) if tenant else None)
        AuditLog(weft.folder).write("import", tenant=tenant, nodes=done.nodes)
    if as_json:
        output.write_json(output.as_dict(done))
    else:
        output.write(
            f"{output.count_noun(done.nodes, 'node')} and {output.count_noun(done.edges, 'edge')} imported."
        )


def delete_tenant(
    tenant: Tenant,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete. Without it, only print what would be deleted.")
    ] = False,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Delete everything of a tenant, and print the proof: how many nodes, a digest of their keys, what is left."""
    from weft.interfaces import tenants

    with config.open_weft(store, embedder="none") as weft:
        _check_known(weft.store.tenants(), tenant)
        if not yes:
            count = output.count_noun(weft.status([tenant]).nodes, "node")
            raise InvalidInput(f"{tenant} holds {count}. Give --yes to delete them; `weft backup` keeps a copy.")
        with show_progress("deleting"):
            proof = tenants.delete_tenant(weft, tenant)
        AuditLog(weft.folder).write("tenant_deleted", **output.as_dict(proof))
    if as_json:
        output.write_json(output.as_dict(proof))
        return
    output.write(
        f"{output.count_noun(proof.nodes, 'node')} of {proof.tenant} deleted, {proof.left} left. "
        f"SHA-256 of their keys: {proof.digest}."
    )


def _check_known(known: tuple[str, ...], tenant: str) -> None:
    if tenant not in known:
        raise UnknownName("tenant", tenant, known, "`weft tenants list` prints them.")
