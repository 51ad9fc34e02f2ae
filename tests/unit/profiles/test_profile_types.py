"""The profiles that come with Weft hold the numbers, headings and questions of the designs they serve."""

import re
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from weft.profiles import (
    apply_preset,
    builtin_profiles,
    check_profile,
    fill,
    find_lens,
    load_profile,
    resolve_parameters,
    show_profile,
)
from weft.profiles import types as profile_types
from weft.profiles.types import BLOCKS, SIGNALS, Profile, Section

ROOT = Path(__file__).parents[3]
NAMES = ("general", "knowledge", "learning", "narrative", "notes", "premortem", "workspace")


def section(profile: Profile, name: str) -> Section:
    return next(each for each in profile.sections if each.name == name)


def table(profile: Profile, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(getattr(each, column) for column in columns) for each in profile.sections]


def test_the_builtin_profiles_are_known_by_name() -> None:
    assert builtin_profiles() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_builtin_profile_loads_describes_itself_and_survives_being_shown(name: str, tmp_path: Path) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.description.endswith(".")
    shown = show_profile(profile)
    assert check_profile(shown, name) == ()
    copy = tmp_path / "copy.toml"
    copy.write_text(shown, "utf-8")
    assert load_profile(str(copy)) == profile


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_of_a_builtin_profile_applies(name: str) -> None:
    profile = load_profile(name)
    for preset in profile.presets:
        assert apply_preset(profile, preset) != profile or preset == "standard"


@pytest.mark.parametrize(
    ("name", "max_tokens", "max_depth", "depth"),
    [
        ("general", 4000, 5, 2),
        ("narrative", 8000, 5, 2),
        ("knowledge", None, 10, 2),
        ("notes", 4000, 5, 2),
        ("workspace", 4000, 5, 2),
        ("learning", 2000, 5, 0),
        ("premortem", 1500, 5, 0),
    ],
)
def test_budgets_and_depths(name: str, max_tokens: int | None, max_depth: int, depth: int) -> None:
    profile = load_profile(name)
    assert (profile.max_tokens, profile.max_depth, find_lens(profile).depth) == (max_tokens, max_depth, depth)


def test_general_takes_every_kind_into_one_section() -> None:
    profile = load_profile("general")
    *standing, only = profile.sections
    (probe,) = profile.probes
    assert [each.standing for each in standing] == ["rules", "values"]
    assert (only.kinds, only.tags, only.probes, only.reach) == ((), (), (), "any")
    assert (probe.kinds, probe.limit, only.pointers) == ((), 40, 8)
    measured = {"lexical": 0.26, "semantic": 0.16, "walk": 0.17, "bridge": 0.41}
    assert profile.score.weights == {**measured, "neighbours": 0.2, "shape": 0.8, "file": 0.64}
    assert profile.fusion.phrase_weight == 0.9


# --- narrative -------------------------------------------------------------------------------------------


def test_narrative_splits_60_to_40() -> None:
    profile = load_profile("narrative")
    assert table(profile, "name", "heading", "share") == [
        ("key_entities", "Key Entities", 60),
        ("general", "General Context", 40),
    ]
    assert fill(profile.frame.title, {"question": "Who?"}) == "Context for Query: Who?"


def test_narrative_tells_each_entity_in_three_parts() -> None:
    entities = section(load_profile("narrative"), "key_entities")
    assert entities.for_each is not None
    assert (entities.for_each.limit, entities.for_each.split) == (5, "equal")
    assert [(part.label, part.limit, part.links) for part in entities.parts if part.label] == [
        ("Definition", None, "any"),
        ("Relationships", 3, "several"),
        ("Context", 5, "one"),
    ]


def test_the_timeline_preset_follows_the_story() -> None:
    profile = apply_preset(load_profile("narrative"), "timeline")
    orders = {part.name: part.order for part in section(profile, "key_entities").parts}
    assert (orders["relationships"], orders["context"]) == ("sequence", "sequence")
    assert section(profile, "general").order == "sequence"


# --- knowledge -------------------------------------------------------------------------------------------


def test_knowledge_splits_60_30_10() -> None:
    assert table(load_profile("knowledge"), "name", "share", "limit", "reach") == [
        ("entry_points", 60, 10, "found"),
        ("context", 30, 50, "walked"),
        ("entities", 10, 10, "any"),
    ]


def test_knowledge_searches_the_default_entry_types_and_the_optional_ones_when_asked() -> None:
    profile = load_profile("knowledge")
    assert [(probe.kinds, probe.when) for probe in profile.probes] == [
        (("faq", "playbook", "permission_rule", "concept"), None),
        (("schema_index", "schema_field"), "include_schemas"),
        (("example",), "include_examples"),
    ]
    assert resolve_parameters(profile, {}) == {
        "include_entities": True,
        "include_schemas": False,
        "include_examples": False,
    }


def test_knowledge_scores_context_by_distance_decay_times_the_last_edge() -> None:
    score = section(load_profile("knowledge"), "context").score
    assert score is not None
    assert (score.combine, score.distance, score.weights) == ("product", "decay", {"distance": 1.0, "edge": 1.0})


def test_knowledge_walks_level_by_level_in_both_directions_over_all_edges() -> None:
    lens = find_lens(load_profile("knowledge"))
    assert (lens.walk, lens.direction, lens.edges, lens.kinds) == ("breadth", "both", (), ())


# --- notes -----------------------------------------------------------------------------------------------


def test_notes_score_distance_meaning_and_recency() -> None:
    score = load_profile("notes").score
    assert score.weights == {"distance": 0.4, "semantic": 0.35, "recency": 0.25}
    assert score.without == {"semantic": {"distance": 0.6, "recency": 0.4}}
    assert (score.half_life_days, score.distance, score.start_first) == (30, "inverse", True)


def test_notes_have_the_five_lenses_and_each_differs() -> None:
    lenses = load_profile("notes").lenses
    assert [lens.name for lens in lenses] == ["general", "writing", "coding", "planning", "meeting-prep"]
    assert len({(str(lens.raise_tags), str(lens.edge_weights), lens.fields) for lens in lenses}) == 5


def test_notes_fall_back_to_names_and_types_below_500_tokens() -> None:
    profile = load_profile("notes")
    assert profile.summary_only_below == 500
    assert profile.include_fields
    assert profile.frame.empty == "No matching nodes found."
    about_a_node, about_a_question = profile.sections
    assert (about_a_node.when, about_a_node.unit) == ("from_node", "node")
    assert (about_a_question.when, about_a_question.unit) == (None, "snippet")
    for section in profile.sections:
        assert section.order == "outline"
        assert [(block.block, block.label) for block in section.blocks] == [
            ("title", "tags"),
            ("location", "brief"),
            ("path", "data"),
            ("score", "data"),
            ("fields", ""),
            ("summary", ""),
            ("text", ""),
        ]


# --- workspace -------------------------------------------------------------------------------------------


def test_workspace_selects_by_relevance_and_prints_in_groups() -> None:
    profile = load_profile("workspace")
    assert (profile.select, profile.frame.separator, profile.frame.sources) == ("relevance", True, 10)
    groups = replace(profile, sections=tuple(each for each in profile.sections if each.when is None))
    assert table(groups, "name", "heading", "kinds") == [
        (
            "code",
            "Relevant Code",
            ("function", "method", "class", "interface", "type", "file", "module", "config"),
        ),
        ("documentation", "Related Documentation", ("document", "note", "section", "requirement", "feature")),
        ("conversation", "Previous Conversations", ("session", "message", "decision")),
        ("other", "Other Context", ()),
    ]


# --- learning and premortem ------------------------------------------------------------------------------


def test_learning_prints_five_sources_in_order_with_their_weights_and_caps() -> None:
    assert table(load_profile("learning"), "heading", "share", "item_cap", "limit", "relax") == [
        ("Standing rules", 1.5, None, 10, False),
        ("Memories", 1, 0.25, 20, False),
        ("Code", 2, 0.25, 20, False),
        ("Experiences", 3, 0.25, 20, False),
        ("Values", 1, 0.25, 20, False),
        ("Commits", 2, 0.25, 20, False),
    ]


def test_learning_asks_each_source_by_kind() -> None:
    profile = load_profile("learning")
    assert {probe.name: probe.kinds[0] for probe in profile.probes} == {
        "memories": "memory",
        "code": "function",
        "experiences": "experience",
        "values": "value",
        "commits": "commit",
    }
    assert [dict(probe.where) for probe in profile.probes if probe.where] == [{"axis": "full"}]
    assert all(each.probes == (each.name,) for each in profile.sections if not each.standing)


CUT = "*({truncated})*"


def test_learning_prints_items_in_the_documented_forms() -> None:
    forms = {
        each.name: [block.form or block.block for block in each.blocks]
        for each in load_profile("learning").sections
    }
    assert forms == {
        "standing": ["[[{said}: ]]{text}[[ ({mark})]]"],
        "memories": ["**Memory**: {text}", "caption", "*{mark}*", CUT],
        "code": ["**{kind}** `{title}` in `{file}:{line}`", "code", CUT],
        "experiences": [
            "**Experience**: {domain} | {strategy}",
            "fields",
            "- **Outcome**: {outcome_status}[[ - {outcome_result}]]",
            "fields",
            "*{mark}*",
            CUT,
        ],
        "values": ["**Value** ({axis}, cluster size: {cluster_size}):", "text", CUT],
        "commits": ["**Commit** `{sha:7}` by {author} on {timestamp}", "text", "caption", CUT],
    }


def test_learning_frames_and_dedupes_across_sources() -> None:
    profile = load_profile("learning")
    assert profile.frame.title == "Context"
    assert fill(profile.frame.footer, {"items": 7, "sections": 3}) == "7 items from 3 sources"
    assert (profile.dedupe.scope, profile.dedupe.similarity) == ("page", 0.9)
    assert profile.dedupe.same == ("experience_id|exemplar", "file_path|file|files_changed")


@pytest.mark.parametrize(
    ("name", "tiers"),
    [
        ("learning", ("gold", "silver", "bronze", "abandoned")),
        ("premortem", ("gold", "silver", "bronze", "abandoned")),
    ],
)
def test_how_an_outcome_is_known_orders_experiences(name: str, tiers: tuple[str, ...]) -> None:
    profile = load_profile(name)
    score = section(profile, "experiences").score if name == "learning" else profile.score
    assert score is not None
    assert sorted(tiers, key=lambda tier: -score.table[tier]) == list(tiers)
    assert score.table_field == "confidence_tier"


DOMAIN = {"domain": "debugging"}
STRATEGY = {**DOMAIN, "strategy": "trial-and-error"}


@pytest.mark.parametrize(
    ("given", "title", "principles"),
    [
        (DOMAIN, "Premortem: debugging", "principles for debugging"),
        (
            STRATEGY,
            "Premortem: debugging with trial-and-error",
            "principles for debugging using trial-and-error",
        ),
    ],
)
def test_premortem_names_the_strategy_only_when_given(given: dict[str, str], title: str, principles: str) -> None:
    profile = load_profile("premortem")
    values = resolve_parameters(profile, given)
    assert fill(profile.frame.title, values) == title
    assert fill(profile.probes[-1].question, values) == principles


def test_premortem_asks_the_documented_questions_with_their_filters() -> None:
    profile = load_profile("premortem")
    values = resolve_parameters(profile, STRATEGY)
    asked = [
        (
            fill(probe.question, values),
            {name: fill(value, values) for name, value in probe.where.items()},
            probe.limit,
        )
        for probe in profile.probes
    ]
    assert asked == [
        (
            "failures and issues in debugging",
            {"axis": "full", "domain": "debugging", "outcome_status": "falsified"},
            10,
        ),
        ("outcomes using trial-and-error strategy", {"axis": "strategy", "strategy": "trial-and-error"}, 10),
        ("unexpected outcomes in debugging", {"axis": "surprise", "domain": "debugging"}, 10),
        ("why hypotheses fail in debugging", {"axis": "root_cause", "domain": "debugging"}, 10),
        ("principles for debugging using trial-and-error", {}, 5),
    ]


def test_premortem_headings_and_the_section_that_needs_a_strategy() -> None:
    profile = load_profile("premortem")
    assert table(profile, "heading", "when") == [
        ("Common Failures", None),
        ("Strategy Performance", "strategy"),
        ("Unexpected Outcomes", None),
        ("Root Causes to Watch", None),
        ("Relevant Principles", None),
    ]
    assert profile.dedupe.scope == "section"
    assert [len(parameter.choices) for parameter in profile.parameters] == [9, 9]


# --- the reference ---------------------------------------------------------------------------------------

REFERENCE = (ROOT / "docs" / "profile-format.md").read_text("utf-8")
GUIDE = (ROOT / "docs" / "profiles.md").read_text("utf-8")
TYPES = [
    kind
    for kind in vars(profile_types).values()
    if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == profile_types.__name__
]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_every_field_is_in_the_reference_in_its_order(kind: type) -> None:
    chapter = re.search(rf"^##+ .*\({kind.__name__}\)$(.*?)(?=^##|\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert chapter, f"docs/profile-format.md has no chapter for {kind.__name__}"
    rows = re.findall(r"^\| `(\w+)` \|", chapter[1], re.MULTILINE)
    assert rows == list(kind.__struct_fields__)


@pytest.mark.parametrize("word", [*SIGNALS, *BLOCKS])
def test_every_signal_and_block_is_in_the_reference(word: str) -> None:
    assert f"| `{word}` |" in REFERENCE


def test_the_worked_example_of_the_guide_is_sound() -> None:
    examples = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    whole = [text for text in examples if text.startswith("name =")]
    assert whole
    for text in whole:
        assert check_profile(text, "docs/profiles.md") == ()
