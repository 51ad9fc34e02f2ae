"""Describe experiences: a goal, a hypothesis, an action and a prediction, and later the outcome."""

import re
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.memory.memories import short_digest
from weft.memory.vocabulary import (
    DOMAINS,
    EXPERIENCE,
    OPEN,
    OUTCOMES,
    ROOT_CAUSES,
    STRATEGIES,
    check_text,
    check_word,
)
from weft.model import DEFAULT_TENANT

_MAX_CHARACTERS: Final = 20_000
"""Characters of one part of an experience: room for a stack trace, but not for a whole log."""
_ADVICE: Final = "Say what matters of it; the rest belongs into a file."
"""The advice in the error about a text that is too long."""
_VAGUE: Final = re.compile(
    r"\b(?:something|somehow|somewhere|maybe|perhaps|probably|not sure|no idea|dunno|unclear|whatever)\b",
    re.IGNORECASE,
)
"""Words by which a hypothesis avoids saying anything that could be wrong."""
_MIN_HYPOTHESIS_WORDS: Final = 4
"""A hypothesis with fewer words, such as "the cache", does not say what would prove it wrong."""


class AlreadyResolved(InvalidInput):
    """Raised when an experience that has its outcome is to be changed."""


class Attempt(Struct, frozen=True):
    """One attempt: the hypothesis, the action, the prediction and the strategy at one time."""

    hypothesis: str
    action: str
    prediction: str
    strategy: str
    at: datetime


class RootCause(Struct, frozen=True):
    """The reason why a hypothesis failed: its category, and what happened in particular."""

    category: str
    description: str = ""


class Lesson(Struct, frozen=True):
    """The lesson of an experience: what worked in the end, and what to remember."""

    what_worked: str = ""
    takeaway: str = ""


class Experience(Struct, frozen=True):
    """One attempt at a goal with the attempts before it, open or resolved."""

    id: str
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    started: datetime
    attempted: datetime
    tenant: str = DEFAULT_TENANT
    status: str = OPEN
    result: str = ""
    surprise: str = ""
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    tier: str = ""
    resolved: datetime | None = None
    before: tuple[Attempt, ...] = ()
    files: tuple[str, ...] = ()
    tier_reason: str = ""
    """Why its outcome can be relied on as far as `tier` says."""
    withdrawn: tuple[str, ...] = ()
    """Outcomes that were taken back, in words."""

    @property
    def key(self) -> str:
        """The key of the node that holds all of it."""
        return f"{EXPERIENCE}:{self.id}"

    @property
    def iterations(self) -> int:
        """The number of attempts so far."""
        return len(self.before) + 1


class Outcome(Struct, frozen=True):
    """The outcome of an experience; `automatic` says that a test or build reported it."""

    status: str
    result: str
    surprise: str = ""
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    automatic: bool = False
    witness: str = ""
    """The test or build that reported it, where that is known."""


def new_experience(
    *,
    domain: str,
    strategy: str,
    goal: str,
    hypothesis: str,
    action: str,
    prediction: str,
    now: datetime,
    tenant: str = DEFAULT_TENANT,
    files: tuple[str, ...] = (),
) -> Experience:
    """Return an experience that starts now; its id is a digest of its words, its tenant and the time."""
    parts = (("goal", goal), ("hypothesis", hypothesis), ("action", action), ("prediction", prediction))
    # Checked before the digest is made: blanks around a text must not change the id.
    texts = {name: check_text(name, text, _MAX_CHARACTERS, _ADVICE) for name, text in parts}
    return Experience(
        id=short_digest(tenant, *texts.values(), now.isoformat()),
        domain=check_word("domain", domain, DOMAINS),
        strategy=check_word("strategy", strategy, STRATEGIES),
        goal=texts["goal"],
        hypothesis=texts["hypothesis"],
        action=texts["action"],
        prediction=texts["prediction"],
        started=now,
        attempted=now,
        tenant=tenant,
        files=files,
    )


def add_attempt(
    experience: Experience,
    now: datetime,
    *,
    hypothesis: str | None = None,
    action: str | None = None,
    prediction: str | None = None,
    strategy: str | None = None,
    files: tuple[str, ...] = (),
) -> Experience:
    """Return the open experience with its next attempt; the one before becomes history."""
    _check_open(experience)
    parts = (("hypothesis", hypothesis), ("action", action), ("prediction", prediction))
    # Parts that are not given stay as they were in the attempt before.
    changes = {name: check_text(name, text, _MAX_CHARACTERS, _ADVICE) for name, text in parts if text is not None}
    if strategy is not None:
        changes["strategy"] = check_word("strategy", strategy, STRATEGIES)
    updated = replace(experience, **changes)
    # Naming further files alone is no further attempt.
    if updated != experience:
        previous = Attempt(
            experience.hypothesis,
            experience.action,
            experience.prediction,
            experience.strategy,
            experience.attempted,
        )
        updated = replace(updated, before=(*experience.before, previous), attempted=now)
    # Files add up over attempts: the experience touched all of them.
    return replace(updated, files=tuple(dict.fromkeys([*experience.files, *files])))


def apply_outcome(experience: Experience, outcome: Outcome, now: datetime) -> Experience:
    """Return the open experience, resolved with the outcome."""
    _check_open(experience)
    status = check_word("outcome", outcome.status, OUTCOMES)
    cause = outcome.root_cause
    if cause is not None:
        cause = replace(cause, category=check_word("root cause", cause.category, ROOT_CAUSES))
    tier, reason = _confidence_tier(status, outcome, experience.hypothesis)
    return replace(
        experience,
        status=status,
        result=outcome.result.strip(),
        surprise=outcome.surprise.strip(),
        root_cause=cause,
        lesson=outcome.lesson,
        tier=tier,
        tier_reason=reason,
        resolved=now,
    )


def withdraw_outcome(experience: Experience) -> Experience:
    """Return the resolved experience open again; what it was resolved as stays on record."""
    if experience.status == OPEN:
        raise InvalidInput(
            f"Experience {experience.id} is open: it has no outcome to take back. Resolve it first."
        )
    day = f" on {experience.resolved:%Y-%m-%d}" if experience.resolved else ""
    result = f": {experience.result}" if experience.result else ""
    return replace(
        experience,
        status=OPEN,
        result="",
        surprise="",
        root_cause=None,
        lesson=None,
        tier="",
        tier_reason="",
        resolved=None,
        withdrawn=(*experience.withdrawn, f"{experience.status} ({experience.tier}){day}{result}"),
    )


def _check_open(experience: Experience) -> None:
    if experience.status != OPEN:
        when = experience.resolved.isoformat(timespec="seconds") if experience.resolved else "before"
        raise AlreadyResolved(
            f"Experience {experience.id} was resolved as {experience.status} ({when}) and stays so. "
            "Start a new one for another attempt."
        )


def _confidence_tier(status: str, outcome: Outcome, hypothesis: str) -> tuple[str, str]:
    """Return how far the outcome can be relied on, one of TIERS, and why."""
    if status == "abandoned":
        return "abandoned", "it was given up"
    # A test or a build is a better witness than the agent that made the change.
    if outcome.automatic:
        return "gold", f"reported by {outcome.witness or 'a test or build'}"
    if is_vague(hypothesis):
        return "bronze", "resolved by hand, and the hypothesis says too little to be proven wrong"
    return "silver", "resolved by hand"


def is_vague(hypothesis: str) -> bool:
    """Return whether a hypothesis says too little to be proven wrong."""
    return len(hypothesis.split()) < _MIN_HYPOTHESIS_WORDS or bool(_VAGUE.search(hypothesis))
