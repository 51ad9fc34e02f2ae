"""What Weft is delivered with: every part is listed, and under a permissive licence."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import supply_chain


def test_every_part_has_a_permissive_licence() -> None:
    assert supply_chain.check() == []


def test_a_restrictive_or_unknown_licence_is_not_taken_for_a_permissive_one() -> None:
    for licence in ("GNU Affero General Public License v3", "GPL-3.0-only", "Commercial", ""):
        assert not supply_chain.PERMISSIVE.search(licence)
    assert supply_chain.PERMISSIVE.search("BSD-3-Clause")


def test_the_bill_of_materials_names_what_is_needed_and_is_the_same_every_time() -> None:
    bill = supply_chain.bill()
    names = {part["name"] for part in bill["components"]}  # type: ignore[attr-defined,index]
    assert {"msgspec", "numpy", "orjson", "tantivy", "fastapi", "uvicorn"} <= names
    assert json.dumps(bill, sort_keys=True) == json.dumps(supply_chain.bill(), sort_keys=True)
