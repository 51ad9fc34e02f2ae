"""The options of `weft-hook`, as `weft install --hooks` writes them into the client's settings."""

from collections.abc import Sequence
from getopt import getopt
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass

OPTIONS: Final = ("store", "profile", "tenant", "max-tokens", "deadline")
MAX_TOKENS: Final = 800
MOST_TOKENS: Final = 2_000
"""The client takes 10,000 characters; more it puts into a file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the hooks work with; whatever is unset is as in every other face."""

    store: str | None = None
    profile: str | None = None
    tenants: tuple[str, ...] = ()
    max_tokens: int = MAX_TOKENS
    deadline: float | None = None


def read_settings(arguments: Sequence[str]) -> Settings:
    """The settings that the arguments say."""
    given, rest = getopt(list(arguments), "", [f"{name}=" for name in OPTIONS])
    if rest:
        raise InvalidInput(f"{rest[0]!r} is no option of weft-hook. It takes its event on stdin.")
    said = {name.removeprefix("--"): value for name, value in given}
    return Settings(
        store=said.get("store"),
        profile=said.get("profile"),
        tenants=tuple(value for name, value in given if name == "--tenant"),
        max_tokens=min(int(said.get("max-tokens", MAX_TOKENS)), MOST_TOKENS),
        deadline=float(said["deadline"]) if "deadline" in said else None,
    )
