"""What is experimental in SRVP: bounds beside loops and exact evidence, gradients, and answers that stay right."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import timelike as tl
from latent_options import srvp, srvp_network
from naive import srvp_experimental as naive
from timelike.forecast import Experimental
from timelike.forecast.base import ForecastRequest
from timelike.forecast.codecs.base import Content
from timelike.forecast.srvp.experimental import MIN_DELAY, ContentDrift
from timelike.forecast.srvp.gaussian import DiagonalGaussian
from timelike.forecast.srvp.objective import SRVPObjective, compute_bound
from timelike.forecast.srvp.rollout import repeat_content, sample_content_drift, sample_delayed_states
from timelike.train import Batch, Trainer
from toys import SRVP as SMALL

SIZES = {"conditioning": 2, "n_state": 3, "n_random": 2, "n_content": 3, "n_code": 4, "hidden": 5, "motion_hidden": 6}
VARIANTS = {
    "delays": {"delays": True},
    "drift": {"drift": 0.2},
    "both": {"delays": True, "drift": 0.2},
    "merged": {"invariance_weight": 1.0, "autoencoding_weight": 1.0},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(scope="module")
def swings():
    rng = np.random.default_rng(0)
    return np.sin(np.arange(24)[:, None] / 3 + rng.uniform(0, 6, (12, 1, 2))) + 2


@pytest.fixture(scope="module")
def fitted(swings):
    known = {}

    def find(variant):
        if variant not in known:
            known[variant] = srvp(**SMALL | VARIANTS[variant]).fit(swings)
        return known[variant]

    return find


def network_of(seed=0, **how):
    torch.manual_seed(seed)
    network = srvp_network(2, observation_std=0.7, **SIZES | how).double()
    for weight in network.parameters():  # what begins at 0 would hide what it multiplies
        if weight.requires_grad and not weight.abs().sum():
            torch.nn.init.normal_(weight, std=0.3)
    if network.content_drift is not None:
        torch.nn.init.normal_(network.content_drift.posterior_head.bias, std=0.5)
    return network


class Noise:
    """Noise in the order in which it is drawn."""

    def __init__(self, *given):
        self.given = list(given)

    def __call__(self, shape, like, generator=None):
        found = self.given.pop(0)
        assert tuple(found.shape) == tuple(shape)
        return found


def draws(monkeypatch, *given):
    monkeypatch.setattr("timelike.forecast.srvp.objective.standard_normal_noise", Noise(*given))


def seen_by(network, x, chosen):
    codes, seen = network.encode_frames(x)
    return codes, network.encode_content(codes, chosen, seen, torch.zeros(len(x), dtype=torch.int64))


def objective_of(network, experimental, *, n_content_frames=2, beta=1.0, motion_penalty=0.0, **more):
    trainer = Trainer(batch_size=4, learning_rate=1.0)
    sizes = {"n_content_frames": n_content_frames, "beta": beta, "motion_penalty": motion_penalty}
    return SRVPObjective(network, None, trainer=trainer, experimental=experimental, **sizes, **more)


CHOSEN = torch.tensor([[0, 1], [1, 1], [1, 0], [0, 0]])


# --- the bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1.0, 2.5])
@pytest.mark.parametrize("usual", [None, 1.0, 0.25, 2.0, 1.3, 40.0])
def test_the_bound_with_delays_is_that_of_loops(monkeypatch, usual, power):
    """With learned delays; with delays of exactly one frame, two, the least, and longer than the sequence."""
    network = network_of(delays=True, max_delay=5.0)
    if usual is not None:
        with torch.no_grad():
            for weight in network.delays.delay_head.parameters():
                weight.zero_()
            network.delays.delay_head.layers[-1].bias.fill_(np.log(np.expm1(usual - 0.25)) if usual > 0.25 else -800.0)
    x = torch.randn(4, 6, 2, dtype=torch.float64)
    first = torch.randn(4, 3, dtype=torch.float64)
    random = torch.randn(4, network.delays.max_events(5), 2, dtype=torch.float64)
    draws(monkeypatch, first, random)
    with torch.no_grad():
        codes, content = seen_by(network, x, CHOSEN)
        found, haste = compute_bound(network, x, codes, content, power=power)
        for i in range(4):
            expected = naive.bound_with_delays(network, x[i], CHOSEN[i].tolist(), first[i], random[i], power)
            parts = torch.stack([*(part[i] for part in found), haste[i]])
            torch.testing.assert_close(parts, torch.tensor(expected, dtype=x.dtype))


def test_the_bound_with_drift_is_that_of_loops(monkeypatch):
    network = network_of(drift=0.3)
    x = torch.randn(4, 6, 2, dtype=torch.float64)
    noises = [torch.randn(4, *shape, dtype=torch.float64) for shape in ((5, 3), (3,), (5, 2))]
    draws(monkeypatch, *noises)
    with torch.no_grad():
        codes, content = seen_by(network, x, CHOSEN)
        found, haste = compute_bound(network, x, codes, content)
        for i in range(4):
            expected = naive.bound_with_drift(network, x[i], CHOSEN[i].tolist(), *(noise[i] for noise in noises))
            parts = torch.stack([part[i] for part in found])
            torch.testing.assert_close(parts, torch.tensor(expected, dtype=x.dtype))
    assert haste.tolist() == [0] * 4


def test_delays_of_one_frame_with_its_posterior_are_srvp(monkeypatch):
    """The state that q also sees is given no weight, and every step lasts one frame."""
    network = network_of(delays=True, max_delay=5.0)
    plain = srvp_network(2, observation_std=0.7, **SIZES).double()
    shared = {name: part for name, part in network.state_dict().items() if not name.startswith("delays")}
    plain.load_state_dict(plain.state_dict() | shared)
    with torch.no_grad():
        network.delays.delay_head.layers[-1].weight.zero_()
    network.delays.random_posterior = lambda heard, t, y: DiagonalGaussian.from_parameters(
        plain.random_head(heard[torch.arange(4), t.round().long() + 1])
    )
    x = torch.randn(4, 6, 2, dtype=torch.float64)
    first, random = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 21, 2, dtype=torch.float64)
    draws(monkeypatch, first, random, first, random[:, :5])
    with torch.no_grad():
        codes, content = seen_by(network, x, CHOSEN)
        (found, haste), (expected, _) = (compute_bound(one, x, codes, content) for one in (network, plain))
    for part, other in zip(found, expected, strict=True):
        torch.testing.assert_close(part, other)
    torch.testing.assert_close(haste, torch.full((4,), 5.0, dtype=torch.float64))


@every_variant
def test_gradients_of_the_loss_are_finite_differences(variant, monkeypatch):
    how = VARIANTS[variant]
    network = network_of(**how, max_delay=5.0)
    if network.delays is not None:  # a step of exactly one frame has another derivative on either side
        network.delays.delay_head.layers[-1].bias.data += 0.13
    x = torch.randn(2, 6, 2, dtype=torch.float64)
    shapes = ([(5, 3)] if network.content_drift else []) + [(3,), (21, 2) if network.delays else (5, 2)]
    noises = [torch.randn(2, *shape, dtype=torch.float64) for shape in shapes]
    further = Experimental(delay_penalty=(0.5, 1.5), **how)
    objective = objective_of(network, further, length=6, beta=2.0, motion_penalty=0.3)
    zeros = torch.zeros(2, dtype=torch.int64)
    batch = Batch(np.arange(2), x=x, chosen=CHOSEN[:2], skip=zeros, at=torch.tensor([0, 4]))

    def loss():
        draws(monkeypatch, *noises)
        return objective.loss(batch)["loss"]

    loss().backward()
    rng = np.random.default_rng(0)
    for name, weight in network.named_parameters():
        if not weight.requires_grad:
            continue
        assert weight.grad is not None, name
        i = int(rng.integers(weight.numel()))
        flat, step = weight.data.view(-1), 1e-6
        before = float(flat[i])
        ends = []
        for sign in (1, -1):
            flat[i] = before + sign * step
            ends.append(float(loss().detach()))
        flat[i] = before
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(float(weight.grad.view(-1)[i]), rel=1e-4, abs=1e-5), (
            name
        )


def test_every_part_of_a_delayed_step_has_a_gradient():
    network = network_of(delays=True, max_delay=5.0)
    x = torch.randn(3, 6, 2, dtype=torch.float64)
    codes, content = seen_by(network, x, CHOSEN[:3])
    compute_bound(network, x, codes, content)[0].likelihood.sum().backward()
    for part in (network.delays.delay_head, network.delays.posterior_head):
        assert all(weight.grad.abs().max() > 0 for weight in part.parameters())


# --- exact evidence ----------------------------------------------------------------------------------------------------


def linear(network, emission, slope):
    """The network as a linear system: frames are emission (w, y), and a step of Euler is slope (y, z)."""
    for layer in network.modules():
        if isinstance(layer, torch.nn.Linear):
            torch.nn.init.zeros_(layer.weight)
            if layer.bias is not None:
                torch.nn.init.zeros_(layer.bias)
    network.decoder.shortcut.weight.data = emission.clone()

    class Moves(torch.nn.Module):
        def forward(self, rows):
            return rows @ slope.T

    network.dynamics = Moves()
    if network.prior is not None:
        one = float(np.log(np.expm1(1.0)))  # N(0, I)
        network.prior.layers[-1].bias.data = torch.tensor([0.0, one], dtype=torch.float64)
    return network


def mean_bound(network, x, content, n_draws=400):
    """The mean over many draws, and four standard errors of it."""
    many = x.expand(n_draws, *x.shape[1:])
    codes = network.encode_frames(many)[0]
    code = content.expand(n_draws, -1)
    with torch.no_grad():
        found = torch.cat([compute_bound(network, many, codes, Content(code, []))[0].elbo for _ in range(20)])
    return float(found.mean()), 4 * float(found.std()) / len(found) ** 0.5


def test_the_bound_with_drift_is_below_exact_evidence_and_reaches_it_but_for_what_independence_costs():
    """x_t = 1.5 w_t + y_t + noise, with a content that walks at random from 0 and a state that decays."""
    drift, observed, n, decay = 0.4, 0.5, 7, -0.2
    network = srvp_network(
        1,
        conditioning=2,
        n_state=1,
        n_random=0,
        n_content=1,
        n_code=1,
        layers=0,
        hidden=4,
        observation_std=observed,
        drift=drift,
    ).double()
    emission = torch.tensor([[1.5, 1.0]], dtype=torch.float64)
    linear(network, emission, torch.tensor([[decay]], dtype=torch.float64))
    rows = torch.zeros(n, n, dtype=torch.float64)  # of y_1 and u_2 … u_n
    for t in range(n):
        rows[t, 0] = (1 + decay) ** t
        rows[t, 1 : t + 1] = 1.5 * drift
    torch.manual_seed(1)
    x = rows @ torch.randn(n, dtype=torch.float64) + observed * torch.randn(n, dtype=torch.float64)
    exact = naive.exact_evidence(x, rows, observed)
    mean, scale, gap = naive.nearest_posterior(x, rows, observed)
    start = torch.zeros(1, 1, dtype=torch.float64)
    assert gap > 0.1

    def bound(shift, wider):
        def whole(part, codes):
            return part.expand(len(codes), *part.shape)

        network.first_state_posterior = lambda codes: DiagonalGaussian(
            whole(mean[:1] + shift, codes), whole(wider * scale[:1], codes)
        )
        slow = mean[1:, None] + shift, wider * scale[1:, None]
        network.content_drift.posterior = lambda codes: DiagonalGaussian(*(whole(part, codes) for part in slow))
        return mean_bound(network, x.reshape(1, n, 1), start)

    best, slack = bound(0.0, 1.0)
    assert slack < gap / 2
    assert best == pytest.approx(exact - gap, abs=slack)
    worse, slack = bound(0.3, 1.5)
    assert worse < exact - gap - slack


@pytest.mark.parametrize("delay", [1.0, 1.7, 0.4])
def test_the_bound_with_delays_is_below_exact_evidence_and_reaches_it_but_for_what_independence_costs(delay):
    """y moves by (z − 0.3 y) per frame, and z ~ N(0, 1) is drawn anew after every delay, which is always the same."""
    observed, n, pull = 0.5, 6, -0.3
    network = srvp_network(
        1,
        conditioning=2,
        n_state=1,
        n_random=1,
        n_content=1,
        n_code=1,
        layers=0,
        hidden=4,
        motion_hidden=4,
        observation_std=observed,
        delays=True,
        max_delay=9.0,
    ).double()
    emission, slope = (torch.tensor([row], dtype=torch.float64) for row in ([0.0, 1.0], [pull, 1.0]))
    linear(network, emission, slope)
    network.delays.delay_head.layers[-1].bias.data.fill_(np.log(np.expm1(delay - MIN_DELAY)))
    n_events = int(np.ceil((n - 1) / delay - 1e-9))
    rows = torch.zeros(n, 1 + n_events, dtype=torch.float64)  # of y_1 and every z
    for t in range(n):
        state = np.zeros(1 + n_events)
        state[0] = 1.0
        for event in range(n_events):
            for_z = np.eye(1 + n_events)[1 + event]
            lasts = min(delay, max(0.0, t - event * delay))
            state = state + lasts * (pull * state + for_z) if lasts > 0 else state
        rows[t] = torch.from_numpy(state)
    torch.manual_seed(1)
    x = rows @ torch.randn(1 + n_events, dtype=torch.float64) + observed * torch.randn(n, dtype=torch.float64)
    exact = naive.exact_evidence(x, rows, observed)
    mean, scale, gap = naive.nearest_posterior(x, rows, observed)

    def bound(shift, wider):
        network.first_state_posterior = lambda codes: DiagonalGaussian(
            (mean[:1] + shift).expand(len(codes), 1), (wider * scale[:1]).expand(len(codes), 1)
        )
        network.delays.random_posterior = lambda heard, t, y: DiagonalGaussian(
            *(
                part[1 + (t / delay).round().long().clamp(max=n_events - 1)][:, None]
                for part in (mean + shift, wider * scale)
            )
        )
        return mean_bound(network, x.reshape(1, n, 1), torch.zeros(1, 1, dtype=torch.float64))

    best, slack = bound(0.0, 1.0)
    assert best == pytest.approx(exact - gap, abs=slack)
    worse, slack = bound(0.3, 1.5)
    assert worse < exact - gap - slack


# --- futures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frames", [1, 3])
def test_futures_with_delays_are_those_of_loops(frames):
    """Two pasts, three samples each: through the past by q, behind its last frame by the prior."""
    network = network_of(delays=True, max_delay=5.0)
    past, horizon = torch.randn(2, 4, 2, dtype=torch.float64), 5
    first, random = (
        torch.randn(6, 3, dtype=torch.float64),
        torch.randn(6, network.delays.max_events(8), 2, dtype=torch.float64),
    )
    times = [3 + (i + 1) / frames for i in range(frames * horizon)]
    request = ForecastRequest(horizon, 3, frames, None, None, np.random.default_rng(0))
    with torch.no_grad():
        codes = network.encode_frames(past)[0]
        y = DiagonalGaussian(*(part.repeat(3, 1) for part in network.first_state_posterior(codes))).sample(first)
        found = sample_delayed_states(network, y, network.lstm_states(codes), random, request)
        for row in range(6):
            expected = naive.states_ahead_with_delays(network, past[row % 2], first[row], random[row], times)
            torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize("frames", [1, 2])
def test_contents_of_futures_are_those_of_loops(frames):
    network = network_of(drift=0.3)
    past, horizon = torch.randn(2, 4, 2, dtype=torch.float64), 3
    noise = torch.randn(6, 3 + horizon, 3, dtype=torch.float64)
    request = ForecastRequest(horizon, 3, frames, None, None, np.random.default_rng(0))
    with torch.no_grad():
        codes, content = seen_by(network, past, CHOSEN[:2])
        found = sample_content_drift(
            network, repeat_content(content, 3), network.content_drift.posterior(codes), noise, request
        ).code
        for row in range(6):
            expected = naive.contents_ahead(network, past[row % 2], CHOSEN[row % 2].tolist(), noise[row], frames)
            torch.testing.assert_close(found[row], expected)


# --- the merged model --------------------------------------------------------------------------------------------------


def test_the_terms_of_separation_are_those_of_loops():
    network = network_of()
    x = torch.randn(4, 6, 2, dtype=torch.float64)
    at = torch.tensor([0, 4, 2, 3])
    objective = objective_of(network, Experimental(invariance_weight=3.0, autoencoding_weight=5.0), length=6)
    zeros = torch.zeros(4, dtype=torch.int64)
    batch = Batch(np.arange(4), x=x, chosen=CHOSEN, skip=zeros, at=at)
    with torch.no_grad():
        torch.manual_seed(5)
        found = objective.loss(batch)
        torch.manual_seed(5)
        bound = objective.evidence_bound(batch)
        changes, again = [], []
        for i in range(4):
            codes = [network.encoder(frame) for frame in x[i]]
            w, last = (
                network.content_layer(sum(network.content_frame_layer(codes[j]) for j in places))
                for places in (CHOSEN[i].tolist(), (4, 5))
            )
            changes.append(0.5 * float(((w - last) ** 2).sum()))
            y = network.state_head(torch.cat(codes[at[i] : at[i] + 2]))[:3]
            again.append(-naive.frame_likelihood(network, x[i, at[i]], w, y))
    assert float(found["invariance"]) == pytest.approx(np.mean(changes))
    assert float(found["autoencoding"]) == pytest.approx(np.mean(again))
    total = -float(bound.elbo.mean()) + 3 * np.mean(changes) + 5 * np.mean(again)
    assert float(found["loss"]) == pytest.approx(total)


def test_the_content_of_a_merged_or_drifting_model_is_learned_from_the_first_window():
    rng = np.random.default_rng(0)
    for network, further in (
        (network_of(drift=0.1), Experimental(drift=0.1)),
        (network_of(), Experimental(invariance_weight=1.0)),
    ):
        objective = objective_of(network, further, length=9, n_content_frames=5)
        found = objective._sample_extras(200, rng)
        assert found["chosen"].shape == (200, 2)
        assert set(found["chosen"].ravel()) == {0, 1}
        assert set(found["at"]) == set(range(8))


# --- off, and on -------------------------------------------------------------------------------------------------------


def test_switched_off_it_is_the_network_and_the_loss_without_them_bit_for_bit():
    torch.manual_seed(0)
    plain = srvp_network(2, **SIZES)
    torch.manual_seed(0)
    off = srvp_network(2, **SIZES, delays=False, drift=0.0)
    assert plain.state_dict().keys() == off.state_dict().keys()
    assert all(torch.equal(one, off.state_dict()[name]) for name, one in plain.state_dict().items())
    batch = Batch(np.arange(4), x=torch.randn(4, 6, 2), chosen=CHOSEN, skip=torch.zeros(4, dtype=torch.int64))
    losses = []
    for network, experimental in ((plain, None), (off, Experimental())):
        torch.manual_seed(1)
        losses.append(objective_of(network, experimental, length=6, beta=2.0, motion_penalty=0.3).loss(batch))
    assert losses[0].keys() == losses[1].keys()
    assert all(torch.equal(one, losses[1][name]) for name, one in losses[0].items())


def test_by_default_nothing_is_experimental(swings):
    model = srvp(**SMALL).fit(swings)
    assert model.experimental is None
    assert model.network_.delays is None
    assert model.network_.content_drift is None


def test_samples_are_the_same_however_many_are_drawn_at_once(fitted, swings, monkeypatch):
    models = [srvp(**SMALL).fit(swings), *map(fitted, VARIANTS)]
    whole = [model.predict(swings[:2, :9], 4, n_samples=7, random_state=1).samples for model in models]
    monkeypatch.setattr("timelike.forecast.srvp.rollout.BLOCK_NUMBERS", 40)
    for model, expected in zip(models, whole, strict=True):
        np.testing.assert_array_equal(model.predict(swings[:2, :9], 4, n_samples=7, random_state=1).samples, expected)


@every_variant
def test_futures_are_drawn_for_each_past_alone_and_among_others(fitted, swings, variant):
    model = fitted(variant)
    among = model.predict(swings[:, :9], 6, n_samples=3, random_state=1).samples
    assert among.shape == (3, 12, 6, 2)
    assert among.std(axis=0).min() > 0
    np.testing.assert_array_equal(among[:, 4:5], model.predict(swings[4:5, :9], 6, n_samples=3, random_state=1).samples)
    np.testing.assert_array_equal(model.encode(swings)[4:5], model.encode(swings[4:5]))


@every_variant
def test_it_is_saved_loaded_and_cloned(fitted, swings, variant, tmp_path):
    model = fitted(variant)
    model.save(tmp_path / "model")
    again, copy = tl.load_model(tmp_path / "model"), clone(model).fit(swings)
    expected = model.predict(swings[:2, :9], 3, n_samples=2, random_state=0).samples
    for other in (again, copy):
        np.testing.assert_array_equal(other.predict(swings[:2, :9], 3, n_samples=2, random_state=0).samples, expected)
        np.testing.assert_array_equal(
            other.elbo(swings[:2], random_state=0).elbo, model.elbo(swings[:2], random_state=0).elbo
        )
    again.fit(swings)  # a loaded model learns again


@every_variant
def test_states_codes_reconstructions_and_what_lies_between(fitted, swings, variant):
    model = fitted(variant)
    states, codes = model.states(swings[:2]), model.encode(swings[:2])
    assert states.shape == (2, 24, 4)
    np.testing.assert_array_equal(codes[:, 3:], np.stack([states[i][-1] for i in range(2)]))
    again, between = model.reconstruct(swings[:2]), model.interpolate(swings[0], swings[1], steps=3)
    np.testing.assert_allclose(between[0], again[0], rtol=1e-6)
    np.testing.assert_allclose(between[2], again[1], rtol=1e-6)
    assert not np.allclose(between[1], between[0])


@every_variant
def test_a_swap_with_oneself_is_a_prediction(fitted, swings, variant):
    past = swings[:2, :9]
    swapped = fitted(variant).swap(past, past.copy(), 4, n_samples=3, random_state=5).samples
    np.testing.assert_array_equal(swapped, fitted(variant).predict(past, 4, n_samples=3, random_state=5).samples)
    assert not np.array_equal(fitted(variant).swap(past[::-1], past, 4, n_samples=3, random_state=5).samples, swapped)


@every_variant
def test_pictures(variant):
    clips = np.random.default_rng(0).random((5, 9, 1, 8, 8))
    model = srvp(codec="dcgan", skips=True, **SMALL | {"max_steps": 2} | VARIANTS[variant]).fit(clips)
    found = model.predict(clips[:2], 3, n_samples=2).samples
    assert found.shape == (2, 2, 3, 1, 8, 8)
    assert np.isfinite(found).all()
    assert np.isfinite(model.elbo(clips).elbo).all()


@every_variant
def test_training_goes_on_where_it_paused(swings, variant, tmp_path):
    how = SMALL | VARIANTS[variant] | {"schedule": "constant"}
    whole = srvp(**how | {"max_steps": 4}).fit(swings)
    srvp(**how | {"max_steps": 2}, checkpoint=tmp_path / "kept").fit(swings)
    resumed = srvp(**how | {"max_steps": 4}, checkpoint=tmp_path / "kept").fit(swings)
    for name, weight in whole.network_.state_dict().items():
        torch.testing.assert_close(resumed.network_.state_dict()[name], weight, rtol=0, atol=0)


def test_the_content_that_is_encoded_is_the_last_one(fitted, swings):
    model = fitted("drift")
    network = model.network_.double()
    try:
        x = model._double_frames(tl.Sequences(swings[:1]))
        codes, start = seen_by(network, x, torch.arange(5)[None])
        with torch.no_grad():
            heard = network.content_drift.lstm(codes)[0][0]
            w = start.code[0]
            for t in range(1, 24):
                w = w + 0.2 * network.content_drift.posterior_head(heard[t])[:3]
    finally:
        network.float()
    np.testing.assert_allclose(model.encode(swings[:1])[0, :3], w.detach().numpy(), rtol=1e-5)


def test_a_drift_begins_as_its_prior_says_so_that_its_divergence_is_0():
    """N(0, I) for every step and whatever was seen: KL = Σ (μ² + σ² − 1) / 2 − log σ = 0."""
    drifting = ContentDrift(n_code=5, n_content=3, hidden=6, deviation=0.2)
    mean, scale = drifting.posterior(torch.randn(4, 7, 5))
    assert mean.shape == scale.shape == (4, 6, 3)
    torch.testing.assert_close(mean, torch.zeros(4, 6, 3))
    torch.testing.assert_close(scale, torch.ones(4, 6, 3))


@every_variant
@pytest.mark.parametrize("numbers", [1, 100])
def test_frames_drawn_a_few_steps_at_a_time_are_those_drawn_at_once(fitted, swings, monkeypatch, variant, numbers):
    model = fitted(variant)
    whole = model.predict(swings[:2, :9], 5, n_samples=3, random_state=1).samples
    monkeypatch.setattr("timelike.forecast.srvp.rollout.BLOCK_NUMBERS", numbers)
    np.testing.assert_array_equal(model.predict(swings[:2, :9], 5, n_samples=3, random_state=1).samples, whole)


def test_futures_whose_content_drifts_scatter_more_the_further_they_are(fitted, swings):
    """By √h, where nothing else is random: a decoder that shows the content alone."""
    model = srvp(**SMALL | {"drift": 0.2, "n_content": 2, "output": "linear", "standardize": False}).fit(swings)
    with torch.no_grad():
        for layer in model.network_.decoder.modules():
            if isinstance(layer, torch.nn.Linear):
                torch.nn.init.zeros_(layer.weight)
                if layer.bias is not None:
                    torch.nn.init.zeros_(layer.bias)
        model.network_.decoder.shortcut.weight[:, :2] = torch.eye(2)
        bias = model.network_.content_drift.posterior_head.bias
        bias.copy_(torch.tensor([0.0, 0.0, -800.0, -800.0]))  # the past says exactly that nothing drifted
        model.network_.content_drift.posterior_head.weight.zero_()
    found = model.predict(swings[:1, :9], 9, n_samples=4000, frames_per_step=1, random_state=0).samples[:, 0]
    np.testing.assert_allclose(found.std(axis=0), 0.2 * np.sqrt(np.arange(1, 10))[:, None] * np.ones(2), rtol=0.06)


def test_frames_between_those_of_a_drifting_content_are_on_the_line(fitted, swings):
    model = srvp(**SMALL | VARIANTS["drift"], substeps=2).fit(swings)
    whole = model.predict(swings[:2, :9], 3, n_samples=2, random_state=1).samples
    finer = model.predict(swings[:2, :9], 3, n_samples=2, frames_per_step=2, random_state=1).samples
    np.testing.assert_allclose(finer[:, :, 1::2], whole, rtol=1e-6)


# --- delays ------------------------------------------------------------------------------------------------------------


def test_with_delays_frames_in_between_need_no_substeps_and_change_nothing(fitted, swings):
    model = fitted("delays")
    whole = model.predict(swings[:2, :9], 4, n_samples=3, random_state=1).samples
    finer = model.predict(swings[:2, :9], 4, n_samples=3, frames_per_step=3, random_state=1).samples
    np.testing.assert_array_equal(finer[:, :, 2::3], whole)
    with pytest.raises(ValueError, match="substeps=2: with delays=True the delays are the steps, expected None"):
        model.predict(swings[:2, :9], 4, substeps=2)


def test_states_between_two_events_are_on_a_line():
    network = network_of(delays=True, max_delay=9.0)
    with torch.no_grad():
        network.delays.delay_head.layers[-1].weight.zero_()
        network.delays.delay_head.layers[-1].bias.fill_(np.log(np.expm1(2.5 - 0.25)))
        y, heard = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 9, 5, dtype=torch.float64)
        times = torch.arange(0, 8.5, 0.5, dtype=torch.float64)
        walk = network.delays.sample_path(network, y, heard, times, torch.randn(3, 40, 2, dtype=torch.float64))
    torch.testing.assert_close(walk.starts, torch.tensor([[0.0, 2.5, 5.0, 7.5]] * 3, dtype=torch.float64))
    bends = walk.states.diff(dim=1).diff(dim=1).norm(dim=2) > 1e-9  # in the middle of three times
    assert bends.all(0).nonzero().flatten().tolist() == [4, 9, 14]
    assert bends.any(0).sum() == 3


def test_no_frame_falls_between_two_steps_by_rounding():
    """In single precision t + τ may round to a frame although τ is less than what is left to it."""
    torch.manual_seed(0)
    network = srvp_network(2, **SIZES, delays=True, max_delay=20.0)
    t = torch.rand(100000) / 2 + 0.25
    left = torch.nextafter(3 - t, torch.zeros(()))
    bad = (t + left == 3).nonzero()[0]  # although left < 3 − t
    given = iter([t[bad], left[bad], torch.ones(1), torch.ones(1)])
    network.delays.predict_delay = lambda y, z: next(given)
    with torch.no_grad():
        states = network.delays.sample_path(
            network, torch.randn(1, 3), torch.randn(1, 6, 5), torch.arange(6.0), None
        ).states
    assert bool(states.isfinite().all())


def test_events_are_when_z_is_drawn_anew(fitted, swings):
    found = fitted("delays").events(swings[:3])
    assert len(found) == 3
    for starts in found:
        assert starts[0] == 0
        assert starts[-1] < 23
        assert np.diff(starts).min() >= MIN_DELAY
    assert srvp(**SMALL).fit(swings).events(swings[:1])[0].tolist() == list(range(23))


@pytest.mark.filterwarnings("ignore::timelike.train.NotLearnedWarning")  # nothing else counts beside such a cost
def test_a_haste_that_costs_much_makes_delays_longer(swings):
    how = SMALL | {"max_steps": 20, "learning_rate": 0.02}
    counts = [
        len(srvp(delays=True, delay_penalty=(weight, 1.0), **how).fit(swings).events(swings[:1])[0])
        for weight in (0.0, 300)
    ]
    assert counts[1] < counts[0] / 2


# --- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delays": True, "n_random": 0}, "delays=True with n_random=0"),
        ({"delays": True, "motion": "gru"}, "motion='gru'.*expected n_random of at least 1, motion='residual'"),
        ({"delays": True, "substeps": 2}, "substeps=2: expected"),
        ({"drift": 0.1, "n_content": 0}, "drift=0.1 needs a content, and n_content=0 leaves it out"),
        ({"autoencoding_weight": 1, "n_content": 0}, "autoencoding_weight=1 needs a content"),
        (
            {"drift": 0.1, "invariance_weight": 2.0},
            "drift=0.1 lets the content change, and invariance_weight=2 keeps it constant",
        ),
        (
            {"delay_penalty": (1.0, 0.0)},
            r"delay_penalty=\(1.0, 0.0\): expected a weight of at least 0 and a power above 0",
        ),
        ({"delay_penalty": 1.0}, "delay_penalty=1.0: expected a weight"),
        ({"drift": -0.1}, "drift=-0.1"),
    ],
)
def test_options_that_exclude_each_other_are_refused(swings, options, said):
    with pytest.raises(ValueError, match=said):
        srvp(**SMALL | options).fit(swings)
