"""The compiled kernels: every rule on every instruction set against the fallback and the naive references."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from naive import elastic
from timelike.native import BAND_SHAPES, COSTS, PackedSequences, Program, WarpingBand
from timelike.native.elastic import fallback
from timelike.native.elastic.fallback_rules import RULES

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

PLAIN = [Program(rule=rule, cost=cost, counted=counted)
         for rule in ("dtw", "symmetric2") for cost in COSTS for counted in (False, True)]  # fmt: skip
OTHERS = [
    Program(rule="amerced", first=0.4),
    Program(rule="weighted", first=0.3),
    Program(rule="erp", gap=np.array([0.2])),
    Program(rule="edr", thresholds=(np.array([0.3]), np.array([0.5]))),
    Program(rule="edr_by_channel", thresholds=(np.array([0.3]), np.array([0.5]))),
    Program(rule="lcss", thresholds=(np.array([0.6]), np.array([0.5]))),
    Program(rule="lcss_by_channel", thresholds=(np.array([0.6]), np.array([0.5]))),
    Program(rule="msm", first=0.3),
    Program(rule="twe", first=0.05, second=0.7),
    Program(rule="twe_timed", first=0.05, second=0.7),
    *(Program(rule=rule, cost=cost) for rule in ("dtw_missing", "symmetric2_missing") for cost in COSTS),
    Program(rule="amerced_missing", first=0.4),
    Program(rule="weighted_missing", first=0.3),
]
PROGRAMS = {f"{p.rule}-{p.cost}{'-counted' if p.counted else ''}": p for p in [*PLAIN, *OTHERS]}
MISSING = [name for name, program in PROGRAMS.items() if program.rule.endswith("_missing")]


def frames(program, channels):
    """Channels and, where the rule reads a clock, two more for it: a kernel does not mind which way it runs."""
    return channels + 2 if program.rule == "twe_timed" else channels


def ragged(rng, count, longest, channels, dtype):
    lengths = rng.integers(1, longest + 1, count)
    values = rng.standard_normal((lengths.sum(), channels)).astype(dtype)
    return PackedSequences(values, np.cumsum(lengths) - lengths, lengths)


def holed(rng, steps, share):
    """The same with values missing here and there, and sometimes all of a step; the first of all is there."""
    values = steps.values.copy()
    values[rng.random(values.shape) < share] = np.nan
    values[rng.random(len(values)) < share / 2] = np.nan
    values[steps.starts] = steps.values[steps.starts]
    return steps._replace(values=values)


def fitted(program, x, y, window=None):
    """The program with arrays of the right sizes."""
    changes = {"band": window or WarpingBand()}
    if program.gap is not None:
        changes["gap"] = np.resize(program.gap, x.values.shape[1])
    if program.thresholds is not None:
        first, second = program.thresholds
        changes["thresholds"] = np.resize(first, len(x.lengths)), np.resize(second, len(y.lengths))
    return replace(program, **changes)


def pairwise(program, x, y=None, *, threads=1, isa=None):
    other = x if y is None else y
    program = fitted(program, x, other, program.band)
    out = np.full((len(x.lengths), len(other.lengths)), np.nan, x.values.dtype)
    how = {"threads": threads, "out": out, "report": None, "isa": isa}
    kernels.pairwise(program.numbers(), *x, *other, *program.arrays(out.dtype), symmetric=y is None, **how)
    return out


def items(steps):
    return [steps.values[s : s + n] for s, n in zip(steps.starts, steps.lengths, strict=True)]


def alone(sequence):
    return PackedSequences(sequence, np.zeros(1, int), np.array([len(sequence)]))


def test_every_rule_has_a_kernel_a_torch_fallback_and_a_program_in_these_tests():
    assert len(set(kernels.rules())) == len(kernels.rules())
    assert set(kernels.rules()) == set(RULES) == {program.rule for program in PROGRAMS.values()}


def test_the_list_of_rules_is_in_one_file_of_each_language():
    folder = Path(__file__).parents[2] / "src/timelike/native"
    sources = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for end in ("*.?pp", "*.py", "*.pyi")
        for path in folder.rglob(end)
    }
    named = {
        (file, rule)
        for file, text in sources.items()
        for rule in RULES
        if re.search(rf'"{rule}"|rule\({rule}\b|Rule::{rule}\b', text)
    }
    default = {("elastic/program.py", Program().rule)}
    lists = "elastic/cells.hpp", "elastic/fallback_rules.py"
    assert named == {(file, rule) for file in lists for rule in RULES} | default


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="rule='unheard': no struct of this name"):
        pairwise(Program(rule="unheard"), alone(np.zeros((1, 1))))


# bands that have a path between any two lengths, and are another for every length
ALWAYS_OPEN = [WarpingBand("slanted", 1), WarpingBand("slanted", None, 0.3), WarpingBand("widened", 2), WarpingBand("widened", None, 0.1),
               WarpingBand("aeon", None, 0.2)]  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=6)
@given(data=st.data())
def test_every_instruction_set_agrees_with_the_torch_executor(name, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    channels, longest = frames(PROGRAMS[name], data.draw(st.integers(1, 4))), data.draw(st.integers(1, 30))
    x = ragged(rng, data.draw(st.integers(1, 4)), longest, channels, np.float64)
    y = ragged(rng, data.draw(st.integers(1, 20)), longest, channels, np.float64)
    window = data.draw(st.sampled_from([WarpingBand(), WarpingBand(cells=longest), *ALWAYS_OPEN]))
    program = fitted(PROGRAMS[name], x, y, window)
    expected = np.empty((len(x.lengths), len(y.lengths)))
    fallback.pairwise(program, x, y, symmetric=False, out=expected, report=None)
    half = PackedSequences(x.values.astype(np.float32), *x[1:]), PackedSequences(y.values.astype(np.float32), *y[1:])
    for isa in kernels.isas():
        found = pairwise(program, x, y, isa=isa)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=isa)
        if program.thresholds is None:  # near a threshold a rounding decides
            found = pairwise(program, *half, isa=isa)
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=isa)


@pytest.mark.parametrize("shape", BAND_SHAPES)
@given(
    n=st.integers(1, 40), m=st.integers(1, 40), cells=st.integers(0, 45), share=st.floats(0, 1), slope=st.floats(1, 4)
)
def test_the_bands_of_both_executors_are_the_naive_one(shape, n, m, cells, share, slope):
    options = [slope] if shape == "itakura" else [cells] if shape == "sakoe" else [cells, share, 1.0]
    for option in options:
        whole = isinstance(option, int)
        window = WarpingBand(shape, option if whole else None, None if whole else option)
        lo, hi = window.bounds(n, m)
        columns = np.arange(m)
        found = (columns >= lo[:, None]) & (columns <= hi[:, None])
        np.testing.assert_array_equal(found, elastic.mask(n, m, option, shape))
        np.testing.assert_array_equal(found, elastic.mask(m, n, option, shape).T)
        first, last = np.empty(n, np.int32), np.empty(n, np.int32)
        kernels.bounds(BAND_SHAPES.index(shape), option if whole else -1, -1.0 if whole else option, first, last, m)
        np.testing.assert_array_equal(first, lo)
        np.testing.assert_array_equal(last, hi)


@pytest.mark.parametrize("name", MISSING)
@settings(max_examples=8)
@given(data=st.data())
def test_missing_values_mean_the_same_on_every_instruction_set_and_in_torch(name, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    channels, share = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.0, 0.1, 0.4]))
    make = lambda *size: np.round(rng.standard_normal(size), data.draw(st.sampled_from([0, 9])))  # noqa: E731  ties
    x, y = (
        holed(rng, PackedSequences(make(lengths.sum(), channels), np.cumsum(lengths) - lengths, lengths), share)
        for lengths in (rng.integers(8, 15, 3), rng.integers(8, 15, 20))
    )
    program = fitted(PROGRAMS[name], x, y, data.draw(st.sampled_from([WarpingBand(), *ALWAYS_OPEN[1:3]])))
    expected = np.empty((3, 20))
    fallback.pairwise(program, x, y, symmetric=False, out=expected, report=None)
    for isa in kernels.isas():
        found = pairwise(program, x, y, isa=isa)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=isa)
        np.testing.assert_allclose(pairwise(program, y, x, isa=isa).T, found, rtol=1e-14, err_msg=isa)
        for i, j in [(0, 0), (1, 7), (2, 19)]:
            a, b = items(x)[i], items(y)[j]
            path, total = kernels.path(program.numbers(), a, b, *program.arrays(a.dtype), budget=1 << 20, isa=isa)
            assert total == found[i, j] or (np.isinf(total) and np.isinf(found[i, j]))
            if isa == "v2" and np.isfinite(total):  # the others fuse products and sums, and a rounding decides ties
                other, also = fallback.path(program, a, b)
                np.testing.assert_array_equal(path, other)
                assert also == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", MISSING)
def test_where_nothing_is_missing_a_rule_that_ignores_it_gives_the_bits_of_the_plain_one(name):
    rng, program = np.random.default_rng(3), PROGRAMS[name]
    for dtype in (np.float32, np.float64):
        for channels in (1, 3):
            x, y = (ragged(rng, count, 30, channels, dtype) for count in (9, 21))
            plain = replace(program, rule=program.rule.removesuffix("_missing"))
            np.testing.assert_array_equal(pairwise(program, x, y), pairwise(plain, x, y))
            # nor does it matter that others in the register lack something
            values = y.values.copy()
            values[y.starts[0]] = np.nan
            together = pairwise(program, x, y._replace(values=values))
            np.testing.assert_array_equal(together[:, 1:], pairwise(plain, x, y)[:, 1:])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("channels", [1, 3])
def test_results_do_not_depend_on_threads_batches_or_neighbours_in_the_register(name, channels):
    for dtype in (np.float32, np.float64):
        rng, program = np.random.default_rng(5), PROGRAMS[name]
        x, y = (ragged(rng, count, 40, frames(program, channels), dtype) for count in (30, 50))
        together = pairwise(program, x, y, threads=2)
        np.testing.assert_array_equal(together, pairwise(program, x, y, threads=1))
        for window in ALWAYS_OPEN:  # whose bands differ from lane to lane
            narrow = replace(program, band=window)
            banded = pairwise(narrow, x, y)
            for i, j in np.ndindex(4, 9):
                assert pairwise(narrow, alone(items(x)[i]), alone(items(y)[j]))[0, 0] == banded[i, j]
        if program.thresholds is None:
            np.testing.assert_array_equal(together, pairwise(program, y, x, threads=2).T)
            np.testing.assert_array_equal(pairwise(program, x), pairwise(program, x, x))
        for i, a in enumerate(items(x)[:6]):
            for j, b in enumerate(items(y)[:6]):
                assert pairwise(program, alone(a), alone(b))[0, 0] == together[i, j]
                how = fitted(program, alone(a), alone(b))
                _, total = kernels.path(how.numbers(), a, b, *how.arrays(a.dtype), budget=1 << 20)
                assert total == together[i, j]


@pytest.mark.parametrize("cost", COSTS)
@given(
    n=st.integers(1, 90),
    m=st.integers(1, 90),
    channels=st.integers(1, 3),
    seed=st.integers(0, 2**32),
    slack=st.integers(0, 20) | st.none(),
)
def test_the_schedule_for_one_pair_gives_the_bits_of_the_schedule_for_many(cost, n, m, channels, seed, slack):
    rng = np.random.default_rng(seed)
    window = WarpingBand() if slack is None else WarpingBand(cells=abs(n - m) + slack)
    program = Program(cost=cost, band=window)
    for isa in kernels.isas():
        for dtype in (np.float32, np.float64):
            a, b = (
                alone(rng.standard_normal((n, channels)).astype(dtype)),
                alone(rng.standard_normal((m, channels)).astype(dtype)),
            )
            twice = PackedSequences(b.values, np.zeros(2, int), np.array([m, m]))
            many = pairwise(program, a, twice, isa=isa)
            assert pairwise(program, a, b, isa=isa)[0, 0] == many[0, 0] == many[0, 1]


def twe_along(x, y, path, nu, lmbda, s=None, t=None):
    """What a path of TWE costs, step by step, on clocks s and t; the step before the first is zeros at time 0."""
    s, t = (np.arange(1, len(side) + 1) if c is None else c for side, c in ((x, s), (y, t)))
    x, y = (np.concatenate([np.zeros((1, side.shape[1])), side]) for side in (x, y))
    s, t = np.append(0, s), np.append(0, t)
    total = 0.0
    for (i, j), (di, dj) in zip(path + 1, np.diff(path, axis=0, prepend=-1), strict=True):
        if di and dj:
            apart = abs(s[i] - t[j]) + abs(s[i - 1] - t[j - 1])
            total += elastic.norm(x[i], y[j]) + elastic.norm(x[i - 1], y[j - 1]) + nu * apart
        elif di:
            total += elastic.norm(x[i], x[i - 1]) + nu * abs(s[i] - s[i - 1]) + lmbda
        else:
            total += elastic.norm(y[j], y[j - 1]) + nu * abs(t[j] - t[j - 1]) + lmbda
    return total


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), longest=st.just(40))
@example(seed=383300, longest=60)  # with TWE two deletions, which cost the same in either order: rounding decides
def test_a_path_is_the_same_within_any_memory_and_on_torch(name, seed, longest):
    rng, width = np.random.default_rng(seed), frames(PROGRAMS[name], 2)
    x, y = (rng.standard_normal((rng.integers(1, longest), width)) for _ in range(2))
    program = fitted(PROGRAMS[name], alone(x), alone(y))
    arrays = (program.numbers(), x, y, *program.arrays(x.dtype))
    path, total = kernels.path(*arrays, budget=1 << 20)
    for budget in (1, 64, 300):
        again, same = kernels.path(*arrays, budget=budget)
        np.testing.assert_array_equal(path, again)
        assert total == same
    other, also = fallback.path(program, x, y)
    assert total == pytest.approx(also, rel=1e-12)
    if program.rule.startswith("twe"):
        clocks = [side[:, 2] + side[:, 3] for side in (x, y)] if program.rule == "twe_timed" else []
        # Deletions of x and of y may be exchanged, so there are paths of the same total but for rounding. The fallback rounds
        # as a processor does that fuses no product with a sum, v2; the others promise a path of the same total.
        for isa in kernels.isas():
            found, _ = kernels.path(*arrays, budget=1 << 20, isa=isa)
            along = twe_along(x[:, :2], y[:, :2], found, program.first, program.second, *clocks)
            assert along == pytest.approx(also, rel=1e-12)
            assert isa != "v2" or np.array_equal(found, other)
    else:
        np.testing.assert_array_equal(path, other)
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [len(x) - 1, len(y) - 1]
    moves = np.diff(path, axis=0)
    assert np.isin(moves, (0, 1)).all()
    assert moves.any(axis=1).all()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_of_one_channel_a_path_of_twe_is_the_same_on_every_processor_and_on_torch(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((rng.integers(1, 60), 1)), rng.standard_normal((rng.integers(1, 60), 1))
    program = PROGRAMS["twe-sqeuclidean"]
    expected, _ = fallback.path(program, x, y)
    for isa in kernels.isas():
        found, _ = kernels.path(program.numbers(), x, y, *program.arrays(x.dtype), budget=1 << 20, isa=isa)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_matrix_ends_in_the_total_and_agrees_with_torch(name):
    rng, width = np.random.default_rng(0), frames(PROGRAMS[name], 2)
    x, y = rng.standard_normal((17, width)), rng.standard_normal((13, width))
    program = fitted(PROGRAMS[name], alone(x), alone(y), WarpingBand("slanted", 3))
    found, expected = np.empty((17, 13)), np.full((17, 13), np.inf)
    kernels.matrix(program.numbers(), x, y, *program.arrays(x.dtype), out=found)
    fallback.matrix(program, x, y, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    if not program.counted:
        assert found[-1, -1] == pairwise(program, alone(x), alone(y))[0, 0]
    np.testing.assert_array_equal(np.isfinite(found), elastic.mask(17, 13, 3, "slanted"))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shortest", [4, 25])
def test_a_search_finds_what_all_distances_show_whatever_the_rule_says_of_itself(name, shortest):
    rng = np.random.default_rng(2)
    lengths = rng.integers(shortest, 26, 90)
    values = np.round(rng.standard_normal((lengths.sum(), frames(PROGRAMS[name], 2))), 1)  # ties
    all_of_them = PackedSequences(values, np.cumsum(lengths) - lengths, lengths)
    x, y = (
        PackedSequences(values, *(part[chosen] for part in all_of_them[1:])) for chosen in (slice(0, 9), slice(9, 90))
    )
    program = fitted(PROGRAMS[name], x, y)
    distances = pairwise(program, x, y)
    ids, found = np.empty((9, 4), np.int64), np.empty((9, 4))
    how = {"rooted": False, "threads": 1, "ids": ids, "distances": found, "report": None}
    kernels.search(program.numbers(), *x, *y, *program.arrays(found.dtype), **how)
    np.testing.assert_array_equal(ids, np.argsort(distances, axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(found, np.take_along_axis(distances, ids, axis=1))


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("rule", ["dtw", "symmetric2"])
@settings(max_examples=4)
@given(
    seed=st.integers(0, 2**32),
    coarse=st.booleans(),
    equal=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_nearest_under_every_window_are_those_of_all_distances(isa, cost, rule, seed, coarse, equal, dtype):
    rng = np.random.default_rng(seed)
    lengths = np.full(25, 18) if equal else rng.integers(5, 19, 25)
    values = np.cumsum(rng.standard_normal((lengths.sum(), 2)), axis=0)
    x = PackedSequences((np.round(values) if coarse else values).astype(dtype), np.cumsum(lengths) - lengths, lengths)
    shares = np.sort(rng.choice(np.arange(0, 1.01, 0.05), 9, replace=False)).tolist()
    for windows in ([WarpingBand(shape, None, share) for share in shares] for shape in ("widened", "slanted", "aeon")):
        program = Program(rule=rule, cost=cost, band=windows[-1])
        totals = pairwise(program, x, isa=isa)
        for rooted, averaged in [(False, False), (True, False), (True, True)]:
            out = np.empty((len(windows), 25), np.int64)
            bands = np.full(len(windows), -1), np.array([w.share for w in windows])
            how = {"rooted": rooted, "averaged": averaged, "threads": 2, "out": out, "report": None, "isa": isa}
            kernels.nearest_by_window(program.numbers(), *x, *bands, totals, **how)
            for window, nearest in zip(windows, out, strict=True):
                distances = pairwise(replace(program, band=window), x, isa=isa)
                if averaged:
                    distances /= lengths[:, None] + lengths
                if rooted:
                    np.sqrt(distances, out=distances)
                np.fill_diagonal(distances, np.inf)
                np.testing.assert_array_equal(nearest, distances.argmin(1))


def bounded(program):
    one = alone(np.zeros((1, 1)))
    return kernels.lower_bounds(program.numbers(), *one, *one, out=np.empty((1, 1)))


BOUNDED = [program for program in PROGRAMS.values() if bounded(program)]


def test_dtw_has_a_lower_bound_where_it_squares_and_counts_no_steps():
    assert [program for program in BOUNDED if program.rule == "dtw"] == [Program()]


@pytest.mark.parametrize("isa", kernels.isas())
@given(
    seed=st.integers(0, 2**32),
    length=st.integers(1, 40),
    radius=st.integers(0, 45) | st.none(),
    channels=st.integers(1, 3),
)
def test_a_lower_bound_of_a_rule_that_has_one_never_exceeds_the_distance(isa, seed, length, radius, channels):
    rng = np.random.default_rng(seed)
    for dtype in (np.float32, np.float64):
        walks = np.cumsum(rng.standard_normal((25, length, channels)), axis=1).astype(dtype)
        x, y = (
            PackedSequences(part.reshape(-1, channels), np.arange(len(part)) * length, np.full(len(part), length))
            for part in (walks[:5], walks[5:])
        )
        for program in BOUNDED:
            program = replace(program, band=WarpingBand(cells=radius))
            bounds = np.empty((5, 20), dtype)
            assert kernels.lower_bounds(program.numbers(), *x, *y, out=bounds, isa=isa)
            assert (bounds <= pairwise(program, x, y, isa=isa)).all()
            assert (bounds >= 0).all()
    # LB_Keogh as it is written: what sticks out of the box around the other sequence, the larger of both ways
    reach = length if radius is None else radius
    naive = max(_sticking_out(walks[0], walks[5], reach), _sticking_out(walks[5], walks[0], reach))
    assert bounds[0, 0] == pytest.approx(naive, rel=1e-9, abs=1e-12)


def _sticking_out(a, b, radius):
    total = 0.0
    for i, frame in enumerate(a):
        near = b[max(0, i - radius) : i + radius + 1]
        total += (np.maximum(np.maximum(frame - near.max(0), near.min(0) - frame), 0) ** 2).sum()
    return total


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="isa='v9' is not built in"):
        pairwise(Program(), alone(np.zeros((1, 1))), isa="v9")
