"""The program about where SRVP fails: what it measures, its figures and its page."""

import numpy as np
import pytest
from benchmarks.model_options import build_model
from benchmarks.papers.srvp import diagnosis, diagnosis_figures, scene_clips

import timelike as tl
from timelike.train.history import History


@pytest.mark.parametrize("name", diagnosis.SETS)
def test_clips_of_the_test_are_others_unless_one_is_learned_by_heart(name):
    train, test = (diagnosis.SETS[name](3, 0, part) for part in ("train", "test"))
    size = 32 if name.endswith("32") else 16
    assert train.shape[1:] == test.shape[1:] == (diagnosis.LENGTH, 1, size, size)
    assert train.min() >= 0
    assert train.max() <= 1
    if name == "one clip":
        np.testing.assert_array_equal(train, test)
    else:
        assert not np.array_equal(train, test)


@pytest.mark.parametrize("form", diagnosis.FORMS)
def test_every_form_is_a_model_that_can_be_limited(form):
    model = diagnosis.FORMS[form]()
    assert isinstance(model, tl.SRVP)
    assert model.max_steps is None


def test_divergences_by_step_are_those_of_the_bound():
    """Their sum over steps is the divergence of z in `elbo`, up to what is drawn."""
    train = scene_clips.clips("dot", 24, 30)
    model = build_model("SRVP", codec="perceptron", max_steps=30, hidden=16, progress=False, random_state=0).fit(train)
    test = scene_clips.clips("dot", 10, 25, seed=5)
    found = diagnosis.divergences(model, test, 0)
    bound = model.elbo(test, n_samples=5, random_state=0)
    assert len(found["kl by step"]) == 24
    assert sum(found["kl by step"]) == pytest.approx(bound.random_kl.mean(), rel=0.1)
    assert found["first kl"] == pytest.approx(bound.first_kl.mean(), rel=1e-6)


def test_curves_are_means_of_equally_many_steps():
    history = History()
    for step in range(1, 401):
        history.record("likelihood", step, float(step))
    found = diagnosis.curves(history)
    assert set(found) == {"likelihood"}
    assert found["likelihood"]["steps"] == list(range(4, 401, 4))
    np.testing.assert_allclose(found["likelihood"]["values"], np.arange(2.5, 400, 4))


def test_a_strip_shows_futures_below_the_frames_of_their_time():
    pictures = {"input": np.ones((5, 1, 4, 4)), "sample 1": np.full((3, 1, 4, 4), 0.5)}
    shown = diagnosis_figures.strip(pictures, past=2)
    assert shown.shape == (2 * 5 + 1, 5 * 5 + 1)
    np.testing.assert_array_equal(shown[1:5, 1:5], 1)
    np.testing.assert_array_equal(shown[6:10, 1:11], np.float32(diagnosis_figures.GREY))
    np.testing.assert_array_equal(shown[6:10, 11:15], 0.5)


def test_a_quick_run_makes_a_page_and_small_figures(tmp_path):
    asked = ["--quick", "--results", str(tmp_path / "rows.json"), "--scratch", str(tmp_path / "scratch")]
    asked += ["--figures", str(tmp_path / "figures"), "--only", "one clip/DCGAN", "--only", "one digit, 32/perceptron"]
    assert diagnosis.Diagnosis.main(asked) == 0
    page = (tmp_path / "rows.md").read_text("utf-8")
    assert "| one clip: DCGAN |" in page
    assert "DCGAN reconstructs 0 and forecasts 0 of 1" in page
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == [
        *("one_clip_dcgan_0_curves.png", "one_clip_dcgan_0_strip.png"),
        *("one_digit_32_perceptron_0_curves.png", "one_digit_32_perceptron_0_strip.png"),
    ]
    assert all(path.stat().st_size < 100_000 for path in (tmp_path / "figures").iterdir())
