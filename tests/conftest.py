"""Options of the whole suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the golden pages anew instead of comparing them."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/pages anew")
