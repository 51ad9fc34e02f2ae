"""Evidence in two texts: a rare word that both hold leads from one to the other, which tells the rest."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from weft.bridge import bridge
from weft.ingest import Workshop, ingest
from weft.model import Candidate, Node, View
from weft.store import EmbeddedIndex, SqliteStore
from weft.terms import term_hash
from weft.text import analyze
from weft.tokens import counter_for
from worlds import MemorySource

COUNT, _ = counter_for("cl100k_base")
QUESTION = {"ghost": 6.0, "performer": 3.0, "story": 3.0, "wrote": 2.0}

TEXTS = {
    "album": "The Ghost is a record by the performer Brandi Carlile.",
    "song": "The Story was written by Phil, who wrote it for Brandi Carlile.",
    "tale": "The Story of a miller, which a monk wrote down.",
    "again": "The Ghost, a performer of whom Brandi Carlile heard.",
    "common": "A record of the Story, which someone wrote.",
    **{f"filler{number}": f"A record of the weather of day {number}." for number in range(300)},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store of the texts above."""
    nodes = [Node(f"world:{name}", "note", text=text) for name, text in TEXTS.items()]
    store, index = SqliteStore.open(tmp_path / ".weft"), EmbeddedIndex(tmp_path / ".weft" / "derived")
    ingest([MemorySource(nodes, ())], Workshop(store, index, None, COUNT))
    yield store
    index.close()
    store.close()


def candidates(store: SqliteStore, relevance: dict[str, float]) -> list[Candidate]:
    """Nodes as a search would have found them, so relevant."""
    asked = {term_hash(term) for word in QUESTION for term in analyze(word)}
    with store.snapshot(View()) as snapshot:
        ids = {name: snapshot.find([f"world:{name}"])[f"world:{name}"][0] for name in relevance}
        rows = snapshot.nodes(list(ids.values()))
        words = {row.node_id: row.term_hashes for row in snapshot.passages_of(list(ids.values()))}
    return [
        Candidate(
            rows[ids[name]].node,
            parts={"relevance": value},
            covers=dict.fromkeys(asked & {term_hash(term) for term in analyze(TEXTS[name])}, 0.1),
            words=words[ids[name]],
        )
        for name, value in relevance.items()
    ]


def bridges(
    store: SqliteStore, found: Sequence[Candidate], question: dict[str, float] = QUESTION
) -> dict[str, float]:
    """The part `bridge` by name."""
    asked = {term_hash(term): weight for word, weight in question.items() for term in analyze(word)}
    with store.snapshot(View()) as snapshot:
        marked = bridge(found, asked, snapshot)
    return {each.node.key.removeprefix("world:"): each.parts.get("bridge", 0.0) for each in marked}


def test_what_shares_a_rare_name_with_the_best_and_tells_the_rest_is_bridged_to(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "tale": 0.5, "song": 0.4}))
    assert worth["song"] > 0
    assert worth["tale"] == 0


def test_what_the_first_has_told_already_is_worth_nothing(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "again": 0.9}))
    assert worth == {"album": 0.0, "again": 0.0}


def test_a_word_that_many_texts_hold_ties_nothing_together(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "common": 0.9}))
    assert worth == {"album": 0.0, "common": 0.0}


def test_the_words_of_the_question_tie_nothing_together(store: SqliteStore) -> None:
    named = {**QUESTION, "brandi": 9.0, "carlile": 9.0}
    assert bridges(store, candidates(store, {"album": 1.0, "song": 0.4}), named)["song"] == 0.0


def test_the_more_relevant_the_first_the_more_its_bridges_are_worth(store: SqliteStore) -> None:
    high = bridges(store, candidates(store, {"album": 1.0, "song": 0.2}))
    low = bridges(store, candidates(store, {"album": 0.5, "song": 0.2}))
    assert low["song"] == pytest.approx(high["song"] / 2, abs=1e-6)


def test_a_question_without_words_or_candidates_is_left_alone(store: SqliteStore) -> None:
    found = candidates(store, {"album": 1.0, "song": 0.4})
    assert bridges(store, found, {}) == {"album": 0.0, "song": 0.0}
    assert bridges(store, []) == {}


def test_candidates_that_no_store_holds_take_no_part(store: SqliteStore) -> None:
    foreign = Candidate(Node("far:song", "note", text=TEXTS["song"]), parts={"relevance": 1.0})
    assert bridges(store, [foreign, *candidates(store, {"album": 1.0})]) == {"far:song": 0.0, "album": 0.0}


def test_the_order_of_candidates_changes_no_worth(store: SqliteStore) -> None:
    found = candidates(store, {"album": 1.0, "again": 0.9, "tale": 0.5, "song": 0.4, "common": 0.3})
    assert bridges(store, found) == bridges(store, found[::-1])
