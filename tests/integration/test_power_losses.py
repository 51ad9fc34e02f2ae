"""Acknowledged writes outlive a loss of power, also where the disk failed to sync before."""

import time
from pathlib import Path

import pytest

from torture.native import build_recorder
from torture.power import run_power_losses


def test_what_is_acknowledged_after_a_failed_sync_is_not_lost_with_the_hole_that_it_left(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    if build_recorder(tmp_path / "library") is None:
        pytest.skip("needs a C compiler")
    # In this work a sync fails at the end of a log that the next writer goes on with.
    figures = run_power_losses(tmp_path, 30, time.monotonic() + 300, 50)
    assert figures["power_losses"] == 50
    assert figures["failed_syncs"] > 0
    assert figures["losses"] == 0
