"""A command that only holds others prints its help when none of them is named."""

import pytest

from weft.interfaces.cli import DONE, run


@pytest.mark.parametrize("group", ["entities", "experience", "jobs", "keys", "lens", "profile"])
def test_a_group_without_a_subcommand_prints_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group, "--help"]) == DONE
    help_text = capsys.readouterr().out
    assert run([group]) == DONE
    alone = capsys.readouterr()
    assert alone.out.strip() == help_text.strip()
    assert f"Usage: weft {group}" in alone.out
    assert "list" in alone.out
    assert alone.err == ""
