"""Test what plugins and engines promise: suites for sources, stores, indexes; checks of embedders, tokenizers.

The suites are modules of pytest tests (`source_suite`, `store_suite`, `index_suite`). A package that implements a
port imports one into a test module and provides the fixtures that open its own: see docs/plugins.md. Needs pytest.
"""

import pytest

# Before the suites are imported, so that a failure shows the values that were compared.
pytest.register_assert_rewrite(
    "weft.testing.source_suite", "weft.testing.store_suite", "weft.testing.index_suite", "weft.testing.checks"
)

from weft.ports import Store  # noqa: E402
from weft.testing.checks import check_embedder, check_token_counter  # noqa: E402
from weft.testing.index_world import DIMENSIONS  # noqa: E402
from weft.testing.store_worlds import OpenStore  # noqa: E402

__all__ = ["check_embedder", "check_token_counter", "store", "world"]


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """Open a new, empty store."""
    return open_store()


@pytest.fixture
def world(store: Store) -> Store:
    """Return a new, empty store that takes the vectors of the small worlds for searching."""
    store.remember_embedder("test", DIMENSIONS)
    return store
