"""Steps from sequences to sequences: what they learn, what they do to any data, and how they sit in pipelines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import timelike as tl
from timelike import prepare

LENGTHS = (9, 4, 7, 12, 5, 8, 6, 10, 7, 9, 11, 5)
STEPS = [
    prepare.Standardize(),
    prepare.Standardize(per="sequence"),
    prepare.Interpolate(),
    prepare.Interpolate(max_gap=1.5),
    prepare.Resample(6),
    prepare.Resample(),
    prepare.Resample(rate=2.0),
    prepare.Resample(rate=2.0, max_gap=1.0),
    prepare.Derivative(),
    prepare.Derivative(rule="keogh"),
    prepare.Crop(start=-3),
    prepare.Crop(start=1, stop=3),
    prepare.Windows(3, step=2),
]


def recordings(seed=0, level=0.0, missing=False):
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal((n, 2)) * [1, 30] + [level, 5] for n in LENGTHS]
    if missing:
        values[2][1:3, 0] = values[5][0, 1] = np.nan
    n = len(LENGTHS)
    return tl.Sequences(
        values,
        labels=np.array(["up", "down"])[np.arange(n) % 2],
        groups=np.arange(n) // 3,
        ids=[f"r{i}" for i in range(n)],
        times=[np.cumsum(rng.uniform(0.1, 2, k)) for k in LENGTHS],
        channel_names=["a", "b"],
    )


def verb(step, X):
    """What the verbs of `Sequences` make of X alone, for steps that learn nothing of other data."""
    match step:
        case prepare.Standardize():
            return X.standardize(per=step.per)
        case prepare.Interpolate():
            return X.interpolate(max_gap=step.max_gap)
        case prepare.Resample():
            length = step.length or (None if step.rate else int(np.median(X.lengths)))
            return X.resample(length, rate=step.rate, max_gap=step.max_gap)
        case prepare.Derivative():
            return X.derivative(rule=step.rule)
        case prepare.Crop():
            return X.crop(step.start, step.stop)
        case prepare.Windows():
            return X.windows(step.size, step.step)


@pytest.mark.parametrize("step", STEPS, ids=repr)
class TestEveryPreparation:
    def test_on_its_training_part_it_does_what_the_verb_does(self, step):
        X = recordings(missing=True)
        made = clone(step).fit_transform(X)
        assert made.equals(verb(step, X))

    def test_labels_groups_ids_and_channel_names_go_through(self, step):
        X = recordings()
        made = clone(step).fit(X).transform(X[[4, 0, 7]])
        source = [4, 0, 7] if len(made) == 3 else [int(one.partition("[")[0][1:]) for one in made.ids]
        np.testing.assert_array_equal(made.labels, X.labels[source])
        np.testing.assert_array_equal(made.groups, X.groups[source])
        assert made.channel_names == ("a", "b")
        assert made.times is not None

    def test_other_items_change_nothing(self, step):
        X, other = recordings(), recordings(1)
        fitted = clone(step).fit(X)
        alone = [fitted.transform(other[i : i + 1]) for i in range(len(other))]
        together = fitted.transform(other)
        np.testing.assert_array_equal(np.concatenate([one.values for one in alone]), together.values)

    def test_what_is_asked_changes_nothing_that_was_learned(self, step):
        fitted = clone(step).fit(recordings())
        before = {name: np.copy(value) for name, value in vars(fitted).items() if name.endswith("_")}
        fitted.transform(recordings(1, level=100.0))
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(fitted, name), value)

    def test_it_leaves_the_callers_sequences_as_they_are(self, step):
        X = recordings(missing=True)
        kept = X.copy()
        clone(step).fit_transform(X)
        assert X.equals(kept)


def test_the_scale_is_scikit_learns_over_all_steps_of_the_training_part():
    train, test = recordings(), recordings(1, level=3.0)
    peer, ours = StandardScaler().fit(train.values), prepare.Standardize().fit(train)
    np.testing.assert_allclose(ours.mean_, peer.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.std_, peer.scale_, rtol=1e-12)
    np.testing.assert_allclose(ours.transform(test).values, peer.transform(test.values), rtol=1e-12, atol=1e-12)


def test_the_way_back_is_the_inverse_and_a_constant_channel_gets_its_level_again():
    X = tl.Sequences([np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[8.0, 7.0]])])
    scale = prepare.Standardize().fit(X)
    there = scale.transform(X)
    assert (there.values[:, 1] == 0).all()
    np.testing.assert_allclose(scale.inverse_transform(there).values, X.values, rtol=1e-14)
    with pytest.raises(ValueError, match=r'per="sequence" forgets .*use per="collection"'):
        prepare.Standardize(per="sequence").fit(X).inverse_transform(there)


def test_in_cross_validation_the_scale_is_that_of_the_training_part_alone():
    X = recordings()
    model = make_pipeline(prepare.Standardize(), tl.Neighbors("dtw"))
    found = cross_validate(
        model, X, X.labels, groups=X.groups, cv=GroupKFold(4), return_estimator=True, return_indices=True
    )
    for fitted, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        np.testing.assert_allclose(fitted[0].mean_, X[train].values.mean(axis=0), rtol=1e-12)
        assert not np.allclose(fitted[0].mean_, X.values.mean(axis=0), rtol=1e-6)


def test_a_grid_goes_through_steps_and_model_and_its_answer_is_saved(tmp_path):
    X = recordings()
    grid = {
        "standardize__per": ["collection", "sequence"],
        "resample__length": [5, 8],
        "neighbors__n_neighbors": [1, 3],
        "neighbors__metric__window": [0.2, None],
    }
    model = make_pipeline(prepare.Standardize(), prepare.Resample(5), tl.Neighbors(tl.DTW()))
    search = GridSearchCV(model, grid, cv=3).fit(X, X.labels)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = {**search.best_params_, "neighbors__k": search.best_params_.pop("neighbors__n_neighbors")}
    best.pop("neighbors__n_neighbors", None)
    expected = clone(model).set_params(**best).fit(X, X.labels).predict(recordings(1))
    np.testing.assert_array_equal(search.predict(recordings(1)), expected)
    tl.save_model(search.best_estimator_, tmp_path / "best")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "best").predict(recordings(1)), expected)


def test_gaps_are_filled_before_a_metric_that_cannot_take_them():
    X = recordings(missing=True)
    with pytest.raises(ValueError, match="cannot take missing"):
        tl.Neighbors("dtw").fit(X)
    scores = cross_val_score(make_pipeline(prepare.Interpolate(), tl.Neighbors("dtw")), X, X.labels, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_a_long_hole_is_neither_filled_nor_sampled():
    day = np.datetime64("2026-01-01")
    stamps = day + np.array([0, 1, 2, 602, 603]) * np.timedelta64(1, "s")
    X = tl.Sequences([np.array([1.0, np.nan, 3.0, np.nan, 5.0])], times=[stamps])
    filled = prepare.Interpolate(max_gap=10.0).fit_transform(X)
    np.testing.assert_array_equal(filled[0].ravel(), [1, 2, 3, np.nan, 5])
    sampled = prepare.Resample(rate=1.0, max_gap=10.0).fit_transform(X.interpolate())
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(sampled[0].ravel())), [0, 1, 2, 602, 603])


def test_the_length_that_is_learned_is_the_median_of_the_training_part():
    assert prepare.Resample().fit([[1.0] * n for n in (1, 4, 9)]).transform([[1.0, 2.0]] * 2).lengths.tolist() == [4, 4]
    assert prepare.Resample().fit([[1.0] * n for n in (2, 5)]).length_ == 3  # of two middles the lower, in whole steps


def test_both_a_length_and_a_rate_are_refused():
    with pytest.raises(ValueError, match=r"length=5, rate=2.0: give one of them, or neither"):
        prepare.Resample(5, rate=2.0).fit([[1.0, 2.0]])


def test_one_that_nothing_would_be_left_of_is_named():
    step = prepare.Crop(start=3).fit([[1.0] * 5])
    with pytest.raises(ValueError, match=r"leaves nothing of sequence 1, which has 2 time steps"):
        step.transform([[1.0] * 4, [1.0] * 2])


def test_augmentations_and_steps_that_share_a_name_are_told_apart_in_folders(tmp_path):
    crop = prepare.Crop(stop=2).fit([[1.0, 2.0, 3.0]])
    crop.save(tmp_path / "step")
    tl.save_model(tl.sequences.augment.RandomCrop(), tmp_path / "augmentation")
    assert isinstance(tl.load_model(tmp_path / "step"), prepare.Crop)
    assert isinstance(tl.load_model(tmp_path / "augmentation"), tl.sequences.augment.RandomCrop)


class TestWindows:
    def test_before_a_clustering_every_window_is_an_item(self):
        X = recordings()
        model = make_pipeline(prepare.Windows(4, step=2), tl.KMedoids(2, random_state=0)).fit(X)
        assert model[-1].labels_.shape == (sum(max(0, (n - 4) // 2 + 1) for n in LENGTHS),)

    def test_without_y_a_classifier_learns_the_labels_that_windows_carry(self):
        X = recordings()
        model = make_pipeline(prepare.Windows(4), tl.Neighbors("euclidean")).fit(X)
        np.testing.assert_array_equal(model.predict(X), X.windows(4).labels)

    def test_a_y_that_no_longer_fits_is_refused_with_the_way_out(self):
        X = recordings()
        model = make_pipeline(prepare.Windows(4), tl.Neighbors("dtw"))
        with pytest.raises(
            ValueError,
            match=r"y has one entry for each of 12 sequences.*neighbors\.WindowedClassifier\(classifier, size=4",
        ):
            model.fit(X, X.labels)

    def test_as_many_windows_as_sequences_by_chance_are_refused_too(self):
        """Of lengths 3, 1 and 4 the windows of 2 are 2 + 0 + … in other places than the entries of y."""
        with pytest.raises(ValueError, match="and there are 2 windows of size=2"):
            prepare.Windows(2).fit_transform([[1.0, 2.0, 3.0], [1.0]], ["a", "b"])

    def test_one_window_for_each_sequence_takes_y(self):
        X = np.arange(12.0).reshape(3, 4)
        model = make_pipeline(prepare.Windows(4), tl.Neighbors("dtw")).fit(X, ["a", "b", "c"])
        assert model.predict(X).tolist() == ["a", "b", "c"]

    def test_a_size_that_no_sequence_has_is_said(self):
        with pytest.raises(ValueError, match=r"size=9 is longer than every sequence \(the longest has 3 steps\)"):
            prepare.Windows(9).fit_transform([[1.0, 2.0, 3.0]])
