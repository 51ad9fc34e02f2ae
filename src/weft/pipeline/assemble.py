"""The whole program in one function: a question becomes a page within its budget, with its books."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from weft.history import context_id
from weft.model import Context, Request
from weft.pipeline.compose import Composed, compose
from weft.pipeline.excerpt import Asked
from weft.pipeline.gather import Gathered, gather
from weft.pipeline.ledger import citations, ledger
from weft.pipeline.plan import Plan, adapted, make_plan
from weft.pipeline.printer import Printer
from weft.pipeline.reading import Desk, Observe
from weft.pipeline.sections import Layout, lay_out
from weft.pipeline.slots import asides_of
from weft.ports import TokenCounter
from weft.profiles.types import Profile
from weft.render import ItemStyle, open_format
from weft.tokens import DEFAULT_ENCODING

if TYPE_CHECKING:
    from weft.tokens.encodings import EncodingCounter


def assemble(
    request: Request,
    profile: Profile,
    desk: Desk,
    count: TokenCounter,
    now: datetime,
    observe: Observe | None = None,
) -> Context:
    """The context for a request: the same bytes for the same store, request, profile and clock."""
    seen = observe or _unobserved
    profile, read = adapted(request, profile, desk.snapshot)
    plan = make_plan(request, profile)
    gathered = gather(plan, desk, seen)
    printer = _printer(plan, gathered, count)
    layout = lay_out(plan, gathered, desk, now, printer.opening)
    seen("score")
    page = compose(plan, layout, printer)
    seen("budget")
    context = _context(plan, gathered, layout, page, count)
    seen("account")
    return replace(context, notes=(*read, *context.notes)) if read else context


def _unobserved(stage: str) -> None:
    """Nobody watches the stages."""


def _printer(plan: Plan, gathered: Gathered, count: TokenCounter) -> Printer:
    return Printer(
        format=open_format(plan.format),
        count=count,
        styles=_styles(plan),
        asked=Asked.of(gathered.query.text, gathered.query.weights()),
        stored=_stored(count),
    )


def _stored(count: TokenCounter) -> "EncodingCounter | None":
    """The counter, where it is the one that counted what is stored."""
    if count.name != DEFAULT_ENCODING:
        return None
    # Whoever counts otherwise starts sooner without it.
    from weft.tokens.encodings import EncodingCounter

    return count if isinstance(count, EncodingCounter) else None


def _styles(plan: Plan) -> Mapping[str, ItemStyle]:
    styles: dict[str, ItemStyle] = {}
    for section in plan.sections():
        fields = plan.lens_named(section.lens).fields
        style = ItemStyle(section.blocks, plan.include_fields, fields, 3, asides=section.asides)
        styles[section.name] = styles[asides_of(section)] = style
        for part in section.parts:
            styles[f"{section.name}/{part.name}"] = ItemStyle(
                part.blocks, plan.include_fields, fields, 4, not part.via
            )
    return styles


def _context(plan: Plan, gathered: Gathered, layout: Layout, page: Composed, count: TokenCounter) -> Context:
    return Context(
        text=page.text,
        format=plan.format,
        profile=plan.profile.name,
        page=page.page,
        tokens=page.tokens,
        max_tokens=plan.budget,
        token_model=count.name,
        sources=citations(page.outcomes),
        ledger=ledger(page.outcomes, layout),
        manifest=page.manifest,
        notes=tuple(dict.fromkeys([*_absences(gathered), *gathered.notes, *page.notes])),
        stats=_stats(gathered, page),
        hash=page.hash,
        id=context_id(page.hash, plan.request),
    )


def _absences(gathered: Gathered) -> tuple[str, ...]:
    if gathered.query.vector is None and gathered.query.text.strip() and not gathered.query.notes:
        return ("No embedder is in use: candidates come from words and links alone.",)
    return ()


def _stats(gathered: Gathered, page: Composed) -> Mapping[str, float]:
    return {
        "nodes_searched": gathered.searched,
        "nodes_expanded": gathered.reached,
        "max_depth_reached": gathered.deepest,
        "candidates": len(gathered.candidates),
        "printed": sum(outcome.item is not None for outcome in page.outcomes),
    }
