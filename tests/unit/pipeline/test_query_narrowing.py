"""Among few nodes, what most of them say tells them apart less."""

from pathlib import Path

import numpy as np
import pytest

from weft import Filter, Node, Weft
from weft.embed.static import static_embedder
from weft.model import View
from weft.pipeline.query import narrow, understand
from weft.scoring.bm25 import term_hash


def test_a_term_that_all_nodes_of_a_filter_share_loses_weight_there(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.put(
            [Node(f"s:t{n}", "note", text=f"The king saw apple{n}.", fields={"tale": "a"}) for n in range(5)]
            + [Node(f"s:o{n}", "note", text=f"Salt and rope{n}.", fields={"tale": "b"}) for n in range(30)]
        )
        with weft.store.snapshot(View()) as snapshot:
            asked = understand("king apple3", snapshot, None)
            inside = narrow(asked, Filter(where=(("tale", "a"),)), snapshot)
            king, apple = term_hash("king"), term_hash("apple3")
            assert inside.terms[king] < 0.5 * asked.terms[king]
            assert inside.terms[apple] > inside.terms[king]
            assert narrow(asked, Filter(), snapshot) == asked
            assert narrow(asked, Filter(where=(("tale", "none"),)), snapshot) == asked
        found = weft.context("king apple3", filter=Filter(where=(("tale", "a"),)))
        assert found.ledger[0].key == "s:t3"


@pytest.mark.parametrize(
    ("asked", "embedded"),
    [
        ("python check a file in Go", "check a file in Go"),
        ("python", "python"),
        ("what is Python about", "what is Python about"),
        ("check a file", "check a file"),
    ],
)
def test_the_language_of_the_store_does_not_colour_the_meaning_of_a_question(
    tmp_path: Path, asked: str, embedded: str
) -> None:
    embedder = static_embedder()
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node(f"s:{n}", "function", title=f"f{n}", text="return 1", language="python") for n in range(9)])
        with weft.store.snapshot(View()) as snapshot:
            vector = understand(asked, snapshot, embedder).vector
            assert vector is not None
            assert np.allclose(vector, embedder.embed([embedded])[0])


def test_in_a_store_of_several_languages_the_named_one_is_preferred(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        for language in ("go", "rust", "python"):
            text = "open the file and check that nobody may write to it"
            weft.put(
                [Node(f"s:{language}", "function", title=f"check_{language[:1]}", text=text, language=language)]
            )
        assert weft.context("check a file in Rust").ledger[0].key == "s:rust"
