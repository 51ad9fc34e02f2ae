"""The promises, over random worlds, profiles, formats and budgets."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from weft import Context, Edge, Node, Weft
from weft.indexing.ingest import IndexingContext, ingest
from weft.model import Detail
from weft.profiles import builtin_profiles
from weft.render import FORMATS
from weft.tokens import counter_for
from worlds import NOW, MemorySource, question, random_world

SEEDS = (1, 2, 3)
FOLDER = Path(mkdtemp(prefix="weft-promises-"))
COUNT, _ = counter_for("cl100k_base")
PARAMETERS = {"premortem": {"domain": "debugging", "strategy": "research-first"}}

slow = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
requests = st.fixed_dictionaries(
    {
        "seed": st.sampled_from(SEEDS),
        "asked": st.integers(0, 40),
        "profile": st.sampled_from(sorted(builtin_profiles())),
        "format": st.sampled_from(sorted(FORMATS)),
        "max_tokens": st.integers(1, 400) | st.integers(1, 20_000),
        # Profiles' own floors most of the time; 0 and 1 are the edges.
        "floor": st.none() | st.sampled_from([0.0, 0.25, 0.9, 1.0]),
    }
)


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    shutil.rmtree(FOLDER, ignore_errors=True)


def fill(weft: Weft, nodes: tuple[Node, ...], edges: tuple[Edge, ...], name: str = "world") -> None:
    """Bring nodes and edges into a store as one source."""
    shop = IndexingContext(weft.store, weft.reader.index, weft.reader.embedder, COUNT)
    ingest([MemorySource(nodes, edges, name)], shop)


@cache
def world(seed: int, variant: str = "") -> Weft:
    """A store with a random world; variants differ in ways that must not show."""
    nodes, edges = random_world(seed, 70)
    weft = Weft.open(FOLDER / f"{seed}{variant}" / ".weft")
    if variant == "reordered":
        shuffled, drawn = list(nodes), list(edges)
        Random(99).shuffle(shuffled)
        Random(98).shuffle(drawn)
        nodes, edges = tuple(shuffled), tuple(drawn)
    if variant == "rewritten":
        fill(weft, tuple(replace(node, text=node.text + " Old words.") for node in nodes), edges)
        nodes = (*nodes, replace(nodes[0], key="world:later"))
        fill(weft, nodes, edges)
        nodes = nodes[:-1]
    fill(weft, nodes, edges)
    if variant == "with neighbours":
        fill(weft, *random_world(seed + 50, 70, tenant="other"), "other")
    if variant == "derived deleted":
        weft.close()
        shutil.rmtree(FOLDER / f"{seed}{variant}" / ".weft" / "derived")
        weft = Weft.open(FOLDER / f"{seed}{variant}" / ".weft")
    return weft


def ask(weft: Weft, request: dict[str, object]) -> Context:
    """The context for one drawn request."""
    return weft.context(
        question(Random(int(str(request["asked"])))),
        profile=str(request["profile"]),
        format=str(request["format"]),
        max_tokens=request["max_tokens"],  # type: ignore[arg-type]
        parameters=PARAMETERS.get(str(request["profile"])),
        floor=request["floor"],  # type: ignore[arg-type]
        now=NOW,
    )


@slow
@given(requests)
def test_the_text_never_costs_more_than_the_budget(request: dict[str, object]) -> None:
    context = ask(world(int(str(request["seed"]))), request)
    assert COUNT.count(context.text) == context.tokens <= int(str(request["max_tokens"]))


@slow
@given(requests)
def test_the_same_request_gives_the_same_bytes(request: dict[str, object]) -> None:
    weft = world(int(str(request["seed"])))
    first, second = ask(weft, request), ask(weft, request)
    assert (first.text, first.hash, first.manifest) == (second.text, second.hash, second.manifest)


@pytest.mark.parametrize("variant", ["reordered", "rewritten", "derived deleted", "with neighbours"])
@settings(slow, max_examples=25)
@given(request=requests)
def test_what_must_not_show_changes_no_byte(variant: str, request: dict[str, object]) -> None:
    seed = int(str(request["seed"]))
    assert ask(world(seed, variant), request).text == ask(world(seed), request).text


@slow
@given(requests)
def test_every_printed_item_and_every_candidate_is_in_the_ledger(request: dict[str, object]) -> None:
    context = ask(world(int(str(request["seed"]))), request)
    result = {(entry.tenant, entry.key): entry for entry in context.ledger}
    printed = [item for section in context.page.sections for item in section.items]
    printed += [
        item
        for section in context.page.sections
        for group in section.groups
        for part in group.parts
        for item in part.items
    ]
    for item in printed:
        entry = result[item.candidate.node.tenant, item.candidate.node.key]
        assert entry.detail is not Detail.DROPPED
    assert len(result) >= context.stats["candidates"] or request["profile"] == "premortem"
    assert all(entry.reason for entry in context.ledger)


@slow
@given(requests)
def test_every_line_is_in_the_manifest_exactly_once(request: dict[str, object]) -> None:
    weft = world(int(str(request["seed"])))
    context = ask(weft, request)
    lines = context.text.split("\n") if context.text else []
    covered = [line for entry in context.manifest for line in range(entry.first_line, entry.last_line + 1)]
    assert covered == list(range(1, len(lines) + 1))
    texts = {item.key: weft.show(item.key)[0].text for item in context.sources}
    for entry in context.manifest:
        if entry.verbatim and entry.key in texts:
            for line in lines[entry.first_line - 1 : entry.last_line]:
                assert line in texts[entry.key]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("max_tokens", [500, 1000, 2000, 4000])
@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("floor", [0.0, None])
def test_at_least_nine_tenths_of_the_budget_is_spent_where_there_is_enough_above_the_floor(
    seed: int, max_tokens: int, format: str, floor: float | None
) -> None:
    context = world(seed).context(
        "harbour lantern refund budget river", max_tokens=max_tokens, format=format, floor=floor, now=NOW
    )
    # What was left out for want of room is relevant material; what lies below the floor is not.
    wanting = [entry for entry in context.ledger if entry.reason.startswith(("no room", "reduced"))]
    assert context.tokens >= 0.9 * max_tokens or not wanting
    assert floor is None or context.tokens >= 0.9 * max_tokens


@slow
@given(requests)
def test_nothing_is_printed_below_the_floor(request: dict[str, object]) -> None:
    weft, floor = world(int(str(request["seed"]))), request["floor"]
    context = ask(weft, request)
    profile = weft.profile(str(request["profile"]))
    least = profile.floor if floor is None else float(str(floor))
    asks_itself = all("{question}" not in probe.question for probe in profile.probes)
    asked = question(Random(int(str(request["asked"]))))
    names_something = len(asked.split()) < 2 or bool(weft.show(asked))
    if context.sources and not asks_itself and not names_something:
        assert context.stats["relevance"] >= least
    if "Nothing here speaks to this question." in context.text:
        assert context.sources == ()
        assert context.tokens <= 400


@settings(slow, max_examples=30)
@given(requests, st.sampled_from(["zzqqxx vbnm", "Gandalf's sourdough", "qwxz plok wvut"]))
def test_a_question_of_unknown_words_has_no_sources(request: dict[str, object], foreign: str) -> None:
    # Premortem asks by its own domain, and narrative has no floor.
    context = world(int(str(request["seed"]))).context(
        foreign,
        format=str(request["format"]),
        max_tokens=request["max_tokens"],
        now=NOW,  # type: ignore[arg-type]
    )
    assert context.sources == ()
    assert COUNT.count(context.text) == context.tokens <= int(str(request["max_tokens"]))
