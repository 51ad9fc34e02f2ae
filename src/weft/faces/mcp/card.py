"""A tool as clients see it."""

from typing import Any

from weft.faces.mcp.answers import Call
from weft.faces.mcp.arguments import Parameter, schema_of
from weft.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool as clients see it, and the function that answers."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    answer: Call
    required: tuple[str, ...] = ()
    writes: bool = False
    removes: bool = False
    repeatable: bool = True
    """Whether calling it again with the same arguments changes nothing more."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return schema_of(self.parameters, self.required)
