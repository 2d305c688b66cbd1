"""Tests of the additions beside the contract; `test_adding` runs it in a process whose library has them."""

import os
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from timelike.metric import losses

pytestmark = pytest.mark.skipif("ToyDistance" not in tl.align.__all__, reason="for the library that test_adding makes")

FILES = ["config.json", "model.safetensors"]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    lengths, labels = (5, 7, 4, 6, 8, 5, 9, 6), ["low", "high"] * 4
    return tl.Sequences([rng.standard_normal((n, 2)) + 2 * (i % 2) for i, n in enumerate(lengths)], labels=labels)


class TestToys:
    def test_the_library_is_the_copy(self):
        assert Path(tl.__file__).parents[1] == Path(os.environ["PYTHONPATH"])

    def test_each_is_public_in_its_package_and_not_at_the_top(self):
        assert {"ToyDistance", "ToyEncoder", "ToyMetric"}.isdisjoint(dir(tl))
        assert "ToyDistance" in tl.align.__all__
        assert "ToyEncoder" in tl.encode.__all__
        assert "ToyMetric" in tl.metric.__all__
        assert tl.align.ToyDistance.__module__ == "timelike.align.toy_distance"
        assert tl.encode.ToyEncoder.__module__ == "timelike.encode.toy_encoder"
        assert tl.metric.ToyMetric.__module__ == "timelike.metric.toy_metric"
        assert losses.ToyLoss.__module__ == "timelike.metric.losses.toy_loss"

    def test_a_distance_is_known_by_its_word_and_has_options_in_an_estimator(self, X):
        found = tl.Neighbors("toydistance", k=3).fit(X).kneighbors(X)
        same = tl.ADTW(penalty=0.5).neighbors(X, X, k=3)  # its recurrence
        np.testing.assert_array_equal(found.ids, same.ids)
        np.testing.assert_array_equal(found.distances, same.distances)
        assert tl.Neighbors("toydistance").set_params(metric__price=2.0).metric == tl.align.ToyDistance(price=2.0)

    def test_a_distance_is_a_part_of_a_saved_model(self, X, tmp_path):
        tl.Neighbors(tl.align.ToyDistance(price=2.0)).fit(X).save(tmp_path / "neighbors")
        assert tl.load_model(tmp_path / "neighbors").metric == tl.align.ToyDistance(price=2.0)

    def test_a_loss_is_known_by_its_word_and_trains_what_was_there_before(self, X, tmp_path):
        assert losses.resolve_loss("toy-loss") == losses.ToyLoss(margin=0.3)
        options = {"hidden": 3, "trainer": tl.Trainer(max_epochs=2, validation=0), "random_state": 0}
        metric = tl.SiameseGRU(loss="toy-loss", **options).fit(X)
        other = tl.SiameseGRU(loss="triplet", **options).fit(X)
        assert metric.history_["loss"][0] != other.history_["loss"][0]
        metric.save(tmp_path / "siamese")
        assert tl.load_model(tmp_path / "siamese").loss == "toy-loss"

    def test_an_encoder_learns_and_is_saved_and_loaded(self, X, tmp_path):
        encoder = tl.encode.ToyEncoder(n_features=5, max_steps=30, random_state=0).fit(X)
        assert encoder.history_["loss"][-1] < encoder.history_["loss"][0]
        encoder.save(tmp_path / "encoder")
        assert sorted(file.name for file in (tmp_path / "encoder").iterdir()) == FILES
        again = tl.load_model(tmp_path / "encoder")
        assert type(again) is tl.encode.ToyEncoder
        np.testing.assert_array_equal(again.encode(X), encoder.encode(X), strict=True)

    def test_an_encoder_follows_a_stream_and_is_a_part_of_others(self, X):
        encoder = tl.encode.ToyEncoder(random_state=0).fit(X)
        stream = encoder.stream()
        last = [stream.push(sample) for sample in X[0]][-1]
        np.testing.assert_allclose(last, encoder.encode(X[:1])[0], atol=1e-6)
        assert tl.EmbeddingClassifier(encoder, head="1nn").fit(X).score(X, X.labels) == 1
        assert tl.encode.combine([encoder, tl.encode.ToyEncoder(n_features=2, random_state=1).fit(X)]).encode(
            X
        ).shape == (8, 5)

    def test_a_metric_learns_and_is_saved_and_loaded(self, X, tmp_path):
        loss = losses.ToyLoss(margin=3.0)
        trainer = tl.Trainer(max_epochs=20, validation=0)
        metric = tl.metric.ToyMetric(hidden=3, loss=loss, trainer=trainer, random_state=0).fit(X)
        assert metric.history_["loss"][-1] < metric.history_["loss"][0]
        metric.save(tmp_path / "metric")
        assert sorted(file.name for file in (tmp_path / "metric").iterdir()) == FILES
        again = tl.load_model(tmp_path / "metric")
        assert (type(again), again.loss) == (tl.metric.ToyMetric, loss)
        np.testing.assert_array_equal(again.pairwise(X), metric.pairwise(X), strict=True)

    def test_a_training_continues_from_a_checkpoint_and_another_is_refused(self, X, tmp_path):
        whole = tl.encode.ToyEncoder(max_steps=4, random_state=0).fit(X)
        tl.encode.ToyEncoder(max_steps=2, trainer=tl.Trainer(checkpoint=tmp_path), random_state=0).fit(X)
        continued = tl.encode.ToyEncoder(max_steps=4, trainer=tl.Trainer(checkpoint=tmp_path), random_state=0).fit(X)
        np.testing.assert_array_equal(continued.encode(X), whole.encode(X))
        with pytest.raises(ValueError, match="n_features"):
            tl.encode.ToyEncoder(
                n_features=4, max_steps=4, trainer=tl.Trainer(checkpoint=tmp_path), random_state=0
            ).fit(X)
