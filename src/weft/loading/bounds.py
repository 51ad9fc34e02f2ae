"""Which numbers each field of a profile takes."""

import math
from typing import Final

from weft.errors import ProfileError
from weft.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """Numbers from `least` to `most`; an open end leaves the end itself out."""

    least: float = 0.0
    most: float = math.inf
    open_least: bool = False
    open_most: bool = False

    def holds(self, number: float) -> bool:
        """Whether the number is one of them."""
        above = number > self.least if self.open_least else number >= self.least
        below = number < self.most if self.open_most else number <= self.most
        return above and below and math.isfinite(number)

    def __str__(self) -> str:
        words = f"more than {self.least:g}" if self.open_least else f"at least {self.least:g}"
        if self.most < math.inf:
            words += f" and {'less than' if self.open_most else 'at most'} {self.most:g}"
        return words


_COUNT: Final = Bound(1)
_POSITIVE: Final = Bound(open_least=True)
_FRACTION: Final = Bound(0, 1, open_least=True)
_NOT_NEGATIVE: Final = Bound()
_BOUNDS: Final = {
    "profile_version": Bound(1, 1),
    "max_tokens": _COUNT,
    "max_depth": _COUNT,
    "seeds": _COUNT,
    "fan_out": _COUNT,
    "pool": _COUNT,
    "item_tokens": _COUNT,
    "share": _POSITIVE,
    "half_life_days": _POSITIVE,
    "item_cap": _FRACTION,
    "similarity": _FRACTION,
    "floor": Bound(0, 1),
    "coverage": Bound(0, 1),
    "restart": Bound(0, 1, open_least=True, open_most=True),
    "table": Bound(0, 1),
}
_FREE: Final = ("default", "presets")
"""Fields of any content: what they hold is checked where it is used."""


def check_bound(name: str, value: object) -> None:
    """Refuses a number, or a table with a number, that the field of this name does not take."""
    bound = _BOUNDS.get(name, _NOT_NEGATIVE)
    for number in () if name in _FREE else _numbers(value):
        if not bound.holds(number):
            raise ProfileError(f"{number:g} is not allowed. Give a number that is {bound}.")


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []
