"""Among few nodes, what most of them say tells them apart less."""

from pathlib import Path

from weft import Filter, Node, Weft
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
