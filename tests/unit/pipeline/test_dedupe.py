"""Repeats are found, and texts that only look alike are kept."""

from weft.model import Candidate, Json, Node
from weft.pipeline.dedupe import Entry, dedupe
from weft.profiles.types import Dedupe

TEXT = "The harbour master keeps a ledger of every ship that crosses the bar, its hour, draught and pilot."


def entry(section: str, key: str, text: str = "", **fields: Json) -> Entry:
    """A candidate in a section."""
    return Entry(section, Candidate(Node(key, "note", title="Report", text=text, fields=fields)))


def test_the_later_of_two_near_identical_texts_repeats_the_earlier() -> None:
    repeated = dedupe(
        [entry("a", "x", TEXT), entry("b", "y", TEXT + " Yes."), entry("a", "z", "Other.")], Dedupe()
    )
    assert repeated == {1: "repeats x (98% alike)"}


def test_a_subject_repeats_nobody_but_its_namesake() -> None:
    named = [
        Entry("who", Candidate(Node(key, "character", title=title, text=TEXT)), subject=True)
        for key, title in (("o", "Odo Farrant"), ("t", "Tamsin Roke"), ("again", "odo farrant"))
    ]
    assert dedupe([entry("a", "x", TEXT), *named], Dedupe()) == {3: "repeats o (100% alike)"}
    assert dedupe([named[0], entry("a", "x", TEXT)], Dedupe()) == {1: "repeats o (100% alike)"}


def test_texts_below_the_similarity_are_kept() -> None:
    assert dedupe([entry("a", "x", TEXT), entry("a", "y", TEXT + " Yes.")], Dedupe(similarity=0.99)) == {}


def test_sections_that_stand_alone_may_tell_the_same() -> None:
    entries = [entry("a", "x", TEXT), entry("b", "y", TEXT), entry("a", "z", TEXT)]
    assert dedupe(entries, Dedupe("section")) == {2: "repeats x (100% alike)"}
    assert dedupe(entries, Dedupe("none")) == {}


def test_an_equal_field_repeats_across_sections_but_not_within_one() -> None:
    rule = Dedupe(same=("experience_id",))
    entries = [
        entry("a", "x", "One.", experience_id=7),
        entry("a", "y", "Two quite different words.", experience_id=7),
        entry("b", "z", "Three, unlike both of them.", experience_id=7),
    ]
    assert dedupe(entries, rule) == {2: "tells the same as x in a"}


def test_a_field_may_be_told_once_on_the_whole_page() -> None:
    rule = Dedupe(once=("experience_id",))
    entries = [
        entry("a", "x", "One.", experience_id=7),
        entry("a", "y", "Two quite different words.", experience_id=7),
        entry("a", "z", "Three, unlike both of them.", experience_id=8),
    ]
    assert dedupe(entries, rule) == {1: "tells the same as x in a"}


def test_one_field_may_be_compared_with_the_values_of_another() -> None:
    rule = Dedupe(same=("file|files_changed",))
    entries = [
        entry("code", "x", "One.", file="a.py"),
        entry("commits", "y", "Two.", files_changed=["b.py", "a.py"]),
    ]
    assert dedupe(entries, rule) == {1: "tells the same as x in code"}


def test_records_without_text_are_compared_by_all_they_say() -> None:
    shared = {"domain": "debugging", "strategy": "read-the-error", "status": "falsified", "tier": "gold"}
    one = entry("a", "x", **shared, goal={"what": "stop the pump"})
    two = entry("a", "y", **shared, goal={"what": "keep forty lamps burning through the night of the spring tide"})
    assert dedupe([one, two], Dedupe()) == {}
    assert dedupe([one, entry("a", "z", **shared, goal={"what": "stop the pump"})], Dedupe()) == {
        1: "repeats x (100% alike)"
    }
