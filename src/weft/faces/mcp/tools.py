"""The tools: what they are called, what they say of themselves, what they take and who answers."""

from typing import Final

from weft.faces.mcp import answers
from weft.faces.mcp.arguments import Parameter
from weft.faces.mcp.card import ToolCard
from weft.faces.mcp.learning_cards import FORGET, PREMORTEM, REMEMBER, RESOLVE, START, UPDATE
from weft.model import CONSISTENCIES

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
