"""A small original novel as plain text, and how it looks when it ends earlier."""

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
