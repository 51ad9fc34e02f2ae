"""Pages of snippets: the best of all texts, those of one text together, short texts whole, the budget kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.model import Detail

FILLER = "The committee met again in the long room and postponed every other matter until the spring of the year."
ANSWER = "The harbour lamp burns nine barrels of whale oil in a winter month, says the keeper of the stores."
QUESTION = "How many barrels of whale oil does the harbour lamp burn?"


def long_text(answer: str = ANSWER) -> str:
    before = "\n\n".join(f"{FILLER} Item {number} was read twice." for number in range(20))
    after = "\n\n".join(f"{FILLER} Item {number} was put off." for number in range(20, 40))
    return f"{before}\n\n{answer}\n\n{after}"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        opened.put([
            Node("n:minutes", "note", title="Minutes", text=long_text()),
            Node("n:stores", "note", title="Stores", text="Whale oil for the lamp: nine barrels."),
            *(Node(f"n:{number}", "note", title=f"Ships {number}", text=long_text(FILLER)) for number in range(5)),
        ])  # fmt: skip
        yield opened


@pytest.mark.parametrize("budget", [60, 90, 150, 300, 700, 1500])
def test_the_budget_is_kept(weft: Weft, budget: int) -> None:
    assert weft.context(QUESTION, max_tokens=budget).tokens <= budget


def test_the_answer_in_the_middle_of_a_long_text_is_printed_on_a_small_page(weft: Weft) -> None:
    assert "nine barrels of whale oil" in weft.context(QUESTION, max_tokens=150).text


def test_a_short_text_is_printed_whole(weft: Weft) -> None:
    context = weft.context(QUESTION, max_tokens=400)
    (stores,) = [entry for entry in context.ledger if entry.key == "n:stores"]
    assert stores.detail is Detail.WHOLE


def test_snippets_of_one_text_stand_under_one_heading_in_reading_order(weft: Weft) -> None:
    text = weft.context(QUESTION, max_tokens=1500).text
    assert text.count("### Minutes") == 1
    body = text.partition("### Minutes")[2].partition("\n### ")[0]
    numbers = [int(word) for word in body.replace(".", " ").split() if word.isdigit()]
    assert numbers == sorted(numbers)


def test_the_location_is_the_first_line_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "minutes.md").write_text(f"# Minutes\n\n{long_text()}\n", "utf-8")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path / "docs"))
        page = weft.context(QUESTION, max_tokens=120).text
    shown = next(line for line in page.splitlines() if line.startswith("*minutes.md:"))
    line = int(shown.strip("*").rpartition(":")[2])
    written = (tmp_path / "docs" / "minutes.md").read_text("utf-8").splitlines()
    assert written[line - 1] in page


def test_the_sentence_below_a_matching_heading_comes_before_more_of_other_texts(tmp_path: Path) -> None:
    heading = "## How many barrels of whale oil the harbour lamp burns\n\n"
    first = "Whale oil is bought in barrels for the harbour lamp, which burns it, and the keeper writes that down."
    told = (
        "Nine were spent in each of the darkest weeks, if one believes what the keeper of the stores has written "
        "into his books over more than thirty years of service to the town and to its council."
    )
    others = [
        Node(
            f"n:{number}",
            "note",
            title=f"Ships {number}",
            text=f"{FILLER}\n\nWhale oil in barrels for the harbour lamp, lot {number}.",
        )
        for number in range(8)
    ]
    minutes = "\n\n".join([FILLER] * 12)
    with Weft.open(tmp_path / ".weft") as weft:
        text = f"{minutes}\n\n{heading}{first}\n\n{told}\n\n{minutes}"
        weft.put([Node("n:minutes", "note", title="Minutes", text=text), *others])
        page = weft.context(QUESTION, max_tokens=200).text
    assert "Nine were spent" in page


def test_what_leads_to_the_next_snippet_brings_it_along(tmp_path: Path) -> None:
    lead = "Whoever asks how the harbour lamp is lit in winter must do all of the following things in order"
    steps = "\n".join(f"- step {number} of the many steps that have to be taken there" for number in range(4))
    filler = "\n\n".join(f"{FILLER} Item {number}." for number in range(12))
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put(
            [
                Node(
                    "n:lamp",
                    "note",
                    title="Lamp",
                    text=f"{filler}\n\n{lead} {FILLER[:-1]}:\n\n{steps}\n\n{filler}",
                )
            ]
        )
        assert "step 0 of" in weft.context("how is the harbour lamp lit in winter?", max_tokens=220).text


def test_where_no_snippet_fits_names_are_listed(weft: Weft) -> None:
    context = weft.context(QUESTION, max_tokens=40)
    assert context.tokens <= 40
    assert "Minutes" in context.text or "Stores" in context.text


def test_the_passage_beside_the_one_found_is_read_too(tmp_path: Path) -> None:
    # A passage has some two hundred words, and six of a text are found at most: twelve others have words of it.
    asked = "The harbour lamp burns whale oil in every winter month, says the keeper of the stores."
    other = "Of the lamp and its oil the committee spoke again at length, and put the matter off until the spring."
    others = "\n\n".join([*[FILLER] * 9, other] * 12)
    answer = "It takes nine barrels, which the cooper brings up the stair."
    found = "\n\n".join([asked, asked, *[FILLER] * 9])
    beside = "\n\n".join([answer, *[FILLER] * 40])
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node("n:minutes", "note", title="Minutes", text=f"{others}\n\n{found}\n\n{beside}")])
        page = weft.context("How much whale oil does the harbour lamp burn in winter?", max_tokens=100_000).text
    assert "nine barrels" in page


def test_the_line_that_opens_a_class_is_not_printed_alone(tmp_path: Path) -> None:
    methods = "\n".join(
        f"    def lamp_{number}(self):\n        return self.oil * {number}\n" for number in range(9)
    )
    (tmp_path / "lamps.py").write_text(f"class HarbourLamps:\n{methods}", "utf-8")
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path), source="repo")
        page = weft.context("which lamp of the harbour returns oil times seven?", max_tokens=400).text
    assert "oil * 7" in page
    assert "```python\nclass HarbourLamps:\n```" not in page


def test_a_few_words_between_two_gaps_are_not_printed(tmp_path: Path) -> None:
    # The paragraph before the few words is too long to take them in.
    before = f"{FILLER} {FILLER} So it was agreed by everybody."
    few = "Harbour lamp: whale oil by barrels."
    text = f"{long_text()}\n\n{before}\n\n{few}\n\n## Weather and the state of the sea\n\n{long_text(FILLER)}"
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node("n:minutes", "note", title="Minutes", text=text)])
        pieces = weft.context(QUESTION, max_tokens=200).text.split("[…]")
    assert "nine barrels" in "".join(pieces)
    assert all(len(piece.split()) >= 12 for piece in pieces[1:])


@pytest.mark.parametrize("budget", [70, 100, 150])
def test_a_definition_that_is_asked_for_has_its_bare_signature_where_its_first_part_is_too_long(
    tmp_path: Path, budget: int
) -> None:
    comment = "\n".join(
        f"# Lamps of the {word} quay are lit in turn." for word in ["north", "south", "east", "west", "far"]
    )
    lights = "\n".join(f"    lamps[{number}].burn(oil[{number}], hours[{number}])" for number in range(12))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "lamps.py").write_text(
        f"{comment}\ndef light_harbour(lamps, oil, hours):\n{lights}\n\n\n"
        "# Calls light_harbour in the evening.\ndef evening(lamps):\n    light_harbour(lamps, OIL, HOURS)\n"
    )
    with Weft.open(tmp_path / ".weft") as weft:
        weft.index(str(tmp_path / "work"))
        page = weft.context("where is light_harbour defined", max_tokens=budget)
    assert "def light_harbour(lamps, oil, hours):" in page.text
    assert page.ledger[0].key.endswith("#light_harbour")
    assert page.tokens <= budget
