"""Changes below some folders, as they happen."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.interfaces.cli import PARTLY_DONE, output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, OwnTenant, StoreFolder
from weft.interfaces.cli.progress import watched
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from watchfiles import Change

    from weft.api import Weft
    from weft.indexing.ingest import Report


_TURN: Final = 200
"""Milliseconds of one turn of watching; between turns a stop is noticed."""
_QUIET: Final = 400
"""Changes less than so many milliseconds apart are one."""

_COMMITTED: Final = (".git", "logs", "HEAD")
"""The file that git writes to whenever another commit is checked out or made."""
_UNREAD: Final = frozenset({"node_modules", "__pycache__", "venv"})


def changes(paths: Sequence[Path], store: Path) -> Iterator[set[str]]:
    """At once an empty set, when watching has begun, then every set of paths that changed together.

    What the store itself writes, and what no source reads, does not count. It goes on until it is interrupted.
    """
    # Only those who watch load a library for it.
    from watchfiles import watch

    watching = watch(
        *paths,
        watch_filter=_Counting([path.resolve() for path in paths], store.resolve()),
        debounce=_QUIET,
        rust_timeout=_TURN,
        yield_on_timeout=True,
    )
    begun = False
    for changed in watching:
        if changed or not begun:
            begun = True
            yield {path for _, path in changed}


class _Counting:
    """Whether a change counts."""

    def __init__(self, roots: Sequence[Path], store: Path) -> None:
        self._roots, self._store = roots, store

    def __call__(self, change: "Change", path: str) -> bool:
        changed = PurePath(path)
        if changed.is_relative_to(self._store):
            return False
        return any(
            _is_read(changed.relative_to(root).parts) for root in self._roots if changed.is_relative_to(root)
        )


def _is_read(parts: tuple[str, ...]) -> bool:
    if parts == _COMMITTED or parts[-1:] in ((".gitignore",), (".weftignore",)):
        return True
    return not any(part.startswith(".") or part in _UNREAD for part in parts)


_SHOWN_PROBLEMS: Final = 20


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
            help="Read the files as a story or as notes; auto: as they look. It is remembered.",
        ),
    ] = "",
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on and follow changes until stopped.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read folders and files into the store; only what changed since last time is touched."""
    token = config.surroundings().tana_token
    _check(paths, source, clean(tenant), token, reading)

    def run(weft: "Weft", *, again: bool = False) -> "Report":
        with watched("looking") as progress:
            report = weft.index(
                *paths, source=source, tenant=clean(tenant), reading=reading, tana_token=token, progress=progress
            )
        if again and not (report.units_changed or report.removed):
            # Told, it would be one more change to whoever writes this down in a watched folder.
            return report
        if as_json:
            output.write_json({"store": weft.location, **output.shape(report)}, indented=not watch)
        else:
            _tell(report, weft.location)
        return report

    with config.open_weft(store, embedder=embedder, create=True) as weft:
        report = _follow(weft, paths, run) if watch else run(weft)
    if report.problems:
        raise typer.Exit(PARTLY_DONE)


def _follow(weft: "Weft", paths: list[str], run: "Callable[..., Report]") -> "Report":
    """Index now and after every change until somebody stops it; what changes nothing is not told."""

    told = changes([Path(each) for each in paths if each != "tana://"], weft.folder)
    # The first turn only begins to watch, so that nothing that changes while indexing is missed.
    next(told, None)
    report = run(weft)
    output.note("Watching for changes; stop with Ctrl-C.")
    # Being interrupted is how watching ends; what was being indexed then is whole, and goes on next time.
    with suppress(KeyboardInterrupt):
        for _ in told:
            report = run(weft, again=True)
    return report


def _check(paths: list[str], source: str | None, tenant: str, tana_token: str, reading: str) -> None:
    """Refuse paths that cannot be read before a store is made for them."""
    from weft.writer import sources_at

    sources_at(paths, source, tenant, tana_token, reading=reading)


def _tell(report: "Report", location: str) -> None:
    changed = "all unchanged" if not report.units_changed else f"{report.units_changed:,} new or changed"
    output.write(
        f"Indexed {', '.join(report.sources)} into {output.shown(location)}: "
        f"{output.counted(report.units, 'file or block', 'files or blocks')}, {changed}."
    )
    output.write(
        f"{output.counted(report.written, 'node')} written, {report.unchanged:,} unchanged, "
        f"{report.removed:,} removed, {output.counted(report.links, 'mention')} linked."
    )
    if report.kinds:
        found = sorted(report.kinds.items(), key=lambda each: (-each[1], each[0]))
        output.write(f"Read: {', '.join(output.counted(count, kind, _plural(kind)) for kind, count in found)}.")
    if report.passed_over:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in report.passed_over.items())
        output.write(f"Passed over or read in part: {listed}.")
    if report.entities:
        output.write(f"{output.counted(report.entities, 'entity', 'entities')} found in the story.")
    if report.problems:
        _tell_problems(report)


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith(("s", "x")) else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _tell_problems(report: "Report") -> None:
    output.note(f"{output.counted(len(report.problems), 'problem')}; the rest was indexed:")
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        output.note(f"  {problem.where}: {problem.reason}")
    more = len(report.problems) - _SHOWN_PROBLEMS
    if more > 0:
        output.note(f"  and {more:,} more (--json lists all)")


def remove(
    name: Annotated[str, typer.Argument(metavar="SOURCE", help="Name of the source, as `weft status` lists it.")],
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Remove everything that a source brought into the store."""
    with config.open_weft(store, embedder="none") as weft, watched("removing") as progress:
        report = weft.remove_source(clean(name), tenant=clean(tenant), progress=progress)
        location = weft.location
    if as_json:
        output.write_json({"store": str(location), **output.shape(report)})
    else:
        output.write(f"Removed {name} from {output.shown(location)}: {output.counted(report.removed, 'node')}.")


def copy(
    start: Annotated[str, typer.Option("--from", metavar="STORE", help="The folder or URL of the store to copy.")],
    end: Annotated[
        str, typer.Option("--to", metavar="STORE", help="Where to copy it: an empty store or none yet.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a store into another folder or onto a server; interrupted, the same command goes on."""
    with (
        config.open_weft(start, embedder="none", around=config.without_index()) as source,
        config.open_weft(end, embedder="none", create=True) as target,
        watched("copying") as progress,
    ):
        done = source.copy_to(target, progress)
        places = source.location, target.location
    if as_json:
        output.write_json({"from": places[0], "to": places[1], **output.shape(done)})
        return
    output.write(
        f"Copied {output.shown(places[0])} to {output.shown(places[1])}: {output.counted(done.nodes, 'node')} and "
        f"{output.counted(done.edges, 'link')}, the same in both ({done.fingerprint})."
    )
    if done.resumed_after:
        output.note("An earlier copy was gone on with.")
