"""Every part that Weft is delivered with is listed, and under a permissive licence."""

import json
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import supply_chain

ROOT = Path(__file__).parents[2]


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


# --- locked versions and advisories ---


def test_no_installed_or_locked_version_has_an_advisory() -> None:
    assert supply_chain.check_vulnerabilities() == []


def test_a_version_with_an_advisory_is_named_with_what_to_do() -> None:
    advisories = supply_chain.ADVISORIES.read_text(encoding="utf-8")
    (found,) = supply_chain.find_vulnerable({"jinja2": "3.1.5", "h11": "0.16.0"}, advisories)
    assert "jinja2 3.1.5 has CVE-2025-27516" in found
    assert "Use a version" in found


def test_every_advisory_cites_where_it_was_confirmed() -> None:
    advisories = tomllib.loads(supply_chain.ADVISORIES.read_text(encoding="utf-8"))["advisory"]
    assert advisories
    for each in advisories:
        assert each["source"].startswith("https://"), each["id"]
        assert Requirement(f"{each['package']}{each['affected']}").specifier


def test_every_development_dependency_is_locked_with_a_hash() -> None:
    text = supply_chain.LOCK.read_text(encoding="utf-8")
    locked = supply_chain.locked_versions(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [*project["project"]["optional-dependencies"].values(), project["project"]["dependencies"]]
    written = [each for group in [*groups, project["dependency-groups"]["dev"]] for each in group]
    for needed in map(Requirement, [each for each in written if isinstance(each, str)]):
        name = canonicalize_name(needed.name)
        if name != "weft-context" and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            assert name in locked, f"{name} is not locked: run `make lock`"
            assert needed.specifier.contains(locked[name], prereleases=True), f"{name}: run `make lock`"
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked)
    assert [entry[:40] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text
