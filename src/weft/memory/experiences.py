"""An experience: a goal, a hypothesis, an action and a prediction, and what came of it."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.memory.memories import short_digest
from weft.memory.vocabulary import DOMAINS, EXPERIENCE, OPEN, OUTCOMES, ROOT_CAUSES, STRATEGIES, one_of, words
from weft.model import DEFAULT_TENANT

_LONGEST: Final = 20_000
_ADVICE: Final = "Say what matters of it; the rest belongs into a file."
_VAGUE: Final = re.compile(
    r"\b(?:something|somehow|somewhere|maybe|perhaps|probably|not sure|no idea|dunno|unclear|whatever)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was believed, done and expected at one time."""

    hypothesis: str
    action: str
    prediction: str
    strategy: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RootCause:
    """Why a hypothesis failed: its category, and what happened in particular."""

    category: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What worked in the end, and what to take along."""

    what_worked: str = ""
    takeaway: str = ""


@dataclass(frozen=True, slots=True)
class Experience:
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

    @property
    def key(self) -> str:
        """The key of the node that tells all of it."""
        return f"{EXPERIENCE}:{self.id}"

    @property
    def iterations(self) -> int:
        """How many attempts there were."""
        return len(self.before) + 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an experience ended; `automatic` says that a test or build told it."""

    status: str
    result: str
    surprise: str = ""
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    automatic: bool = False


def begun(
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
    """An experience that starts now; its id is drawn from what it says, where and when."""
    said = [
        words(what, text, _LONGEST, _ADVICE)
        for what, text in (
            ("goal", goal),
            ("hypothesis", hypothesis),
            ("action", action),
            ("prediction", prediction),
        )
    ]
    return Experience(
        id=short_digest(tenant, *said, now.isoformat()),
        domain=one_of("domain", domain, DOMAINS),
        strategy=one_of("strategy", strategy, STRATEGIES),
        goal=said[0],
        hypothesis=said[1],
        action=said[2],
        prediction=said[3],
        started=now,
        attempted=now,
        tenant=tenant,
        files=files,
    )


def attempted_again(
    experience: Experience,
    now: datetime,
    *,
    hypothesis: str | None = None,
    action: str | None = None,
    prediction: str | None = None,
    strategy: str | None = None,
    files: tuple[str, ...] = (),
) -> Experience:
    """The open experience with its next attempt; the one before becomes history."""
    _check_open(experience)
    given = {"hypothesis": hypothesis, "action": action, "prediction": prediction}
    said = {name: words(name, text, _LONGEST, _ADVICE) for name, text in given.items() if text is not None}
    if strategy is not None:
        said["strategy"] = one_of("strategy", strategy, STRATEGIES)
    told = replace(experience, **said)  # type: ignore[arg-type]
    if told != experience:
        told = replace(told, before=(*experience.before, _attempt(experience)), attempted=now)
    return replace(told, files=tuple(dict.fromkeys([*experience.files, *files])))


def ended(experience: Experience, outcome: Outcome, now: datetime) -> Experience:
    """The open experience, resolved."""
    _check_open(experience)
    status = one_of("outcome", outcome.status, OUTCOMES)
    cause = outcome.root_cause
    if cause is not None:
        cause = replace(cause, category=one_of("root cause", cause.category, ROOT_CAUSES))
    told = replace(
        experience,
        status=status,
        result=outcome.result.strip(),
        surprise=outcome.surprise.strip(),
        root_cause=cause,
        lesson=outcome.lesson,
        resolved=now,
    )
    return replace(told, tier=_tier(told, outcome.automatic))


def is_vague(hypothesis: str) -> bool:
    """Whether a hypothesis says too little to be proven wrong."""
    return len(hypothesis.split()) < _FEWEST_WORDS or bool(_VAGUE.search(hypothesis))


def _tier(experience: Experience, automatic: bool) -> str:
    """How far the outcome can be relied on."""
    if experience.status == "abandoned":
        return "abandoned"
    if automatic:
        return "gold"
    return "bronze" if is_vague(experience.hypothesis) else "silver"


def _check_open(experience: Experience) -> None:
    if experience.status != OPEN:
        when = experience.resolved.isoformat(timespec="seconds") if experience.resolved else "before"
        raise AlreadyResolved(
            f"Experience {experience.id} was resolved as {experience.status} ({when}) and stays so. "
            "Start a new one for another attempt."
        )


class AlreadyResolved(InvalidInput):
    """An experience that has its outcome is to be changed."""


def _attempt(experience: Experience) -> Attempt:
    return Attempt(
        experience.hypothesis,
        experience.action,
        experience.prediction,
        experience.strategy,
        experience.attempted,
    )
