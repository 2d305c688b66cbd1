"""What goes into discriminators and comes out: arrays, tensors, sequences, functions, and what is refused."""

import pickle

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.distributions import (
    IPM,
    LSGAN,
    RBF,
    Drift,
    ExponentialKernel,
    FiniteDiscriminator,
    FunctionDiscriminator,
    GlobalAlignment,
    HingeGAN,
    TwoSample,
    VanillaGAN,
    as_discriminator,
    descend,
    empirical_ntk,
    mmd,
    sinkhorn_divergence,
)

FAKE = np.random.default_rng(0).normal(size=(6, 3))
REAL = np.random.default_rng(1).normal(size=(5, 3)) + 1
Z = np.random.default_rng(2).normal(size=(4, 3))
KINDS = [
    IPM(RBF()),
    LSGAN(RBF()),
    VanillaGAN(RBF()),
    HingeGAN(RBF()),
    FunctionDiscriminator(lambda z: z.square().sum(1)),
]
KINDS.append(FiniteDiscriminator(width=16, depth=1, random_state=0))
NAMES = [type(kind).__name__ for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_arrays_give_arrays_and_tensors_tensors_of_their_dtype(kind):
    by_array = kind.train_critic(FAKE, REAL)
    by_tensor = kind.train_critic(torch.tensor(FAKE), torch.tensor(REAL))
    for verb in ("__call__", "cost", "gradient"):
        found = getattr(by_array, verb)(Z)
        assert isinstance(found, np.ndarray)
        assert found.dtype == np.float64
        assert found.shape == (Z.shape if verb == "gradient" else (4,))
        for dtype in (torch.float64, torch.float32):
            tensor = getattr(by_tensor, verb)(torch.tensor(Z, dtype=dtype))
            assert tensor.dtype == dtype
            np.testing.assert_allclose(tensor.numpy(), found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_costs_of_tensors_train_a_generator(kind):
    critic = kind.train_critic(FAKE, REAL)
    generator = torch.nn.Linear(2, 3).double()
    noise = torch.tensor(np.random.default_rng(3).normal(size=(7, 2)))
    made = generator(noise)
    critic.cost(made).mean().backward()
    expected = critic.gradient(made.detach()) / 7
    torch.testing.assert_close(generator.bias.grad, expected.sum(0))
    torch.testing.assert_close(generator.weight.grad, expected.T @ noise)


def test_items_of_several_axes_have_gradients_of_their_shape():
    fake, real = (np.random.default_rng(seed).normal(size=(5, 4, 2)) for seed in (0, 1))
    flat = IPM(RBF(width=2.0)).train_critic(fake.reshape(5, 8), real.reshape(5, 8))
    critic = IPM(RBF(width=2.0)).train_critic(fake, real)
    assert critic.gradient(fake).shape == fake.shape
    np.testing.assert_array_equal(critic.gradient(fake).reshape(5, 8), flat.gradient(fake.reshape(5, 8)))
    tensor = critic.gradient(torch.tensor(fake))
    np.testing.assert_array_equal(tensor.numpy(), critic.gradient(fake))


@pytest.mark.parametrize("kind", [IPM, LSGAN, VanillaGAN, HingeGAN])
def test_sequences_are_judged_by_kernels_of_sequences_of_different_lengths(kind):
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(4, 6, 2)), rng.normal(size=(3, 8, 2)) + 1
    critic = kind(GlobalAlignment()).train_critic(fake, tl.Sequences(real))
    gradient = critic.gradient(fake)
    assert gradient.shape == fake.shape
    step = 1e-5
    aside = np.zeros_like(fake)
    aside[:, 3, 1] = step
    difference = (critic.cost(fake + aside) - critic.cost(fake - aside)) / (2 * step)
    np.testing.assert_allclose(gradient[:, 3, 1], difference, rtol=1e-4, atol=1e-8)


def test_kernels_without_gradients_give_values_and_say_that_they_have_none():
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(4, 6, 1)), rng.normal(size=(3, 6, 1)) + 1
    critic = LSGAN(ExponentialKernel("dtw")).train_critic(fake, real)
    assert critic(real).mean() > critic(fake).mean()
    with pytest.raises(TypeError, match="gradient"):
        critic.gradient(fake)


def test_ragged_sequences_have_values_and_no_gradients():
    rng = np.random.default_rng(0)
    ragged, real = [rng.normal(size=(n, 1)) for n in (4, 6, 5)], rng.normal(size=(3, 6, 1))
    critic = IPM(GlobalAlignment()).train_critic(ragged, real)
    assert critic(ragged).shape == (3,)
    with pytest.raises(ValueError, match="expected one length"):
        critic.gradient(ragged)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "sigmoid", ("abs", "gelu")])
def test_finite_critics_are_pickled(activation):
    critic = FiniteDiscriminator(width=4, depth=2, activation=activation, random_state=0).train_critic(FAKE, REAL)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(critic)).gradient(Z), critic.gradient(Z))


@pytest.mark.parametrize("kind", KINDS[:4], ids=NAMES[:4])
def test_critics_are_pickled(kind):
    critic = kind.train_critic(FAKE, REAL)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(critic)).gradient(Z), critic.gradient(Z))


def test_what_a_critic_has_learned_from_may_change_afterwards():
    fake, real = FAKE.copy(), REAL.copy()
    critic = LSGAN(RBF()).train_critic(fake, real)
    before = critic(Z)
    fake += 100.0
    real[:] = 0.0
    np.testing.assert_array_equal(critic(Z), before)


def test_a_bare_kernel_or_function_is_taken_for_ipm():
    assert as_discriminator(RBF(width=2.0)) == IPM(RBF(width=2.0))
    own = as_discriminator(lambda x, y: x @ y.T)
    np.testing.assert_allclose(own.train_critic(FAKE, REAL)(Z), Z @ (FAKE.mean(axis=0) - REAL.mean(axis=0)), rtol=1e-12)
    kind = LSGAN(RBF())
    assert as_discriminator(kind) is kind


def test_a_width_left_open_is_that_of_both_samples():
    settled = RBF().resolve(tl.distributions.validation.validate_sample(np.concatenate([FAKE, REAL]), "x"))
    np.testing.assert_array_equal(LSGAN(RBF()).train_critic(FAKE, REAL)(Z), LSGAN(settled).train_critic(FAKE, REAL)(Z))


def test_discriminators_are_shown_as_they_are_written():
    assert repr(LSGAN(RBF(width=2.0), time=3.0, solver="eigh")) == "LSGAN(RBF(width=2.0), time=3.0, solver='eigh')"
    assert repr(FiniteDiscriminator(loss="hinge", width=64)) == "FiniteDiscriminator(loss='hinge', width=64)"


# --- external


def test_a_module_of_single_precision_is_taken_as_it_is():
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    critic = FunctionDiscriminator(module).train_critic(FAKE, REAL)
    gradient = critic.gradient(Z)
    assert all(parameter.grad is None for parameter in module.parameters())
    leaf = torch.tensor(Z, dtype=torch.float32, requires_grad=True)
    values = module(leaf)[:, 0]
    values.sum().backward()
    np.testing.assert_allclose(critic(Z), values.detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "expected a function of tensors"),
        (lambda z: z, ValueError, r"gave shape \(4, 3\) of 4 items"),
        (lambda z: z.sum(1) * float("nan"), ValueError, "gave nan or infinity"),
        (lambda z: 1.0, TypeError, "gave a float"),
        (lambda z: z.detach().sum(1), TypeError, "has no gradient"),
    ],
)
def test_functions_that_are_none_are_refused(function, error, message):
    with pytest.raises(error, match=message):
        FunctionDiscriminator(function).train_critic(FAKE, REAL).gradient(Z)


# --- what is refused


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_samples_that_cannot_be_told_apart_by_anything_are_refused(kind):
    with pytest.raises(ValueError, match="fake holds 1 item: expected at least 2"):
        kind.train_critic(FAKE[:1], REAL)
    with pytest.raises(ValueError, match="real holds 1 item: expected at least 2"):
        kind.train_critic(FAKE, REAL[:1])
    with pytest.raises(ValueError, match="real is empty"):
        kind.train_critic(FAKE, REAL[:0])
    with pytest.raises(ValueError, match="real has vectors of 2 numbers and fake of 3"):
        kind.train_critic(FAKE, REAL[:, :2])
    broken = REAL.copy()
    broken[2, 1] = np.nan
    with pytest.raises(ValueError, match="real.*missing"):
        kind.train_critic(FAKE, broken)
    with pytest.raises(ValueError, match="real.*missing"):
        kind.train_critic(torch.tensor(FAKE), torch.tensor(broken))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_points_unlike_the_samples_are_refused(kind):
    critic = kind.train_critic(FAKE, REAL)
    with pytest.raises(ValueError, match="z has"):
        critic(Z[:, :2])
    with pytest.raises(ValueError, match="z.*missing"):
        critic.gradient(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="z has shape"):
        critic(Z[0])


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [IPM, LSGAN, VanillaGAN, HingeGAN])
def test_a_time_that_is_not_positive_is_refused(kind, time):
    with pytest.raises(ValueError, match="time="):
        kind(RBF(), time=time)
    with pytest.raises(ValueError, match="time="):
        FiniteDiscriminator(time=time)


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: IPM(RBF), TypeError, r"write RBF\(\)"),
        (lambda: IPM(RBF(), time="long"), TypeError, "time='long'"),
        (lambda: IPM(RBF(), initial=3), TypeError, "initial=3"),
        (lambda: LSGAN(RBF(), solver="fast"), ValueError, "solver='fast'"),
        (lambda: LSGAN(RBF(), tolerance=0.0), ValueError, "tolerance=0"),
        (lambda: VanillaGAN(RBF(), solver="lambert", initial=torch.sum), ValueError, "leave initial out"),
        (lambda: VanillaGAN(RBF(), saturating="no"), TypeError, "saturating='no'"),
        (lambda: HingeGAN(RBF(), rounding=0.0), ValueError, "rounding=0"),
        (lambda: FiniteDiscriminator(loss="wgan"), ValueError, "loss='wgan'"),
        (lambda: FiniteDiscriminator(width=0), ValueError, "width=0"),
        (lambda: FiniteDiscriminator(depth=0), ValueError, "depth=0"),
        (lambda: FiniteDiscriminator(steps=0), ValueError, "steps=0"),
        (lambda: FiniteDiscriminator(bias=-1.0), ValueError, "bias=-1"),
        (lambda: FiniteDiscriminator(activation="step"), ValueError, "activation='step'"),
        (lambda: FiniteDiscriminator(activation=torch.sign), ValueError, "no derivative"),
        (lambda: FiniteDiscriminator(saturating=True), ValueError, 'use loss="vanilla"'),
        (lambda: FiniteDiscriminator(random_state=-1), ValueError, "random_state=-1"),
        (lambda: as_discriminator(LSGAN), TypeError, "not its class"),
        (lambda: as_discriminator(3), TypeError, "or a discriminator such as"),
    ],
)
def test_options_that_mean_nothing_are_refused(made, error, message):
    with pytest.raises(error, match=message):
        made()


def test_a_kernel_that_gives_nan_is_told():
    def broken(x, y):
        return np.full((len(x), len(y)), np.nan)

    with pytest.raises(ValueError, match="nan or infinity"):
        LSGAN(broken).train_critic(FAKE, REAL)


def near(x, y):
    return np.exp(-0.5 * ((np.asarray(x)[:, None] - np.asarray(y)[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("discriminator", [near, IPM(near), LSGAN(near)], ids=["function", "IPM", "LSGAN"])
def test_a_function_of_numpy_has_no_gradients_and_that_is_said(discriminator):
    with pytest.raises(TypeError, match="kernel=near computes with NumPy.*torch operations"):
        descend(FAKE, REAL, discriminator, steps=2, step=0.1)
    kernel = as_discriminator(near).kernel
    with pytest.raises(TypeError, match="kernel=near computes with NumPy"):
        kernel(torch.tensor(FAKE), torch.tensor(REAL))


def test_what_fails_inside_somebodys_own_kernel_is_told_as_it_is():
    def broken(x, y):
        raise RuntimeError("out of coffee")

    with pytest.raises(RuntimeError, match="out of coffee"):
        as_discriminator(broken).kernel(torch.tensor(FAKE), torch.tensor(REAL))


@pytest.mark.parametrize("odd", ["meta", "complex"])
@pytest.mark.parametrize(
    "verb",
    [
        lambda t: RBF()(t, t),
        RBF(width=1.0),
        lambda t: mmd(t, t, RBF(width=1.0)),
        lambda t: sinkhorn_divergence(t, t),
        lambda t: TwoSample().test(t, t),
        lambda t: Drift(t).update(t),
        lambda t: LSGAN(RBF()).train_critic(t, t),
        lambda t: descend(t, t, RBF(), steps=1, step=0.1),
        IPM(RBF()).train_critic(FAKE, REAL),
        lambda t: IPM(RBF()).train_critic(FAKE, REAL).gradient(t),
        lambda t: empirical_ntk(torch.nn.Linear(3, 1), t),
    ],
)
def test_tensors_without_numbers_and_complex_ones_are_refused(verb, odd):
    tensor = torch.zeros(6, 3, device="meta") if odd == "meta" else torch.zeros(6, 3, dtype=torch.complex64)
    error, message = (ValueError, "meta device") if odd == "meta" else (TypeError, "complex64: expected real")
    with pytest.raises(error, match=message):
        verb(tensor)


def test_complex_similarities_and_samples_are_refused():
    with pytest.raises(TypeError, match="kernel gave complex128"):
        TwoSample(lambda x, y: np.exp(1j * (x @ y.T))).test(FAKE, REAL)
    with pytest.raises(TypeError, match="real matrix"):
        descend(FAKE, REAL, RBF(), steps=1, step=0.1, geometry=np.eye(len(FAKE)) * 1j)
    with pytest.raises(TypeError, match="x is complex"):
        empirical_ntk(torch.nn.Linear(3, 1), np.zeros((4, 3)) * 1j)
    stream = Drift(np.random.default_rng(0).standard_normal((9, 4, 1)), kernel=RBF(width=1.0)).stream(4, batch_size=2)
    with pytest.raises(TypeError, match="is complex"):
        stream.push(1 + 2j)
    stream.push(torch.tensor([1.0], requires_grad=True))
    assert stream.n_samples == 1
