"""Scenes of one spot, the rivals of SRVP on them (SVG, and principal components with ridge regression), and the page."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from benchmarks.papers.srvp import pca_ridge, scene_clips, scenes, svg
from torch.distributions import Normal, kl_divergence

import timelike as tl
from timelike.forecast import codecs

# --- scenes, beside a walk in many small steps


def walk(name, start, length, size, parts=4000):
    """Positions of one spot, by steps of 1/4000 frame that are undone where they leave the box."""
    low, high = scene_clips.box(size)
    place, velocity, angles = start.position.copy(), start.velocity.copy(), iter(start.angles)
    speed, found = np.hypot(*velocity), [place.copy()]
    for step in range((length - 1) * parts):
        if name == "ball":
            velocity[1] += scene_clips.GRAVITY / parts
        place = place + velocity / parts
        for axis in (0, 1):
            inwards = float(place[axis] < low) - float(place[axis] > high)
            if not inwards or inwards * velocity[axis] > 0:
                continue
            place[axis] = low if inwards > 0 else high
            if name == "random dot":
                angle = next(angles)
                velocity[axis], velocity[1 - axis] = inwards * speed * np.cos(angle), speed * np.sin(angle)
            else:
                velocity[axis] *= -scene_clips.RESTITUTION if (name, axis) == ("ball", 1) else -1
        if (step + 1) % parts == 0:
            found.append(place.copy())
    return np.array(found)


@pytest.mark.parametrize("name", scene_clips.SCENES)
def test_a_path_is_that_of_a_walk_in_small_steps(name):
    n, length, size = 4, 30, 16
    scene = scene_clips.SCENES[name]
    start = scene.start(n, length, size, np.random.default_rng(3))
    paths = scene.path(start, np.arange(float(length)), size)
    for item in range(n):
        one = scene_clips.Start(*(part[item] for part in start))
        np.testing.assert_allclose(paths[item], walk(name, one, length, size), atol=0.02)
    assert np.abs(np.diff(paths, 2, axis=1)).max() > 0.5  # something bounced


@pytest.mark.parametrize("name", scene_clips.SCENES)
def test_a_spot_stays_in_its_box_however_long_it_moves(name):
    scene = scene_clips.SCENES[name]
    paths = scene.path(scene.start(50, 400, 16, np.random.default_rng(0)), np.arange(400.0), 16)
    assert paths.shape == (50, 400, 2)
    assert np.isfinite(paths).all()
    assert paths.min() >= 2
    assert paths.max() <= 13
    if name == "random dot":  # never faster than its speed, and as fast between bounces
        steps = np.linalg.norm(np.diff(paths, axis=1), axis=2)
        assert steps.max() < 1.6 + 1e-9
        np.testing.assert_allclose(np.median(steps, axis=1), steps.max(axis=1), rtol=1e-6)


def test_a_ball_loses_energy_at_the_floor_alone_and_rolls_in_the_end():
    start = scene_clips.start_ball(20, 1, 16, np.random.default_rng(1))
    rows = scene_clips.falling_path(start, np.linspace(0, 400, 8001), 16)[..., 1]
    highest = [rows[:, part * 1000 : (part + 1) * 1000].min(axis=1) for part in range(8)]
    assert all((later >= earlier - 1e-9).all() for earlier, later in pairwise(highest))
    np.testing.assert_allclose(rows[:, -1], 13)


def test_pictures_show_spots_where_they_are():
    shown = scene_clips.clips("dot", 3, 6, size=16, seed=5)
    assert shown.shape == (3, 6, 1, 16, 16)
    assert shown.dtype == np.float32
    scene = scene_clips.SCENES["dot"]
    paths = scene.path(scene.start(3, 6, 16, np.random.default_rng(5)), np.arange(6.0), 16)
    mass, cells = shown.sum((2, 3, 4)), np.arange(16)
    np.testing.assert_allclose((shown.sum((2, 3)) * cells).sum(-1) / mass, paths[..., 0], atol=0.05)
    np.testing.assert_allclose((shown.sum((2, 4)) * cells).sum(-1) / mass, paths[..., 1], atol=0.05)
    assert not np.array_equal(shown, scene_clips.clips("dot", 3, 6, seed=6))


# --- SVG


@pytest.mark.parametrize("codec", [codecs.DCGAN(filters=4), codecs.MLP(hidden=8), "auto"])
def test_samples_have_the_shape_of_their_future(codec):
    shown = scene_clips.clips("dot", 8, 10)
    model = svg.SVG(codec=codec, hidden=8, n_code=6, n_random=2, batch_size=4, max_steps=2).fit(lambda rng: shown)
    samples = model.predict(shown[:3, :5], 4, n_samples=2)
    assert samples.shape == (2, 3, 4, 1, 16, 16)
    assert model.predict(shown[:3, :1], 2).shape == (1, 3, 2, 1, 16, 16)
    assert samples.min() >= 0
    assert samples.max() <= 1
    assert {"error", "random_kl"} <= set(model.history_)


def test_samples_differ_between_seeds_alone():
    shown = scene_clips.clips("random dot", 8, 10)
    model = svg.SVG(codec="dcgan", hidden=8, n_code=6, max_steps=2).fit(lambda rng: shown)
    past = shown[:2, :5]
    one, again, other = (model.predict(past, 3, n_samples=2, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other, rtol=0, atol=1e-7)
    assert not np.allclose(one[0], one[1], rtol=0, atol=1e-7)


def test_the_divergence_is_that_of_torch():
    torch.manual_seed(0)
    one, prior = (svg.Normal(*torch.randn(2, 4, 3, 5, dtype=torch.float64)) for _ in range(2))
    made = [Normal(part.mean, (0.5 * part.log_variance).exp()) for part in (one, prior)]
    torch.testing.assert_close(one.kl_divergence(prior), kl_divergence(*made).sum(-1))
    assert one.kl_divergence(one).abs().max() < 1e-12


def test_a_sample_is_the_mean_and_a_deviation_times_the_noise():
    normal = svg.Normal(torch.tensor([1.0]), torch.tensor([4.0]).log())
    torch.testing.assert_close(normal.sample(torch.tensor([0.5])), torch.tensor([2.0]))


def test_the_prior_sees_no_frame_that_it_is_asked_about():
    """Frames and divergences up to t do not depend on frames after t; those at t do, by the posterior."""
    torch.manual_seed(0)
    network = svg.SVGNetwork((1, 16, 16), codecs.DCGAN(filters=2), 6, 3, 8).eval()
    x, noise = torch.rand(2, 6, 1, 16, 16), torch.randn(2, 5, 3)
    changed = x.clone()
    changed[:, 4:] = torch.rand(2, 2, 1, 16, 16)
    with torch.no_grad():
        (frames, kl), (frames_there, kl_there) = network(x, noise), network(changed, noise)
    torch.testing.assert_close(frames[:, :3], frames_there[:, :3])
    torch.testing.assert_close(kl[:, :3], kl_there[:, :3])
    assert not torch.allclose(kl[:, 3], kl_there[:, 3])
    with torch.no_grad():
        prior = network.prior(network.encode(x)[:, :-1])[0].mean
        prior_there = network.prior(network.encode(changed)[:, :-1])[0].mean
    torch.testing.assert_close(prior[:, :4], prior_there[:, :4])


def test_a_rollout_in_steps_is_that_of_whole_sequences():
    """With its own frames as the truth, the network at once gives the frames that it drew one by one."""
    torch.manual_seed(0)
    network = svg.SVGNetwork((1, 16, 16), codecs.DCGAN(filters=2), 6, 3, 8).eval()
    for gaussian in (network.posterior, network.prior):
        with torch.no_grad():
            gaussian.head.weight.zero_()
            gaussian.head.bias.zero_()
            gaussian.head.bias[3:] = -40.0  # z is 0
    past = torch.rand(2, 3, 1, 16, 16)
    with torch.no_grad():
        future = network.sample(past, 4, torch.Generator().manual_seed(0))
        whole = network(torch.cat([past, future], dim=1), torch.zeros(2, 6, 3))[0]
    torch.testing.assert_close(future, whole[:, 2:], rtol=1e-4, atol=1e-5)


def test_svg_learns_a_spot_that_stays():
    def still(rng):
        places = rng.integers(4, 12, (64, 1, 2)).repeat(8, axis=1)
        return scene_clips.draw_spots(places.astype(float), 16)

    model = svg.SVG(codec="dcgan", max_steps=150, learning_rate=5e-3, n_code=16, hidden=32).fit(still)
    losses = model.history_.losses
    assert losses[-10:].mean() < 0.3 * losses[:3].mean()
    clip = still(np.random.default_rng(9))
    forecast = model.predict(clip[:, :5], 3)[0]
    assert np.square(forecast - clip[:, 5:]).mean() < 0.5 * np.square(clip[:, 5:] - clip.mean()).mean()


def test_a_codec_with_skips_is_refused():
    with pytest.raises(ValueError, match="skips=False"):
        svg.SVGNetwork((1, 16, 16), codecs.DCGAN(skips=True), 6, 3, 8)


# --- principal components and ridge regression


def waves(n, length=16):
    """Pictures that follow exactly from two frames before them."""
    rng = np.random.default_rng(0)
    phase, patterns = rng.uniform(0, 6, (n, 1, 2)), rng.standard_normal((2, 16))
    codes = np.sin(np.array([0.3, 0.5]) * np.arange(length)[:, None] + phase)
    return (codes @ patterns).reshape(n, length, 1, 4, 4).astype(np.float32)


def test_linear_pictures_are_forecast_by_their_components():
    clips = waves(60)
    model = pca_ridge.PCARidge(components=(1, 2), lags=4).fit(clips[:50])
    assert model.n_components_ == 2
    forecast = model.predict(clips[50:, :4], 12)
    assert forecast.shape == (10, 12, 1, 4, 4)
    np.testing.assert_allclose(forecast, clips[50:, 4:], atol=0.02)


def test_a_forecast_one_step_ahead_is_that_of_least_squares_on_pixels():
    """With all components the codes are a rotation, so that the fit is that of pixels where the penalty is small."""
    rng = np.random.default_rng(1)
    clips = rng.standard_normal((200, 4, 1, 2, 2)).cumsum(axis=1).astype(np.float32)
    model = pca_ridge.PCARidge(components=(4,), lags=1).fit(clips)
    rows = clips.reshape(200, 4, 4).astype(np.float64)
    before, after = rows[:, :-1].reshape(-1, 4), rows[:, 1:].reshape(-1, 4)
    weights = np.linalg.lstsq(np.c_[before, np.ones(len(before))], after, rcond=None)[0]
    expected = np.c_[rows[:, 2], np.ones(200)] @ weights
    np.testing.assert_allclose(model.predict(clips[:, :3], 1).reshape(200, 4), expected, atol=0.05)


# --- scores and the page


def test_scores_are_those_of_their_formulas():
    rng = np.random.default_rng(0)
    truth, samples = rng.random((3, 25, 1, 12, 12)), rng.random((12, 3, 25, 1, 12, 12))
    samples[4, 1] = truth[1]
    found = scenes.picture_scores(truth, samples)
    assert found["mse 20"] == pytest.approx(np.mean((samples.mean(0) - truth)[:, :20] ** 2))
    assert found["mse 25"] == pytest.approx(np.mean((samples.mean(0) - truth) ** 2))
    best = tl.score.best_of_n(truth[:, :20], samples[:10, :, :20], "ssim")
    assert found["ssim best"] == pytest.approx(best)
    assert found["ssim mean"] == pytest.approx(tl.score.ssim(truth[:, :20], samples[:10, :, :20].mean(0)))
    assert found["ssim one"] == pytest.approx(tl.score.ssim(truth[:, :20], samples[0, :, :20]))
    assert found["sharpness"] == pytest.approx(1, abs=0.01)
    assert "ssim best" not in scenes.picture_scores(truth, samples[:1])


def test_a_long_forecast_is_judged_by_its_last_tenth():
    truth = scene_clips.clips("dot", 4, 40)
    assert scenes.rollout_scores(truth, truth) == {"finite": 1, "movement": 1.0, "mass": 1.0}
    forecast = truth.copy()
    forecast[:, -4:] = 0.5 * truth[:, -4:]
    half = scenes.rollout_scores(truth, forecast)
    assert half["movement"] == pytest.approx(0.25)
    assert half["mass"] == pytest.approx(0.5)
    forecast[:, -4:] = forecast[:, -4:-3]
    assert scenes.rollout_scores(truth, forecast)["movement"] == 0
    assert scenes.rollout_scores(truth, np.where(truth > 0.9, np.nan, truth)) == {"finite": 0}


def test_a_chunk_is_a_window_of_its_clip():
    train = scene_clips.clips("dot", 5, 30)
    found = scenes.chunks(train, np.random.default_rng(0))
    assert found.shape == (5, 25, 1, 16, 16)
    for clip, chunk in zip(train, found, strict=True):
        assert any(np.array_equal(chunk, clip[start : start + 25]) for start in range(6))


def made_row(method, scene, seed=0, error=0.01, **more):
    known = {"seconds": 1.0, "machine": "a machine", "date": "2026-01-01", "version": "0", "commit": "0"}
    scores = {"mse 20": error, "mse 25": error, "ssim one": 0.5, "sharpness": 1.0, "finite": 1, "movement": 0.1}
    return known | scores | {"dataset": scene, "method": method, "seed": seed} | more


def test_the_page_says_which_targets_are_met_by_seed():
    ours = {"ssim best": 0.8, "ssim mean": 0.7, "coverage": 0.8, "movement": 1.1, "mass": 1.0, "minutes": 5.0}
    found = [made_row("SRVP", "dot", seed, error, **ours) for seed, error in enumerate((0.004, 0.009))]
    found += [made_row("PCA + ridge", "dot", seed, 0.008) for seed in (0, 1)]
    found += [made_row("ConvLSTM", "dot", 0, 0.003)]
    program = scenes.Scenes.of_rows({str(place): row for place, row in enumerate(found)})
    body, headline = program.body(), program.headline()
    told = (
        "| dot | error below PCA + ridge | 1 of 2 | met (0.00400 beside 0.00800) · NOT met (0.00900 beside 0.00800) |"
    )
    assert told in body
    assert "| dot | error below ConvLSTM | 0 of 1 | NOT met (0.00400 beside 0.00300) |" in body
    assert "| dot | calibrated coverage 76 to 84 % | 2 of 2 | met (80.0 %) · met (80.0 %) |" in body
    assert "meets 7 of 9 targets" in headline  # the second seed has no ConvLSTM beside it
    assert "2.17 of that of ConvLSTM, the best other method, on “dot”" in headline
    assert body.index("## Targets") == 0
    assert "## Ball" not in body


def test_a_quick_run_of_all_methods_makes_a_page(tmp_path):
    asked = ["--quick", "--results", str(tmp_path / "scenes.json"), "--scratch", str(tmp_path), "--only"]
    assert scenes.Scenes.main([*asked, "dot/SRVP", "--only", "dot/SVG", "--only", "dot/PCA + ridge"]) == 0
    page = (tmp_path / "scenes.md").read_text("utf-8")
    assert "| dot | error below PCA + ridge | 0 of 1 | NOT met" in page
    assert "| SVG |" in page
    assert "dot: width" in page
    assert "## Forecasts ten times as long as training chunks" in page
