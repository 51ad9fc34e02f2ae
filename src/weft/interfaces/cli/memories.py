"""`weft remember`, `weft memories`, `weft forget` and `weft values`: keep and list what was learned."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from weft import config
from weft.errors import InvalidInput
from weft.interfaces.cli import STORE_PROBLEM, AsJson, EmbedderSpec, OwnTenant, StoreFolder, output
from weft.interfaces.cli.output import show_progress
from weft.interfaces.request import clean
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.interfaces.erase import Receipt
    from weft.memory import Memory, MemoryUsage
    from weft.memory.memory_store import RememberResult


_CELL_WIDTH: Final = 60
_LINE_WIDTH: Final = 80
"""Characters of a text in a cell of a table, and in a line of its own."""

Category = Annotated[
    str | None,
    typer.Option(
        "--category",
        metavar="WORD",
        help="fact, instruction, preference, decision, profile, error, workflow or context.",
    ),
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
    allow_secrets: Annotated[
        bool, typer.Option("--allow-secrets", help="Store the text although it looks like a secret.")
    ] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """Store a memory. Repetitions are merged, newer values replace older ones, contradictions are reported."""
    from weft.memory import memory_store

    now = datetime.now(UTC)
    # Lines are cleaned one by one, because `clean` would join them.
    cleaned = "\n".join(clean(line) for line in text.splitlines()).strip()
    names = None if tags is None else [clean(tag).lstrip("#") for tag in tags]
    # A first memory may make the store; a memory that is to be changed must be in one already.
    with config.open_weft(store, embedder=embedder, create=update is None) as weft:
        if update is not None:
            memory = memory_store.update_memory(
                weft.indexing_context(),
                clean(update),
                now=now,
                text=cleaned,
                category=category,
                importance=importance,
                tags=names,
                tenant=tenant,
            )
            remembered = memory_store.RememberResult(memory)
        else:
            remembered = memory_store.remember(
                weft.indexing_context(),
                cleaned,
                now=now,
                category=category,
                importance=importance,
                tags=names or (),
                tenant=tenant,
                allow_secrets=allow_secrets,
            )
    if as_json:
        output.write_json(output.as_dict(remembered))
    else:
        _write_remembered(remembered, is_update=update is not None)


def _write_remembered(remembered: "RememberResult", *, is_update: bool) -> None:
    memory = remembered.memory
    merged = "Replaced the value of" if remembered.superseded else "Merged into"
    action = "Updated" if is_update else merged if remembered.merged else "Remembered as"
    output.write(f"{action} {memory.key} ({memory.category}, importance {memory.importance:g}).")
    if remembered.superseded:
        output.write_note(
            f"It said: “{output.one_line(remembered.superseded, _LINE_WIDTH)}”. That is kept as history."
        )
    if remembered.redacted:
        kinds = ", ".join(remembered.redacted)
        output.write_note(
            f"Secrets were removed before it was stored: {kinds}. --allow-secrets keeps what is none."
        )
    for contradiction in remembered.contradictions:
        output.write_note(
            f"{contradiction.key} may contradict {contradiction.other} ({contradiction.why}), which says: "
            f"“{output.one_line(contradiction.other_text, _LINE_WIDTH)}”. If so, forget one of them with "
            "`weft forget KEY`."
        )


def memories(
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUESTION]", help="Search for this; without it, list the newest. `audit` looks for problems."
        ),
    ] = None,
    *,
    category: Category = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to list.")] = 20,
    stale: Annotated[
        bool, typer.Option("--stale", help="Only those that mention something no longer in the store.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="With `audit`: remove and merge what can be decided.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="With `audit`: take back the last --apply.")] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    embedder: EmbedderSpec = None,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first, or search them; `weft memories audit` lists those with a problem."""
    from weft.memory import UsageLog
    from weft.memory.memory_store import list_memories, search_memories

    if (apply or undo) and (question != "audit" or apply == undo):
        raise InvalidInput("--apply and --undo belong to an audit, one at a time: `weft memories audit --apply`.")
    if question == "audit":
        _audit(store, embedder, tenant, as_json, apply=apply, undo=undo)
        return
    if stale:
        _list_stale(store, tenant, limit, as_json)
        return
    with config.open_weft(store, embedder=embedder) as weft, show_progress("searching"):
        context = weft.indexing_context()
        if question is None:
            found = list_memories(context, category=category, limit=limit, tenant=tenant)
        else:
            found = search_memories(context, clean(question), category=category, limit=limit, tenant=tenant)
        # Usage is counted beside the store, so that reading a page never writes to it.
        uses = UsageLog(weft.folder).read_uses([(memory.tenant, memory.key) for memory in found])
    _write_memories([(memory, uses.get((memory.tenant, memory.key))) for memory in found], as_json)


def _audit(
    store: str | None, embedder: str | None, tenant: str, as_json: bool, *, apply: bool, undo: bool
) -> None:
    """Print what is wrong with the memories; change them only if that is asked for."""
    from weft.memory.audit import Action, apply_findings, find_problems, undo_audit

    with config.open_weft(store, embedder=embedder) as weft:
        context = weft.indexing_context()
        if undo:
            restored = undo_audit(context, weft.folder, tenant=tenant)
            if as_json:
                output.write_json({"restored": [output.as_dict(memory) for memory in restored]})
            else:
                output.write(f"Restored {output.count_noun(len(restored), 'memory', 'memories')}.")
            return
        with show_progress("comparing memories"):
            found = (
                apply_findings(context, weft.folder, now=datetime.now(UTC), tenant=tenant)
                if apply
                else find_problems(context, tenant=tenant)
            )
    if as_json:
        output.write_json({"applied": apply, "findings": [output.as_dict(finding) for finding in found]})
        return
    if not found:
        output.write_note("Nothing is wrong with the memories.")
        return
    rows = [
        (each.problem, each.action, each.why, output.one_line(each.text, _CELL_WIDTH), each.key) for each in found
    ]
    output.write_table(("problem", "action", "why", "text", "key"), rows)
    if any(each.action is not Action.DECIDE for each in found):
        output.write_note(
            "Removed and merged as listed; `weft memories audit --undo` takes it back."
            if apply
            else "Nothing was changed. `weft memories audit --apply` removes and merges as listed."
        )
    if any(each.action is Action.DECIDE for each in found):
        output.write_note("`decide` is left to you: `weft forget KEY` or `weft remember TEXT --update KEY`.")


def _list_stale(store: str | None, tenant: str, limit: int, as_json: bool) -> None:
    """Print the memories that name what is gone, and which of their names are."""
    from weft.memory.memory_store import find_stale

    # Names are looked up, not compared by meaning.
    with config.open_weft(store, embedder="none") as weft, show_progress("looking up names"):
        found = find_stale(weft.indexing_context(), tenant=tenant)[:limit]
    if as_json:
        output.write_json({"stale": [{**output.as_dict(memory), "gone": list(gone)} for memory, gone in found]})
    elif found:
        rows = [(", ".join(gone), output.one_line(memory.text, _CELL_WIDTH), memory.key) for memory, gone in found]
        output.write_table(("gone", "text", "key"), rows)
    else:
        output.write_note("No memory names a file or symbol that is gone.")


def _write_memories(memories_with_uses: "Sequence[tuple[Memory, MemoryUsage | None]]", as_json: bool) -> None:
    if as_json:
        shapes = [
            {
                **output.as_dict(memory),
                "use_count": use.times if use else 0,
                "last_used": use.last if use else None,
            }
            for memory, use in memories_with_uses
        ]
        output.write_json({"memories": shapes})
    elif memories_with_uses:
        rows = [
            (
                memory.category,
                f"{memory.importance:g}",
                memory.created.strftime("%Y-%m-%d"),
                use.times if use else 0,
                output.one_line(memory.text, _CELL_WIDTH),
                memory.key,
            )
            for memory, use in memories_with_uses
        ]
        output.write_table(("category", "importance", "created", "used", "text", "key"), rows)
    else:
        output.write_note("No memories match.")


def forget(
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY", help="Keys of memories, as `weft memories` lists them.")
    ],
    *,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Remove a memory or experience from every file of the store, check that it is gone, and print a "
            "receipt.",
        ),
    ] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """Remove memories. If one of the keys is unknown, nothing is removed."""
    from weft.interfaces.memory_actions import forget_memories

    if not all(clean(key) for key in keys):
        raise InvalidInput("An empty key names no memory. `weft memories` lists them with their keys.")
    if prove:
        _forget_with_proof([clean(key) for key in keys], tenant, store, as_json)
        return
    with config.open_weft(store, embedder="none") as weft:
        forgotten = forget_memories(weft, [clean(key) for key in keys], tenant)
    if as_json:
        output.write_json({"forgotten": [output.as_dict(memory) for memory in forgotten]})
    else:
        for memory in forgotten:
            output.write(f"Forgot {memory.key}: {output.one_line(memory.text, _LINE_WIDTH)}")


def _forget_with_proof(keys: Sequence[str], tenant: str, store: str | None, as_json: bool) -> None:
    """Erase the records, print a receipt of each, and end with an error code if one could not be proven gone."""
    from weft.interfaces.erase import erase

    with config.open_weft(store, embedder="none") as weft, show_progress("erasing and checking"):
        receipts = [erase(weft, key, now=datetime.now(UTC), tenant=tenant) for key in dict.fromkeys(keys)]
    if as_json:
        output.write_json({"receipts": [output.as_dict(receipt) for receipt in receipts]})
    else:
        for receipt in receipts:
            _write_receipt(receipt)
    if not all(receipt.proven for receipt in receipts):
        raise typer.Exit(STORE_PROBLEM)


def _write_receipt(receipt: "Receipt") -> None:
    proven = "is gone" if receipt.proven else "is removed, but NOT PROVEN gone"
    output.write(f"{receipt.key} of {receipt.tenant} {proven} ({receipt.at:%Y-%m-%d %H:%M:%S} UTC).")
    rows = [(place.name, place.done, place.looked_at, place.left) for place in receipt.places]
    output.write_table(("place", "done", "looked at", "traces left"), rows)
    if receipt.still_said_by:
        output.write_note(f"The same words stand in: {', '.join(receipt.still_said_by)}. These were left alone.")
    for note in receipt.notes:
        output.write_note(note)
    output.write_note(f"Not looked at: {'; '.join(receipt.not_looked_at)}.")


def values(
    *,
    axis: Annotated[
        str | None, typer.Option("--axis", metavar="WORD", help="Only full, strategy, surprise or root_cause.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to list.")] = 20,
    refresh: Annotated[bool, typer.Option("--refresh", help="Compute them again before listing them.")] = False,
    tenant: OwnTenant = DEFAULT_TENANT,
    store: StoreFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the values that many experiences have in common, largest first."""
    from weft.memory.value_store import list_values, refresh_values

    with config.open_weft(store) as weft, show_progress("comparing experiences"):
        context = weft.indexing_context()
        if refresh:
            refresh_values(context, tenant=tenant)
        found = list_values(context, axis=axis, limit=limit, tenant=tenant)
    if as_json:
        output.write_json({"values": [{"key": value.key, **output.as_dict(value, "members")} for value in found]})
    elif found:
        rows = [
            (
                value.axis,
                value.size,
                f"{value.similarity:.2f}",
                output.one_line(value.text, _CELL_WIDTH),
                value.key,
            )
            for value in found
        ]
        output.write_table(("axis", "size", "similarity", "text", "key"), rows)
    else:
        output.write_note(
            "No values have emerged yet: they need several resolved experiences that resemble each other."
        )
