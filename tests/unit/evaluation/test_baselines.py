"""The naive pages that ours are compared with: passages, their order, windows of lines, and the budget."""

from pathlib import Path

import pytest

from weft.embed import open_embedder
from weft.errors import InvalidInput, SourceError, UnknownName
from weft.evaluation.baselines import TextFile, check_baselines, make_baselines, read_text_files, split_passages
from weft.evaluation.run import page_counter

FILLER = "The clerk wrote another plain line about the weather of that day."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "deep").mkdir(parents=True)
    (root / "a.md").write_text("\n\n".join(["# Weather", *[FILLER] * 60]), encoding="utf-8")
    (root / "deep" / "keeper.md").write_text(
        f"# Harbour\n\n{FILLER}\n\nThe lighthouse keeper is named Isolde Marr.\n", encoding="utf-8"
    )
    (root / "money.md").write_text(
        "# Refunds\n\nMoney is given back to the customer in ten days.\n", encoding="utf-8"
    )
    (root / "secret.log").write_text("lighthouse keeper", encoding="utf-8")
    (root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (root / "image.bin").write_bytes(b"\x00\x01lighthouse")
    (root / ".hidden.md").write_text("lighthouse keeper", encoding="utf-8")
    return root


def test_files_are_read_in_order_without_ignored_hidden_and_binary_ones(source: Path) -> None:
    assert [file.name for file in read_text_files(source)] == ["a.md", "deep/keeper.md", "money.md"]
    assert [file.name for file in read_text_files(source / "money.md")] == ["money.md"]


def test_passages_are_about_150_words_end_at_blank_lines_and_name_their_place(source: Path) -> None:
    file = next(read_text_files(source))
    passages = list(split_passages(file))
    assert [passage.splitlines()[0] for passage in passages[:2]] == ["a.md:1", "a.md:28"]
    assert all(150 <= len(passage.split()) <= 170 for passage in passages[:-1])
    assert "\n".join(passage.partition("\n")[2] for passage in passages) == "\n".join(file.lines)


def test_a_definition_or_heading_begins_a_passage_once_there_are_enough_words() -> None:
    lines = (*[FILLER] * 6, "def first():", "    pass", "## Second")
    assert [passage.splitlines()[1] for passage in split_passages(TextFile("x.py", lines))] == [
        FILLER,
        "def first():",
    ]


def test_a_text_without_blank_lines_is_cut_too() -> None:
    passages = list(split_passages(TextFile("log.txt", (FILLER,) * 100)))
    assert len(passages) == 4


@pytest.mark.parametrize("name", ["bm25", "mix", "grep"])
def test_the_passage_that_answers_comes_first_with_its_place(source: Path, name: str) -> None:
    page = make_baselines([name], source, open_embedder("static"), page_counter())[name]
    text = page("Who is the lighthouse keeper?", 400)
    assert text.startswith("deep/keeper.md:")
    assert "Isolde Marr" in text.split("\n\n# ")[0]
    assert text == page("Who is the lighthouse keeper?", 400)


def test_meaning_finds_what_words_do_not(source: Path) -> None:
    made = make_baselines(["bm25", "mix"], source, open_embedder("static"), page_counter())
    question = "reimburse a client's payment"
    assert made["bm25"](question, 200) == ""
    assert made["mix"](question, 200).startswith("money.md:1")


@pytest.mark.parametrize("budget", [5, 60, 250, 1000])
def test_no_page_costs_more_than_its_budget(source: Path, budget: int) -> None:
    counter = page_counter()
    made = make_baselines(["bm25", "mix", "grep"], source, open_embedder("static"), counter)
    for page in made.values():
        assert counter.count(page("weather of the harbour", budget)) <= budget


def test_windows_of_lines_do_not_overlap_much_and_hold_the_rarest_words(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("\n".join([*["common word"] * 20, "rare zebra word", *["common word"] * 20]), encoding="utf-8")
    grep = make_baselines(["grep"], path, None, page_counter())["grep"]
    assert "zebra" in grep("a common zebra?", 60).split("\n\n")[0]
    starts = [int(piece.splitlines()[0].split(":")[1]) for piece in grep("common", 1000).split("\n\n")]
    assert all(abs(one - other) >= 3 for one in starts for other in starts if one != other)


def test_unknown_names_and_meaning_without_an_embedder_are_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'bm25'"):
        check_baselines(["bm26"], None)
    with pytest.raises(InvalidInput, match="--embedder is none"):
        check_baselines(["bm25", "mix"], None)


def test_a_source_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00")
    with pytest.raises(SourceError, match="holds no text"):
        make_baselines(["bm25"], tmp_path, None, page_counter())
