"""Quantised vectors: small errors, and cosines that do not depend on where a row stands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from weft.scoring.bm25 import term_hash
from weft.scoring.similarity import (
    _pairs_sharing_a_band,
    cosines,
    dot_products,
    graded_distances,
    graded_signs,
    likely_pairs,
    norms,
    quantise,
    rotate,
    sign_bits,
    sign_distances,
    similarity,
    sketch,
    stack_rows,
    unit_rows,
)

MATRICES = arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.integers(1, 40)),
    elements=st.floats(-1, 1, width=32, allow_subnormal=False),
)
INTEGERS = arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 300)), elements=st.integers(-127, 127))


@given(MATRICES)
def test_each_value_is_off_by_at_most_half_a_step(vectors):
    for row, stored in zip(vectors.astype(np.float64), quantise(vectors), strict=True):
        peak = np.abs(row).max()
        if peak == 0:
            assert stored == b""
            continue
        back = np.frombuffer(stored, np.int8) / 127 * peak
        assert np.abs(back - row).max() <= peak / 254 * (1 + 1e-9)


@given(MATRICES)
def test_a_row_is_quantised_the_same_alone_as_among_others(vectors):
    together = quantise(vectors)
    assert together == [quantise(vectors[position : position + 1])[0] for position in range(len(vectors))]


@given(MATRICES)
def test_quantising_unit_rows_again_changes_no_byte(vectors):
    stored = [row for row in quantise(vectors) if row]
    assert quantise(unit_rows(stored, vectors.shape[1])) == stored


def test_unit_rows_have_length_one_and_rows_of_zeros_stay_so():
    back = unit_rows([*quantise(np.array([[0.3, -0.4]], dtype=np.float32)), b"\0\0"], 2)
    assert np.linalg.norm(back[0]) == pytest.approx(1.0)
    assert not back[1].any()


def test_what_is_not_a_number_counts_as_nothing():
    assert quantise(np.array([[np.nan, np.inf], [1.0, np.nan]], dtype=np.float32)) == [b"", b"\x7f\x00"]


@given(INTEGERS, st.randoms(use_true_random=False))
def test_cosines_do_not_depend_on_position_or_company(matrix, random):
    query = matrix[0]
    whole = cosines(matrix, norms(matrix), query)
    order = list(range(len(matrix)))
    random.shuffle(order)
    shuffled = np.ascontiguousarray(matrix[order])
    assert np.array_equal(cosines(shuffled, norms(shuffled), query), whole[order])
    one = matrix[-1:]
    assert cosines(one, norms(one), query)[0] == whole[-1]


@given(INTEGERS)
def test_inner_products_are_exact_integers(matrix):
    query = matrix[-1]
    exact = (matrix.astype(np.int64) @ query.astype(np.int64)).astype(np.float64)
    assert np.array_equal(dot_products(matrix, query), exact)


@given(INTEGERS)
def test_turning_keeps_every_angle(matrix):
    whole = rotate(matrix).astype(np.int64)
    stretched = whole.shape[1]
    assert np.array_equal(whole @ whole.T, stretched * (matrix.astype(np.int64) @ matrix.T.astype(np.int64)))


@given(INTEGERS, st.randoms(use_true_random=False))
def test_the_signs_of_a_row_do_not_depend_on_its_company(matrix, random):
    order = list(range(len(matrix)))
    random.shuffle(order)
    assert np.array_equal(sign_bits(matrix)[order], sign_bits(np.ascontiguousarray(matrix[order])))


@given(INTEGERS)
def test_signs_differ_in_as_many_bits_as_turned_rows_do(matrix):
    signs, along = sign_bits(matrix), rotate(matrix) > 0
    differing = (along != along[-1]).sum(axis=1)
    assert np.array_equal(sign_distances(signs, signs[-1]), differing)


@given(INTEGERS)
def test_a_graded_query_counts_each_direction_by_how_much_it_points_along_it(matrix):
    signs, along = sign_bits(matrix), rotate(matrix[-1:])[0]
    graded = graded_signs(matrix[-1])
    assert np.array_equal(graded[0], signs[-1])
    size = np.abs(along).astype(np.int64)
    weights = 2 * (size * 4 // (size.max() + 1)) + 1
    apart = (rotate(matrix) > 0) != (along > 0)
    distances = graded_distances(signs, graded[1:], sign_distances(signs, graded[0]))
    nearer = 7 * len(along) - 2 * distances.astype(np.int64)
    assert np.array_equal(nearer, np.where(apart, -weights, weights).sum(axis=1))


def test_long_vectors_are_exact_too():
    matrix = np.full((3, 4096), 127, dtype=np.int8)
    assert dot_products(matrix, matrix[0])[2] == 4096 * 127 * 127


def test_no_rows_give_no_products_and_no_distances():
    none = stack_rows([], 4)
    assert len(dot_products(none, np.zeros(4, np.int8))) == 0
    assert len(sign_distances(sign_bits(none), sign_bits(np.zeros((1, 4), np.int8))[0])) == 0


def test_a_repetition_is_found_among_hundreds_of_similar_texts():
    texts = [f"the lamp burns oil from barrels on day {number}" for number in range(300)]
    texts.append(texts[250])
    pairs = list(likely_pairs([sketch([term_hash(word) for word in text.split()]) for text in texts]))
    compared = [earlier for earlier, later in pairs if later == 300]
    assert 250 in compared
    assert len(compared) < 50
    assert pairs == sorted(set(pairs), key=lambda pair: (pair[1], pair[0]))


def sketch_lines(lines: list[str]) -> list[bytes]:
    return [sketch([term_hash(word) for word in line.split()]) for line in lines]


def test_a_repetition_is_found_among_a_thousand_lines_that_are_nearly_the_same() -> None:
    lines = [f"harbour lamp note number {number}" for number in range(1_000)]
    pairs = set(likely_pairs(sketch_lines([*lines, lines[400], lines[731]])))
    assert {(400, 1_000), (731, 1_001)} <= pairs


def test_pairs_that_are_looked_at_grow_with_the_number_of_like_lines_and_not_its_square() -> None:
    looked_at = []
    for number in (1_000, 4_000):
        rows = sketch_lines([f"harbour lamp note number {line}" for line in range(number)])
        values = np.frombuffer(b"".join(rows), dtype="<u4").reshape(number, -1)
        looked_at.append(len(_pairs_sharing_a_band(values)))
    assert looked_at[1] < 5 * looked_at[0]


def test_up_to_sixty_four_like_lines_are_all_paired() -> None:
    rows = sketch_lines(["the same five words here"] * 33)
    assert len(list(likely_pairs(rows))) == 33 * 32 // 2


@given(st.text("abc ", max_size=30), st.text("abc ", max_size=30))
def test_texts_are_alike_by_their_longest_common_subsequence(left: str, right: str) -> None:
    first, second = " ".join(left.split()), " ".join(right.split())
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for row, mine in enumerate(first):
        for column, other in enumerate(second):
            lengths[row + 1][column + 1] = (
                lengths[row][column] + 1
                if mine == other
                else max(lengths[row][column + 1], lengths[row + 1][column])
            )
    both = len(first) + len(second)
    expected = 2 * lengths[-1][-1] / both if both else 1.0
    assert similarity(left, right) == pytest.approx(expected)
    for at_least in (0.5, 0.9):
        assert similarity(left, right, at_least) == pytest.approx(expected if expected >= at_least else 0.0)


def test_a_text_too_short_to_be_alike_is_not_compared() -> None:
    assert similarity("refund", "refund the whole order", at_least=0.9) == 0.0
    assert similarity("refund", "Refund ", at_least=0.9) == 1.0
