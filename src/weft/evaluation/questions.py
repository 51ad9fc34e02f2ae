"""A question as it is put: its text, shaped by a template and followed by the conversation before it."""

import string
from collections.abc import Mapping, Sequence
from typing import Final

from weft.errors import InvalidInput, UnknownName
from weft.evaluation.judged_sets import Question
from weft.frozen import dataclass
from weft.model import Json

_PLAIN: Final = ("text", "id")


@dataclass(frozen=True, slots=True)
class Put:
    """A question as it is put, and what was said before it, the latest first."""

    text: str
    history: tuple[str, ...] = ()

    @property
    def joined(self) -> str:
        """The question with the conversation after it, for a search that takes one text."""
        return "\n".join([self.text, *self.history])


@dataclass(frozen=True, slots=True)
class Shape:
    """How questions are put: `template` may use {text}, {id} and {meta.NAME}; `history` adds what was said."""

    template: str = "{text}"
    history: bool = False

    def put(self, question: Question) -> "Put":
        """The question in this shape."""
        asked = "".join(_filled(self.template, question)).strip()
        return Put(asked, history_of(question) if self.history else ())

    def check(self, questions: Sequence[Question]) -> None:
        """Refuse a template that names what no question has, or history where there is none."""
        for name in _names(self.template):
            if name in _PLAIN:
                continue
            if not any(_value(name, question) for question in questions):
                allowed = [*_PLAIN, *sorted({f"meta.{key}" for each in questions for key in each.meta})]
                raise UnknownName("placeholder", name, allowed, "A --query-template may use these in braces.")
        if self.history and not any(history_of(question) for question in questions):
            raise InvalidInput(
                "No question has a history. --history reads `meta.history_recent_first` or `meta.history`; "
                "leave it out for a set without conversations."
            )


def _parsed(template: str) -> list[tuple[str, str | None]]:
    try:
        return [(literal, name) for literal, name, _, _ in string.Formatter().parse(template)]
    except ValueError as error:
        raise InvalidInput(
            f"The template {template!r} cannot be read ({error}). Write it as in '{{meta.story}} {{text}}'."
        ) from error


def _names(template: str) -> list[str]:
    return [name for _, name in _parsed(template) if name is not None]


def _filled(template: str, question: Question) -> list[str]:
    parts: list[str] = []
    for literal, name in _parsed(template):
        parts.append(literal)
        if name is not None:
            parts.append(_value(name, question))
    return parts


def _value(name: str, question: Question) -> str:
    if name == "text":
        return question.text
    if name == "id":
        return question.id
    first, _, rest = name.partition(".")
    value: Json = question.meta if first == "meta" else None
    for step in rest.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return _words(value)


def _words(value: Json) -> str:
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    return " ".join(_words(each) for each in value)


def history_of(question: Question) -> tuple[str, ...]:
    """What was said before the question, the latest first."""
    recent = question.meta.get("history_recent_first")
    turns = _turns(recent) if recent else _turns(question.meta.get("history"))[::-1]
    return tuple(turn for turn in turns if turn)


def _turns(value: Json) -> list[str]:
    """The turns of a conversation: one text, texts, or messages with `content` or `text`."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    if isinstance(value, Sequence):
        return [_turn(each) for each in value]
    return []


def _turn(value: Json) -> str:
    if isinstance(value, Mapping):
        return _words(value.get("content") or value.get("text"))
    return _words(value)
