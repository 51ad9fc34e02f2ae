"""A question for a file or a module by its name brings that file first, and what is in it."""

from collections.abc import Iterator

import pytest

from weft import Weft

FILES = {
    "app/budget.py": (
        '"""Shares and levels of detail."""\n\n\n'
        "def fit(items, room):\n"
        '    """Choose a level for each item."""\n'
        "    return [item.level(room) for item in items]\n\n\n"
        "def unrelated(items):\n    return sorted(items)\n"
    ),
    "app/plan.py": (
        '"""What a request wants."""\n\n\n'
        "def _budget(request):\n"
        '    """The budget of a request, enforced to be a number."""\n'
        "    budget = request.budget\n    return budget if budget > 0 else None\n\n\n"
        "def choose_level(level):\n    return level\n"
    ),
    "app/store/log.py": '"""A log."""\n\n\ndef append(line):\n    return line\n',
    "other/log.py": '"""Another log: app and store write to it."""\n\n\ndef append(line):\n    return line\n',
    "docs/guide.md": "# Guide\n\nThe budget is set in a request; see budget.py for how levels are chosen.\n",
}


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with Weft.open(tmp_path_factory.mktemp("store") / ".weft") as opened:
        opened.index(folder, source="code")
        yield opened


def best(weft: Weft, question: str) -> list[str]:
    """The keys of what stands for itself, best first."""
    page = weft.context(question, profile="workspace")
    found = sorted((each for each in page.ledger if each.score), key=lambda each: -each.score)
    return [each.key.removeprefix("code:") for each in found]


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("Where is the budget enforced?", "app/budget.py"),
        ("how does budget.py choose levels?", "app/budget.py"),
        ("How does the App's budget.py choose levels?", "app/budget.py"),
        ("what does app/store/log.py do", "app/store/log.py"),
        ("what does other/log.py do", "other/log.py"),
    ],
)
def test_the_file_that_is_called_by_its_name_comes_first(weft: Weft, question: str, file: str) -> None:
    assert best(weft, question)[0] == file


def test_what_a_named_file_holds_comes_before_what_others_say_of_the_same(weft: Weft) -> None:
    found = best(weft, "how does budget.py choose levels?")
    assert found.index("app/budget.py#fit") < found.index("app/plan.py#choose_level")
