"""An encoder that is fitted stays fitted inside other estimators, unless `fit_encoder=True`."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import timelike as tl
from toys import CAUSAL as SMALL


@pytest.fixture
def encoder(waves):
    return tl.CausalEncoder(**SMALL).fit(waves)


@pytest.fixture
def trainings(monkeypatch):
    """How often a training begins."""
    from timelike.train import loop

    begun, fit = [], loop.fit
    monkeypatch.setattr(loop, "fit", lambda *args, **options: begun.append(1) or fit(*args, **options))
    return begun


@pytest.mark.parametrize("head", [tl.EmbeddingClassifier, tl.EmbeddingRegressor])
def test_a_fitted_encoder_is_not_trained_again(head, waves, encoder, trainings):
    y = (waves.labels == "slow").astype(int)
    for given in (encoder, FrozenEstimator(encoder)):
        model = head(given, head="1nn").fit(waves, y)
        for one in (model, clone(model).fit(waves, y)):
            np.testing.assert_array_equal(one.encoder_.encode(waves), encoder.encode(waves))
    assert trainings == []


def test_what_becomes_of_an_encoder_later_changes_no_model_made_with_it(waves, encoder, tmp_path):
    models = [
        tl.EmbeddingClassifier(encoder, head="1nn").fit(waves),
        tl.Neighbors(encoder).fit(waves),
        tl.KMedoids(2, metric=encoder, random_state=0).fit(waves),
        tl.encode.combine([encoder]).fit(waves),
    ]
    verbs = ["predict", "predict", "predict", "encode"]
    before = [getattr(model, verb)(waves) for model, verb in zip(models, verbs, strict=True)]
    encoder.set_params(random_state=9).fit(waves[:10])
    for number, (model, verb, answer) in enumerate(zip(models, verbs, before, strict=True)):
        np.testing.assert_array_equal(getattr(model, verb)(waves), answer)
        model.save(tmp_path / f"{number}")
        np.testing.assert_array_equal(getattr(tl.load_model(tmp_path / f"{number}"), verb)(waves), answer)


@pytest.mark.parametrize("head", [tl.EmbeddingClassifier, tl.EmbeddingRegressor])
def test_a_copy_is_trained_if_it_is_asked_for(head, waves, encoder, trainings):
    before = encoder.encode(waves)
    model = head(encoder, head="1nn", fit_encoder=True).fit(waves[:20], np.arange(20) % 2)
    assert model.encoder_ is not encoder
    assert trainings == [1]
    np.testing.assert_array_equal(encoder.encode(waves), before)


def test_a_combination_fits_only_what_is_not_fitted(waves, encoder, trainings):
    other = tl.CausalEncoder(**SMALL | {"n_negatives": 1})
    both = tl.encode.combine([encoder, other]).fit(waves)
    assert trainings == [1]
    assert not hasattr(other, "network_")
    assert clone(both).encoders[0] is encoder
    np.testing.assert_array_equal(both.encode(waves)[:, :6], encoder.encode(waves))


def test_an_encoder_refitted_inside_has_no_fitted_parts_left(waves, encoder, trainings):
    model = tl.EmbeddingClassifier(tl.encode.combine([encoder]), head="1nn", fit_encoder=True).fit(waves)
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
    monkeypatch.setattr(tl.native, "cpu_count", lambda: 4)
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


def test_a_frozen_encoder_is_used_as_it_is_everywhere(waves, encoder, trainings, tmp_path):
    frozen = FrozenEstimator(encoder)
    y = (waves.labels == "slow").astype(int)
    both = tl.encode.combine([frozen, encoder])
    np.testing.assert_array_equal(both.encode(waves)[:, :6], encoder.encode(waves))
    both.fit(waves)
    tl.EmbeddingClassifier(frozen, head="1nn", fit_encoder=True).fit(waves, y)
    assert trainings == []
    for number, model in enumerate((tl.Neighbors(frozen).fit(waves), tl.EmbeddingClassifier(frozen).fit(waves), both)):
        model.save(tmp_path / f"{number}")
        again = tl.load_model(tmp_path / f"{number}")
        part = next(getattr(again, name) for name in ("metric_", "encoder_", "encoders_") if hasattr(again, name))
        assert isinstance(part[0] if isinstance(part, list) else part, tl.CausalEncoder)
    pipeline = make_pipeline(frozen, tl.Neighbors("euclidean")).fit(waves, y)
    tl.save_model(pipeline, tmp_path / "pipeline")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "pipeline").predict(waves), pipeline.predict(waves))
    assert trainings == []


def test_the_default_encoder_has_options_too():
    model = tl.EmbeddingClassifier().set_params(encoder__n_features=300)
    assert (type(model.encoder), model.encoder.n_features) == (tl.Rocket, 300)


def test_an_option_of_the_network_set_after_fit_changes_no_answer(waves, encoder, tmp_path):
    before = encoder.encode(waves)
    np.testing.assert_array_equal(encoder.set_params(n_features=5).encode(waves), before)
    with pytest.raises(ValueError, match="n_features=5 was 6 when this CausalEncoder was fitted"):
        encoder.save(tmp_path / "model")


@pytest.mark.parametrize("reduced_size", [5, 7, 9, 31, 160])
@pytest.mark.parametrize("n_features", [3, 20])
def test_vectors_of_networks_of_odd_sizes_do_not_depend_on_the_batch(reduced_size, n_features):
    rng = np.random.default_rng(0)
    Z = tl.Sequences([rng.standard_normal((12 + i % 5, 2)) for i in range(30)])
    size = {"n_features": n_features, "channels": 3, "depth": 2, "reduced_size": reduced_size}
    encoder = tl.CausalEncoder(**size, max_steps=1, random_state=0).fit(Z)
    alone = np.concatenate([encoder.encode(Z[[i]]) for i in range(len(Z))])
    np.testing.assert_array_equal(encoder.encode(Z), alone)


def test_where_products_round_otherwise_the_double_precision_copy_is_used(waves, encoder, monkeypatch):
    from timelike.encode.causal import estimator as causal

    monkeypatch.setattr(causal, "is_batch_invariant", lambda *size: False)
    np.testing.assert_allclose(encoder.encode(waves), encoder.encode(waves), rtol=0)
    alone = np.concatenate([encoder.encode(waves[[i]]) for i in range(len(waves))])
    np.testing.assert_array_equal(encoder.encode(waves), alone)
