"""From video files to futures: what a user of one's own clips is told, and gets."""

from __future__ import annotations

import numpy as np
import pytest

import timelike as tl
from latent_options import srvp
from timelike.forecast import validation
from videos import write

DIGITS = tl.sequences.generate.moving_digits(8, 9, n_digits=1, size=16, dtype=np.uint8, random_state=0).sequences
SMALL = {"conditioning": 3, "n_state": 4, "n_random": 2, "n_content": 4, "n_code": 8, "filters": 2, "motion_hidden": 8}


def model(**options) -> tl.SRVP:
    return srvp(**SMALL, max_steps=3, batch_size=4, random_state=0, **options)


def folder_of_clips(folder, lengths=(9,) * 8):
    for number, (frames, length) in enumerate(zip(DIGITS, lengths, strict=True)):
        write(folder / f"walk{number}.mkv", frames[:length, 0], rate=10)
    return folder


@pytest.mark.learn
def test_clips_have_futures_whose_clock_goes_on(tmp_path) -> None:
    clips = tl.load(folder_of_clips(tmp_path))
    fitted = model().fit(clips[:6])
    assert fitted.uses_sigmoid_  # they lie in [0, 1], and so does every future
    futures = fitted.predict(clips[6:].crop(0, 5), 4, n_samples=3, frames_per_step=2, substeps=2)
    assert futures.samples.shape == (3, 2, 8, 1, 16, 16)
    assert futures.samples.min() >= 0
    assert futures.samples.max() <= 1
    np.testing.assert_allclose(futures.times, np.broadcast_to(0.4 + 0.05 * np.arange(1, 9), (2, 8)))
    assert futures.to_sequences().ids.tolist() == ["walk6", "walk7"]


@pytest.mark.learn
def test_a_clip_too_short_to_learn_from_is_named_by_its_file(tmp_path) -> None:
    clips = tl.load(folder_of_clips(tmp_path, (9, 9, 9, 3, 9, 4, 9, 9)))  # four frames just suffice
    words = r"1 of 8 sequences of X are ignored, because SRVP needs at least 4 .*: sequence 3 \('walk3'\) has 3;"
    with pytest.warns(UserWarning, match=words) as told:
        fitted = model().fit(clips)
    assert told[0].filename == __file__
    fitted.predict(clips, 2)  # three frames are enough to go on from
    with pytest.raises(ValueError, match=r"past: sequence 3 \('walk3'\) has 2 time steps: this SRVP needs at least 3"):
        fitted.predict(
            tl.Sequences([clip[: 2 if number == 3 else 9] for number, clip in enumerate(clips)], ids=clips.ids), 2
        )
    with pytest.raises(ValueError, match=r"X: sequence 0 \('walk0'\) has 2 time steps: expected at least 3"):
        fitted.states(clips.crop(0, 2))


@pytest.mark.learn
def test_clips_that_are_all_too_short_cannot_be_learned_from(tmp_path) -> None:
    clips = tl.load(folder_of_clips(tmp_path, (3,) * 8))
    with pytest.raises(
        ValueError, match=r"the longest sequence has 3 time steps, and SRVP\(conditioning=3\) needs at least 4"
    ):
        model().fit(clips)


@pytest.mark.learn
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_pictures_of_0_to_255_are_learned_with_a_warning_that_says_how_to_scale(dtype) -> None:
    bytes_ = tl.Sequences(DIGITS.pad().values.astype(dtype))
    with pytest.warns(
        UserWarning, match=r"whole numbers from 0 to 2\d\d: SRVP .*divide X by 255, so that all values lie in \[0, 1\]"
    ):
        fitted = model().fit(bytes_)
    assert not fitted.uses_sigmoid_
    assert np.isfinite(fitted.predict(bytes_, 2).mean).all()
    model(output="linear").fit(bytes_)  # no warning where it is meant


@pytest.mark.learn
@pytest.mark.parametrize("low_high", [(0.0, 1.0), (0.0, 20.5), (-3.0, 7.0), (0.0, 300.0)])
def test_other_ranges_are_nobodys_mistake(low_high) -> None:
    low, high = low_high
    values = np.random.default_rng(0).uniform(low, high, (6, 6, 1, 16, 16)).astype(np.float32)
    values[0, 0, 0, 0, :2] = low, high
    model().fit(tl.Sequences(values if high < 300 else values.round()))


def test_a_pixel_that_is_missing_hides_no_bytes() -> None:
    values = DIGITS.pad().values.astype(np.float32)
    values[0, 0, 0, 3, 3] = np.nan
    with pytest.warns(UserWarning, match=r"whole numbers from 0 to 2\d\d: SRVP"):
        validation.warn_of_byte_images(tl.Sequences(values), "SRVP")


@pytest.mark.parametrize("black", [1, 5, 999])
def test_black_clips_hide_no_fractions(black, recwarn) -> None:
    values = np.zeros((1000, 2, 1, 4, 4), np.float32)
    values[black:, 1] = 0.25 + np.arange(16).reshape(4, 4)
    validation.warn_of_byte_images(tl.Sequences(values), "SRVP")
    assert not recwarn.list
    validation.warn_of_byte_images(tl.Sequences(np.floor(values)), "SRVP")
    assert "whole numbers from 0 to 15" in str(recwarn.pop(UserWarning).message)


def test_clips_of_which_nothing_is_known_say_nothing(recwarn) -> None:
    validation.warn_of_byte_images(tl.Sequences(np.full((2, 3, 1, 4, 4), np.nan)), "SRVP")
    assert not recwarn.list


@pytest.mark.learn
def test_bytes_given_to_a_model_of_the_unit_range_are_refused(tmp_path) -> None:
    fitted = model().fit(tl.load(folder_of_clips(tmp_path)))
    with pytest.raises(
        ValueError, match=r"past has values from 0 to 2\d\d, and all training values of this SRVP lie in \[0, 1\]"
    ):
        fitted.predict(DIGITS, 2)
