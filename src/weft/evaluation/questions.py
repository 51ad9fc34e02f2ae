"""Shape questions for asking: fill their text into a template, and add the conversation before them."""

import string
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput, UnknownName
from weft.evaluation.judged_sets import Question
from weft.model import Json

_PLAIN_PLACEHOLDERS: Final = ("text", "id")


class ShapedQuestion(Struct, frozen=True):
    """A question as it is asked, and what was said before it, the latest first."""

    text: str
    history: tuple[str, ...] = ()

    @property
    def joined(self) -> str:
        """The question with the conversation after it, for a search that takes one text."""
        return "\n".join([self.text, *self.history])


class QuestionShape(Struct, frozen=True):
    """The shape of questions: `template` may use {text}, {id} and {meta.NAME}; `history` adds what was said."""

    template: str = "{text}"
    history: bool = False

    def apply(self, question: Question) -> "ShapedQuestion":
        """Return the question in this shape."""
        parts = (literal + _read_value(name, question) for literal, name in _parse(self.template))
        return ShapedQuestion("".join(parts).strip(), _read_history(question) if self.history else ())

    def check(self, questions: Sequence[Question]) -> None:
        """Refuse a template that names what no question has, or history where there is none."""
        for _, name in _parse(self.template):
            if name is None or name in _PLAIN_PLACEHOLDERS:
                continue
            if not any(_read_value(name, question) for question in questions):
                in_metadata = {f"meta.{key}" for question in questions for key in question.meta}
                allowed = [*_PLAIN_PLACEHOLDERS, *sorted(in_metadata)]
                raise UnknownName("placeholder", name, allowed, "A --query-template may use these in braces.")
        if self.history and not any(_read_history(question) for question in questions):
            raise InvalidInput(
                "No question has a history. --history reads `meta.history_recent_first` or `meta.history`; "
                "leave it out for a set without conversations."
            )


def _parse(template: str) -> list[tuple[str, str | None]]:
    """Return the literal texts of a template, each with the name of the placeholder after it, if there is one."""
    try:
        return [(literal, name) for literal, name, _, _ in string.Formatter().parse(template)]
    except ValueError as error:
        raise InvalidInput(
            f"The template {template!r} cannot be read ({error}). Write it as in '{{meta.story}} {{text}}'."
        ) from error


def _read_value(name: str | None, question: Question) -> str:
    """Return the value of a placeholder; empty where the question has none."""
    if name is None:
        return ""
    if name == "text":
        return question.text
    if name == "id":
        return question.id
    first, _, rest = name.partition(".")
    value: Json = question.meta if first == "meta" else None
    for step in rest.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return _join_words(value)


def _join_words(value: Json) -> str:
    """Return a text, a number or a list of them as one text."""
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    return " ".join(_join_words(item) for item in value)


def _read_history(question: Question) -> tuple[str, ...]:
    """Return what was said before the question, the latest first."""
    recent = question.meta.get("history_recent_first")
    turns = _read_turns(recent) if recent else _read_turns(question.meta.get("history"))[::-1]
    return tuple(turn for turn in turns if turn)


def _read_turns(value: Json) -> list[str]:
    """Return the turns of a conversation: one text, texts, or messages with `content` or `text`."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    if not isinstance(value, Sequence):
        return []
    messages = [(turn.get("content") or turn.get("text")) if isinstance(turn, Mapping) else turn for turn in value]
    return [_join_words(message) for message in messages]
