"""Work from the queue of a store, done: linking, embedding anew, and making search indexes anew."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput, UnknownName, WeftError
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, OwnTenant, StoreFolder
from weft.interfaces.cli.progress import watched
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.store.postgres.jobs import Job, Jobs, Taken


KINDS: Final = ("embed", "link", "search")


def queue_of(weft: "Weft") -> "Jobs":
    """The queue of a store on a server."""
    from weft.store.sqlite.store import SqliteStore

    if isinstance(weft.store, SqliteStore):
        raise InvalidInput(
            f"The embedded store in {weft.location} has no queue: its work is done at once. Use `weft index` and "
            "`weft link`, or name a PostgreSQL store with --store."
        )
    from weft.store.postgres.jobs import Jobs

    return Jobs(weft.store)


def add_job(weft: "Weft", kind: str, tenant: str, detail: str) -> "Job":
    """Put work into the queue."""
    if kind not in KINDS:
        raise UnknownName("kind of job", kind, KINDS)
    if kind == "embed" and not detail:
        raise InvalidInput("An `embed` job needs the embedder to embed with. Name it with --embedder SPEC.")
    return queue_of(weft).add(kind, tenant, detail)


def run_job(weft: "Weft", api_key: str | None = None) -> "Job | None":
    """Do the next job that is due, and return how it stands then; None when nothing is to be done."""
    with queue_of(weft).taken() as taken:
        if taken is None:
            return None
        try:
            _do(weft, taken, api_key)
        except WeftError as error:
            return taken.fail(error)
        return taken.finish()


def _do(weft: "Weft", taken: "Taken", api_key: str | None) -> None:
    job = taken.job
    if job.kind == "link":
        from weft.indexing.link import relate_all, wishes_of

        wishes = wishes_of(weft.store, job.tenant)
        workshop = weft.workshop()
        relate_all(workshop.store, workshop.index, job.tenant, wishes, lambda done: taken.tell(done, None))
    elif job.kind == "search":
        weft.repair()
    else:
        _embed(weft, taken, api_key)


def _embed(weft: "Weft", taken: "Taken", api_key: str | None) -> None:
    from weft.embed import open_embedder
    from weft.indexing.reembed import is_embedded, reembed
    from weft.store.sqlite.store import SqliteStore

    embed = open_embedder(taken.job.detail, api_key=api_key)
    if embed is None or isinstance(weft.store, SqliteStore):
        raise InvalidInput(f"{taken.job.detail!r} embeds nothing. Name an embedder, such as static.")
    if not is_embedded(weft.store, embed):
        reembed(weft.store, embed, lambda done, last: taken.tell(done, None, last))


_PAUSE: Final = 2.0


def make_app(decorated: bool) -> typer.Typer:
    """The commands about jobs."""
    app = typer.Typer(
        help="Queue and do work in a store on a server.",
        no_args_is_help=True,
        rich_markup_mode="rich" if decorated else None,
    )
    app.command("list")(list_jobs)
    app.command("add")(add)
    app.command("run")(run)
    app.command("retry")(retry)
    return app


def list_jobs(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the jobs of the store with their state, the latest first."""
    with config.open_weft(store, embedder="none") as weft:
        jobs = queue_of(weft).listed()
    if as_json:
        output.write_json([output.shape(job) for job in jobs])
        return
    if not jobs:
        output.note("No jobs.")
        return
    rows = [(str(job.id), job.kind, job.tenant, job.state, f"{job.done:,}", str(job.attempts)) for job in jobs]
    output.write_table(("job", "kind", "tenant", "state", "done", "tries"), rows)
    for job in jobs:
        if job.error:
            output.write(_told(job))


def add(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="embed, link or search.")],
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="SPEC", help="The embedder to move to, for embed.")
    ] = "",
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put a job into the queue: embed everything anew, draw links anew, or make the search indexes anew."""
    with config.open_weft(store, embedder="none") as weft:
        job = add_job(weft, clean(kind), clean(tenant), embedder)
    if as_json:
        output.write_json(output.shape(job))
    else:
        output.write(f"Job {job.id} ({job.kind}) waits; `weft jobs run` does it.")


def run(
    wait: Annotated[bool, typer.Option("--wait", help="Go on waiting for jobs until interrupted.")] = False,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Do the jobs that are due, one after another; several workers may run at once."""
    key = config.surroundings().api_key or None
    done = []
    with config.open_weft(store, embedder="none") as weft, watched("working"):
        while True:
            job = run_job(weft, key)
            if job is not None:
                done.append(job.id)
                if not as_json:
                    output.note(_told(job))
            elif wait:
                time.sleep(_PAUSE)
            else:
                break
    if as_json:
        output.write_json({"jobs": done})
    else:
        output.write(f"{output.counted(len(done), 'job')} worked on; `weft jobs list` shows them.")


def _told(job: "Job") -> str:
    """How a job stands, with the whole of its last error."""
    return f"Job {job.id} ({job.kind}) is {job.state}{f': {job.error}' if job.error else '.'}"


def retry(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of the job.")],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Try a failed job again."""
    with config.open_weft(store, embedder="none") as weft:
        job = queue_of(weft).retry(number)
    if as_json:
        output.write_json(output.shape(job))
    else:
        output.write(f"Job {job.id} ({job.kind}) waits again.")
