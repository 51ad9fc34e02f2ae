"""The work of one page, counted and not timed: statements, rows read, texts printed, characters tokenised."""

import gc
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weft import Edge, Node, Weft
from weft.model import Item, View
from weft.pipeline import compose
from weft.pipeline.compose import Printer
from weft.pipeline.fit import fit
from weft.render.page import LineFormat
from weft.store.sqlite import connection as connections
from weft.store.sqlite import snapshot as snapshots
from weft.tokens import EncodingCounter

NODES = 400
WORDS_PER_TEXT = 100
QUESTION = "How does the harbour keeper store the oil of the lamp?"

Work = Callable[[Callable[[], object]], Counter[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of notes of a hundred words, each linked to three others."""
    made = tmp_path_factory.mktemp("work") / ".weft"
    chance = random.Random(26)
    words = [f"{first}{second}" for first in ("bar", "lam", "kel", "ost", "rin", "tor") for second in
             ("ance", "burg", "dor", "eth", "field", "holm", "ing", "mere", "ness", "wick")]  # fmt: skip
    told = ["harbour", "keeper", "store", "oil", "lamp", "winter"]
    nodes, edges = [], []
    for number in range(NODES):
        text = [chance.choice(told if chance.random() < 0.1 else words) for _ in range(WORDS_PER_TEXT)]
        sentences = [" ".join(text[start : start + 12]).capitalize() for start in range(0, WORDS_PER_TEXT, 12)]
        nodes.append(Node(f"w:{number}", "note", title=f"Note {number}", text=". ".join(sentences) + "."))
        edges += [Edge(f"w:{number}", f"w:{other}", "mentions") for other in chance.sample(range(NODES), 3)]
    with Weft.open(made) as weft:
        weft.put(nodes, edges)
    return made


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Return a function that counts the work of something."""
    counted: Counter[str] = Counter()
    connect, read_nodes, read_passages = connections._connect, snapshots.read_nodes, snapshots.read_passages
    item, count_whole = LineFormat.item, EncodingCounter.count_whole

    def traced(*given: Any) -> sqlite3.Connection:
        made = connect(*given)
        made.set_trace_callback(lambda statement: counted.update({"statements": statement.startswith("SELECT")}))
        return made

    def rows(read: Callable[..., Any], name: str) -> Callable[..., Any]:
        def reading(*given: Any) -> Any:
            found = read(*given)
            counted[name] += len(found)
            return found

        return reading

    def printing(self: LineFormat, *given: Any) -> Any:
        counted["printed"] += 1
        return item(self, *given)

    def tokenising(self: EncodingCounter, text: str) -> int:
        counted["characters"] += len(text)
        return count_whole(self, text)

    monkeypatch.setattr(connections, "_connect", traced)
    monkeypatch.setattr(snapshots, "read_nodes", rows(read_nodes, "nodes"))
    monkeypatch.setattr(snapshots, "read_passages", rows(read_passages, "passages"))
    monkeypatch.setattr(LineFormat, "item", printing)
    monkeypatch.setattr(EncodingCounter, "count_whole", tokenising)

    def during(something: Callable[[], object]) -> Counter[str]:
        counted.clear()
        something()
        return Counter(counted)

    return during


@pytest.fixture
def weft(folder: Path, work: Work) -> Iterator[Weft]:
    """The store, opened by a process that has read nothing of it."""
    with Weft.open(folder, create=False) as opened:
        yield opened


@pytest.mark.parametrize(("budget", "statements"), [(4000, 32), (1000, 32)])
def test_a_page_sends_no_more_statements_than_it_did(weft: Weft, work: Work, budget: int, statements: int) -> None:
    assert work(lambda: weft.context(QUESTION, max_tokens=budget))["statements"] <= statements


def test_of_the_nodes_only_candidates_are_read_and_each_once(weft: Weft, work: Work) -> None:
    pages: list[Any] = []
    done = work(lambda: pages.append(weft.context(QUESTION, max_tokens=4000)))
    assert 0 < done["nodes"] <= pages[0].stats["candidates"]
    # By number for the search, and by node for those that the walk reached and that are printed.
    assert done["passages"] <= pages[0].stats["nodes_searched"] + pages[0].stats["candidates"]


@pytest.mark.parametrize("budget", [4000, 1000])
def test_an_item_is_printed_once_with_its_text_and_once_without(weft: Weft, work: Work, budget: int) -> None:
    pages: list[Any] = []
    done = work(lambda: pages.append(weft.context(QUESTION, max_tokens=budget)))
    # One more may be priced and then not fit.
    assert 0 < done["printed"] <= 2 * pages[0].stats["printed"] + 1


def test_most_of_a_page_is_counted_from_stored_counts(weft: Weft, work: Work) -> None:
    pages: list[Any] = []
    # In other words than before, because lines that were counted once are remembered by the process.
    question = f"{QUESTION} And in winter?"
    done = work(lambda: pages.append(weft.context(question, max_tokens=4000)))
    assert pages[0].tokens > 3600
    assert done["characters"] < 0.15 * len(pages[0].text)


def test_the_same_question_again_reads_no_row_and_counts_no_text(weft: Weft, work: Work) -> None:
    weft.context(QUESTION, max_tokens=4000)
    done = work(lambda: weft.context(QUESTION, max_tokens=4000))
    assert (done["nodes"], done["passages"], done["characters"]) == (0, 0, 0)
    assert done["statements"] <= 6


def test_vectors_of_passages_that_were_read_are_found_without_reading_their_rows_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    connect = connections._connect

    def traced(*given: Any) -> sqlite3.Connection:
        made = connect(*given)
        made.set_trace_callback(statements.append)
        return made

    monkeypatch.setattr(connections, "_connect", traced)
    with Weft.open(folder, create=False) as weft:
        weft.context(QUESTION, max_tokens=4000)
        of_vectors = [statement for statement in statements if " vectors v " in statement]
        assert of_vectors
        assert not [statement for statement in of_vectors if " passages p " in statement]
        # Who asks for others, unseen, gets only those that the view sees.
        with weft.reading(View()) as reading, weft.reading(View(tenants=("other",))) as other:
            ids = [number for number, *_ in reading.snapshot.all_terms()]
            assert reading.snapshot.vectors(ids).any()
            assert not other.snapshot.vectors(ids).any()


def test_what_is_read_and_found_by_the_thousand_is_nothing_that_python_searches_for_cycles(weft: Weft) -> None:
    page = weft.context(QUESTION, max_tokens=4000)
    with weft.reading(View()) as reading:
        rows = reading.snapshot.nodes([entry.id for entry in page.ledger])
        passages = reading.snapshot.passages_of_nodes([*rows])
    items = [item for section in page.page.sections for item in section.items]
    kept = [*rows.values(), *passages, *items, *(item.candidate for item in items), *page.ledger]
    assert kept
    assert not [record for record in kept if gc.is_tracked(record)]


def test_names_are_looked_up_together_however_many_there_are(weft: Weft, work: Work) -> None:
    by_key, by_name = (f"w:{number}" for number in range(8)), (f"Note {number}" for number in range(8, 16))
    names = [*by_key, *by_name, "400", "none"]
    found: list[Any] = []
    with weft.reading(View()) as reading:
        done = work(lambda: found.append(reading.snapshot.find(names)))
    # By key, by name and by id.
    assert done["statements"] == 3
    assert list(found[0]) == names[:-1]


def test_an_item_that_is_fitted_again_is_not_priced_again(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    priced: Counter[object] = Counter()
    count_item = Printer._count_item

    def counted(self: Printer, item: Item, lines: Any) -> int:
        priced[item.candidate.node.ref, item.detail, item.spans, item.turn] += 1
        return count_item(self, item, lines)

    monkeypatch.setattr(Printer, "_count_item", counted)
    fitted: list[object] = []
    monkeypatch.setattr(compose, "fit", lambda *given, **named: fitted.append(given) or fit(*given, **named))
    # Notes of two hundred tokens: too few fit to be taken as records, whose cost is known exactly.
    weft.context(QUESTION, max_tokens=2000)
    assert len(fitted) > 1
    assert set(priced.values()) == {1}
