"""`weft jobs`: work that waits in a store on a server."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft.faces import wiring
from weft.faces.cli import output
from weft.faces.cli.options import AsJson, OwnTenant, StoreFolder
from weft.faces.cli.progress import watched
from weft.faces.jobs import add_job, queue_of, run_job
from weft.faces.values import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.store.postgres.jobs import Job

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
    with wiring.open_weft(store, embedder="none") as weft:
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
    with wiring.open_weft(store, embedder="none") as weft:
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
    key = wiring.surroundings().api_key or None
    done = []
    with wiring.open_weft(store, embedder="none") as weft, watched("working"):
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
    with wiring.open_weft(store, embedder="none") as weft:
        job = queue_of(weft).retry(number)
    if as_json:
        output.write_json(output.shape(job))
    else:
        output.write(f"Job {job.id} ({job.kind}) waits again.")
