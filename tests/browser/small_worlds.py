"""Small stores for the explorer: in which something is to be corrected, a novel, a conversation."""

from datetime import UTC, datetime
from pathlib import Path

from manuscripts import manuscript
from weft import Node, Weft
from weft.memory.memory_store import remember

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def make_world_to_correct(folder: Path) -> Path:
    """Notes about lunch, one of them noise, a memory, and pages that an agent was given."""
    store = folder / ".weft"
    with Weft.open(store) as weft:
        texts = {
            "Lunch times": "Lunch is served at noon in the yellow hall.",
            "Lunch menu": "Lunch on Fridays is soup with bread and pears.",
            "Old lunch rules": "Lunch was once served at eleven in the green hall.",
        }
        for number, (title, text) in enumerate(texts.items()):
            weft.put(Node(f"kitchen:{number}", "note", title=title, text=text))
        weft.put(Node("attic:1", "rumour", title="Lunch rumour", text="Lunch may be moved to the roof, some say."))
        remember(weft.indexing_context(), "The cook wants lunch orders before ten.", now=NOW)
        weft.context("When is lunch served?", session="agent", now=NOW)
        weft.context("What is for lunch on Fridays?", session="agent", now=NOW)
    return store


def make_book(folder: Path) -> Path:
    """A short novel, read as a story."""
    store, book = folder / ".weft", folder / "ferry.txt"
    book.write_text(manuscript(), encoding="utf-8")
    with Weft.open(store) as weft:
        weft.index(book, reading="story")
    return store


def make_chat(folder: Path) -> Path:
    """A question and its answer in a session."""
    store = folder / ".weft"
    with Weft.open(store) as weft:
        turns = [("user", "When do we close?"), ("assistant", "At six on Fridays.")]
        for number, (role, text) in enumerate(turns):
            said = NOW.replace(minute=number)
            weft.put(Node(f"chat:{number}", "message", text=text, title=text, fields={"role": role}, created=said))
    return store
