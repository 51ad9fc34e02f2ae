"""Define profiles: probes, lenses, scores and sections, as frozen values whose fields are the keys of the TOML.

Every class is a table of a profile file. `toml_format` reads files into these types, so a new key is a new field.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct, field

from weft.model import Detail, Json

Match = Literal["hybrid", "bm25", "vector", "names", "rank"]
Walk = Literal["pagerank", "breadth", "none"]
Direction = Literal["both", "out", "in"]
Sample = Literal["strength", "relevance"]
Combine = Literal["sum", "product"]
Reach = Literal["any", "start", "found", "walked"]
Scope = Literal["page", "section", "none"]
Order = Literal["score", "time", "sequence", "title", "outline"]
Split = Literal["equal", "importance"]
Unit = Literal["node", "passage"]
SectionUnit = Literal["node", "passage", "snippet"]
Select = Literal["share", "relevance"]
Standing = Literal["", "rules", "values"]
ParameterType = Literal["text", "integer", "number", "flag", "choice"]

SIGNALS: Final = (
    "relevance",
    "lexical",
    "semantic",
    "walk",
    "bridge",
    "neighbours",
    "distance",
    "edge",
    "recency",
    "importance",
    "table",
    "named",
    "usage",
    "shape",
    "file",
)
"""The signals that can be weighed: the fused search score and its two halves, the walk's score, what an item adds
to another that leads to it, how relevant the pieces beside it in its sequence are, closeness, the weight of the
last edge, freshness, the node's importance, a value looked up in `score.table`, whether the question names the
node, how often a passage names the subject it is printed for, how much the question's shape wants the node, and
how much of the name of its file, if it is code, the question has."""

BLOCKS: Final = (
    "title",
    "line",
    "location",
    "summary",
    "text",
    "code",
    "bullet",
    "fields",
    "caption",
    "tags",
    "path",
    "score",
    "links",
    "tree",
    "images",
    "handle",
)
"""The closed vocabulary of blocks that an item can print."""

AUTO: Final = "auto"
"""The preset that stands for those which the profile's rules choose by the question."""

LADDER: Final = (Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY, Detail.POINTER)
"""The details of an item from the most to the least: a step down is taken when there is no room."""


class Parameter(Struct, frozen=True):
    """A typed value the caller may give, usable as {name} in questions, filters and headings.

    A flag that is not given is set by a question that holds one of the `phrases`, or that has the `shape`; the
    shape `start` is that of a request which begins at a node.
    """

    name: str
    type: ParameterType = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    default: Json = None
    phrases: tuple[str, ...] = ()
    shape: Literal["", "overview", "start"] = ""
    description: str = ""


class Probe(Struct, frozen=True):
    """One search of the store. `when` names a parameter without which the probe is left out.

    The match `names` finds the nodes that the question calls by name. `rank` finds, for any question, the nodes
    that others refer to most over links of the types in `edges`, among nodes with none of `without_tags`. The
    others search for the words or the meaning of the question.

    With `grows`, the limit rises in proportion when the budget is larger than the profile's own, and further where
    what was found is too short to fill the page.
    `floor` is how alike (as a cosine) something must be to be found by its meaning alone.
    """

    name: str
    question: str = "{question}"
    match: Match = "hybrid"
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    limit: int = 50
    grows: bool = False
    floor: float = 0.0
    edges: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    when: str | None = None


class Lens(Struct, frozen=True):
    """A way to walk from what was found: which edges, how far, what to raise, which fields to show.

    `edges` empty means all types; `edge_weights` multiply by type. With `kinds`, nodes of other kinds are
    neither taken nor walked through. Nodes with the field `named_with` are walked from, and have a relevance
    of their own, only where the question names them. `raise_kinds` and `raise_tags` multiply an item's score.
    `sample` says which links of a node with more than `fan_out` of them are followed. `focus` is the power to
    which the relevance of a start counts, `specificity` that to which the links of a node count against a step
    to it.
    """

    name: str
    description: str = ""
    walk: Walk = "pagerank"
    depth: int = 2
    direction: Direction = "both"
    edges: tuple[str, ...] = ()
    edge_weights: Mapping[str, float] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    named_with: str | None = None
    raise_kinds: Mapping[str, float] = field(default_factory=dict)
    raise_tags: Mapping[str, float] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    seeds: int = 20
    fan_out: int = 20
    sample: Sample = "strength"
    limit: int = 100
    restart: float = 0.5
    focus: float = 1.0
    specificity: float = 0.0


class Score(Struct, frozen=True):
    """A score made of signals: a weighted sum or product, times (1 + boost x signal) for each boost.

    `without` states the weights to use for the whole request when a signal is absent from it. With `coverage`, a
    term of the question counts less for the next item once an item above holds it; `unnamed_coverage` takes its
    place where the question mentions nothing by name. Distance is 1/max(d, 1) ("inverse") or 1/(d + 1) ("decay").
    `table` maps values of `table_field` to a 0..1 signal.
    """

    combine: Combine = "sum"
    weights: Mapping[str, float] = field(default_factory=lambda: {"relevance": 1.0})
    without: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    boosts: Mapping[str, float] = field(default_factory=dict)
    coverage: float = 0.0
    unnamed_coverage: float | None = None
    half_life_days: float = 30.0
    distance: Literal["inverse", "decay"] = "inverse"
    table_field: str = ""
    table: Mapping[str, float] = field(default_factory=dict)
    start_first: bool = False


class Dedupe(Struct, frozen=True):
    """The rule for repetitions: near-identical text, or an equal field across sections.

    `same` lists fields whose values identify one thing printed in several sections; "a|b" compares one field's
    values with the other's. Within one section only text similarity counts, and the fields listed in `once`, of
    which each value is printed once on the whole page.
    """

    scope: Scope = "page"
    similarity: float = 0.9
    same: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


class Block(Struct, frozen=True):
    """One printed part of an item. `form` is literal words with {field} placeholders, for `line` blocks."""

    block: str
    label: str = ""
    form: str = ""
    fields: tuple[str, ...] = ()
    limit: int | None = None


class Part(Struct, frozen=True):
    """One part of a `for_each` subject: its neighbours over `via` edges, or with no `via` the subject itself.

    With the unit `passage` it takes those passages of its neighbours that name the subject. `links` keeps
    neighbours linked with (passages that name) one subject-like node only ("one") or more ("several"). Of a
    passage that names more, "one" takes the longest stretch that names the subject alone, if it is long enough.
    `item_tokens` limits what one item may cost, whatever room there is; `when` is as for a section.
    """

    name: str
    label: str = ""
    via: tuple[str, ...] = ()
    direction: Direction = "both"
    unit: Unit = "node"
    links: Literal["any", "one", "several"] = "any"
    share: float = 1.0
    limit: int | None = None
    item_tokens: int | None = None
    detail: tuple[Detail, ...] = LADDER
    blocks: tuple[Block, ...] = (Block("text"),)
    order: Order = "score"
    when: str | None = None
    score: Score | None = None


class ForEach(Struct, frozen=True):
    """The subjects of a section: at most `limit` of them, each with an equal or importance-weighted budget.

    A number given for the parameter `limit_by` takes the place of `limit`. Where the section's share would not
    leave each `least` tokens, there are fewer. `relations` are the types of links that trees print, in their
    order, each with what it is called from its other end.
    """

    limit: int = 5
    split: Split = "equal"
    limit_by: str | None = None
    least: int = 0
    relations: Mapping[str, str] = field(default_factory=dict)


class Section(Struct, frozen=True):
    """One section of the page: which candidates it takes, its share of the budget, and how they are printed.

    A candidate goes to the first section that admits it: by the probe that found it, its kind, and whether it
    was a start, found by search or reached by walking. Empty tuples admit all. `share` is relative to the
    other sections present; `item_cap` limits one item to a fraction of the section's first budget; with
    `relax` that limit gives way in the end, when nothing else wants the room. What was walked to against a
    link of one of the types in `asides`, as a caller is, is only pointed to, with that link. With the unit
    `passage` long candidates are printed by their best passages; with `snippet` the best thirty words or so of all
    candidates are printed, in the order of their texts. A `standing` section takes the standing rules whose scope
    fits, whatever was asked, or the newest values that people gave for what is asked, and no other candidates.
    """

    name: str
    heading: str = ""
    probes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    reach: Reach = "any"
    unit: SectionUnit = "node"
    share: float = 1.0
    limit: int | None = None
    item_cap: float | None = None
    relax: bool = False
    standing: Standing = ""
    pointers: int | None = None
    asides: tuple[str, ...] = ()
    detail: tuple[Detail, ...] = LADDER
    blocks: tuple[Block, ...] = (Block("title"), Block("location"), Block("text"))
    order: Order = "score"
    when: str | None = None
    lens: str | None = None
    score: Score | None = None
    dedupe: Dedupe | None = None
    for_each: ForEach | None = None
    parts: tuple[Part, ...] = ()


class Frame(Struct, frozen=True):
    """The frame around the items. `title` and `footer` may use parameters; the footer also {items},
    {sections}, {sources} and {counted}: the number of different things that the items are about, by the fields of
    `counted` (named with | between them) and without those by nodes of the `counted_kind`, or else by their nodes.
    `sources` is how many citations are printed at the end, 0 for none."""

    title: str = "Context: {question}"
    footer: str = ""
    counted: str = ""
    sources: int = 0
    separator: bool = False
    notes: bool = True
    empty: str = "No matching nodes found."
    counted_kind: str = ""


class Fusion(Struct, frozen=True):
    """The weights by which two searches become one relevance: their calibrated scores, title terms and phrases.

    Sections that print passages order their snippets by `snippet_lexical` and `snippet_semantic`, beside the other
    parts of a node's score.
    """

    lexical: float = 0.7
    semantic: float = 0.3
    pool: int = 40
    title_weight: float = 2.0
    phrase_weight: float = 0.0
    snippet_lexical: float = 0.4
    snippet_semantic: float = 0.6


class Adapt(Struct, frozen=True):
    """A rule by which the preset `auto` chooses: of every `aspect` the first rule that holds gives its preset.

    It holds when the question has one of the `phrases` (in small letters, without apostrophes; none given: any
    question) and names as many nodes as `names` says: any number, none, one, or some.
    """

    name: str
    preset: str
    aspect: str = ""
    phrases: tuple[str, ...] = ()
    names: Literal["any", "none", "one", "some"] = "any"


class Profile(Struct, frozen=True):
    """One kind of page, as data.

    `floor` is the calibrated relevance, from 0 to 1, below which a page says that there is nothing, and
    `noise` the share of it below which a single match is left out. From the share `doubt` of it on, a question of
    several words gets a short page of what came nearest. With `sources`, nodes of others are neither found nor
    walked to, nor are those of `hidden_sources`; only who starts from one by name sees it.
    """

    name: str
    profile_version: int = 1
    description: str = ""
    max_tokens: int | None = 4000
    format: str = "markdown"
    select: Select = "share"
    floor: float = 0.0
    # A larger share drops texts that answer in other words than were asked: at 0.1 a judged page in a hundred and
    # fifty loses its answer, at 0.05 none does.
    noise: float = 0.05
    doubt: float = 1.0
    summary_only_below: int = 0
    include_fields: bool = True
    max_depth: int = 5
    lens: str = "general"
    sources: tuple[str, ...] = ()
    hidden_sources: tuple[str, ...] = ()
    frame: Frame = Frame()
    fusion: Fusion = Fusion()
    score: Score = Score()
    dedupe: Dedupe = Dedupe()
    parameters: tuple[Parameter, ...] = ()
    probes: tuple[Probe, ...] = (Probe("question"),)
    lenses: tuple[Lens, ...] = (Lens("general"),)
    sections: tuple[Section, ...] = (Section("context"),)
    presets: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    adapt: tuple[Adapt, ...] = ()

    @property
    def lens_names(self) -> frozenset[str]:
        """The names of its lenses."""
        return frozenset([lens.name for lens in self.lenses])
