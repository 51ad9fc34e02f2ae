"""Preparing in another process gives what preparing here gives, whatever happens to that process."""

import os
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from weft import preparing
from weft.embed.static import static_embedder
from weft.model import Node, Origin
from weft.ports import Embedder
from weft.prepare import prepare
from weft.preparing import Preparing
from weft.tokens.encodings import EncodingCounter

COUNT = EncodingCounter("cl100k_base")
BATCHES = [
    [
        (Node(f"w:{batch}.{place}", "note", text=f"Lamp {place} of pier {batch}.", origin=Origin("w")), "unit")
        for place in range(5)
    ]
    for batch in range(4)
]


@pytest.fixture(autouse=True)
def start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_ALONE", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


class _Locked:
    """An embedder that cannot be handed to another process."""

    name, dimensions = "locked", 4

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.parametrize("embed", [None, static_embedder(), _Locked()], ids=["none", "static", "unpicklable"])
def test_batches_come_back_in_order_as_prepared_here(embed: Embedder | None) -> None:
    with Preparing(embed, COUNT) as elsewhere:
        waiting = [elsewhere.submit(batch) for batch in BATCHES]
        assert [each() for each in waiting] == [prepare(batch, embed, COUNT) for batch in BATCHES]


def test_another_process_is_used_where_one_can_be() -> None:
    with Preparing(static_embedder(), COUNT) as elsewhere:
        assert elsewhere.ahead == 0
        elsewhere.submit(BATCHES[0])
        assert elsewhere.ahead > 0


def test_a_process_that_dies_costs_nothing_but_time() -> None:
    with Preparing(None, COUNT) as elsewhere:
        waiting = [elsewhere.submit(BATCHES[0])]
        assert elsewhere._process is not None
        elsewhere._process.kill()
        elsewhere._process.wait()
        waiting += [elsewhere.submit(batch) for batch in BATCHES[1:]]
        assert [each() for each in waiting] == [prepare(batch, None, COUNT) for batch in BATCHES]


def test_one_core_prepares_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with Preparing(None, COUNT) as here:
        assert here.submit(BATCHES[0])() == prepare(BATCHES[0], None, COUNT)
        assert here.ahead == 0
