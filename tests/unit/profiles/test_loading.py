"""Profiles are read exactly, refused with every problem named, and written back without loss."""

from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.errors import InvalidInput, ProfileError, UnknownName
from weft.model import Detail, Json
from weft.profiles import (
    apply_preset,
    available_profiles,
    builtin_profiles,
    check_profile,
    diff_profiles,
    fill,
    find_lens,
    is_given,
    load_lenses,
    load_profile,
    resolve_parameters,
    show_profile,
    with_lenses,
)
from weft.profiles.types import (
    BLOCKS,
    LADDER,
    SIGNALS,
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


def written(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def problems(text: str) -> list[str]:
    return [each.removeprefix("mine.toml: ") for each in check_profile(f'name = "mine"\n{text}', "mine.toml")]


# --- reading ---------------------------------------------------------------------------------------------


def test_a_name_alone_is_a_profile_with_all_defaults(tmp_path: Path) -> None:
    assert load_profile(written(tmp_path, 'name = "mine"')) == Profile("mine")


def test_sections_are_read_as_arrays_or_as_tables_by_name(tmp_path: Path) -> None:
    array = "name = 'mine'\n[[sections]]\nname = 'a'\nshare = 2\n[[sections]]\nname = 'b'"
    table = "name = 'mine'\n[sections.a]\nshare = 2.0\n[sections.b]"
    expected = (Section("a", share=2.0), Section("b"))
    assert load_profile(written(tmp_path, array)).sections == expected
    assert load_profile(written(tmp_path, table)).sections == expected


def test_blocks_are_written_short_or_long(tmp_path: Path) -> None:
    text = """
    name = "mine"
    [[sections]]
    name = "a"
    blocks = ["title", { block = "fields", fields = ["goal=Goal"] }]
    [[sections.parts]]
    name = "p"
    [[sections.parts.blocks]]
    block = "text"
    limit = 3
    [sections.for_each]
    limit = 2
    """
    (section,) = load_profile(written(tmp_path, text)).sections
    assert section.blocks == (Block("title"), Block("fields", fields=("goal=Goal",)))
    assert section.parts == (Part("p", blocks=(Block("text", limit=3),)),)
    assert section.for_each == ForEach(limit=2)


def test_none_in_quotes_says_no_value(tmp_path: Path) -> None:
    assert load_profile(written(tmp_path, 'name = "mine"\nmax_tokens = "none"')).max_tokens is None


def test_an_unknown_profile_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'general'\?.*knowledge.*workspace"):
        load_profile("genral")


def test_a_missing_file_and_broken_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        load_profile(str(tmp_path / "absent.toml"))
    path = tmp_path / "bytes.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(ProfileError, match="not UTF-8"):
        load_profile(str(path))


def test_broken_toml_names_the_line() -> None:
    assert "line 2" in check_profile('name = "mine"\nmax_tokens = = 3', "mine.toml")[0]


def test_a_builtin_profile_is_read_once_per_process() -> None:
    assert load_profile("general") is load_profile("general")


# --- what is refused -------------------------------------------------------------------------------------

REFUSED = {
    "max_tokns = 3": ("max_tokns", "Did you mean 'max_tokens'?"),
    'max_tokens = "many"': ("max_tokens", "Write a whole number"),
    "max_tokens = 0": ("max_tokens", "at least 1"),
    "max_tokens = true": ("max_tokens", "a whole number"),
    'select = "shares"': ("select", "Did you mean 'share'?"),
    "profile_version = 2": ("profile_version", "at most 1"),
    'lens = "wide"': ("lens", "unknown lens 'wide'. Allowed: general."),
    "lenses = []": ("lenses", "at least one"),
    "[frame]\ntitel = 'x'": ("frame.titel", "Did you mean 'title'?"),
    "[frame]\ntitle = '{who}'": ("frame.title", "unknown placeholder 'who'"),
    "[frame]\ntitle = '{question:7}'": ("frame.title", "plain name"),
    "[frame]\nfooter = '{itmes}'": ("frame.footer", "Did you mean 'items'?"),
    "[frame]\nsources = -1": ("frame.sources", "at least 0"),
    "[score]\nweights = { relevence = 1 }": ("score.weights", "Did you mean 'relevance'?"),
    "[score]\nweights = { relevance = -1 }": ("score.weights", "-1 is not allowed"),
    "[score]\nweights = { relevance = nan }": ("score.weights", "nan is not allowed"),
    "[score]\nweights = { relevance = 0 }": ("score.weights", "nothing is weighed"),
    "[score]\nwithout = { semantic = { semantic = 1 } }": ("score.without.semantic", "absent then"),
    "[score]\nboosts = { table = 1 }": ("score.table", "belong together"),
    "[score]\nhalf_life_days = 0": ("score.half_life_days", "more than 0"),
    "[dedupe]\nsimilarity = 1.5": ("dedupe.similarity", "at most 1"),
    "[[probes]]\nname = 'a'\nlimit = -1": ("probes.a.limit", "at least 0"),
    "[[probes]]\nname = 'a'\nkinds = 'faq'": ("probes.a.kinds", "a list"),
    "[[probes]]\nname = 'a'\nwhen = 'deep'": ("probes.a.when", "unknown parameter"),
    "[[probes]]\nname = 'a'\nquestion = '{x}'": ("probes.a.question", "placeholder"),
    "[[probes]]\nname = 'a'\nwhere = { k = '{x}' }": ("probes.a.where.k", "placeholder"),
    "[[probes]]\nname = 'a'\nwhere = { k = 1 }": ("probes.a.where.k", "text in quotes"),
    "[[probes]]\nlimit = 3": ("probes[0].name", "missing"),
    "[lenses.general]\ndepth = 6": ("lenses.general.depth", "max_depth"),
    "[lenses.general]\nname = 'x'": ("lenses.general", "Remove the key name"),
    "[lenses.general]\nrestart = 1": ("lenses.general.restart", "less than 1"),
    "[sections.a]\nshare = 0": ("sections.a.share", "more than 0"),
    "[sections.a]\nshare = -1": ("sections.a.share", "more than 0"),
    "[sections.a]\nitem_cap = 2": ("sections.a.item_cap", "at most 1"),
    "[sections.a]\nprobes = ['questoin']": ("sections.a.probes", "Did you mean 'question'?"),
    "[sections.a]\nlens = 'wide'": ("sections.a.lens", "unknown lens"),
    "[sections.a]\nwhen = 'deep'": ("sections.a.when", "unknown parameter"),
    "[sections.a]\nheading = '{x}'": ("sections.a.heading", "placeholder"),
    "[sections.a]\nblocks = ['titel']": ("sections.a.blocks[0]", "Did you mean 'title'?"),
    "[sections.a]\nblocks = ['line']": ("sections.a.blocks[0].form", "prints its form"),
    "[sections.a]\nblocks = []": ("sections.a.blocks", "at least one of title"),
    "[sections.a]\ndetail = ['pointer', 'whole']": ("sections.a.detail", "in this order"),
    "[sections.a]\ndetail = ['whole', 'dropped']": ("sections.a.detail", "no ladder"),
    "[sections.a]\ndetail = ['hole']": ("sections.a.detail[0]", "Did you mean 'whole'?"),
    "[sections.a]\nfor_each = { limit = 3 }": ("sections.a.parts", "belong together"),
    "[sections.'a b']": ("sections.a b", "cannot be a name"),
    "[[sections]]\nname = 'a'\n[[sections]]\nname = 'a'": ("sections.a", "defined twice"),
    "sections = 3": ("sections", "a list of tables, or a table by name"),
    "sections = []": ("sections", "at least one"),
    "[parameters.deep]\ntype = 'choice'": ("parameters.deep.choices", "belong together"),
    "[parameters.question]": ("parameters.question", "Choose another name"),
    "[parameters.a-b]": ("parameters.a-b", "Use _ instead of -"),
    "[parameters.a]\ntype = 'integer'\ndefault = 'x'": ("parameters.a.default", "a whole number"),
    "[parameters.a]\ndefault = 2024-01-01": ("parameters.a.default", "as text in quotes"),
    "[parameters.a]\nrequired = true\ndefault = 'x'": ("parameters.a.default", "Remove one"),
    "[presets.q]\nmax_tokns = 3": ("presets.q.max_tokns", "Did you mean 'max_tokens'?"),
    "[presets.q]\nsections.contxt.share = 3": ("presets.q.sections.contxt", "Did you mean 'context'?"),
    "[presets.q]\nname = 'x'": ("presets.q.name", "cannot change name"),
    "[presets.q]\nlens = 'wide'": ("presets.q", "unknown lens"),
    'inherits = "genral"': ("inherits", "Did you mean 'general'?"),
    "inherits = 3": ("inherits", "not the name of a profile"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_names_the_path_and_what_is_allowed(text: str) -> None:
    path, allowed = REFUSED[text]
    assert any(problem.startswith(f"{path}: ") and allowed in problem for problem in problems(text))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = "name = 'mine'\nmax_tokns = 3\n[sections.a]\nshare = 0\nprobes = ['x']\nblocks = ['titel']"
    found = check_profile(text, "mine.toml")
    assert [problem.split(": ")[1] for problem in found] == [
        "max_tokns",
        "sections.a.share",
        "sections.a.probes",
        "sections.a.blocks[0]",
    ]
    with pytest.raises(ProfileError) as refused:
        load_profile(written(tmp_path, text))
    assert "4 problems" in str(refused.value)
    assert all(problem.split(": ", 1)[1] in str(refused.value) for problem in found)


def test_a_profile_without_a_name_is_refused() -> None:
    assert "name: missing" in check_profile("max_tokens = 3", "mine.toml")[0]
    assert "name: missing" in check_profile("inherits = 'general'", "mine.toml")[0]


def test_a_table_by_name_without_what_it_needs_says_what_is_missing() -> None:
    assert problems("[adapt.quiet]\naspect = 'tone'") == ['adapt.quiet.preset: missing. Add preset = "...".']


@settings(deadline=None)
@given(st.text(max_size=60))
def test_checking_any_text_never_raises(text: str) -> None:
    assert isinstance(check_profile(text, "mine.toml"), tuple)


json_like = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["none", "general", "{x}", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "a", "limit"]), inner),
    max_leaves=4,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*Profile.__slots__, "inherits", "other"]), json_like, max_size=4))
def test_checking_any_table_never_raises(table: dict[str, object]) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in table.items())
    assert isinstance(check_profile(text, "mine.toml"), tuple)


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool | float) else repr(value)


# --- inheritance, presets, lenses ------------------------------------------------------------------------


def test_a_profile_inherits_and_says_only_what_differs(tmp_path: Path) -> None:
    text = """
    name = "mine"
    inherits = "general"
    max_tokens = 900
    sections.context.pointers = 2
    lenses.near.depth = 1
    """
    profile, general = load_profile(written(tmp_path, text)), load_profile("general")
    assert diff_profiles(general, profile) == (
        'name: "general" -> "mine"',
        "max_tokens: 4000 -> 900",
        'lenses: ["general"] -> ["general", "near"]',
        "lenses.near.depth: 2 -> 1",
        "sections.context.pointers: 8 -> 2",
    )


def test_an_array_replaces_what_is_inherited(tmp_path: Path) -> None:
    text = "name = 'mine'\ninherits = 'general'\n[[sections]]\nname = 'only'"
    assert load_profile(written(tmp_path, text)).sections == (Section("only"),)


def test_a_folder_comes_before_the_builtin_and_may_inherit_its_namesake(tmp_path: Path) -> None:
    written(tmp_path, "name = 'general'\ninherits = 'general'\nmax_tokens = 900", "general.toml")
    profile = load_profile("general", [tmp_path])
    assert profile == replace(load_profile("general"), max_tokens=900)


def test_inheriting_in_a_circle_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "name = 'a'\ninherits = 'b'", "a.toml")
    written(tmp_path, "name = 'b'\ninherits = 'a'", "b.toml")
    with pytest.raises(ProfileError, match="a -> b -> a goes in a circle"):
        load_profile("a", [tmp_path])


def test_folders_add_names(tmp_path: Path) -> None:
    written(tmp_path, "name = 'mine'")
    written(tmp_path, "depth = 1", "near.lens.toml")
    assert set(available_profiles([tmp_path])) - set(builtin_profiles()) == {"mine"}
    assert available_profiles([tmp_path / "absent"]) == builtin_profiles()


def test_a_preset_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    text = "name = 'mine'\n[presets.short]\nmax_tokens = 500\nsections.context.limit = 3\nframe.sources = 2"
    profile = load_profile(written(tmp_path, text))
    assert diff_profiles(profile, apply_preset(profile, "short")) == (
        "max_tokens: 4000 -> 500",
        "frame.sources: 0 -> 2",
        'sections.context.limit: "none" -> 3',
    )
    with pytest.raises(UnknownName, match="short"):
        apply_preset(profile, "shrt")


def test_user_lenses_join_any_profile(tmp_path: Path) -> None:
    written(tmp_path, "walk = 'breadth'\ndepth = 1", "near.lens.toml")
    written(tmp_path, "[lenses.far]\ndepth = 4\n[lenses.near]\ndepth = 2", "lenses.toml")
    lenses = load_lenses(tmp_path)
    assert lenses == (Lens("far", depth=4), Lens("near", walk="breadth", depth=1))
    profile = with_lenses(load_profile("general"), lenses)
    assert [lens.name for lens in profile.lenses] == ["general", "far", "near"]
    assert find_lens(profile, "far").depth == 4
    assert find_lens(profile).name == "general"
    with pytest.raises(UnknownName, match="Did you mean 'near'"):
        find_lens(profile, "nera")


def test_a_broken_lens_file_is_refused_with_its_path(tmp_path: Path) -> None:
    written(tmp_path, "dept = 1", "near.lens.toml")
    with pytest.raises(ProfileError, match=r"near\.lens\.toml: lenses\.near\.dept.*'depth'"):
        load_lenses(tmp_path)
    written(tmp_path, "depth = = 1", "near.lens.toml")
    with pytest.raises(ProfileError, match="not valid TOML"):
        load_lenses(tmp_path)
    assert load_lenses(tmp_path / "absent") == ()


# --- templates and parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("in {domain}", "in testing"),
        ("{{domain}} {domain}", "{domain} testing"),
        ("in {domain}[[ with {strategy}]]", "in testing"),
        ("in {domain}[[ with {count}]]", "in testing with 3"),
        ("[[{domain}]] [[words]] [kept]", "testing [[words]] [kept]"),
        ("{strategy}{flag}", "true"),
        ("{braces}", "{domain}[[x]]"),
        ("", ""),
    ],
)
def test_fill_replaces_names_and_drops_parts_without_a_value(template: str, filled: str) -> None:
    values = {"domain": "testing", "strategy": None, "count": 3, "flag": True, "braces": "{domain}[[x]]"}
    assert fill(template, values) == filled


def test_fill_refuses_a_name_without_a_value() -> None:
    with pytest.raises(ProfileError, match=r"\{who\}.*Known here: domain"):
        fill("{who}", {"domain": "x"})


@settings(deadline=None)
@given(st.text())
def test_fill_returns_values_untouched(value: str) -> None:
    assert fill("{value}", {"value": value}) == value


def test_when_holds_for_given_values_only() -> None:
    values = {"a": None, "b": False, "c": "", "d": 0, "e": "x"}
    assert [is_given(values, name) for name in [None, *"abcdef"]] == [True, False, False, False, True, True, False]


TYPED = Profile(
    "mine",
    parameters=(
        Parameter("topic"),
        Parameter("depth", "integer", default=2),
        Parameter("weight", "number"),
        Parameter("deep", "flag"),
        Parameter("domain", "choice", choices=("testing", "security"), required=True),
    ),
)


def test_parameters_are_completed_and_read_from_text() -> None:
    given_values = {"domain": "testing", "weight": "0.5", "deep": "true", "depth": "-3"}
    assert resolve_parameters(TYPED, given_values) == {
        "topic": None,
        "depth": -3,
        "weight": 0.5,
        "deep": True,
        "domain": "testing",
    }
    assert resolve_parameters(TYPED, {"domain": "testing", "deep": False})["depth"] == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "'domain' is required. Give one of: testing, security"),
        ({"domain": "tests"}, "Did you mean 'testing'.*security"),
        ({"domain": "testing", "dept": 3}, "Did you mean 'depth'"),
        ({"domain": "testing", "depth": 1.5}, "a whole number"),
        ({"domain": "testing", "depth": True}, "a whole number"),
        ({"domain": "testing", "weight": "inf"}, "a number"),
        ({"domain": "testing", "deep": "maybe"}, "true or false"),
        ({"domain": "testing", "topic": 3}, "Give text"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_allowed(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        resolve_parameters(TYPED, values)  # type: ignore[arg-type]


# --- writing back ----------------------------------------------------------------------------------------

names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name != "none")
words = st.text(st.characters(exclude_characters="{}[]", exclude_categories=["Cs"]), max_size=12)
listed = st.lists(words, max_size=2).map(tuple)
positive = st.floats(0.001, 1e6, allow_nan=False)
counts = st.integers(0, 10**6)
weights = st.dictionaries(
    st.sampled_from([each for each in SIGNALS if each != "table"]), positive, min_size=1, max_size=3
)
free_weights = st.dictionaries(words, st.floats(0, 10), max_size=3)
ladders = st.lists(st.sampled_from(LADDER), min_size=1, unique=True).map(
    lambda steps: tuple(sorted(steps, key=LADDER.index))
)
blocks = st.lists(
    st.builds(
        Block,
        st.sampled_from([each for each in BLOCKS if each != "line"]),
        words,
        fields=listed,
        limit=st.none() | counts,
    )
    | st.builds(Block, st.just("line"), form=words.filter(bool)),
    min_size=1,
    max_size=3,
).map(tuple)
scores = st.builds(
    Score,
    combine=st.sampled_from(["sum", "product"]),
    weights=weights,
    without=st.just({}) | st.just({"semantic": {"walk": 0.5}}),
    half_life_days=positive,
    start_first=st.booleans(),
)
dedupes = st.builds(Dedupe, st.sampled_from(["page", "section", "none"]), st.floats(0.1, 1), listed)
lenses = st.builds(
    Lens,
    names,
    words,
    depth=st.integers(0, 5),
    edges=listed,
    edge_weights=free_weights,
    raise_tags=free_weights,
    fan_out=st.integers(1, 99),
    restart=st.floats(0.01, 0.99),
    focus=st.floats(0, 9),
    specificity=st.floats(0, 9),
)
parts = st.builds(
    Part, names, words, via=listed, share=positive, limit=st.none() | counts, detail=ladders, blocks=blocks
)
plain_parameters = st.builds(Parameter, names, required=st.booleans(), description=words)
choice_parameters = st.builds(
    lambda name, choices: Parameter(name, "choice", choices, default=choices[0]),
    names,
    st.lists(words, min_size=1, max_size=3).map(tuple),
)


Named = TypeVar("Named", Parameter, Probe, Lens, Section, Part)


def unique(items: st.SearchStrategy[Named], smallest: int = 0) -> st.SearchStrategy[tuple[Named, ...]]:
    return st.lists(items, min_size=smallest, max_size=3, unique_by=lambda item: item.name).map(tuple)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    taken = ("question", "items", "sections", "sources")
    parameters = draw(unique((plain_parameters | choice_parameters).filter(lambda each: each.name not in taken)))
    when = st.sampled_from([None, *(each.name for each in parameters)])
    probes = draw(unique(st.builds(Probe, names, words, kinds=listed, limit=counts, when=when)))
    views = draw(unique(lenses, 1))
    for_each = draw(st.none() | st.builds(ForEach, counts, st.sampled_from(["equal", "importance"])))
    sections = st.builds(
        Section,
        names,
        words,
        probes=st.lists(st.sampled_from(probes), max_size=2).map(lambda some: tuple(each.name for each in some))
        if probes
        else st.just(()),
        share=positive,
        item_cap=st.none() | st.floats(0.01, 1),
        detail=ladders,
        blocks=blocks,
        when=when,
        lens=st.none() | st.sampled_from([each.name for each in views]),
        score=st.none() | scores,
        dedupe=st.none() | dedupes,
        for_each=st.just(for_each),
        parts=unique(parts, 1) if for_each else st.just(()),
    )
    changes: list[dict[str, Json]] = [{}, {"max_tokens": 99}, {"frame": {"sources": 3}, "select": "relevance"}]
    return Profile(
        name=draw(names),
        description=draw(words),
        max_tokens=draw(st.none() | st.integers(1, 10**6)),
        lens=draw(st.sampled_from([each.name for each in views])),
        frame=draw(st.builds(Frame, words, words, words, counts, st.booleans())),
        fusion=draw(st.builds(Fusion, positive, positive)),
        score=draw(scores),
        dedupe=draw(dedupes),
        parameters=parameters,
        probes=probes,
        lenses=views,
        sections=draw(unique(sections, 1)),
        presets=draw(st.dictionaries(words, st.sampled_from(changes), max_size=2)),
    )


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(profiles())
def test_a_shown_profile_is_read_back_equal(tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    shown = show_profile(profile)
    assert check_profile(shown, "shown.toml") == ()
    again = load_profile(written(tmp_path_factory.getbasetemp(), shown))
    assert again == profile
    assert diff_profiles(profile, again) == ()


def test_showing_prints_every_field_with_its_default() -> None:
    shown = show_profile(Profile("mine"))
    assert 'limit = "none"' in shown
    assert "half_life_days = 30.0" in shown
    assert 'detail = ["whole", "excerpt", "summary", "pointer"]' in shown


def test_a_difference_shows_blocks_and_scores_in_short() -> None:
    old = Profile("mine", sections=(Section("a"),))
    new = Profile(
        "mine", sections=(Section("a", blocks=(Block("line", form="x"),), score=Score(start_first=True)),)
    )
    assert diff_profiles(old, new) == (
        'sections.a.blocks: ["title", "location", "text"] -> [{ block = "line", form = "x" }]',
        'sections.a.score: "none" -> { start_first = true }',
    )


def test_an_absent_weight_shows_as_none() -> None:
    old = Profile("mine", score=Score(weights={"walk": 1.0}))
    new = Profile("mine", score=Score(weights={"edge": 1.0}))
    assert diff_profiles(old, new) == ('score.weights.edge: "none" -> 1.0', 'score.weights.walk: 1.0 -> "none"')


def test_detail_is_read_as_levels(tmp_path: Path) -> None:
    text = "name = 'mine'\n[sections.a]\ndetail = ['whole', 'pointer']"
    assert load_profile(written(tmp_path, text)).sections[0].detail == (Detail.WHOLE, Detail.POINTER)
