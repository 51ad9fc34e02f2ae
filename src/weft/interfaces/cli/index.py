"""`weft index`, `weft remove`, `weft copy` and `weft reembed`: fill a store, copy it, and change its vectors.

With `--watch`, indexing follows the changes below the folders as they happen.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.interfaces.cli import PARTLY_DONE, AsJson, EmbedderSpec, OwnTenant, StoreFolder, is_quiet, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT
from weft.runtime.heaps import share_heaps

if TYPE_CHECKING:
    from watchfiles import Change

    from weft.api import Weft
    from weft.indexing.ingest import Report


_WATCH_TIMEOUT_MS: Final = 200
"""How long one wait for changes lasts. Ctrl-C is noticed only between waits, so longer ones make it sluggish."""
_DEBOUNCE_MS: Final = 400
"""Changes closer together than this are one set: editors and git write several files at once."""
DEPENDENCIES: Final = "dependencies"
"""The tenant of installed packages: a question about the project is not answered from them unless asked to."""
_TANA: Final = "tana://"
"""A source that is a running program and has no folder to watch."""
_GIT_HEAD_LOG: Final = (".git", "logs", "HEAD")
"""The file that git writes whenever a commit is made or another one is checked out."""


# --- weft index --------------------------------------------------------------------------------------------


def index(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Folders and files to read, or tana://.")],
    *,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="Name of the source. Default: the folder's or file's name."),
    ] = None,
    reading: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="KIND",
            help="Read the files as a story or as notes; auto decides by their look. The choice is remembered.",
        ),
    ] = "",
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    dependencies: Annotated[
        bool,
        typer.Option(
            "--dependencies",
            help="Also read the installed packages that the project declares, for the tenant `dependencies`.",
        ),
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running and follow changes until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read folders and files into the store. Only what changed since last time is read again."""
    from weft.api.writer import open_sources_at

    token = config.read_environment().tana_token
    # Paths that cannot be read are refused before a store is made for them.
    open_sources_at(paths, source, tenant, token, reading=reading)

    def run(weft: "Weft", *, is_repeated: bool = False) -> "Report":
        with show_progress("scanning") as progress:
            report = weft.index(
                *paths, source=source, tenant=tenant, reading=reading, tana_token=token, progress=progress
            )
        if is_repeated and not (report.units_changed or report.removed):
            # Output redirected into a watched folder would be a change again, and so on for ever.
            return report
        if as_json:
            output.write_json({"store": weft.location, **output.as_dict(report)}, indented=not watch)
        else:
            write_report(weft, report, tenant)
        return report

    share_heaps()
    with config.open_weft(store, embedder=embedder, create=True) as weft:
        weft.indexer.confirm_move = _confirm_move
        if dependencies:
            _index_dependencies(weft, [Path(path) for path in paths if path != _TANA], as_json)
        report = _index_and_follow(weft, paths, run) if watch else run(weft)
        if embed_in_background(weft) is not None and not as_json and not is_quiet():
            output.write("Better vectors are made in the background; `weft status` shows how far they are.")
    if report.problems:
        raise typer.Exit(PARTLY_DONE)


def embed_in_background(weft: "Weft") -> "subprocess.Popen[bytes] | None":
    """Start a process that makes the better vectors that passages wait for, and return it; None if none waits.

    If one is running already, the new one ends at once.
    """
    from weft.interfaces.weft_process import start_weft
    from weft.store import SqliteStore
    from weft.store.sqlite.quality_vectors import count_without_quality

    if not isinstance(weft.store, SqliteStore) or not weft.store.read(count_without_quality):
        return None
    # Questions and other work come first.
    gently = ("nice", "-n", "10") if shutil.which("nice") else ()
    return start_weft("reembed", "--embedder", "quality", "--store", weft.location, prefix=gently)


def _index_dependencies(weft: "Weft", roots: Sequence[Path], as_json: bool) -> None:
    """Read the declared packages of projects, each as a source of its own, apart from the projects' knowledge."""
    from weft.sources.dependencies import find_dependencies

    found = [package for root in roots for package in find_dependencies(root, config.active_environment())]
    for package in found:
        for path in package.paths:
            name = package.name if len(package.paths) == 1 else f"{package.name}.{path.stem}"
            with show_progress(f"reading {name}") as progress:
                weft.index(path, source=name, tenant=DEPENDENCIES, progress=progress)
    if not as_json:
        names = ", ".join(f"{package.name} {package.version}" for package in found) or "none is installed"
        output.write(f"Dependencies: {names}. Ask them with --tenant {DEPENDENCIES}, or with both tenants.")


def _confirm_move(source: str, before: str, now: Path) -> bool:
    """Ask whether a folder takes the place of one that was read before; without anybody to ask, it does."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        return typer.confirm(
            f"{source!r} was read from {before}. Is {now} the same, moved or copied?", default=True, err=True
        )
    output.write_note(f"{now} takes the place of {before} as {source!r}; --source NAME would keep both apart.")
    return True


def write_report(weft: "Weft", report: "Report", tenant: str) -> None:
    """Print what an indexing read, the chapters of its books, what is in the store twice now, and its problems."""
    if not is_quiet():
        _write_counts(report, weft.location)
        if report.entities:
            _write_chapters(weft, report.sources, tenant)
        _write_overlaps(weft, report.sources, tenant)
    if report.problems:
        found = output.count_noun(len(report.problems), "problem")
        output.write_note(f"{found}; the rest was indexed:", is_problem=True)
        output.write_problem_notes([(problem.where, problem.reason) for problem in report.problems])


def _write_counts(report: "Report", location: str) -> None:
    sources = ", ".join(report.sources)
    if not report.units and not report.removed:
        output.write_note(
            f"Nothing that Weft reads was found in {sources}: it reads code, notes, documents, records, chats and "
            "git histories, and passes over what .gitignore and .weftignore name."
        )
    else:
        # A large file of records or an export counts once for each of its parts.
        units = output.count_noun(report.units, "file", "files or parts of files")
        output.write(f"Indexed {sources} into {output.short_path(location)}: {units}, {_changed(report)}.")
        counts = {"unchanged": report.unchanged, "removed": report.removed}
        rest = [f"{count:,} {what}" for what, count in counts.items() if count]
        links = f"{output.count_noun(report.links, 'link')} drawn"
        output.write(", ".join([f"{output.count_noun(report.written, 'node')} written", *rest, links]) + ".")
    if report.kinds:
        kinds = sorted(report.kinds.items(), key=lambda item: (-item[1], item[0]))
        output.write(f"Read: {', '.join(output.count_noun(count, kind, _plural(kind)) for kind, count in kinds)}.")
    if report.passed_over:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.passed_over.items())
        output.write(f"Passed over or read in part: {reasons}.")
        if report.not_read:
            output.write("`weft index --json` lists them by name, `weft show PATH` says why one was not read.")
    if report.redacted:
        output.write(f"{output.count_noun(report.redacted, 'secret')} redacted: pages print [redacted: …] there.")
    if report.entities:
        output.write(f"{output.count_noun(report.entities, 'entity', 'entities')} found in the story.")


def _changed(report: "Report") -> str:
    """Return how many of the files that were read are new or changed, in words."""
    if not report.units_changed:
        return "unchanged" if report.units == 1 else "all unchanged"
    if report.units_changed < report.units:
        return f"{report.units_changed:,} new or changed"
    return "new or changed" if report.units == 1 else "all new or changed"


def _write_chapters(weft: "Weft", sources: "Sequence[str]", tenant: str) -> None:
    """Say which chapters were understood, and where they are in doubt."""
    from weft.indexing.chapters import read_books

    for book in read_books(weft.store, (tenant,)):
        if book.source in sources:
            output.write(f"{book.name}: {book.summary}.")
            if book.doubt and not book.is_accepted:
                output.write_note(
                    f"The chapters are in doubt: {book.doubt}. --as-of is refused until "
                    f"`weft story chapters --accept {book.source}`; `weft story chapters` lists them."
                )


def _write_overlaps(weft: "Weft", sources: "Sequence[str]", tenant: str) -> None:
    """Say which sources hold the same files, as when a file is indexed after its folder."""
    from weft.indexing.working_tree import find_overlaps

    for inner, outer in find_overlaps(weft.folder, tenant, sources):
        output.write_note(
            f"{inner!r} lies in {outer!r}, which holds its files too: they are in the store twice. "
            f"`weft remove {inner}` or `weft remove {outer}` takes one of the two out."
        )


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith(("s", "x")) else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


# --- following changes -------------------------------------------------------------------------------------


def _index_and_follow(weft: "Weft", paths: list[str], run: "Callable[..., Report]") -> "Report":
    """Index now and after every change until interrupted, and return the last report."""
    changes = _watch_changes([Path(path) for path in paths if path != _TANA], weft.folder)
    # The first item says that watching has begun: nothing that changes during the first indexing is missed.
    next(changes, None)
    report = run(weft)
    output.write_note("Watching for changes; stop with Ctrl-C.")
    # An interrupt is how watching ends. The store is whole then, and the next indexing reads what is left.
    with suppress(KeyboardInterrupt):
        for _ in changes:
            report = run(weft, is_repeated=True)
    return report


def _watch_changes(paths: Sequence[Path], store: Path) -> Iterator[set[str]]:
    """Yield an empty set as soon as watching has begun, then every set of paths that changed together.

    Changes in the store's own folder, and in files that no source reads, are left out.
    """
    # Loaded here, because only `--watch` needs it.
    from watchfiles import watch

    rounds = watch(
        *paths,
        watch_filter=_ChangeFilter([path.resolve() for path in paths], store.resolve()),
        debounce=_DEBOUNCE_MS,
        rust_timeout=_WATCH_TIMEOUT_MS,
        yield_on_timeout=True,
    )
    has_begun = False
    for changed in rounds:
        if changed or not has_begun:
            has_begun = True
            yield {path for _, path in changed}


class _ChangeFilter:
    """The filter for watchfiles: whether a changed path can change what is indexed."""

    def __init__(self, roots: Sequence[Path], store: Path) -> None:
        self._roots, self._store = roots, store

    def __call__(self, change: "Change", path: str) -> bool:
        changed = PurePath(path)
        # Indexing writes there itself, and would trigger itself for ever.
        if changed.is_relative_to(self._store):
            return False
        return any(
            _is_read(changed.relative_to(root).parts) for root in self._roots if changed.is_relative_to(root)
        )


def _is_read(parts: tuple[str, ...]) -> bool:
    """Return whether a path, given by its parts below a watched folder, may be read by a source."""
    # Loaded here, because only `--watch` needs it.
    from weft.sources.walk_files import IGNORE_FILES, SKIPPED_FOLDERS, is_hidden

    # Checked first, because the parts begin with a dot.
    if parts == _GIT_HEAD_LOG or (parts and parts[-1] in IGNORE_FILES):
        return True

    last = len(parts) - 1
    return not any(
        part in SKIPPED_FOLDERS or is_hidden(part, is_folder=number < last) for number, part in enumerate(parts)
    )


# --- weft remove, weft copy, weft reembed ------------------------------------------------------------------


def remove(
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source, as `weft status` lists it.")],
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Remove a source and everything it brought into the store."""
    with config.open_weft(store, embedder="none") as weft, show_progress("removing") as progress:
        report = weft.remove_source(clean(name), tenant=tenant, progress=progress)
        location = weft.location
    if as_json:
        output.write_json({"store": str(location), **output.as_dict(report)})
    else:
        removed = output.count_noun(report.removed, "node")
        output.write(f"Removed {name} from {output.short_path(location)}: {removed}.")


def copy(
    start: Annotated[str, typer.Option("--from", metavar="STORE", help="The folder or URL of the store to copy.")],
    end: Annotated[
        str, typer.Option("--to", metavar="STORE", help="The folder or URL of an empty store, or of one to make.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a store into another folder or onto a server. If interrupted, the same command continues."""
    with (
        # --index is meant for the new store; the old one is only read row by row.
        config.open_weft(start, embedder="none", around=config.environment_without_index()) as source,
        config.open_weft(end, embedder="none", create=True) as target,
        show_progress("copying") as progress,
    ):
        copied = source.copy_to(target, progress)
        source_location, target_location = source.location, target.location
    if as_json:
        output.write_json({"from": source_location, "to": target_location, **output.as_dict(copied)})
        return
    output.write(
        f"Copied {output.short_path(source_location)} to {output.short_path(target_location)}: "
        f"{output.count_noun(copied.nodes, 'node')} and {output.count_noun(copied.edges, 'link')}, the same in "
        "both "
        f"({copied.fingerprint})."
    )
    if copied.resumed_after:
        output.write_note("This continued an earlier copy.")


def reembed(store: StoreFolder = None, embedder: EmbedderSpec = None, as_json: AsJson = False) -> None:
    """Change the embedding model of a store. If interrupted, the same command continues."""
    with config.open_weft(store, embedder=embedder) as weft, show_progress("embedding") as progress:
        # Named, and not only the default: static vectors alone are wanted.
        is_dropped = embedder == config.DEFAULT_EMBEDDER and weft.writer.drop_quality()
        embedded = weft.reembed(progress)
        status = weft.status()
    if as_json:
        output.write_json({"store": status.location, "embedder": status.embedder, "embedded": embedded})
    elif is_dropped:
        output.write(
            f"The vectors of the embedder quality are removed; those of {status.embedder} are used alone."
        )
    elif embedded:
        beside = " and by quality" if status.quality_vectors is not None else ""
        output.write(f"{output.count_noun(embedded, 'passage')} embedded anew by {status.embedder}{beside}.")
    elif status.quality_vectors is not None and status.quality_vectors < status.passages:
        made = f"{status.quality_vectors:,} of {output.count_noun(status.passages, 'passage')}"
        output.write(f"Another process is making the better vectors: {made} have theirs.")
    else:
        output.write(f"Nothing to do: all vectors are made by {status.embedder} already.")
