"""A text that a name leads to is on the page, whatever else the store holds and however it was filled."""

from collections.abc import Sequence
from pathlib import Path

from weft import Weft
from weft.model import Context, Filter, Node
from weft.pipeline.bridge import SAME_NAME
from worlds import NOW, MemorySource

QUESTION = "Where did the performer of the record The Ghost of Winter sing?"
TEXTS = {
    "album": "The Ghost of Winter is a record of the performer Brandi Carlile.",
    **{f"evening{at}": f"An evening in hall {at}, where they heard Brandi Carlile." for at in range(4)},
    **{f"record{at}": f"A record of winter songs that performer {at} sings." for at in range(60)},
    **{f"weather{at}": f"Rain fell over valley {at} and the fields beside it." for at in range(600)},
}


def nodes(tenant: str = "default") -> list[Node]:
    """The texts above as notes of a tenant."""
    return [Node(f"world:{name}", "note", text=text, tenant=tenant) for name, text in TEXTS.items()]


def page(folder: Path, *worlds: Sequence[Node], filter: Filter = Filter(), depth: int | None = None) -> Context:  # noqa: B008
    """The page about the question over a store of these nodes, written one world after the other."""
    with Weft.open(folder / ".weft", create=True) as weft:
        for number, world in enumerate(worlds):
            weft.ingest([MemorySource(world, (), f"world{number}")])
        return weft.context(QUESTION, max_tokens=2000, now=NOW, filter=filter, depth=depth)


def led_to(context: Context) -> set[str]:
    """The keys of what was reached by a name."""
    return {entry.key for entry in context.ledger if any(step.edge_type == SAME_NAME for step in entry.path)}


def test_what_shares_only_a_name_with_the_first_text_is_on_the_page(tmp_path: Path) -> None:
    context = page(tmp_path, nodes())
    # Some stand on the page by the bridge alone, whether a search proposed them or the name led to them.
    named = {entry.key for entry in context.ledger if entry.parts.get("bridge") and not entry.parts.get("lexical")}
    assert named
    assert all(key.startswith("world:evening") for key in named)
    assert "they heard Brandi Carlile" in context.text


def test_the_order_in_which_the_store_was_filled_changes_no_byte(tmp_path: Path) -> None:
    assert page(tmp_path / "a", nodes()).text == page(tmp_path / "b", nodes()[::-1]).text


def test_what_another_tenant_writes_of_the_name_changes_no_byte(tmp_path: Path) -> None:
    alone, beside = page(tmp_path / "a", nodes()), page(tmp_path / "b", nodes("other"), nodes())
    assert beside.text == alone.text
    assert led_to(beside) == led_to(alone)


def test_a_name_leads_past_no_filter_and_nowhere_when_nothing_is_to_be_walked(tmp_path: Path) -> None:
    assert not led_to(page(tmp_path / "a", nodes(), filter=Filter(kinds=("letter",))))
    assert not led_to(page(tmp_path / "b", nodes(), depth=0))
