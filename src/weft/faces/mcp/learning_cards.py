"""The tools of the learning memory: what they are called, what they say of themselves and what they take."""

from typing import Final

from weft.faces.mcp import learned
from weft.faces.mcp.arguments import Parameter
from weft.faces.mcp.card import ToolCard
from weft.learning import CATEGORIES, DOMAINS, OUTCOMES, ROOT_CAUSES, STRATEGIES

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
    learned.premortem,
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
    learned.remember,
    writes=True,
)
FORGET: Final = ToolCard(
    "forget",
    "Forget memories",
    'Removes memories by their keys. Example: {"key": "memory:7321854ce06c"}',
    (Parameter("key", "words", "The keys of memories.", ("keys", "id", "ids", "memory")),),
    learned.forget,
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
    learned.start_experience,
    ("domain", "strategy", "goal", "hypothesis", "action", "prediction"),
    writes=True,
    repeatable=False,
)
UPDATE: Final = ToolCard(
    "update_experience",
    "The next attempt",
    "Writes down another attempt at an open experience; the one before is kept as its history.",
    (_ID, *_ATTEMPT, _STRATEGY, _FILES),
    learned.update_experience,
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
    learned.resolve_experience,
    ("id", "outcome"),
    writes=True,
    repeatable=False,
)
