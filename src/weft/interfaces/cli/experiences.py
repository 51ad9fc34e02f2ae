"""`weft experience` and `weft premortem`: record what is tried and what came of it, and list past failures."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.interfaces.cli import AsJson, EmbedderSpec, OwnTenant, StoreFolder, Tenants, clean_argument, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.describe import experience_lines
from weft.interfaces.request import read_tenants
from weft.memory import DOMAINS, OUTCOMES, ROOT_CAUSES, STRATEGIES, Lesson, Outcome, RootCause
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.memory import Experience


_CELL_WIDTH: Final = 50
_LINE_WIDTH: Final = 80
"""Characters of a goal in a cell of a table, and in a line of its own."""

ExperienceId = Annotated[
    str, typer.Argument(metavar="ID", parser=clean_argument, help="The id, as `weft experience list` prints it.")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--file", metavar="PATH", parser=clean_argument, help="A file it is about; may be repeated."),
]


def _text_option(flag: str, help: str) -> typer.models.OptionInfo:
    # Typer declares that it returns Any, so the type has to be stated.
    option: typer.models.OptionInfo = typer.Option(flag, metavar="TEXT", parser=clean_argument, help=help)
    return option


def make_experience_group(decorated: bool) -> typer.Typer:
    """Build the commands under `weft experience`."""
    return output.make_group(
        "Start, update, resolve, reopen, list and show experiences.",
        decorated,
        start=start,
        update=update,
        resolve=resolve,
        reopen=reopen,
        list=list_experiences,
        show=show,
    )


def start(
    *,
    domain: Annotated[str, typer.Option("--domain", metavar="WORD", help=f"One of: {', '.join(DOMAINS)}.")],
    strategy: Annotated[str, typer.Option("--strategy", metavar="WORD", help=f"One of: {', '.join(STRATEGIES)}.")],
    goal: Annotated[str, _text_option("--goal", "What you want to reach.")],
    hypothesis: Annotated[str, _text_option("--hypothesis", "What you believe to be true.")],
    action: Annotated[str, _text_option("--action", "What you are going to do.")],
    prediction: Annotated[str, _text_option("--prediction", "What you will see if the hypothesis holds.")],
    files: Files = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Record what you are about to try, before its outcome is known."""
    from weft.memory.experience_store import start_experience

    with config.open_weft(store, embedder=embedder, create=True) as weft:
        experience = start_experience(
            weft.indexing_context(),
            domain=domain,
            strategy=strategy,
            goal=goal,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            now=datetime.now(UTC),
            files=files or (),
            tenant=tenant,
        )
    _write_experience(experience, "Started", as_json)


def update(
    name: ExperienceId,
    *,
    hypothesis: Annotated[str | None, _text_option("--hypothesis", "What you believe now.")] = None,
    action: Annotated[str | None, _text_option("--action", "What you do now.")] = None,
    prediction: Annotated[str | None, _text_option("--prediction", "What you expect now.")] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help="The strategy of this attempt.")
    ] = None,
    files: Files = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Record the next attempt. The one before is kept as history."""
    from weft.memory.experience_store import update_experience

    with config.open_weft(store, embedder=embedder) as weft:
        experience = update_experience(
            weft.indexing_context(),
            name,
            now=datetime.now(UTC),
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            strategy=strategy,
            files=files or (),
            tenant=tenant,
        )
    _write_experience(experience, "Updated", as_json)


def resolve(
    name: ExperienceId,
    *,
    outcome: Annotated[str, typer.Option("--outcome", metavar="WORD", help=f"One of: {', '.join(OUTCOMES)}.")],
    result: Annotated[str, _text_option("--result", "What happened.")] = "",
    surprise: Annotated[str, _text_option("--surprise", "What you did not expect.")] = "",
    root_cause: Annotated[
        str | None, typer.Option("--root-cause", metavar="WORD", help=f"One of: {', '.join(ROOT_CAUSES)}.")
    ] = None,
    description: Annotated[str, _text_option("--root-cause-description", "The root cause in words.")] = "",
    lesson: Annotated[str, _text_option("--lesson", "What worked.")] = "",
    takeaway: Annotated[str, _text_option("--takeaway", "What to remember for next time.")] = "",
    automatic: Annotated[
        bool, typer.Option("--automatic", help="A test or build decided the outcome: its confidence is gold.")
    ] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Record the outcome. From then on searches find the experience on every axis that it has text for."""
    from weft.interfaces.memory_actions import start_values_refresh
    from weft.memory.experience_store import resolve_experience

    resolution = Outcome(
        status=outcome,
        result=result,
        surprise=surprise,
        root_cause=RootCause(root_cause, description) if root_cause is not None else None,
        lesson=Lesson(lesson, takeaway) if lesson or takeaway else None,
        automatic=automatic,
    )
    with config.open_weft(store, embedder=embedder) as weft:
        context = weft.indexing_context()
        experience = resolve_experience(context, name, resolution, now=datetime.now(UTC), tenant=tenant)
        # Values are clusters of resolved experiences, so one more may change them.
        start_values_refresh(context, store, tenant)
    _write_experience(experience, f"Resolved as {experience.status} ({experience.tier}):", as_json)


def reopen(
    name: ExperienceId,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Take back an outcome. The experience is open again; what it was resolved as stays on record."""
    from weft.memory.experience_store import reopen_experience

    with config.open_weft(store, embedder=embedder) as weft:
        experience = reopen_experience(weft.indexing_context(), name, tenant=tenant)
    _write_experience(experience, "Reopened", as_json)


def list_experiences(
    *,
    domain: Annotated[str | None, typer.Option("--domain", metavar="WORD", help="Only of this domain.")] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help="Only with this strategy.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", metavar="WORD", help="Only open, confirmed, falsified or abandoned.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to list.")] = 20,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List experiences, newest first."""
    from weft.memory import experience_store

    # Listing compares no meanings, so the embedder is not loaded.
    with config.open_weft(store, embedder="none") as weft:
        found = experience_store.list_experiences(
            weft.indexing_context(),
            domain=domain,
            strategy=strategy,
            status=outcome,
            limit=limit,
            tenant=tenant,
        )
    if as_json:
        output.write_json({"experiences": [output.as_dict(experience) for experience in found]})
    elif found:
        rows = [
            (
                experience.status,
                experience.tier,
                experience.domain,
                experience.strategy,
                output.one_line(experience.goal, _CELL_WIDTH),
                experience.id,
            )
            for experience in found
        ]
        output.write_table(("outcome", "tier", "domain", "strategy", "goal", "id"), rows)
    else:
        output.write_note("No experiences match.")


def show(
    name: ExperienceId, tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print an experience with every attempt."""
    from weft.memory.experience_store import find_experience

    with config.open_weft(store, embedder="none") as weft:
        experience = find_experience(weft.indexing_context(), name, tenant=tenant)
    if as_json:
        output.write_json(output.as_dict(experience))
    else:
        output.write("\n".join(experience_lines(experience)))


def _write_experience(experience: "Experience", action: str, as_json: bool) -> None:
    if as_json:
        output.write_json(output.as_dict(experience))
    else:
        output.write(f"{action} {experience.id}: {output.one_line(experience.goal, _LINE_WIDTH)}")


def premortem(
    domain: Annotated[
        str, typer.Argument(metavar="DOMAIN", parser=clean_argument, help=f"One of: {', '.join(DOMAINS)}.")
    ],
    *,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy", metavar="WORD", parser=clean_argument, help=f"One of: {', '.join(STRATEGIES)}."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many items of each kind.")] = 10,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", help="The budget of the page.")] = 1500,
    tenants: Tenants = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print past failures, surprises, root causes and principles of a domain."""
    from weft.assemblers.learning.store_searcher import make_assembler

    with config.open_weft(store, embedder=embedder) as weft, show_progress("weaving"):
        # The assembler is asynchronous because its documented interface is; here it serves one call.
        assembler = make_assembler(weft, read_tenants(tenants))
        # Imported here: `weft --help` loads this module and never waits for anything.
        import asyncio

        warning = asyncio.run(assembler.get_premortem_context(domain, strategy, limit, max_tokens))
    for note in warning.notes:
        output.write_note(note)
    if as_json:
        output.write_json(warning)
    elif warning.markdown:
        output.write(warning.markdown)
    elif not warning.notes:
        output.write_note(f"Nothing went wrong in {domain} yet, as far as this store knows.")
