"""An encoder that is fitted stays fitted inside other estimators, unless something else is asked for."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import timelike as tl

SMALL = {"n_features": 6, "channels": 4, "depth": 3, "reduced": 5, "n_negatives": 2, "max_steps": 4, "random_state": 0}


@pytest.fixture
def encoder(waves):
    return tl.CausalEncoder(**SMALL).fit(waves)


@pytest.fixture
def trainings(monkeypatch):
    """How often a training begins."""
    from timelike.train import trained

    begun, fit = [], trained.fit
    monkeypatch.setattr(trained, "fit", lambda *args, **options: begun.append(1) or fit(*args, **options))
    return begun


@pytest.mark.parametrize("head", [tl.EmbeddingClassifier, tl.EmbeddingRegressor])
def test_a_fitted_encoder_is_not_trained_again(head, waves, encoder, trainings):
    y = (waves.labels == "slow").astype(int)
    for given in (encoder, FrozenEstimator(encoder)):
        model = head(given, head="1nn").fit(waves, y)
        assert model.encoder_ is encoder
        assert clone(model).fit(waves, y).encoder_ is encoder
    assert trainings == []


@pytest.mark.parametrize("head", [tl.EmbeddingClassifier, tl.EmbeddingRegressor])
def test_a_copy_is_trained_if_it_is_asked_for(head, waves, encoder, trainings):
    before = encoder.encode(waves)
    model = head(encoder, head="1nn", fit_encoder=True).fit(waves[:20], np.arange(20) % 2)
    assert model.encoder_ is not encoder
    assert trainings == [1]
    np.testing.assert_array_equal(encoder.encode(waves), before)


def test_a_combination_fits_only_what_is_not_fitted(waves, encoder, trainings):
    other = tl.CausalEncoder(**SMALL | {"n_negatives": 1})
    both = tl.combine([encoder, other]).fit(waves)
    assert trainings == [1]
    assert both.encoders_[0] is encoder
    assert not hasattr(other, "network_")
    assert clone(both).encoders[0] is encoder
    np.testing.assert_array_equal(both.encode(waves)[:, :6], encoder.encode(waves))


def test_an_encoder_refitted_inside_has_no_fitted_parts_left(waves, encoder, trainings):
    model = tl.EmbeddingClassifier(tl.combine([encoder]), head="1nn", fit_encoder=True).fit(waves)
    assert trainings == [1]
    assert model.encoder_.encoders_[0] is not encoder


def test_options_of_a_fitted_encoder_that_change_make_another_one(waves, encoder):
    model = tl.EmbeddingClassifier(encoder, head="1nn").set_params(encoder__n_negatives=1)
    assert encoder.n_negatives == 2  # the one that was given is not changed
    assert (model.encoder.n_negatives, hasattr(model.encoder, "network_")) == (1, False)
    assert tl.EmbeddingClassifier(encoder).set_params(encoder__n_negatives=2).encoder is encoder


def test_frames_of_another_shape_than_the_fitted_encoder_knows_are_refused(waves, encoder):
    with pytest.raises(ValueError, match=r"X has frames of shape \(3,\): this CausalEncoder was fitted on \(1,\)"):
        tl.EmbeddingClassifier(encoder).fit(np.zeros((4, 5, 3)), [0, 1, 0, 1])


@pytest.mark.parametrize("jobs", [1, 2])
def test_n_jobs_is_the_number_of_threads_that_torch_computes_with(jobs, waves, encoder, monkeypatch):
    monkeypatch.setattr(tl.native, "cores", lambda: 4)
    seen, forward = [], type(encoder.network_).forward
    monkeypatch.setattr(
        type(encoder.network_), "forward", lambda *args: seen.append(torch.get_num_threads()) or forward(*args)
    )
    before = torch.get_num_threads()
    encoder.pairwise(waves, n_jobs=jobs)
    encoder.encode(waves, n_jobs=jobs)
    encoder.neighbors(waves, waves, n_jobs=jobs)
    assert set(seen) == {jobs}
    assert torch.get_num_threads() == before


def test_a_comparison_looks_at_its_input_once(waves, encoder, monkeypatch):
    seen, real = [], tl.Sequences.refuse_missing
    monkeypatch.setattr(tl.Sequences, "refuse_missing", lambda *args: seen.append(1) or real(*args))
    encoder.pairwise(waves)
    assert seen == [1]
    encoder.pairwise(waves, waves[:3])
    assert seen == [1, 1, 1]
