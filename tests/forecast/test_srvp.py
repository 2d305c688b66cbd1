"""SRVP: its bound beside loops and exact evidence, its futures, and what it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import norm

import timelike as tl
from latent_options import srvp, srvp_network
from naive import srvp as naive
from timelike.forecast import Experimental, Inference
from timelike.forecast.codecs.base import Content
from timelike.forecast.srvp.objective import compute_bound
from timelike.train.double_precision import double_precision_copy
from toys import SRVP

SMALL = SRVP | {
    "reencode": False
}  # of long forecasts, see `test_states_of_long_forecasts_are_those_of_their_own_frames`


@pytest.fixture(scope="module")
def swings():
    rng = np.random.default_rng(0)
    return np.sin(np.arange(24)[:, None] / 3 + rng.uniform(0, 6, (12, 1, 2))) + 2


@pytest.fixture(scope="module")
def clips():
    return np.random.default_rng(0).random((5, 9, 1, 8, 8))


@pytest.fixture(scope="module")
def fitted(swings):
    return srvp(**SMALL).fit(swings)


class Noise:
    """Noise in the order in which the bound draws it: the first state's, then that of all random steps."""

    def __init__(self, *given):
        self.given = list(given)

    def __call__(self, shape, like, generator=None):
        found = self.given.pop(0)
        assert tuple(found.shape) == tuple(shape)
        return found


@pytest.mark.parametrize(("substeps", "n_content"), [(1, 3), (2, 3), (1, 0)])
def test_the_bound_is_that_of_loops(monkeypatch, substeps, n_content):
    torch.manual_seed(0)
    how = {"conditioning": 2, "n_state": 3, "n_random": 2, "n_code": 4, "hidden": 5, "motion_hidden": 6}
    network = srvp_network(2, n_content=n_content, substeps=substeps, observation_std=0.7, **how).double()
    x = torch.randn(4, 6, 2, dtype=torch.float64)
    first, random = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 5, 2, dtype=torch.float64)
    monkeypatch.setattr("timelike.forecast.srvp.objective.standard_normal_noise", Noise(first, random))
    chosen = torch.tensor([[0, 3], [5, 5], [1, 2], [4, 0]])
    with torch.no_grad():
        codes, seen = network.encode_frames(x)
        content = network.encode_content(codes, chosen, seen, torch.zeros(4, dtype=torch.int64))
        found, _ = compute_bound(network, x, codes, content)
    for i in range(4):
        with torch.no_grad():
            expected = naive.bound(network, x[i], chosen[i].tolist(), first[i], random[i])
        torch.testing.assert_close(torch.stack([part[i] for part in found]), torch.tensor(expected, dtype=x.dtype))
    assert float(found.elbo[0]) == pytest.approx(float(found.likelihood[0] - found.first_kl[0] - found.random_kl[0]))


def test_the_content_knows_no_order():
    torch.manual_seed(0)
    network = srvp_network(3, n_content=4, hidden=6)
    codes, seen = network.encode_frames(torch.randn(2, 7, 3))
    at = torch.zeros(2, dtype=torch.int64)
    one, other = (
        network.encode_content(codes, torch.tensor(rows), seen, at).code for rows in ([[0, 2, 5]] * 2, [[5, 0, 2]] * 2)
    )
    torch.testing.assert_close(one, other)


def linear_network(transition, emission, observed):
    """A network that *is* a linear system without noise: only its inference is not exact."""
    d, m = transition.shape[0], emission.shape[0]
    network = srvp_network(
        m, n_state=d, n_random=0, n_content=0, n_code=m, layers=0, hidden=4, motion_hidden=4, observation_std=observed
    )
    for layer in network.modules():
        if isinstance(layer, torch.nn.Linear):
            torch.nn.init.zeros_(layer.weight)
            if layer.bias is not None:
                torch.nn.init.zeros_(layer.bias)
    network.decoder.shortcut.weight.data = emission.clone()
    network.encoder.shortcut.weight.data = torch.eye(m, dtype=emission.dtype)

    class Moves(torch.nn.Module):
        def forward(self, y):
            return y @ (transition - torch.eye(d, dtype=transition.dtype)).T

    network.dynamics = Moves()
    return network.double()


def test_the_bound_is_below_exact_evidence_and_reaches_it_with_the_exact_posterior():
    """The first state is all that is random: its posterior is normal, and known in closed form."""
    angle, observed, n = 0.4, 0.5, 6
    transition = 0.98 * torch.tensor(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], dtype=torch.float64
    )
    emission = torch.tensor([[1.0, 0.0], [0.5, -1.0]], dtype=torch.float64)
    network = linear_network(transition, emission, observed)
    torch.manual_seed(3)
    y = torch.randn(2, dtype=torch.float64)
    x = torch.stack([emission @ torch.linalg.matrix_power(transition, t) @ y for t in range(n)])
    x = (x + observed * torch.randn(n, 2, dtype=torch.float64))[None]
    nothing, cover = torch.zeros(2, 2, dtype=torch.float64), observed**2 * torch.eye(2, dtype=torch.float64)
    exact = naive.log_evidence(x[0], transition, nothing, emission, cover)
    rows = torch.cat([emission @ torch.linalg.matrix_power(transition, t) for t in range(n)])
    precision = torch.eye(2, dtype=torch.float64) + rows.T @ rows / observed**2
    mean = torch.linalg.solve(precision, rows.T @ x.reshape(-1) / observed**2)
    scale = (1 / precision.diagonal()).sqrt()  # the nearest of independent normals

    def bounds(mean, scale):
        from timelike.forecast.srvp.gaussian import DiagonalGaussian

        network.first_state_posterior = lambda codes: DiagonalGaussian(mean[None], scale[None])
        codes = network.encode_frames(x)[0]
        drawn = [float(compute_bound(network, x, codes, Content(None, []))[0].elbo.detach()) for _ in range(2000)]
        return np.mean(drawn), 4 * np.std(drawn) / np.sqrt(len(drawn))

    torch.manual_seed(0)
    best, slack = bounds(mean, scale)
    covariance = torch.linalg.inv(precision)
    gap = 0.5 * float(torch.logdet(torch.diag(precision.diagonal())) - torch.logdet(precision))  # KL of factorising
    assert abs(covariance[0, 1]) > 0  # so that there is a gap at all
    assert best <= exact + slack
    assert best == pytest.approx(exact - gap, abs=slack)
    worse, slack = bounds(mean + 0.5, 2 * scale)
    assert worse < exact - gap - slack


def test_futures_differ_and_are_the_same_with_a_seed(fitted, swings):
    one = fitted.predict(swings[:3, :9], 4, n_samples=6, random_state=1)
    assert one.samples.shape == (6, 3, 4, 2)
    assert one.samples.std(axis=0).min() > 0
    np.testing.assert_array_equal(one.samples, fitted.predict(swings[:3, :9], 4, n_samples=6, random_state=1).samples)
    assert not np.array_equal(one.samples, fitted.predict(swings[:3, :9], 4, n_samples=6, random_state=2).samples)
    np.testing.assert_allclose(one.mean, one.samples.mean(axis=0))


def test_futures_are_the_same_alone_and_among_others(fitted, swings):
    among = fitted.predict(swings[:, :9], 4, n_samples=3, random_state=1).samples
    alone = fitted.predict(swings[4:5, :9], 4, n_samples=3, random_state=1).samples
    np.testing.assert_array_equal(among[:, 4:5], alone)


def test_equal_pasts_have_different_futures(fitted, swings):
    found = fitted.predict(np.repeat(swings[:1, :9], 2, axis=0), 4, random_state=1).samples[0]
    assert not np.array_equal(found[0], found[1])


@pytest.mark.parametrize("numbers", [1, 40, 100])
@pytest.mark.parametrize("module", ["rollout", "estimator"])
def test_many_samples_in_pieces_are_those_at_once(fitted, swings, monkeypatch, module, numbers):
    """Some samples at a time, and some steps of all of them at a time."""
    whole = fitted.predict(swings[:2, :9], 4, n_samples=7, random_state=1).samples
    monkeypatch.setattr(f"timelike.forecast.srvp.{module}.BLOCK_NUMBERS", numbers)
    np.testing.assert_array_equal(fitted.predict(swings[:2, :9], 4, n_samples=7, random_state=1).samples, whole)


def test_frames_in_between_end_at_the_frames_of_steps(swings):
    model = srvp(substeps=2, **SMALL).fit(swings)
    whole = model.predict(swings[:2, :9], 3, n_samples=4, random_state=1).samples
    finer = model.predict(swings[:2, :9], 3, n_samples=4, frames_per_step=2, random_state=1).samples
    assert finer.shape == (4, 2, 6, 2)
    np.testing.assert_array_equal(finer[:, :, 1::2], whole)


def test_without_random_steps_only_the_first_state_is_drawn(swings):
    model = srvp(**SMALL | {"n_random": 0}).fit(swings)
    assert model.elbo(swings[:2]).random_kl.tolist() == [0, 0]
    assert model.predict(swings[:2, :9], 3, n_samples=5, random_state=0).samples.std(axis=0).max() > 0


def test_the_bound_is_in_the_units_of_the_data(swings):
    """What is measured in hundredths has a density a hundred times as high, for every number."""
    one, other = (srvp(**SMALL).fit(unit * swings) for unit in (1.0, 100.0))
    shift = one.elbo(swings, random_state=0).elbo - other.elbo(100 * swings, random_state=0).elbo
    np.testing.assert_allclose(shift, 24 * 2 * np.log(100), rtol=1e-4)


@pytest.mark.parametrize("masked", [False, True])
def test_the_learned_deviation_is_that_of_what_is_left(masked):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 7, 1, 4, 4))
    if masked:
        x[..., 0, :3] = np.nan
    model = srvp(**SMALL | {"codec": "dcgan", "conditioning": 2, "chunk": 7, "batch_size": 16}).fit(x)
    before = model.elbo(x, n_samples=20, random_state=0).elbo.mean()
    for factor in (0.9, 1.1):  # of the residuals of many draws: no other deviation has a larger bound
        with torch.no_grad():
            model.network_.log_std += np.log(factor)
        assert model.elbo(x, n_samples=20, random_state=0).elbo.mean() < before
        with torch.no_grad():
            model.network_.log_std -= np.log(factor)


@pytest.mark.parametrize("masked", [False, True])
def test_what_is_left_follows_from_the_log_density_of_normal_frames(masked, monkeypatch):
    """log N(x; f, s) over all numbers that are there says the mean of (x − f)²."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 7, 1, 4, 4))
    if masked:
        x[..., 0, :3] = np.nan
    model = srvp(**SMALL | {"codec": "dcgan", "conditioning": 2, "chunk": 7}).fit(x)
    objective = model._make_chunk_objective(7, model._pack_frames(tl.Sequences(x)), None, None)
    batch = next(iter(objective.batches(0, rng)))
    residuals, scale = rng.normal(size=(4, 7 * (13 if masked else 16))), model.network_.observation_std.item()
    likelihood = torch.from_numpy(norm.logpdf(residuals, scale=scale).sum(axis=1))
    monkeypatch.setattr(objective, "evidence_bound", lambda _: SimpleNamespace(likelihood=likelihood))
    with torch.no_grad():
        assert objective._residual_variance(batch) == pytest.approx(np.square(residuals).mean(), rel=1e-6)


def test_chunks_held_out_are_judged_by_the_negative_bound(swings, monkeypatch):
    model = srvp(**SMALL).fit(swings)
    objective = model._make_chunk_objective(9, model._pack_frames(tl.Sequences(swings)), None, None)
    monkeypatch.setattr(objective, "evidence_bound", lambda _: SimpleNamespace(elbo=torch.tensor([-1.0, -5.0, 3.0])))
    assert objective.validation_loss(next(iter(objective.batches(0, np.random.default_rng(0))))) == 1.0


def test_without_content_a_code_is_the_last_state(swings):
    model = srvp(**SMALL | {"n_content": 0}).fit(swings)
    found = model.encode(swings)
    assert found.shape == (12, SMALL["n_state"])
    network = double_precision_copy(model.network_)
    with torch.no_grad():
        codes = network.encode_frames(model._double_frames(tl.Sequences(swings)))[0]
        y, z = network.first_state_posterior(codes).mean, network.random_posterior(codes).mean
        for step in range(23):
            y = network.advance_step(y, z[:, step], 1)[0][-1]
    np.testing.assert_allclose(found, y.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::timelike.train.NotLearnedWarning")  # nothing moves
@pytest.mark.parametrize("codec", ["perceptron", "dcgan"])
def test_the_learned_deviation_of_images_is_at_least_five_grey_levels(codec):
    images = np.zeros((6, 12, 1, 16, 16))
    images[..., 4:8, 4:8] = 1.0  # which a network draws perfectly
    model = srvp(**SMALL | {"codec": codec, "max_steps": 60, "learning_rate": 0.05}).fit(images)
    assert 0.02 <= model.network_.observation_std.item() < 0.2


def test_the_learned_deviation_has_a_least_value_where_nothing_is_left():
    model = srvp(**SMALL | {"max_steps": 40, "learning_rate": 0.05}).fit(np.ones((6, 12, 2)))
    assert 1e-3 <= model.network_.observation_std.item() < 0.2
    assert np.isfinite(model.elbo(np.ones((2, 12, 2))).elbo).all()


def test_a_longer_horizon_changes_no_earlier_step(fitted, swings):
    short, long = (fitted.predict(swings[:3, :9], h, n_samples=4, random_state=1).samples for h in (3, 8))
    np.testing.assert_array_equal(long[:, :, :3], short)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1e9), (1e60, 0.0), (1e-100, -5e-100)])
def test_numbers_far_from_one_keep_their_digits(swings, scale, offset):
    far = swings * scale + offset
    model = srvp(**SMALL).fit(far)
    found = np.stack(list(model.reconstruct(far)))  # futures have other noise, as every past has its own
    np.testing.assert_allclose(
        (found - offset) / scale, np.stack(list(srvp(**SMALL).fit(swings).reconstruct(swings))), atol=2e-3
    )
    samples = model.predict(far[:3, :9], 4, n_samples=2).samples
    assert samples.dtype == np.float64
    assert np.ptp((samples - offset) / scale) > 0.01


def test_a_deviation_that_is_given_stays(swings):
    model = srvp(**SMALL | {"observation_std": 0.3}).fit(swings)
    assert model.network_.observation_std.item() == pytest.approx(0.3)


def test_states_codes_and_reconstructions(fitted, swings):
    assert fitted.states(swings[:2]).shape == (2, 24, 4)
    assert fitted.encode(swings[:2]).shape == (2, 7)
    again = fitted.reconstruct(swings[:2])
    assert again.shape == (2, 24, 2)
    between = fitted.interpolate(swings[0], swings[1], steps=3)
    assert between.shape == (3, 24, 2)
    np.testing.assert_allclose(between[0], again[0], rtol=1e-6)
    np.testing.assert_allclose(between[2], again[1], rtol=1e-6)


def test_a_swap_with_oneself_is_a_prediction(fitted, swings):
    past = swings[:2, :9]
    swapped = fitted.swap(past, past.copy(), 4, n_samples=3, random_state=5).samples
    np.testing.assert_array_equal(swapped, fitted.predict(past, 4, n_samples=3, random_state=5).samples)
    other = fitted.swap(past[::-1], past, 4, n_samples=3, random_state=5).samples
    assert not np.array_equal(other, swapped)


@pytest.mark.parametrize("codec", ["dcgan", "vgg", "resnet", "perceptron"])
@pytest.mark.parametrize("skips", [False, True])
def test_pictures_of_every_codec(clips, codec, skips):
    model = srvp(codec=codec, skips=skips and codec != "perceptron", **SMALL | {"max_steps": 2}).fit(clips)
    found = model.predict(clips[:2], 3, n_samples=2).samples
    assert found.shape == (2, 2, 3, 1, 8, 8)
    assert found.min() >= 0
    assert found.max() <= 1
    assert model.uses_sigmoid_


def test_masked_cells_are_not_forecast(clips):
    masked = clips.copy()
    masked[..., 2:4, 3] = np.nan
    found = srvp(**SMALL | {"max_steps": 2}).fit(masked).predict(masked[:2], 3).mean
    assert np.isnan(found[..., 2:4, 3]).all()
    assert np.isfinite(np.delete(found, 3, axis=-1)).all()


@pytest.mark.parametrize("motion", ["residual", "perceptron", "gru"])
def test_every_motion_is_saved_and_loaded(swings, motion, tmp_path):
    model = srvp(motion=motion, **SMALL).fit(swings).calibrate(swings)
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(swings[:2, :9], 3).samples, model.predict(swings[:2, :9], 3).samples)
    np.testing.assert_array_equal(again.calibration_.errors, model.calibration_.errors)


def test_what_cannot_be_is_said(fitted, swings, clips):
    with pytest.raises(ValueError, match="frames_per_step=2 does not divide the 1 substeps of a step: give substeps=2"):
        fitted.predict(swings[:, :9], 2, frames_per_step=2)
    with pytest.raises(ValueError, match="motion='gru' moves a whole step at a time"):
        srvp(motion="gru", **SMALL).fit(swings).predict(swings[:, :9], 2, frames_per_step=2, substeps=2)
    with pytest.raises(ValueError, match="substeps=2: motion='gru' moves a whole step at a time"):
        srvp(motion="gru", substeps=2, **SMALL).fit(swings)
    with pytest.raises(ValueError, match="this SRVP needs at least 5$"):
        fitted.predict(swings[:, :3], 2)
    with pytest.raises(ValueError, match="all training values of this SRVP lie in"):
        srvp(**SMALL | {"max_steps": 1}).fit(clips).predict(clips * 255, 2)
    with pytest.raises(ValueError, match="expected one each, of one length"):
        fitted.interpolate(swings[0], swings[1][:10])
    with pytest.raises(ValueError, match="is for images"):
        srvp(codec="vgg", **SMALL).fit(swings)


def test_it_learns_oscillations():
    rng = np.random.default_rng(0)
    series = np.sin(np.arange(50)[:, None] / 4 + rng.uniform(0, 6, (60, 1, 3))) * rng.uniform(0.5, 1.5, (60, 1, 3))
    model = srvp(max_steps=250, observation_std=0.1, batch_size=32, random_state=0, progress=False).fit(series[:50])
    past, truth = series[50:, :30], series[50:, 30:]
    found = np.mean((model.predict(past, 20, n_samples=10).mean - truth) ** 2)
    still, mean = np.mean((past[:, -1:] - truth) ** 2), np.mean((series[:50].mean((0, 1)) - truth) ** 2)
    assert found < 0.5 * min(still, mean)


# --- futures beside loops ----------------------------------------------------------------------------------------------


@pytest.fixture
def noises(monkeypatch):
    """The noise that futures were drawn with, (sample × item, …), by the order in which it was."""
    from timelike.forecast.srvp import rollout

    drawn, known = rollout._sample_noise, []
    monkeypatch.setattr(rollout, "_sample_noise", lambda *given: known.append(drawn(*given)) or known[-1])
    return known


def naive_futures(model, pasts, noises, horizon, frames, parts, contents=None):
    """(sample, item, frame, …) from the last frames of every past, one future after the other."""
    network, size = double_precision_copy(model.network_), model.conditioning
    mean, scale = (torch.as_tensor(moment, dtype=torch.float64) for moment in model.scaler_)
    (first, random, _), found = noises[0], []
    random = random.reshape(len(first), -1, network.n_random)
    for row in range(len(first)):
        past = (torch.from_numpy(pasts[row % len(pasts)][-size:]) - mean) / scale
        given = [past, min(model.inference.n_content_frames, size), first[row], random[row], horizon, frames, parts]
        if contents is not None:
            given.append((torch.from_numpy(contents[row % len(pasts)][-size:]) - mean) / scale)
        with torch.no_grad():
            future = naive.future(network, *given)
        found.append((future if network.use_sigmoid else future * scale + mean).numpy())
    return np.stack(found).reshape(-1, len(pasts), *found[0].shape)


@pytest.mark.parametrize(
    ("trained", "frames", "asked"),
    [(1, 1, None), (2, 1, None), (2, 2, None), (2, 2, 4), (1, 1, 3), (2, 1, 1), (1, 4, 4)],
)
def test_only_the_future_is_moved_at_another_step_than_in_training(swings, noises, trained, frames, asked):
    """With a past of five frames, whose four steps would end elsewhere if they were divided otherwise."""
    model = srvp(substeps=trained, gain=1.5, **SMALL | {"n_content_frames": 3}).fit(swings)  # small moves would hide it
    pasts = swings[:3, :9]
    found = model.predict(pasts, 3, n_samples=2, frames_per_step=frames, substeps=asked, random_state=0).samples
    parts = trained if asked is None else asked
    expected = naive_futures(model, pasts, noises, 3, frames, parts)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    if parts != trained:
        double_precision_copy(model.network_).substeps = parts
        assert np.abs(naive_futures(model, pasts, noises, 3, frames, parts) - expected).max() > 1e-3


@pytest.mark.parametrize("skips", [True, False])
def test_futures_have_the_skips_of_the_last_frame_and_the_content_of_the_last_frames(clips, noises, skips):
    model = srvp(codec="dcgan", skips=skips, gain=1.5, **SMALL | {"conditioning": 4, "n_content_frames": 2}).fit(clips)
    pasts = clips[:2, :7]
    found = model.predict(pasts, 2, n_samples=2, random_state=0).samples
    np.testing.assert_allclose(found, naive_futures(model, pasts, noises, 2, 1, 1), rtol=1e-5, atol=1e-5)


def test_another_first_frame_leaves_the_content_and_another_last_one_does_not(clips):
    """Of five frames the first one is no part of w or of the skips, so that codes of a past alone say nothing new."""
    model = srvp(codec="dcgan", skips=True, **SMALL | {"n_content_frames": 2}).fit(clips)
    rollout, frames = model._make_rollout(), model._double_frames(tl.Sequences(clips[:1, :5]))
    content = rollout.encode_frames(frames)[1]
    for changed, same in ((0, True), (2, True), (3, False), (4, False)):
        other = frames.clone()
        other[:, changed] += 0.5
        found = rollout.encode_frames(other)[1]
        assert torch.equal(found.code, content.code) == same
        skips = [torch.equal(one, two) for one, two in zip(found.skips, content.skips, strict=True)]
        assert skips == [changed != 4] * len(skips)


@pytest.mark.parametrize("pictures", [False, True])
def test_a_swap_has_the_content_of_one_past_and_the_states_of_the_other(swings, clips, noises, pictures):
    how = {"codec": "dcgan", "skips": True} if pictures else {}
    X = clips if pictures else swings
    model = srvp(gain=1.5, **SMALL | how | {"conditioning": 3, "n_content_frames": 2}).fit(X)
    contents, dynamics = X[:2, :6], X[3:5, 1:8]
    found = model.swap(contents, dynamics, 2, n_samples=2, random_state=0).samples
    expected = naive_futures(model, dynamics, noises, 2, 1, 1, contents)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("substeps", "pictures"), [(1, False), (3, False), (2, True)])
def test_a_reconstruction_is_that_of_loops(swings, clips, substeps, pictures):
    how = {"codec": "dcgan", "skips": True} if pictures else {}
    X = clips if pictures else swings
    model = srvp(gain=1.5, substeps=substeps, **SMALL | how | {"n_content_frames": 2}).fit(X)
    mean, scale = (torch.as_tensor(moment, dtype=torch.float64) for moment in model.scaler_)
    with torch.no_grad():
        found = naive.reconstruction(double_precision_copy(model.network_), (torch.from_numpy(X[1]) - mean) / scale, 2)
    expected = found if model.uses_sigmoid_ else found * scale + mean
    np.testing.assert_allclose(model.reconstruct(X[1:2])[0], expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("frame", "weight", "chunk"), [((1, 8, 8), 10.0, 15), ((3,), 1.0, 25)])
def test_images_weigh_the_divergences_of_z_more_and_have_shorter_chunks(frame, weight, chunk):
    X = np.random.default_rng(0).random((4, 30, *frame))
    model = tl.SRVP(max_steps=1, progress=False, random_state=0).fit(X)
    objective = model._make_chunk_objective(model.chunk_, model._pack_frames(tl.Sequences(X)), None, None)
    assert (objective.beta, model.chunk_) == (weight, chunk)
    assert tl.SRVP(beta=3.0)._divergence_weight() == 3.0


@pytest.mark.parametrize(("pictures", "frames_per_step"), [(False, 1), (True, 1), (False, 2)])
def test_states_of_long_forecasts_are_those_of_their_own_frames(swings, clips, monkeypatch, pictures, frames_per_step):
    """Without noise the frames after the trained length continue those before it, with the content of the past."""
    from timelike.forecast.srvp import rollout

    how = {"codec": "dcgan"} if pictures else {"substeps": 2}
    options = SMALL | how | {"conditioning": 3, "n_content_frames": 3, "chunk": 7, "reencode": True}
    model = srvp(gain=1.5, **options).fit(clips if pictures else swings)
    quiet = rollout._sample_noise
    monkeypatch.setattr(rollout, "_sample_noise", lambda *given: tuple(torch.zeros_like(one) for one in quiet(*given)))
    past = (clips if pictures else swings)[:2, :3]
    forecast = model.predict(past, 8, frames_per_step=frames_per_step).mean
    near, far = forecast[:, : 4 * frames_per_step], forecast[:, 4 * frames_per_step :]
    recent = near[:, frames_per_step - 1 :: frames_per_step][:, -3:]
    again = model.swap(past, recent, 4, frames_per_step=frames_per_step).mean
    np.testing.assert_allclose(far, again, rtol=1e-4, atol=1e-5)
    plain = srvp(gain=1.5, **options | {"reencode": False}).fit(clips if pictures else swings)
    assert (
        np.abs(plain.predict(past, 8, frames_per_step=frames_per_step).mean[:, 4 * frames_per_step :] - far).max()
        > 1e-4
    )


def test_states_are_not_inferred_again_with_delays_or_drift(swings):
    for experimental in (Experimental(delays=True), Experimental(drift=0.1)):
        with pytest.raises(ValueError, match="reencode=True infers states from forecast frames, and delays or drift"):
            tl.SRVP(inference=Inference(reencode=True), experimental=experimental).fit(swings)


@pytest.mark.parametrize(("conditioning", "chunk", "every"), [(3, 8, 5), (5, 7, 5), (4, 8, 4)])
def test_both_ways_differ_where_they_are_compared(swings, conditioning, chunk, every, monkeypatch):
    """States are inferred from `conditioning` forecast frames, so not sooner, even if fewer steps were trained."""
    from timelike.forecast import reencoding

    compared = []
    error = reencoding._squared_error
    monkeypatch.setattr(reencoding, "_squared_error", lambda *given: compared.append(error(*given)) or compared[-1])
    options = SMALL | {"conditioning": conditioning, "chunk": chunk, "reencode": None}
    model = srvp(gain=1.5, **options).fit(swings)
    assert model._reencode_steps() == every
    assert len(set(compared)) == 2
    near, far = (model.predict(swings[:3, :conditioning], every + 3, random_state=0).samples for _ in range(2))
    np.testing.assert_array_equal(near, far)
