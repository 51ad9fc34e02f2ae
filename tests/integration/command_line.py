"""What the tests of the command line share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Done:
    """What one command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]
