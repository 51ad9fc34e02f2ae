"""How books are parted into chapters and scenes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manuscripts import manuscript
from weft.text.chapters import (
    SCENE_CHARACTERS,
    find_chapters,
    find_doubt,
    find_number,
    has_chapters,
    is_story,
    split_scenes,
)

PROSE = "It rained all day on the harbour, and nobody came to the door until evening. " * 2


def numbers(text: str) -> list[int]:
    return [chapter.number for chapter in find_chapters(text)]


@pytest.mark.parametrize(
    "heading",
    [
        "CHAPTER {}",
        "Chapter {}. The Ferry",
        "## Chapter {}",
        "{}",
        "{}.",
        "Letter {}",
        "# Chapter {}: Home",
        "KAPITEL {}",
    ],
)
def test_chapters_are_found_by_their_headings(heading: str) -> None:
    text = "\n\n".join(f"{heading.format(number)}\n\n{PROSE}" for number in (1, 2, 3))
    found = find_chapters(text)
    assert [chapter.number for chapter in found] == [1, 2, 3]
    assert all(text[chapter.start : chapter.end] == PROSE.strip() for chapter in found)


@pytest.mark.parametrize(
    ("written", "number"), [("IX", 9), ("XL", 40), ("twenty-one", 21), ("the Third", 3), ("12", 12)]
)
def test_numbers_are_read_as_they_are_written(written: str, number: int) -> None:
    assert numbers(f"CHAPTER {written}\n\n{PROSE}") == [number]


@pytest.mark.parametrize(
    ("heading", "number"),
    [
        ("第七章", 7),
        ("第十二回 风雪", 12),
        ("第２３話", 23),
        ("第一百零五章：归来", 105),
        ("第 3 章", 3),
        ("제12장 귀향", 12),
    ],
)
def test_chapters_of_other_scripts_are_numbered_too(heading: str, number: int) -> None:
    assert numbers(f"{heading}\n\n{PROSE}") == [number]
    assert find_number("第二十一章 风雪") == 21


def test_a_sentence_that_speaks_of_a_chapter_is_no_heading_in_other_scripts_either() -> None:
    assert not has_chapters(f"第一章说了什么，\n\n{PROSE}\n\n第二章没有写完。\n\n{PROSE}")


def test_a_title_below_the_heading_belongs_to_it() -> None:
    first = find_chapters(manuscript())[0]
    assert first.title == "Chapter 1: The Late Mail"
    assert manuscript()[first.start :].startswith("The ferry at Harrow Lock")


def test_a_table_of_contents_is_no_chapter() -> None:
    listed = "\n\n".join(f"CHAPTER {number}" for number in range(1, 6))
    text = f"{listed}\n\nA NOVEL by Nobody In Particular, with pictures\n\n" + "\n\n".join(
        f"CHAPTER {number}\n\n{PROSE}" for number in range(1, 6)
    )
    assert numbers(text) == [1, 2, 3, 4, 5]


def test_numbers_that_begin_again_are_counted_on() -> None:
    part = "\n\n".join(f"CHAPTER {number}\n\n{PROSE}" for number in (1, 2))
    assert numbers(f"PART ONE\n\n{part}\n\nPART TWO\n\n{part}") == [1, 2, 3, 4]


def test_a_prologue_comes_before_chapter_one_and_an_interlude_goes_with_the_chapter_before() -> None:
    names = ("PROLOGUE", "CHAPTER 1", "INTERLUDE", "CHAPTER 2", "EPILOGUE")
    assert numbers("\n\n".join(f"{name}\n\n{PROSE}" for name in names)) == [0, 1, 1, 2, 3]


def test_what_a_library_wraps_around_a_book_is_left_out() -> None:
    text = (
        f"Preamble\n*** START OF THIS BOOK ***\n\nCHAPTER 1\n\n{PROSE}\n\n*** END OF THIS BOOK ***\n\nLicence text"
    )
    (only,) = find_chapters(text)
    assert text[only.start : only.end] == PROSE.strip()


def test_a_book_without_chapters_comes_in_parts() -> None:
    text = "\n\n".join([PROSE * 4] * 200)
    found = find_chapters(text)
    assert len(found) > 3
    assert not has_chapters(text)
    assert [chapter.number for chapter in found] == list(range(1, len(found) + 1))


@pytest.mark.parametrize("joint", ["", " ", "\n"])
def test_a_book_that_is_one_line_is_parted_at_its_sentences(joint: str) -> None:
    text = joint.join(f"Orla went to the quay for the {day}th time. " for day in range(3000)).strip()
    found = find_chapters(text)
    assert len(found) > 5
    spans = [span for each in found for span in split_scenes(text, each.start, each.end)]
    assert all(end - start <= 3 * SCENE_CHARACTERS and text[start:end].startswith("Orla") for start, end in spans)


@pytest.mark.parametrize("text", ["a" * 50_000, "ink tide " * 6_000, "他走了。" * 12_000])
def test_text_without_ends_of_sentences_is_parted_all_the_same(text: str) -> None:
    spans = [span for each in find_chapters(text) for span in split_scenes(text, each.start, each.end)]
    assert len(spans) > 5
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")


def test_scenes_end_at_breaks_and_long_ones_between_paragraphs() -> None:
    text = f"{PROSE}\n\n* * *\n\n" + "\n\n".join([PROSE] * 60)
    spans = split_scenes(text, 0, len(text))
    assert text[slice(*spans[0])] == PROSE.strip()
    assert all(end - start <= SCENE_CHARACTERS for start, end in spans)


def test_a_sentence_that_begins_with_chapter_is_no_heading() -> None:
    text = f"CHAPTER 1\n\n{PROSE}\n\nChapter and verse were quoted at her.\n\nCHAPTER 2\n\n{PROSE}"
    assert numbers(text) == [1, 2]


def test_a_manual_with_chapters_is_not_told_as_a_story() -> None:
    manual = "\n\n".join(
        f"Chapter {number}\n\nInstall the package, then run the command. " * 3 for number in (1, 2)
    )
    assert has_chapters(manuscript()) and is_story(manuscript())
    assert not is_story(manual)
    assert not is_story("Meeting notes.\n\nThe budget was approved.")


@pytest.mark.parametrize(
    ("name", "number"), [("07 The Ferry", 7), ("chapter-seven", 7), ("Chapter 12", 12), ("The Ferry", None)]
)
def test_the_name_of_a_file_tells_its_number(name: str, number: int | None) -> None:
    assert find_number(name) == number


@given(st.text(alphabet="CHAPTER IVX12\n.a#*", max_size=400))
def test_anything_is_parted_into_pieces_that_do_not_overlap(text: str) -> None:
    found = find_chapters(text)
    edges = [edge for chapter in found for edge in (chapter.start, chapter.end)]
    assert edges == sorted(edges)
    assert all(number <= after for number, after in zip(numbers(text), numbers(text)[1:], strict=False))


@given(st.integers(min_value=1, max_value=4))
def test_a_book_that_ends_earlier_is_parted_like_the_whole(length: int) -> None:
    assert find_chapters(manuscript())[: length - 1] == find_chapters(manuscript(length))[: length - 1]


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (("BOOK I\n\nI", "II", "BOOK II\n\nI", "II"), [1, 2, 3, 4]),
        (("Book I\n\nI.", "II.", "Book II\n\nIII."), [1, 2, 3]),
        (("PART ONE\n\nChapter 1", "Chapter 2", "PART TWO\n\nChapter 1"), [1, 2, 3]),
        (("CHAPTER\n\nONE", "CHAPTER\n\nTWO"), [1, 2]),
        (("CHAPTER\nI", "CHAPTER\nII"), [1, 2]),
        (("Erstes Kapitel", "Zweites Kapitel"), [1, 2]),
        (("Kapitel eins", "Kapitel zwei", "Kapitel einundzwanzig"), [1, 2, 21]),
        (("CHAPITRE PREMIER", "Chapitre deux", "Chapitre III"), [1, 2, 3]),
        (("Capítulo primero", "Capítulo segundo"), [1, 2]),
        (("Capitolo primo", "Capitolo secondo"), [1, 2]),
        (("Глава первая", "Глава вторая", "ГЛАВА III"), [1, 2, 3]),
        (("ACT I\n\nSCENE I. A street.", "SCENE II. A house.", "ACT II\n\nSCENE I. A wood."), [1, 2, 3]),
        (("ACT I", "ACT II", "ACT III"), [1, 2, 3]),
        (("One", "Two", "Three"), [1, 2, 3]),
        (("First Chapter", "Second Chapter"), [1, 2]),
        (("I — The Ferry", "II — The Inn"), [1, 2]),
        (("Ch. 1", "Ch. 2"), [1, 2]),
        (("[Chapter 1]", "[Chapter 2]"), [1, 2]),
        (("Chapter Ninety-Nine", "Chapter One Hundred", "Chapter One Hundred and One"), [99, 100, 101]),
        (("Book One, Chapter One", "Book One, Chapter Two", "Book Two, Chapter One"), [1, 2, 3]),
        (("# The Ferry", "# The Inn"), [1, 2]),
        (("# " + "A very long heading that tells of all who drove out to see a view " * 3, "# Home"), [1, 2]),
        (("Chapter 0", "Chapter 1", "Chapter 2"), [0, 1, 2]),
        (("- 1 -", "- 2 -"), [1, 2]),
        (("~ Chapter 1 ~", "~ Chapter 2 ~"), [1, 2]),
        (("Ch1", "Ch2"), [1, 2]),
        (("Part 1 of 3", "Part 2 of 3"), [1, 2]),
        (("Chapter 1/3", "Chapter 2/3"), [1, 2]),
        (("1 ORLA", "2 BRAM"), [1, 2]),
        (("Day 1", "Day 2"), [1, 2]),
        (("The First Night", "The Second Night"), [1, 2]),
        (("Scene 1", "Scene 2"), [1, 2]),
        (("Rozdział pierwszy", "Rozdział drugi"), [1, 2]),
        (("序章", "第一章", "第二章", "尾声"), [0, 1, 2, 3]),
        (("卷一\n\n第一章", "第二章", "卷二\n\n第一章"), [1, 2, 3]),
        (("ERSTER AKT\n\nErste Szene", "Zweite Szene", "ZWEITER AKT\n\nErste Szene"), [1, 2, 3]),
        (("Erster Aufzug\n\nErster Auftritt", "Zweiter Auftritt", "Zweiter Aufzug\n\nErster Auftritt"), [1, 2, 3]),
        (("ДЕЙСТВИЕ ПЕРВОЕ\n\nЯВЛЕНИЕ I", "ЯВЛЕНИЕ II", "ДЕЙСТВИЕ ВТОРОЕ\n\nЯВЛЕНИЕ I"), [1, 2, 3]),
        (("1)", "2)", "3)"), [1, 2, 3]),
        (("(1)", "(2)", "(3)"), [1, 2, 3]),
        (("§ 1", "§ 2"), [1, 2]),
        (("i.", "ii.", "iii."), [1, 2, 3]),
        (("The First Chapter", "The Second Chapter"), [1, 2]),
        (("Das erste Kapitel", "Das zweite Kapitel"), [1, 2]),
        (("CHAPTER THE FIRST.\nThe Scope of the Club", "CHAPTER THE SECOND.\nThe Journey"), [1, 2]),
        (("Chapter 1\n=========", "Chapter 2\n========="), [1, 2]),
        (("Kapitel ett", "Kapitel två"), [1, 2]),
        (("Chapter I: The Reverend Arthur,\nMr. Emerson and others\nDrive Out", "Chapter II: Home"), [1, 2]),
    ],
)
def test_every_common_scheme_of_headings_is_understood(headings: tuple[str, ...], expected: list[int]) -> None:
    text = "\n\n".join(f"{heading}\n\n{PROSE}" for heading in headings)
    assert numbers(text) == expected
    assert all(text[chapter.start : chapter.end] == PROSE.strip() for chapter in find_chapters(text))


@pytest.mark.parametrize(
    "headings",
    [
        ("ORLA", "BRAM", "ORLA"),
        ("THE FERRY", "HOME AGAIN", "LATE"),
        ("3 May 1893", "4 May 1893", "Monday, May 8th"),
    ],
)
def test_lines_in_capitals_and_dates_are_headings_in_doubt_where_there_are_no_others(
    headings: tuple[str, ...],
) -> None:
    found = find_chapters("\n\n".join(f"{heading}\n\n{PROSE * 3}" for heading in headings))
    assert [chapter.number for chapter in found] == [1, 2, 3]
    assert "capitals and dates" in find_doubt(found)
    numbered = "\n\n".join(f"Chapter {heading}\n\n{PROSE * 3}" for heading in (1, 2))
    assert numbers(f"{numbered}\n\nNO ADMITTANCE\n\n{PROSE * 3}") == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(f"{word}\n\nShe read the sign." for word in ("STOP", "GO", "WAIT", "STAY")),
        "\n\n".join(f"{time} P.M.\n\n{PROSE}" for time in (9, 2)),
        f"Day 3\n\n{PROSE}\n\nDay 9\n\n{PROSE}",
        f"ii.\n\n{PROSE}\n\nv.\n\n{PROSE}",
    ],
)
def test_signs_hours_and_days_that_do_not_count_are_no_chapters(text: str) -> None:
    assert not has_chapters(text)


def test_a_play_is_a_story_by_its_acts_and_the_names_before_its_speeches() -> None:
    speeches = "BRAM: Good morning.\n\nORLA: Never.\n\n" * 4
    assert is_story(f"ACT I\n\n{speeches}ACT II\n\n{speeches}")
    warnings = "NOTE: Read this first.\n\nWARNING: It is hot.\n\n" * 4
    assert not is_story(f"Chapter 1\n\n{warnings}Chapter 2\n\n{warnings}")


def test_a_scene_of_one_line_is_told_with_the_scene_before_it() -> None:
    found = find_chapters(f"## INT. HARBOUR\n\n{PROSE}\n\n## EXT. QUAY\n\nRain.\n\n## INT. INN\n\n{PROSE}")
    assert [chapter.title for chapter in found] == ["Int. HARBOUR", "Int. INN"]
    text = f"## INT. HARBOUR\n\n{PROSE}\n\n## EXT. QUAY\n\nRain."
    assert text[find_chapters(text)[0].start :].endswith("Rain.")


def test_a_shouted_number_is_written_as_a_word_and_a_shouted_title_stays() -> None:
    titles = [chapter.title for chapter in find_chapters(f"CHAPTER TWENTY-ONE: HOME\n\n{PROSE}")]
    assert titles == ["Chapter Twenty-one: HOME"]


def test_chapters_know_their_book_and_the_sentence_about_a_chapter_is_none() -> None:
    text = f"BOOK I\n\nI\n\n{PROSE}\n\nChapter two was found, and she read it.\n\nBOOK II\n\nI\n\n{PROSE}"
    assert [(each.title, each.division) for each in find_chapters(text)] == [("I", "Book I"), ("I", "Book II")]


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (PROSE, "no headings were found"),
        (f"Chapter 1\n\n{PROSE}\n\nChapter 3\n\n{PROSE}", "behind 'Chapter 1' comes 'Chapter 3'"),
        (f"Chapter 1\n\n{PROSE}\n\nChapter 2\n\n{PROSE}\n\nChapter 3\n\n{PROSE * 900}", "far longer"),
        (f"Chapter 1\n\n{PROSE}\n\nChapter 2\n\n{PROSE}", ""),
    ],
)
def test_chapters_that_may_be_wrong_are_in_doubt(text: str, doubt: str) -> None:
    found = find_doubt(find_chapters(text))
    assert doubt in found and bool(found) is bool(doubt)
