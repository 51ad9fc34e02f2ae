"""An order that covers the question: what was told counts less for what comes after it."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weft import Candidate, Node
from weft.pipeline.score import order_by_coverage
from weft.profiles.types import Score

WEIGHTS = {"lexical": 0.5, "semantic": 0.5}
RULE = Score(weights=WEIGHTS, coverage=0.5)


def candidate(name: str, covers: dict[int, float], semantic: float = 0.0) -> Candidate:
    """A candidate whose lexical part is what it covers."""
    parts = {"lexical": sum(covers.values()), "semantic": semantic}
    score = sum(parts[each] * WEIGHTS[each] for each in WEIGHTS)
    return Candidate(Node(name, "note"), score=score, parts=parts, covers=covers)


def keys(ordered: tuple[Candidate, ...]) -> list[str]:
    """The keys in order."""
    return [each.node.key for each in ordered]


def test_what_repeats_the_best_falls_behind_what_tells_the_rest() -> None:
    best, again = candidate("best", {1: 0.5}), candidate("again", {1: 0.48})
    other = candidate("other", {2: 0.4})
    ordered = order_by_coverage([best, again, other], RULE, WEIGHTS)
    assert keys(ordered) == ["best", "other", "again"]
    assert ordered[2].score == round(again.score / 2, 6)
    assert ordered[2].parts["repeated"] == round(ordered[2].score - again.score, 6)


def test_a_persons_turn_loses_less_by_repeating_than_another_text() -> None:
    best, again = candidate("best", {1: 0.5}), candidate("again", {1: 0.48})
    turn = replace(again, node=Node("turn", "message", fields={"role": "user"}))
    answer = replace(again, node=Node("answer", "message", fields={"role": "assistant"}))
    ordered = order_by_coverage([best, again, answer, turn], RULE, WEIGHTS)
    assert keys(ordered)[:2] == ["best", "turn"]
    scores = {each.node.key: each.score for each in ordered}
    assert again.score > scores["turn"] > scores["again"]
    assert scores["answer"] <= scores["again"]


def test_nothing_moves_without_words_or_where_the_profile_asks_for_no_coverage() -> None:
    some = [candidate("a", {}, 0.9), candidate("b", {}, 0.5)]
    assert order_by_coverage(some, RULE, WEIGHTS) == tuple(some)
    result = [candidate("a", {1: 0.5}), candidate("b", {1: 0.4})]
    assert order_by_coverage(result, Score(weights=WEIGHTS, coverage=0.0), WEIGHTS) == tuple(result)


def test_what_adds_nothing_to_a_word_is_no_trouble() -> None:
    ordered = order_by_coverage([candidate("a", {1: 0.0, 2: 0.3}), candidate("b", {1: 0.0})], RULE, WEIGHTS)
    assert keys(ordered) == ["a", "b"]


# Halves of halves, so that sums are exact and equals are equal.
GAINS = st.dictionaries(st.integers(1, 4), st.sampled_from([0.125, 0.25, 0.5]), max_size=4)


@given(st.lists(st.tuples(GAINS, st.sampled_from([0.0, 0.25, 0.75])), min_size=1, max_size=12))
def test_the_order_is_that_of_always_taking_what_adds_most(given: list[tuple[dict[int, float], float]]) -> None:
    ranked = [candidate(f"{place:02}", *each) for place, each in enumerate(given)]
    ranked.sort(key=lambda each: (-each.score, each.node.key))
    left, spent, expected = list(ranked), dict.fromkeys(range(1, 5), 0.0), []
    most = {term: max([each.covers.get(term, 0.0) for each in ranked]) for term in spent}

    def adds(each: Candidate) -> float:
        return each.score - WEIGHTS["lexical"] * sum(gain * spent[term] for term, gain in each.covers.items())

    while left:
        best = max(left, key=adds)
        left.remove(best)
        expected.append((best.node.key, round(adds(best), 6)))
        for term, gain in best.covers.items():
            spent[term] += (1 - spent[term]) * RULE.coverage * gain / most[term]
    assert [(each.node.key, round(each.score, 6)) for each in order_by_coverage(ranked, RULE, WEIGHTS)] == expected
