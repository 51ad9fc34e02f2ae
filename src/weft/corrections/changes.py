"""Correct what is stored, in one way for all corrections: propose, preview by the page, apply, list, undo."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.api.reader import Reader
from weft.corrections.entities import apply_correction, undo_correction
from weft.corrections.pages import PageChange, own_profile, save_profile, saved_profiles, undo_profile
from weft.errors import InvalidInput, UnknownName
from weft.history import Difference, History, compare, make_record
from weft.indexing.edits import FORGET, change_node, forget_node, read_edits, replace_node, undo_edit
from weft.indexing.stories import read_corrections
from weft.memory.exchange import drop_marks, note_forgotten
from weft.memory.memories import change_memory, memory_from_node, memory_node
from weft.memory.vocabulary import MEMORY
from weft.model import DEFAULT_TENANT, Context, Request
from weft.profiles import show_profile
from weft.profiles.types import Profile
from weft.text.redact import redact

if TYPE_CHECKING:
    from weft.api import Weft

ACTIONS: Final = ("forget", "edit", "tag", "merge", "supersede", "page")


class Proposal(Struct, frozen=True):
    """A correction that is proposed.

    `forget`, `edit` (with `parts`), `tag` (with `tags`) and `supersede` (with `text`) are about the node `key`;
    `merge` makes one entity of `names`; `page` makes the profile `name` of the one that a request uses.
    """

    action: str
    tenant: str = DEFAULT_TENANT
    key: str = ""
    parts: Mapping[str, str] = {}
    tags: tuple[str, ...] = ()
    text: str = ""
    names: tuple[str, ...] = ()
    name: str = ""
    page: PageChange = PageChange()


class Undo(Struct, frozen=True):
    """The list that holds a correction, and its number or name there, by which it is undone."""

    of: str
    tenant: str
    name: str


class Applied(Struct, frozen=True):
    """A correction that counts: what it did, in words, when, and how it is undone."""

    says: str
    at: str
    undo: Undo


class Preview(Struct, frozen=True):
    """The page before and after a correction, and what changed; `toml` is the profile of one's own."""

    difference: Difference
    before: Context
    after: Context
    toml: str = ""


# --- applying and undoing --------------------------------------------------------------------------------------


def apply_change(weft: "Weft", proposal: Proposal, request: Request, now: datetime) -> Undo:
    """Apply a correction and return how it is undone; `request` says which profile a `page` begins with."""
    indexing, tenant, key = weft.indexing_context(), proposal.tenant, proposal.key
    if proposal.action == "page":
        save_profile(weft, propose_profile(weft, proposal, request))
        return Undo("page", tenant, proposal.name)
    if proposal.action == "merge":
        if len(proposal.names) < 2:
            raise InvalidInput("Merging takes two names or more: the entity, and others that it is also called.")
        apply_correction(weft, "merge", proposal.names, tenant=tenant)
        return Undo("entity", tenant, str(max(read_corrections(weft.store, tenant))))
    if proposal.action == "forget":
        number = forget_node(indexing, tenant, key, now)
        if read_edits(weft.store, tenant)[number].node["kind"] == MEMORY:
            # Without this an export of another machine would bring it back.
            note_forgotten(indexing, [key], now, tenant)
    elif proposal.action == "supersede":
        number = _supersede(weft, proposal, now)
    elif proposal.action in ("edit", "tag"):
        parts: dict[str, Any] = dict(proposal.parts)
        if proposal.action == "tag":
            parts = {"tags": _clean_tags(proposal.tags)}
        number = change_node(indexing, tenant, key, parts, now)
    else:
        raise UnknownName("correction", proposal.action, ACTIONS)
    return Undo("edit", tenant, str(number))


def _supersede(weft: "Weft", proposal: Proposal, now: datetime) -> int:
    """Give a memory another text; the older one stays in its history."""
    node = next(
        (each for each in weft.show(proposal.key, tenants=proposal.tenant) if each.key == proposal.key), None
    )
    if node is None or node.kind != MEMORY:
        raise InvalidInput(f"{proposal.key!r} is no memory of {proposal.tenant}. Edit it instead.")
    changed = change_memory(memory_from_node(node), now, text=redact(proposal.text, prose=True).text)
    return replace_node(weft.indexing_context(), replace(memory_node(changed), tenant=proposal.tenant), now)


def _clean_tags(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip().lstrip("#") for tag in tags if tag.strip().lstrip("#")))


def undo_change(weft: "Weft", undo: Undo) -> None:
    """Undo a correction."""
    if undo.of == "page":
        undo_profile(weft, undo.name)
    elif not undo.name.isdecimal():
        raise InvalidInput(f"{undo.name!r} is not the number of a correction.")
    elif undo.of == "entity":
        undo_correction(weft, int(undo.name), tenant=undo.tenant)
    elif undo.of == "edit":
        edit = undo_edit(weft.indexing_context(), undo.tenant, int(undo.name))
        if edit.action == FORGET and edit.node["kind"] == MEMORY:
            drop_marks(weft.indexing_context(), [edit.key], undo.tenant)
    else:
        raise UnknownName("list of corrections", undo.of, ("edit", "entity", "page"))


def propose_profile(weft: "Weft", proposal: Proposal, request: Request) -> Profile:
    """Return the profile of one's own that a proposal makes of the one in use, with its settings."""
    base = weft.profile(request.profile)
    sources = weft.status(request.view.tenants).by_source
    made = own_profile(base, proposal.name, proposal.page, sources=sources, lens=request.lens)
    budget = request.max_tokens if isinstance(request.max_tokens, int) else base.max_tokens
    floor = base.floor if request.floor is None else request.floor
    return replace(made, max_tokens=budget, floor=floor, format=request.format or base.format)


# --- previewing and listing ------------------------------------------------------------------------------------


def preview_change(weft: "Weft", proposal: Proposal, request: Request, now: datetime) -> Preview:
    """Return how a page would change.

    A correction of what is stored is made on trial, so that what is shown is what it does: other writers wait
    meanwhile, and nobody else sees it.
    """
    if proposal.action == "page":
        before = weft.assemble(request, now)
        profile = propose_profile(weft, proposal, request)
        changed = replace(request, profile=profile.name, lens=None)
        after = weft.assemble(changed, now, profile=profile)
        return Preview(_compare(before, after, request, changed, now), before, after, show_profile(profile))
    with _trial(weft) as trial:
        # Both pages are made of the trial, which knows nothing of files that changed meanwhile.
        before = trial.assemble(request, now)
        apply_change(trial, proposal, request, now)
        after = trial.assemble(request, now)
    return Preview(_compare(before, after, request, request, now), before, after)


@contextmanager
def _trial(weft: "Weft") -> "Iterator[Weft]":
    """Open the store again, so that only the block sees its changes, and they are undone at its end."""
    from weft.store.trial import open_trial

    reader = weft.reader
    with (
        TemporaryDirectory(prefix="weft-trial-") as folder,
        open_trial(weft.store, reader.index, Path(folder)) as opened,
        type(weft)(Reader(opened, reader.embedder, weft.folders, History(Path(folder)))) as trial,
    ):
        yield trial


def _compare(before: Context, after: Context, asked: Request, then: Request, now: datetime) -> Difference:
    return compare(make_record(before, asked, now), make_record(after, then, now))


def list_changes(weft: "Weft", tenants: Sequence[str]) -> tuple[Applied, ...]:
    """Return the corrections of some tenants, newest first, then the profiles that were saved."""
    found = []
    for tenant in tenants:
        for number, edit in read_edits(weft.store, tenant).items():
            says = {FORGET: f"Forgot “{edit.title}”"}.get(
                edit.action, f"Changed {', '.join(edit.after)} of “{edit.title}”"
            )
            found.append(Applied(says, edit.at, Undo("edit", tenant, str(number))))
        for number, each in read_corrections(weft.store, tenant).items():
            words = f"{each.action}: {', '.join((*each.names, each.value)).strip(', ')}"
            found.append(Applied(words, "", Undo("entity", tenant, str(number))))
    found.sort(key=lambda each: (each.at, each.undo.tenant, int(each.undo.name)), reverse=True)
    pages = [Applied(f"Saved the profile {name}", "", Undo("page", "", name)) for name in saved_profiles(weft)]
    return (*found, *pages)
