"""docs/hooks.md is true: every option of the program and every event that is installed."""

import re
from pathlib import Path

from weft.interfaces.hook_settings import HOOK_CLIENTS
from weft.interfaces.hooks.events import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")


def test_every_option_is_described_and_no_other() -> None:
    described = re.findall(r"^\| `--([a-z-]+)", PAGE, re.M)
    assert sorted(described) == sorted([*OPTIONS, "debug"])


def test_every_event_is_described() -> None:
    for client in HOOK_CLIENTS.values():
        for event in client.matchers:
            assert re.search(rf"^\| .*`{event}`", PAGE, re.M), (client.name, event)
