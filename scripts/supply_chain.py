"""List what Weft is delivered with: a bill of materials (CycloneDX), and checks of licences and known weaknesses.

    python scripts/supply_chain.py            print the bill of materials of the package with all its extras
    python scripts/supply_chain.py --check    exit with 1 if a licence is not permissive or not known
    python scripts/supply_chain.py --vulnerabilities    exit with 1 if a version in use has an advisory

All read what is installed here and ask nobody. The bill is the same bytes for the same installation.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PACKAGE = "weft-context"
ADVISORIES = Path(__file__).with_name("advisories.toml")
LOCK = Path(__file__).parents[1] / "requirements-dev.lock"
_LOCKED = re.compile(r"^([a-z0-9][a-z0-9.-]*)(?:\[[^\]]*\])?==(\S+)", re.MULTILINE)
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Unlicense|Zlib|0BSD|CC0|HPND|MPL|Mozilla)\b",
    re.IGNORECASE,
)
"""Licences that ask for no more than a notice. MPL asks for changes to its own files, which nobody makes here."""
RESTRICTIVE = re.compile(r"\b(A?GPL|GNU (Affero )?General Public|SSPL|BUSL|Commons Clause|proprietary)\b", re.I)
LINKED = frozenset({"psycopg", "psycopg-binary", "psycopg-pool"})
"""Packages under the LGPL, used as they are, as libraries of their own, and only with the extra `postgres`."""


def find_parts() -> dict[str, Distribution]:
    """Return every installed package that Weft or one of its extras needs, by name."""
    root = distribution(PACKAGE)
    extras = root.metadata.get_all("Provides-Extra") or []
    found: dict[str, Distribution] = {}
    todo = [(root, frozenset(extras))]
    while todo:
        part, wanted = todo.pop()
        for needed in _needed(part, wanted):
            name = canonicalize_name(needed.name)
            if name in found or name == PACKAGE:
                continue
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                # An extra that is not installed here; `pip install 'weft-context[...]'` brings it into the bill.
                continue
            todo.append((found[name], frozenset(needed.extras)))
    return dict(sorted(found.items()))


def _needed(part: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for written in part.requires or ():
        needed = Requirement(written)
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield needed


def licence_of(part: Distribution) -> str:
    """Return what a package says about its licence."""
    metadata = part.metadata
    said = [metadata.get("License-Expression") or "", (metadata.get("License") or "").split("\n")[0][:100]]
    classified = [line for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    return "; ".join(text for text in (*said, *classified) if text)


def check() -> list[str]:
    """Return what is wrong with the licences, a sentence each."""
    wrong = []
    for name, part in find_parts().items():
        licence = licence_of(part)
        if name in LINKED:
            continue
        if RESTRICTIVE.search(licence) and not PERMISSIVE.search(licence):
            wrong.append(f"{name} {part.version} is under {licence!r}. Use something permissive instead.")
        elif not PERMISSIVE.search(licence):
            wrong.append(f"{name} {part.version} says nothing known about its licence ({licence!r}). Look it up.")
    return wrong


def locked_versions(text: str) -> dict[str, str]:
    """Return the version of each package in a lock file, by name."""
    return {canonicalize_name(name): version for name, version in _LOCKED.findall(text)}


def find_vulnerable(versions: Mapping[str, str], advisories: str) -> list[str]:
    """Return a sentence for each version that an advisory names."""
    found = []
    for advisory in tomllib.loads(advisories)["advisory"]:
        version = versions.get(canonicalize_name(advisory["package"]))
        if version is not None and SpecifierSet(advisory["affected"]).contains(version, prereleases=True):
            found.append(
                f"{advisory['package']} {version} has {advisory['id']} ({advisory['about']}). "
                f"Use a version that is not {advisory['affected']}."
            )
    return found


def check_vulnerabilities(advisories: Path = ADVISORIES) -> list[str]:
    """Return what the advisories say about what is installed and about what is locked."""
    text = advisories.read_text(encoding="utf-8")
    installed = {name: part.version for name, part in find_parts().items()}
    locked = locked_versions(LOCK.read_text(encoding="utf-8"))
    return list(dict.fromkeys([*find_vulnerable(installed, text), *find_vulnerable(locked, text)]))


def bill() -> dict[str, object]:
    """Return the bill of materials."""
    root = distribution(PACKAGE)
    components = [
        {
            "type": "library",
            "name": name,
            "version": part.version,
            "purl": f"pkg:pypi/{name}@{part.version}",
            "licenses": [{"license": {"name": licence_of(part) or "unknown"}}],
        }
        for name, part in find_parts().items()
    ]
    about = {"component": {"type": "application", "name": PACKAGE, "version": root.version}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": about,
        "components": components,
    }


def main() -> int:
    """Print the bill, or check licences or versions."""
    reader = argparse.ArgumentParser(description="List what Weft is delivered with.")
    reader.add_argument("--check", action="store_true", help="check the licences instead")
    reader.add_argument("--vulnerabilities", action="store_true", help="check versions against advisories instead")
    reader.add_argument("--list", type=Path, default=ADVISORIES, metavar="FILE", help="another list of advisories")
    asked = reader.parse_args()
    if not (asked.check or asked.vulnerabilities):
        print(json.dumps(bill(), indent=1, sort_keys=True))
        return 0
    wrong = [
        *(check() if asked.check else ()),
        *(check_vulnerabilities(asked.list) if asked.vulnerabilities else ()),
    ]
    for sentence in wrong:
        print(sentence)
    print(f"{len(find_parts())} packages, {len(wrong)} to look at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
