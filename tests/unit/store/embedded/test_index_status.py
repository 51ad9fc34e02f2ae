"""The status of the search files, while other processes write them."""

import os
from pathlib import Path

import pytest

from weft import Node, Weft


def test_a_file_that_vanishes_while_it_is_counted_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.put([Node("put:a", "note", text="A word.")])
        (tmp_path / "here").write_bytes(b"1234567")
        monkeypatch.setattr(os, "walk", lambda folder: iter([(str(tmp_path), [], ["here", "gone"])]))
        assert weft.index_status()["bytes"] == 7
