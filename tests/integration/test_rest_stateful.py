"""Sequences of requests, of which each uses what the answers before it named, keep to the description too."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from rest_service import EXAMPLES, make_service, running
from weft import Weft

UNSUITABLE = ("/import", "/snapshots")
"""Ends of paths that are left out: no description says what a line of an import is, and backups take long."""
SEQUENCES = 8


def name_one_tenant(described: Any) -> None:
    """Let all requests be of one tenant: what one of them makes is rightly not there for another tenant."""
    for value in described.values() if isinstance(described, dict) else described:
        if isinstance(value, dict | list):
            name_one_tenant(value)
    if isinstance(described, dict) and isinstance(described.get("properties"), dict):
        if "tenant_id" in described["properties"]:
            described["properties"]["tenant_id"] = {"type": "string", "enum": ["support"]}
    elif isinstance(described, dict) and described.get("name") == "tenant_id":
        is_list = described["schema"].get("type") == "array"
        one = {"type": "string", "enum": ["support"]}
        described["schema"] = {"type": "array", "items": one, "minItems": 1} if is_list else one


def test_sequences_of_requests_keep_to_the_description(tmp_path: Path) -> None:
    store = tmp_path / ".weft"
    with Weft.open(store) as weft:
        weft.index(EXAMPLES / "helpdesk")
    service = make_service(store)
    described = service.http.get("/openapi.json").json()
    name_one_tenant(described)
    paths = {path: told for path, told in described["paths"].items() if not path.endswith(UNSUITABLE)}
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps({**described, "paths": paths}), encoding="utf-8")
    words = [sys.executable, "-m", "schemathesis.cli", "run", str(file), "--phases", "stateful"]
    # Names of profiles, tenants and nodes are of what is there, which no description can list.
    words += ["--exclude-checks", "positive_data_acceptance", "--generation-deterministic"]
    with running(service) as address:
        done = subprocess.run(
            [*words, "--max-examples", str(SEQUENCES), "--url", address],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    service.served.close()
    assert done.returncode == 0, done.stdout[-3000:]
    generated = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert generated is not None, done.stdout[-3000:]
    assert int(generated[1]) == int(generated[2]) >= SEQUENCES
