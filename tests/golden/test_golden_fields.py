"""Every field of a profile does something: changed, it changes a page or is refused."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from golden_worlds import NOW, open_world
from msgspec.structs import replace

from weft import Weft
from weft.errors import WeftError
from weft.model import Detail, Request, View
from weft.pipeline.assemble import assemble
from weft.profiles import load_profile
from weft.profiles.checks import find_problems
from weft.profiles.toml_format import check_bound
from weft.profiles.types import (
    Adapt,
    Block,
    Dedupe,
    ForEach,
    Frame,
    Fusion,
    Lens,
    Parameter,
    Part,
    Probe,
    Profile,
    Score,
    Section,
)
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
TYPES = (Profile, Frame, Fusion, Score, Dedupe, Parameter, Probe, Lens, Section, Part, ForEach, Block, Adapt)
DESCRIPTIVE = {("Profile", "description"), ("Parameter", "description"), ("Lens", "description")}
"""The fields that `weft profile list` and the help texts print, and no page does."""

DEBUGGING = Request(parameters={"domain": "debugging"})
LOCKED = Request("Why did the worker say database is locked?", max_tokens=700)
BOOTS = Request("Why were Odo Farrant's boots dry?", max_tokens=1500)
PELLWICK = Request(start=("Pellwick",), max_tokens=1500)
LIGHT = Request(start=("Sallow Light", "Counting House"), max_tokens=1500)
HARBOUR = Request("Which town lies on a harbour to the north?", max_tokens=1500)
DEFINED, TIES = 1, 3
"""The places of two parts of an entity in `narrative`: its definition, and the passages that tie it to others."""
PROJECT = Request("What is this project?", max_tokens=1500)
QUEUE = Request("What became of the Pigeonhole Queue at night?", max_tokens=260)
REFUND = Request("How do I process a refund?", view=View(("support",)), max_tokens=1500)


@dataclass(frozen=True)
class Case:
    """A profile and a request, and the change to the profile that must show."""

    world: str
    base: str
    request: Request
    change: Callable[[Profile], Profile]
    first: Callable[[Profile], Profile] = lambda profile: profile


def case(world: str, base: str, request: Request, **values: Any) -> Case:
    """A change of the profile's own fields."""
    return Case(world, base, request, lambda profile: replace(profile, **values))


def inside(
    world: str, base: str, request: Request, group: str, before: Mapping[str, Any] = {}, **values: Any
) -> Case:
    """A change inside one of the profile's parts; of several probes or lenses the first, of sections the first
    that
    takes what was found."""

    def changed(profile: Profile, given: Mapping[str, Any]) -> Profile:
        held = getattr(profile, group)
        if isinstance(held, tuple):
            place = next(at for at, each in enumerate(held) if not getattr(each, "standing", ""))
            parts = [replace(each, **given) if at == place else each for at, each in enumerate(held)]
            return replace(profile, **{group: tuple(parts)})
        return replace(profile, **{group: replace(held, **given)})

    return Case(
        world, base, request, lambda profile: changed(profile, values), lambda profile: changed(profile, before)
    )


def part(request: Request, place: int, **values: Any) -> Case:
    """A change of one part of the subjects in `narrative`."""

    def changed(profile: Profile) -> Profile:
        section = profile.sections[0]
        parts = list(section.parts)
        parts[place] = replace(parts[place], **values)
        return replace(profile, sections=(replace(section, parts=tuple(parts)), *profile.sections[1:]))

    return Case("novel", "narrative", request, changed)


def subject_rule(request: Request, **values: Any) -> Case:
    """A change of what `narrative` says about its subjects."""

    def changed(profile: Profile) -> Profile:
        section = profile.sections[0]
        rule = replace(section.for_each or ForEach(), **values)
        return replace(profile, sections=(replace(section, for_each=rule), *profile.sections[1:]))

    return Case("novel", "narrative", request, changed)


def rule(**values: Any) -> Case:
    """A change of the first of two rules by which a page suits its question."""
    first, second = Adapt("first", "quick", "type", ("why were",), "one"), Adapt("second", "profile", "type")

    def held(changed: Adapt) -> Callable[[Profile], Profile]:
        return lambda profile: replace(profile, adapt=(changed, second))

    asked = Request(BOOTS.question, preset="auto")
    return Case("novel", "narrative", asked, held(replace(first, **values)), held(first))


def block(world: str, base: str, request: Request, *blocks: Block) -> Case:
    """Other blocks in the first section."""
    return inside(world, base, request, "sections", {"blocks": (Block("title"), Block("text"))}, blocks=blocks)


def few(profile: Profile) -> Profile:
    """The profile with a probe that returns few, and no walk to find the rest."""
    probe, lens = replace(profile.probes[0], limit=1, grows=False), replace(profile.lenses[0], walk="none")
    return replace(profile, probes=(probe,), lenses=(lens,))


def ranked(profile: Profile, **values: Any) -> Profile:
    """The profile with other values in its probe by rank, and a map of titles."""
    probes = tuple(replace(each, **values) if each.match == "rank" else each for each in profile.probes)
    named = (replace(each, blocks=(Block("title"),)) if each.name == "map" else each for each in profile.sections)
    return replace(profile, probes=probes, sections=tuple(named))


def cases() -> dict[tuple[str, str], Case]:
    """One case for every field."""
    general: Callable[..., Case] = lambda **values: case("repo", "general", LOCKED, **values)  # noqa: E731
    lens: Callable[..., Case] = lambda before={}, **values: inside(  # noqa: E731
        "novel", "general", LIGHT, "lenses", {"walk": "breadth", **before}, **values
    )
    section: Callable[..., Case] = lambda before={}, **values: inside(  # noqa: E731
        "repo", "general", LOCKED, "sections", before, **values
    )
    probe: Callable[..., Case] = lambda before={}, **values: inside(  # noqa: E731
        "repo", "learning", LOCKED, "probes", before, **values
    )
    score: Callable[..., Case] = lambda before={}, **values: inside(  # noqa: E731
        "repo", "general", LOCKED, "score", before, **values
    )
    dedupe: Callable[..., Case] = lambda before={}, **values: inside(  # noqa: E731
        "repo", "learning", replace(LOCKED, max_tokens=2000), "dedupe", before, **values
    )
    table = {"weights": {"relevance": 1.0, "table": 1.0}, "table_field": "kind", "table": {}}
    frame: Callable[..., Case] = lambda **values: inside(  # noqa: E731
        "repo", "learning", replace(LOCKED, max_tokens=1500), "frame", **values
    )
    asked = replace(LOCKED, question="", parameters={"domain": "debugging"}, max_tokens=1500)
    parameter: Callable[..., Case] = lambda **values: inside(  # noqa: E731
        "repo", "premortem", asked, "parameters", **values
    )
    two = (Section("code", kinds=("commit",)), Section("rest"))
    profile = {
        "name": general(name="no name!"),
        "profile_version": general(profile_version=2),
        "max_tokens": case("repo", "general", Request(LOCKED.question), max_tokens=200),
        "format": general(format="plain"),
        "floor": general(floor=1.0),
        "doubt": Case(
            "repo",
            "general",
            Request("What has to be done when the database is locked by another writer of the queue?"),
            lambda profile: replace(profile, floor=1.0, doubt=1.0),
            lambda profile: replace(profile, floor=1.0, doubt=0.0),
        ),
        "noise": case("repo", "general", replace(LOCKED, max_tokens=4000), noise=1.0),
        "select": Case(
            "repo",
            "general",
            LOCKED,
            lambda profile: replace(profile, select="relevance"),
            lambda profile: replace(profile, sections=two),
        ),
        "summary_only_below": general(summary_only_below=5000),
        "include_fields": case("helpdesk", "knowledge", REFUND, include_fields=False),
        "max_depth": case("repo", "general", replace(LOCKED, depth=4), max_depth=3),
        "lens": case("novel", "notes", PELLWICK, lens="writing"),
        "sources": general(sources=("elsewhere",)),
        "hidden_sources": general(hidden_sources=("repo",)),
        "frame": general(frame=Frame(title="Other")),
        "fusion": general(fusion=Fusion(lexical=0.0, semantic=1.0)),
        "score": general(score=Score(weights={"recency": 1.0})),
        "dedupe": case("repo", "learning", replace(LOCKED, max_tokens=2000), dedupe=Dedupe("none")),
        "parameters": general(parameters=(Parameter("must", required=True),)),
        "probes": general(probes=(Probe("question", kinds=("commit",)),)),
        "lenses": general(lenses=(Lens("general", walk="none"),)),
        "sections": general(sections=(Section("context", heading="Other"),)),
        "adapt": case("novel", "narrative", Request(BOOTS.question, preset="auto"), adapt=()),
        "presets": case("repo", "general", replace(LOCKED, preset="brief"), presets={"brief": {"max_tokens": 5}}),
    }
    framed = {
        "title": frame(title="Other"),
        "footer": frame(footer="{sources} sources"),
        "counted": inside("repo", "premortem", DEBUGGING, "frame", counted="domain"),
        "counted_kind": inside("repo", "premortem", DEBUGGING, "frame", counted_kind=""),
        "sources": frame(sources=3),
        "separator": frame(separator=True),
        "notes": inside("repo", "notes", replace(LOCKED, max_tokens=300), "frame", notes=False),
        "empty": inside("repo", "general", Request(), "frame", empty="Nothing."),
    }
    fused = {
        "lexical": inside("repo", "general", LOCKED, "fusion", lexical=0.01),
        "semantic": inside("repo", "general", LOCKED, "fusion", semantic=5.0),
        "pool": Case(
            "novel",
            "general",
            BOOTS,
            lambda profile: replace(few(profile), fusion=replace(profile.fusion, pool=1)),
            few,
        ),
        "title_weight": inside("repo", "general", LOCKED, "fusion", title_weight=40.0),
        "phrase_weight": inside("repo", "general", LOCKED, "fusion", phrase_weight=40.0),
        "snippet_lexical": inside("repo", "general", LOCKED, "fusion", snippet_lexical=40.0),
        "snippet_semantic": inside("repo", "general", LOCKED, "fusion", snippet_semantic=0.0),
    }
    scored = {
        "combine": inside(
            "repo",
            "general",
            replace(LOCKED, max_tokens=4000),
            "score",
            {"weights": {"relevance": 1.0, "recency": 1.0}},
            combine="product",
        ),
        "weights": score(weights={"importance": 1.0}),
        "without": Case(
            "repo-words",
            "general",
            LOCKED,
            lambda profile: replace(
                profile, score=replace(profile.score, without={"semantic": {"importance": 1.0}})
            ),
        ),
        "boosts": score(boosts={"importance": 9.0}),
        "coverage": score({"weights": {"lexical": 1.0}, "coverage": 0.0, "unnamed_coverage": None}, coverage=1.0),
        "unnamed_coverage": score({"weights": {"lexical": 1.0}, "unnamed_coverage": 0.0}, unnamed_coverage=1.0),
        "half_life_days": score({"weights": {"relevance": 1.0, "recency": 1.0}}, half_life_days=3650.0),
        "distance": inside(
            "repo",
            "general",
            Request(start=("Leases instead of locks",), max_tokens=1500),
            "score",
            {"weights": {"relevance": 1.0, "distance": 1.0}},
            distance="decay",
        ),
        "table_field": score(
            {**table, "table": {"error": 1.0, "gold": 0.5}, "table_field": "category"},
            table_field="confidence_tier",
        ),
        "table": score({**table, "table": {"error": 1.0}, "table_field": "category"}, table={"preference": 1.0}),
        "start_first": inside(
            "novel", "notes", replace(BOOTS, start=("Sallow Light",), max_tokens=900), "score", start_first=False
        ),
    }
    deduped = {
        "scope": dedupe(scope="none"),
        "similarity": dedupe(similarity=1.0),
        "same": dedupe(same=("domain|category|axis",)),
        # Of each category only one memory lies above the floor.
        "once": inside(
            "repo", "learning", replace(LOCKED, max_tokens=2000, floor=0), "dedupe", {}, once=("category",)
        ),
    }
    given = {
        "name": parameter(name="other"),
        "type": parameter(type="integer"),
        "choices": parameter(choices=("testing",)),
        "required": Case(
            "repo",
            "premortem",
            replace(asked, parameters={}),
            lambda profile: replace(
                profile, parameters=(replace(profile.parameters[0], required=False), *profile.parameters[1:])
            ),
        ),
        "default": Case(
            "repo",
            "premortem",
            asked,
            lambda profile: replace(
                profile,
                parameters=(
                    profile.parameters[0],
                    replace(profile.parameters[1], default="systematic-elimination"),
                ),
            ),
        ),
    }
    structure = Request("Where is the repo map?", max_tokens=1500)
    given["phrases"] = inside("repo", "workspace", structure, "parameters", phrases=())
    given["shape"] = inside("repo", "workspace", PROJECT, "parameters", shape="")
    probed = {
        "edges": Case("repo", "workspace", PROJECT, lambda profile: ranked(profile, edges=("mentions",))),
        "without_tags": Case(
            "repo",
            "workspace",
            PROJECT,
            lambda profile: ranked(profile, edges=("mentions",), kinds=(), without_tags=("process",)),
            lambda profile: ranked(profile, edges=("mentions",), kinds=()),
        ),
        "name": probe(name="other"),
        "question": probe(question="preferences"),
        "match": inside("repo", "general", LOCKED, "probes", match="vector"),
        "kinds": probe(kinds=("commit",)),
        "tags": probe(tags=("no-such-tag",)),
        "where": probe(where={"category": "error"}),
        "limit": probe(limit=1),
        "grows": inside(
            "repo",
            "general",
            replace(LOCKED, max_tokens=12_000),
            "probes",
            {"limit": 2, "grows": False},
            limit=2,
            grows=True,
        ),
        "floor": inside("repo", "general", LOCKED, "probes", {"match": "vector"}, floor=0.99),
        "when": Case(
            "helpdesk",
            "knowledge",
            REFUND,
            lambda profile: replace(profile, probes=(replace(profile.probes[0], when="include_schemas"),)),
        ),
    }
    walked = {
        "name": lens(name="other"),
        "walk": inside("novel", "general", LIGHT, "lenses", walk="breadth"),
        "depth": lens(depth=0),
        "direction": lens(direction="out"),
        "edges": lens(edges=("nothing",)),
        "edge_weights": lens(edge_weights={"links": 9.0}),
        "kinds": lens(kinds=("chapter",)),
        "named_with": inside("novel", "general", HARBOUR, "lenses", named_with="images"),
        "raise_kinds": lens(raise_kinds={"location": 9.0}),
        "raise_tags": lens(raise_tags={"pilot": 9.0, "character": 9.0}),
        "fields": Case(
            "helpdesk",
            "knowledge",
            REFUND,
            lambda profile: replace(profile, lenses=(replace(profile.lenses[0], fields=("entity_path",)),)),
        ),
        "seeds": lens(seeds=1),
        "fan_out": lens({"walk": "pagerank"}, fan_out=1),
        "sample": lens({"fan_out": 2}, sample="relevance"),
        "limit": lens({"seeds": 1}, limit=1),
        "restart": inside("novel", "general", BOOTS, "lenses", restart=0.9),
        "focus": inside("novel", "general", BOOTS, "lenses", focus=0.0),
        "specificity": lens({"walk": "pagerank"}, specificity=3.0),
    }
    placed = {
        "name": inside(
            "repo", "learning", replace(LOCKED, format="json", max_tokens=2000), "sections", name="other"
        ),
        "heading": section(heading="Other"),
        "probes": section(probes=("no-such-probe",)),
        "kinds": section(kinds=("commit",)),
        "tags": section(tags=("no-such-tag",)),
        "reach": section(reach="walked"),
        "unit": Case(
            "novel",
            "narrative",
            replace(BOOTS, max_tokens=700),
            lambda profile: replace(
                profile, sections=(*profile.sections[:-1], replace(profile.sections[-1], unit="node"))
            ),
        ),
        "share": inside("repo", "learning", replace(LOCKED, max_tokens=500), "sections", share=50.0),
        "limit": section(limit=1),
        "item_cap": section({"relax": False}, item_cap=0.1),
        "relax": section({"item_cap": 0.02}, relax=False),
        "standing": section(standing="rules"),
        "asides": inside("novel", "general", LIGHT, "sections", {"unit": "node"}, asides=("mentions",)),
        "pointers": section({"unit": "node", "detail": (Detail.POINTER,), "pointers": None}, pointers=1),
        "detail": section({"unit": "node"}, detail=(Detail.POINTER,)),
        "blocks": section(blocks=(Block("title"),)),
        "order": section(order="title"),
        "when": Case(
            "helpdesk",
            "knowledge",
            REFUND,
            lambda profile: replace(profile, sections=(replace(profile.sections[0], when="include_schemas"),)),
        ),
        "lens": Case(
            "novel",
            "notes",
            PELLWICK,
            lambda profile: replace(
                profile, sections=(replace(profile.sections[0], lens="writing", probes=("topic",)),)
            ),
        ),
        "score": section(score=Score(weights={"recency": 1.0})),
        "dedupe": inside("repo", "learning", replace(LOCKED, max_tokens=2000), "sections", dedupe=Dedupe("none")),
        "for_each": Case(
            "novel",
            "narrative",
            BOOTS,
            lambda profile: replace(
                profile, sections=(replace(profile.sections[0], for_each=ForEach(1)), *profile.sections[1:])
            ),
        ),
        "parts": Case(
            "novel",
            "narrative",
            BOOTS,
            lambda profile: replace(
                profile,
                sections=(
                    replace(profile.sections[0], parts=profile.sections[0].parts[:1]),
                    *profile.sections[1:],
                ),
            ),
        ),
    }
    parted = {
        "name": part(replace(BOOTS, format="json"), DEFINED, name="no name!"),
        "label": part(BOOTS, DEFINED, label="Other"),
        "via": part(BOOTS, TIES, via=("nothing",)),
        "direction": part(BOOTS, TIES, direction="out"),
        "links": part(BOOTS, TIES, links="one"),
        "unit": part(BOOTS, TIES, unit="node"),
        "share": part(BOOTS, DEFINED, share=900.0),
        "limit": part(replace(BOOTS, max_tokens=5000), TIES, limit=1),
        "item_tokens": part(BOOTS, TIES, item_tokens=50),
        "detail": part(BOOTS, DEFINED, detail=(Detail.SUMMARY,)),
        "blocks": part(BOOTS, DEFINED, blocks=(Block("title"), Block("text"))),
        "order": part(replace(BOOTS, max_tokens=8000), TIES, order="sequence"),
        "when": part(BOOTS, DEFINED, when="max_entities"),
        "score": part(BOOTS, TIES, score=Score(weights={"importance": 1.0})),
    }
    each = {
        "limit": placed["for_each"],
        "limit_by": subject_rule(replace(BOOTS, parameters={"max_entities": 1}), limit_by=None),
        "least": subject_rule(replace(BOOTS, max_tokens=3000), least=1000),
        "relations": subject_rule(BOOTS, relations={}),
        "split": Case(
            "repo",
            "narrative",
            QUEUE,
            lambda profile: replace(
                profile,
                sections=(replace(profile.sections[0], for_each=ForEach(5, "importance")), *profile.sections[1:]),
            ),
        ),
    }
    printed = {
        "block": block("repo", "general", LOCKED, Block("title"), Block("bullet")),
        "label": block("repo", "general", LOCKED, Block("title", label="kind"), Block("text")),
        "form": block("repo", "general", LOCKED, Block("title"), Block("line", form="{key}")),
        "fields": block("repo", "general", LOCKED, Block("title"), Block("caption", fields=("category",))),
        "limit": block("repo", "general", LOCKED, Block("title"), Block("text", limit=40)),
    }
    rules = {
        "name": rule(name="no name!"),
        "preset": rule(preset="timeline"),
        "aspect": rule(aspect="other"),
        "phrases": rule(phrases=("nothing of the kind",)),
        "names": rule(names="none"),
    }
    tables = (profile, framed, fused, scored, deduped, given, probed, walked, placed, parted, each, printed, rules)
    return {
        (kind.__name__, name): held
        for kind, table in zip(TYPES, tables, strict=True)
        for name, held in table.items()
    }


CASES = cases()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Weft]]:
    """The worlds of the cases."""
    folder: Path = tmp_path_factory.mktemp("fields")
    opened = {world: open_world(folder, world) for world in ("helpdesk", "novel", "repo")}
    opened["repo-words"] = open_world(folder, "repo", embedder=None)
    yield opened
    for weft in opened.values():
        weft.close()


def page(weft: Weft, request: Request, profile: Profile) -> str:
    """The page under a profile, or what is refused about it."""
    problems = find_problems(profile)
    if problems:
        return "\n".join(problems)
    try:
        check_bound("profile_version", profile.profile_version)
        with weft.reading(request.view) as reading:
            return assemble(request, profile, reading, COUNT, NOW).text
    except WeftError as error:
        return f"{error}"


@pytest.mark.parametrize("field", CASES, ids=".".join)
def test_changing_the_field_changes_a_page_or_is_refused(field: tuple[str, str], worlds: dict[str, Weft]) -> None:
    held = CASES[field]
    before = held.first(load_profile(held.base))
    assert not find_problems(before)
    weft = worlds[held.world]
    assert page(weft, held.request, before) != page(weft, held.request, held.change(before))


def test_no_field_is_left_out() -> None:
    result = {(kind.__name__, name) for kind in TYPES for name in kind.__struct_fields__}
    assert result == CASES.keys() | DESCRIPTIVE
