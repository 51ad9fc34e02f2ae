"""How the closed lists are written down."""


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())
