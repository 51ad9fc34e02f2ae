"""The tools that the MCP server offers: their names, descriptions, arguments and the functions that answer."""

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from weft.api.reader import DIRECTIONS
from weft.interfaces.mcp import answers, learning
from weft.interfaces.mcp.answers import WHATS, Call
from weft.interfaces.mcp.arguments import schema_of
from weft.interfaces.request import CONTEXT_FIELDS, PAGE_FIELDS, SEARCH_FIELDS, RequestField, fields_for
from weft.memory import CATEGORIES, DOMAINS, OUTCOMES, ROOT_CAUSES, STRATEGIES


class ToolCard(Struct, frozen=True):
    """One tool as clients see it, and the function that answers."""

    name: str
    title: str
    description: str
    parameters: tuple[RequestField, ...]
    answer: Call
    required: tuple[str, ...] = ()
    writes: bool = False
    removes: bool = False
    repeatable: bool = True
    """Whether calling it again with the same arguments changes nothing more."""
    unlisted: tuple[RequestField, ...] = ()
    """Arguments that are taken too, but not worth the tokens of every prompt that a schema costs."""

    @property
    def taken(self) -> tuple[RequestField, ...]:
        """All arguments that a call may have."""
        return (*self.parameters, *self.unlisted)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments."""
        return schema_of(self.parameters, self.required)


_DOMAIN: Final = RequestField("domain", "text", "The kind of work.", ("area",), DOMAINS)
_STRATEGY: Final = RequestField("strategy", "text", "How it is gone about.", ("approach",), STRATEGIES)
_ID: Final = RequestField("id", "text", "The experience's id.", ("experience_id", "experience", "key"))
_FILES: Final = RequestField("files", "texts", "Files it is about.", ("file", "paths", "path"))
_ATTEMPT: Final = (
    RequestField("hypothesis", "text", "What is believed to be so.", ("belief",)),
    RequestField("action", "text", "What is going to be done.", ("do",)),
    RequestField("prediction", "text", "What will be seen if the hypothesis holds.", ("expect", "expected")),
)

PREMORTEM: Final = ToolCard(
    "premortem",
    "What went wrong before",
    "Past failures, surprises, root causes and principles of a kind of work, on one page within a budget. Call it "
    'before debugging, or when a test or build fails for the first time. Example: {"domain": "debugging"}',
    (
        _DOMAIN,
        _STRATEGY,
        RequestField("limit", "number", "How many items of each kind; 10 by default.", (), (), 1, 100),
        RequestField("max_tokens", "budget", "The budget of the page; 1500 by default.", ("budget",), least=1),
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
        RequestField("text", "text", "What to remember, in a sentence or a few.", ("memory", "content", "fact")),
        RequestField(
            "category",
            "text",
            "What kind of memory; read from its words by default.",
            ("kind", "type"),
            CATEGORIES,
        ),
        RequestField("importance", "fraction", "How much it matters, 0 to 1; 0.5 by default."),
        RequestField("tags", "texts", "Tags to give it.", ("tag",)),
        RequestField("key", "text", "Change this memory instead of adding one.", ("id", "update")),
    ),
    learning.remember,
    writes=True,
)
FORGET: Final = ToolCard(
    "forget",
    "Forget memories",
    'Removes memories by their keys. Example: {"key": "memory:7321854ce06c"}',
    (RequestField("key", "words", "The keys of memories.", ("keys", "id", "ids", "memory")),),
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
        RequestField("goal", "text", "What is to be reached.", ("objective",)),
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
        RequestField("outcome", "text", "Whether the hypothesis held.", ("status",), OUTCOMES),
        RequestField("result", "text", "What was seen.", ("observed",)),
        RequestField("surprise", "text", "What was not expected."),
        RequestField("root_cause", "text", "Why it failed.", ("cause",), ROOT_CAUSES),
        RequestField("root_cause_description", "text", "The root cause in words.", ("cause_description",)),
        RequestField("lesson", "text", "What worked.", ("what_worked",)),
        RequestField("takeaway", "text", "What to take along."),
        RequestField("automatic", "flag", "Whether a test or build told the outcome.", ("auto",)),
    ),
    learning.resolve_experience,
    ("id", "outcome"),
    writes=True,
    repeatable=False,
)

_AS_OF: Final = next(field for field in PAGE_FIELDS if field.name == "as_of")
_KEY: Final = RequestField(
    "key",
    "words",
    "What to read: FILE:LINE, FILE:10-40, a file, a symbol, a commit's hash, or a node's key, id or title.",
    ("keys", "id", "ids", "node_id", "node", "name", "uri", "handle", "title"),
)

_RARE_FIELDS: Final = frozenset(
    {"consistency", "token_model", "now", "guard", "include_fields", "blend", "parameters", "depth"}
)
"""Fields of a page that agents hardly ever need; they are in docs/mcp.md."""
_PAGE_FIELDS: Final = fields_for("mcp", CONTEXT_FIELDS)

_CONTEXT: Final = ToolCard(
    "context",
    "Everything relevant on one page",
    "Everything relevant to a question, on one page within a token budget, each item with its file and line. Ask "
    "it before reading files: how something works, what calls or tests it, which commit changed it and why, what "
    "a traceback means, what was decided, what am I changing. 500 tokens do for one place in code. "
    'Examples: {"topic": "how are expired sessions removed", "max_tokens": 2000}, '
    '{"topic": "who calls Pool.release", "max_tokens": 500}',
    tuple(field for field in _PAGE_FIELDS if field.name not in _RARE_FIELDS),
    answers.context,
    unlisted=tuple(field for field in _PAGE_FIELDS if field.name in _RARE_FIELDS),
)
TANA_CONTEXT: Final = replace(
    _CONTEXT,
    name="tana_context",
    title="Everything relevant in Tana on one page",
    description="The tool `context` under the name that Tana's users know, over notes of Tana. Example: "
    '{"topic": "SOC Defender", "lens": "meeting-prep", "max_tokens": 4000}',
)
_SEARCH: Final = ToolCard(
    "search",
    "Find places",
    "The nodes that match words or meaning best, one on a line with file:line or key; with `exact`, every line "
    'that holds a text. Examples: {"query": "refund policy", "limit": 5}, {"query": "send_all", "exact": true}',
    tuple(field for field in fields_for("mcp", SEARCH_FIELDS) if field.name not in _RARE_FIELDS),
    answers.search,
    ("query",),
    unlisted=tuple(field for field in fields_for("mcp", SEARCH_FIELDS) if field.name in _RARE_FIELDS),
)
_FETCH: Final = ToolCard(
    "fetch",
    "Read what was found",
    "Lines of a file with their numbers, the outline of a file or class, a definition, a commit, or another node "
    "whole, page by page; with `what`, the callers and other links of it, or the commits that touched it. Feed it "
    'what a page cites. Examples: {"key": "src/app.py:10-40"}, {"key": "Pool.release", "what": "links", '
    '"types": ["calls"], "direction": "in"}',
    (
        _KEY,
        RequestField(
            "what",
            "text",
            "text by default; facts is a node with all its fields.",
            ("show",),
            WHATS,
            metavar="WHAT",
        ),
        RequestField("types", "texts", "Only links of these types, such as calls.", ("type", "link")),
        RequestField("direction", "text", "Only links to it, or from it.", (), DIRECTIONS),
        RequestField("limit", "number", "How many links or commits; 30 by default.", (), (), 1, 1000),
        RequestField("page", "number", "Which page of a long text; 1 by default.", (), (), 1),
        RequestField(
            "max_tokens", "budget", "The length of a page; 8000 by default.", ("budget", "tokens"), least=50
        ),
    ),
    answers.fetch,
    ("key",),
    unlisted=(_AS_OF,),
)
_EXPLAIN: Final = ToolCard(
    "explain",
    "Why it is on the page, or not",
    "What became of every candidate of a page: its score and the parts of it, its path, its level of detail, or "
    "why it was left out. Takes what `context` takes, or the id of an earlier context. Example: "
    '{"topic": "project Atlas", "key": "notes:budget.md"}',
    (
        RequestField(
            "topic",
            "words",
            "What was asked, as for `context`.",
            ("topics", "query", "q", "question", "text", "about"),
        ),
        RequestField(
            "context_id", "text", "The id of an earlier context, instead of asking again.", ("id", "context")
        ),
        RequestField(
            "key", "words", "Only these nodes: why is it there, or why not?", ("keys", "node", "node_id")
        ),
        RequestField("limit", "number", "How many candidates to list; 40 by default.", (), (), 1, 1000),
    ),
    answers.explain,
    unlisted=fields_for("mcp", PAGE_FIELDS),
)
_LENSES: Final = ToolCard(
    "lenses",
    "Ways to look",
    "The profiles (kinds of pages) and the lenses (which links to follow, what to raise) that `context` takes, "
    "with the presets and parameters of each profile.",
    (RequestField("profile", "text", "Only the lenses of this profile.", ("name",)),),
    answers.lenses,
)
_INDEX: Final = ToolCard(
    "index",
    "Read files into the store",
    "Reads files or folders into the store: what changed is written, what is gone from them is removed. Example: "
    '{"path": "docs"}',
    (
        RequestField(
            "path", "words", "The path of a file or folder; a list reads several.", ("paths", "file", "folder")
        ),
        RequestField(
            "source", "text", "The name of the source; the folder's or file's name by default.", ("name",)
        ),
    ),
    answers.index,
    ("path",),
    writes=True,
    removes=True,
)

# The order is that of the list a client shows; the tool to call first comes first.
READING: Final = (_CONTEXT, _SEARCH, _FETCH, _EXPLAIN, _LENSES, PREMORTEM)
WRITING: Final = (_INDEX, REMEMBER, FORGET, START, UPDATE, RESOLVE)


def offered(write: bool, tana: bool = False) -> dict[str, ToolCard]:
    """Return the tools of a server by name; those that write, or that Tana's users know, only where asked for."""
    reading = (READING[0], TANA_CONTEXT, *READING[1:]) if tana else READING
    return {card.name: card for card in (reading + WRITING if write else reading)}
