"""A search lists code before history, and matches as it was asked to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.errors import InvalidInput
from weft.model import Origin

CODE = "def retry(request):\n    '''Send the request again after a timeout.'''"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    function = Node(
        "repo:net.py#retry",
        "function",
        title="retry",
        text=CODE,
        origin=Origin("repo", file="net.py", first_line=1),
    )
    commits = [
        Node(f"git:commit/{number}", "commit", title="Retry a request after a timeout", text="Send it again.")
        for number in range(3)
    ]
    with Weft.open(tmp_path / ".weft") as opened:
        opened.put([function, *commits])
        yield opened


def kinds(weft: Weft, question: str, **options: object) -> list[str]:
    return [found.node.kind for found in weft.search(question, floor=0.0, **options).candidates]  # type: ignore[arg-type]


def test_commits_are_left_out_where_there_is_code(weft: Weft) -> None:
    assert kinds(weft, "retry a request after a timeout") == ["function"]


def test_commits_are_found_where_history_is_asked_for(weft: Weft) -> None:
    assert "commit" in kinds(weft, "which commit introduced the retry of a request after a timeout?")


def test_an_unknown_way_to_match_is_refused_by_name(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="hybrid, bm25, vector, not by 'names'"):
        weft.search("retry", match="names")
