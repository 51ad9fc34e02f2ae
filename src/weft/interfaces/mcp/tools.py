"""A tool as clients see it."""

from typing import Any, Final

from weft.frozen import dataclass
from weft.interfaces.mcp import answers, learning
from weft.interfaces.mcp.answers import Call
from weft.interfaces.mcp.arguments import Parameter, schema_of
from weft.memory import CATEGORIES, DOMAINS, OUTCOMES, ROOT_CAUSES, STRATEGIES
from weft.model import CONSISTENCIES


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool as clients see it, and the function that answers."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    answer: Call
    required: tuple[str, ...] = ()
    writes: bool = False
    removes: bool = False
    repeatable: bool = True
    """Whether calling it again with the same arguments changes nothing more."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return schema_of(self.parameters, self.required)


_DOMAIN: Final = Parameter("domain", "text", "The kind of work.", ("area",), DOMAINS)
_STRATEGY: Final = Parameter("strategy", "text", "How it is gone about.", ("approach",), STRATEGIES)
_ID: Final = Parameter("id", "text", "The experience's id.", ("experience_id", "experience", "key"))
_FILES: Final = Parameter("files", "texts", "Files it is about.", ("file", "paths", "path"))
_ATTEMPT: Final = (
    Parameter("hypothesis", "text", "What is believed to be so.", ("belief",)),
    Parameter("action", "text", "What is going to be done.", ("do",)),
    Parameter("prediction", "text", "What will be seen if the hypothesis holds.", ("expect", "expected")),
)

PREMORTEM: Final = ToolCard(
    "premortem",
    "What went wrong before",
    "Past failures, surprises, root causes and principles of a kind of work, on one page within a budget. Call it "
    'before debugging, or when a test or build fails for the first time. Example: {"domain": "debugging"}',
    (
        _DOMAIN,
        _STRATEGY,
        Parameter("limit", "number", "How many items of each kind; 10 unless told.", (), (), 1, 100),
        Parameter("max_tokens", "budget", "The budget of the page; 1500 unless told.", ("budget",), least=1),
    ),
    learning.premortem,
    ("domain",),
)
REMEMBER: Final = ToolCard(
    "remember",
    "Remember something",
    "Stores a fact, preference, decision, error or workflow worth knowing next time. What says the same is "
    'merged, what says otherwise is reported. Example: {"text": "Tests need Redis on port 6380"}',
    (
        Parameter("text", "text", "What to remember, in a sentence or a few.", ("memory", "content", "fact")),
        Parameter("category", "text", "What kind of memory; fact unless told.", ("kind", "type"), CATEGORIES),
        Parameter("importance", "fraction", "How much it matters, 0 to 1; 0.5 unless told."),
        Parameter("tags", "texts", "Tags to give it.", ("tag",)),
        Parameter("key", "text", "Change this memory instead of adding one.", ("id", "update")),
    ),
    learning.remember,
    writes=True,
)
FORGET: Final = ToolCard(
    "forget",
    "Forget memories",
    'Removes memories by their keys. Example: {"key": "memory:7321854ce06c"}',
    (Parameter("key", "words", "The keys of memories.", ("keys", "id", "ids", "memory")),),
    learning.forget,
    ("key",),
    writes=True,
    removes=True,
)
START: Final = ToolCard(
    "start_experience",
    "Before an attempt",
    "Writes down what is about to be tried: a goal, a hypothesis, an action and a prediction. Resolve it when the "
    "outcome is known, and later attempts learn from it.",
    (
        _DOMAIN,
        _STRATEGY,
        Parameter("goal", "text", "What is to be reached.", ("objective",)),
        *_ATTEMPT,
        _FILES,
    ),
    learning.start_experience,
    ("domain", "strategy", "goal", "hypothesis", "action", "prediction"),
    writes=True,
    repeatable=False,
)
UPDATE: Final = ToolCard(
    "update_experience",
    "The next attempt",
    "Writes down another attempt at an open experience; the one before is kept as its history.",
    (_ID, *_ATTEMPT, _STRATEGY, _FILES),
    learning.update_experience,
    ("id",),
    writes=True,
)
RESOLVE: Final = ToolCard(
    "resolve_experience",
    "After an attempt",
    "Writes down what came of an experience, once. Say what was surprising, why it failed and what worked.",
    (
        _ID,
        Parameter("outcome", "text", "Whether the hypothesis held.", ("status",), OUTCOMES),
        Parameter("result", "text", "What was seen.", ("observed",)),
        Parameter("surprise", "text", "What was not expected."),
        Parameter("root_cause", "text", "Why it failed.", ("cause",), ROOT_CAUSES),
        Parameter("root_cause_description", "text", "The root cause in words.", ("cause_description",)),
        Parameter("lesson", "text", "What worked.", ("what_worked",)),
        Parameter("takeaway", "text", "What to take along."),
        Parameter("automatic", "flag", "Whether a test or build told the outcome.", ("auto",)),
    ),
    learning.resolve_experience,
    ("id", "outcome"),
    writes=True,
    repeatable=False,
)

_TOPIC: Final = Parameter(
    "topic",
    "words",
    "A question, or the key, id or exact title of a node to start from; a list starts from several.",
    (
        "topics",
        "query",
        "q",
        "question",
        "text",
        "input",
        "prompt",
        "node",
        "node_id",
        "id",
        "key",
        "start",
        "about",
    ),
)
_AS_OF: Final = Parameter(
    "as_of", "number", "Only what is known up to this point of the sequence, such as a chapter."
)
_FILTERS: Final = (
    Parameter("kinds", "texts", "Only nodes of these kinds, such as note or person.", ("kind", "types", "type")),
    Parameter("tags", "texts", "Only nodes with these tags.", ("tag", "supertags", "supertag")),
    Parameter("sources", "texts", "Only nodes of these sources.", ("source",)),
    _AS_OF,
    Parameter(
        "consistency", "text", "How fresh replicas and clusters must be; strong unless told.", (), CONSISTENCIES
    ),
)
_PAGE: Final = (
    Parameter("lens", "text", "A way to look, such as writing, coding, planning or meeting-prep; see `lenses`."),
    Parameter(
        "depth",
        "number",
        "How many links to follow from what is found; most profiles take 1 to 5.",
        ("max_depth", "hops"),
        least=1,
        most=10,
    ),
    Parameter(
        "max_tokens",
        "budget",
        "The budget of the whole page; 4000 unless the profile says otherwise. It is never exceeded.",
        ("token_budget", "budget", "tokens", "max"),
        least=1,
    ),
    Parameter(
        "format",
        "text",
        "How the page is written.",
        ("output_format", "output"),
        ("markdown", "xml", "plain", "json"),
    ),
    Parameter("include_fields", "flag", "Whether structured fields are printed.", ("fields", "with_fields")),
    Parameter("profile", "text", "The kind of page, such as general or notes; see `lenses`."),
    Parameter(
        "blend",
        "text",
        "With several topics: the share of the page each gets, such as 60/40, or equal.",
        ("shares",),
    ),
    Parameter("preset", "text", "One of the profile's presets."),
    Parameter("parameters", "mapping", "Parameters of the profile, by name.", ("set", "params", "settings")),
    *_FILTERS,
    Parameter("now", "text", "The present, in ISO 8601; for pages that must come out the same later.", ("time",)),
    Parameter("token_model", "text", "The tokenizer that counts; cl100k_base unless told.", ("tokenizer",)),
)
_SESSION: Final = Parameter(
    "session",
    "text",
    "A name for this conversation: what it already received is left out, and the page says so.",
    ("session_id", "session_name", "conversation", "conversation_id"),
)
_KEY: Final = Parameter(
    "key",
    "words",
    "Keys, ids or titles of nodes, as search and context print them.",
    ("keys", "id", "ids", "node_id", "node", "name", "uri", "handle", "title"),
)

_CONTEXT: Final = ToolCard(
    "context",
    "Everything relevant on one page",
    "Everything relevant about a topic, gathered from search and links, ranked, and fitted into a token budget, "
    "with sources. Use it before a task that needs what is known here. Example: "
    '{"topic": "project Atlas", "lens": "planning", "max_tokens": 4000}',
    (_TOPIC, *_PAGE, _SESSION),
    answers.context,
)
_SEARCH: Final = ToolCard(
    "search",
    "Find nodes",
    "The nodes that match words or meaning best: score, kind, title and key, one on a line. Use it to find a key "
    'for `fetch` or a start for `context`. Example: {"query": "refund policy", "limit": 5}',
    (
        Parameter("query", "words", "What to look for.", ("q", "question", "topic", "text", "search", "input")),
        Parameter("limit", "number", "How many; 10 unless told.", ("max_results", "top_k", "k", "n"), (), 1, 200),
        Parameter("match", "text", "By words, by meaning, or both.", ("mode",), ("hybrid", "bm25", "vector")),
        *_FILTERS,
    ),
    answers.search,
    ("query",),
)
_FETCH: Final = ToolCard(
    "fetch",
    "Read nodes whole",
    "A node whole, with its facts, fields and text, and of a story's entity its relations and every text that "
    "names it; long ones page by page. Use it when a page shows only an excerpt, a pointer or [more: KEY]. "
    ' Example: {"key": "notes:people/mara.md"}',
    (
        _KEY,
        Parameter("page", "number", "Which page of a long text; 1 unless told.", (), (), 1),
        Parameter(
            "max_tokens", "budget", "The length of a page; 8000 unless told.", ("budget", "tokens"), least=50
        ),
        _AS_OF,
    ),
    answers.fetch,
    ("key",),
)
_EXPLAIN: Final = ToolCard(
    "explain",
    "Why it is on the page, or not",
    "What became of every candidate of a page: its score and the parts of it, its path, its level of detail, or "
    "why it was left out. Takes what `context` takes, or the id of an earlier context. Example: "
    '{"topic": "project Atlas", "key": "notes:budget.md"}',
    (
        Parameter(
            "topic",
            "words",
            "What was asked, as for `context`.",
            ("topics", "query", "q", "question", "text", "about"),
        ),
        Parameter(
            "context_id", "text", "The id of an earlier context, instead of asking again.", ("id", "context")
        ),
        Parameter("key", "words", "Only these nodes: why is it there, or why not?", ("keys", "node", "node_id")),
        Parameter("limit", "number", "How many candidates to list; 40 unless told.", (), (), 1, 1000),
        *_PAGE,
    ),
    answers.explain,
)
_LENSES: Final = ToolCard(
    "lenses",
    "Ways to look",
    "The profiles (kinds of pages) and the lenses (which links to follow, what to raise) that `context` takes, "
    "with the presets and parameters of each profile.",
    (Parameter("profile", "text", "Only the lenses of this profile.", ("name",)),),
    answers.lenses,
)
_INDEX: Final = ToolCard(
    "index",
    "Read files into the store",
    "Reads files or folders into the store: what changed is written, what is gone from them is removed. Example: "
    '{"path": "docs"}',
    (
        Parameter(
            "path", "words", "The path of a file or folder; a list reads several.", ("paths", "file", "folder")
        ),
        Parameter("source", "text", "The name of the source; the folder's or file's name unless told.", ("name",)),
    ),
    answers.index,
    ("path",),
    writes=True,
    removes=True,
)

READING: Final = (_CONTEXT, _SEARCH, _FETCH, _EXPLAIN, _LENSES, PREMORTEM)
WRITING: Final = (_INDEX, REMEMBER, FORGET, START, UPDATE, RESOLVE)


def offered(write: bool) -> dict[str, ToolCard]:
    """The tools of a server by name; those that write only where that was asked for."""
    return {card.name: card for card in (READING + WRITING if write else READING)}
