"""Code answers in a repository; among documents it only serves them."""

from pathlib import Path

from weft import Node, Weft
from weft.model import Candidate
from weft.pipeline.score import add_file_parts

SCRIPT = (
    "def restart_server(button):\n"
    "    button.classes.add('restarting')\n    button.text = 'wait'\n    return button.parent.window\n"
)
GUIDE = (
    "# Running\n\nThe server does not restart by itself after it stopped with an error. Restart it by hand with "
    "the start command, and read the log of the server for the error first."
)
QUESTION = "why does the server not restart by itself after it stopped with an error?"


def write(folder: Path, documents: int, scripts: int) -> None:
    folder.mkdir()
    (folder / "running.md").write_text(f"{GUIDE}\n")
    (folder / "restart_server.py").write_text(SCRIPT)
    for number in range(documents):
        (folder / f"page{number}.md").write_text(
            f"# Page {number}\n\nThe council met about the harbour, item {number}.\n"
        )
    for number in range(scripts):
        (folder / f"module{number}.py").write_text(f"def tide{number}(level):\n    return level + {number}\n")


def find_order(folder: Path) -> list[str]:
    """Return the files of the page's items in printed order."""
    with Weft.open(folder.parent / f"{folder.name}.store") as weft:
        weft.index(folder)
        page = weft.context(QUESTION, max_tokens=600).text
    return sorted(("running.md", "restart_server.py"), key=page.index)


def test_a_script_among_documents_comes_after_the_document_that_answers(tmp_path: Path) -> None:
    write(tmp_path / "docs", documents=20, scripts=0)
    assert find_order(tmp_path / "docs")[0] == "running.md"


def test_the_same_function_comes_first_in_a_repository(tmp_path: Path) -> None:
    write(tmp_path / "repo", documents=0, scripts=20)
    assert find_order(tmp_path / "repo")[0] == "restart_server.py"


def test_a_function_called_by_its_name_comes_first_among_documents_too(tmp_path: Path) -> None:
    write(tmp_path / "docs", documents=20, scripts=0)
    with Weft.open(tmp_path / "named.store") as weft:
        weft.index(tmp_path / "docs")
        context = weft.context("where is restart_server defined?", max_tokens=600)
    assert "restart_server" in context.sources[0].key


def test_a_factor_that_code_has_already_is_kept_among_documents() -> None:
    documents = [Candidate(Node(f"docs:{number}", "document", text="A page.")) for number in range(9)]
    test = Candidate(Node("work:test", "function", text="def test(): ..."), parts={"shape_factor": 2.0})
    plain = Candidate(Node("work:plain", "function", text="def plain(): ..."))
    *_, raised, lowered = add_file_parts([*documents, test, plain], "which tests cover the page?")
    assert raised.parts["shape_factor"] == 2.0 * lowered.parts["shape_factor"]
