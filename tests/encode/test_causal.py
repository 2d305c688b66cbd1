"""The causal encoder: what it learns, and its use with scikit-learn, saved models and other packages."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import timelike as tl
from tampering import read_config, write_config
from timelike import train
from timelike.encode import crop_encoder
from toys import CAUSAL as SMALL

FAST = SMALL | {"trainer": tl.Trainer(learning_rate=1e-2)}
DIVERGENT = SMALL | {"trainer": tl.Trainer(learning_rate=1e20), "max_steps": 20}


def test_it_learns(ragged):
    losses = tl.CausalEncoder(**FAST | {"max_steps": 80}).fit(ragged).history_["loss"]
    assert losses[-20:].mean() < losses[:20].mean()


def test_it_tells_kinds_of_series_apart_that_it_was_never_told(waves):
    vectors = tl.CausalEncoder(**SMALL | {"max_steps": 60}).fit_transform(waves)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2) + 1e9 * np.eye(len(waves))
    assert (waves.labels[distances.argmin(1)] == waves.labels).mean() > 0.9


def test_steps_follow_the_paper_in_its_preset_unless_given(ragged, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "timelike.train.loop.fit", lambda objective, max_steps, **_: asked.append(max_steps) or train.History()
    )
    for n_negatives in (1, 5, 10, 20):
        tl.CausalEncoder.preset("thesis", n_negatives=n_negatives).fit(ragged)
    assert asked == [1500, 1500, 2000, 2000]


def test_it_works_in_a_pipeline_a_search_and_as_a_copy(waves):
    pipeline = make_pipeline(tl.CausalEncoder(**SMALL), LogisticRegression())
    search = GridSearchCV(pipeline, {"causalencoder__n_negatives": [1, 2]}, cv=2).fit(waves, waves.labels)
    assert search.best_score_ > 0.5
    fitted = pipeline.fit(waves, waves.labels)[0]
    assert not clone(fitted).__sklearn_is_fitted__()
    assert clone(fitted).get_params() == fitted.get_params()


def test_it_is_a_metric_for_neighbours(waves):
    encoder = tl.CausalEncoder(**SMALL).fit(waves)
    assert tl.Neighbors(encoder).fit(waves).score(waves, waves.labels) == 1.0
    ids, distances = encoder.neighbors(waves, waves[:3], k=2)
    np.testing.assert_array_equal(ids[:, 0], [0, 1, 2])
    assert (distances[:, 0] < 1e-5).all()


def test_scale_and_offset_of_a_channel_do_not_matter_even_if_large(ragged):
    moved = tl.Sequences([np.asarray(x) * [1e-3, 1e3] + [1e6, -1e9] for x in ragged])
    plain, far = (tl.CausalEncoder(**SMALL).fit(data).encode(data) for data in (ragged, moved))
    np.testing.assert_allclose(far, plain, rtol=1e-3, atol=1e-4)


def test_without_standardizing_scale_matters(ragged):
    encoder = tl.CausalEncoder(standardize=False, **SMALL).fit(ragged)
    more = tl.Sequences([2 * np.asarray(x) for x in ragged])
    assert np.abs(encoder.encode(more) - encoder.encode(ragged)).max() > 1e-3
    x = np.asarray(ragged[0])
    stream = encoder.stream()
    for t in range(len(x)):
        vector = stream.push(x[t])
    np.testing.assert_allclose(vector, encoder.encode([x])[0], atol=1e-5)


def test_a_channel_that_never_changes_says_nothing(ragged):
    data = tl.Sequences([np.column_stack([x, np.full(len(x), 0.1)]) for x in ragged])
    encoder = tl.CausalEncoder(**SMALL).fit(data)
    assert encoder.scaler_.scale[2] == 1.0


def test_without_kernels_crops_that_need_much_memory_get_a_backward_pass_per_term(monkeypatch):
    """By the sizes of the network: 40 channels in ten blocks and 160 in the last make about 7 kB a step."""
    seen = []
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    monkeypatch.setattr(
        "timelike.train.loop.fit", lambda objective, **_: seen.append(objective.is_low_memory) or train.History()
    )
    thesis = tl.CausalEncoder.preset("thesis")
    steps = (2 << 30) / (120 * 4 * (10 * 3 * 40 + 4 * 160))  # that 2 GiB hold, of 120 crops
    for length, low_memory in ((0.7 * steps, None), (1.4 * steps, None), (1.4 * steps, False), (5, True)):
        clone(thesis).set_params(low_memory=low_memory).fit(np.zeros((1, int(length))))
    assert seen == [False, True, False, True]
    few = thesis.set_params(n_negatives=1, trainer__batch_size=2)  # six crops
    few.fit(np.zeros((1, int(1.4 * steps))))
    assert seen[-1] is False
    monkeypatch.setattr(crop_encoder, "available_memory", lambda: 100e6)
    few.fit(np.zeros((1, int(1.4 * steps))))
    assert seen[-1] is True
    if tl.native.machine.kernels is not None:  # which bound what is kept by themselves
        monkeypatch.delenv("TIMELIKE_NATIVE")
        few.fit(np.zeros((1, int(1.4 * steps))))
        assert seen[-1] is False
        few.set_params(trainer__precision="64-true").fit(np.zeros((1, int(1.4 * steps))))  # which they do not serve
        assert seen[-1] is True


def test_a_saved_model_knows_the_folder_of_its_checkpoint(ragged, tmp_path):
    trainer = tl.Trainer(checkpoint=tmp_path / "pause")
    tl.CausalEncoder(**SMALL, trainer=trainer).fit(ragged).save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").trainer.checkpoint == tmp_path / "pause"


def test_a_checkpoint_of_other_sequences_or_other_crops_is_refused(ragged, tmp_path):
    trainer = tl.Trainer(checkpoint=tmp_path / "pause")
    options = SMALL | {"trainer": trainer}
    first = tl.CausalEncoder(**options).fit(ragged)
    moved = [np.asarray(x).copy() for x in ragged]
    moved[3][5, 1] += 1e-9
    one_less = [*moved[:3], ragged[3], *moved[4:5], ragged[5][:-1]]
    for other in (moved, one_less, ragged[:5], ragged[::-1]):
        with pytest.raises(ValueError, match="the checkpoint in .*pause has other sequences: .*remove this one"):
            tl.CausalEncoder(**options).fit(other)
    for changed in ("n_negatives", "trainer__batch_size"):
        with pytest.raises(ValueError, match=f"has another {changed.removeprefix('trainer__')}, "):
            tl.CausalEncoder(**options).set_params(**{changed: 3}).fit(ragged)
    again = tl.CausalEncoder(**options | {"low_memory": True, "max_steps": 6}).set_params(trainer__learning_rate=1e-4)
    assert again.fit(tl.Sequences(list(ragged))).history_.n_steps == 6  # what may change in a pause
    assert first.history_.n_steps == 4


def test_folds_do_not_continue_from_each_others_checkpoint(waves, tmp_path):
    encoder = tl.CausalEncoder(**SMALL, trainer=tl.Trainer(checkpoint=tmp_path / "pause"))
    model = tl.EmbeddingClassifier(encoder, head="1nn")
    model.fit(waves[:30])
    with pytest.raises(ValueError, match="has other sequences"):
        clone(model).fit(waves[30:])
    with pytest.raises(ValueError, match="several have checkpoint=.*: give every encoder its own folder"):
        tl.encode.combine([tl.CausalEncoder(**SMALL, trainer=tl.Trainer(checkpoint=tmp_path / "one"))] * 2)


def test_a_fit_that_fails_leaves_what_was_learned_before(ragged, waves):
    encoder = tl.CausalEncoder(**SMALL).fit(ragged)
    before = encoder.encode(ragged)
    with pytest.raises(train.DivergenceError):
        encoder.set_params(trainer__learning_rate=1e20, max_steps=20).fit(waves)
    np.testing.assert_array_equal(encoder.encode(ragged), before)
    model = tl.EmbeddingClassifier(tl.CausalEncoder(**SMALL), head="1nn").fit(ragged, [0, 1, 0, 1, 0, 1])
    answers = model.predict(ragged)
    with pytest.raises(train.DivergenceError):
        model.set_params(encoder__trainer__learning_rate=1e20, encoder__max_steps=20).fit(waves)
    np.testing.assert_array_equal(model.predict(ragged), answers)
    with pytest.raises(train.DivergenceError):
        (fresh := tl.CausalEncoder(**DIVERGENT)).fit(waves)
    assert not fresh.__sklearn_is_fitted__()


@pytest.mark.filterwarnings("error")
def test_values_that_float32_cannot_hold_are_named(ragged):
    encoder = tl.CausalEncoder(**SMALL).fit(ragged)
    far = [np.asarray(x).copy() for x in ragged]
    far[3][5, 1] = 1e300
    with pytest.raises(ValueError, match="X: sequence 3 has a value at time step 5 that is too large for float32"):
        encoder.encode(far)
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        tl.CausalEncoder(**SMALL).fit(far)
    far[3][5, 1] = 1e100
    with pytest.raises(ValueError, match="too large for float32"):
        tl.CausalEncoder(standardize=False, **SMALL).fit(far)
    stream = encoder.stream()
    vector = stream.push(ragged[0][0])
    with pytest.raises(ValueError, match="is too large for float32"):
        stream.push([1e300, 0.0])
    np.testing.assert_array_equal(encoder.stream().push(ragged[0][0]), vector)
    assert stream.n_samples == 1
    far[3][5, 1] = 1e38
    encoder.network_.linear.weight.data *= 100
    with pytest.raises(ValueError, match="X: sequence 3 has values so large that its vector overflows"):
        encoder.encode(far)


def test_vectors_have_names_for_tables(ragged):
    encoder = tl.CausalEncoder(**SMALL).fit(ragged)
    assert encoder.get_feature_names_out().tolist() == [f"causalencoder{i}" for i in range(6)]
    assert len(tl.encode.combine([encoder, encoder]).get_feature_names_out()) == 12
    table = clone(encoder).set_output(transform="pandas").fit(ragged).transform(ragged)
    np.testing.assert_array_equal(table["causalencoder3"], encoder.encode(ragged)[:, 3])


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"n_negatives": 0}, ValueError),
        ({"n_features": 2.5}, TypeError),
        ({"depth": -1}, ValueError),
        ({"kernel_size": 0}, ValueError),
        ({"max_steps": -1}, ValueError),
        ({"max_time": 0}, ValueError),
        ({"loss": "cosine"}, ValueError),
        ({"loss": 3}, TypeError),
        ({"trainer": {"learning_rate": 1e-3}}, TypeError),
        ({"vectors": "white"}, ValueError),
        ({"geometry": "angle"}, ValueError),
        ({"standardize": "no"}, TypeError),
        ({"low_memory": "no"}, TypeError),
    ],
)
def test_a_wrong_option_is_named(ragged, options, kind):
    with pytest.raises(kind, match=next(iter(options))):
        tl.CausalEncoder(**SMALL | options).fit(ragged)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (tl.encode.NTXent, {"temperature": 0}),
        (tl.encode.NTXent, {"min_crop": 1.5}),
        (tl.encode.VICReg, {"min_crop": -0.1}),
        (tl.Trainer, {"learning_rate": 0}),
        (tl.Trainer, {"validation": 1}),
        (tl.Trainer, {"patience": 0}),
        (tl.Trainer, {"schedule": "cycle"}),
    ],
)
def test_a_wrong_option_of_a_value_is_named(kind, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        kind(**options)


def test_options_of_a_loss_are_reached_through_its_word(ragged, tmp_path):
    encoder = tl.CausalEncoder(loss="nt_xent", **SMALL)
    assert encoder.get_params()["loss__temperature"] == 0.2
    encoder.set_params(loss__temperature=0.5, loss__augment=False).fit(ragged).save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").loss == tl.encode.NTXent(temperature=0.5, augment=False)
    assert clone(encoder).loss == encoder.loss
    with pytest.raises(ValueError, match="loss has no option 'temperature': TLoss has shared_negatives"):
        tl.CausalEncoder(loss="t_loss").set_params(loss__temperature=0.5)


def test_a_damaged_or_newer_folder_is_refused(ragged, tmp_path):
    folder = tmp_path / "model"
    tl.CausalEncoder(**SMALL).fit(ragged).save(folder)
    config = read_config(folder)
    write_config(folder, config | {"parameters": config["parameters"] | {"channels": 3}})
    with pytest.raises(ValueError, match=r"make no CausalEncoder: network_.blocks.* has shape .* expected"):
        tl.load_model(folder)
    write_config(folder, config | {"parameters": config["parameters"] | {"channels": 50_000}})
    with pytest.raises(ValueError, match="make no CausalEncoder: network_ has .* the options say that it is larger"):
        tl.load_model(folder)
    write_config(folder, config | {"format_version": 99})
    with pytest.raises(ValueError, match="has format 99, .* reads format 4 alone"):
        tl.load_model(folder)
    write_config(folder, config)
    tensors = folder / "model.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-9])
    with pytest.raises(ValueError, match="model.safetensors is not what save"):
        tl.load_model(folder)
