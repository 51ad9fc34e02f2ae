"""`weft experience`: what is tried, what was expected, and what came of it."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from weft import config
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, OwnTenant, StoreFolder, Tenants
from weft.interfaces.describe import experience_lines
from weft.interfaces.values import clean, tenants_of
from weft.memory import DOMAINS, OUTCOMES, ROOT_CAUSES, STRATEGIES, Lesson, Outcome, RootCause
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.memory import Experience


ExperienceId = Annotated[str, typer.Argument(metavar="ID", help="The id, as `weft experience list` shows it.")]
Files = Annotated[
    list[str] | None, typer.Option("--file", metavar="PATH", help="A file it is about; may be repeated.")
]


def _words(flag: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, metavar="TEXT", help=help)
    return option


def make_app(decorated: bool) -> typer.Typer:
    """The commands about experiences."""
    app = typer.Typer(
        help="Start, update, resolve, list and show experiences.",
        no_args_is_help=True,
        rich_markup_mode="rich" if decorated else None,
    )
    app.command("start")(start)
    app.command("update")(update)
    app.command("resolve")(resolve)
    app.command("list")(list_them)
    app.command("show")(show)
    return app


def start(
    *,
    domain: Annotated[str, typer.Option("--domain", metavar="WORD", help=f"One of: {', '.join(DOMAINS)}.")],
    strategy: Annotated[str, typer.Option("--strategy", metavar="WORD", help=f"One of: {', '.join(STRATEGIES)}.")],
    goal: Annotated[str, _words("--goal", "What is to be reached.")],
    hypothesis: Annotated[str, _words("--hypothesis", "What is believed to be so.")],
    action: Annotated[str, _words("--action", "What is going to be done.")],
    prediction: Annotated[str, _words("--prediction", "What will be seen if the hypothesis holds.")],
    files: Files = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Write down what is about to be tried, before its outcome is known."""
    from weft.memory.experience_store import start_experience

    with config.open_weft(store, embedder=embedder, create=True) as weft:
        experience = start_experience(
            weft.workshop(),
            domain=domain,
            strategy=strategy,
            goal=clean(goal),
            hypothesis=clean(hypothesis),
            action=clean(action),
            prediction=clean(prediction),
            now=datetime.now(UTC),
            files=[clean(each) for each in files or ()],
            tenant=clean(tenant),
        )
    _tell(experience, "Started", as_json)


def update(
    name: ExperienceId,
    *,
    hypothesis: Annotated[str | None, _words("--hypothesis", "What is believed now.")] = None,
    action: Annotated[str | None, _words("--action", "What is done now.")] = None,
    prediction: Annotated[str | None, _words("--prediction", "What is expected now.")] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help="How it is gone about now.")
    ] = None,
    files: Files = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Write down the next attempt; the one before is kept as history."""
    from weft.memory.experience_store import update_experience

    with config.open_weft(store, embedder=embedder) as weft:
        experience = update_experience(
            weft.workshop(),
            clean(name),
            now=datetime.now(UTC),
            hypothesis=_cleaned(hypothesis),
            action=_cleaned(action),
            prediction=_cleaned(prediction),
            strategy=strategy,
            files=[clean(each) for each in files or ()],
            tenant=clean(tenant),
        )
    _tell(experience, "Updated", as_json)


def _cleaned(words: str | None) -> str | None:
    return None if words is None else clean(words)


def resolve(
    name: ExperienceId,
    *,
    outcome: Annotated[str, typer.Option("--outcome", metavar="WORD", help=f"One of: {', '.join(OUTCOMES)}.")],
    result: Annotated[str, _words("--result", "What was seen.")] = "",
    surprise: Annotated[str, _words("--surprise", "What was not expected.")] = "",
    root_cause: Annotated[
        str | None, typer.Option("--root-cause", metavar="WORD", help=f"One of: {', '.join(ROOT_CAUSES)}.")
    ] = None,
    description: Annotated[str, _words("--root-cause-description", "The root cause in words.")] = "",
    lesson: Annotated[str, _words("--lesson", "What worked.")] = "",
    takeaway: Annotated[str, _words("--takeaway", "What to take along.")] = "",
    automatic: Annotated[
        bool, typer.Option("--automatic", help="A test or build told the outcome: it counts as gold.")
    ] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Write down what came of it; from then on it is found on every axis that has something to tell."""
    from weft.interfaces.background import renew_values
    from weft.memory.experience_store import resolve_experience

    told = Outcome(
        status=outcome,
        result=clean(result),
        surprise=clean(surprise),
        root_cause=RootCause(root_cause, clean(description)) if root_cause is not None else None,
        lesson=Lesson(clean(lesson), clean(takeaway)) if lesson or takeaway else None,
        automatic=automatic,
    )
    with config.open_weft(store, embedder=embedder) as weft:
        shop = weft.workshop()
        experience = resolve_experience(shop, clean(name), told, now=datetime.now(UTC), tenant=clean(tenant))
        renew_values(shop, store, clean(tenant))
    _tell(experience, f"Resolved as {experience.status} ({experience.tier}):", as_json)


def list_them(
    *,
    domain: Annotated[str | None, typer.Option("--domain", metavar="WORD", help="Only of this domain.")] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help="Only with this strategy.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", metavar="WORD", help="Only open, confirmed, falsified or abandoned.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 20,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List experiences, newest first."""
    from weft.memory.experience_store import list_experiences

    with config.open_weft(store, embedder="none") as weft:
        found = list_experiences(
            weft.workshop(), domain=domain, strategy=strategy, status=outcome, limit=limit, tenant=clean(tenant)
        )
    if as_json:
        output.write_json({"experiences": [output.shape(each) for each in found]})
    elif found:
        rows = [
            (each.status, each.tier, each.domain, each.strategy, output.one_line(each.goal, 50), each.id)
            for each in found
        ]
        output.write_table(("outcome", "tier", "domain", "strategy", "goal", "id"), rows)
    else:
        output.note("There are no experiences like that.")


def show(
    name: ExperienceId, tenant: OwnTenant = DEFAULT_TENANT, store: StoreFolder = None, as_json: AsJson = False
) -> None:
    """Print an experience with every attempt."""
    from weft.memory.experience_store import find_experience

    with config.open_weft(store, embedder="none") as weft:
        experience = find_experience(weft.workshop(), clean(name), tenant=clean(tenant))
    if as_json:
        output.write_json(output.shape(experience))
    else:
        output.write("\n".join(experience_lines(experience)))


def _tell(experience: "Experience", how: str, as_json: bool) -> None:
    if as_json:
        output.write_json(output.shape(experience))
    else:
        output.write(f"{how} {experience.id}: {output.one_line(experience.goal, 80)}")


def premortem(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help=f"One of: {', '.join(DOMAINS)}.")],
    *,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="WORD", help=f"One of: {', '.join(STRATEGIES)}.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many items of each kind.")] = 10,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", help="What the page may cost at most.")
    ] = 1500,
    tenants: Tenants = None,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Print past failures, surprises, root causes and principles of a domain."""
    from weft.assemblers.learning.store_searcher import assembler_over

    with config.open_weft(store, embedder=embedder) as weft:
        made = assembler_over(weft, tenants_of(tenants))
        warning = asyncio.run(
            made.get_premortem_context(
                clean(domain), None if strategy is None else clean(strategy), limit, max_tokens
            )
        )
    for each in warning.notes:
        output.note(each)
    if as_json:
        output.write_json(output.shape(warning))
    elif warning.markdown:
        output.write(warning.markdown)
    elif not warning.notes:
        output.note(f"Nothing went wrong in {clean(domain)} yet, as far as this store knows.")
