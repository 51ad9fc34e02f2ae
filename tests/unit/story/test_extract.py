"""People, places and things are found in prose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manuscripts import CHAPTERS
from weft.story import Correction, Entity, KnownEntity, Prose, Story, extract_story


def proses(*texts: str) -> list[Prose]:
    return [Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)]


def named(story: Story, name: str) -> Entity:
    """The entity that goes by a name."""
    return next(each for each in story.entities if name in (each.name, *each.aliases))


def names(*texts: str) -> set[str]:
    return {entity.name for entity in extract_story(proses(*texts)).entities}


def ties(story: Story, kind: str) -> set[tuple[str, str]]:
    return {
        (story.entities[tie.source].name, story.entities[tie.target].name)
        for tie in story.ties
        if tie.type == kind
    }


@pytest.fixture(scope="module")
def book() -> Story:
    return extract_story(proses(*CHAPTERS))


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Margaret Vane", {"Margaret", "Meg", "Miss Vane"}),
        ("Captain Rourke", {"Rourke", "Silas Rourke", "Captain Silas Rourke"}),
        ("Josiah Pennick", {"Josiah", "Pennick", "Mr. Pennick"}),
        ("Will Vane", {"Will"}),
        ("Dr. Ashe", {"Dr. Lavinia Ashe"}),
    ],
)
def test_all_forms_of_a_name_are_one_person(book: Story, name: str, others: set[str]) -> None:
    found = named(book, name)
    assert (found.name, found.kind) == (name, "character")
    assert set(found.aliases) == others


def test_places_are_told_from_people(book: Story) -> None:
    places = {entity.name for entity in book.entities if entity.kind == "location"}
    assert places == {"Thornby", "Harrow Lock", "Aldersea", "Lantern House"}


def test_usage_tells_the_five_types_and_how_sure_each_is() -> None:
    story = extract_story(
        proses(
            '"Come," said Mara Venn. Mara Venn took the road to Harrowgate, and in Harrowgate it rained.',
            "The Lantern Guild met at noon. The Lantern Guild wanted her, and the Lantern Guild paid well.",
            "They spoke of the Battle of Ostra. After the Battle of Ostra nobody sang.",
            "They went aboard the Perpetua. The Perpetua sailed, and aboard the Perpetua all slept.",
            '"No," said Mara Venn.',
        )
    )
    assert {entity.name: entity.kind for entity in story.entities} == {
        "Mara Venn": "character",
        "Harrowgate": "location",
        "Lantern Guild": "faction",
        "Battle of Ostra": "event",
        "Perpetua": "object",
    }
    assert all(0 < entity.confidence < 1 for entity in story.entities)


def test_who_speaks_is_counted_and_the_more_there_is_of_somebody_the_surer_he_is() -> None:
    once = extract_story(proses('"Yes," said Bram Oake. He took his hat.'))
    often = extract_story(proses('"Yes," said Bram Oake. He took his hat. ' * 6))
    assert (named(once, "Bram Oake").speech_count, named(often, "Bram Oake").speech_count) == (1, 6)
    assert named(once, "Bram Oake").confidence < named(often, "Bram Oake").confidence


def test_sentences_that_state_a_relation_make_a_tie(book: Story) -> None:
    assert ties(book, "parent") == {("Josiah Pennick", "Ruth Pennick")}
    assert ties(book, "spouse") == {("Will Vane", "Ruth Pennick")}
    assert ("Dr. Ashe", "Thornby") in ties(book, "located_in")


@pytest.mark.parametrize(
    ("sentence", "tie"),
    [
        ("Ada Moss was the friend of Boris Lunt.", ("friend", "Ada Moss", "Boris Lunt")),
        ("Ada Moss hated Boris Lunt.", ("enemy", "Ada Moss", "Boris Lunt")),
        ("Ada Moss's brother Boris Lunt came.", ("sibling", "Ada Moss", "Boris Lunt")),
        ("Ada Moss married Boris Lunt.", ("spouse", "Ada Moss", "Boris Lunt")),
        ("Ada Moss was the mother of Boris Lunt.", ("parent", "Ada Moss", "Boris Lunt")),
        ("Ada Moss, a member of the Guild of Salt, left.", ("member", "Ada Moss", "Guild of Salt")),
        ("Ada Moss ruled Westmark. We lived in Westmark. We left Westmark.", ("ruler", "Ada Moss", "Westmark")),
        ("Ada Moss lived in Westmark. We came to Westmark.", ("located_in", "Ada Moss", "Westmark")),
    ],
)
def test_every_type_of_relation_is_read_from_a_sentence_that_states_it(
    sentence: str, tie: tuple[str, str, str]
) -> None:
    story = extract_story(proses(f'"Yes," said Ada Moss. "No," said Boris Lunt. {sentence}'))
    kind, one, other = tie
    assert ties(story, kind) == {(one, other)}


def test_the_oftener_and_the_nearer_two_are_named_the_stronger_is_their_tie() -> None:
    rain = "It rained all day and nobody came. "

    def weight(times: int, apart: int) -> float:
        story = extract_story(proses(("Then Ada sang. " + rain * apart + "Then Boris slept. " + rain * 8) * times))
        return sum(tie.weight for tie in story.ties if tie.type == "co_occurs")

    assert weight(9, 0) > weight(4, 0) > 0
    assert weight(9, 0) > weight(9, 1) > weight(9, 2) > 0
    assert weight(9, 6) == 0


def test_those_who_answer_each_other_speak_with_each_other(book: Story) -> None:
    talks = ties(book, "speaks_with")
    assert ("Margaret Vane", "Josiah Pennick") in talks
    assert all(named(book, one).kind == named(book, other).kind == "character" for one, other in talks)


def test_every_tie_has_a_passage_that_names_both(book: Story) -> None:
    assert book.ties and all(tie.evidence for tie in book.ties)
    for tie in book.ties:
        for place in tie.evidence:
            shown = CHAPTERS[place.prose][place.start : place.end]
            for entity in (book.entities[tie.source], book.entities[tie.target]):
                assert any(word in shown for name in (entity.name, *entity.aliases) for word in name.split())


def test_the_definition_is_where_somebody_is_described(book: Story) -> None:
    place = named(book, "Margaret Vane").definition
    assert CHAPTERS[place.prose][place.start :].startswith("Margaret Vane was the new postmistress")


def test_a_name_that_is_also_a_word_counts_only_where_it_is_a_name() -> None:
    text = 'Will you go? "I will," said Will. Will said no more. Nobody will, thought Will. Then Will left. ' * 2
    assert len(named(extract_story(proses(text)), "Will").mentions) == 8


def test_mr_mrs_and_miss_of_one_family_are_three() -> None:
    text = (
        '"Sit down," said Mr. Harker. "I shall stand," said Mrs. Harker. Miss Harker laughed. Mr. and Mrs. Harker '
        'went out. "They always do," said Miss Harker. She was Lucy Harker, and she stayed. Lucy Harker slept.'
    )
    story = extract_story(proses(text))
    assert {entity.name for entity in story.entities} == {"Mr. Harker", "Mrs. Harker", "Lucy Harker"}
    assert "Miss Harker" in named(story, "Lucy Harker").aliases
    assert ties(story, "spouse") == {("Mr. Harker", "Mrs. Harker")}


def test_a_nickname_a_title_and_a_full_name_are_one_and_the_house_is_another() -> None:
    text = (
        'Lord Eddard Vane rode out. "He died well," Ned said. Robb Vane nodded. Eddard Vane lifted his head. Then '
        'Lord Vane dismounted, and Robb held the horse. "Ned," she said. So Ned went home. House Vane was old.'
    )
    story = extract_story(proses(text))
    assert {"Ned", "Lord Vane", "Eddard Vane"} <= {named(story, "Ned").name, *named(story, "Ned").aliases}
    assert named(story, "House Vane").kind == "faction"
    assert named(story, "Robb Vane") != named(story, "Ned")


def test_a_surname_with_a_particle_is_one_name() -> None:
    text = '"Sit," said Van Doren. Then Professor Van Doren slept. He was Pieter Van Doren. Pieter Van Doren woke.'
    assert names(text) == {"Pieter Van Doren"}


def test_two_people_with_one_given_name_stay_two() -> None:
    text = (
        "John Thornton met John Brandt at the gate. John Thornton bowed. John Brandt did not. "
        '"Well," said John Thornton. "Well," said John Brandt.'
    )
    assert {"John Thornton", "John Brandt"} <= names(text)


def test_names_in_capitals_are_known_where_the_rest_of_the_book_writes_them_plainly() -> None:
    story = extract_story(proses("Then Orla said no. We saw Orla and Orla.", "THE NIGHT WAS LONG AND ORLA SLEPT."))
    assert len(named(story, "Orla").mentions) == 4
    assert {entity.name for entity in story.entities} == {"Orla"}


def test_names_of_other_languages_are_found() -> None:
    text = (
        "Тут вошла Анна. Он увидел, что Анна плачет. " * 2
        + "Then Łukasz said that Zoë and d'Artagnan were late. Later Łukasz saw Zoë. So said d'Artagnan to Zoë."
    )
    assert names(text) == {"Анна", "Łukasz", "Zoë", "d'Artagnan"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no capitals at all in this text, none.",
        "Only. Sentences. That. Begin.",
        "夜は静かだった。誰も来なかった。",
        "O wind,\nThat blows\nAcross the moor,\nAnd never rests,\nBut knocks\nOn every door.",
        "On Monday the English came. In May they left. God bless us, they said, and it was Christmas.",
    ],
)
def test_text_without_names_has_no_entities(text: str) -> None:
    assert extract_story(proses(text)) == Story()


def test_one_name_in_a_thousand_passages_is_found() -> None:
    texts = ["The rain went on, and the river rose."] * 1000
    texts[700] = "The rain went on, and Captain Zebulon Fray came up the river."
    assert names(*texts) == {"Captain Zebulon Fray"}


def test_families_and_titles_alone_are_nobody() -> None:
    text = "The Harkers came. We met the Harkers, and Mr. Harker spoke to Mamma. My dear Sir, said Mamma, sit."
    assert names(text) == {"Mr. Harker"}


def test_dialogue_without_anything_else_is_understood() -> None:
    text = '"Come, Orla." "No, Finn." "Why not, Orla?" "Because, Finn, it is late," said Orla. "Late!" said Finn.'
    story = extract_story(proses(text))
    assert {entity.name for entity in story.entities} == {"Orla", "Finn"}
    assert [set(tie) for tie in ties(story, "speaks_with")] == [{"Finn", "Orla"}]


def test_in_verse_a_line_that_begins_with_a_capital_names_nobody() -> None:
    verse = (
        "Then Maren rose before the light\nAnd took the lantern from the wall,\n"
        "For Tobias had gone that night\nAnd had not answered to her call.\n\n"
        "Down to the harbour Maren came,\nWhere all the boats lay in a row;\n"
        "She called, and called again the name,\nAnd only silence answered: No.\n\n"
        "Soft came the morning on the sand,\nGrey came the gulls, and loud, and few;\n"
        "He woke, and Maren took his hand,\nAnd Tobias said he never knew."
    )
    assert names(verse) == {"Maren", "Tobias"}


# --- notes and corrections -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "speech",
    ["{}: {}", "**{}:** {}", "{} (aside): {}", "{}.\n{}\n"],
)
def test_those_who_are_named_before_what_they_say_are_found(speech: str) -> None:
    said = [
        ("SALLY", "Never."),
        ("NED", "Give it here."),
        ("SALLY", "Ask him."),
        ("NED", "I did."),
        ("PORTER", "Sirs?"),
    ]
    story = extract_story(proses("\n".join(speech.format(*each) for each in said)))
    assert {entity.name: (entity.kind, entity.speech_count) for entity in story.entities} == {
        "Ned": ("character", 2),
        "Sally": ("character", 2),
    }
    assert ties(story, "speaks_with") == {("Ned", "Sally")}


def test_lists_and_headings_are_no_speakers() -> None:
    story = extract_story(
        proses("Note: it rained.\nNote: it was cold.\nDate: May.\nDate: June.\n" + "It rained on.\n" * 40)
    )
    assert story.entities == ()


def test_a_note_gives_its_name_kind_and_key() -> None:
    note = KnownEntity("vault:Meg.md", "character", ("Margaret Vane", "the postmistress"))
    story = extract_story(proses("In came Margaret. Margaret Vane sat, and the postmistress wrote."), [note])
    found = named(story, "Margaret Vane")
    assert (found.note, found.confidence, len(found.mentions)) == ("vault:Meg.md", 1.0, 3)


def test_a_note_in_a_script_without_capitals_is_found_in_prose() -> None:
    note = KnownEntity("vault:雪.md", "character", ("雪国", "雪"))
    assert len(extract_story(proses("その夜、雪国は雪だった。"), [note]).entities[0].mentions) == 2


def test_two_notes_that_claim_one_alias_do_not_share_it() -> None:
    notes = [
        KnownEntity("a", "character", ("Anna Vane", "Captain")),
        KnownEntity("b", "character", ("Bela Rourke", "Captain")),
    ]
    story = extract_story(proses("Anna Vane met Bela Rourke. The Captain spoke."), notes)
    assert sorted(len(entity.mentions) for entity in story.entities) == [1, 2]


HOLLINS = (
    KnownEntity("ned", "character", ("Ned Hollin", "Edrick")),
    KnownEntity("sanna", "character", ("Sanna Hollin",)),
    KnownEntity("robb", "character", ("Robb Hollin",)),
    KnownEntity("snipe", "character", ("Severin Snipe",)),
)


def test_a_part_of_the_name_of_one_note_means_who_the_note_is_about() -> None:
    text = (
        'At noon Sanna rode out beside Robb. "Race me," said Robb, and Sanna sighed. Professor Snipe saw them. '
        '"They will be wet," said Snipe. "Hm," said Ned, for Edrick never said more.'
    )
    told = {entity.note: set(entity.aliases) for entity in extract_story(proses(text), HOLLINS).entities}
    assert told["sanna"] == {"Sanna"}
    assert told["robb"] == {"Robb"}
    assert told["snipe"] >= {"Snipe"}
    assert told["ned"] >= {"Ned", "Edrick"}
    assert "" not in told


def test_a_part_of_the_names_of_several_notes_or_of_somebody_elses_full_name_is_none_of_theirs() -> None:
    text = 'Everybody feared Hollin. "Go," said Hollin to Sanna Brook. Sanna Brook went. Sanna never came back.'
    story = extract_story(proses(text), HOLLINS[1:3])
    assert {entity.note for entity in story.entities} == {""}
    assert "Sanna" in named(story, "Sanna Brook").aliases


def test_a_title_belongs_to_its_note_though_another_has_it_as_an_alias() -> None:
    notes = [KnownEntity("rook", "character", ("Rook", "Tower")), KnownEntity("tower", "location", ("Tower",))]
    story = extract_story(
        proses("They came to the Tower at night. The Tower was dark. Rook was not in the Tower."), notes
    )
    assert {entity.note: len(entity.mentions) for entity in story.entities} == {"tower": 3, "rook": 1}


def test_a_name_of_a_note_is_known_in_capitals_but_no_word_that_is_only_shouted() -> None:
    note = KnownEntity("m", "character", ("Mara Venn", "Mara", "Hope"))
    (mara,) = extract_story(proses("MARA VENN ROWED OUT. SHE SANG.", "MARA CAME BACK AT DAWN."), [note]).entities
    assert (mara.note, len(mara.mentions)) == ("m", 2)
    story = extract_story(proses("Then Mara rowed, without hope.", '"THERE IS NO HOPE!" said Mara.'), [note])
    assert [len(entity.mentions) for entity in story.entities] == [2]


def corrected(*corrections: Correction) -> Story:
    return extract_story(proses(*CHAPTERS), corrections=corrections)


def test_merged_entities_are_one_with_the_first_ones_name() -> None:
    found = named(corrected(Correction("merge", ("Will Vane", "Tom Sallow"))), "Tom Sallow")
    assert found.name == "Will Vane"
    assert len(found.mentions) == 10


def test_renamed_retyped_and_hidden_entities_are_as_they_were_said_to_be() -> None:
    story = corrected(
        Correction("rename", ("Dr. Ashe",), "Lavinia Ashe"),
        Correction("type", ("Edgar",), "object"),
        Correction("hide", ("Thornby",)),
    )
    assert "Dr. Ashe" in named(story, "Lavinia Ashe").aliases
    assert named(story, "Edgar").kind == "object"
    assert all(entity.name != "Thornby" for entity in story.entities)


def test_a_correction_of_somebody_unknown_changes_nothing(book: Story) -> None:
    assert corrected(Correction("hide", ("Nobody Here",)), Correction("merge", ("Nobody", "No one"))) == book


# --- properties ------------------------------------------------------------------------------------------

SENTENCES = st.sampled_from(
    [
        "Then Orla Finch said that Bram was late.",
        "Mr. Finch and Mrs. Finch went to Dunmore.",
        '"No," said Captain Teague.',
        "It rained in Dunmore.",
        "Orla's brother, Bram, slept.",
        "Nobody spoke.",
        "SHOUTING WAS HEARD.",
        "We saw the Old Mill and Teague.",
    ]
)


@given(st.lists(st.lists(SENTENCES, min_size=1, max_size=6).map(" ".join), max_size=6))
def test_telling_is_the_same_every_time_and_points_into_the_text(texts: list[str]) -> None:
    story = extract_story(proses(*texts))
    assert story == extract_story(proses(*texts))
    for entity in story.entities:
        places = [(one.prose, one.start) for one in entity.mentions]
        assert places == sorted(set(places))
        assert all(texts[one.prose][one.start : one.end] for one in entity.mentions)
    for tie in story.ties:
        assert tie.source != tie.target
        assert 0 < tie.weight <= 1 and 0 < tie.confidence <= 1


@given(st.text(max_size=300))
def test_any_text_can_be_told(text: str) -> None:
    extract_story(proses(text))
