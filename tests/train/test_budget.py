"""Budgets of time by a clock that only moves where work is done: what comes before and after the loop counts."""

import warnings
from datetime import timedelta

import numpy as np
import pytest
import torch

import timelike as tl
from contract.discover import MODELS, data, small
from timelike.forecast import reencoding
from timelike.train import NotLearnedWarning, OneCycle, clock, fit
from timelike.train.checkpoints import Checkpoints
from timelike.train.objective import FORWARD_SHARE
from train.objectives import Judged, Line


class Clock:
    """Stands still until it is told how long something took."""

    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds

    def passes(self, seconds, call):
        """The call, taking so long."""

        def slow(*given, **how):
            self.seconds += seconds
            return call(*given, **how)

        return slow


@pytest.fixture
def ticking():
    ticking = Clock()
    with clock.use_clock(ticking):
        yield ticking


def slow(objective, ticking, **parts):
    """An objective whose methods take so many seconds each."""
    for name, seconds in parts.items():
        setattr(objective, name, ticking.passes(seconds, getattr(objective, name)))
    return objective


def test_steps_end_within_one_of_the_limit(ticking):
    history = fit(slow(Line(), ticking, loss=2.0), max_time=timedelta(seconds=31), random_state=0)
    assert (history.stop_reason, history.n_steps, ticking.seconds) == ("max_time", 16, 1032)


def test_what_a_model_does_before_its_loop_counts(ticking):
    with clock.fit_timer():
        ticking.seconds += 20
        history = fit(slow(Line(), ticking, loss=2.0), max_time=31, random_state=0)
    assert (history.n_steps, ticking.seconds) == (6, 1032)
    assert history.seconds == 12  # of the loop itself


def test_a_step_is_made_however_long_what_came_before_it_took(ticking):
    with clock.fit_timer():
        ticking.seconds += 100
        assert fit(slow(Line(), ticking, loss=2.0), max_time=31, random_state=0).n_steps == 1


def test_a_fit_within_another_has_a_budget_of_its_own(ticking):
    with clock.fit_timer():
        ticking.seconds += 20
        with clock.fit_timer():
            assert fit(slow(Line(), ticking, loss=2.0), max_time=8, random_state=0).n_steps == 4
        assert clock.fit_start() == 1000


def test_time_is_kept_for_the_last_validation(ticking):
    """Every one of them takes five steps; the last is the one after the last step."""
    judged = slow(Judged(), ticking, loss=1.0, validate=5.0)
    history = fit(judged, max_time=60, validate_every=10, random_state=0)
    assert len(history.scores) > 2
    assert history.steps("score")[-1] == history.n_steps
    assert ticking.seconds - 1000 <= 60 + 1


def test_time_is_kept_for_the_last_checkpoint(ticking, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoints, "save", ticking.passes(6.0, Checkpoints.save))
    fit(slow(Line(), ticking, loss=1.0), max_time=50, checkpoint=tmp_path / "kept", checkpoint_every=9, random_state=0)
    assert 50 - 6 < ticking.seconds - 1000 <= 50 + 1


def test_time_is_kept_for_work_after_the_last_step(ticking):
    line = slow(Line(), ticking, loss=1.0)
    line.closing_steps = 7
    assert fit(line, max_time=30, random_state=0).n_steps == 23
    line.closing_steps = 1000  # more than the half is never kept
    ticking.seconds = 0.0
    assert fit(slow(Line(), ticking, loss=1.0), max_time=30, random_state=0).n_steps == 30
    assert fit(line, max_time=30, random_state=0).n_steps == 15


def test_a_cycle_ends_where_the_steps_do(ticking):
    """Before the loop a third of the time was spent, and a tenth is kept for what follows."""
    line = slow(Line(), ticking, loss=1.0)
    line.closing_steps = 10
    with clock.fit_timer():
        ticking.seconds += 30
        history = fit(line, max_time=100, schedule=OneCycle(), random_state=0)
    assert history.n_steps == 60
    expected = [0.05 * OneCycle().factor(step, 60, history) for step in range(30, 60)]
    np.testing.assert_allclose(history["rate"][30:], expected, rtol=1e-6)


def test_a_run_that_continues_counts_the_time_before_its_pause(ticking, tmp_path):
    for limit, steps in ((10, 10), (25, 25)):
        line = slow(Line(), ticking, loss=1.0)
        history = fit(line, max_time=limit, checkpoint=tmp_path / "kept", random_state=0)
        assert history.n_steps == steps
        ticking.seconds += 500  # between two calls nobody trains


@pytest.mark.parametrize("frozen", [False, True])
def test_prototypes_keep_their_budget_with_all_that_they_encode(frozen, ticking, monkeypatch):
    """A step takes 1 second and shows 12 sequences; a network encodes them in 0.4, and what is not trained encodes all
    240 in 15 seconds.
    """
    from timelike.prototypes import encoder_adapter, objective
    from timelike.train import learning_check

    encode = encoder_adapter.encode_sequences

    def slowly(encoder, sequences, *given):
        ticking.seconds += len(sequences) * (FORWARD_SHARE / 12 if isinstance(encoder, tl.SiameseGRU) else 15 / 240)
        return encode(encoder, sequences, *given)

    monkeypatch.setattr(encoder_adapter, "encode_sequences", slowly)
    monkeypatch.setattr(encoder_adapter, "fit_extra_encoders", ticking.passes(20.0, encoder_adapter.fit_extra_encoders))
    monkeypatch.setattr(objective.PrototypeObjective, "step", ticking.passes(1.0, objective.PrototypeObjective.step))
    monkeypatch.setattr(learning_check, "_batch_loss", ticking.passes(FORWARD_SHARE, learning_check._batch_loss))
    monkeypatch.setattr(objective, "describe_missing_signal", ticking.passes(12.0, objective.describe_missing_signal))
    rng, classes = np.random.default_rng(0), np.arange(240) % 2
    X = np.sin(np.arange(8) * (1 + classes[:, None])) + 0.1 * rng.standard_normal((240, 8))
    beside = [] if frozen else [tl.encode.StatisticsEncoder(), tl.encode.StatisticsEncoder()]
    given = {"encoder": tl.encode.StatisticsEncoder() if frozen else None, "extra_encoders": beside}
    model = tl.Prototypes(max_time=150, random_state=0, **given)
    model.fit(X, classes)
    assert model.history_.stop_reason == "max_time"
    assert 135 < ticking.seconds - 1000 <= 151  # a look at the examples takes 8 seconds that this clock does not see
    np.testing.assert_array_equal(
        model.members_.vectors[:3], model.encode(X[classes == 0])[_order(model, X, classes)[:3]]
    )


def _order(model, X, classes):
    """Places of the examples of the first class in the order in which members are kept: by value."""
    return np.lexsort(model.encode(X[classes == 0]).T[::-1])


def test_one_step_is_told_what_took_the_time(ticking, monkeypatch):
    from timelike.prototypes import encoder_adapter

    monkeypatch.setattr(encoder_adapter, "fit_extra_encoders", ticking.passes(23.0, encoder_adapter.fit_extra_encoders))
    X = np.random.default_rng(0).standard_normal((8, 6))
    words = r"made only one step.* \(fitting the encoders beside the network, of which extra_encoders=\[\] has none, took 23 s\)"
    with pytest.warns(NotLearnedWarning, match=words):
        tl.Prototypes(max_time=6, random_state=0).fit(X, np.arange(8) % 2)


@pytest.mark.parametrize(("kind", "lasts"), [(tl.SRVP, FORWARD_SHARE), (tl.SRVP, 3.0), (tl.Separation, FORWARD_SHARE)])
def test_a_forecaster_keeps_its_budget_with_all_that_it_does(kind, lasts, ticking, monkeypatch):
    """Reading takes 30 seconds, a step 1, a batch that settles statistics 0.4 or, on some machine, more than a step, and
    what is compared at the end 3 steps.
    """
    from timelike.forecast import chunks, latent_forecaster

    monkeypatch.setattr(kind, "_validate_fit_input", ticking.passes(30.0, kind._validate_fit_input))
    monkeypatch.setattr(
        latent_forecaster, "warn_if_no_better", ticking.passes(3.0, latent_forecaster.warn_if_no_better)
    )
    monkeypatch.setattr(latent_forecaster, "count_comparison_steps", lambda *given: 6.5)
    chooser = latent_forecaster.is_reencoding_better
    monkeypatch.setattr(latent_forecaster, "is_reencoding_better", ticking.passes(6.5, chooser))
    settling = chunks.ChunkObjective.statistics_batches

    def settled(self, share):
        for batch in settling(self, share):
            ticking.seconds += lasts
            yield batch

    monkeypatch.setattr(chunks.ChunkObjective, "statistics_batches", settled)
    chosen = kind._make_chunk_objective
    monkeypatch.setattr(kind, "_make_chunk_objective", lambda *given: slow(chosen(*given), ticking, batches=0.0))
    stepped = torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step", ticking.passes(1.0, stepped))
    clips = np.random.default_rng(0).random((60, 9, 1, 8, 8))
    model = small(kind, codec="dcgan", max_steps=None, max_time=100.0, precision="32-true", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotLearnedWarning)  # of noise there is nothing to learn
        model.fit(clips)
    assert model.history_.stop_reason == "max_time"
    assert 95 <= ticking.seconds - 1000 <= 106


def test_more_time_is_kept_where_statistics_are_settled_more_slowly_than_steps_are_made():
    clips = tl.Sequences(np.random.default_rng(0).random((60, 9, 1, 8, 8)))
    kept = []
    for precision in ("32-true", "bf16-mixed"):
        model = small(tl.SRVP, codec="dcgan", precision=precision).fit(clips)
        objective = model._make_chunk_objective(9, model._pack_frames(clips), None, None)
        assert (
            objective.n_statistics_passes() == 2 * 8
        )  # of 60 chunks in batches of 8: once for normalization, once for √ν
        kept.append(model._closing_steps(objective, clips))
        kept[-1] -= reencoding.count_comparison_steps(model, 8)
    assert kept == pytest.approx([16 * FORWARD_SHARE + 3, 1.6 * 16 * FORWARD_SHARE + 3])


@pytest.mark.parametrize(("share", "left", "expected"), [(1.0, 100.0, 4), (1.0, 7.0, 3), (0.5, 8.0, 2), (1.0, -5.0, 1)])
def test_statistics_are_settled_by_as_many_batches_as_fit_and_one_at_least(ticking, share, left, expected):
    """Four batches of two seconds each."""
    clips = tl.Sequences(np.random.default_rng(0).random((30, 9, 1, 8, 8)))
    model = small(tl.SRVP, codec="dcgan").fit(clips)
    objective = model._make_chunk_objective(9, model._pack_frames(clips), None, None)
    objective.deadline = ticking.seconds + left
    found = 0
    for _ in objective.statistics_batches(share):
        ticking.seconds += 2.0
        found += 1
    assert found == expected


# --- every method that has max_time ----------------------------------------------------------------------------------

BY_TIME = {"max_steps": None, "max_time": 100.0, "progress": False}


@pytest.fixture
def slow_steps(ticking, monkeypatch):
    """A step takes 1 second, the loss of a batch after the last one 0.4, and a check of the labels 12."""
    from timelike.metric import label_signal
    from timelike.train import learning_check
    from timelike.train.optimizer_step import OptimizerStep

    monkeypatch.setattr(OptimizerStep, "step", ticking.passes(1.0, OptimizerStep.step))
    monkeypatch.setattr(learning_check, "_batch_loss", ticking.passes(FORWARD_SHARE, learning_check._batch_loss))
    monkeypatch.setattr(label_signal, "label_signal", ticking.passes(12.0, label_signal.label_signal))
    return ticking


def slow_distances(monkeypatch, ticking, step_pairs, held_out=None):
    """A pair takes a forward pass's share of a step; or the pairs of a validation so many seconds."""
    from timelike.metric.objectives import base, supervised

    fill = base.fill_distances

    def slowly(network, x, y, out):
        ticking.seconds += FORWARD_SHARE * out.size / step_pairs if y is None or held_out is None else held_out
        fill(network, x, y, out)

    monkeypatch.setattr(base, "fill_distances", slowly)
    monkeypatch.setattr(supervised, "fill_distances", slowly)


def fit_quietly(model, *given, verb="fit"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotLearnedWarning)
        getattr(model, verb)(*given)
    assert model.history_.stop_reason == "max_time"
    return model


def two_paces(n=40, length=6):
    classes = np.arange(n) % 2
    noise = np.random.default_rng(0).standard_normal((n, length))
    return np.sin(np.arange(length) * (1 + classes[:, None])) + 0.1 * noise, classes


LEARNED = [
    (tl.SiameseGRU, {}, 12**2),  # six of each of two classes in a batch
    (tl.CoupledGRU, {}, 12**2),
    (tl.TAP, {"supervision": "labels"}, 12**2),
    (tl.TAP, {"supervision": tl.metric.Episodes(n_way=2, k_shot=1, n_query=2)}, 2 * 2**2 * 2),  # both ways
    (tl.TAP, {"supervision": "augmentation"}, 12),
    (tl.metric.AlignedFrames, {"supervision": "labels"}, 12**2),
]


@pytest.mark.parametrize(("kind", "how", "step_pairs"), LEARNED)
def test_a_learned_metric_keeps_its_budget_with_the_check_of_its_labels(kind, how, step_pairs, slow_steps, monkeypatch):
    """Nothing is held out, so that labels are checked by the data alone."""
    slow_distances(monkeypatch, slow_steps, step_pairs)
    more = {"n_per_class": None, "batch_size": 12} if issubclass(kind, tl.align.Aligner) else {"n_per_class": 6}
    fit_quietly(small(kind, **BY_TIME | {"max_epochs": None, "validation": 0.0} | more | how), *two_paces())
    assert 85 <= slow_steps.seconds - 1000 <= 105 + 1


@pytest.mark.parametrize("limit", [100.0, 20.0])  # two looks at what is held out, or none, before the end
@pytest.mark.parametrize("kind", [tl.SiameseGRU, tl.CoupledGRU, tl.TAP])
def test_a_learned_metric_keeps_its_budget_with_what_is_held_out(kind, limit, slow_steps, monkeypatch):
    """A validation takes 8 seconds where it can be timed; then there is another one of the same pairs at the end."""
    step_pairs = 12**2
    slow_distances(monkeypatch, slow_steps, step_pairs, 8.0 if limit == 100 else None)
    how = {"n_per_class": 6, "batch_size": 12} if kind is tl.TAP else {"n_per_class": 6}
    model = small(kind, **BY_TIME | {"max_epochs": None, "validation": 0.3, "max_time": limit} | how)
    X, classes = two_paces()
    fit_quietly(model, X, np.random.default_rng(0).permutation(classes))  # so that the score is not 1
    assert len(model.history_.scores) == (3 if limit == 100 else 1)
    assert 0.8 * limit <= slow_steps.seconds - 1000 <= 1.05 * limit + 1


@pytest.mark.parametrize("limit", [20.0, 90.0, 300.0])
def test_what_is_held_out_is_not_looked_at_where_that_would_take_longer_than_there_is_time(
    limit, slow_steps, monkeypatch
):
    """All pairs of 100 sequences held out and 100 others take 28 seconds, and a step 1."""
    slow_distances(monkeypatch, slow_steps, 12**2)
    X, classes = two_paces(200)
    model = small(
        tl.CoupledGRU, **BY_TIME | {"max_epochs": None, "validation": 0.5, "max_time": limit, "n_per_class": 6}
    )
    fit_quietly(model, X, np.random.default_rng(0).permutation(classes))
    assert (len(model.history_.scores) > 0) == (limit > 20)
    assert 0.7 * limit <= slow_steps.seconds - 1000 <= 1.05 * limit + 1


@pytest.mark.parametrize("kind", [tl.SiameseGRU, tl.CoupledGRU])
def test_given_pairs_keep_their_budget_although_a_step_has_few_of_them(kind, slow_steps, monkeypatch):
    slow_distances(monkeypatch, slow_steps, 8)
    X, classes = two_paces()
    pairs = np.array([[0, 2], [1, 3], [0, 1], [2, 3], [4, 6], [5, 7], [4, 5], [6, 7]])
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    how = BY_TIME | {"max_epochs": None, "loss": "contrastive"}
    fit_quietly(small(kind, **how), X, pairs, same, verb="fit_pairs")
    assert 85 <= slow_steps.seconds - 1000 <= 105 + 1


ENCODERS = [
    tl.CausalEncoder,
    tl.RecurrentEncoder,
    tl.encode.VectorEncoder,
    tl.encode.ImageEncoder,
    tl.encode.FrameEncoder,
]


@pytest.mark.parametrize("limit", [100.0, 9.0])  # the first look at what is held out is after ten steps or more
@pytest.mark.parametrize("kind", ENCODERS)
def test_an_encoder_keeps_its_budget_with_what_is_held_out_and_with_all_vectors(kind, limit, slow_steps, monkeypatch):
    from timelike.encode import self_supervised
    from timelike.encode.objectives import crop_objectives

    number, vectors_of = crop_objectives._loss_value, self_supervised.encode_batches

    def encoded(network, ready, *given, **how):
        slow_steps.seconds += FORWARD_SHARE * len(ready) / 4
        return vectors_of(network, ready, *given, **how)

    monkeypatch.setattr(crop_objectives, "_loss_value", slow_steps.passes(FORWARD_SHARE, number))
    monkeypatch.setattr(self_supervised, "encode_batches", encoded)
    X = data(kind, lengths=(9,) * 20)  # four of them are held out: one batch, drawn four times
    how = BY_TIME | {"max_steps": 2000, "max_time": limit, "validation": 0.2, "batch_size": 4, "vectors": "whitened"}
    fit_quietly(small(kind, **how), X)
    assert 0.8 * limit <= slow_steps.seconds - 1000 <= 1.05 * limit + 1


GROUND = [tl.metric.RVSML, tl.metric.DeepRVSML, tl.metric.ElementWise]


@pytest.mark.parametrize("kind", GROUND)
def test_a_ground_metric_keeps_its_budget(kind, slow_steps):
    model = small(kind, **BY_TIME | {"max_steps": 10_000, "max_epochs": None})
    if kind is tl.metric.RVSML:  # which settles before
        assert model.fit(*two_paces()).history_.stop_reason == "nothing more to gain"
        return
    fit_quietly(model, *two_paces())
    assert 85 <= slow_steps.seconds - 1000 <= 105 + 1


def test_no_method_that_has_a_budget_of_time_is_left_out():
    """Prototypes and the forecasters have tests of their own above."""
    own = {tl.Prototypes, tl.SRVP, tl.Separation}
    assert {kind for kind in MODELS if "max_time" in kind.options()} == {
        *own,
        *ENCODERS,
        *GROUND,
        *(kind for kind, *_ in LEARNED),
    }


def test_labels_are_not_checked_where_a_training_is_too_short_to_be_judged(slow_steps):
    small(tl.SiameseGRU, max_steps=49, max_epochs=None).fit(*two_paces())
    assert slow_steps.seconds == 1000 + 49
    small(tl.SiameseGRU, max_steps=None, max_epochs=12, n_per_class=6, validation=0.0).fit(*two_paces())
    assert slow_steps.seconds == 1000 + 49 + 12 * 4  # an epoch of 40 sequences has four batches of 12
