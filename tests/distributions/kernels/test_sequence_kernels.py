"""Kernels of sequences: exponential of a metric, global alignment, over encoders and torch modules, learned by Prototypes."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

import timelike as tl
from naive import kernels as naive
from optional_torch import torch
from timelike.distributions import (
    RBF,
    EncoderKernel,
    ExponentialKernel,
    GlobalAlignment,
    Laplacian,
    Linear,
    NegativeDistance,
    PrototypesKernel,
    mmd,
)
from timelike.distributions.validation import validate_sample

RNG = np.random.default_rng(0)
RAGGED = [RNG.standard_normal((n, 2)) for n in (1, 4, 6, 3, 1, 5)]
RAGGED[4] = RAGGED[0]  # a copy
BLOCK = RNG.standard_normal((10, 12, 2))
LABELS = np.repeat([0, 1], 5)


@pytest.fixture(scope="module")
def rocket():
    return tl.Rocket(n_features=84, random_state=0).fit(BLOCK)


@pytest.fixture(scope="module")
def prototypes():
    return tl.Prototypes(max_steps=5, random_state=0, **tl.Prototypes._test_parameters()).fit(BLOCK, LABELS)


def causal(**options):
    return tl.CausalEncoder(n_features=6, depth=2, max_steps=0, random_state=0, **options).fit(BLOCK)


def affine(size=24):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(size, 3), torch.nn.Tanh()).double()


def dtw(x, y):
    return tl.DTW().distance(x, y)


# --- exponential and negative distance of a metric ---------------------------------------------------------------------


def test_the_exponential_of_a_metric_is_that_of_the_naive_reference():
    found = ExponentialKernel("dtw", gamma=0.3)(RAGGED[:4], RAGGED[2:])
    expected = naive.matrix(naive.exponential, RAGGED[:4], RAGGED[2:], distance=dtw, gamma=0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_array_equal(ExponentialKernel(tl.DTW(), gamma=0.3)(RAGGED)[:4, 2:], found)


def test_an_open_gamma_is_one_over_the_median_of_the_pooled_distances():
    gamma = 1 / naive.median_width(RAGGED, dtw)
    np.testing.assert_allclose(
        ExponentialKernel()(RAGGED[:2], RAGGED[2:]), ExponentialKernel(gamma=gamma)(RAGGED[:2], RAGGED[2:])
    )
    assert ExponentialKernel().resolve(tl.Sequences([[1.0, 2.0]] * 3)).gamma == 1.0


@pytest.mark.parametrize(
    "kernel", [ExponentialKernel(), GlobalAlignment(), GlobalAlignment(gamma=2.0), 2 * ExponentialKernel()]
)
@pytest.mark.parametrize("data", [RAGGED, RAGGED[:1], BLOCK.astype(np.float32)], ids=["ragged", "one", "float32"])
def test_what_is_settled_is_what_is_ready_and_nothing_is_open_then(kernel, data):
    sample = validate_sample(data, "x", "sequences")
    settled, ready = kernel.resolve_with_matrix(sample), kernel.resolve(sample)
    assert settled.kernel == ready
    assert not ready.has_open_options
    np.testing.assert_allclose(settled.matrix, ready(sample, sample), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [ExponentialKernel("dtw", gamma=0.1), ExponentialKernel("msm", gamma=0.1), NegativeDistance("erp")]
)
def test_company_changes_no_bit_of_a_kernel_of_a_metric(kernel):
    whole = kernel(RAGGED)
    for rows, columns in ((slice(0, 1), slice(2, 3)), (slice(1, 5), slice(0, 6))):
        np.testing.assert_array_equal(kernel(RAGGED[rows], RAGGED[columns]), whole[rows, columns])


def test_an_array_of_two_axes_is_sequences_to_a_kernel_of_sequences():
    x = RNG.standard_normal((4, 6))
    np.testing.assert_array_equal(ExponentialKernel(gamma=0.2)(x), ExponentialKernel(gamma=0.2)(list(x)))
    assert not np.allclose(ExponentialKernel(gamma=0.2)(x), ExponentialKernel(gamma=0.2)(x[:, None, :]))


def test_the_exponential_is_definite_over_euclidean_distances_and_says_why_it_is_not_over_others():
    kernel = ExponentialKernel("euclidean")
    x = np.concatenate([BLOCK, BLOCK])
    assert kernel.is_definite
    assert np.linalg.eigvalsh(kernel(x))[0] >= -1e-10 * len(x)
    assert "DTW is not Euclidean" in ExponentialKernel("dtw").indefinite_reason
    assert "no proof" in GlobalAlignment().indefinite_reason


# --- global alignment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.5, 3.0, 50.0])
def test_global_alignment_is_that_of_the_naive_reference_in_numpy_and_in_torch(gamma):
    kernel = GlobalAlignment(gamma=gamma)
    expected = naive.matrix(naive.global_alignment, RAGGED[:4], RAGGED[2:], gamma=gamma)
    np.testing.assert_allclose(kernel(RAGGED[:4], RAGGED[2:]), expected, rtol=1e-9, atol=1e-12)
    x, y = BLOCK[:3, :4], BLOCK[2:6, :7]  # of different lengths
    expected = naive.matrix(naive.global_alignment, x, y, gamma=gamma)
    if torch:
        np.testing.assert_allclose(kernel(torch.tensor(x), torch.tensor(y)), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-9, atol=1e-12)


def test_global_alignment_of_a_sequence_and_a_copy_is_one_and_matrices_are_symmetric():
    of_tensors = [GlobalAlignment()(torch.tensor(BLOCK)).numpy()] if torch else []
    for matrix in (GlobalAlignment()(RAGGED), *of_tensors):
        np.testing.assert_allclose(np.diag(matrix), 1, rtol=1e-12)
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    assert GlobalAlignment()(RAGGED)[0, 4] == pytest.approx(1)


def test_the_softness_of_global_alignment_is_cuturis_suggestion():
    frames = np.concatenate(RAGGED)
    sigma = naive.median_width(frames) * np.sqrt(np.median([len(x) for x in RAGGED]))
    assert GlobalAlignment().resolve(tl.Sequences(RAGGED)).gamma == pytest.approx(2 * sigma**2)
    assert GlobalAlignment()(np.ones((3, 4))).tolist() == np.ones((3, 3)).tolist()


@pytest.mark.learn
@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 1, 1), (2, 4)])
def test_gradients_of_global_alignment_are_those_of_finite_differences(shape):
    x = torch.tensor(RNG.standard_normal(shape), requires_grad=True)
    y = torch.cat([x.detach()[:1], torch.tensor(RNG.standard_normal(shape))]).requires_grad_()  # with a copy
    assert torch.autograd.gradcheck(GlobalAlignment(gamma=1.5), (x, y), atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: mmd(x, y, GlobalAlignment(gamma=1.5)), (x,), atol=1e-6)


# --- over encoders -----------------------------------------------------------------------------------------------------


def test_a_kernel_over_a_fitted_encoder_is_that_of_its_vectors(rocket):
    vectors = rocket._to_euclidean(rocket.encode(BLOCK))
    np.testing.assert_allclose(EncoderKernel(rocket, RBF())(BLOCK), RBF()(vectors), rtol=1e-12)
    np.testing.assert_allclose(EncoderKernel(rocket, RBF(width=3.0))(BLOCK), RBF(width=3.0)(vectors), rtol=1e-12)
    np.testing.assert_allclose(
        EncoderKernel(rocket, Linear())(BLOCK[:3], BLOCK), Linear()(vectors[:3], vectors), rtol=1e-12
    )
    frozen = EncoderKernel(FrozenEstimator(rocket), RBF(width=3.0))
    np.testing.assert_array_equal(frozen(BLOCK), EncoderKernel(rocket, RBF(width=3.0))(BLOCK))
    np.testing.assert_array_equal(frozen._precompute_items(tl.Sequences(BLOCK), "x"), vectors)


def test_an_encoder_that_is_not_fitted_learns_from_the_pooled_sample_and_is_not_changed():
    encoder = tl.Rocket(n_features=84, random_state=0)
    kernel = EncoderKernel(encoder, RBF())
    ready = kernel.resolve(tl.Sequences(BLOCK))
    assert kernel.has_open_options
    assert not ready.has_open_options
    assert not hasattr(encoder, "frame_")
    np.testing.assert_allclose(kernel(BLOCK[:4], BLOCK[4:]), ready(BLOCK)[:4, 4:], rtol=1e-12)
    np.testing.assert_allclose(kernel.resolve_with_matrix(tl.Sequences(BLOCK)).matrix, ready(BLOCK), rtol=1e-12)
    assert EncoderKernel(encoder, RBF(width=1.0)).resolve(tl.Sequences(BLOCK)).encoder.frame_ == (2,)


@pytest.mark.learn
@pytest.mark.parametrize(
    "options", [{}, {"vectors": "whitened"}, {"vectors": "raw", "geometry": "cosine"}, {"standardize": False}], ids=repr
)
def test_a_fitted_network_gives_tensors_what_it_gives_arrays_with_gradients(options):
    encoder = causal(**options)
    before = {name: weight.clone() for name, weight in encoder.network_.state_dict().items()}
    x = torch.tensor(BLOCK)
    for kernel in (EncoderKernel(encoder, RBF()), EncoderKernel(encoder, Laplacian(width=2.0))):
        np.testing.assert_allclose(kernel(x), kernel(BLOCK), atol=1e-5)
        assert not kernel(x).requires_grad
    (slope,) = torch.autograd.grad(mmd(*x.requires_grad_().split(5), EncoderKernel(encoder, RBF(width=2.0))), x)
    step = 1e-5 * torch.tensor(RNG.standard_normal(x.shape))
    ends = [mmd(*(x.detach() + sign * step).split(5), EncoderKernel(encoder, RBF(width=2.0))) for sign in (1, -1)]
    assert (ends[0] - ends[1]).item() / 2 == pytest.approx((slope * step).sum().item(), rel=1e-4)
    assert all(torch.equal(before[name], weight) for name, weight in encoder.network_.state_dict().items())


@pytest.mark.learn
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_torch_module_has_gradients_to_its_weights_and_stays_as_it_is(name):
    dtype = getattr(torch, name)
    module = affine().to(dtype)
    before = [weight.clone() for weight in module.parameters()]
    x = torch.tensor(BLOCK, requires_grad=True)
    for kernel in (EncoderKernel(module, RBF()), EncoderKernel(module, RBF(width=1.0))):
        found = kernel(x[:4], x[4:])
        grads = torch.autograd.grad(found.sum(), (x, *module.parameters()))
        assert all(part.abs().sum() > 0 for part in grads)
        np.testing.assert_allclose(
            found.detach(), kernel(BLOCK[:4], BLOCK[4:]), atol=1e-12 if dtype is torch.float64 else 1e-5
        )
    assert module.training
    assert all(torch.equal(*pair) and pair[1].dtype == dtype for pair in zip(before, module.parameters(), strict=True))


@pytest.mark.learn
def test_gradients_through_a_module_are_those_of_finite_differences():
    x, y = (torch.tensor(BLOCK[some, :3], requires_grad=True) for some in (slice(0, 2), slice(2, 4)))
    assert torch.autograd.gradcheck(EncoderKernel(affine(6), RBF(width=1.0)), (x, y), atol=1e-6)


@pytest.mark.learn
def test_a_module_is_asked_in_evaluation_mode_and_keeps_its_own():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5)).train()
    torch.manual_seed(0)
    kernel = EncoderKernel(module, RBF(width=5.0))
    np.testing.assert_allclose(kernel(BLOCK), RBF(width=5.0)(BLOCK), rtol=1e-12)
    assert module.training


@pytest.mark.learn
def test_a_module_takes_sequences_of_unequal_lengths_one_length_at_a_time():
    class Mean(torch.nn.Module):
        def forward(self, x):
            return x.mean(dim=1)

    expected = RBF(width=1.0)(np.stack([x.mean(axis=0) for x in RAGGED]))
    np.testing.assert_allclose(EncoderKernel(Mean(), RBF(width=1.0))(RAGGED), expected, rtol=1e-12)


# --- learned -----------------------------------------------------------------------------------------------------------


@pytest.mark.learn
def test_a_learned_kernel_is_the_probability_of_one_class(prototypes):
    kernel = PrototypesKernel(prototypes)
    matrix = kernel(BLOCK)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, 1 - prototypes.metric().pairwise(BLOCK), atol=1e-12)
    np.testing.assert_array_equal(kernel(BLOCK[:3], BLOCK[2:]), matrix[:3, 2:])
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert not kernel.has_open_options
    assert not kernel.is_definite
    assert kernel == PrototypesKernel(prototypes)


def test_looking_at_kernels_and_using_those_without_networks_imports_no_torch():
    program = (
        "import sys, numpy as np, timelike as tl; d = tl.distributions;d.TwoSample, d.Drift, d.PrototypesKernel, "
        "d.GlobalAlignment, d.mmd, d.witness;x = np.random.default_rng(0).standard_normal((6, 20));d.mmd(x, x, "
        "d.RBF()), d.mmd(x, x, d.EncoderKernel(tl.Rocket(n_features=84, random_state=0), d.RBF())), "
        "d.ExponentialKernel()(x);print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


# --- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: ExponentialKernel(gamma=0), r"gamma=0: expected .* greater than 0"),
        (lambda: ExponentialKernel("nonsense"), r"metric='nonsense': expected a Metric"),
        (lambda: GlobalAlignment(gamma=-1.0), r"gamma=-1.0: expected .* greater than 0"),
        (lambda: EncoderKernel("rocket", RBF()), r"encoder='rocket': expected an encoder such as timelike.Rocket\(\)"),
        (lambda: EncoderKernel(tl.Rocket, RBF()), r"encoder=<class .*: expected an encoder"),
        (lambda: EncoderKernel(tl.Rocket(), "rbf"), r"kernel='rbf': expected a kernel"),
        (lambda: EncoderKernel(encoder=tl.DTW(), kernel=RBF()), r"encoder=DTW\(\): expected an encoder"),
        (
            lambda: PrototypesKernel(tl.Prototypes()),
            r"model=Prototypes\(\): expected timelike.Prototypes that are fitted",
        ),
        (lambda: PrototypesKernel(3), r"model=3: expected timelike.Prototypes"),
        pytest.param(
            lambda: ExponentialKernel()(torch.zeros(3, 4)),
            r"has no gradients: use GlobalAlignment\(\), or EncoderKernel\(module",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: NegativeDistance("dtw")(torch.zeros(3, 4)),
            r"has no gradients: use GlobalAlignment",
            marks=pytest.mark.learn,
        ),
        (lambda: GlobalAlignment()(BLOCK, BLOCK * np.nan), r"y: sequence 0 is missing \(nan\).*GlobalAlignment"),
        (lambda: ExponentialKernel("erp")(BLOCK * np.nan), r"x: sequence 0 is missing \(nan\)"),
        (lambda: GlobalAlignment()(BLOCK, BLOCK[..., :1]), r"y has frames of shape \(1,\) and x of \(2,\)"),
        pytest.param(
            lambda: EncoderKernel(torch.nn.Linear(2, 3), RBF(width=1.0))(BLOCK),
            r"encoder gave shape \(10, 12, 3\): expected vectors",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: EncoderKernel(torch.nn.Linear(2, 3).double(), Linear())(torch.tensor(BLOCK)),
            r"encoder gave shape \(10, 12, 3\)",
            marks=pytest.mark.learn,
        ),
        pytest.param(
            lambda: EncoderKernel(tl.Rocket(n_features=84), RBF())(torch.tensor(BLOCK)),
            r"Rocket has no torch module.*give arrays",
            marks=pytest.mark.learn,
        ),
        (
            lambda: ExponentialKernel("softdtw", gamma=1e6)(BLOCK),
            r"gamma=1e\+06 makes exp\(−γ d\) infinite.*divergence=True",
        ),
    ],
)
def test_bad_input_is_refused_by_name_with_what_was_expected(attempt, words):
    with pytest.raises((ValueError, TypeError), match=words):
        attempt()


def test_other_channels_than_those_an_encoder_was_fitted_on_are_refused(rocket):
    for kernel in (EncoderKernel(rocket, RBF(width=1.0)), EncoderKernel(rocket, RBF())):
        with pytest.raises(ValueError, match=r"x has frames of shape \(1,\): this .* was fitted on \(2,\)"):
            kernel(BLOCK[..., :1])


@pytest.mark.learn
def test_other_channels_than_those_a_network_was_fitted_on_are_refused(prototypes):
    with pytest.raises(ValueError, match=r"x has frames of shape \(1,\): this .* was fitted on \(2,\)"):
        PrototypesKernel(prototypes)(BLOCK[..., :1])
    with pytest.raises(ValueError, match=r"x has frames of shape \(1,\): this CausalEncoder was fitted on \(2,\)"):
        EncoderKernel(causal(), RBF(width=1.0))(torch.tensor(BLOCK[..., :1]))


def test_kernels_of_encoders_and_metrics_come_back_from_a_folder_with_the_same_matrix(rocket, tmp_path):
    several = [
        EncoderKernel(rocket, RBF()),
        EncoderKernel(rocket, 2 * RBF(width=1.0)),
        EncoderKernel(tl.Rocket(random_state=0), RBF()),
        0.5 * (EncoderKernel(rocket, RBF()) * ExponentialKernel()),
    ]
    several += [ExponentialKernel(), ExponentialKernel(tl.DTW(window=2)), GlobalAlignment(gamma=2.0)]
    come_back(several, tmp_path)
    assert tl.load_model(tmp_path / "5") == several[5]


@pytest.mark.learn
def test_kernels_that_learned_come_back_from_a_folder_with_the_same_matrix(prototypes, tmp_path):
    come_back([PrototypesKernel(prototypes), ExponentialKernel() + PrototypesKernel(prototypes)], tmp_path)


def come_back(kernels, tmp_path):
    for i, kernel in enumerate(kernels):
        tl.save_model(kernel, tmp_path / str(i))
        again = tl.load_model(tmp_path / str(i))
        assert type(again) is type(kernel)
        assert repr(again) == repr(kernel)
        np.testing.assert_array_equal(again(BLOCK), kernel(BLOCK))
        assert {path.suffix for path in (tmp_path / str(i)).iterdir()} <= {".json", ".safetensors"}
