"""The source keeps what indexing relies on; the embedder and the tokenizer what pages rely on."""

from pathlib import Path

import pytest

from weft.embed import open_embedder
from weft.sources import open_sources
from weft.testing import check_embedder, check_token_counter
from weft.testing.source_suite import *  # noqa: F403
from weft.testing.source_suite import OpenSource
from weft.tokens import counter_for

STOCK = Path(__file__).parent / "kitchen" / "stock.csv"


@pytest.fixture
def open_source() -> OpenSource:
    return lambda: open_sources(f"pantry://{STOCK}")[0]


def test_the_embedder_is_opened_by_its_name_and_does_what_is_asked_of_one() -> None:
    embedder = open_embedder("letters:64")
    assert embedder is not None
    assert embedder.name == "letters-64"
    check_embedder(embedder)


def test_the_tokenizer_is_opened_by_its_name_and_does_what_is_asked_of_one() -> None:
    counter, note = counter_for("words")
    assert (counter.name, note) == ("words", None)
    check_token_counter(counter)
