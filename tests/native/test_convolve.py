"""The compiled convolutions: every instruction set against torch's in double precision, pair by pair at its own size."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings, strategies as st

from timelike.native import convolve

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

SIZES = [(5, 3), (5, 5, 3), (5, 5, 5, 3), (7, 7, 5)]


def stack(sizes, width, seed=0):
    rng = np.random.default_rng(seed)
    widths = [2, *[width] * (len(sizes) - 1), 1]
    shapes = [(widths[i + 1], widths[i], size, size) for i, size in enumerate(sizes)]
    weights = [(rng.uniform(-1, 1, shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32) for shape in shapes]
    return convolve.ConvolutionStack(weights, [rng.uniform(-0.2, 0.2, len(one)).astype(np.float32) for one in weights])


def tables(rows, columns, seed=0, fill=np.nan):
    rng = np.random.default_rng(seed)
    shape = len(rows), max(rows), max(columns)
    inside = (np.arange(shape[1]) < np.array(rows)[:, None])[:, :, None]
    inside = inside & (np.arange(shape[2]) < np.array(columns)[:, None])[:, None, :]
    both = (np.where(inside, rng.random(shape), fill).astype(np.float32) for _ in range(2))
    return convolve.PairTables(*both, np.array(rows, np.int64), np.array(columns, np.int64))


def forward(stack, tables, *, isa=None, threads=1):
    out = np.zeros_like(tables.distances)
    kernels.convolve_forward(*stack, *tables, None, None, threads=threads, out=out, isa=isa)
    return out


def kept(stack, tables, isa=None):
    counts, out = np.empty_like(tables.rows), np.zeros_like(tables.distances)
    kernels.convolve_kept(len(stack.biases[0]), tables.rows, tables.columns, out=counts, isa=isa)
    values, starts = np.full(counts.sum(), np.nan, np.float32), counts.cumsum() - counts
    kernels.convolve_forward(*stack, *tables, values, starts, threads=1, out=out, isa=isa)
    return out, (values, starts)


NOTHING = None, None


def backward(stack, tables, what, gradient, *, isa=None, threads=1):
    out = np.zeros_like(gradient)
    weights, biases = ([np.empty_like(one) for one in part] for part in stack)
    into = {"out": out, "to_weights": weights, "to_biases": biases}
    kernels.convolve_backward(*stack, *tables, *what, gradient, threads=threads, isa=isa, **into)
    return [out, *weights, *biases]


def exact(stack, tables, gradient=None):
    """Values, and gradients where one of the values is given, in double precision."""
    weights, biases = ([torch.tensor(one).double().requires_grad_() for one in part] for part in stack)
    out, by_distances = np.zeros(tables.distances.shape), np.zeros(tables.distances.shape)
    for p, (n, m) in enumerate(zip(tables.rows, tables.columns, strict=True)):
        z = torch.tensor(np.stack([tables.distances[p, :n, :m], tables.positions[p, :n, :m]])).double()
        first = z = z[None].requires_grad_()
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            z = F.conv2d(z if k == 0 else z.relu(), weight, bias, padding=weight.shape[2] // 2)
        out[p, :n, :m] = z[0, 0].detach()
        if gradient is not None:
            (z[0, 0] * torch.tensor(gradient[p, :n, :m])).sum().backward()
            by_distances[p, :n, :m] = first.grad[0, 0]
    if gradient is None:
        return out
    return [by_distances, *(one.grad.numpy() for one in (*weights, *biases))]


def near(found, wanted, tolerance):
    assert np.abs(found - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("sizes", SIZES)
def test_values_are_those_of_a_convolution_of_each_pair_alone(isa, sizes):
    for width, rows, columns in [(30, (40, 17, 1), (40, 23, 1)), (1, (3, 1), (2, 9)), (7, (2, 130), (61, 33))]:
        layers, given = stack(sizes, width), tables(rows, columns)
        near(forward(layers, given, isa=isa), exact(layers, given), 1e-5)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("sizes", SIZES)
def test_gradients_are_those_of_a_convolution_of_each_pair_alone(isa, sizes):
    for width, rows, columns in [(30, (21, 17, 1), (20, 23, 1)), (1, (3, 1), (2, 9)), (9, (2, 40), (61, 13))]:
        layers, given = stack(sizes, width), tables(rows, columns)
        gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
        found = backward(layers, given, kept(layers, given, isa)[1], gradient, isa=isa)
        for one, other in zip(found, exact(layers, given, gradient), strict=True):
            near(one, other, 1e-4)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("sizes", [(5, 5, 3), (7, 7, 5)])
def test_tables_of_every_size_around_a_tile_have_the_values_and_gradients_of_a_convolution(isa, sizes):
    rows, columns = zip(*[(n, 41 - n) for n in range(1, 41)], *[(n, n % 7 + 1) for n in range(1, 20)], strict=True)
    layers, given = stack(sizes, 17), tables(rows, columns)
    gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
    out, what = kept(layers, given, isa)
    near(out, exact(layers, given), 1e-5)
    found = backward(layers, given, what, gradient, isa=isa)
    for one, other in zip(found, exact(layers, given, gradient), strict=True):
        near(one, other, 1e-4)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("sizes", [(5, 5, 3), (7, 7, 5)])
def test_values_are_nearly_as_good_as_those_of_direct_sums_in_single_precision(isa, sizes):
    layers, given = stack(sizes, 30), tables((64,), (64,))
    z = torch.tensor(np.stack(given[:2], 1))
    for k, (weight, bias) in enumerate(zip(*layers, strict=True)):
        # all taps as one product of matrices: nothing is transformed
        taps = F.unfold(z if k == 0 else z.relu(), weight.shape[2], padding=weight.shape[2] // 2)
        z = torch.einsum("ok,bkp->bop", torch.tensor(weight).flatten(1), taps) + torch.tensor(bias)[:, None]
        z = z.unflatten(2, (64, 64))
    wanted = exact(layers, given)
    errors = [np.sqrt(np.mean((found - wanted) ** 2)) for found in (forward(layers, given, isa=isa), z[:, 0].numpy())]
    assert errors[0] < 1e-6 * np.abs(wanted).max()
    assert errors[0] < 8 * errors[1]


def test_weights_have_the_same_gradients_where_those_of_the_distances_are_not_asked_for():
    layers, given = stack((5, 5, 3), 8), tables((9, 4), (5, 7))
    gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
    what = convolve.ConvolutionActivations(*kept(layers, given)[1])
    _, wanted = convolve.backward(layers, given, what, gradient, threads=1)
    nothing, found = convolve.backward(layers, given, what, gradient, by_distances=False, threads=1)
    assert nothing is None
    for one, other in zip((*found.weights, *found.biases), (*wanted.weights, *wanted.biases), strict=True):
        assert np.array_equal(one, other)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_size_any_width(data):
    sizes, width = data.draw(st.sampled_from(SIZES)), data.draw(st.integers(1, 40))
    lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=4)
    layers, given = stack(sizes, width), tables(*zip(*data.draw(lengths), strict=True))
    near(forward(layers, given), exact(layers, given), 1e-5)


def test_neither_threads_nor_neighbours_nor_padding_change_a_bit():
    layers, given = stack((5, 5, 3), 30), tables((40, 12, 33, 40, 1), (17, 40, 33, 2, 1))
    found = forward(layers, given)
    assert np.array_equal(found, forward(layers, given, threads=4))
    assert np.array_equal(found, kept(layers, given)[0])
    for p, (n, m) in enumerate(zip(given.rows, given.columns, strict=True)):
        alone = convolve.PairTables(
            *(np.ascontiguousarray(part[p : p + 1, :n, :m]) for part in given[:2]),
            *(part[p : p + 1] for part in given[2:]),
        )
        assert np.array_equal(found[p, :n, :m], forward(layers, alone)[0])
        assert not found[p, n:].any()
        assert not found[p, :, m:].any()


def test_threads_do_not_change_a_bit_of_a_gradient():
    layers, given = stack((5, 5, 3), 12), tables([7] * 40, [9] * 40)
    gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
    what = kept(layers, given)[1]
    one, four = (backward(layers, given, what, gradient, threads=threads) for threads in (1, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one, four, strict=True))


@pytest.mark.parametrize("sizes", SIZES)
def test_what_is_not_kept_is_computed_again_to_the_bit(sizes):
    layers, given = stack(sizes, 30), tables((23, 40, 1), (30, 9, 6))
    gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
    both = (backward(layers, given, what, gradient) for what in (kept(layers, given)[1], NOTHING))
    assert all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def test_the_gradient_of_a_table_is_the_same_alone_and_in_company():
    layers, given = stack((5, 5, 3), 30), tables((40, 12, 33), (17, 40, 33))
    gradient = np.random.default_rng(1).standard_normal(given.distances.shape).astype(np.float32)
    together = backward(layers, given, kept(layers, given)[1], gradient, threads=2)[0]
    for p, (n, m) in enumerate(zip(given.rows, given.columns, strict=True)):
        own, *parts = (np.ascontiguousarray(part[p : p + 1, :n, :m]) for part in (gradient, *given[:2]))
        alone = convolve.PairTables(*parts, *(part[p : p + 1] for part in given[2:]))
        assert np.array_equal(together[p, :n, :m], backward(layers, alone, kept(layers, alone)[1], own)[0][0])


@pytest.mark.parametrize("sizes", [(5, 5, 3), (7, 7, 5)])
def test_a_table_of_many_blocks_gives_the_bits_of_one(sizes):
    layers, given = stack(sizes, 30), tables((100,), (1500,))  # of which a block has 44 rows
    out, what = kept(layers, given)
    assert np.array_equal(out, forward(layers, given, threads=2))
    gradient = np.random.default_rng(1).standard_normal(out.shape).astype(np.float32)
    # what is not kept is computed again of the whole table at once
    both = (backward(layers, given, read, gradient) for read in (what, NOTHING))
    assert all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


def test_not_a_number_is_not_lost():
    layers, given = stack((5, 5, 3), 30), tables((9,), (9,))
    given.distances[0, 4, 4] = np.nan
    assert np.isnan(forward(layers, given)[0, 4, 4])


def test_other_sizes_are_not_compiled():
    assert convolve.has_kernels((5, 5, 3))
    assert not any(convolve.has_kernels(sizes) for sizes in [(3, 3, 3), (5, 7, 3), (5, 5, 5), (3,), (5,) * 10])
