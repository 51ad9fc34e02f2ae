"""Work from the queue of a store, done: linking, embedding anew, and making search indexes anew."""

from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput, UnknownName, WeftError

if TYPE_CHECKING:
    from weft.faces.library import Weft
    from weft.store.postgres.jobs import Job, Jobs, Taken

KINDS: Final = ("embed", "link", "search")


def queue_of(weft: "Weft") -> "Jobs":
    """The queue of a store on a server."""
    from weft.store.sqlite import SqliteStore

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
        from weft.relating import relate_all, wishes_of

        wishes = wishes_of(weft.store, job.tenant)
        workshop = weft.workshop()
        relate_all(workshop.store, workshop.index, job.tenant, wishes, lambda done: taken.tell(done, None))
    elif job.kind == "search":
        weft.repair()
    else:
        _embed(weft, taken, api_key)


def _embed(weft: "Weft", taken: "Taken", api_key: str | None) -> None:
    from weft.embed import open_embedder
    from weft.reembedding import is_embedded, reembed
    from weft.store.sqlite import SqliteStore

    embed = open_embedder(taken.job.detail, api_key=api_key)
    if embed is None or isinstance(weft.store, SqliteStore):
        raise InvalidInput(f"{taken.job.detail!r} embeds nothing. Name an embedder, such as static.")
    if not is_embedded(weft.store, embed):
        reembed(weft.store, embed, lambda done, last: taken.tell(done, None, last))
