"""Kernels as values: how they are shown, what is equal, files, and refusals of bad input."""

import numpy as np
import pytest

import timelike as tl
from optional_torch import torch
from timelike.distributions import (
    RBF,
    EncoderKernel,
    ExponentialKernel,
    Laplacian,
    Linear,
    Matern,
    NegativeDistance,
    Polynomial,
    Product,
    RationalQuadratic,
    ScaledKernel,
    Sum,
)
from timelike.distributions.kernels.base import FunctionKernel

POINTS = np.random.default_rng(0).standard_normal((6, 3))
KERNELS = [
    *(
        RBF(),
        RBF(width=2.0),
        Laplacian(),
        Matern(smoothness=0.5),
        Matern(width=1 / 3, smoothness=2.5),
        RationalQuadratic(),
    ),
    *(RationalQuadratic(alpha=0.3), Linear(), Linear(offset=2.0), Polynomial(), Polynomial(degree=2, scale=0.1)),
    *(NegativeDistance(), NegativeDistance("msm"), NegativeDistance(tl.DTW(window=1))),
    *(RBF() + Linear() + Laplacian(), RBF() * Linear(), 0.1 * RBF(), 2 * (RBF() * (3 * Linear() + Laplacian()))),
]


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        (RBF(), "RBF()"),
        (RBF(width=np.float64(2)), "RBF(width=2.0)"),
        (Matern(width=1, smoothness=1.5), "Matern(width=1.0)"),
        (Polynomial(degree=np.int64(2), offset=1), "Polynomial(degree=2)"),
        (NegativeDistance("dtw"), "NegativeDistance(metric='dtw')"),
        (RBF() + Linear() + Laplacian(), "RBF() + Linear() + Laplacian()"),
        (RBF() + (Linear() + Laplacian()), "RBF() + (Linear() + Laplacian())"),
        (RBF() * Linear() + 0.5 * Laplacian(), "RBF() * Linear() + 0.5 * Laplacian()"),
        ((RBF() + Linear()) * Laplacian(), "(RBF() + Linear()) * Laplacian()"),
        (np.float64(1 / 3) * RBF(), "0.3333333333333333 * RBF()"),
        (2 * (RBF() * 3), "2.0 * (3.0 * RBF())"),
        (Linear() * (2 * RBF()), "Linear() * (2.0 * RBF())"),
        (Sum(parts=[RBF()]), "Sum(parts=(RBF(),))"),
    ],
)
def test_a_kernel_is_shown_as_it_is_written_and_equal_to_what_that_gives(kernel, written):
    again = eval(written)
    assert repr(kernel) == written
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert len({again, kernel}) == 1


def test_kernels_that_differ_in_anything_are_not_equal():
    several = [
        RBF(),
        Laplacian(),
        RBF(width=1.0),
        Matern(),
        Matern(smoothness=0.5),
        RBF() + Laplacian(),
        Laplacian() + RBF(),
    ]
    several += [
        RBF() * Laplacian(),
        2 * RBF(),
        3 * RBF(),
        Linear(),
        Polynomial(),
        NegativeDistance(),
        ExponentialKernel(),
    ]
    assert len(set(several)) == len(several)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_comes_back_from_a_folder_equal_and_with_the_same_matrix(kernel, tmp_path):
    tl.save_model(kernel, tmp_path / "kernel")
    again = tl.load_model(tmp_path / "kernel")
    assert again == kernel
    assert repr(again) == repr(kernel)
    np.testing.assert_array_equal(again(POINTS), kernel(POINTS))
    assert {path.suffix for path in (tmp_path / "kernel").iterdir()} <= {".json", ".safetensors"}


# --- refusals ----------------------------------------------------------------------------------------------------------

NAN, X = float("nan"), np.zeros((3, 2))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: RBF(width=0), r"width=0: expected a finite number greater than 0"),
        (lambda: Laplacian(width=-1), r"width=-1: expected .* greater than 0"),
        (lambda: Matern(width=NAN), r"width=nan: expected a finite number"),
        (lambda: RBF(width="x"), r"width='x': expected a number"),
        (lambda: Matern(smoothness=2), r"smoothness=2: expected 0.5, 1.5 or 2.5"),
        (lambda: RationalQuadratic(alpha=0), r"alpha=0: expected .* greater than 0"),
        (lambda: Polynomial(degree=0), r"degree=0: expected at least 1"),
        (lambda: Polynomial(degree=2.5), r"degree=2.5: expected an integer"),
        (lambda: Linear(offset=-1), r"offset=-1: expected .* at least 0"),
        (lambda: -1 * RBF(), r"factor=-1: expected .* greater than 0"),
        (lambda: RBF() * "2", r"factor='2': expected a number"),
        (lambda: ScaledKernel(kernel=RBF(), factor=0), r"factor=0: expected .* greater than 0"),
        (lambda: ScaledKernel(kernel=RBF, factor=1), r"kernel=RBF: expected a kernel, not its class; write RBF\(\)"),
        (lambda: Sum(parts=()), r"parts=\(\): expected a tuple of kernels"),
        (lambda: Product(parts=(RBF(), "rbf")), r"parts\[1\]='rbf': expected a kernel .* or a function k\(x, y\)$"),
        (lambda: RBF() + ExponentialKernel(), r"compare vectors and sequences: .* EncoderKernel\(encoder, kernel\)"),
        (lambda: NegativeDistance("nonsense"), r"metric='nonsense': expected a Metric"),
        (lambda: RBF()(X, np.zeros((3, 4))), r"y has vectors of 4 numbers and x of 2: expected as many"),
        (lambda: RBF()(np.zeros(3)), r"x has shape \(3,\): expected \(item, feature\).*x\[:, None\]"),
        (lambda: RBF()(X, X + NAN), r"y: sequence 0 is missing \(nan\)"),
        (lambda: Linear()(X + NAN), r"x: sequence 0 is missing \(nan\)"),
        (lambda: RBF(width=1.0)(X, X + np.inf), r"y\[0\] is infinite"),
        (lambda: RBF()("text"), r"x is text"),
        (lambda: RBF()(np.zeros((0, 2))), r"x is empty"),
        (
            lambda: Linear()(np.zeros((2, 5, 1)), np.zeros((2, 6, 1))),
            r"x and y have sequences of 5 to 6 .* EncoderKernel\(.*Rocket",
        ),
        (lambda: RBF()([[0.0], [1.0, 2.0]]), r"x has sequences of 1 to 2 steps.*Rocket"),
        (lambda: RBF()(np.array([[1e200], [-1e200]])), r"too large for float64: standardize"),
        (lambda: Polynomial(degree=9)(X + 1e60), r"degree=9 makes values infinite: standardize"),
        pytest.param(
            lambda: RBF()(torch.zeros(3, 2), X),
            r"y is a ndarray and the other a tensor: .*torch.as_tensor\(y\)",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: RBF()(X, torch.zeros(3, 2)), r"x is a ndarray and the other a tensor", marks=pytest.mark.learn
        ),
        pytest.param(
            lambda: RBF()(torch.zeros(3, 2, dtype=torch.int64)),
            r"x has dtype torch.int64: .*x.double\(\)",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: RBF()(torch.zeros(3)), r"x has shape \(3,\): expected \(item, feature\)", marks=pytest.mark.learn
        ),
        pytest.param(
            lambda: RBF(width=1.0)(torch.zeros(3, 2) + NAN),
            r"x: sequence 0 is missing \(nan\)",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: RBF()(torch.zeros(3, 2), torch.zeros(3, 1)),
            r"y \(3, 1\) torch.float32: expected the same features",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: RBF()(torch.zeros(3, 2), torch.zeros(3, 2).double()),
            r"expected the same features and dtype",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: RBF()(torch.zeros(3, 2, 1), torch.zeros(3, 4, 1)),
            r"x and y have sequences of 2 to 4 steps",
            marks=pytest.mark.learn,
        ),
        (
            lambda: FunctionKernel(lambda x, y: np.ones(2))._kernel_matrix(X, None),
            r"kernel gave shape \(2,\): expected \(3, 3\)",
        ),
        (
            lambda: EncoderKernel(tl.Rocket(), ExponentialKernel()),
            r"kernel=ExponentialKernel\(\): expected one of vectors",
        ),
    ],
)
def test_bad_input_is_refused_by_name_with_what_was_expected(attempt, words):
    with pytest.raises((ValueError, TypeError), match=words):
        attempt()
