"""`weft jobs`: queue work in a store on a server, and do it: embed, link or rebuild search indexes."""

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput, UnknownName, WeftError
from weft.interfaces.cli import AsJson, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.api import Weft
    from weft.store.postgres.jobs import Job, JobQueue, RunningJob


KINDS: Final = ("embed", "link", "search")
_POLL_SECONDS: Final = 2.0
"""How long `weft jobs run --wait` sleeps while the queue is empty: each look is one query to the server."""


def make_jobs_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft jobs`."""
    return output.make_group(
        "Queue work in a store on a server, and do it.",
        decorated,
        list=list_jobs,
        add=add,
        run=run,
        retry=retry,
    )


# --- the commands ------------------------------------------------------------------------------------------


def list_jobs(store: StoreFolder = None, as_json: AsJson = False) -> None:
    """List the jobs with their state, latest first."""
    with config.open_weft(store, embedder="none") as weft:
        jobs = open_queue(weft).list_jobs()
    if as_json:
        output.write_json([output.as_dict(job) for job in jobs])
        return
    if not jobs:
        output.write_note("No jobs.")
        return
    rows = [(str(job.id), job.kind, job.tenant, job.state, f"{job.done:,}", str(job.attempts)) for job in jobs]
    output.write_table(("job", "kind", "tenant", "state", "done", "tries"), rows)
    # Errors are too long for a cell of the table.
    for job in jobs:
        if job.error:
            output.write(_describe(job))


def add(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="embed, link or search.")],
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="SPEC", help="The embedder to move to, for embed.")
    ] = "",
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Queue a job: embed everything again, link again, or rebuild the search indexes."""
    with config.open_weft(store, embedder="none") as weft:
        job = add_job(weft, clean(kind), tenant, embedder)
    if as_json:
        output.write_json(output.as_dict(job))
    else:
        output.write(f"Job {job.id} ({job.kind}) is queued; `weft jobs run` does it.")


def run(
    wait: Annotated[bool, typer.Option("--wait", help="Keep waiting for jobs until interrupted.")] = False,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Do the jobs that are due, one after another. Several workers may run at once."""
    api_key = config.read_environment().api_key or None
    finished = []
    with config.open_weft(store, embedder="none") as weft, show_progress("working"):
        while True:
            job = run_job(weft, api_key)
            if job is not None:
                finished.append(job.id)
                if not as_json:
                    output.write_note(_describe(job))
            # Jobs that are due are all done before the first pause.
            elif wait:
                time.sleep(_POLL_SECONDS)
            else:
                break
    if as_json:
        output.write_json({"jobs": finished})
    else:
        output.write(f"{output.count_noun(len(finished), 'job')} worked on; `weft jobs list` shows them.")


def retry(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of the job.")],
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Queue a failed job again."""
    with config.open_weft(store, embedder="none") as weft:
        job = open_queue(weft).retry(number)
    if as_json:
        output.write_json(output.as_dict(job))
    else:
        output.write(f"Job {job.id} ({job.kind}) is queued again.")


def _describe(job: "Job") -> str:
    """Return a line with the state of a job and its whole last error."""
    return f"Job {job.id} ({job.kind}) is {job.state}{f': {job.error}' if job.error else '.'}"


# --- the queue ---------------------------------------------------------------------------------------------


def open_queue(weft: "Weft") -> "JobQueue":
    """Return the queue of a store on a server; raise InvalidInput for an embedded store, which has none."""
    from weft.store.sqlite.store import SqliteStore

    # An embedded store has one writer at a time, so there is nobody to leave work for.
    if isinstance(weft.store, SqliteStore):
        raise InvalidInput(
            f"The embedded store in {weft.location} has no queue: its work is done at once. Use `weft index` and "
            "`weft link`, or name a PostgreSQL store with --store."
        )
    from weft.store.postgres.jobs import JobQueue
    from weft.store.postgres.store import PostgresStore

    if not isinstance(weft.store, PostgresStore):
        raise InvalidInput(
            f"Every shard of a cluster has a queue of its own. Name one shard with --store, of {weft.location}."
        )
    return JobQueue(weft.store)


def add_job(weft: "Weft", kind: str, tenant: str, embedder: str) -> "Job":
    """Queue a job and return it; `embedder` is needed by the kind `embed` only."""
    if kind not in KINDS:
        raise UnknownName("kind of job", kind, KINDS)
    if kind == "embed" and not embedder:
        raise InvalidInput("An `embed` job needs the embedder to embed with. Name it with --embedder SPEC.")
    return open_queue(weft).add(kind, tenant, embedder)


def run_job(weft: "Weft", api_key: str | None = None) -> "Job | None":
    """Do the next job that is due and return it in its new state; return None if none is due."""
    with open_queue(weft).take_next() as taken:
        if taken is None:
            return None
        try:
            _do(weft, taken, api_key)
        except WeftError as error:
            # Only our own errors count as a failed try; a crash leaves the job to the next worker.
            return taken.fail(error)
        return taken.finish()


def _do(weft: "Weft", taken: "RunningJob", api_key: str | None) -> None:
    job = taken.job
    if job.kind == "link":
        from weft.indexing.relations import draw_all_links, read_link_settings

        wishes = read_link_settings(weft.store, job.tenant)
        context = weft.indexing_context()
        draw_all_links(
            context.store, context.index, job.tenant, wishes, lambda done: taken.report_progress(done, None)
        )
    elif job.kind == "search":
        weft.repair()
    else:
        _embed(weft, taken, api_key)


def _embed(weft: "Weft", taken: "RunningJob", api_key: str | None) -> None:
    """Embed every passage with the job's embedder, continuing where an earlier worker stopped."""
    from weft.embed import open_embedder
    from weft.indexing.reembed import is_embedded, reembed
    from weft.store.postgres.store import PostgresStore

    embedder = open_embedder(taken.job.detail, api_key=api_key)
    if embedder is None or not isinstance(weft.store, PostgresStore):
        raise InvalidInput(f"{taken.job.detail!r} embeds nothing. Name an embedder, such as static.")
    # A worker may have died after the switch to the new vectors and before the job was marked as done.
    if not is_embedded(weft.store, embedder):
        reembed(weft.store, embedder, lambda done, last: taken.report_progress(done, None, last))
