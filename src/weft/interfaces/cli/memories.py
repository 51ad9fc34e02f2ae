"""`weft remember`, `weft memories` and `weft forget`: what is worth knowing next time."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import output
from weft.interfaces.cli.options import AsJson, EmbedderSpec, OwnTenant, StoreFolder
from weft.interfaces.values import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.memory import Memory, Used
    from weft.memory.memory_store import Remembered


Category = Annotated[
    str | None,
    typer.Option("--category", metavar="WORD", help="fact, preference, decision, error, workflow or context."),
]


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember, in a sentence or a few.")],
    *,
    category: Category = None,
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="0..1", help="How much it matters. Default: 0.5.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag to give it; may be repeated.")
    ] = None,
    update: Annotated[
        str | None,
        typer.Option("--update", metavar="KEY", help="Change this memory instead; its older text is kept."),
    ] = None,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Remember something; what says the same is merged, what says otherwise is reported."""
    from weft.memory.memory_store import Remembered, update_memory
    from weft.memory.memory_store import remember as remembering

    now, mine = datetime.now(UTC), clean(tenant)
    said = _words(text)
    marks = None if tags is None else [clean(tag).lstrip("#") for tag in tags]
    with config.open_weft(store, embedder=embedder, create=update is None) as weft:
        shop = weft.workshop()
        if update is not None:
            memory = update_memory(
                shop,
                clean(update),
                now=now,
                text=said,
                category=category,
                importance=importance,
                tags=marks,
                tenant=mine,
            )
            done = Remembered(memory)
        else:
            done = remembering(
                shop,
                said,
                now=now,
                category=category,
                importance=importance,
                tags=marks or (),
                tenant=mine,
            )
    if as_json:
        output.write_json(output.shape(done))
    else:
        _tell(done, updated=update is not None)


def _words(text: str) -> str:
    """What was said, with its lines."""
    return "\n".join(clean(line) for line in text.splitlines()).strip()


def _tell(done: "Remembered", *, updated: bool) -> None:
    how = "Updated" if updated else "Merged into" if done.merged else "Remembered as"
    output.write(f"{how} {done.memory.key} ({done.memory.category}, importance {done.memory.importance:g}).")
    if done.redacted:
        output.note(f"Secrets were taken out before it was stored: {', '.join(done.redacted)}.")
    for each in done.contradictions:
        output.note(
            f"{each.key} may contradict {each.other} ({each.why}), which says: "
            f"“{output.one_line(each.other_text, 80)}”. If so, forget one of them with `weft forget KEY`."
        )


def memories(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="Search for this; without it, list the newest.")
    ] = None,
    *,
    category: Category = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 20,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first, or search them."""
    from weft.memory import UsageBook
    from weft.memory.memory_store import list_memories, search_memories

    with config.open_weft(store, embedder=embedder) as weft:
        shop = weft.workshop()
        if question is None:
            found = list_memories(shop, category=category, limit=limit, tenant=clean(tenant))
        else:
            asked = clean(question)
            found = search_memories(shop, asked, category=category, limit=limit, tenant=clean(tenant))
        uses = UsageBook(weft.folder).uses([(memory.tenant, memory.key) for memory in found])
    _list(found, [uses.get((memory.tenant, memory.key)) for memory in found], as_json)


def _list(found: "tuple[Memory, ...]", uses: "list[Used | None]", as_json: bool) -> None:
    if as_json:
        shapes = [
            {
                **output.shape(memory),
                "use_count": used.times if used else 0,
                "last_used": used.last if used else None,
            }
            for memory, used in zip(found, uses, strict=True)
        ]
        output.write_json({"memories": shapes})
    elif found:
        rows = [
            (
                memory.category,
                f"{memory.importance:g}",
                memory.created.strftime("%Y-%m-%d"),
                used.times if used else 0,
                output.one_line(memory.text, 60),
                memory.key,
            )
            for memory, used in zip(found, uses, strict=True)
        ]
        output.write_table(("category", "importance", "created", "used", "text", "key"), rows)
    else:
        output.note("There are no memories like that.")


def forget(
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY", help="Keys of memories, as `weft memories` lists them.")
    ],
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Remove memories; when one of the keys names none, nothing is removed."""
    from weft.interfaces.background import forget_memories

    if not all(clean(key) for key in keys):
        raise InvalidInput("An empty key names no memory. `weft memories` lists them with their keys.")
    with config.open_weft(store, embedder="none") as weft:
        gone = forget_memories(weft, [clean(key) for key in keys], clean(tenant))
    if as_json:
        output.write_json({"forgotten": [output.shape(memory) for memory in gone]})
    else:
        for memory in gone:
            output.write(f"Forgot {memory.key}: {output.one_line(memory.text, 80)}")


def values(
    *,
    axis: Annotated[
        str | None, typer.Option("--axis", metavar="WORD", help="Only full, strategy, surprise or root_cause.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 20,
    refresh: Annotated[bool, typer.Option("--refresh", help="Find them anew before listing them.")] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the values that emerge from experiences, the largest first."""
    from weft.memory.value_store import list_values, refresh_values

    with config.open_weft(store) as weft:
        shop = weft.workshop()
        if refresh:
            refresh_values(shop, tenant=clean(tenant))
        found = list_values(shop, axis=axis, limit=limit, tenant=clean(tenant))
    if as_json:
        output.write_json({"values": [{"key": each.key, **output.shape(each, "members")} for each in found]})
    elif found:
        rows = [
            (each.axis, each.size, f"{each.similarity:.2f}", output.one_line(each.text, 60), each.key)
            for each in found
        ]
        output.write_table(("axis", "size", "similarity", "text", "key"), rows)
    else:
        output.note("No values have emerged yet: they need several resolved experiences that resemble each other.")
