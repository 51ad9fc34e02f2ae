"""Which passage of a book tells what somebody is."""

from weft.story import Prose, describe_kin, extract_story


def definition(name: str, *texts: str) -> str:
    """The passage by which a name is defined, in one line."""
    proses = [Prose(f"book:{number}", text, number) for number, text in enumerate(texts, start=1)]
    found = next(each for each in extract_story(proses).entities if name in (each.name, *each.aliases))
    place = found.definition
    return " ".join(proses[place.prose].text[place.start : place.end].split())


def test_a_description_comes_before_the_first_mention() -> None:
    told = definition(
        "Flask",
        '"Where is Flask?" said Ann. They waited long for Flask that cold morning, and nobody came down the road.',
        "Flask was a short, stout young fellow with a red face. Nobody had ever seen him afraid.",
    )
    assert told.startswith("Flask was a short, stout young fellow")


def test_a_definition_goes_on_to_the_end_of_its_paragraph() -> None:
    told = definition(
        "Daggoo",
        "Third among them was Daggoo, a giant with a lion-like tread. Two golden hoops hung from his ears.\n\n"
        'The ship sailed. "Ho!" said Daggoo.',
    )
    assert told.endswith("Two golden hoops hung from his ears.")


def test_whoever_is_called_names_by_others_is_not_introduced_by_that() -> None:
    told = definition(
        "Tom",
        "Tom, a boy of ten who lived with his aunt, sat on the fence by the road all through that long morning.",
        "His mother came out at last and called Tom a bad, vicious child, and ordered him away from the garden.",
    )
    assert told.startswith("Tom, a boy of ten")


def test_a_title_page_defines_nobody() -> None:
    told = definition(
        "Tom Sawyer",
        "THE ADVENTURES OF TOM SAWYER, A BOOK FOR THE YOUNG AND FOR ALL WHO ONCE WERE YOUNG THEMSELVES.\n\n"
        'The cat saw Tom Sawyer on the fence beside the old house. "Come," said Tom Sawyer, and it came.',
    )
    assert told.startswith("The cat saw Tom Sawyer")


def test_a_place_is_defined_by_where_it_lies_and_a_person_is_not() -> None:
    texts = (
        "They were in Harrow that spring, in Harrow by the sea, and Joe Pike was with them from the first day on.",
        "Then Harrow lay between two hills beside the sea. Joe Pike lay on the floor of the long dark barn.",
    )
    assert definition("Harrow", *texts).startswith("Then Harrow lay between two hills")
    assert definition("Joe Pike", *texts).startswith("They were in Harrow")


def test_a_short_sentence_that_says_what_somebody_is_comes_before_a_long_one_that_mentions_it() -> None:
    told = definition(
        "Stubbs",
        "At length, when the riggers had gone and all the sails were bent, the kind old lady came off in a boat "
        "with a night-cap for Stubbs, the second mate, her brother, and with two Bibles for the cabin.",
        "Stubbs was the second mate. He took every peril as it came.\n\nStubbs was the first to go.",
    )
    assert told == "Stubbs was the second mate. He took every peril as it came."


def test_what_follows_a_comma_is_no_apposition_where_it_goes_on_to_act() -> None:
    told = definition(
        "Orla",
        "As for Orla, the fact that she slept badly was hidden from all of them until the end of that week.",
        "They knew the way down to Orla, the boat was already out, and nobody on the pier looked back at all.",
        "Then came Orla, the eldest of them all, with a lamp in her hand and snow on her shoes.",
    )
    assert told.startswith("Then came Orla")


def test_a_rank_or_kinship_comes_before_looks_and_before_earlier_mentions() -> None:
    told = definition(
        "Joe Pike",
        "Joe Pike had a red face and a long beard and he stood beside the door of the barn with his hands down.",
        "The next to come was Joe Pike, the miller of Harrow, with flour on his sleeves and nothing to say.",
    )
    assert told.startswith("The next to come was Joe Pike, the miller")


def test_what_the_next_sentence_says_of_her_defines_whoever_opens_the_paragraph() -> None:
    told = definition(
        "Ann Holt",
        "They waited long that evening for Ann Holt, and nobody on the pier had seen her since the early morning.",
        "Ann Holt lived at the end of the lane. She was the youngest daughter of a doctor.\n\nIt rained.",
    )
    assert told.startswith("Ann Holt lived at the end of the lane. She was the youngest daughter")


def test_a_list_and_a_clause_behind_somebody_else_s_kin_define_nobody() -> None:
    told = definition(
        "Joe Pike",
        "Left alone with her mother, Joe Pike saw how tired she was, and went away again without another word.",
        "They thought of Joe Pike, his wife and the dear boys, all through the long night in that cold house.",
        "Joe Pike was a ferryman. He had lost his boat.",
    )
    assert told == "Joe Pike was a ferryman. He had lost his boat."


def test_what_the_narrator_says_comes_before_what_a_speech_goes_on_to_say() -> None:
    told = definition(
        "Joe Pike",
        '"We waited all evening long on the pier. Joe Pike is the miller of Harrow, whom nobody waits for."',
        "At last there came Joe Pike, the miller of Harrow, with flour on his sleeves and nothing to say to us.",
    )
    assert told.startswith("At last there came Joe Pike")


def test_my_sister_says_less_than_his_sister() -> None:
    told = definition(
        "Rosa Pike",
        "That night I told my sister, Rosa Pike, that I had seen the boat go down behind the rocks of Harrow.",
        "Joe loved his sister, Rosa Pike, who kept the ferry and had done so since the old man had gone away.",
    )
    assert told.startswith("Joe loved his sister")


def test_a_noun_for_the_other_sex_defines_nobody() -> None:
    told = definition(
        "Mrs. Holt",
        "It was Mrs. Holt, the nephew of the baker at her side, who came down the stairs and sat by the fire.",
        "In the end it was Mrs. Holt, the widow of the baker, who came down the stairs and sat by the fire.",
    )
    assert told.startswith("In the end it was Mrs. Holt, the widow")


def test_a_line_tells_the_kin_of_each_person_by_sex() -> None:
    people = (
        '"Well, Lucy?" said Mrs. Vale. "Yes," said Mr. Vale. "Oh," said Lucy Vale. Mrs. Vale and Lucy Vale sat, '
        "and Mr. Vale rose. Mrs. Vale and Lucy left.\n\n"
    )
    text = people + "Lucy Vale was the daughter of Mr. Vale. Mr. and Mrs. Vale were glad of it.\n\n" + people
    story = extract_story([Prose("book:1", text, 1)])
    told = {story.entities[index].name: line for index, line in describe_kin(story).items()}
    assert told["Mrs. Vale"] == "Mrs. Vale: wife of Mr. Vale; mother of Lucy Vale."
    assert told["Mr. Vale"] == "Mr. Vale: husband of Mrs. Vale; father of Lucy Vale."
    assert told["Lucy Vale"] == "Lucy Vale: daughter of Mrs. Vale and Mr. Vale."
