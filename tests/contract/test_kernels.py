"""Every public kernel, found by itself, keeps what kernels promise: symmetry, batch composition, blocks, options, files, tests."""

import dataclasses
from functools import cache

import numpy as np
import pytest

import timelike as tl
from contract.discover import METHODS
from optional_torch import torch
from timelike.distributions import RBF, Kernel, Laplacian, TwoSample, mmd
from timelike.distributions.validation import pool_samples, validate_sample

KERNELS = [kind for kind in METHODS.values() if issubclass(kind, Kernel)]


@cache
def prototypes():
    X = np.sin(np.arange(20) / np.repeat([2, 4], 5)[:, None] + np.arange(10)[:, None])
    return tl.Prototypes(max_steps=2, random_state=0, **tl.Prototypes._test_parameters()).fit(X, np.repeat([0, 1], 5))


@cache
def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


# arguments of kernels that are made of something; all others are made without any
NEEDED = {
    "EncoderKernel": lambda: {"encoder": tl.Rocket(n_features=40, random_state=0), "kernel": RBF()},
    "EmpiricalNTK": lambda: {"module": linear()},
    "PrototypesKernel": lambda: {"model": prototypes()},
    "Product": lambda: {"parts": (RBF(), Laplacian())},
    "ScaledKernel": lambda: {"kernel": RBF(), "factor": 2.0},
    "Sum": lambda: {"parts": (RBF(), Laplacian())},
}


HELD = {"EmpiricalNTK"}  # made of somebody's torch module, which no file can hold


def example(kind):
    return kind(**NEEDED.get(kind.__name__, dict)())


def data(kernel, n=12, seed=0):
    """Vectors with copies among them, or sequences of unequal lengths."""
    rng = np.random.default_rng(seed)
    if kernel.domain == "vectors":
        found = rng.standard_normal((n, 3))
        found[-1] = found[0]
        return found
    return [rng.standard_normal(length) for length in rng.integers(9, 16, n)]


def known(kernel, X):
    return kernel._precompute_items(validate_sample(X, "x", kernel.domain), "x")


def test_there_are_kernels_of_every_kind_to_test():
    assert {"RBF", "Linear", "ExponentialKernel", "EncoderKernel", "PrototypesKernel", "Sum"} <= {
        kind.__name__ for kind in KERNELS
    }


@pytest.mark.parametrize("kind", KERNELS)
class TestEveryKernel:
    def test_it_is_a_frozen_value_that_says_what_it_compares(self, kind):
        kernel = example(kind)
        assert dataclasses.is_dataclass(kernel)
        assert kernel.domain in ("vectors", "sequences")
        assert kernel.is_definite == (kernel.indefinite_reason == "")
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(kernel, dataclasses.fields(kernel)[0].name, 1)

    def test_settling_leaves_nothing_open_and_gives_the_matrix_of_the_sample(self, kind):
        kernel, X = example(kind), data(example(kind))
        sample = validate_sample(X, "x", kernel.domain)
        ready, matrix = kernel.resolve_with_matrix(sample)
        assert not ready.has_open_options
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.isfinite(matrix).all()
        np.testing.assert_allclose(ready._kernel_matrix(known(ready, X), None), matrix, rtol=1e-12)
        np.testing.assert_allclose(kernel(X), matrix, rtol=1e-12)

    def test_a_definite_one_has_no_eigenvalue_below_zero(self, kind):
        kernel, X = example(kind), data(example(kind))
        if kernel.is_definite:
            assert np.linalg.eigvalsh(kernel(X)).min() > -1e-9

    def test_other_items_change_no_similarity(self, kind):
        kernel, X = example(kind), data(example(kind))
        ready = kernel.resolve(validate_sample(X, "x", kernel.domain))
        whole, some = (
            ready._kernel_matrix(known(ready, X), None),
            ready._kernel_matrix(known(ready, X[:5]), known(ready, X[3:])),
        )
        np.testing.assert_allclose(some, whole[:5, 3:], rtol=1e-9, atol=1e-12)
        paired = ready._paired_similarities(known(ready, X[:5]), known(ready, X[5:10]))
        np.testing.assert_allclose(paired, np.diagonal(whole[:5, 5:10]), rtol=1e-9, atol=1e-12)

    def test_inputs_are_left_alone(self, kind):
        kernel, X = example(kind), data(example(kind))
        before = [np.array(x) for x in X]
        kernel(X)
        for x, was in zip(X, before, strict=True):
            np.testing.assert_array_equal(x, was)

    def test_a_test_with_it_is_exact_in_its_smallest_p_and_the_same_in_blocks(self, kind, monkeypatch):
        kernel = example(kind)
        X, Y = data(kernel), data(kernel, seed=1)
        found = TwoSample(kernel, n_permutations=39, random_state=0).test(X, Y)
        assert 1 / 40 <= found.p_value <= 1
        assert found.p_value == (1 + (found.null >= found.statistic).sum()) / 40
        for name in ("MAX_MATRIX_ENTRIES", "BLOCK_ENTRIES"):
            monkeypatch.setattr(f"timelike.distributions.kernels.base.{name}", 60)
        small = TwoSample(kernel, n_permutations=39, random_state=0).test(X, Y)
        np.testing.assert_allclose(small.null, found.null, rtol=1e-6, atol=1e-9)

    def test_mmd_of_a_sample_with_itself_is_nothing(self, kind):
        kernel = example(kind)
        X = data(kernel)
        assert mmd(X, X, kernel) == pytest.approx(0, abs=1e-10)

    def test_it_comes_back_from_a_folder_without_pickle(self, kind, tmp_path):
        kernel, X = example(kind), data(example(kind))
        ready = kernel.resolve(pool_samples([validate_sample(X, "x", kernel.domain)]))
        if kind.__name__ in HELD:
            with pytest.raises(TypeError, match="which no file can hold"):
                tl.save_model(ready, tmp_path / "kernel")
            return
        tl.save_model(ready, tmp_path / "kernel")
        again = tl.load_model(tmp_path / "kernel")
        assert repr(again) == repr(ready)
        np.testing.assert_array_equal(again(X), ready(X))

    def test_missing_values_are_taken_or_refused_by_name(self, kind):
        kernel = example(kind)
        X = [np.array(x) for x in data(kernel)]
        X[2][1] = np.nan
        given = np.array(X) if kernel.domain == "vectors" else X
        if kernel._takes_missing():
            assert np.isfinite(kernel(given)).all()
        else:
            with pytest.raises(ValueError, match=r"x: sequence 2 is missing \(nan\)"):
                kernel(given)
