"""Forecasts of pictures as strips and films: truth, best and worst sample, other methods, frames in between."""

from functools import partial

import numpy as np
import pytest
from PIL import Image

import timelike as tl
from timelike.forecast import Forecast

RNG = np.random.default_rng(0)
PAST, TRUTH = RNG.random((3, 4, 1, 6, 6)), RNG.random((3, 5, 1, 6, 6))
NOISE = np.array([0.3, 0.1, 0.4, 0.2])[:, None, None, None, None, None]  # sample 1 is the best, sample 2 the worst
SAMPLES = TRUTH + NOISE * RNG.choice([-1.0, 1.0], (4, *TRUTH.shape))
MANY = Forecast(samples=SAMPLES, past=tl.Sequences(PAST))
ONE = Forecast(samples=SAMPLES[:1], past=tl.Sequences(PAST), center=np.full_like(TRUTH, 0.25))


def rows(figure):
    """The pictures of every row by its name, as (frame, height, width), the past left out."""
    found, columns = {}, {}
    for axes in figure.axes:
        columns.setdefault(round(axes.get_position().y0, 6), []).append(axes)
    for row in columns.values():
        name = row[0].texts[-1].get_text()
        shown = [axes.images[0].get_array()[..., 0] for axes in row if axes.images]
        found[name] = np.array(shown[-5:])
    return found


def test_best_and_worst_sample_stand_under_the_truth():
    found = rows(MANY.plot_images(1, truth=TRUTH[1]))
    assert list(found) == ["truth", "best of 4", "worst of 4"]
    np.testing.assert_array_equal(found["truth"], TRUTH[1, :, 0])
    np.testing.assert_allclose(found["best of 4"], np.clip(SAMPLES[1, 1, :, 0], 0, 1))
    np.testing.assert_allclose(found["worst of 4"], np.clip(SAMPLES[2, 1, :, 0], 0, 1))


@pytest.mark.parametrize("truth", [TRUTH, tl.Sequences(TRUTH), TRUTH.tolist()])
def test_the_truth_of_all_items_serves_for_one(truth):
    np.testing.assert_allclose(rows(MANY.plot_images(-1, truth=truth))["truth"], TRUTH[2, :, 0])
    axes = MANY.plot(2, truth=truth).axes
    assert len(axes) > 3


def test_which_is_best_depends_on_the_score():
    def darkest(truth, sample, per):
        return sample.mean(axis=(2, 3, 4))

    found = rows(MANY.plot_images(0, truth=TRUTH, score=darkest, higher=False))
    brightness = np.clip(SAMPLES[:, 0], 0, 1).mean(axis=(1, 2, 3, 4))
    np.testing.assert_allclose(found["best of 4"], np.clip(SAMPLES[brightness.argmin(), 0, :, 0], 0, 1))
    with pytest.raises(ValueError, match="higher_is_better=None: say whether more is better"):
        MANY.plot_images(0, truth=TRUTH, score=darkest)
    with pytest.raises(ValueError, match="score='lpips' has no weights"):
        MANY.plot_images(0, truth=TRUTH, score="lpips")


def test_without_truth_the_first_samples_are_shown_and_of_one_future_its_mean():
    found = rows(MANY.plot_images(0))
    assert list(found) == ["sample 1", "sample 2", "sample 3"]
    np.testing.assert_allclose(found["sample 3"], np.clip(SAMPLES[2, 0, :, 0], 0, 1))
    found = rows(ONE.plot_images(0, truth=TRUTH))
    assert list(found) == ["truth", "forecast"]
    assert (found["forecast"] == 0.25).all()


def test_other_methods_stand_beside():
    found = rows(MANY.plot_images(0, truth=TRUTH, others={"same": ONE, "turned": MANY}))
    assert list(found) == ["truth", "best of 4", "worst of 4", "same", "turned"]
    assert (found["same"] == 0.25).all()
    np.testing.assert_array_equal(found["turned"], found["best of 4"])
    short = Forecast(samples=SAMPLES[:, :, :4], past=tl.Sequences(PAST))
    with pytest.raises(ValueError, match=r"others\['short'\] has futures of shape \(3, 4, 1, 6, 6\): expected \(3, 5"):
        MANY.plot_images(0, truth=TRUTH, others={"short": short})
    for wrong, words in (
        ([MANY], "others is a list"),
        (MANY.mean, "others is a ndarray"),
        (MANY, "others is a Forecast"),
        ({"a": MANY.mean}, r"others\['a'\] is a ndarray"),
    ):
        with pytest.raises(TypeError, match=f"{words}: expected forecasts by name"):
            MANY.plot_images(0, others=wrong)
    assert list(rows(MANY.plot_images(0, others={}))) == list(rows(MANY.plot_images(0)))


@pytest.mark.parametrize("draw", [MANY.plot_images, MANY.plot])
@pytest.mark.parametrize("item", [0, 2])
def test_a_truth_of_other_items_is_refused(draw, item):
    """It is not known which of them the item is."""
    for wrong in (TRUTH[:2], TRUTH[:1], np.concatenate([TRUTH, TRUTH]), tl.Sequences(TRUTH[:2]), TRUTH[None]):
        with pytest.raises(ValueError, match=r"truth has shape .*: expected .*of all 3 that are forecast"):
            draw(item, truth=wrong)


def test_of_frames_in_between_those_at_whole_steps_are_judged():
    """Sample 3 is perfect in between and bad at whole steps; of the truth only those are known."""
    fine = np.repeat(SAMPLES, 2, axis=2)
    fine[3] = np.repeat(TRUTH, 2, axis=1)
    fine[3, :, 1::2] = 1 - TRUTH
    forecast = Forecast(samples=fine, past=tl.Sequences(PAST), frames_per_step=2)
    figure = forecast.plot_images(0, truth=TRUTH)
    assert list(rows(figure)) == ["truth", "best of 4", "worst of 4"]
    marked = [axes for axes in figure.axes if axes.lines]
    assert len(marked) == 2 * 4  # of the 4 steps that have room after 3 frames of the past
    worst = [axes for axes in figure.axes if axes.images][-1].images[0].get_array()[..., 0]
    np.testing.assert_allclose(worst, fine[3, 0, 9, 0])  # the last frame
    at_all = np.repeat(TRUTH, 2, axis=1)
    assert list(rows(forecast.plot_images(0, truth=at_all))) == ["truth", "best of 4", "worst of 4"]
    with pytest.raises(ValueError, match="expected 10 or, at whole steps, 5 frames of shape"):
        forecast.plot_images(0, truth=TRUTH[0, :4])


def test_bytes_and_one_of_several_channels_can_be_shown():
    as_bytes = Forecast(samples=255 * SAMPLES, past=tl.Sequences(255 * PAST))
    found = rows(as_bytes.plot_images(1, truth=255 * TRUTH, value_range=255))
    np.testing.assert_allclose(found["best of 4"], rows(MANY.plot_images(1, truth=TRUTH))["best of 4"])
    two = Forecast(
        samples=np.repeat(SAMPLES, 2, axis=3) * [[[1]], [[0]]], past=tl.Sequences(np.repeat(PAST, 2, axis=2))
    )
    with pytest.raises(ValueError, match=r"2 channels: expected 1 \(grey\) or 3 \(RGB\); choose one: channel=0"):
        two.plot_images()
    assert (rows(two.plot_images(channel=1))["sample 1"] == 0).all()
    with pytest.raises(ValueError, match="channel=2: there are 2 channels, expected 0 to 1, or -2 to -1"):
        two.plot_images(channel=2)


def test_what_is_no_picture_is_refused_with_the_way_out():
    series = tl.forecast.Persistence().fit(RNG.random((3, 9, 2))).predict(RNG.random((3, 9, 2)), 2)
    with pytest.raises(
        ValueError, match=r"frames have shape \(2,\): expected pictures.*plot\(\) of a Forecast draws others"
    ):
        series.plot_images()
    field = Forecast(samples=SAMPLES, past=tl.Sequences(20 * PAST))
    with pytest.raises(ValueError, match=r"the past has numbers from 0 to \d.*plot\(\) of a Forecast draws fields"):
        field.plot_images()
    with pytest.raises(ValueError, match="truth has numbers from 0 to"):
        MANY.plot_images(truth=20 * TRUTH)
    with pytest.raises(ValueError, match=r"truth has shape \(4, 1, 6, 6\): expected 5 frames of shape \(1, 6, 6\)"):
        MANY.plot_images(truth=TRUTH[0, :4])
    with pytest.raises(ValueError, match="item=3: there are 3 futures, expected 0 to 2, or -3 to -1 from the end"):
        MANY.plot_images(3)


def test_a_film_shows_past_and_future_of_the_same_rows(tmp_path):
    path = MANY.animate_images(tmp_path / "a.gif", 1, truth=TRUTH, rate=5)
    with Image.open(path) as picture:
        assert picture.n_frames == 4 + 5
        assert picture.info["duration"] == 200
        wide = picture.size[0]
    with Image.open(MANY.animate_images(tmp_path / "b.gif", 1, truth=TRUTH, others={"one": ONE})) as picture:
        assert picture.size[0] > 1.25 * wide
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.gif", "b.gif"]


@pytest.mark.parametrize("frames_per_step", [1, 2])
@pytest.mark.parametrize(
    ("clock", "duration"),
    [
        (np.arange(9) * 0.2, 200),
        (np.datetime64("2024-01-01", "ns") + np.arange(9) * np.timedelta64(200, "ms"), 200),
        (np.arange(9) * 0.5 + 1e4, 500),
        (np.arange(9) * 1.0, None),  # counts steps
        (np.arange(9) * 3600.0, None),
        (np.arange(9) * 1e-3, None),
        (None, None),
    ],
)
def test_a_film_plays_by_the_clock_of_the_past(clock, duration, frames_per_step, tmp_path):
    past = tl.Sequences(PAST, times=None if clock is None else [clock[:4]] * 3)
    times = None
    if clock is not None:
        part = (clock[1] - clock[0]) / frames_per_step
        times = np.stack([clock[3] + part * np.arange(1, 5 * frames_per_step + 1)] * 3)
    samples = RNG.random((1, 3, 5 * frames_per_step, 1, 6, 6))
    forecast = Forecast(samples=samples, past=past, times=times, frames_per_step=frames_per_step)
    told = 125 if duration is None else duration / frames_per_step
    found = forecast.animate_images(tmp_path / "a.gif", 1)
    expected = forecast.animate_images(tmp_path / "b.gif", 1, rate=1000 / told)
    assert found.read_bytes() == expected.read_bytes()
    with Image.open(found) as picture:
        picture.seek(picture.n_frames - 1)
        assert picture.info["duration"] == pytest.approx(told, abs=5)


# --- swaps and passages --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def videos():
    return tl.sequences.generate.moving_digits(8, 9, n_digits=1, size=16, random_state=0).sequences


@pytest.fixture(scope="module")
def srvp(videos):
    return tl.SRVP(codec="dcgan", conditioning=3, max_steps=2, random_state=0).fit(videos)


@pytest.fixture(scope="module")
def separation(videos):
    return tl.Separation(codec="dcgan", conditioning=3, max_steps=2, random_state=0).fit(videos)


@pytest.mark.learn
@pytest.mark.parametrize("name", ["srvp", "separation"])
def test_every_content_meets_every_motion_and_a_motion_is_drawn_once(name, videos, request):
    model, past = request.getfixturevalue(name), videos.crop(0, 4)
    found = tl.forecast.swap_grid(model, past[:2], past[1:4], 5, random_state=3)
    assert repr(found) == "SwapGrid(2 contents × 3 motions, 5 steps, frames (1, 16, 16))"
    assert found.futures.shape == (2, 3, 5, 1, 16, 16)
    # the second content is that of the first motion: with its own content a motion is what is forecast of it
    np.testing.assert_allclose(found.futures[1, 0], found.truth[0], atol=1e-5)
    alone = tl.forecast.swap_grid(model, past[[0]], past[[3]], 5, random_state=3)
    np.testing.assert_allclose(alone.futures[0, 0], found.futures[0, 2], atol=1e-5)
    known = tl.forecast.swap_grid(model, past[:2], past[1:4], 5, truth=videos[1:4].crop(4, 9), random_state=3)
    np.testing.assert_array_equal(known.truth, np.stack([one[4:] for one in videos[1:4]]))
    with pytest.raises(ValueError, match=r"truth has shape \(2, 5, 1, 16, 16\): expected \(3, 5, 1, 16, 16\)"):
        tl.forecast.swap_grid(model, past[:2], past[1:4], 5, truth=videos[:2].crop(4, 9))


@pytest.mark.learn
def test_swaps_draw_themselves_and_move(srvp, videos, tmp_path):
    past = videos.crop(0, 4)
    found = tl.forecast.swap_grid(srvp, past[:2], past[1:4], 5, random_state=3)
    grid = np.array(found.plot().axes, object).reshape(3, 1 + 3 * 3)
    assert [axes.texts[0].get_text() for axes in grid[0, 1:4]] == ["t+1", "t+3", "t+5"]
    np.testing.assert_array_equal(grid[1, 0].images[0].get_array()[..., 0], past[0][-1, 0])
    inside = np.clip(found.futures[1, 2, 4, 0], 0, 1)
    np.testing.assert_allclose(grid[2, 9].images[0].get_array()[..., 0], inside, atol=1e-6)
    assert len(found.plot(steps=[2]).axes) == 3 * 4
    with Image.open(found.animate(tmp_path / "a.gif")) as picture:
        assert picture.n_frames == 5


@pytest.mark.learn
def test_a_passage_has_both_ends_and_what_lies_between(srvp, separation, videos, tmp_path):
    found = tl.forecast.latent_interpolation(srvp, videos[0], videos[1], steps=4)
    assert repr(found) == "LatentInterpolation(4 sequences of 9 steps, frames (1, 16, 16))"
    expected = srvp.interpolate(videos[0], videos[1], 4)
    np.testing.assert_array_equal(found.sequences.values, expected.values)
    figure = found.plot()
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["a", "a redrawn", "33 %", "67 %", "b redrawn", "b"]
    weights = np.linspace(0.25, 1, 9)[:, None, None]
    path = (weights * videos[1][:, 0]).max(axis=0)
    np.testing.assert_allclose(figure.axes[-1].images[0].get_array()[..., 0], path, atol=1e-6)
    with Image.open(found.animate(tmp_path / "a.gif", rate=4)) as picture:
        assert picture.n_frames == 9
    again = tl.forecast.latent_interpolation(srvp, videos[:1], videos[1:2], steps=2)  # collections of one
    assert len(again.plot().axes) == 4
    with pytest.raises(TypeError, match="model is a Separation, which does not interpolate"):
        tl.forecast.latent_interpolation(separation, videos[0], videos[1])


@pytest.mark.learn
def test_swaps_of_bytes_are_shown_in_their_range(separation, videos):
    judge = partial(tl.forecast.swap_grid, separation, videos[:1].crop(0, 4), videos[1:2].crop(0, 4), 2)
    found = judge()
    scaled = tl.forecast.SwapGrid(
        contents=tl.Sequences(255 * videos[:1].crop(0, 4).values[None]),
        motions=found.motions,
        futures=255 * found.futures,
        truth=255 * found.truth,
    )
    with pytest.raises(ValueError, match="contents has numbers from 0 to .*value_range=255 for bytes"):
        scaled.plot()
    for ours, theirs in zip(found.plot().axes, scaled.plot(value_range=255).axes, strict=True):
        if ours.images:
            np.testing.assert_allclose(ours.images[0].get_array(), theirs.images[0].get_array(), atol=1e-5)
