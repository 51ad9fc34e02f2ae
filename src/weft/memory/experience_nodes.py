"""Experiences as nodes: one that tells all, and one for each axis on which an experience is looked for alone."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from weft.memory.experiences import Attempt, Experience, Lesson, RootCause
from weft.memory.memories import listed, title_of
from weft.memory.vocabulary import EXPERIENCE, OPEN
from weft.model import Json, Node, Origin


def experience_nodes(experience: Experience) -> tuple[Node, ...]:
    """The node that tells all, and once it is resolved one for each further axis that has something to tell."""
    return tuple(_on_axis(experience, axis, text, fields) for axis, text, fields in _axes(experience))


def _axes(told: Experience) -> Iterator[tuple[str, str, dict[str, Json]]]:
    yield "full", _narrative(told), _full_fields(told)
    if told.status == OPEN:
        return
    lesson = _lesson(told)
    outcome: dict[str, Json] = {"outcome_result": told.result}
    yield "strategy", _lines(told, "strategy"), {**outcome, "goal": told.goal, "action": told.action, **lesson}
    if told.surprise:
        surprise: dict[str, Json] = {"surprise": told.surprise, "prediction": told.prediction}
        yield "surprise", told.surprise, {**outcome, **surprise}
    if told.root_cause is not None:
        cause: dict[str, Json] = {"root_cause": _cause(told.root_cause), "hypothesis": told.hypothesis}
        yield "root_cause", _lines(told, "root_cause"), {**cause, **lesson}


def _on_axis(experience: Experience, axis: str, text: str, fields: Mapping[str, Json]) -> Node:
    full = axis == "full"
    return Node(
        key=experience.key if full else f"{experience.key}/{axis}",
        kind=EXPERIENCE,
        tenant=experience.tenant,
        title=title_of(experience.goal) if full else "",
        text=text,
        fields={
            "experience_id": experience.id,
            "axis": axis,
            "domain": experience.domain,
            "strategy": experience.strategy,
            "outcome_status": experience.status,
            "confidence_tier": experience.tier,
            "iteration_count": experience.iterations,
            **fields,
        },
        origin=Origin(EXPERIENCE),
        created=experience.started,
        modified=experience.resolved or experience.attempted,
    )


def _full_fields(told: Experience) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "goal": told.goal,
        "hypothesis": told.hypothesis,
        "action": told.action,
        "prediction": told.prediction,
        "outcome_result": told.result,
        "surprise": told.surprise,
        "attempted_at": told.attempted.isoformat(),
        "resolved_at": told.resolved.isoformat() if told.resolved else "",
        "root_cause": _cause(told.root_cause) if told.root_cause else None,
        **_lesson(told),
        "files": list(told.files),
        "before": [_attempt_fields(each) for each in told.before],
    }
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _attempt_fields(attempt: Attempt) -> dict[str, Json]:
    return {
        "hypothesis": attempt.hypothesis,
        "action": attempt.action,
        "prediction": attempt.prediction,
        "strategy": attempt.strategy,
        "at": attempt.at.isoformat(),
    }


def _cause(cause: RootCause) -> dict[str, Json]:
    return {"category": cause.category, "description": cause.description}


def _lesson(told: Experience) -> dict[str, Json]:
    if told.lesson is None:
        return {}
    return {"lesson": {"what_worked": told.lesson.what_worked, "takeaway": told.lesson.takeaway}}


def _narrative(told: Experience) -> str:
    """The whole story, a line each."""
    outcome = f"{told.status}: {told.result}" if told.result else told.status
    lines = [
        ("Goal", told.goal),
        ("Hypothesis", told.hypothesis),
        ("Action", told.action),
        ("Prediction", told.prediction),
        ("Outcome", outcome),
        ("Surprise", told.surprise),
        ("Root cause", _cause_words(told)),
        ("Lesson", _lesson_words(told)),
    ]
    return "\n".join(f"{name}: {text}" for name, text in lines if text)


def _lines(told: Experience, axis: str) -> str:
    """What one axis tells, in sentences that are searched for alone."""
    if axis == "root_cause":
        return _cause_words(told)
    parts = [f"{told.strategy} in {told.domain} was {told.status}.", told.result, _lesson_words(told)]
    return "\n".join(part for part in parts if part)


def _cause_words(told: Experience) -> str:
    cause = told.root_cause
    if cause is None:
        return ""
    return f"{cause.category}: {cause.description}" if cause.description else cause.category


def _lesson_words(told: Experience) -> str:
    return " ".join([told.lesson.what_worked, told.lesson.takeaway]).strip() if told.lesson else ""


def experience_of(node: Node) -> Experience:
    """The experience that a node of the full axis tells."""
    fields = node.fields
    started = node.created or datetime.fromtimestamp(0, UTC)
    resolved = _moment(fields.get("resolved_at"))
    return Experience(
        id=node.key.partition(":")[2],
        domain=_text(fields, "domain"),
        strategy=_text(fields, "strategy"),
        goal=_text(fields, "goal"),
        hypothesis=_text(fields, "hypothesis"),
        action=_text(fields, "action"),
        prediction=_text(fields, "prediction"),
        started=started,
        attempted=_moment(fields.get("attempted_at")) or started,
        tenant=node.tenant,
        status=_text(fields, "outcome_status") or OPEN,
        result=_text(fields, "outcome_result"),
        surprise=_text(fields, "surprise"),
        root_cause=_root_cause(fields.get("root_cause")),
        lesson=_told_lesson(fields.get("lesson")),
        tier=_text(fields, "confidence_tier"),
        resolved=resolved,
        before=tuple(_earlier_attempt(each, started) for each in listed(fields.get("before"))),
        files=_texts(fields.get("files")),
    )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


def _text(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _moment(value: Json) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) and value else None


def _root_cause(value: Json) -> RootCause | None:
    if not isinstance(value, Mapping):
        return None
    return RootCause(_text(value, "category"), _text(value, "description"))


def _told_lesson(value: Json) -> Lesson | None:
    if not isinstance(value, Mapping):
        return None
    return Lesson(_text(value, "what_worked"), _text(value, "takeaway"))


def _earlier_attempt(told: Mapping[str, Json], started: datetime) -> Attempt:
    return Attempt(
        _text(told, "hypothesis"),
        _text(told, "action"),
        _text(told, "prediction"),
        _text(told, "strategy"),
        _moment(told.get("at")) or started,
    )
