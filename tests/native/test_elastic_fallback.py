"""The elastic fallback: ragged collections beside the naive references, blocks of any make-up, and no need for torch."""

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from naive import elastic
from timelike.native import PackedSequences, Program, WarpingBand
from timelike.native.elastic import fallback, squared_distances
from timelike.native.elastic.fallback_rules import RULES

GAP, THRESHOLD = 0.5, 1.0

# every rule that takes no missing values: its program, and the naive reference of one pair inside `allowed`
REFERENCES = {
    "dtw": (Program(), elastic.dtw),
    "dtw by steps": (
        Program(cost="manhattan", counted=True),
        lambda x, y, allowed: elastic.dtw(x, y, cost="manhattan", allowed=allowed, normalize="steps"),
    ),
    "symmetric2": (
        Program(rule="symmetric2", cost="euclidean"),
        lambda x, y, allowed: elastic.dtw(x, y, cost="euclidean", allowed=allowed, step="symmetric2"),
    ),
    "amerced": (
        Program(rule="amerced", first=0.5),
        lambda x, y, allowed: elastic.adtw(x, y, penalty=0.5, allowed=allowed),
    ),
    "weighted": (
        Program(rule="weighted", first=0.25),
        lambda x, y, allowed: elastic.wdtw(x, y, g=0.25, allowed=allowed),
    ),
    "erp": (Program(rule="erp", gap=np.array([GAP])), lambda x, y, allowed: elastic.erp(x, y, GAP, allowed=allowed)),
    "edr": (Program(rule="edr"), lambda x, y, allowed: elastic.edr(x, y, THRESHOLD, allowed=allowed)),
    "edr_by_channel": (
        Program(rule="edr_by_channel"),
        lambda x, y, allowed: elastic.edr(x, y, THRESHOLD, allowed=allowed, match="channels"),
    ),
    "lcss": (
        Program(rule="lcss"),
        lambda x, y, allowed: min(len(x), len(y)) * (elastic.lcss(x, y, THRESHOLD, allowed=allowed) - 1),
    ),
    "lcss_by_channel": (
        Program(rule="lcss_by_channel"),
        lambda x, y, allowed: (
            min(len(x), len(y)) * (elastic.lcss(x, y, THRESHOLD, allowed=allowed, match="channels") - 1)
        ),
    ),
    "msm": (Program(rule="msm", first=0.5), lambda x, y, allowed: elastic.msm(x, y, 0.5, allowed=allowed)),
    "twe": (
        Program(rule="twe", first=0.25, second=0.5),
        lambda x, y, allowed: elastic.twe(x, y, 0.25, 0.5, allowed=allowed),
    ),
    "twe_timed": (
        Program(rule="twe_timed", first=0.25, second=0.5),
        lambda x, y, allowed: elastic.twe(
            x[:, :-2], y[:, :-2], 0.25, 0.5, x_times=x[:, -1], y_times=y[:, -1], allowed=allowed
        ),
    ),
    **{
        f"{rule}_missing": (
            Program(rule=f"{rule}_missing", first=first),
            lambda x, y, allowed, options=options: elastic.ignoring(x, y, allowed=allowed, **options(x, y)),
        )
        for rule, first, options in (
            ("dtw", 0.0, lambda x, y: {}),
            ("symmetric2", 0.0, lambda x, y: {"corner": 2}),
            ("amerced", 0.5, lambda x, y: {"penalty": 0.5}),
            (
                "weighted",
                0.25,
                lambda x, y: {"weight": lambda i, j: 1 / (1 + np.exp(-0.25 * (abs(i - j) - max(len(x), len(y)) / 2)))},
            ),
        )
    },
}


def test_every_rule_of_the_fallback_has_a_naive_reference_here():
    assert {program.rule for program, _ in REFERENCES.values()} == set(RULES)


def packed(sequences):
    lengths = np.array([len(one) for one in sequences])
    return PackedSequences(np.concatenate(sequences), np.cumsum(lengths) - lengths, lengths)


def fitted(program, x, y, band):
    """The program with arrays of the right sizes."""
    gap = None if program.gap is None else np.full(x.values.shape[1], GAP)
    thresholds = np.full(len(x.lengths), THRESHOLD), np.full(len(y.lengths), THRESHOLD)
    return replace(program, band=band, gap=gap, thresholds=thresholds)


def pairwise(program, x, y=None, band=WarpingBand()):  # noqa: B008  a value
    other = x if y is None else y
    out = np.full((len(x.lengths), len(other.lengths)), np.nan, x.values.dtype)
    program = fitted(program, x, other, band)
    fallback.pairwise(program, x, other, symmetric=y is None, out=out, report=None)
    return out


def drawn(rng, name, lengths, channels, *, rounded, share=0.25):
    """Sequences whose values coincide often if they are rounded: to halves, of which sums are exact."""
    sequences = []
    for n in lengths:
        values = rng.standard_normal((n, channels))
        values = np.round(2 * values) / 2 if rounded else values
        if name.endswith("_missing"):
            values[rng.random(values.shape) < share] = np.nan
        if name == "twe_timed":  # a clock in two parts, of which the first is zero
            clock = np.cumsum(rng.integers(1, 4, n)).astype(float)
            values = np.column_stack([values, np.zeros(n), clock])
        sequences.append(values)
    return sequences


BANDS = st.one_of(
    st.just(("sakoe", None)),
    st.tuples(st.sampled_from(["sakoe", "widened", "slanted", "aeon"]), st.integers(0, 12)),
    st.tuples(st.sampled_from(["widened", "slanted", "aeon"]), st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])),
    st.tuples(st.just("itakura"), st.sampled_from([1.0, 1.5, 2.0, 4.0])),
)


def as_window(shape, size):
    return WarpingBand(shape, size if isinstance(size, int) else None, size if isinstance(size, float) else None)


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=12, deadline=None)
@given(
    lengths=st.tuples(*(st.lists(st.integers(1, 12), min_size=1, max_size=4) for _ in range(2))),
    channels=st.integers(1, 3),
    rounded=st.booleans(),
    band=BANDS,
    seed=st.integers(0, 2**32),
)
def test_ragged_pairs_have_the_distance_of_the_naive_reference(name, lengths, channels, rounded, band, seed):
    rng, (program, reference) = np.random.default_rng(seed), REFERENCES[name]
    x, y = (drawn(rng, name, some, channels, rounded=rounded) for some in lengths)
    if name.endswith("_missing"):
        x[0][:], y[0][:] = 0.0, 0.0  # a pair that lacks nothing, beside the others
    found = pairwise(program, packed(x), packed(y), as_window(*band))
    for (i, a), (j, b) in itertools.product(enumerate(x), enumerate(y)):
        allowed = elastic.mask(len(a), len(b), band[1], band[0])
        expected = reference(a, b, allowed=allowed)
        if name.startswith("lcss") and not np.isfinite(expected):
            expected = np.inf  # the reference writes no common subsequence at all as minus infinity
        np.testing.assert_allclose(found[i, j], expected, rtol=1e-12, atol=1e-12, err_msg=f"{len(a)} and {len(b)}")


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("band", [("sakoe", None), ("widened", 0.1), ("slanted", 1), ("sakoe", 4)])
def test_a_pair_has_the_same_bits_whatever_else_is_in_the_batch(name, dtype, band, monkeypatch):
    rng, program = np.random.default_rng(7), REFERENCES[name][0]
    sequences = drawn(rng, name, rng.integers(1, 60, 14), 3, rounded=False)
    sequences = [one.astype(dtype) for one in sequences]
    together = pairwise(program, packed(sequences), packed(sequences), as_window(*band))
    np.testing.assert_array_equal(pairwise(program, packed(sequences), None, as_window(*band)), together)
    np.testing.assert_array_equal(together, together.T)
    for i, j in rng.integers(0, len(sequences), (6, 2)):
        alone = pairwise(program, packed([sequences[i]]), packed([sequences[j]]), as_window(*band))
        np.testing.assert_array_equal(alone[0, 0], together[i, j])
        how = fitted(program, packed([sequences[i]]), packed([sequences[j]]), as_window(*band))
        np.testing.assert_array_equal(
            np.array(fallback.path(how, sequences[i], sequences[j])[1], dtype), together[i, j]
        )
    order = rng.permutation(len(sequences))
    shuffled = pairwise(program, packed([sequences[i] for i in order]), packed(sequences), as_window(*band))
    np.testing.assert_array_equal(shuffled, together[order])
    monkeypatch.setattr(fallback, "_DIAGONAL_BYTES", 64)  # blocks of a few pairs
    np.testing.assert_array_equal(pairwise(program, packed(sequences), None, as_window(*band)), together)


@given(
    counts=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    symmetric=st.booleans(),
    bytes_per_diagonal=st.sampled_from([8, 100, 1000, 1 << 16]),
    seed=st.integers(0, 2**32),
)
def test_blocks_hold_every_pair_once(counts, symmetric, bytes_per_diagonal, seed):
    rng = np.random.default_rng(seed)
    x, y = (packed([np.zeros((n, 1)) for n in rng.integers(1, 40, count)]) for count in counts)
    y = x if symmetric else y
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fallback, "_DIAGONAL_BYTES", bytes_per_diagonal)
        blocks = list(fallback._blocks(Program(), x, y, symmetric=symmetric))
    pairs = [(i, j) for block in blocks for i, j in zip(*(side.tolist() for side in block), strict=True)]
    if symmetric:
        pairs += [(j, i) for i, j in pairs if i != j]
    assert sorted(pairs) == list(itertools.product(range(len(x.lengths)), range(len(y.lengths))))


def test_progress_counts_every_pair_and_ends_with_all():
    reports = []
    x = packed([np.zeros((n, 1)) for n in (3, 1, 400, 20, 20)])
    out = np.empty((5, 5))
    fallback.pairwise(Program(), x, x, symmetric=True, out=out, report=lambda *told: reports.append(told))
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    assert reports[-1] == (15, 15)


@given(shape=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9)), seed=st.integers(0, 2**32))
def test_vectors_have_the_bits_of_sequences_of_one_frame(shape, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((shape[0], shape[2])), rng.standard_normal((shape[1], shape[2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMELIKE_NATIVE", "0")
        found, own = np.empty(shape[:2]), np.empty((len(x), len(x)))
        squared_distances(x, y, threads=1, out=found, report=None)
        squared_distances(x, None, threads=1, out=own, report=None)
    frames = (packed(list(side[:, None])) for side in (x, y))
    np.testing.assert_array_equal(found, pairwise(Program(), *frames))
    np.testing.assert_array_equal(own, own.T)
    np.testing.assert_allclose(found, ((x[:, None] - y) ** 2).sum(-1), rtol=1e-13)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # an import of it fails
import numpy as np
import timelike as tl
data = [np.arange(n, dtype=float)[:, None] for n in (3, 5, 4)]
tl.DTW(window=0.5).pairwise(data), tl.MSM().neighbors(data, k=1), tl.TWE().align(data[0], data[1])
"""


def test_elastic_distances_need_neither_a_compiler_nor_torch():
    import os

    where = os.environ | {"TIMELIKE_NATIVE": "0"}
    subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT_TORCH], env=where, check=True)
