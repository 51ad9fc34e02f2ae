"""`weft export` and `weft import`: memories and experiences as lines that git can carry between machines."""

from pathlib import Path
from typing import Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import AsJson, EmbedderSpec, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.model import DEFAULT_TENANT

_ATTRIBUTES: Final = ".gitattributes"

ExportFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file of lines, such as memories.jsonl.")]


def export_memories(
    file: ExportFile, tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Add memories and experiences to a file of sorted JSON lines."""
    from weft.memory.exchange import (
        ExportKind,
        export_records,
        merge_records,
        note_export,
        read_lines,
        write_export,
    )

    # What another machine added stays: an export never takes a line away.
    there = read_lines(_read(file)) if file.exists() else []
    with config.open_weft(store, embedder="none") as weft, show_progress("exporting"):
        indexing = weft.indexing_context()
        records = merge_records(export_records(indexing, tenant=tenant).values(), there)
        # Noted first: a file that is written and not known would keep what is forgotten later.
        note_export(indexing, file, ExportKind.MEMORIES, tenant)
    write_export(file, records.values())
    forgotten = sum(record.forgotten for record in records.values())
    if as_json:
        output.write_json({"file": str(file), "records": len(records), "forgotten": forgotten})
        return
    output.write(f"Wrote {output.count_noun(len(records), 'record')} to {file}, {forgotten:,} of them forgotten.")
    if not _merges_by_union(file):
        output.write_note(
            f"So that git merges it without conflicts, add to {_ATTRIBUTES}: {file.name} merge=union"
        )


def import_memories(
    file: ExportFile,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Read memories and experiences from a file. The later change holds; what was forgotten stays so."""
    from weft.memory.exchange import import_records, read_lines

    # All lines are read before the first is stored.
    records = read_lines(_read(file))
    with config.open_weft(store, embedder=embedder, create=True) as weft, show_progress("importing"):
        result = import_records(weft.indexing_context(), records, tenant=tenant, dry_run=dry_run)
    if as_json:
        output.write_json(output.as_dict(result))
        return
    verb = "Would write" if dry_run else "Wrote"
    output.write(
        f"{verb} {output.count_noun(len(result.written), 'record')}, forgot {len(result.forgotten):,}, "
        f"left {result.unchanged:,} as they were."
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}). Name a file that `weft export` wrote.") from error


def _merges_by_union(file: Path) -> bool:
    """Return whether the folder of a file tells git to merge it by keeping the lines of both sides."""
    attributes = file.parent / _ATTRIBUTES
    return attributes.is_file() and "merge=union" in attributes.read_text(encoding="utf-8", errors="replace")
