"""Structured content as text that a person or a model reads."""

from collections.abc import Mapping, Sequence
from typing import Final

from weft.model import Json

_NUMBERED: Final = frozenset({"steps", "step", "procedure", "instructions"})


def readable(content: Json) -> str:
    """The content as labelled lines: mappings as `Label: value`, steps numbered, other lists with dashes."""
    if isinstance(content, Mapping):
        parts = [_labelled(str(name), value) for name, value in content.items()]
        return "\n".join(part for part in parts if part)
    if isinstance(content, Sequence) and not isinstance(content, str):
        return _listed(content, numbered=False)
    return _scalar(content)


def _labelled(name: str, value: Json) -> str:
    label = name.replace("_", " ").strip()
    label = label[:1].upper() + label[1:]
    if isinstance(value, str | int | float) or value is None:
        text = _scalar(value)
        return f"{label}: {text}" if text else ""
    if isinstance(value, Mapping):
        inner = "\n".join(f"- {line}" for line in readable(value).split("\n") if line)
    else:
        inner = _listed(value, numbered=name.lower() in _NUMBERED)
    return f"{label}:\n{inner}" if inner else ""


def _listed(values: Sequence[Json], *, numbered: bool) -> str:
    texts = [text for text in (_inline(value) for value in values) if text]
    return "\n".join(
        f"{number}. {text}" if numbered else f"- {text}" for number, text in enumerate(texts, start=1)
    )


def _inline(value: Json) -> str:
    if isinstance(value, Mapping):
        parts = ((str(name).replace("_", " "), _inline(part)) for name, part in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(text for text in (_inline(part) for part in value) if text)
    return _scalar(value)


def _scalar(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()
