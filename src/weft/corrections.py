"""What people corrected about the entities of their stories: kept in the store, apart from what is found."""

from collections.abc import Mapping
from typing import Final

import orjson

from weft.errors import InvalidInput
from weft.ports import Changes, Store
from weft.story import Correction

KEPT_UNDER: Final = ":corrections"
"""The source under whose units corrections are kept: no source has this name, so that no indexing touches them."""


def corrections_of(store: Store, tenant: str) -> Mapping[int, Correction]:
    """The corrections of a tenant's stories by number, in the order in which they were made."""
    kept = sorted((int(name), orjson.loads(stamp)) for name, stamp in store.units(tenant, KEPT_UNDER).items())
    return {
        number: Correction(each["action"], tuple(each["names"]), each["value"], each["chapter"])
        for number, each in kept
    }


def add_correction(store: Store, tenant: str, correction: Correction) -> int:
    """Keep a correction after those before it and return its number; it holds when the story is next told."""
    number = max(corrections_of(store, tenant), default=0) + 1
    store.write(Changes(units=((tenant, KEPT_UNDER, str(number), orjson.dumps(correction).decode()),)))
    return number


def take_back(store: Store, tenant: str, number: int) -> Correction:
    """Forget a correction."""
    kept = corrections_of(store, tenant)
    if number not in kept:
        listed = ", ".join(map(str, kept)) or "(none)"
        raise InvalidInput(
            f"There is no correction {number}. Kept: {listed}. `weft entities corrections` shows them."
        )
    store.write(Changes(units=((tenant, KEPT_UNDER, str(number), ""),)))
    return kept[number]
