"""What came of a test or build, by its exit code and by what it printed."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from weft.interfaces.hooks.commands import Run
from weft.memory import OPEN, AlreadyResolved, Experience, Outcome
from weft.memory.experience_store import list_experiences, resolve_experience

if TYPE_CHECKING:
    from weft.api import Weft


Verdict = Literal["passed", "failed"]

_FAILED: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED\b|^FAIL\b|^--- FAIL|test result: FAILED"
    r"|error: could not compile|\berror TS\d+|^npm (?:ERR!|error)|^make(?:\[\d+\])?: \*\*\*|BUILD FAIL(?:ED|URE)"
    r"|Build FAILED|^FAILURES!|Failures: [1-9]|Errors: [1-9]|tests failed out of|: (?:fatal )?error:",
    re.M,
)
_PASSED: Final = re.compile(
    r"\b[1-9]\d* (?:passed|passing)\b|^OK\b|^ok\s+\S+|test result: ok|\b0 fail(?:ures|ed)\b|100% tests passed"
    r"|BUILD SUCCESS|Build succeeded|Found 0 errors|[Cc]ompiled successfully|built in \d"
    r"|Finished .*(?:target|profile)",
    re.M,
)
_COUNTS: Final = re.compile(
    r"\d+ (?:passed|passing|failed|failing|failures?|errors?)\b|Tests run: \d|: \d+ tests?\b"
)
_NOTHING_RAN: Final = re.compile(r"no tests ran|collected 0 items|No tests found|no test files", re.I)
_EXIT_CODE: Final = re.compile(r"\b(?:exit code|status code)\s+(\d+)", re.I)
_STOPPED: Final = re.compile(r"\btimed out\b|\bcommand not found\b", re.I)
_NO_OUTCOME: Final = {124, 126, 127, 130, 137, 143}
"""Exit codes of a command that was stopped or could not be started."""
_DETAIL: Final = re.compile(
    r"^(?:FAILED|ERROR|--- FAIL:) +.+|(?<=^E  ) *.+|^.*\berror(?:\[\w+\]| TS\d+)?: .+"
    r"|^\w*(?:Error|Exception): .+|^\s*● .+",
    re.M,
)
_DECORATION: Final = " \t=-─━*"
_LONGEST_LINE: Final = 240


def verdict(run: Run, failed: bool, output: str) -> Verdict | None:
    """What came of a test or build, or None where neither its exit code nor its output tells."""
    if _NOTHING_RAN.search(output):
        return None
    said: Verdict | None = "failed" if _FAILED.search(output) else "passed" if _PASSED.search(output) else None
    if run.hidden:
        return said
    if not failed:
        return "failed" if said == "failed" else "passed"
    code = _EXIT_CODE.search(output[:200])
    if _STOPPED.search(output[:200]) or (code is not None and int(code[1]) in _NO_OUTCOME):
        return None
    return "passed" if run.followed and said == "passed" else "failed"


def summary(output: str) -> str:
    """The line in which a test or build says what came of it: the last that counts, or speaks of it, or any."""
    lines = [line.strip(_DECORATION) for line in output.splitlines()]
    counting = [line for line in lines if _COUNTS.search(line)]
    telling = counting or [line for line in lines if _FAILED.search(line) or _PASSED.search(line)]
    return next((line[:_LONGEST_LINE] for line in reversed(telling or lines) if line), "")


def detail(output: str) -> str:
    """The first line that says what went wrong, or nothing."""
    found = _DETAIL.search(output)
    return found[0].strip(_DECORATION)[:_LONGEST_LINE] if found else ""


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
