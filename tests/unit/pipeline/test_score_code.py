"""In code, files hold together: definitions and the code itself come before uses, tests and examples."""

from collections.abc import Sequence

from weft.model import Candidate, Node, Origin
from weft.pipeline.score import is_sample
from weft.pipeline.search_results import order_code


def piece(
    file: str, title: str, relevance: float, kind: str = "function", tags: tuple[str, ...] = ()
) -> Candidate:
    node = Node(f"repo:{file}#{title}", kind, title=title, tags=tuple(tags), origin=Origin("repo", file=file))
    return Candidate(node, parts={"relevance": relevance})


def order(candidates: Sequence[Candidate], question: str) -> list[str]:
    return [candidate.node.title for candidate in order_code(candidates, question)]


def test_a_class_called_by_name_comes_before_what_uses_it() -> None:
    found = [
        piece("client.py", "fetch_with_session", 0.95),
        piece("session.py", "ClientSession", 0.7, "class"),
        piece("session.py", "ClientSession.close", 0.9, "method"),
    ]
    assert order(found, "where is ClientSession")[0] == "ClientSession"


def test_a_file_named_by_words_of_the_question_rises() -> None:
    found = [piece("app.py", "run", 0.6), piece("recovery.py", "handle", 0.5)]
    assert order(found, "panic recovery middleware") == ["handle", "run"]


def test_a_file_that_stands_for_its_folder_is_known_by_the_folder() -> None:
    found = [piece("core/run.rs", "Run", 0.6), piece("middleware/mod.rs", "wrap", 0.5)]
    assert order(found, "how is middleware applied")[0] == "wrap"


def test_a_class_whose_name_neighbouring_words_make_comes_before_what_uses_it() -> None:
    found = [
        piece("tree.java", "JsonTree.walk", 0.9, "method"),
        piece("model.java", "JsonObject", 0.6, "class"),
    ]
    assert order(found, "a JSON object with named fields")[0] == "JsonObject"
    assert order(found, "an object in JSON")[0] == "JsonTree.walk"


def test_the_words_of_a_name_count_whatever_its_spelling() -> None:
    found = [piece("core/run.go", "Run", 0.6), piece("core/RouterGroup.go", "Handle", 0.5)]
    assert order(found, "how are router groups registered")[0] == "Handle"


def test_many_matching_pieces_lift_the_best_piece_of_their_file() -> None:
    alone = piece("alone.py", "alone", 0.62)
    together = [piece("shared.py", f"part{number}", 0.6 - number / 100) for number in range(5)]
    assert order([alone, *together], "how does it retry")[0] == "part0"


def test_further_pieces_of_a_file_make_room_for_other_files() -> None:
    first = [piece("one.py", f"one{number}", 0.9 - number / 100) for number in range(3)]
    assert order([*first, piece("two.py", "two", 0.5)], "how does it retry")[:2] == ["one0", "two"]


def test_tests_and_examples_come_last_unless_they_are_asked_for() -> None:
    found = [
        piece("tests/test_retry.py", "test_retry", 0.9, tags=("test-code",)),
        piece("backoff.py", "wait", 0.7),
    ]
    assert order(found, "how does retry work") == ["wait", "test_retry"]
    assert order(found, "which tests cover retry") == ["test_retry", "wait"]


def test_without_code_the_order_of_the_search_stays() -> None:
    notes = [piece("b.md", "B", 0.5, "note"), piece("a.md", "A", 0.4, "note")]
    assert order_code(notes, "a question about a") == tuple(notes)


def test_what_is_worth_the_same_keeps_the_order_of_the_search() -> None:
    found = [piece("b.py", "b", 0.5), piece("a.py", "a", 0.5)]
    assert order(found, "unrelated words") == ["b", "a"]


def test_samples_are_known_by_their_tag_folder_or_file_name() -> None:
    paths = ("examples/app.py", "src/foo_test.go", "lib/__tests__/x.js", "docs_src/a.py", "vendor/pkg/a.go")
    samples = [is_sample(piece(path, "x", 0.5).node) for path in paths]
    assert samples == [True, True, True, True, True]
    assert not is_sample(piece("src/latest/contest.py", "x", 0.5).node)
