"""Which passage of a book tells what somebody is."""

from weft.story import Prose, extract_story


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
