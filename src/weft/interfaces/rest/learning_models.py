"""The bodies of the routes about memories, experiences, values and premortems."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from weft.interfaces.rest.requests import Body, Known, Name, Tags, Tenants
from weft.memory import AXES, CATEGORIES, DOMAINS, OPEN, OUTCOMES, ROOT_CAUSES, STRATEGIES
from weft.memory.memories import MAX_MEMORY_CHARACTERS

_WORD_CHARACTER: Final = r"\w"
"""A pattern that a text must contain: one of punctuation alone says nothing, and searches could not find it."""

_MAX_TEXT_CHARACTERS: Final = 20_000
"""Characters of a goal, a result and so on: some pages, which a page of any budget can excerpt."""


def _known(allowed: Sequence[str]) -> AfterValidator:
    """Return a check that a string is one of a closed vocabulary."""
    # A check of ours instead of Literal, because its message lists what is allowed in our words.

    def check(word: str) -> str:
        if word not in allowed:
            raise PydanticCustomError("word", "one of: {allowed}", {"allowed": ", ".join(allowed)})
        return word

    return AfterValidator(check)


def _enum(allowed: Sequence[str]) -> Any:
    """Return the field of a closed vocabulary, whose description lists the allowed words."""
    return Field(json_schema_extra={"enum": list(allowed)})


Category = Annotated[str, _known(CATEGORIES), _enum(CATEGORIES)]
Domain = Annotated[str, _known(DOMAINS), _enum(DOMAINS)]
Strategy = Annotated[str, _known(STRATEGIES), _enum(STRATEGIES)]
Outcome = Annotated[str, _known(OUTCOMES), _enum(OUTCOMES)]
Status = Annotated[str, _known((OPEN, *OUTCOMES)), _enum((OPEN, *OUTCOMES))]
RootCause = Annotated[str, _known(ROOT_CAUSES), _enum(ROOT_CAUSES)]
Axis = Annotated[str, _known(AXES), _enum(AXES)]
Words = Annotated[str, Field(max_length=_MAX_TEXT_CHARACTERS, pattern=_WORD_CHARACTER)]
OptionalWords = Annotated[str, Field(max_length=_MAX_TEXT_CHARACTERS)]
MemoryText = Annotated[str, Field(max_length=MAX_MEMORY_CHARACTERS, pattern=_WORD_CHARACTER)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Limit = Annotated[int, Field(ge=1, le=200)]


class MemoryInput(Body):
    """Something worth knowing next time."""

    tenant_id: Name
    text: MemoryText
    category: Category | None = None
    importance: Fraction | None = None
    tags: Tags = Field(default_factory=list)


class MemoryChange(Body):
    """Changes to a memory; fields left out stay."""

    tenant_id: Name
    text: MemoryText | None = None
    category: Category | None = None
    importance: Fraction | None = None
    tags: Tags | None = None


class MemoryListing(Known):
    """A selection of memories to list; with `query` they are searched."""

    tenant_id: Name
    query: Annotated[str, Field(max_length=2_000)] | None = None
    category: Category | None = None
    limit: Limit = 50


class ExperienceInput(Body):
    """An attempt that is about to be made."""

    tenant_id: Name
    domain: Domain
    strategy: Strategy
    goal: Words
    hypothesis: Words
    action: Words
    prediction: Words
    files: Tags = Field(default_factory=list)


class ExperienceChange(Body):
    """The next attempt of an open experience."""

    tenant_id: Name
    hypothesis: Words | None = None
    action: Words | None = None
    prediction: Words | None = None
    strategy: Strategy | None = None
    files: Tags = Field(default_factory=list)


class Resolution(Body):
    """The outcome of an experience."""

    tenant_id: Name
    outcome: Outcome
    result: OptionalWords = ""
    surprise: OptionalWords = ""
    root_cause: RootCause | None = None
    root_cause_description: OptionalWords = ""
    lesson: OptionalWords = ""
    takeaway: OptionalWords = ""
    automatic: bool = False


class ExperienceListing(Known):
    """A selection of experiences to list."""

    tenant_id: Name
    domain: Domain | None = None
    strategy: Strategy | None = None
    outcome: Status | None = None
    limit: Limit = 50


class ValueListing(Known):
    """A selection of values to list."""

    tenant_id: Name
    axis: Axis | None = None
    limit: Limit = 50


class PremortemRequest(Body):
    """The kind of work that is about to begin."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"domain": "debugging", "tenant_ids": ["default"]}]})

    domain: Domain
    strategy: Strategy | None = None
    tenant_ids: Tenants = Field(default_factory=list, description="Tenants to read; none reads nothing.")
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1500


class MemoryOutput(BaseModel):
    """A memory."""

    key: str
    tenant_id: str
    text: str
    category: str
    importance: float
    tags: list[str]
    created: str
    updated: str
    use_count: int
    last_used: str | None
    history: list[dict[str, str]]


class ContradictionOutput(BaseModel):
    """A memory that the new one may contradict."""

    key: str
    other: str
    other_text: str
    why: str


class RememberedOutput(BaseModel):
    """A memory as it was stored."""

    memory: MemoryOutput
    merged: bool
    superseded: str
    contradictions: list[ContradictionOutput]
    redacted: list[str]


class MemoryPage(BaseModel):
    """Memories."""

    memories: list[MemoryOutput]


class ExperienceOutput(BaseModel):
    """An experience with every attempt."""

    id: str
    tenant_id: str
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    status: str
    result: str
    surprise: str
    root_cause: dict[str, str] | None
    lesson: dict[str, str] | None
    tier: str
    started: str
    resolved: str | None
    iterations: int
    before: list[dict[str, str]]
    files: list[str]


class ExperiencePage(BaseModel):
    """Experiences."""

    experiences: list[ExperienceOutput]


class ValueOutput(BaseModel):
    """A value."""

    key: str
    axis: str
    cluster_id: str
    cluster_size: int
    text: str
    exemplar: str
    similarity_to_centroid: float
    domain: str
    strategy: str


class ValuePage(BaseModel):
    """Values."""

    values: list[ValueOutput]


class ItemOutput(BaseModel):
    """One item of a page."""

    source: str
    content: str
    relevance: float
    metadata: dict[str, Any]


class FormattedOutput(BaseModel):
    """A page within its budget."""

    markdown: str
    items: list[ItemOutput]
    token_count: int
    sources_used: dict[str, int]
    budget_exceeded: bool
    notes: list[str]
