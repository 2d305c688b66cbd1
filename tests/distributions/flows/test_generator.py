"""Generator networks trained by infinitely wide discriminators."""

import signal

import numpy as np
import pytest
import torch

import timelike as tl
from timelike import distributions as ds
from timelike.train import LinearDecay, use_seed

OPTIONS = {"n_latent": 3, "steps": 60, "batch_size": 32, "learning_rate": 0.02, "progress": False, "random_state": 0}


def network(*shape):
    with use_seed(0):
        layers = [torch.nn.Linear(3, 24), torch.nn.Tanh(), torch.nn.Linear(24, int(np.prod(shape)))]
        return (
            torch.nn.Sequential(*layers, torch.nn.Unflatten(1, shape))
            if len(shape) > 1
            else torch.nn.Sequential(*layers)
        )


@pytest.fixture
def real(rng):
    return rng.normal([2.0, -1.0], [0.5, 0.2], (80, 2))


@pytest.mark.parametrize("discriminator", [ds.IPM(ds.RBF(width=1.5)), ds.LSGAN(ds.RBF(width=1.5)), ds.NTK(depth=1)])
def test_a_generator_learns_where_its_sample_is(real, discriminator):
    found = ds.train_generator(network(2), real, discriminator, **OPTIONS | {"steps": 150})
    assert found.history["mmd"][-1] < 0.1 * found.history["mmd"][0]
    np.testing.assert_allclose(found.sample(500, random_state=1).mean(axis=0), real.mean(axis=0), atol=0.25)


def test_the_first_step_goes_down_the_mean_cost_under_a_fixed_discriminator(real):
    """The gradient by the last bias is the mean of ∇c_f over what is generated, and Adam's first step is its sign."""
    module, seen = network(2), []

    class Watched:
        def train_critic(self, fake, batch):
            seen.append((fake.numpy(), batch.numpy()))
            return ds.IPM(ds.RBF(width=1.5)).train_critic(fake, batch)

    before = module[-1].bias.detach().clone()
    options = OPTIONS | {"steps": 1, "learning_rate": 1e-3, "scores": (), "batch_size": 80}
    ds.train_generator(module, real, Watched(), **options)
    (fake, batch), *_ = seen
    assert sorted(map(tuple, batch)) == sorted(map(tuple, real))
    mean = ds.IPM(ds.RBF(width=1.5)).train_critic(fake, batch).gradient(fake).mean(axis=0)
    np.testing.assert_allclose((module[-1].bias.detach() - before).numpy(), -1e-3 * np.sign(mean), rtol=1e-3)


def test_training_is_repeated_by_its_seed_and_leaves_other_generators_alone(real):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    torch_state = torch.random.get_rng_state()
    one, other = (ds.train_generator(network(2), real, ds.RBF(), **OPTIONS) for _ in range(2))
    np.testing.assert_array_equal(one.sample(5, random_state=2), other.sample(5, random_state=2))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert torch.equal(torch.random.get_rng_state(), torch_state)


def test_series_are_generated_as_sequences_where_it_was_trained_on_them(rng):
    waves = 2 * np.sin(np.arange(10) / 2 + rng.random((20, 1)))[..., None]
    options = OPTIONS | {"steps": 40, "batch_size": 16}
    found = ds.train_generator(network(10, 1), tl.Sequences(waves), ds.GlobalAlignment(), **options)
    assert found.history["mmd"][-1] < 0.5 * found.history["mmd"][0]
    assert isinstance(found.sample(3), tl.Sequences)
    assert found.sample(3).shape == (3, 10, 1)


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_a_network_of_vectors_generates_sequences_of_the_shape_of_the_real_ones(real, shape):
    """(item, 2) for items of one frame of two channels, or of two frames of one."""
    options = OPTIONS | {"steps": 2}
    plain = ds.train_generator(network(2), real, ds.RBF(), **options).sample(4, random_state=0)
    of_sequences = ds.train_generator(network(2), tl.Sequences(real.reshape(-1, *shape)), ds.RBF(), **options)
    found = of_sequences.sample(4, random_state=0)
    assert found.shape == (4, *shape)
    np.testing.assert_array_equal(found.values.reshape(4, 2), plain)


def test_looks_are_of_the_same_codes(real):
    found = ds.train_generator(network(2), real, ds.RBF(), **OPTIONS | {"record_every": 25, "schedule": LinearDecay()})
    assert found.frame_steps.tolist() == [0, 25, 50, 60]
    assert found.frames.shape == (4, 80, 2)
    assert found.score_names == ("sinkhorn", "mmd")
    assert found.history.steps("mmd").tolist() == [0, 25, 50, 60]
    assert repr(found).startswith("Generator(Sequential of 3 numbers, IPM(RBF(width=")


@pytest.mark.filterwarnings("ignore:stopped by Ctrl-C")
def test_ctrl_c_gives_what_was_reached(real):
    def pressed(particles, target):
        if len(seen) == 2:
            signal.raise_signal(signal.SIGINT)
        seen.append(0)
        return 0.0

    seen = []
    found = ds.train_generator(
        network(2), real, ds.RBF(), **OPTIONS | {"record_every": 5, "scores": {"pressed": pressed}}
    )
    assert (found.history.stop_reason, found.n_steps) == ("Ctrl-C", 10)
    assert np.isfinite(found.sample(4)).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"module": 3}, TypeError, "module is a int"),
        ({"module": network(3)}, ValueError, "real has vectors of 2 numbers and the output of module of 3"),
        ({"module": network(2).requires_grad_(False)}, ValueError, "Sequential has no parameters to train"),
        ({"n_latent": 0}, ValueError, "n_latent=0"),
        ({"n_latent": 5}, ValueError, "module cannot take codes of n_latent=5 numbers: "),
        ({"steps": 0}, ValueError, "steps=0"),
        ({"batch_size": 1}, ValueError, "batch_size=1: expected at least 2"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate=0.0"),
        ({"record_every": 0}, ValueError, "record_every=0"),
        ({"real": np.zeros((1, 2))}, ValueError, "real holds 1 item"),
        ({"real": np.full((4, 2), np.nan)}, ValueError, "real"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(real, options, error, words):
    given = {"module": network(2), "real": real, "discriminator": ds.RBF()} | OPTIONS | options
    with pytest.raises(error, match=words):
        ds.train_generator(given.pop("module"), given.pop("real"), given.pop("discriminator"), **given)


def test_a_sample_may_be_read_once_only(real):
    once, whole = (ds.train_generator(network(2), one, ds.RBF(), **OPTIONS) for one in (iter(real), real))
    np.testing.assert_array_equal(once.sample(3, random_state=0), whole.sample(3, random_state=0))


def test_a_network_that_gives_no_items_is_refused(real):
    for module, words in (
        (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Flatten(0)), r"gave a tensor \(240,\) for 80 codes"),
        (torch.nn.GRU(3, 2), "gave a tuple"),
    ):
        with pytest.raises(ValueError, match=words):
            ds.train_generator(module, real, ds.RBF(), **OPTIONS)


def test_a_training_that_diverges_says_where(real):
    """A first step of 10 makes e^±1000 of the factors, one of which is beyond all numbers."""

    class Growing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(2))

        def forward(self, z):
            return z[:, :2] * (100 * self.weight).exp()

    for every, words in ((60, "not finite at step 2"), (1, "after step 1 is not finite")):
        options = OPTIONS | {"learning_rate": 10.0, "scores": (), "record_every": every}
        with pytest.raises(tl.train.DivergenceError, match=words):
            ds.train_generator(Growing(), real, ds.RBF(width=1.0), **options)
