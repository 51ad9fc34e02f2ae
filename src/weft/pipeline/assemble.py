"""Assemble a context: the whole program, from a request to a page within its budget.

plan                      plan.py
query, retrieve           query.py, retrieve.py, repository_map.py
shapes                    shapes.py, shape_phrases.py, by_shape.py with the other by_*.py
walk, bridge, neighbours  walk.py, bridge.py, neighbours.py
relevance                 relevance.py
standing                  standing.py
score, dedupe, sections   score.py, dedupe.py, sections.py, slots.py, subjects.py, snippets.py
fit, compose              fit.py, slot_filler.py, compose.py, excerpt.py
ledger                    ledger.py
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

from msgspec.structs import replace

from weft.history import context_id
from weft.model import Candidate, Context, Request
from weft.pipeline.bridge import find_bridge_names, follow_names, score_bridges
from weft.pipeline.compose import ComposedPage, Printer, compose
from weft.pipeline.ledger import (
    complete_page_note,
    idle_lens_note,
    list_citations,
    make_ledger,
    missing_embedder_note,
    shallow_history_note,
)
from weft.pipeline.neighbours import SIGNAL as NEIGHBOURS
from weft.pipeline.neighbours import add_neighbours
from weft.pipeline.plan import Plan, choose_presets, make_plan, topic_label, unite_candidates
from weft.pipeline.query import Query, QuestionTerms, Reading, Scale, StageCallback, narrow, understand
from weft.pipeline.relevance import (
    Gauge,
    describe_doubt,
    drop_noise,
    evidence_of,
    lay_out_silence,
    silent_plan,
    speaks,
    unknown_names_note,
)
from weft.pipeline.retrieve import (
    Gathered,
    add_relevance,
    ask_probes,
    brought_candidates,
    brought_for_parts,
    find_starts,
    measure_nodes,
    merge_candidates,
)
from weft.pipeline.score import add_file_parts, raise_asked_person
from weft.pipeline.sections import Layout, Ranking, admit, drop_repeats, fill_section, split_received
from weft.pipeline.shape_phrases import OF_CONVERSATIONS, Shape
from weft.pipeline.shapes import (
    MARK,
    Shapes,
    Wanted,
    add_wanted,
    is_listed,
    is_shaped,
    keep_list_order,
    kinds_to_leave_out,
    lists_all,
    name_foreign_frames,
    shapes_of,
    weigh_by_shape,
)
from weft.pipeline.slots import Outcome, PlacedSlot, doubtful_budget, doubts, pointers_slot_name, section_slot
from weft.pipeline.standing import (
    StandingRules,
    find_standing,
    instructions_note,
    leave_out_stated,
    mark_candidates,
    mark_instructions,
)
from weft.pipeline.walk import drop_filtered, group_by_lens, walk_graph
from weft.ports import LayeredEmbedder, Snapshot, TokenCounter
from weft.profiles.types import Block, Profile
from weft.render import ItemStyle, bold_labels, build_manifest, open_format
from weft.runtime import deadline
from weft.tokens import DEFAULT_ENCODING

if TYPE_CHECKING:
    from weft.tokens import EncodingCounter


def assemble(
    request: Request,
    profile: Profile,
    reading: Reading,
    count: TokenCounter,
    now: datetime,
    observe: StageCallback | None = None,
) -> Context:
    """Return the context for a request: the same bytes for the same store, request, profile and clock."""
    return assemble_with_outcomes(request, profile, reading, count, now, observe)[0]


def assemble_with_outcomes(
    request: Request,
    profile: Profile,
    reading: Reading,
    count: TokenCounter,
    now: datetime,
    observe: StageCallback | None = None,
) -> tuple[Context, tuple[Outcome, ...]]:
    """Return the context and the outcome of each candidate that had a slot, whose reason the ledger only words."""
    finished = partial(_finish_stage, observe=observe or (lambda stage: None))
    # Plan: settle everything that the request leaves to its profile.
    plan, preset_notes = _settle(request, profile, reading)
    # Query, retrieve, walk, bridge: find all candidates, topic by topic.
    by_topic = [_gather(topic_plan, reading, finished) for topic_plan in plan.by_topic()]
    gathered = _unite_topics(plan, by_topic, reading)
    # Score, dedupe, sections: put the candidates in order, into the slots of the page.
    asked = plan
    plan, is_silent, doubt = _judge(asked, by_topic, gathered, reading.snapshot)
    printer = _make_printer(plan, gathered, count)
    if is_silent:
        standing = _find_rules_of_silence(asked, gathered, reading)
        layout = lay_out_silence(plan, gathered, standing, printer.heading_cost)
    else:
        layout = replace(_lay_out(plan, gathered, reading, now, printer), doubt=doubt)
    finished("score")
    # Fit, compose: choose the level of detail, print, and count the page.
    composed = compose(plan, layout, printer)
    finished("budget")
    # Ledger: account for every candidate and every printed line.
    hash = composed.hash()
    context = Context(
        text=composed.text,
        format=plan.format,
        profile=plan.profile.name,
        page=composed.page,
        tokens=composed.tokens,
        max_tokens=asked.budget,
        token_model=count.name,
        sources=list_citations(composed.items()),
        ledger=make_ledger(composed.outcomes, layout),
        manifest=build_manifest(composed.lines),
        notes=(
            *preset_notes,
            # Also where nothing is found: it may stand in a commit that is missing.
            *shallow_history_note(request, reading),
            *_list_notes(plan, gathered, layout, composed),
        ),
        stats={
            "nodes_searched": gathered.searched,
            "nodes_expanded": gathered.reached,
            "max_depth_reached": gathered.deepest,
            "candidates": len(gathered.candidates),
            "printed": len(composed.items()),
            "relevance": gathered.relevance,
        },
        hash=hash,
        id=context_id(hash, plan.request),
    )
    finished("account")
    return context, composed.outcomes


def _settle(request: Request, profile: Profile, reading: Reading) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan of a request, and the notes of its presets."""
    profile, notes = choose_presets(request, profile, reading.snapshot)
    if isinstance(reading.embedder, LayeredEmbedder) and reading.embedder.is_complete:
        from weft.pipeline.quality import weigh_meaning

        profile = replace(profile, fusion=weigh_meaning(profile.fusion))
    return make_plan(request, profile, reading.snapshot), notes


def _judge(
    plan: Plan, by_topic: Sequence[Gathered], gathered: Gathered, snapshot: Snapshot
) -> tuple[Plan, bool, str]:
    """Return the plan of the page, whether it is silent, and what it says where it may not answer the question."""
    if any(map(speaks, plan.by_topic(), by_topic, repeat(snapshot))):
        return plan, False, ""
    if any(map(doubts, plan.by_topic(), by_topic)):
        said = describe_doubt(gathered.query, plan.request.view.as_of)
        return replace(plan, budget=doubtful_budget(plan.budget)), False, said
    return silent_plan(plan, gathered.query), True, ""


def _list_notes(plan: Plan, gathered: Gathered, layout: Layout, composed: ComposedPage) -> tuple[str, ...]:
    """Return the notes of a page, each once."""
    # What the walk had to leave out says nothing about a page that shows nothing.
    found = (
        gathered.query.notes if layout.is_silent else (*gathered.notes, *unknown_names_note(plan, gathered.query))
    )
    unspent = plan.budget - composed.tokens if plan.budget is not None else 0
    printed = [item.candidate for item in composed.items()] if plan.request.guard else []
    complete = (
        *idle_lens_note(plan, layout),
        *instructions_note(printed),
        *complete_page_note(composed.outcomes, layout.noise, unspent),
    )
    notes = [*missing_embedder_note(gathered), *found, *composed.notes, *complete, *deadline.notes()]
    return tuple(dict.fromkeys(notes))


def _finish_stage(stage: str, observe: StageCallback) -> None:
    """Tell that a stage is finished, and stop if the time for the answer is over."""
    observe(stage)
    deadline.check()


def _gather(plan: Plan, reading: Reading, finished: StageCallback) -> Gathered:
    """Find the candidates of one topic: query, retrieve, walk, bridge."""
    request, snapshot, fusion = plan.request, reading.snapshot, plan.profile.fusion
    starts, missing = find_starts(request.start, snapshot, plan.profile.probes[0].name)
    # A caller who brings candidates has asked already.
    has_shapes = plan.weighs("shape") and request.candidates is None
    shapes = shapes_of(request.question, starts) if has_shapes else Shapes()
    # A start without a question is asked about by its title.
    question = request.question or " ".join(start.node.title for start in starts)
    if not shapes.asked.isdisjoint(OF_CONVERSATIONS):
        question = _find_topic(question, snapshot)
    query = narrow(understand(question, snapshot, reading.embedder, request.history), request.filter, snapshot)
    without = kinds_to_leave_out(request.filter) if has_shapes else ()
    gauge = Gauge.of(query, evidence_of(query, reading.embedder))
    found = ask_probes(plan, query, reading, gauge.relevance, without)
    finished("retrieve")
    searched = [candidate for result in found for candidate in result.candidates]
    entered = merge_candidates([*starts, *brought_candidates(plan, snapshot), *searched], plan)

    measure = partial(measure_nodes, query=query, fusion=fusion, snapshot=snapshot)
    groups = group_by_lens(entered, plan)
    if deadline.leave_out("links were not followed"):
        groups = [(replace(lens, depth=0), group) for lens, group in groups]
    walks = [walk_graph(group, lens, snapshot, measure) for lens, group in groups]
    finished("expand")

    reached = [candidate for walk in walks for candidate in walk.candidates]
    wanted = _find_wanted(shapes, plan, query, reading, searched)
    reached = add_wanted(reached, wanted, plan.profile.probes[0].name)
    scale = next((result.scale for result in found if result.scale != Scale()), Scale())
    candidates = _relate_to_question(reached, query, scale, plan, reading)
    if plan.weighs(NEIGHBOURS) and _may_add(plan):
        candidates = add_neighbours(candidates, plan, query, scale, snapshot)
    if has_shapes:
        candidates = weigh_by_shape(candidates, wanted, shapes)
        # Where tests are asked for, what bears the name is not what is wanted.
        if Shape.TESTS not in shapes.asked:
            candidates = add_file_parts(raise_asked_person(candidates, request.question), request.question)
    finished("relate")

    notes = [
        *(f"No node is named {name!r}." for name in missing),
        *(note for result in found for note in result.notes),
        *name_foreign_frames(shapes, wanted),
        # Only who names a node asks for its neighbours; after a question nobody can do anything with these.
        *(note for walk in walks for note in walk.notes if request.start),
    ]
    return Gathered(
        candidates=drop_filtered(candidates, request.filter),
        query=query,
        searched=sum(result.searched for result in found) + len(starts),
        reached=sum(walk.reached for walk in walks),
        deepest=max((walk.deepest for walk in walks), default=0),
        notes=(*query.notes, *dict.fromkeys(notes)),
        scale=scale,
        relevance=gauge.best(searched),
        is_list=lists_all(request.question, shapes, wanted),
        relevance_of=gauge.relevance,
        brought=brought_for_parts(plan),
    )


def _unite_topics(plan: Plan, by_topic: Sequence[Gathered], reading: Reading) -> Gathered:
    """Return what was gathered for all topics of a request as one, with a note for each topic without matches."""
    if not plan.request.topics:
        return by_topic[0]
    unmatched = [
        f"Nothing matches {topic_label(topic)!r}."
        for topic, gathered in zip(plan.request.topics, by_topic, strict=True)
        if not gathered.candidates
    ]
    notes = [note for gathered in by_topic for note in gathered.notes]
    question = " ".join(gathered.query.text for gathered in by_topic)
    return Gathered(
        candidates=unite_candidates([gathered.candidates for gathered in by_topic]),
        query=understand(question, reading.snapshot, reading.embedder),
        searched=sum(gathered.searched for gathered in by_topic),
        reached=sum(gathered.reached for gathered in by_topic),
        deepest=max(gathered.deepest for gathered in by_topic),
        notes=tuple(dict.fromkeys([*unmatched, *notes])),
        relevance=max(gathered.relevance for gathered in by_topic),
    )


def _find_topic(question: str, snapshot: Snapshot) -> str:
    """Return what a question for an order, a number or a summary is about, where that asks for conversations."""
    # Only questions of these shapes pay for loading this.
    from weft.pipeline.by_conversation import holds_turns, read_topic

    return read_topic(question) or question if holds_turns(snapshot) else question


def _find_wanted(
    shapes: Shapes, plan: Plan, query: Query, reading: Reading, searched: Sequence[Candidate]
) -> Mapping[int, Sequence[Wanted]]:
    """Return the nodes that the shape of the question wants; none for a question of no special shape."""
    if not is_shaped(shapes, searched, reading.snapshot):
        return {}
    if deadline.leave_out("the shape of the question was not looked at"):
        return {}
    # Only questions that have a shape pay for loading this.
    from weft.pipeline.by_shape import find_by_shape

    return find_by_shape(shapes, plan, query, reading, searched)


def _relate_to_question(
    reached: Sequence[Candidate], query: Query, scale: Scale, plan: Plan, reading: Reading
) -> tuple[Candidate, ...]:
    """Return the reached candidates and the texts that names in them lead to, measured against the question."""
    fusion, snapshot = plan.profile.fusion, reading.snapshot
    if not plan.weighs("bridge") or deadline.leave_out("names were not followed into other texts"):
        return add_relevance(reached, query, scale, fusion, snapshot)
    weights = query.term_weights()
    names = find_bridge_names(reached, weights, snapshot)
    further: tuple[Candidate, ...] = ()
    if _may_add(plan):
        further = follow_names(names, reached, weights, plan.request.filter, snapshot, reading.index)
    related = add_relevance([*reached, *further], query, scale, fusion, snapshot)
    return score_bridges(related, names, weights, snapshot)


def _may_add(plan: Plan) -> bool:
    """Return whether candidates may be added to those found: not to what a caller brings, nor without a walk."""
    return plan.request.candidates is None and plan.lens.walk != "none" and plan.lens.depth > 0


def _lay_out(plan: Plan, gathered: Gathered, reading: Reading, now: datetime, printer: Printer) -> Layout:
    """Put the candidates in order, into the slots of the page: sections, score, dedupe."""
    if gathered.is_list:
        gathered = _as_list(gathered)
    absent = frozenset() if gathered.query.vector is not None else frozenset({"semantic"})
    ranking = Ranking(plan, gathered, reading, now, absent)

    standing = find_standing(plan, gathered, reading)
    found = mark_candidates(leave_out_stated(plan, gathered.candidates), reading.snapshot, standing.replaced)
    if plan.request.guard:
        found = mark_instructions(found)
    fresh, received = split_received(plan, found)
    relevant, noise = drop_noise(plan, fresh, gathered)
    admitted, refused = admit(plan, relevant)
    refused += noise
    ranked = {section.name: ranking.rank_section(section, admitted[section.name]) for section in plan.sections()}
    unique, repeats = drop_repeats(plan, ranked)

    slots: list[PlacedSlot] = []
    for section in plan.sections():
        if section.standing:
            stated = mark_candidates(standing.by_section.get(section.standing, ()), reading.snapshot)
            stated = mark_instructions(stated) if plan.request.guard else stated
            rules, known_rules = split_received(plan, stated)
            slots.append(section_slot(plan, section, tuple(rules), printer.heading_cost))
            received += known_rules
            continue
        filled, beyond, received_parts = fill_section(section, unique[section.name], ranking, printer.heading_cost)
        slots += filled
        refused += beyond
        received += received_parts
    received_nodes = {refusal.candidate.node.ref for refusal in received}
    return Layout(tuple(slots), tuple(refused + repeats + received), len(received_nodes), len(noise))


def _as_list(gathered: Gathered) -> Gathered:
    """Return the candidates of a list so that they keep its order, whatever words they share with the question."""
    query = replace(gathered.query, terms={}, vector=None)
    listed = [keep_list_order(each) if is_listed(each) else each for each in gathered.candidates]
    return replace(gathered, query=query, candidates=tuple(listed))


def _find_rules_of_silence(plan: Plan, gathered: Gathered, reading: Reading) -> StandingRules:
    """Return the standing rules of a page that has nothing else: one of what was learned, or one of conversations.

    A page of code or documents says nothing then, whatever was remembered beside them.
    """
    if not plan.profile.frame.empty:
        return StandingRules()
    # Only silent pages pay for loading this.
    from weft.pipeline.by_conversation import holds_turns

    is_learned = any("memory" in probe.kinds for probe in plan.profile.probes)
    if not (is_learned or holds_turns(reading.snapshot)):
        return StandingRules()
    standing = find_standing(plan, gathered, reading)
    rules = mark_candidates(standing.by_section.get("rules", ()), reading.snapshot)
    return replace(
        standing, by_section={"rules": tuple(mark_instructions(rules) if plan.request.guard else rules)}
    )


def _make_printer(plan: Plan, gathered: Gathered, count: TokenCounter) -> Printer:
    return Printer(
        format=open_format(plan.format),
        count=count,
        styles=_item_styles(plan),
        question=QuestionTerms.read(gathered.query.text, gathered.query.rarities()),
        stored=_stored_counter(count),
    )


def _stored_counter(count: TokenCounter) -> "EncodingCounter | None":
    """Return the counter if it is the one that counted the stored texts."""
    if count.name != DEFAULT_ENCODING:
        return None
    # Questions that count otherwise start sooner without it.
    from weft.tokens import EncodingCounter

    return count if isinstance(count, EncodingCounter) else None


def _item_styles(plan: Plan) -> Mapping[str, ItemStyle]:
    """Return how items are printed, by section, by its related pointers, and by section and part."""
    styles: dict[str, ItemStyle] = {}
    labels = bold_labels(plan.profile)
    for section in plan.sections():
        fields = plan.lens_for(section.lens).fields
        style = ItemStyle(
            _with_mark(section.blocks, plan),
            plan.include_fields,
            fields,
            related_edge_types=section.asides,
            labels=labels,
            outline=section.order == "outline",
        )
        styles[section.name] = styles[pointers_slot_name(section)] = style
        for part in section.parts:
            styles[f"{section.name}/{part.name}"] = ItemStyle(
                _with_mark(part.blocks, plan), plan.include_fields, fields, 4, not part.via, labels=labels
            )
    return styles


def _with_mark(blocks: tuple[Block, ...], plan: Plan) -> tuple[Block, ...]:
    """Return the blocks of items, on a guarded page with one that prints their marks."""
    has_mark = not plan.request.guard or any(f"{{{MARK}}}" in block.form for block in blocks)
    return blocks if has_mark else (*blocks, Block("line", form=f"*{{{MARK}}}*"))
