"""Discriminators of finite width: their beginnings, their training by hand, and what they tend to."""

import numpy as np
import pytest
import torch

from timelike.distributions import IPM, LSGAN, NTK, FiniteDiscriminator, HingeGAN, VanillaGAN

INFINITE = {"ipm": IPM, "lsgan": LSGAN, "vanilla": VanillaGAN, "hinge": HingeGAN}
FAKE = np.random.default_rng(0).normal(size=(8, 2))
REAL = np.random.default_rng(1).normal(size=(6, 2)) + 1
Z = np.random.default_rng(2).normal(size=(10, 2))


def by_numpy(z, activation, bias, layers):
    """A perceptron in the NTK parameterisation, layer for layer."""
    taken = z
    for i, (matrix, shift) in enumerate(layers):
        taken = taken @ matrix.T / np.sqrt(matrix.shape[1]) + (0 if shift is None else bias * shift)
        if i < len(layers) - 1:
            taken = activation(taken)
    return taken[:, 0]


def numbers(module):
    return None if module is None else module.detach().numpy()


def test_a_network_is_that_of_the_ntk_parameterisation():
    critic = FiniteDiscriminator(width=7, depth=2, bias=0.4, antisymmetric=False, time=1e-12, steps=1, random_state=0)
    critic = critic.train_critic(FAKE, REAL)
    network = critic.function
    layers = [network.first, *(layer[0] for layer in network.rest)]
    plain = [(numbers(layer.matrix), numbers(layer.shift)) for layer in layers]
    assert plain[-1][1] is None  # no bias on the output
    np.testing.assert_allclose(critic(Z), by_numpy(Z, lambda z: np.maximum(z, 0), 0.4, plain), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", INFINITE)
def test_one_step_goes_along_the_gradient_of_what_is_ascended(loss):
    options = {"loss": loss, "width": 5, "depth": 1, "antisymmetric": False, "random_state": 3}
    before = FiniteDiscriminator(**options, time=1e-13, steps=1).train_critic(FAKE, REAL).function
    after = FiniteDiscriminator(**options, time=1e-3, steps=1).train_critic(FAKE, REAL).function
    f = before.requires_grad_(True)
    fake, real = f(torch.tensor(FAKE)), f(torch.tensor(REAL))
    won = {
        "ipm": lambda: fake.mean() - real.mean(),
        "lsgan": lambda: -((fake + 1) ** 2).mean() - ((real - 1) ** 2).mean(),
        "vanilla": lambda: torch.log(1 - torch.sigmoid(fake)).mean() + torch.log(torch.sigmoid(real)).mean(),
        "hinge": lambda: (-1 - fake).clamp(max=0).mean() + (real - 1).clamp(max=0).mean(),
    }[loss]()
    won.backward()
    for old, new in zip(f.parameters(), after.parameters(), strict=True):
        torch.testing.assert_close(new - old.detach(), 1e-3 * old.grad, rtol=1e-6, atol=1e-12)


def test_antisymmetric_networks_begin_at_0_everywhere():
    critic = FiniteDiscriminator(width=9, time=1e-14, steps=1, random_state=0).train_critic(FAKE, REAL)
    np.testing.assert_allclose(critic(Z), 0.0, atol=1e-12)


def test_lsgan_begins_elsewhere_unless_asked():
    for antisymmetric, largest in ((None, 10.0), (True, 1e-9)):
        kind = FiniteDiscriminator(
            loss="lsgan", width=9, time=1e-14, steps=1, antisymmetric=antisymmetric, random_state=0
        )
        f = np.abs(kind.train_critic(FAKE, REAL)(Z)).max()
        assert largest * 1e-3 < f < largest if antisymmetric is None else f < largest


def off(width, seeds, infinite, **options):
    """How far f and ∇c_f of finite networks are from those of the infinite one, relative, in the mean."""
    found = []
    for random_state in range(seeds):
        critic = FiniteDiscriminator(
            width=width, antisymmetric=True, random_state=random_state, **options
        ).train_critic(FAKE, REAL)
        pairs = ((critic(Z), infinite(Z)), (critic.gradient(Z), infinite.gradient(Z)))
        found.append([np.abs(near - exact).mean() / np.abs(exact).mean() for near, exact in pairs])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("loss", INFINITE)
@pytest.mark.parametrize(("activation", "bias"), [("relu", 1.0), (("relu", "sine"), 0.3)])
def test_wider_networks_are_nearer_to_the_infinite_one(loss, activation, bias):
    options = {"activation": activation, "depth": 1, "bias": bias}
    infinite = INFINITE[loss](NTK(**options)).train_critic(FAKE, REAL)
    narrow, wide = (off(width, 4, infinite, loss=loss, steps=100, **options) for width in (32, 1024))
    assert wide[0] < narrow[0] / 2.5
    assert wide[1] < narrow[1] / 1.5  # a finite ReLU network has corners where the infinite one is smooth
    assert (wide < 0.25).all()


def test_the_error_falls_like_one_over_the_root_of_the_width():
    options = {"activation": "sine", "depth": 2, "bias": 0.5}
    infinite = IPM(NTK(**options)).train_critic(FAKE, REAL)
    widths = np.array([32, 128, 512])
    found = np.array([off(width, 12, infinite, steps=10, **options) for width in widths])
    for errors in found.T:
        assert np.polyfit(np.log(widths), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.15)


def test_the_same_seed_begins_alike_and_a_generator_does_not():
    kind = FiniteDiscriminator(width=16, depth=1, random_state=5)
    np.testing.assert_array_equal(kind.train_critic(FAKE, REAL)(Z), kind.train_critic(FAKE, REAL)(Z))
    kind = FiniteDiscriminator(width=16, depth=1, random_state=np.random.default_rng(5))
    assert not np.array_equal(kind.train_critic(FAKE, REAL)(Z), kind.train_critic(FAKE, REAL)(Z))


def test_without_reset_two_trainings_are_one_of_as_many_steps():
    options = {"width": 16, "depth": 2, "random_state": 0}
    going_on = FiniteDiscriminator(**options, time=0.5, steps=5, reset=False)
    first = going_on.train_critic(FAKE, REAL)
    kept = first(Z)
    second = going_on.train_critic(FAKE, REAL)
    whole = FiniteDiscriminator(**options, time=1.0, steps=10).train_critic(FAKE, REAL)
    np.testing.assert_allclose(second(Z), whole(Z), rtol=1e-12)
    np.testing.assert_array_equal(first(Z), kept)  # what was given back is not trained on
    with pytest.raises(ValueError, match="items of 1 numbers and those of the last call 2"):
        going_on.train_critic(FAKE[:, :1], REAL[:, :1])


def test_steps_that_diverge_are_told():
    with pytest.raises(ValueError, match="raise steps, or lower time"):
        FiniteDiscriminator(loss="lsgan", width=64, time=1e3, steps=5, random_state=0).train_critic(
            FAKE * 10, REAL * 10
        )


def test_sequences_are_flattened():
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(4, 3, 2)), rng.normal(size=(5, 3, 2))
    kind = FiniteDiscriminator(width=8, depth=1, random_state=0)
    flat = kind.train_critic(fake.reshape(4, 6), real.reshape(5, 6))
    critic = kind.train_critic(fake, real)
    np.testing.assert_allclose(critic(fake), flat(fake.reshape(4, 6)), rtol=1e-12)
    assert critic.gradient(fake).shape == fake.shape
