"""Options of the whole suite."""

import pytest
from hypothesis import settings

# How long an example takes says something about the machine, not about the code.
settings.register_profile("weft", deadline=None)
settings.load_profile("weft")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the golden pages anew instead of comparing them."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/pages anew")
