"""Turn experiences into nodes and back: one node that holds all, and one for each axis that is searched alone."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from weft.memory.experiences import Attempt, Experience, Lesson, RootCause
from weft.memory.memories import make_title, read_mappings
from weft.memory.vocabulary import EXPERIENCE, OPEN
from weft.model import Json, Node, Origin


def experience_nodes(experience: Experience) -> tuple[Node, ...]:
    """Return the node that holds all, and for a resolved experience one for each further axis that has a text."""
    return tuple(_axis_node(experience, axis, text, fields) for axis, text, fields in _axes(experience))


def _axes(experience: Experience) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """Yield each axis with its text and fields."""
    yield "full", _full_text(experience), _full_fields(experience)
    # An open experience has nothing to teach yet, and values count experiences by their further axes.
    if experience.status == OPEN:
        return
    lesson = _lesson_fields(experience)
    # Each axis repeats the fields that its page prints, because a node is read alone.
    outcome: dict[str, Json] = {"outcome_result": experience.result}
    strategy_lines = [
        f"{experience.strategy} in {experience.domain} was {experience.status}.",
        experience.result,
        _lesson_text(experience),
    ]
    strategy_fields = {**outcome, "goal": experience.goal, "action": experience.action, **lesson}
    yield "strategy", "\n".join(line for line in strategy_lines if line), strategy_fields
    if experience.surprise:
        surprise: dict[str, Json] = {"surprise": experience.surprise, "prediction": experience.prediction}
        yield "surprise", experience.surprise, {**outcome, **surprise}
    if experience.root_cause is not None:
        cause: dict[str, Json] = {
            "root_cause": _root_cause_fields(experience.root_cause),
            "hypothesis": experience.hypothesis,
        }
        yield "root_cause", _root_cause_text(experience), {**cause, **lesson}


def _axis_node(experience: Experience, axis: str, text: str, fields: Mapping[str, Json]) -> Node:
    is_full = axis == "full"
    return Node(
        # Keys of axes derive from the first, so that storing again replaces them all.
        key=experience.key if is_full else f"{experience.key}/{axis}",
        kind=EXPERIENCE,
        tenant=experience.tenant,
        # A title finds a node by name, and of one experience only one node should be found so.
        title=make_title(experience.goal) if is_full else "",
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


def _full_fields(experience: Experience) -> dict[str, Json]:
    """Return everything that `experience_from_node` reads back and the other fields do not hold."""
    fields: dict[str, Json] = {
        "goal": experience.goal,
        "hypothesis": experience.hypothesis,
        "action": experience.action,
        "prediction": experience.prediction,
        "outcome_result": experience.result,
        "surprise": experience.surprise,
        "attempted_at": experience.attempted.isoformat(),
        "resolved_at": experience.resolved.isoformat() if experience.resolved else "",
        "root_cause": _root_cause_fields(experience.root_cause) if experience.root_cause else None,
        **_lesson_fields(experience),
        "files": list(experience.files),
        "tier_reason": experience.tier_reason,
        "withdrawn": list(experience.withdrawn),
        "before": [_attempt_fields(attempt) for attempt in experience.before],
    }
    # Empty values would be printed as labels with nothing behind them.
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _attempt_fields(attempt: Attempt) -> dict[str, Json]:
    return {
        "hypothesis": attempt.hypothesis,
        "action": attempt.action,
        "prediction": attempt.prediction,
        "strategy": attempt.strategy,
        "at": attempt.at.isoformat(),
    }


def _root_cause_fields(cause: RootCause) -> dict[str, Json]:
    return {"category": cause.category, "description": cause.description}


def _lesson_fields(experience: Experience) -> dict[str, Json]:
    if experience.lesson is None:
        return {}
    return {"lesson": {"what_worked": experience.lesson.what_worked, "takeaway": experience.lesson.takeaway}}


def _full_text(experience: Experience) -> str:
    """Return the whole experience, a labelled line for each part."""
    # The status is part of the text, so that a question for what failed finds it by its words.
    outcome = f"{experience.status}: {experience.result}" if experience.result else experience.status
    lines = [
        ("Goal", experience.goal),
        ("Hypothesis", experience.hypothesis),
        ("Action", experience.action),
        ("Prediction", experience.prediction),
        ("Outcome", outcome),
        ("Surprise", experience.surprise),
        ("Root cause", _root_cause_text(experience)),
        ("Lesson", _lesson_text(experience)),
    ]
    return "\n".join(f"{label}: {text}" for label, text in lines if text)


def _root_cause_text(experience: Experience) -> str:
    cause = experience.root_cause
    if cause is None:
        return ""
    return f"{cause.category}: {cause.description}" if cause.description else cause.category


def _lesson_text(experience: Experience) -> str:
    lesson = experience.lesson
    return " ".join([lesson.what_worked, lesson.takeaway]).strip() if lesson else ""


# --- from nodes ------------------------------------------------------------------------------------------------


def experience_from_node(node: Node) -> Experience:
    """Return the experience that a node of the full axis holds; fields that another tool left out are empty."""
    fields = node.fields
    # A fixed time for nodes that have none: reading must give the same whenever it happens.
    started = node.created or datetime.fromtimestamp(0, UTC)
    files, withdrawn = fields.get("files"), fields.get("withdrawn")
    return Experience(
        id=node.key.partition(":")[2],
        domain=_read_text(fields, "domain"),
        strategy=_read_text(fields, "strategy"),
        goal=_read_text(fields, "goal"),
        hypothesis=_read_text(fields, "hypothesis"),
        action=_read_text(fields, "action"),
        prediction=_read_text(fields, "prediction"),
        started=started,
        attempted=_read_time(fields.get("attempted_at")) or started,
        tenant=node.tenant,
        status=_read_text(fields, "outcome_status") or OPEN,
        result=_read_text(fields, "outcome_result"),
        surprise=_read_text(fields, "surprise"),
        root_cause=_read_root_cause(fields.get("root_cause")),
        lesson=_read_lesson(fields.get("lesson")),
        tier=_read_text(fields, "confidence_tier"),
        resolved=_read_time(fields.get("resolved_at")),
        before=tuple(_read_attempt(attempt, started) for attempt in read_mappings(fields.get("before"))),
        files=tuple(str(file) for file in files) if isinstance(files, list | tuple) else (),
        tier_reason=_read_text(fields, "tier_reason"),
        withdrawn=tuple(str(each) for each in withdrawn) if isinstance(withdrawn, list | tuple) else (),
    )


def _read_text(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _read_time(value: Json) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) and value else None


def _read_root_cause(value: Json) -> RootCause | None:
    if not isinstance(value, Mapping):
        return None
    return RootCause(_read_text(value, "category"), _read_text(value, "description"))


def _read_lesson(value: Json) -> Lesson | None:
    if not isinstance(value, Mapping):
        return None
    return Lesson(_read_text(value, "what_worked"), _read_text(value, "takeaway"))


def _read_attempt(fields: Mapping[str, Json], started: datetime) -> Attempt:
    return Attempt(
        _read_text(fields, "hypothesis"),
        _read_text(fields, "action"),
        _read_text(fields, "prediction"),
        _read_text(fields, "strategy"),
        _read_time(fields.get("at")) or started,
    )
