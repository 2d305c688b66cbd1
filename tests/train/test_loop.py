"""The loop itself: what it minimises, when it stops, what it notes."""

import random
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
import torch
from torch import nn

import timelike as tl
from timelike.core import interrupts
from timelike.train import (
    Batch,
    Callback,
    DivergenceError,
    History,
    Objective,
    class_batches,
    fit,
    shuffled_batches,
    use_seed,
)
from timelike.train.gradient_clip import max_gradient_norm
from train.objectives import Contest, Judged, Line, weights


class Quadratic(Objective):
    """½ (w − target)², one weight, one sequence."""

    def __init__(self, target=3.0, rate=0.1, start=0.0, kind=torch.optim.SGD):
        self.module = nn.ParameterDict({"w": nn.Parameter(torch.tensor([start]))})
        self.target, self.rate, self.kind = target, rate, kind

    def optimizers(self):
        return self.kind(self.module.parameters(), lr=self.rate)

    def batches(self, epoch, rng):
        yield Batch([7])

    def loss(self, batch):
        return 0.5 * (self.module["w"] - self.target).square().sum()


def test_gradient_descent_follows_its_formula():
    objective = Quadratic()
    history = fit(objective, max_steps=10)
    errors = 3.0 * 0.9 ** np.arange(11)
    assert objective.module["w"].item() == pytest.approx(3 - errors[10], rel=1e-5)
    np.testing.assert_allclose(history.losses, 0.5 * errors[:10] ** 2, rtol=1e-5)
    np.testing.assert_allclose(history["gradient_norm"], errors[:10], rtol=1e-5)
    assert history.steps("loss").tolist() == list(range(1, 11))
    assert history.stop_reason == "max_steps"


def test_the_loop_equals_a_plain_torch_loop():
    ours, plain = Line(dropout=0.0, kind="adamw"), Line(dropout=0.0, kind="adamw")
    fit(ours, max_epochs=3, gradient_clip=0.5, random_state=4)
    seen = []

    class Recorder(Line):
        def batches(self, epoch, rng):
            for batch in super().batches(epoch, rng):
                seen.append(batch)
                yield batch

    fit(Recorder(dropout=0.0, kind="adamw"), max_epochs=3, gradient_clip=0.5, random_state=4)
    optimizer = plain.optimizers()
    plain.module.train()
    for batch in seen:
        optimizer.zero_grad()
        plain.loss(batch).backward()
        nn.utils.clip_grad_norm_(plain.module.parameters(), 0.5)
        optimizer.step()
    assert torch.equal(weights(ours.module), weights(plain.module))


def test_a_seed_repeats_a_run_and_leaves_the_global_generators_alone():
    def trained(seed):
        objective = Line()
        return weights(objective.module), fit(objective, max_epochs=2, random_state=seed), weights(objective.module)

    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    expected = torch.rand(1), np.random.rand(), random.random()  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    start, history, end = trained(0)
    assert (torch.rand(1), np.random.rand(), random.random()) == expected  # noqa: NPY002
    _, again, same = trained(0)
    assert torch.equal(end, same)
    assert history.losses.tolist() == again.losses.tolist()
    assert not torch.equal(start, end)
    assert not torch.equal(trained(1)[2], end)


def test_validating_more_often_changes_no_weight():
    seldom, often = Judged(), Judged()
    fit(seldom, max_epochs=3, random_state=0)
    fit(often, max_epochs=3, validate_every=1, random_state=0)
    assert torch.equal(weights(seldom.module), weights(often.module))


def test_every_validation_draws_the_same_numbers():
    class Drawn(Line):
        def validate(self):
            return float(torch.rand(1)) + random.random()

    assert len(set(fit(Drawn(), max_epochs=3, random_state=0).scores.tolist())) == 1


def test_each_limit_stops_and_says_so():
    assert fit(Line(), max_epochs=2).n_steps == 12
    assert fit(Line(), max_epochs=2).stop_reason == "max_epochs"
    assert fit(Line(), max_steps=5, max_epochs=2).stop_reason == "max_steps"
    history = fit(Line(), max_time=timedelta(seconds=0.2))
    assert history.stop_reason == "max_time"
    assert history["seconds"][:-1].max(initial=0) < 0.2


def test_patience_ends_with_the_best_weights():
    scores = iter([0.1, 0.5, 0.4, 0.3, 0.45, 0.2])
    kept = []

    class Scripted(Line):
        higher_is_better = True

        def validate(self):
            kept.append(weights(self.module))
            return next(scores)

    objective = Scripted()
    history = fit(objective, max_epochs=50, patience=3, random_state=0)
    assert history.stop_reason == "patience"
    assert history.scores.tolist() == [0.1, 0.5, 0.4, 0.3, 0.45]
    assert (history.best_score, history.best_step) == (0.5, 12)
    assert torch.equal(weights(objective.module), kept[1])


def test_a_smaller_score_can_be_the_better_one():
    history = fit(Judged(), max_epochs=8, validate_every=4, patience=30, random_state=0)
    assert history.best_score == history.scores.min()
    assert history.steps("score").tolist() == list(range(4, 49, 4))


def test_the_end_inside_an_epoch_is_judged_once():
    history = fit(Judged(), max_steps=9, random_state=0)
    assert history.steps("score").tolist() == [6, 9]


def test_several_optimisers_and_an_inner_loop():
    objective = Contest()
    history = fit(objective, max_steps=300, random_state=0)
    assert history.names == ["loss", "gap", "rate", "rate_critic", "gradient_norm", "seconds", "epoch_loss"]
    assert objective.seen == 1800
    with torch.no_grad(), use_seed(0):
        assert objective.made(500).mean(0).numpy() == pytest.approx([3, 3], abs=1.0)


def test_a_named_optimizer_step_moves_no_other_parameters():
    class Half(Contest):
        def step(self, batch, optimizer_step):
            loss = -self.module["critic"](self.made(6)).mean()
            optimizer_step(loss, "generator")
            return {"loss": loss}

    objective = Half()
    before = weights(objective.module["critic"])
    fit(objective, max_steps=5, random_state=0)
    assert torch.equal(weights(objective.module["critic"]), before)


def test_terms_one_by_one_give_the_gradient_of_their_sum():
    class Terms(Line):
        def step(self, batch, optimizer_step):
            total = 0.0
            for item in range(len(batch)):
                one = batch.take([item])
                term = nn.functional.mse_loss(self.module(one["x"]), one["y"]) / len(batch)
                optimizer_step.backward(term)
                total += term.item()
            optimizer_step.step()
            return {"loss": total}

    together, apart = Line(norm=False, dropout=0.0), Terms(norm=False, dropout=0.0)
    a, b = fit(together, max_steps=10, random_state=0), fit(apart, max_steps=10, random_state=0)
    np.testing.assert_allclose(a.losses, b.losses, rtol=1e-4)
    np.testing.assert_allclose(weights(together.module), weights(apart.module), atol=1e-5)


def test_a_loss_may_come_with_numbers_to_note():
    class Noting(Line):
        def loss(self, batch):
            error = super().loss(batch)
            return {"loss": error, "root": error.sqrt().detach(), "items": len(batch)}

    history = fit(Noting(), max_steps=4, random_state=0)
    np.testing.assert_allclose(history["root"] ** 2, history.losses, rtol=1e-5)
    assert history["items"].tolist() == [8, 8, 8, 8]


def test_a_gradient_is_clipped_to_its_norm():
    objective = Quadratic(target=1e3, rate=1.0)
    history = fit(objective, max_steps=1, gradient_clip=2.0)
    assert objective.module["w"].item() == pytest.approx(2.0, rel=1e-5)
    assert history["gradient_norm"].tolist() == [1000.0]


def test_an_adaptive_clip_is_twice_the_median_of_the_last_hundred_norms():
    slopes = np.random.default_rng(0).integers(1, 9, 150).astype(float)  # small integers: medians with ties
    slopes[120] = 1e4

    class Sloped(Quadratic):
        def batches(self, epoch, rng):
            yield from (Batch([i], slope=torch.tensor([slope])) for i, slope in enumerate(slopes))

        def loss(self, batch):
            return (batch["slope"] * self.module["w"]).sum()  # the gradient is the slope, whatever w is

    objective = Sloped(rate=1.0)
    history = fit(objective, max_steps=150, gradient_clip="adaptive")
    np.testing.assert_allclose(history["gradient_norm"], slopes, rtol=1e-6)
    limits = [2 * np.median(slopes[max(0, i - 100) : i]) if i >= 10 else np.inf for i in range(150)]
    assert limits[120] < 20
    moved = np.minimum(slopes, limits).sum()
    assert objective.module["w"].item() == pytest.approx(-moved, rel=1e-5)


def test_an_adaptive_clip_keeps_training_after_a_run_of_zero_gradients():
    slopes = np.r_[np.full(20, 2.0), np.zeros(60), np.full(20, 2.0)]  # a hinge whose margin holds for sixty steps

    class Hinge(Quadratic):
        def batches(self, epoch, rng):
            yield from (Batch([i], slope=torch.tensor([slope])) for i, slope in enumerate(slopes))

        def loss(self, batch):
            return (batch["slope"] * self.module["w"]).sum()

    objective = Hinge(rate=1.0)
    fit(objective, max_steps=100, gradient_clip="adaptive")
    assert objective.module["w"].item() == pytest.approx(-80.0)  # every slope is below twice the median of its like


def test_an_adaptive_clip_waits_for_ten_gradients_that_are_not_zero():
    history = History()
    for step in range(50):
        history.record("gradient_norm", step, 3.0 if step % 6 == 0 else 0.0)
    assert max_gradient_norm("adaptive", history) is None  # nine so far
    history.record("gradient_norm", 50, 3.0)
    assert max_gradient_norm("adaptive", history) == 6.0


def test_an_adaptive_clip_needs_one_optimizer():
    with pytest.raises(ValueError, match="gradient_clip='adaptive' is for one optimizer"):
        fit(Contest(), max_steps=1, gradient_clip="adaptive")


def test_a_gradient_whose_square_overflows_can_still_be_clipped():
    class Steep(Quadratic):
        def loss(self, batch):
            return 1e25 * self.module["w"].sum()

    objective = Steep(rate=1.0)
    fit(objective, max_steps=1, gradient_clip=1.0)
    assert objective.module["w"].item() == pytest.approx(-1.0)


@pytest.mark.parametrize("what", ["loss", "gradient", "running mean"])
def test_a_number_that_is_not_finite_stops_with_step_ids_and_advice(what):
    kept = {}

    class Breaking(Line):
        def loss(self, batch):
            kept[len(kept)] = weights(self.module)  # before the forward pass touches the running means
            if len(kept) < 5:
                return super().loss(batch)
            if what == "loss":
                return super().loss(batch) * torch.nan
            if what == "gradient":
                return (super().loss(batch) * 0).sqrt()
            return super().loss(Batch(batch.ids, x=batch["x"] * torch.inf, y=batch["y"]))

    objective = Breaking()
    with pytest.raises(
        DivergenceError, match=r"at step 5, in the batch of the sequences \d+, .*lower the learning rate"
    ) as caught:
        fit(objective, max_epochs=5, random_state=0)
    assert "gradient_clip=1.0" in str(caught.value)
    assert caught.value.step == 5
    assert len(caught.value.ids) == 8
    assert torch.equal(weights(objective.module), kept[4])


def test_a_sequence_that_was_not_finite_is_named():
    objective = Line()
    objective.x[13] = torch.nan
    with pytest.raises(DivergenceError, match="x of the sequence 13 holds NaN"):
        fit(objective, max_epochs=1, random_state=0)


def test_any_other_error_names_the_batch_too():
    class Failing(Line):
        def loss(self, batch):
            raise IndexError("no such channel")

    with pytest.raises(IndexError, match="no such channel") as caught:
        fit(Failing(), max_epochs=1, random_state=0)
    assert re.fullmatch(r"at step 1, in the batch of the sequences (\d+, ){7}\d+", caught.value.__notes__[0])


class Presses(Callback):
    def __init__(self, step, times=1):
        self.at, self.times = step, times

    def on_step_end(self, run):
        if run.step == self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)


def test_ctrl_c_finishes_the_step_keeps_the_weights_and_writes_a_checkpoint(tmp_path):
    objective, plain = Line(), Line()
    with pytest.warns(UserWarning, match="stopped by Ctrl-C after step 4: .* has a checkpoint to continue from"):
        history = fit(objective, max_epochs=5, random_state=0, callbacks=[Presses(4)], checkpoint=tmp_path)
    assert (history.stop_reason, history.n_steps) == ("Ctrl-C", 4)
    fit(plain, max_steps=4, random_state=0)
    assert torch.equal(weights(objective.module), weights(plain.module))
    assert [folder.name for folder in tmp_path.iterdir()] == ["step-000000004-epoch-000000"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_interrupts_at_once():
    with pytest.raises(KeyboardInterrupt):
        fit(Line(), max_epochs=5, callbacks=[Presses(2, times=2)])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_in_the_next_training_interrupts_that_one(monkeypatch):
    with pytest.warns(UserWarning, match="Ctrl-C after step 2.*; press it twice to stop the calling program too"):
        fit(Line(), max_epochs=5, callbacks=[Presses(2)])
    with pytest.raises(KeyboardInterrupt):
        fit(Line(), max_epochs=5, callbacks=[Presses(2)])
    monkeypatch.setattr(
        interrupts, "_last_interrupt", interrupts._last_interrupt - 3.0
    )  # as if three seconds had passed
    with pytest.warns(UserWarning, match="Ctrl-C after step 2"):
        assert fit(Line(), max_epochs=5, callbacks=[Presses(2)]).stop_reason == "Ctrl-C"


def test_ctrl_c_before_anything_was_learned_interrupts(tmp_path, monkeypatch):
    class Early(Callback):
        def on_train_start(self, run):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(Line(), max_epochs=5, callbacks=[Early()], checkpoint=tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(interrupts, "_last_interrupt", interrupts._last_interrupt - 3.0)
    fit(Line(), max_steps=3, checkpoint=tmp_path)
    with pytest.warns(UserWarning, match="Ctrl-C after step 3"):  # of a checkpoint there is something to keep
        fit(Line(), max_epochs=5, callbacks=[Early()], checkpoint=tmp_path)


def test_callbacks_hear_every_moment_and_may_stop(tmp_path):
    heard = []

    class Listening(Callback):
        def on_train_start(self, run):
            heard.append(("started", run.step))

        def on_step_end(self, run):
            if run.step == 8:
                run.stop("enough")

        def on_epoch_end(self, run):
            heard.append(("epoch", run.epoch))

        def on_validation_end(self, run):
            heard.append(("score", run.history.last("score")))

        def on_checkpoint(self, run):
            heard.append(("saved", run.step))

        def on_train_end(self, run):
            heard.append(("ended", run.history.stop_reason))

    history = fit(Judged(), max_epochs=9, callbacks=[Listening()], checkpoint=tmp_path, random_state=0)
    score = history.scores[0]
    assert heard == [("started", 0), ("score", score), ("epoch", 1), ("saved", 8), ("ended", "enough")]


def test_the_progress_bar_shows_loss_and_score(capsys):
    fit(Judged(), max_steps=12, validate_every=3, progress=True, random_state=0)
    shown = capsys.readouterr().err
    assert "Judged" in shown
    assert "12/12" in shown
    assert "loss=" in shown
    assert "score=" in shown


def test_a_bar_does_not_count_towards_steps_that_the_clock_will_not_allow(capsys):
    fit(Judged(), max_steps=10**9, max_time=0.3, progress=True, random_state=0)
    shown = capsys.readouterr().err
    assert "loss=" in shown
    assert "at most 0.3 s" in shown
    assert "/1000000000" not in shown.splitlines()[-1].split("\r")[-1]
    fit(Judged(), max_steps=12, max_time=600, progress=True, random_state=0)
    assert "12/12" in capsys.readouterr().err


def test_a_bar_counts_epochs_where_only_these_are_limited_and_has_the_name_of_the_estimator(capsys):
    objective = Judged()
    objective.owner = "SiameseGRU"
    fit(objective, max_epochs=2, progress=True, random_state=0)
    shown = capsys.readouterr().err
    assert "SiameseGRU: 100%" in shown
    assert "2/2" in shown
    assert "Judged" not in shown


def test_parts_that_are_frozen_stay_in_their_mode():
    class Frozen(Judged):
        def step(self, batch, optimizer_step):
            assert self.module[0].training
            return super().step(batch, optimizer_step)

        def validate(self):
            assert not self.module[0].training
            return super().validate()

    objective = Frozen()
    fit(objective, max_epochs=2)
    assert not objective.module.training


def test_double_precision_is_an_argument():
    objective = Line()
    history = fit(objective, max_steps=3, accelerator="auto", precision="64-true", random_state=0)
    assert objective.module[0].weight.dtype == torch.float64
    single = fit(Line(), max_steps=3, random_state=0)
    np.testing.assert_allclose(history.losses, single.losses, rtol=1e-4)
    assert history.losses.tolist() != single.losses.tolist()


def test_brain_floats_are_an_argument():
    mixed = Line(dropout=0.0)
    history = fit(mixed, max_steps=3, precision="bf16-mixed", random_state=0)
    single = fit(Line(dropout=0.0), max_steps=3, random_state=0)
    assert mixed.module[0].weight.dtype == torch.float32
    np.testing.assert_allclose(history.losses, single.losses, rtol=0.1)


def test_a_history_draws_itself():
    history = fit(Judged(), max_epochs=3, random_state=0)
    figure = history.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "score", "learning rate"]
    assert len(fit(Line(), max_steps=3).plot().axes) == 2
    assert repr(history).startswith("History(18 steps, loss ")
    assert History().plot() is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the training would never end: give max_steps, max_epochs, max_time or patience"),
        ({"max_steps": 0}, "max_steps=0: expected at least 1"),
        ({"max_steps": 2.5}, "max_steps=2.5: expected an integer"),
        ({"max_time": -1}, "max_time=-1: expected a finite number greater than 0"),
        ({"max_steps": 1, "patience": 2}, "patience needs a score: Line does not define validate()"),
        ({"max_steps": 1, "gradient_clip": 0}, "gradient_clip=0: expected a finite number greater than 0"),
        ({"max_steps": 1, "gradient_clip": "auto"}, "gradient_clip='auto': expected a number above 0, math.inf or"),
        ({"max_steps": 1, "precision": "16-mixed"}, "precision='16-mixed': expected one of '32-true'"),
        ({"max_steps": 1, "strategy": "fsdp"}, "strategy='fsdp': expected one of 'auto', 'ddp'"),
        ({"max_steps": 1, "schedule": "cosine"}, "schedule is a str: expected a Schedule such as Cosine()"),
        ({"max_steps": 1, "resume": True}, "resume=True needs a checkpoint: give its folder"),
        ({"max_steps": 1, "checkpoint": 3}, "checkpoint=3: expected the path of a folder"),
        ({"max_steps": 1, "checkpoint": ""}, "checkpoint='': expected the path of a folder; the current one is '.'"),
        ({"max_steps": 1, "resume": "yes"}, "resume='yes': expected 'auto', True or False"),
        ({"max_steps": 1, "random_state": -1}, "random_state=-1: expected a seed of at least 0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        fit(Line(), **options)
    assert message in str(caught.value)


def test_bad_objectives_are_told_what_is_missing():
    class Loose(Line):
        def optimizers(self):
            return torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)

    class Detached(Line):
        def loss(self, batch):
            return super().loss(batch).detach()

    class Idle(Line):
        def step(self, batch, optimizer_step):
            return {"loss": 1.0}

    class Empty(Line):
        def batches(self, epoch, rng):
            return []

    class Bare(Line):
        def batches(self, epoch, rng):
            yield self.x

    class Reserved(Line):
        def loss(self, batch):
            return {"loss": super().loss(batch), "score": 1.0}

    class Wrong(Judged):
        def validate(self):
            return float("nan")

    for kind, message in [
        (Loose, "has parameters that are not in its module"),
        (Detached, "without a gradient: expected a tensor of one number that depends on the module"),
        (Idle, "step() of Idle made no update: expected it to call optimizer_step(loss)"),
        (Empty, "batches() of Empty returned none in epoch 0"),
        (Bare, "batches() returned a Tensor: expected a timelike.train.Batch"),
        (Reserved, "expected 'loss' among the names, and none of"),
        (Wrong, "the score of validate() after step 6=nan"),
    ]:
        with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
            fit(kind(), max_epochs=1)
        assert message in str(caught.value)
    with pytest.raises(TypeError, match="objective is a Linear: expected a timelike.train.Objective"):
        fit(nn.Linear(1, 1), max_steps=1)


def test_shuffled_batches_hold_every_position_once():
    ids = list(shuffled_batches(23, 5, np.random.default_rng(0)))
    assert sorted(np.concatenate(ids).tolist()) == list(range(23))
    assert [len(part) for part in shuffled_batches(23, 5, np.random.default_rng(0), drop_last=True)] == [5] * 4
    with pytest.raises(ValueError, match="3 sequences make no batch of 5"):
        next(shuffled_batches(3, 5, np.random.default_rng(0), drop_last=True))


def test_batches_per_class_are_balanced_and_go_through_every_member():
    labels = np.repeat(list("abcd"), [12, 12, 12, 3])
    batches = list(class_batches(labels, 6, np.random.default_rng(0)))
    for ids in batches:
        names, counts = np.unique(labels[ids], return_counts=True)
        assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {"a": 6, "b": 6, "c": 6, "d": 3}
        assert len(set(ids.tolist())) == len(ids)
    assert set(np.concatenate(batches[:2]).tolist()) == set(range(39))
    few = next(class_batches(labels, 2, np.random.default_rng(0), n_classes=3))
    assert len(np.unique(labels[few])) == 3
    with pytest.raises(ValueError, match="n_classes=5: there are only 4 classes"):
        next(class_batches(labels, 2, np.random.default_rng(0), n_classes=5))


def test_trainings_in_several_threads_repeat_and_leave_the_generators_alone():
    X, y = np.random.default_rng(0).standard_normal((8, 10, 2)), [0, 1] * 4

    def learned(_):
        return tl.CoupledGRU(hidden=3, max_steps=2, random_state=0).fit(X, y).pairwise(X)

    def seeded_anew():
        torch.manual_seed(3)
        np.random.seed(3)  # noqa: NPY002
        random.seed(3)

    seeded_anew()
    expected = learned(0)
    drawn = torch.rand(1), np.random.rand(), random.random()  # noqa: NPY002
    seeded_anew()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(learned, range(8)):
            np.testing.assert_array_equal(found, expected)
    assert (torch.rand(1), np.random.rand(), random.random()) == drawn  # noqa: NPY002


def test_a_history_is_a_collection_of_names():
    history = History()
    history.record("loss", 1, 0.5)
    assert list(history) == ["loss"]
    assert "loss" in history
    assert "score" not in history
