"""The outcome of a test or build, told to the experience that waits for one."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from weft.experiencing import list_experiences, resolve_experience
from weft.faces.hooks.commands import Run
from weft.faces.hooks.verdicts import Verdict, detail, summary
from weft.learning import OPEN, AlreadyResolved, Experience, Outcome

if TYPE_CHECKING:
    from weft.faces.library import Weft

_LOOKED_AT: Final = 100
_ID: Final = re.compile(r"\b[0-9a-f]{12}\b")
_FAILS: Final = re.compile(r"\b(?:fail(?:s|ed|ure|ures|ing)?|breaks?|crash(?:es)?|raises?)\b", re.I)
_SUCCEEDS: Final = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succeeds?|green|works?|builds?|compiles?|no|not|never|without|stops?|longer|0)\b|n't\b",
    re.I,
)


def claim_started(weft: "Weft", session: str, output: str, tenant: str) -> None:
    """Remember which session started an experience, so that no other session's tests decide it."""
    said = set(_ID.findall(output))
    for experience in _open(weft, tenant):
        if experience.id in said:
            weft.contexts.claim(session, experience.key)


def waiting(weft: "Weft", session: str, tenant: str) -> Experience | None:
    """The open experience that the session's tests decide: its own latest, or the only one that is nobody's."""
    found = _open(weft, tenant)
    owners = {each.id: weft.contexts.claimants(each.key) for each in found}
    own = [each for each in found if session in owners[each.id]]
    if own:
        return max(own, key=lambda each: (each.attempted, each.id))
    free = [each for each in found if not owners[each.id]]
    return free[0] if len(free) == 1 else None


def decide(weft: "Weft", experience: Experience, run: Run, came: Verdict, output: str, now: datetime) -> str:
    """Resolve the experience by what came of a test or build, and return a line about it."""
    expected = "failed" if expects_failure(experience.prediction) else "passed"
    confirmed = came == expected
    told = Outcome(
        status="confirmed" if confirmed else "falsified",
        result=": ".join(part for part in (f"`{run.words}` {came}", summary(output)) if part),
        surprise="" if confirmed else detail(output),
        automatic=True,
    )
    try:
        ended = resolve_experience(weft.workshop(), experience.id, told, now=now, tenant=experience.tenant)
    except AlreadyResolved:
        # Somebody was quicker, by hand or from another session: the first outcome stays.
        return ""
    return f"Experience {ended.id} ({ended.goal}) is resolved as {ended.status}, {ended.tier}: {ended.result}"


def expects_failure(prediction: str) -> bool:
    """Whether a prediction says that the test or build will fail, as one does who reproduces an error."""
    return bool(_FAILS.search(prediction)) and not _SUCCEEDS.search(prediction)


def _open(weft: "Weft", tenant: str) -> tuple[Experience, ...]:
    return list_experiences(weft.workshop(), status=OPEN, limit=_LOOKED_AT, tenant=tenant)
