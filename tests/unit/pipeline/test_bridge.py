"""Evidence in several texts: a rare word or a name that two of them hold leads from one to the other."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from weft.indexing.ingest import IndexingContext, ingest
from weft.model import Candidate, Filter, Node, View
from weft.pipeline.bridge import SAME_NAME, find_bridge_names, follow_names, score_bridges
from weft.scoring.bm25 import term_hash
from weft.store import EmbeddedIndex, SqliteStore
from weft.text import analyze
from weft.tokens import counter_for
from worlds import MemorySource

NO_FILTER = Filter()
COUNT, _ = counter_for("cl100k_base")
QUESTION = {"ghost": 6.0, "performer": 3.0, "story": 3.0, "wrote": 2.0}

TEXTS = {
    "album": "The Ghost is a record by the performer Brandi Carlile.",
    "song": "The Story was written by Phil, who wrote it for Brandi Carlile.",
    "tale": "The Story of a miller, which a monk wrote down.",
    "again": "The Ghost, a performer of whom Brandi Carlile heard.",
    "common": "A record of the Story, which someone wrote.",
    "concert": "On that evening in Seattle they heard Brandi Carlile sing.",
    "part": "Later on Brandi Carlile went home.",
    "carlile": "The castle of the earl was sold to Belinda Carlile.",
    "whole": "A ghost and a performer in a story that Phil Hanseroth wrote.",
    "hanseroth": "The twins are Tim and Phil Hanseroth.",
    **{f"filler{number}": f"A record of the weather of day {number}." for number in range(1000)},
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EmbeddedIndex]:
    """The derived search beside the store."""
    index = EmbeddedIndex(tmp_path / ".weft" / "derived")
    yield index
    index.close()


@pytest.fixture
def store(tmp_path: Path, index: EmbeddedIndex) -> Iterator[SqliteStore]:
    """A store of the texts above."""
    titles = {"part": "The Ghost"}
    nodes = [Node(f"world:{name}", "note", title=titles.get(name, ""), text=text) for name, text in TEXTS.items()]
    store = SqliteStore.open(tmp_path / ".weft")
    ingest([MemorySource(nodes, ())], IndexingContext(store, index, None, COUNT))
    yield store
    store.close()


def candidates(store: SqliteStore, relevance: dict[str, float]) -> list[Candidate]:
    """Nodes as a search would have found them, so relevant."""
    asked = {term_hash(term) for word in QUESTION for term in analyze(word)}
    with store.snapshot(View()) as snapshot:
        ids = {name: snapshot.find([f"world:{name}"])[f"world:{name}"][0] for name in relevance}
        rows = snapshot.nodes(list(ids.values()))
        words = {row.node_id: row.term_hashes for row in snapshot.passages_of_nodes(list(ids.values()))}
    return [
        Candidate(
            rows[ids[name]].node,
            parts={"relevance": value},
            root=f"world:{name}",
            covers=dict.fromkeys(asked & {term_hash(term) for term in analyze(TEXTS[name])}, 0.1),
            spans=((0, len(TEXTS[name])),),
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
        marked = score_bridges(found, find_bridge_names(found, asked, snapshot), asked, snapshot)
    return {each.node.key.removeprefix("world:"): each.parts.get("bridge", 0.0) for each in marked}


def test_what_shares_a_rare_name_with_the_best_and_tells_the_rest_is_bridged_to(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "tale": 0.5, "song": 0.4}))
    assert worth["song"] > 0
    assert worth["tale"] == 0


def test_what_the_first_has_told_already_counts_for_nothing(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "again": 0.1, "concert": 0.1}))
    assert worth["again"] == worth["concert"], "both have the name alone"


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


# --- names -----------------------------------------------------------------------------------------------


def followed(
    store: SqliteStore, index: EmbeddedIndex, found: Sequence[Candidate], filter: Filter = NO_FILTER
) -> dict[str, Candidate]:
    """Return the texts that names in the candidates lead to, by name."""
    asked = {term_hash(term): weight for word, weight in QUESTION.items() for term in analyze(word)}
    with store.snapshot(View()) as snapshot:
        further = follow_names(find_bridge_names(found, asked, snapshot), found, asked, filter, snapshot, index)
    return {each.node.key.removeprefix("world:"): each for each in further}


def test_a_name_leads_to_texts_that_no_search_for_the_question_finds(
    store: SqliteStore, index: EmbeddedIndex
) -> None:
    further = followed(store, index, candidates(store, {"album": 1.0}))
    assert {"concert", "song"} <= further.keys()
    assert "carlile" not in further, "one word of a name of two is another name"
    assert "tale" not in further


def test_what_was_led_to_says_from_where_and_by_what(store: SqliteStore, index: EmbeddedIndex) -> None:
    concert = followed(store, index, candidates(store, {"album": 1.0}))["concert"]
    assert (concert.root, concert.distance) == ("world:album", 1)
    assert [(step.key, step.edge_type) for step in concert.path] == [("world:concert", SAME_NAME)]


def test_what_is_a_candidate_already_is_not_led_to_again(store: SqliteStore, index: EmbeddedIndex) -> None:
    assert "song" not in followed(store, index, candidates(store, {"album": 1.0, "song": 0.4}))


def test_names_lead_only_to_what_passes_the_filter(store: SqliteStore, index: EmbeddedIndex) -> None:
    assert followed(store, index, candidates(store, {"album": 1.0}), Filter(kinds=("other",))) == {}


def test_where_one_text_tells_the_whole_question_no_name_is_followed(
    store: SqliteStore, index: EmbeddedIndex
) -> None:
    assert followed(store, index, candidates(store, {"whole": 1.0, "album": 0.9})) == {}


def test_a_name_is_worth_something_even_where_nothing_of_the_question_is_told(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "concert": 0.1, "carlile": 0.1}))
    assert worth["concert"] > 0
    assert worth["carlile"] == 0


def test_what_tells_of_the_question_too_is_worth_more_than_a_name_alone(store: SqliteStore) -> None:
    worth = bridges(store, candidates(store, {"album": 1.0, "concert": 0.1, "song": 0.1}))
    assert worth["song"] > worth["concert"]


def test_names_do_not_lead_from_one_part_of_a_text_to_another(store: SqliteStore) -> None:
    found = candidates(store, {"album": 1.0, "concert": 0.1})
    same = [replace(each, node=replace(each.node, title="The Ghost")) for each in found]
    assert bridges(store, same)["concert"] == 0


def test_names_lead_to_no_other_part_of_the_text_that_holds_them(store: SqliteStore, index: EmbeddedIndex) -> None:
    (album,) = candidates(store, {"album": 1.0})
    assert "part" in followed(store, index, [album])
    titled = replace(album, node=replace(album.node, title="The Ghost"))
    assert "part" not in followed(store, index, [titled])
