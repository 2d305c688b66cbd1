"""What a newcomer does first and nobody means: it is said, by the name of the argument, with the way out."""

import warnings

import numpy as np
import pytest

import timelike as tl
from latent_options import srvp
from timelike.forecast.validation import find_unequal_rates

RNG = np.random.default_rng(0)
PICTURES = RNG.random((6, 8, 1, 16, 16)).astype(np.float32)
SERIES = RNG.standard_normal((6, 12, 2))
SMALL = {"max_steps": 1, "conditioning": 3, "n_state": 3, "n_code": 4, "filters": 2, "hidden": 4, "random_state": 0}


@pytest.fixture(scope="module")
def pictured():
    return srvp(**SMALL).fit(PICTURES)


@pytest.fixture(scope="module")
def plain():
    return srvp(**SMALL).fit(SERIES)


class TestPicturesWithChannelsLast:
    @pytest.mark.parametrize("channels", [1, 3, 4])
    def test_are_noticed_and_the_transpose_that_is_written_mends_them(self, channels):
        clips = RNG.integers(0, 256, (4, 8, 16, 16, channels))
        with pytest.warns(UserWarning, match=r"transpose\(0, 1, 4, 2, 3\)"):
            tl.forecast.Mean().fit(clips)
        assert tl.forecast.Mean().fit(clips.transpose(0, 1, 4, 2, 3)).frame_ == (channels, 16, 16)

    @pytest.mark.parametrize("frame", [(3, 16, 16), (16, 16, 2), (4, 8, 3), (16, 4, 1), (16, 3)])
    def test_other_shapes_are_not_taken_for_them(self, frame):
        tl.forecast.Mean().fit(RNG.random((2, 4, *frame)))

    def test_named_channels_are_meant_as_they_are(self):
        fields = tl.Sequences(RNG.random((2, 4, 8, 9, 3)), channel_names=list("abcdefgh"))
        tl.forecast.Mean().fit(fields)


class TestFrameRates:
    def rates(self, *steps):
        times = [step * np.arange(9) for step in steps]
        return tl.Sequences([np.zeros(9) for _ in steps], times=times, ids=[f"clip{i}" for i in range(len(steps))])

    @pytest.mark.parametrize("steps", [(0.04, 1 / 30), (0.1, 0.1, 0.1, 1 / 30), (1 / 30, 1 / 30, 0.1)])
    def test_that_differ_are_said_in_fit_with_the_way_out(self, steps):
        with pytest.warns(UserWarning, match=r"ignores the time between steps: call resample\(rate=.*every=") as told:
            tl.forecast.Persistence().fit(self.rates(*steps))
        assert len(told) == 1

    def test_resampling_as_it_says_silences_it(self):
        clips = self.rates(0.05, 0.1)
        tl.forecast.Persistence().fit(clips.resample(rate=10))

    def test_that_differ_by_a_thousandth_are_alike(self):
        tl.forecast.Persistence().fit(self.rates(1 / 30, 1 / 29.97))

    def test_steps_that_merely_vary_are_no_rates(self):
        times = np.cumsum(RNG.uniform(0.8, 1.2, (5, 7)), axis=1)
        assert find_unequal_rates(tl.Sequences(np.zeros((5, 7)), times=list(times))) is None

    def test_times_in_whole_milliseconds_are_those_of_one_rate(self):
        times = np.round(np.arange(25) / 60, 3)
        assert find_unequal_rates(tl.Sequences(np.zeros((2, 12)), times=[times[:12], times[13:]])) is None

    def test_single_frames_have_none(self):
        clips = tl.Sequences([np.zeros(1), np.zeros(3), np.zeros(1)], times=[[5.0], [0.0, 1.0, 2.0], [7.0]])
        assert find_unequal_rates(clips) is None
        both = tl.Sequences(
            [np.zeros(1), np.zeros(3), np.zeros(1), np.zeros(3)], times=[[5.0], [0.0, 1.0, 2.0], [7.0], [0.0, 3.0, 6.0]]
        )
        assert find_unequal_rates(both) == ((1, 1.0), (3, 3.0))

    def test_months_are_not_taken_for_rates(self):
        days = np.arange("2024-01", "2025-01", dtype="M8[M]").astype("M8[ns]")
        months = tl.Sequences([np.zeros(3), np.zeros(3)], times=[days[:3], days[5:8]])
        tl.forecast.Persistence().fit(months)

    @pytest.mark.learn
    def test_a_method_that_goes_by_the_clock_takes_them(self):
        clips = tl.Sequences(SERIES[:2], times=[np.arange(12.0), 2 * np.arange(12.0)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tl.Separation(conditioning=2, max_steps=1, random_state=0).fit(clips)


class TestASingleSequence:
    @pytest.mark.learn
    def test_of_pictures_is_told_how_to_be_given(self, pictured):
        one = PICTURES[0]
        for ask in (lambda: pictured.predict(one, 3), lambda: pictured.swap(one, one, 3), lambda: pictured.elbo(one)):
            with pytest.raises(ValueError, match=r"single sequence x \(time, \*frame\), give x\[None\], or X\[:1\]"):
                ask()
        assert pictured.predict(one[None], 3).shape == (1, 3, 1, 16, 16)

    @pytest.mark.learn
    def test_of_vectors_too(self, plain):
        with pytest.raises(ValueError, match=r"give x\[None\]"):
            plain.predict(SERIES[0], 3)

    def test_of_vectors_is_so_by_methods_that_learn_nothing(self):
        with pytest.raises(ValueError, match=r"give x\[None\]"):
            tl.forecast.Persistence().fit(SERIES).predict(SERIES[0])

    @pytest.mark.learn
    def test_of_one_channel_too(self):
        model = srvp(**SMALL).fit(SERIES[..., :1])
        with pytest.raises(ValueError, match=r"past has shape \(\d+, 1\).*or \[x\] around its array"):
            model.predict(SERIES[0, :, :1], 3)

    @pytest.mark.learn
    def test_short_sequences_are_short(self, plain):
        with pytest.raises(ValueError, match=r"has 2 time steps: .* needs at least 3$"):
            plain.predict(SERIES[:, :2], 3)


@pytest.mark.learn
class TestInterpolation:
    def test_takes_one_with_and_without_an_axis_before(self, pictured):
        way = pictured.interpolate(PICTURES[0], PICTURES[1], 3).values
        assert np.array_equal(way, pictured.interpolate(PICTURES[:1], PICTURES[1:2], 3).values)
        assert np.array_equal(way, pictured.interpolate(tl.Sequences(PICTURES[:1]), PICTURES[1], 3).values)
        for a, b in ((PICTURES[:1], PICTURES[1:2]), (tl.Sequences(PICTURES[:1]), PICTURES[1])):
            found = tl.forecast.latent_interpolation(pictured, a, b, 3)
            assert np.array_equal(np.stack(list(found.ends)), PICTURES[:2])
            assert np.array_equal(found.sequences.values, way)

    def test_names_the_argument_that_is_wrong(self, pictured):
        with pytest.raises(ValueError, match="^b has frames"):
            pictured.interpolate(PICTURES[0], PICTURES[1, :, :, :8], 3)
        with pytest.raises(ValueError, match="^a: sequence 0 has 1 time step: expected at least 3"):
            tl.forecast.latent_interpolation(pictured, PICTURES[0, :1], PICTURES[1], 3)
        with pytest.raises(ValueError, match="a holds 2 sequences of 8 steps and b 1 of 8"):
            pictured.interpolate(PICTURES[:2], PICTURES[1], 3)


class TestSwaps:
    @pytest.mark.learn
    def test_without_a_content_there_is_nothing_to_swap(self):
        model = srvp(**SMALL, n_content=0).fit(SERIES)
        with pytest.raises(ValueError, match="n_content=0 leaves it out"):
            model.swap(SERIES[:1], SERIES[1:2], 3)

    def test_of_a_method_that_has_none(self):
        model = tl.forecast.Persistence().fit(PICTURES)
        with pytest.raises(TypeError, match="model is a Persistence, which does not swap: expected a fitted SRVP"):
            tl.forecast.swap_grid(model, PICTURES[:1], PICTURES[1:2], 3)

    @pytest.mark.learn
    def test_steps_to_show_are_whole_numbers_in_a_list(self, pictured):
        found = tl.forecast.swap_grid(pictured, PICTURES[:1], PICTURES[1:3], 3)
        for wrong in (3, "x", "12"):
            with pytest.raises(TypeError, match=r"steps=.*: expected a list of steps from 1 to 3"):
                found.plot(steps=wrong)
        with pytest.raises(TypeError, match=r"steps=1\.5: expected an integer"):
            found.plot(steps=[1.5])
        for wrong in ([], [4], [0]):
            with pytest.raises(ValueError, match="steps="):
                found.plot(steps=wrong)

    @pytest.mark.learn
    def test_of_vectors_say_what_draws_them(self, plain):
        found = tl.forecast.latent_interpolation(plain, SERIES[0], SERIES[1])
        with pytest.raises(ValueError, match=r"the plot\(\) of a Forecast draws others"):
            found.plot()

    @pytest.mark.learn
    def test_swapped_series_are_drawn_as_lines_and_a_truth_has_their_shape(self, plain, pictured):
        found = tl.forecast.swap_grid(plain, SERIES[:2], SERIES[1:4], 3)
        panels = found.plot(channel=1, truth=found.futures + 1).axes
        grid = np.reshape(panels, (3, 4))
        for i in range(2):
            for j in range(3):
                forecast, truth = grid[i + 1, j + 1].lines
                np.testing.assert_allclose(forecast.get_ydata(), found.futures[i, j, :, 1])
                np.testing.assert_allclose(truth.get_ydata(), found.futures[i, j, :, 1] + 1)
        np.testing.assert_allclose(grid[1, 0].lines[0].get_ydata(), found.contents[0][-9:, 1])
        np.testing.assert_allclose(grid[0, 2].lines[0].get_ydata(), found.truth[1, :, 1])
        with pytest.raises(ValueError, match=r"truth has shape \(3,\): expected \(2, 3, 3, 2\), that of the futures"):
            found.plot(truth=np.zeros(3))
        with pytest.raises(ValueError, match=r"channel=2: there are 2 channels, expected 0 to 1"):
            found.plot(channel=2)
        images = tl.forecast.swap_grid(pictured, PICTURES[:1], PICTURES[1:2], 2)
        with pytest.raises(ValueError, match="truth is drawn beside series only"):
            images.plot(truth=images.futures)

    @pytest.mark.learn
    def test_one_of_anything_is_no_plural(self, plain):
        words = repr(tl.forecast.swap_grid(plain, SERIES[:1], SERIES[1:2], 1))
        assert words == "SwapGrid(1 content × 1 motion, 1 step, frames (2,))"
        assert repr(plain.elbo(SERIES[:1])).startswith("Elbo(1 sequence;")
        assert "1 future of 1 step," in repr(plain.predict(SERIES[:1], 1))


@pytest.mark.learn
class TestOptionsFromWhichNothingComes:
    def test_patience_needs_something_held_out(self):
        with pytest.warns(UserWarning, match=r"patience=2 has nothing to wait for with validation=0"):
            srvp(**SMALL, patience=2).fit(SERIES)

    def test_skips_need_convolutions(self):
        with pytest.raises(TypeError, match="skips"):
            tl.forecast.codecs.MLP(skips=True)
        for method in (tl.SRVP, tl.Separation):
            with pytest.raises(ValueError, match=r"codec=DCGAN\(.* is for images, and X has frames of shape \(2,\)"):
                method(codec=tl.forecast.codecs.DCGAN(skips=True), conditioning=3, max_steps=1).fit(SERIES)


@pytest.mark.learn
def test_a_deviation_that_is_too_small_is_blamed_before_the_learning_rate():
    with pytest.raises(
        tl.train.DivergenceError, match=r"observation_std=1e-30 is so small.*; else lower the learning rate"
    ):
        srvp(**SMALL, observation_std=1e-30).fit(SERIES)


@pytest.mark.learn
def test_more_numbers_than_the_machine_holds_are_refused_by_name(plain):
    with pytest.raises(MemoryError, match=r"horizon=100000000000 with n_samples=2 of 1 past needs .* GiB"):
        plain.predict(SERIES[:1], 10**11, n_samples=2)


def test_more_numbers_than_the_machine_holds_are_refused_by_methods_that_learn_nothing():
    with pytest.raises(MemoryError, match=r"horizon=100000000000 with n_samples=1 of 6 pasts"):
        tl.forecast.Persistence().fit(SERIES).predict(SERIES, 10**11)


def test_a_backtest_with_few_samples_leaves_intervals_out_and_says_so():
    model = tl.forecast.Analog(k=3).fit(SERIES)
    few = tl.forecast.backtest(model, SERIES, 2, n_windows=1, scores=("mse",), n_samples=8, random_state=0)
    assert set(few.scores) == {"mse"}
    assert any("8 samples are too few for level 0.8, which needs n_samples=9" in note for note in few.notes)
    enough = tl.forecast.backtest(model, SERIES, 2, n_windows=1, scores=("mse",), n_samples=9, random_state=0)
    assert set(enough.scores) == {"mse", "coverage", "width"}
    assert not enough.notes


def test_a_backtest_of_a_small_level_takes_two_samples():
    model = tl.forecast.Analog(k=3).fit(SERIES)
    how = {"n_windows": 1, "scores": ("mse",), "level": 0.2, "random_state": 0}
    assert "width" not in tl.forecast.backtest(model, SERIES, 2, n_samples=1, **how).scores
    assert "width" in tl.forecast.backtest(model, SERIES, 2, n_samples=2, **how).scores


@pytest.mark.learn
def test_a_checkpoint_where_no_folder_can_be_made_is_named():
    with pytest.raises(OSError, match=r"checkpoint='/proc/zz': no folder can be made there"):
        srvp(**SMALL, checkpoint="/proc/zz").fit(SERIES)


def test_a_checkpoint_of_a_backtest_where_no_folder_can_be_made_is_named():
    model = tl.forecast.Mean().fit(SERIES)
    with pytest.raises(OSError, match=r"checkpoint='/proc/zz': no folder can be made there"):
        tl.forecast.backtest(model, SERIES, 2, n_windows=1, checkpoint="/proc/zz")
