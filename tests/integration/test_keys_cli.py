"""`weft keys`, `weft share` and `weft serve` on the command line."""

import json
from pathlib import Path

from command_line import Cli


def test_a_key_is_made_listed_and_revoked_and_only_its_hash_is_kept(cli: Cli, world: Path) -> None:
    made = cli(
        "keys", "create", "--tenant", "support", "--tenant", "shared", "--write", "--name", "reading", "--json"
    )
    key = json.loads(made.out)
    kept = (world / "keys.json").read_text(encoding="utf-8")
    assert key["key"].split("_", 2)[2] not in kept
    assert (world / "keys.json").stat().st_mode & 0o077 == 0
    listed = json.loads(cli("keys", "list", "--json").out)["keys"]
    assert [(each["id"], each["tenants"], each["write"]) for each in listed] == [
        (key["id"], ["support", "shared"], True)
    ]
    assert json.loads(cli("keys", "revoke", key["id"], "--json").out) == {"revoked": key["id"], "left": 0}
    assert cli("keys", "revoke", key["id"]).code == 2
    assert json.loads(cli("keys", "list", "--json").out)["keys"] == []


def test_a_damaged_key_file_stops_everyone_and_says_so(cli: Cli, world: Path) -> None:
    (world / "keys.json").write_text("{", encoding="utf-8")
    done = cli("keys", "list")
    assert done.code == 4
    assert "keys.json" in done.err


def test_other_machines_are_not_served_without_keys(cli: Cli, world: Path) -> None:
    done = cli("serve", "--host", "0.0.0.0")
    assert done.code == 2
    assert "weft keys create" in done.err


def test_sharing_is_declared_and_taken_back(cli: Cli, world: Path) -> None:
    assert "shared, support" in cli("share", "finance", "shared", "support").out
    assert "no other tenant" in cli("share", "finance").out
    told = json.loads(cli("share", "finance", "shared", "--json").out)
    assert told == {"tenant": "finance", "others": ["shared"]}
