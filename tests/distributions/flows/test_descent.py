"""Particle descent: each step against the formula, the bound below which MMD falls, and what a flow gives back."""

import signal

import numpy as np
import pytest

import timelike as tl
from naive import flows as naive
from optional_torch import torch
from timelike import distributions as ds
from timelike.train import Cosine, LinearDecay, Plateau

BOUND = 2 / (1 + 2 * np.exp(-1.5))  # steps in squared widths below which MMD falls, as `descend` says
POINTS = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [-1.0, 0.5], [3.0, 3.0]])
TARGET = np.array([[1.0, 2.0], [2.0, -1.0], [0.0, 0.0]])


def flow(start=POINTS, real=TARGET, kernel=None, **options):
    given = {"steps": 3, "step": 0.7, "scores": ("mmd",), "record_every": 1, "progress": False} | options
    return ds.descend(start, real, ds.RBF(width=1.3) if kernel is None else kernel, **given)


# --- the steps


def test_particles_go_where_the_formula_says():
    found, expected = flow(), POINTS.tolist()
    for moment in range(4):
        np.testing.assert_allclose(found.frames[moment], expected, rtol=1e-6, atol=1e-7)
        if moment == 3:
            np.testing.assert_allclose(found.particles, expected, rtol=1e-12, atol=1e-13)
        assert found.history["mmd"][moment] == pytest.approx(naive.squared_mmd(expected, TARGET.tolist(), 1.3))
        expected = naive.descended(expected, TARGET.tolist(), 1.3, 0.7)


class ValidatedIPM(ds.IPM):
    """Overrides `train_critic`, so that a flow hands it arrays to validate at every step."""

    def train_critic(self, fake, real):
        assert type(fake) is type(real) is np.ndarray
        return super().train_critic(fake, real)


class ValidatedLSGAN(ds.LSGAN):
    """The same for least squares."""

    def train_critic(self, fake, real):
        return super().train_critic(fake, real)


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(ds.RBF(), id="rbf"),
        pytest.param(ds.NTK(), id="ntk"),
        pytest.param(ds.GlobalAlignment(), id="elastic", marks=pytest.mark.learn),
        pytest.param(ds.RBF() + ds.Linear(), id="sum", marks=pytest.mark.learn),
    ],
)
@pytest.mark.parametrize(
    ("plain", "validated"), [(ds.IPM, ValidatedIPM), (ds.LSGAN, ValidatedLSGAN)], ids=["ipm", "lsgan"]
)
def test_validating_once_gives_the_bits_of_validating_at_every_step(plain, validated, kernel, batch_size):
    shape = (-1, 3, 2) if isinstance(kernel, ds.GlobalAlignment) else (-1, 2)
    start, real = np.tile(POINTS, (3, 1)).reshape(shape), np.tile(TARGET, (3, 1)).reshape(shape)
    options = {"batch_size": batch_size, "random_state": 0, "steps": 5, "step": 0.1}
    found, expected = (flow(start, real, kind(kernel), **options) for kind in (plain, validated))
    np.testing.assert_array_equal(found.particles, expected.particles)
    np.testing.assert_array_equal(found.frames, expected.frames)
    assert np.abs(found.particles - start).max() > 1e-3
    np.testing.assert_array_equal(start, np.tile(POINTS, (3, 1)).reshape(shape))


def test_under_a_geometry_particles_move_each_other_as_the_formula_says(rng):
    codes = rng.standard_normal((5, 3))
    matrix = ds.RBF(width=2.0)(codes)
    expected = naive.descended(POINTS.tolist(), TARGET.tolist(), 1.3, 0.7, matrix.tolist())
    for options in ({"geometry": ds.RBF(width=2.0), "codes": codes}, {"geometry": matrix}):
        np.testing.assert_allclose(flow(steps=1, **options).particles, expected, rtol=1e-12)


def test_a_geometry_is_of_the_start_unless_codes_are_given():
    kernel = ds.RBF(width=2.0)
    one, other = flow(geometry=kernel), flow(geometry=kernel(POINTS))
    np.testing.assert_array_equal(one.particles, other.particles)


def test_n_times_the_unit_matrix_is_no_geometry_at_all():
    np.testing.assert_allclose(flow(geometry=5 * np.eye(5)).particles, flow().particles, rtol=1e-14)


def test_a_step_is_that_of_a_particle_however_many_there_are():
    twice = flow(np.repeat(POINTS, 2, axis=0), np.repeat(TARGET, 3, axis=0)).particles
    np.testing.assert_allclose(twice[::2], flow().particles, rtol=1e-12)
    np.testing.assert_allclose(twice[1::2], flow().particles, rtol=1e-12)


def test_the_training_time_of_an_ipm_only_scales_the_step():
    longer = flow(kernel=ds.IPM(ds.RBF(width=1.3), time=3.5), step=0.2)
    np.testing.assert_allclose(longer.particles, flow().particles, rtol=1e-12)


@pytest.mark.learn
def test_particles_follow_any_function():
    """Towards 0 by half of the way at every step, whatever is real."""
    bowl = ds.FunctionDiscriminator(lambda z: z.square().sum(1) / 2)
    np.testing.assert_allclose(flow(kernel=bowl, step=0.5).particles, POINTS / 8, rtol=1e-12)


def test_particles_follow_the_gradient_of_any_discriminator():
    given = ds.LSGAN(ds.RBF(width=1.3), time=2.0)
    expected = POINTS
    for _ in range(3):
        expected = expected - 0.7 * given.train_critic(expected, TARGET).gradient(expected)
    np.testing.assert_allclose(flow(kernel=given).particles, expected, rtol=1e-12)


@pytest.mark.learn
@pytest.mark.parametrize("reset", [True, False])
def test_a_finite_network_moves_particles_too(rng, reset):
    start, real = rng.standard_normal((20, 2)), rng.standard_normal((20, 2)) + 2
    finite = ds.FiniteDiscriminator(loss="ipm", width=64, depth=1, reset=reset, random_state=0)
    found = flow(start, real, finite, steps=20, step=1.0, record_every=20)
    before, after = found.history["mmd"]  # by an RBF kernel, as it has none
    assert after < 0.5 * before


# --- the bound


@pytest.mark.parametrize("seed", range(4))
def test_mmd_falls_at_every_step_below_the_bound(seed):
    rng = np.random.default_rng(seed)
    width, time = rng.uniform(0.3, 3.0, 2)
    start, real = rng.standard_normal((20, 2)), rng.standard_normal((15, 2)) * 2
    start[:4] = real[:4] = 0.0  # some coincide
    critic = ds.IPM(ds.RBF(width=width), time=time)
    found = flow(start, real, critic, steps=150, step=0.99 * BOUND * width**2 / time)
    rises = np.diff(found.history["mmd"])
    assert rises.max() < 1e-15
    assert rises.sum() < 0


def test_under_a_geometry_the_bound_holds_for_the_largest_eigenvalue(rng):
    matrix = ds.RBF(width=2.0)(rng.standard_normal((20, 3)))
    largest = np.linalg.eigvalsh(matrix / 20)[-1]
    start, real = rng.standard_normal((20, 2)), rng.standard_normal((15, 2)) + 1
    found = flow(start, real, geometry=matrix, steps=100, step=0.99 * BOUND * 1.3**2 / largest)
    assert np.diff(found.history["mmd"]).max() < 1e-15


def test_mmd_may_rise_with_steps_beyond_the_bound():
    """Near the target the curvature is 1 / w², so that steps of more than twice w² lead away from it."""
    near, there = np.full((2, 1), 0.01), np.zeros((2, 1))
    far, short = (flow(near, there, ds.RBF(width=1.0), steps=5, step=step) for step in (2.2, 1.3))
    assert (np.diff(far.history["mmd"]) > 0).all()
    assert (np.diff(short.history["mmd"]) < 0).all()


@pytest.mark.parametrize("step", [0.5, 0.05])
def test_under_a_kernel_with_a_cusp_mmd_rises_at_some_steps_however_small_they_are(rng, step):
    """Particles that have arrived jump about by a part of the step."""
    real = rng.standard_normal((6, 2))
    found = flow(real + 0.02 * rng.standard_normal((6, 2)), real, ds.NTK(depth=1), steps=round(20 / step), step=step)
    assert (np.diff(found.history["mmd"]) > 1e-12).any()
    assert found.history["mmd"][-1] < found.history["mmd"][0]


# --- schedules


def test_a_schedule_is_a_value_a_function_or_factors_of_equal_parts():
    def sizes(schedule):
        return flow(schedule=schedule, steps=8, step=2.0).history["step"].tolist()

    assert sizes(None) == [2.0] * 8
    assert sizes((1, 0.5)) == [2.0] * 4 + [1.0] * 4
    assert sizes(np.linspace(0.1, 0.8, 8)) == pytest.approx(np.linspace(0.2, 1.6, 8))
    assert sizes(lambda done: 1 / (1 + done)) == pytest.approx([2 / k for k in range(1, 9)])
    assert sizes(LinearDecay(share=0.5)) == [2.0] * 5 + [1.5, 1.0, 0.5]
    assert sizes(Cosine())[0] == 2.0


def test_smaller_last_steps_lead_nearer_under_a_cusp(rng):
    start, real = rng.standard_normal((20, 2)), rng.standard_normal((20, 2))
    options = {"steps": 400, "step": 2.0, "record_every": 400, "scores": ("sinkhorn",)}
    same, smaller = (
        flow(start, real, ds.NTK(), schedule=schedule, **options).history["sinkhorn"][-1]
        for schedule in (None, (1, 0.1))
    )
    assert smaller < same / 5


# --- what comes out


def test_the_start_is_never_changed():
    start = POINTS.copy()
    found = flow(start)
    np.testing.assert_array_equal(start, POINTS)
    assert not np.shares_memory(found.particles, start)
    assert not np.array_equal(found.particles, start)


@pytest.mark.learn
def test_particles_come_back_as_what_they_came_as():
    expected = flow().particles
    assert isinstance(expected, np.ndarray)
    for start, real in ((torch.tensor(POINTS), torch.tensor(TARGET)), (torch.tensor(POINTS).float(), TARGET)):
        found = flow(start, real).particles
        assert found.dtype == start.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert flow(POINTS.tolist(), TARGET.tolist()).particles.tolist() == expected.tolist()
    listed = tl.Sequences(POINTS, layout="nc", labels=list("abcde"))
    back = flow(listed, tl.Sequences(TARGET, layout="nc")).particles
    assert back.labels.tolist() == list("abcde")
    np.testing.assert_array_equal(back.values, expected)


def test_looks_are_every_so_many_steps_with_the_first_and_the_last():
    found = flow(steps=10, record_every=4)
    assert found.frame_steps.tolist() == found.history.steps("mmd").tolist() == [0, 4, 8, 10]
    assert found.frames.shape == (4, 5, 2)
    assert found.history.steps("move").tolist() == list(range(1, 11))
    assert len(flow(steps=1000, record_every=None).frames) == 51


def test_what_is_noted_is_what_happened():
    found = flow(steps=1, scores={"mean": lambda particles, real: np.mean(particles) - np.mean(real)})
    moved = np.linalg.norm(found.particles - POINTS, axis=1)
    assert found.history["move"][0] == pytest.approx(moved.max())
    critic = ds.IPM(ds.RBF(width=1.3)).train_critic(POINTS, TARGET)
    assert found.history["cost"][0] == pytest.approx(critic.cost(POINTS).mean())
    assert found.history["mean"] == pytest.approx(
        [POINTS.mean() - TARGET.mean(), found.particles.mean() - TARGET.mean()]
    )
    assert found.history["seconds"][0] > 0


def test_both_scores_are_taken_unless_others_are_asked():
    found = flow(scores=None)
    assert found.score_names == ("sinkhorn", "mmd")
    value = ds.sinkhorn_divergence(found.particles, TARGET, blur=0.001, scaling=0.95)
    assert found.history["sinkhorn"][-1] == pytest.approx(value)
    assert flow(scores=()).history["cost"].shape == (4,)


def test_a_width_that_is_open_is_decided_once_by_start_and_target():
    found = flow(kernel=ds.RBF())
    width = found.discriminator.kernel.width
    distances = ds.RBF().resolve(tl.Sequences(np.concatenate([POINTS, TARGET]), layout="nc")).width
    assert width == distances
    np.testing.assert_array_equal(found.particles, flow(kernel=ds.RBF(width=width)).particles)


def test_batches_of_the_target_are_repeated_by_their_seed():
    one, other, third = (flow(batch_size=2, steps=5, random_state=seed).particles for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)
    np.testing.assert_array_equal(flow(batch_size=3).particles, flow().particles)  # all of it, in its order


def test_a_flow_says_what_it_is():
    said = repr(flow())
    assert said.startswith("Flow(5 particles, IPM(RBF(width=1.3)), 3 steps, mmd ")
    assert repr(flow().history).startswith("FlowHistory(3 steps, mmd ")
    assert "stopped" not in said


# --- ends before the end


def test_ctrl_c_gives_what_was_reached():
    def pressed(particles, real):
        if len(seen) == 2:
            signal.raise_signal(signal.SIGINT)
        seen.append(np.array(particles))
        return 0.0

    seen = []
    with pytest.warns(UserWarning, match="stopped by Ctrl-C after step 3 of 100"):
        found = flow(steps=100, scores={"pressed": pressed})
    assert found.stop_reason == found.history.stop_reason == "Ctrl-C"
    assert found.n_steps == 3
    np.testing.assert_array_equal(found.particles, flow(steps=3).particles)
    assert "stopped: Ctrl-C" in repr(found)


def test_ctrl_c_before_the_first_step_interrupts():
    def pressed(particles, real):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        flow(scores={"pressed": pressed})


@pytest.mark.learn
def test_a_flow_that_diverges_says_where_and_keeps_what_was_before():
    """Every step multiplies by −9: 3 · 9³ is beyond 1000 times the reach, which is 2."""
    bowl = ds.FunctionDiscriminator(lambda z: z.square().sum(1) / 2)
    with pytest.raises(ds.FlowDiverged, match=r"at step 3 of 10: .* lower step=10") as caught:
        flow(kernel=bowl, step=10.0, steps=10)
    assert caught.value.step == 3
    np.testing.assert_allclose(caught.value.flow.particles, POINTS * 81.0, rtol=1e-12)
    assert caught.value.flow.stop_reason == "diverged"
    assert np.isfinite(caught.value.flow.particles).all()


@pytest.mark.parametrize("step", [1e308, 1e12])
def test_a_step_that_is_far_too_large_diverges_at_once(step):
    with pytest.raises(ds.FlowDiverged, match="at step 1 of 3"):
        flow(step=step)


def test_a_gradient_that_is_no_number_is_blamed_on_the_discriminator():
    class Torn:
        def train_critic(self, fake, real):
            return self

        def gradient(self, z):
            return np.full(z.shape, np.nan)

        def cost(self, z):
            return np.zeros(len(z))

        def __repr__(self):
            return "Torn()"

    with pytest.raises(ds.FlowDiverged, match=r"step 1 of 3: the gradient of Torn\(\) is not finite"):
        flow(kernel=Torn())


@pytest.mark.learn
@pytest.mark.parametrize("verb", ["train_critic", "gradient"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_discriminator_that_fails_on_the_way_ends_the_flow_where_it_does(verb, steps):
    class Narrow(ds.FunctionDiscriminator):
        def train_critic(self, fake, real):
            if verb == "train_critic" and np.abs(np.asarray(fake)).max() > 10:
                raise ValueError("steps=10 of time 0.5 each diverge")
            return super().train_critic(fake, real)

    def bowl(z):
        found = z.square().sum(1) / 2
        return found / (z.abs().amax(1) < 10) if verb == "gradient" else found

    with pytest.raises(
        ds.FlowDiverged, match=r"at step 1 of \d: .*(time 0.5 each diverge|infinity).*; lower step=10"
    ) as caught:
        flow(kernel=Narrow(bowl), step=10.0, steps=steps)
    assert caught.value.step == 1
    np.testing.assert_allclose(caught.value.flow.particles, POINTS * -9.0, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^(steps=10|Critic\(bowl\))"):  # the fault of what was given
        flow(start=POINTS + 50, kernel=Narrow(bowl), scores=())


# --- progress


def test_a_long_flow_says_how_long_it_takes(monkeypatch, capsys):
    from timelike.distributions.flows import descent

    monkeypatch.setattr(descent, "_PACE_SECONDS", -1.0)
    flow(progress=None)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(descent, "_MIN_ANNOUNCED_SECONDS", 0.0)
    flow(progress=None)
    assert "descend: 3 steps, about " in capsys.readouterr().err
    flow(progress=True)
    assert "3/3" in capsys.readouterr().err
    flow(progress=False)
    assert capsys.readouterr().err == ""


# --- bad input


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"real": TARGET[:, :1]}, ValueError, "real has vectors of 1 numbers"),
        ({"start": POINTS[:1]}, ValueError, "start holds 1 item: expected at least 2"),
        ({"real": TARGET[:1]}, ValueError, "real holds 1 item: expected at least 2"),
        ({"start": np.full((3, 2), np.nan)}, ValueError, "start"),
        ({"real": np.full((3, 2), np.inf)}, ValueError, "real"),
        ({"steps": 0}, ValueError, "steps=0: expected at least 1"),
        ({"steps": 1.5}, TypeError, "steps=1.5"),
        ({"step": 0.0}, ValueError, "step=0.0: expected a finite number greater than 0"),
        ({"step": -1.0}, ValueError, "step=-1.0"),
        ({"step": np.nan}, ValueError, "step=nan"),
        ({"record_every": 0}, ValueError, "record_every=0"),
        ({"batch_size": 4}, ValueError, "batch_size=4: expected at most 3"),
        ({"batch_size": 1}, ValueError, "batch_size=1: expected at least 2"),
        ({"scores": "mmd"}, TypeError, "scores='mmd'"),
        ({"scores": ("fid",)}, ValueError, "scores has 'fid'"),
        ({"scores": {"cost": abs}}, ValueError, "name 'cost'"),
        ({"scores": {"own": 3}}, TypeError, r"scores\['own'\] is a int"),
        ({"scores": {"own": lambda x, y: np.nan}}, ValueError, r"the value of scores\['own'\]=nan"),
        ({"schedule": "fast"}, TypeError, "schedule='fast'"),
        ({"schedule": (1, -1)}, ValueError, "factor of the schedule after 2 steps=-1"),
        ({"schedule": (0, 0)}, ValueError, "0 at every step"),
        ({"schedule": np.ones(9)}, TypeError, "at most steps=3 factors"),
        ({"schedule": Plateau()}, ValueError, "a flow has none"),
        ({"geometry": np.eye(4)}, ValueError, r"geometry has shape \(4, 4\): expected \(5, 5\)"),
        ({"geometry": np.triu(np.ones((5, 5)))}, ValueError, "geometry is not symmetric"),
        ({"geometry": np.full((5, 5), np.nan)}, ValueError, "geometry has nan"),
        ({"geometry": "ntk"}, TypeError, "geometry='ntk'"),
        ({"codes": POINTS}, ValueError, "codes have no effect without a geometry"),
        ({"codes": POINTS, "geometry": np.eye(5)}, ValueError, "codes do not apply to a geometry that is a matrix"),
        ({"codes": TARGET, "geometry": ds.RBF(width=1.0)}, ValueError, "codes has 3 items"),
        ({"kernel": ds.RBF}, TypeError, "not its class"),
        ({"kernel": 3}, TypeError, "discriminator=3"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, error, words):
    with pytest.raises(error, match=words):
        flow(**options)
