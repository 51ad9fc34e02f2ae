"""List what Weft is delivered with: a bill of materials (CycloneDX), and a check of every licence.

    python scripts/supply_chain.py            print the bill of materials of the package with all its extras
    python scripts/supply_chain.py --check    exit with 1 if a licence is not permissive or not known

Both read what is installed here and ask nobody. The bill is the same bytes for the same installation.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "weft-context"
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
    """Print the bill, or check the licences."""
    reader = argparse.ArgumentParser(description="List what Weft is delivered with.")
    reader.add_argument("--check", action="store_true", help="check the licences instead")
    if not reader.parse_args().check:
        print(json.dumps(bill(), indent=1, sort_keys=True))
        return 0
    wrong = check()
    for sentence in wrong:
        print(sentence)
    print(f"{len(find_parts())} packages, {len(wrong)} to look at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
