"""A small original novel as plain text, how it looks when it ends earlier, and the budgets of pages about one."""

PRESET_BUDGETS = (
    ("quick", 3000, 2),
    ("standard", 8000, 5),
    ("analysis", 15000, 15),
    ("profile", 6000, 1),
    ("relationships", 12000, 15),
    ("timeline", 10000, 10),
)
"""Preset, tokens and entities, as the design of the narrative page recommends them."""

CHAPTERS = (
    """\
The ferry at Harrow Lock had run since before the war, and Josiah Pennick had run it for thirty years. Old Mr.
Pennick was a narrow man with a cough, and he disliked passengers.

"You are late," said Josiah, without looking up.

"The mail was late," replied Margaret Vane. "I only carry it."

Margaret Vane was the new postmistress of Thornby, a tall young woman who walked fast. She had come up the
river from Aldersea that morning with two bags and a letter that she did not like the look of.

"Meg," said a small voice behind her. It was Tobias, the lock keeper's boy. "Is it from Captain Rourke?"

Margaret put the letter away. In Thornby nobody spoke of Captain Rourke before breakfast.
""",
    """\
Dr. Lavinia Ashe lived in Thornby, above the chandler's shop, and kept a skeleton called Edgar in the hall.

"Sit," said Dr. Ashe. "Not there. That is where Edgar sits."

Margaret sat. The letter lay between them, addressed in a brown hand to Miss Vane, Thornby, by the ferry.

"It is my brother's hand," said Margaret at last. "Will has been dead nine years."

Dr. Ashe turned the letter over twice. "Then Will writes very neatly for a dead man," she said.

Will Vane had gone to sea with Captain Rourke in the Marigold, and neither of them had come back.

* * *

At Harrow Lock the lamps were out. Josiah Pennick was asleep, and Tobias watched the water by himself.
""",
    """\
Captain Silas Rourke came to Thornby on the Tuesday ferry, alive, with a beard.

"Pennick," said the captain.

"Rourke," said Josiah, and that was all they said for eleven miles.

Margaret met the ferry at Harrow Lock. "Where is my brother?" she asked.

Captain Rourke looked at Margaret for a long time. "Will is in Aldersea," answered Rourke. "Will is in the
Lantern House, and he goes by the name of Tom Sallow."

Dr. Ashe, who had come down for the air, said nothing at all.
""",
    """\
The Lantern House stood in Aldersea behind the fish market. Miss Vane and Dr. Ashe went in by the kitchen.

"Tom," said Margaret to the man at the window. "Tom Sallow, they tell me."

"Meg," whispered Will Vane. "You should have burned it."

Silas Rourke was the enemy of nobody in particular, but Josiah Pennick's daughter, Ruth, had married Will Vane
in the spring of the war, and Josiah had told her that he drowned.

"Father knew," said Ruth Pennick from the stairs. "Father always knew."
""",
)

TITLES = ("The Late Mail", "A Neat Hand", "The Tuesday Ferry", "The Lantern House")


def manuscript(chapters: int = len(CHAPTERS)) -> str:
    """The book as it is when it ends after so many chapters."""
    parts = (
        f"CHAPTER {number}\n\n{title}\n\n{text}\n"
        for number, (title, text) in enumerate(zip(TITLES, CHAPTERS, strict=True), start=1)
    )
    return "THE LATE MAIL\n\n" + "\n".join(list(parts)[:chapters])


CAST = (
    "Orsolya Feld",
    "Tib Marrow",
    "Captain Lasse Quill",
    "Mrs. Adeline Stroud",
    "Hob Stroud",
    "Dr. Ines Calloway",
    "Petra Lund",
    "Old Garrick",
)
_PLACES = ("Saltmere", "Kettle Bridge", "Dunmarrow", "the Glass House")
_THINGS = ("letter", "ledger", "lantern", "key", "map")
_TALK = (
    '"Nobody told me of the {thing}," said {one}.\n\n"Then nobody wanted you to know," replied {two}.',
    "{one} came to {place} before it was light, and the {thing} was still on the table.",
    "In {place} people said that {one} had taken the {thing}, and that {two} had watched.",
    '"Is it true?" asked {two}. "Did you leave the {thing} in {place}?"\n\n{one} laughed. "I leave nothing."',
    "{two} wrote to {one} from {place}, and put the {thing} into the same parcel.",
    "{one} was the friend of {two}, or had been, until the {thing} was lost on the road to {place}.",
    "All that evening {one} sat by the window in {place} and thought of nothing but the {thing}.",
)


def long_manuscript(chapters: int = 24, changed: int = 0) -> str:
    """A generated book whose people come in one after the other; one chapter of it may be another."""
    return "THE GLASS HOUSE\n\n" + "\n".join(
        f"CHAPTER {number}\n\n{_long_chapter(number, number == changed)}\n" for number in range(1, chapters + 1)
    )


def _long_chapter(number: int, changed: bool) -> str:
    known = CAST[: 2 + number // 3]
    result = []
    for at in range(28):
        one = known[(number * 5 + at * 3) % len(known)]
        two = known[(number * 5 + at * 3 + 1 + at % (len(known) - 1)) % len(known)]
        turn = _TALK[(number * 3 + at * 5) % len(_TALK)]
        result.append(
            turn.format(
                one=one if at % 2 else one.split()[-1] if one[0] != "M" else one,
                two=two,
                place=_PLACES[(number + at) % len(_PLACES)],
                thing=_THINGS[(number * 2 + at) % len(_THINGS)],
            )
        )
    if changed:
        result.append(f"That night {known[0]} burned the map of Dunmarrow, and {known[1]} swept up the ashes.")
    return "\n\n".join(result)
