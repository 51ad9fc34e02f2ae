"""The lexical files: folders that take no lock, and what becomes of the engine's panics."""

import numpy as np
import pytest

from weft.model import Filter, View
from weft.ports import ChangedPassage
from weft.store.derived import Damaged, Progress, Scope, cut_at_tie
from weft.store.embedded import lexical
from weft.store.embedded.lexical import LexicalWriter, engine_damage, hashed_words, open_generation


def tail_passage(number: int, *terms: int) -> ChangedPassage:
    hashes = np.array(sorted(terms), "<u4").tobytes()
    return ChangedPassage(number, number, "t", ("kind:a",), None, None, None, hashes, b"\x11" * len(terms), b"")


def written(folder):
    writer = LexicalWriter(folder, Progress("store"), bulk=False)
    writer.add([1, 2], [tail_passage(1, 7, 9), tail_passage(2, 9)])
    writer.commit(1)
    writer.close()
    return folder


def test_words_are_hashes_in_hex_and_those_of_titles_count_twice():
    assert hashed_words(tail_passage(1, 7, 0xABCDEF01)).split() == ["00000007"] * 3 + ["abcdef01"] * 3


def test_a_folder_that_takes_no_lock_is_read_through_links(tmp_path, monkeypatch):
    folder = written(tmp_path / "lexical")
    monkeypatch.setattr(lexical.os, "access", lambda *_: False)
    before = sorted(path.name for path in folder.iterdir())
    generation = open_generation(folder)
    scope = Scope(View(("t",)), Filter(kinds=("a",)), np.zeros(0, np.int64))
    assert generation.search({7: 1.0}, scope, 5)[0].tolist() == [1]
    assert generation.progress.sequence == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_missing_folder_counts_as_damaged(tmp_path):
    with pytest.raises(Damaged):
        open_generation(tmp_path / "nowhere")


def test_a_panic_of_the_engine_counts_as_damage_and_an_interrupt_does_not():
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(Damaged, match="oh"), engine_damage():
        raise panic("oh")
    with pytest.raises(KeyboardInterrupt), engine_damage():
        raise KeyboardInterrupt


def test_the_cut_keeps_ties_and_orders_by_score_then_id():
    ids, scores = cut_at_tie(np.array([4, 3, 2, 1]), np.array([1.0, 5.0, 1.0, 1.0]), 2)
    assert ids.tolist() == [3, 1, 2, 4]
    assert scores.tolist() == [5.0, 1.0, 1.0, 1.0]
    assert cut_at_tie(ids, scores, 0)[0].tolist() == []
