"""Judge a test or build by its exit code and output, and resolve the experience that waits for it."""

import os
import re
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from weft.history.sessions import Claims
from weft.interfaces.hooks.commands import Run
from weft.memory import OPEN, AlreadyResolved, Experience, Outcome
from weft.memory.experience_store import list_experiences, resolve_experience

if TYPE_CHECKING:
    from weft.api import Weft


Verdict = Literal["passed", "failed"]

# --- the output of test runners and compilers --------------------------------------------------------------

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
_DID_NOT_RUN: Final = re.compile(
    r"ERROR collecting|errors? during collection|ImportError while|^E?\s*(?:ModuleNotFoundError|ImportError)\b"
    r"|^ERROR: (?:file or directory )?not found|^ERROR: usage|unrecognized arguments|^usage: |INTERNALERROR"
    r"|\[(?:build|setup) failed\]|Test suite failed to run|Cannot find module|No module named|[Mm]issing script"
    r"|No rule to make target|no such (?:command|subcommand|file or directory)|unknown (?:option|flag|command)"
    r"|could not find `Cargo\.toml`|cannot find package|no required module provides|is not recognized as",
    re.M | re.I,
)
"""The words of a runner that could not begin: nothing was tested, so nothing was proven."""
_NOT_COMPILED: Final = re.compile(
    r"could not compile|compilation (?:failed|terminated|error)|: (?:fatal )?error:", re.I
)
"""The words of a test whose code did not compile, which is the outcome of a build only."""
_TESTS_FAILED: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failing)\b|^--- FAIL|test result: FAILED|Failures: [1-9]", re.M
)
"""Words that are printed only after tests have run and failed."""
_EXIT_CODE: Final = re.compile(r"\b(?:exit code|status code)\s+(\d+)", re.I)
_NOT_RUN: Final = re.compile(r"\btimed out\b|\bcommand not found\b", re.I)
_CODES_WITHOUT_OUTCOME: Final = {124, 126, 127, 130, 137, 143}
"""Exit codes of a command that was stopped or could not be started."""
_CLIENT_MESSAGE_CHARACTERS: Final = 200
"""How far into the output the client's own words about the exit code reach; later ones are the program's."""
_ERROR_LINE: Final = re.compile(
    r"^(?:FAILED|ERROR|--- FAIL:) +.+|(?<=^E  ) *.+|^.*\berror(?:\[\w+\]| TS\d+)?: .+"
    r"|^\w*(?:Error|Exception): .+|^\s*● .+",
    re.M,
)
_DECORATION: Final = " \t=-─━*"
_MAX_LINE_CHARACTERS: Final = 240
"""Characters kept of a line of output: it becomes part of an experience, which pages print."""

# --- experiences -------------------------------------------------------------------------------------------

_MAX_OPEN_EXPERIENCES: Final = 100
"""Open experiences that are considered; a session has one or two, and older ones were abandoned."""
_EXPERIENCE_ID: Final = re.compile(r"\b[0-9a-f]{12}\b")
_KIND_WORDS: Final = {
    "test": re.compile(r"\b(?:tests?|specs?|suite|pytest|jest|passes|green|red)\b|\btest_\w+", re.I),
    "build": re.compile(r"\b(?:builds?|compiles?|compiler|bundle|tsc|links?|typechecks?)\b", re.I),
}
"""Words by which an experience says whether a test or a build will decide it; with neither, both may."""
_TARGET: Final = re.compile(
    r"\b(?:[\w.-]+/)*(?:test_\w+|\w+_test|Test[A-Z]\w*|[\w-]+\.(?:test|spec))(?:\.\w+)?|(?:[\w.-]+/)+[\w.-]+"
)
"""Names of tests, and paths."""
_CHOSEN: Final = re.compile(r"\s(?:-k|-t|-run|--run|--grep|--filter|--testNamePattern)[ =]['\"]?\^?(\w+)")
"""Options that choose tests by a part of their name."""
_FAILED_TEST: Final = re.compile(r"^(?:FAILED|ERROR|FAIL|[ \t]*--- FAIL:|[ \t]*● )[ \t]*([^\n-]+)", re.M)
"""Lines in which runners name a test that failed; what pytest says behind a dash is the error."""
_PREDICTS_FAILURE: Final = re.compile(
    r"\b(?:fail(?:s|ed|ure|ures|ing)?|breaks?|crash(?:es)?|raises?)\b",
    re.I,
)
_PREDICTS_SUCCESS: Final = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succeeds?|green|works?|builds?|compiles?|no|not|never|without|stops?"
    r"|longer|0)\b|n't\b",
    re.I,
)


def judge(run: Run, has_failed: bool | None, output: str) -> Verdict | None:
    """Return whether a test or build passed, or None if neither its exit code nor its output tells.

    `has_failed` is None where the client does not send the exit code.
    """
    if _NOTHING_RAN.search(output) or _could_not_begin(run, output):
        return None
    # Most runners name the passed tests also when some failed, so failures are searched for first.
    by_output: Verdict | None = (
        "failed" if _FAILED.search(output) else "passed" if _PASSED.search(output) else None
    )
    if run.is_exit_code_hidden or has_failed is None:
        return by_output
    if not has_failed:
        return "failed" if by_output == "failed" else "passed"
    message = output[:_CLIENT_MESSAGE_CHARACTERS]
    code = _EXIT_CODE.search(message)
    if _NOT_RUN.search(message) or (code is not None and int(code[1]) in _CODES_WITHOUT_OUTCOME):
        return None
    # In `pytest && git push` the exit code may be that of the push.
    return "passed" if run.is_followed and by_output == "passed" else "failed"


def _could_not_begin(run: Run, output: str) -> bool:
    """Return whether a run ended before it tested or built anything: by a missing module or a mistyped
    argument."""
    if _DID_NOT_RUN.search(output):
        # An import that a test itself fails on is the outcome of that test.
        return run.kind == "build" or not _TESTS_FAILED.search(output) or "during collection" in output
    return run.kind == "test" and bool(_NOT_COMPILED.search(output)) and not _TESTS_FAILED.search(output)


def summary_line(output: str) -> str:
    """Return the last line that counts tests, else the last that mentions success or failure, else the last."""
    lines = [line.strip(_DECORATION) for line in output.splitlines()]
    candidates = (
        [line for line in lines if _COUNTS.search(line)]
        or [line for line in lines if _FAILED.search(line) or _PASSED.search(line)]
        or lines
    )
    return next((line[:_MAX_LINE_CHARACTERS] for line in reversed(candidates) if line), "")


def first_error(output: str) -> str:
    """Return the first line of the output that describes an error, or an empty string."""
    match = _ERROR_LINE.search(output)
    return match[0].strip(_DECORATION)[:_MAX_LINE_CHARACTERS] if match else ""


def claim_started(weft: "Weft", session: str, output: str, tenant: str, folder: str) -> None:
    """Record that the session started the experience named in the output, and in which folder."""
    # The ids of experiences in the output of `weft experience start`, or of the tool, however it is formatted.
    ids = set(_EXPERIENCE_ID.findall(output))
    claims = Claims(weft.contexts)
    for experience in _list_open(weft, tenant):
        if experience.id in ids:
            claims.claim(session, experience.key)
            claims.claim(session, _folder_claim(experience, folder))


def find_waiting(weft: "Weft", session: str, tenant: str, run: Run, folder: str, output: str) -> Experience | None:
    """Return the open experience that a run decides: the latest about it that the session started in this
    folder."""
    claims = Claims(weft.contexts)
    waiting = [
        experience
        for experience in _list_open(weft, tenant)
        if session
        and session in claims.claimants(experience.key)
        and session in claims.claimants(_folder_claim(experience, folder))
        and is_about(experience, run, output)
    ]
    return max(waiting, key=lambda experience: (experience.attempted, experience.id), default=None)


def _folder_claim(experience: Experience, folder: str) -> str:
    # Compared as the system spells it, so that a link to the folder is the folder.
    return f"{experience.key} in {os.path.realpath(folder or '.')}"


def is_about(experience: Experience, run: Run, output: str = "") -> bool:
    """Return whether a test or build is of the kind, and of the target, that an experience speaks of."""
    said = " ".join([experience.goal, experience.action, experience.prediction])
    kinds = [kind for kind, pattern in _KIND_WORDS.items() if pattern.search(said)]
    if kinds and run.kind not in kinds:
        return False
    named = {_bare_target(word) for word in _TARGET.findall(said)}
    failed = {_bare_target(word) for line in _FAILED_TEST.findall(output) for word in _TARGET.findall(line)}
    tests = {name for name in named if "test" in name or "spec" in name}
    if tests and failed:
        # Of a run of many, the failure of another test says nothing about those that it names.
        return _overlap(tests, failed)
    targets = {_bare_target(word) for word in (*_TARGET.findall(run.words), *_CHOSEN.findall(run.words))}
    # A run of other tests than those that it names decides nothing; a run of all decides as well.
    return not (named and targets) or _overlap(named, targets)


def _overlap(named: Collection[str], others: Collection[str]) -> bool:
    return any(mine in other or other in mine for mine in named for other in others)


def _bare_target(word: str) -> str:
    return word.strip("./").lower().removesuffix(".py")


def resolve_by_run(
    weft: "Weft", experience: Experience, run: Run, verdict: Verdict, output: str, now: datetime
) -> str:
    """Resolve an experience by the verdict on a test or build, and return a line about it."""
    expected = "failed" if predicts_failure(experience.prediction) else "passed"
    is_confirmed = verdict == expected
    outcome = Outcome(
        status="confirmed" if is_confirmed else "falsified",
        result=": ".join(part for part in (f"`{run.words}` {verdict}", summary_line(output)) if part),
        surprise="" if is_confirmed else first_error(output),
        automatic=True,
        witness=f"`{run.words}` in the session that started it",
    )
    try:
        resolved = resolve_experience(
            weft.indexing_context(), experience.id, outcome, now=now, tenant=experience.tenant
        )
    except AlreadyResolved:
        # By hand or by another session, in the meantime: the first outcome stays.
        return ""
    return (
        f"Experience {resolved.id} ({resolved.goal}) is resolved as {resolved.status}, {resolved.tier}: "
        f"{resolved.result}. If that is not its outcome, `weft experience reopen {resolved.id}` takes it back."
    )


def predicts_failure(prediction: str) -> bool:
    """Return whether a prediction says that the test or build will fail, as when an error is reproduced."""
    return bool(_PREDICTS_FAILURE.search(prediction)) and not _PREDICTS_SUCCESS.search(prediction)


def _list_open(weft: "Weft", tenant: str) -> tuple[Experience, ...]:
    return list_experiences(weft.indexing_context(), status=OPEN, limit=_MAX_OPEN_EXPERIENCES, tenant=tenant)
