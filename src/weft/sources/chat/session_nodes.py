"""Make nodes of a conversation: its session, messages, decisions and rules, and the edges between them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from weft.model import Edge, Json, Node, Origin
from weft.ports import Problem
from weft.sources.chat.logs import USER, Session, Turn
from weft.sources.chat.summaries import shorten, summarise_days
from weft.sources.files import MAX_TEXT_CHARACTERS, SourceSettings
from weft.sources.walk_files import File
from weft.text import split_sentences
from weft.text.redact import Redacted, redact
from weft.text.statements import Form, describe, describe_rule, find_statements

RULE: Final = "rule"
"""The kind of nodes that hold a standing rule which somebody stated in a conversation."""
_TITLE_CHARACTERS: Final = 80
"""How much of a message its title shows."""
_MAX_DECISION_CHARACTERS: Final = 600
"""A longer sentence is pasted text or a table, not a decision."""
_DECISION: Final = re.compile(
    r"\b(?:(?:we|i)(?:['’]ve| have| all)? (?:decided|agreed|chose|settled on)"
    r"|(?:we|i)(?:['’]ll| will) (?:go|stick) with|let['’]?s (?:go|stick) with|we(?:['’]re| are) going with"
    r"|(?:final )?decision ?:|decided (?:to|on|against|that) |agreed ?:)",
    re.IGNORECASE,
)
_REASON: Final = re.compile(r"(?:because|since|reason|otherwise|the reason|that way)\b", re.IGNORECASE)


def session_nodes(
    session: Session, file: File, settings: SourceSettings, problems: list[Problem]
) -> tuple[list[Node], list[Edge]]:
    """Return the nodes of a session, its messages and decisions, and the edges between them."""
    key = f"{settings.source}:{file.name}" + (f"#{session.name}" if session.name else "")
    # Secrets are redacted first: a title cut out of a text could end in the middle of one and show its beginning.
    turns = [
        (turn, redact(turn.text, prose=True)) for turn in session.turns if _is_short_enough(turn, file, problems)
    ]
    nodes, edges = [_session_node(key, session, turns, settings, Origin(settings.source, file.name))], []
    for number, (turn, redacted) in enumerate(turns, start=1):
        message = _message_node(
            f"{key}@{number}", number, (turn, redacted), nodes[0], bool(session.title), settings
        )
        edges.append(Edge(key, message.key, "contains", tenant=settings.tenant))
        # Turns alternate, so the turn before an assistant's is the question that it answers.
        if number > 1 and turn.role != USER:
            edges.append(Edge(message.key, f"{key}@{number - 1}", "answers", tenant=settings.tenant))
        # What people say to each other is no rule for an assistant.
        may_rule = turn.role == USER and not turn.author
        rule = describe_rule(message.text) if may_rule else {}
        if rule:
            # A message that is nothing but a rule is the rule: a node of its own would say it twice.
            message = replace(message, fields={**message.fields, **rule})
        stated = [
            *_find_decisions(message, may_rule),
            *(_find_rules(message) if may_rule and not rule else ()),
        ]
        edges += [Edge(message.key, part.key, "contains", tenant=settings.tenant) for part in stated]
        nodes += [message, *stated]
    for summary in summarise_days(nodes):
        edges.append(Edge(key, summary.key, "contains", tenant=settings.tenant))
        nodes.append(summary)
    return (nodes, edges) if turns else ([], [])


def _is_short_enough(turn: Turn, file: File, problems: list[Problem]) -> bool:
    if len(turn.text) <= MAX_TEXT_CHARACTERS:
        return True
    reason = (
        f"A message has {len(turn.text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept. It was skipped."
    )
    problems.append(Problem(file.name, reason))
    return False


def _session_node(
    key: str, session: Session, turns: Sequence[tuple[Turn, Redacted]], settings: SourceSettings, origin: Origin
) -> Node:
    times = [turn.time for turn, _ in turns if turn.time is not None]
    fields: dict[str, Json] = {**session.fields, "messages": len(turns)}
    return Node(
        key=key,
        kind="session",
        tenant=settings.tenant,
        # Not what was asked first: that is a message of its own, and would be found twice.
        title=shorten(redact(session.title).text, _TITLE_CHARACTERS) or f"Conversation in {origin.file}",
        summary=_count_messages(turns),
        fields=fields,
        origin=origin,
        created=min(times, default=None),
        modified=max(times, default=None),
    )


def _count_messages(turns: Sequence[tuple[Turn, Redacted]]) -> str:
    days = [f"{turn.time:%Y-%m-%d}" for turn, _ in turns if turn.time is not None]
    span = f", {min(days)}" + (f" to {max(days)}" if max(days) > min(days) else "") if days else ""
    return f"{len(turns)} messages{span}"


def _message_node(
    key: str,
    number: int,
    turn_and_text: tuple[Turn, Redacted],
    session: Node,
    is_named: bool,
    settings: SourceSettings,
) -> Node:
    turn, redacted = turn_and_text
    fields: dict[str, Json] = {"role": turn.role}
    if turn.author:
        fields["author"] = turn.author
    if is_named:
        fields["session"] = session.title
    if redacted.kinds:
        fields["redacted"] = dict(sorted(Counter(redacted.kinds).items()))
    return Node(
        key=key,
        kind="message",
        tenant=settings.tenant,
        title=f"{turn.author or turn.role.capitalize()}: {shorten(redacted.text, _TITLE_CHARACTERS)}",
        text=redacted.text,
        language="markdown",
        fields=fields,
        origin=session.origin,
        sequence=number,
        created=turn.time,
        modified=turn.time,
    )


def _find_decisions(message: Node, may_rule: bool) -> Iterator[Node]:
    """Iterate over the decisions in a message: the sentence, and the one after it if that gives the reason.

    Those that a person took (`may_rule`) stand until another one takes their place.
    """
    spans = split_sentences(message.text)
    count = 0
    for index, (start, end) in enumerate(spans):
        sentence = message.text[start:end]
        # "Have we decided to …?" decides nothing.
        is_question = sentence.rstrip().endswith("?")
        if not _DECISION.search(sentence) or is_question or len(sentence) > _MAX_DECISION_CHARACTERS:
            continue
        # Reasons often follow in a sentence of their own, without which the decision says little later.
        after = message.text[slice(*spans[index + 1])] if index + 1 < len(spans) else ""
        count += 1
        stands = may_rule and any(each.form is Form.DECISION for each in find_statements(sentence))
        yield replace(
            message,
            key=f"{message.key}/decision-{count}",
            fields={**message.fields, **(describe(sentence, Form.DECISION) if stands else {})},
            kind="decision",
            title=shorten(sentence.lstrip("-*# "), _TITLE_CHARACTERS),
            text=f"{sentence} {after}" if _REASON.match(after) else sentence,
        )


def _find_rules(message: Node) -> Iterator[Node]:
    """Iterate over the instructions, preferences and facts about a person in what the person wrote."""
    rules = [statement for statement in find_statements(message.text) if statement.form is not Form.DECISION]
    for count, statement in enumerate(rules, start=1):
        yield replace(
            message,
            key=f"{message.key}/rule-{count}",
            kind=RULE,
            title=shorten(statement.text, _TITLE_CHARACTERS),
            text=statement.text,
            fields={**message.fields, **describe(statement.text, statement.form)},
        )
