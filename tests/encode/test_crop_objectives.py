"""Losses of two crops of every series, validation on held-out series, and budgets."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import timelike as tl
from timelike import train
from timelike.encode.causal.network import CausalNetwork
from timelike.encode.crop_encoder import activation_bytes_per_step
from timelike.encode.losses import NTXent, VICReg
from timelike.encode.objectives.crop_objectives import CropPairObjective, TLossObjective
from timelike.encode.objectives.crops import CropAugmentation, sample_crop_pairs
from timelike.train import fit
from toys import Gather

SMALL = {"n_features": 6, "channels": 4, "depth": 3, "reduced_size": 5, "max_steps": 4, "random_state": 0}


NT_XENT, VICREG = NTXent(temperature=0.3, augment=False), VICReg(augment=False)


def made(loss, sequences, batch_size=4, **options):
    torch.manual_seed(0)
    network = CausalNetwork(2, n_features=6, channels=4, depth=2, reduced_size=5)
    trainer = tl.Trainer(batch_size=batch_size, learning_rate=1e-3)
    return CropPairObjective(network, sequences, trainer, loss, **options)


both = pytest.mark.parametrize("loss", [NT_XENT, VICREG])


def test_crops_are_inside_their_series_and_at_least_so_long(ragged):
    rng, ends = np.random.default_rng(0), ragged.offsets[1:]
    seen = set()
    for _ in range(300):
        ids = rng.permutation(len(ragged))[:4]
        for starts, lengths in sample_crop_pairs(ragged, ids, 0.5, rng):
            assert (starts >= ragged.offsets[ids]).all()
            assert (starts + lengths <= ends[ids]).all()
            assert (lengths >= np.maximum(1, ragged.lengths[ids] / 2)).all()
            seen |= set(lengths[ragged.lengths[ids] == 9].tolist())
    assert seen == {5, 6, 7, 8, 9}


def vectors(objective, batch):
    """Of the first and of the second crops, each computed alone."""
    return [
        [objective.module(x[None, :n])[0].detach().numpy().astype(float) for x, n in zip(batch[one], own, strict=True)]
        for one, own in ((name, batch[f"{name}_lengths"]) for name in ("first", "second"))
    ]


def found(objective, batch):
    with torch.no_grad():
        return {name: float(number) for name, number in objective.loss(batch).items()}


def test_the_softmax_is_the_formula(ragged):
    objective = made(NT_XENT, ragged)
    batch = next(iter(objective.batches(0, np.random.default_rng(0))))
    u = [v / np.linalg.norm(v) for side in vectors(objective, batch) for v in side]
    count, terms = len(batch), []
    for i, v in enumerate(u):
        others = [math.exp(v @ g / 0.3) for j, g in enumerate(u) if j != i]
        terms.append(-math.log(math.exp(v @ u[(i + count) % (2 * count)] / 0.3) / sum(others)))
    assert found(objective, batch)["loss"] == pytest.approx(np.mean(terms), rel=1e-4)


def test_the_decorrelated_loss_is_the_formula(ragged):
    objective = made(VICREG, ragged)
    batch = next(iter(objective.batches(0, np.random.default_rng(0))))
    first, second = map(np.array, vectors(objective, batch))
    terms = 0.0
    for side in (first, second):
        covariance = np.cov(side.T)
        terms += 25 * np.mean([max(0.0, 1 - math.sqrt(covariance[i, i] + 1e-4)) for i in range(6)]) / 2
        terms += 5 / 6 * sum(covariance[i, j] ** 2 for i in range(6) for j in range(6) if i != j) / 2
    assert found(objective, batch)["loss"] == pytest.approx(terms + 25 * np.mean((first - second) ** 2), rel=1e-4)


@both
def test_alignment_and_uniformity_are_noted_beside_the_loss(ragged, loss):
    objective = made(loss, ragged)
    batch = next(iter(objective.batches(0, np.random.default_rng(0))))
    first, second = ([v / np.linalg.norm(v) for v in side] for side in vectors(objective, batch))
    noted = found(objective, batch)
    near = [np.sum((u - v) ** 2) for u, v in zip(first, second, strict=True)]
    far = [math.exp(-2 * np.sum((u - v) ** 2)) for i, u in enumerate(first) for j, v in enumerate(second) if i != j]
    assert noted["alignment"] == pytest.approx(np.mean(near), rel=1e-4)
    assert noted["uniformity"] == pytest.approx(math.log(np.mean(far)), rel=1e-4)


def test_a_crop_is_stretched_as_by_interpolation_and_nothing_is_past_its_end(ragged):
    x = torch.randn(3, 7, 2)
    lengths = np.array([7, 4, 1])
    changed, sizes = CropAugmentation(jitter=0, scaling=0, stretch=1.8)(x, lengths, np.random.default_rng(1))
    assert len(set(sizes.tolist()) & set(lengths.tolist())) < 3
    for one, new, n, m in zip(x.numpy(), changed.numpy(), lengths, sizes, strict=True):
        for channel in range(2):
            expected = np.interp(np.linspace(0, n - 1, m), np.arange(n), one[:n, channel])
            np.testing.assert_allclose(new[:m, channel], expected, atol=1e-5)
        assert not new[m:].any()
    same, sizes = CropAugmentation(jitter=0, scaling=0, stretch=1.0)(x, lengths, np.random.default_rng(1))
    assert sizes.tolist() == lengths.tolist()
    torch.testing.assert_close(same[0], x[0])


def test_jitter_and_scaling_have_the_deviations_they_are_given():
    x, lengths = torch.ones(400, 30, 2), np.full(400, 30)
    noise, _ = CropAugmentation(jitter=0.3, scaling=0, stretch=1)(x, lengths, np.random.default_rng(0))
    assert float(noise.std()) == pytest.approx(0.3, rel=0.05)
    factors, _ = CropAugmentation(jitter=0, scaling=0.2, stretch=1)(x, lengths, np.random.default_rng(0))
    assert float(factors[:, 0].std()) == pytest.approx(0.2, rel=0.1)
    assert torch.equal(factors, factors[:, :1].expand_as(factors))  # one for all steps


@both
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_a_few_crops_at_a_time_have_the_same_loss_and_gradients(ragged, weight, loss):
    objectives = [made(loss, ragged, is_low_memory=is_low_memory) for is_low_memory in (False, True)]
    found = []
    for objective in objectives:
        batch = next(iter(objective.batches(0, np.random.default_rng(0))))
        found.append(
            {name: float(torch.as_tensor(x).detach()) for name, x in objective.step(batch, Gather(weight)).items()}
        )
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    for ours, theirs in zip(*(objective.module.parameters() for objective in objectives), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


@both
def test_no_batch_is_smaller_than_asked_for_and_every_series_comes_once(ragged, loss):
    for size, expected in ((2, [2, 2, 2]), (4, [6]), (3, [3, 3]), (9, [6])):
        batches = list(made(loss, ragged, batch_size=size).batches(0, np.random.default_rng(0)))
        assert [len(batch) for batch in batches] == expected
        assert sorted(i for batch in batches for i in batch.ids) == list(range(6))


@pytest.mark.parametrize("loss", ["nt_xent", "vicreg"])
def test_one_series_alone_has_crops_to_learn_from(ragged, loss):
    encoder = tl.CausalEncoder(loss=loss, trainer=tl.Trainer(learning_rate=1e-2), **SMALL | {"max_steps": 40})
    losses = encoder.fit(ragged[[1]]).history_["loss"]
    assert losses[-10:].mean() < losses[:10].mean()


@pytest.mark.parametrize("loss", ["nt_xent", "vicreg", "t_loss"])
def test_training_goes_down_and_the_history_knows_it(waves, loss):
    options = SMALL | {"max_steps": 60}
    history = tl.CausalEncoder(loss=loss, trainer=tl.Trainer(learning_rate=1e-2), **options).fit(waves).history_
    assert history["loss"][-20:].mean() < history["loss"][:20].mean()
    assert ("alignment" in history, "uniformity" in history) == ((loss != "t_loss"),) * 2
    assert history.stop_reason == "max_steps"


@pytest.mark.parametrize("loss", ["nt_xent", "vicreg", "t_loss"])
def test_a_training_is_judged_by_series_it_does_not_learn_from_and_keeps_its_best(waves, loss, monkeypatch):
    seen = []
    kind = TLossObjective if loss == "t_loss" else CropPairObjective
    real = kind.sample_batch
    monkeypatch.setattr(
        kind, "sample_batch", lambda self, data, *rest: seen.append((self, data)) or real(self, data, *rest)
    )
    trainer = tl.Trainer(learning_rate=1e-2, schedule="constant", validation=0.2)
    encoder = tl.CausalEncoder(loss=loss, trainer=trainer, **SMALL | {"max_steps": 40}).fit(waves)
    objective = seen[0][0]
    learned, judged = objective.sequences, objective.held_out
    assert {id(data) for _, data in seen} == {id(learned), id(judged)}
    assert (len(learned), len(judged)) == (48, 12)
    rows = {np.asarray(x).tobytes() for x in learned}
    assert not any(np.asarray(x).tobytes() in rows for x in judged)
    history = encoder.history_
    assert history.steps("score").tolist() == list(range(2, 41, 2))
    assert history.best_score == min(history.scores)
    objective.module = encoder.network_
    with torch.no_grad():
        assert objective.validate() == pytest.approx(history.best_score, rel=1e-4)  # the same crops, the best weights


@pytest.mark.filterwarnings("ignore::timelike.train.NotLearnedWarning")  # which is what is staged here
def test_a_training_whose_score_no_longer_falls_ends_after_so_many_steps(waves):
    trainer = tl.Trainer(learning_rate=1.0, schedule="constant", validation=0.2, patience=60)
    encoder = tl.CausalEncoder(loss="nt_xent", trainer=trainer, **SMALL | {"max_steps": 400})
    history = encoder.fit(waves).history_
    assert history.stop_reason == "patience"
    assert history.n_steps == history.best_step + 60


def test_of_few_series_other_crops_of_the_same_ones_are_the_judges(ragged):
    encoder = tl.CausalEncoder(trainer=tl.Trainer(validation=0.3), **SMALL | {"max_steps": 20}).fit(ragged)
    assert len(encoder.history_.scores) == 20
    assert len(set(encoder.history_.scores.tolist())) > 1


@pytest.mark.parametrize("kind", [tl.CausalEncoder, tl.RecurrentEncoder, tl.encode.FrameEncoder])
def test_no_steps_give_the_network_as_it_was_made(kind, ragged, images, tmp_path):
    data = images if kind is tl.encode.FrameEncoder else ragged
    trainer = tl.Trainer(checkpoint=tmp_path / "none")
    encoder = kind(max_steps=0, random_state=3, n_features=8, trainer=trainer).fit(data)
    assert (encoder.history_.n_steps, encoder.history_.names, encoder.history_.stop_reason) == (0, [], "max_steps")
    again = kind(max_steps=0, random_state=3, n_features=8)
    again.frame_ = data.frame
    again._init_network()
    for ours, theirs in zip(encoder.network_.parameters(), again.network_.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    encoder.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").encode(data), encoder.encode(data))
    assert repr(encoder.history_)
    assert tl.Neighbors(encoder).fit(data, np.arange(len(data))).predict(data).tolist() == list(range(len(data)))


@pytest.mark.parametrize(
    ("count", "length", "expected"),
    [(10, 50, 200), (1600, 50, 800), (9000, 50, 1000), (1600, 1000, 416), (10, 5000, 100), (3, 2, 200)],
)
def test_steps_follow_the_size_of_the_data_unless_given(count, length, expected, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "timelike.train.loop.fit", lambda objective, max_steps, **_: asked.append(max_steps) or train.History()
    )
    data = np.zeros((count, length, 1), np.float32)
    for max_steps in (None, 7):
        tl.CausalEncoder(channels=1, depth=1, vectors="raw", max_steps=max_steps).fit(data)
    assert asked == [expected, 7]


@pytest.mark.filterwarnings("ignore::timelike.train.NotLearnedWarning")  # of noise, and so soon
def test_a_stated_time_bounds_a_fit(waves):
    history = tl.CausalEncoder(**SMALL | {"max_steps": 10**6, "max_time": 0.5}).fit(waves).history_
    assert history.stop_reason == "max_time"


def test_the_thesis_is_a_preset_in_which_options_may_change():
    encoder = tl.CausalEncoder.preset("thesis", n_negatives=5, standardize=False)
    assert (encoder.loss, encoder.geometry, encoder.trainer_.schedule) == ("t_loss", "euclidean", "constant")
    assert (encoder.n_negatives, encoder.trainer_.batch_size, encoder.standardize) == (5, 10, False)
    with pytest.raises(ValueError, match="preset 'paper': CausalEncoder has 'thesis'"):
        tl.CausalEncoder.preset("paper")
    with pytest.raises(ValueError, match="preset 'thesis': Neighbors has none"):
        tl.Neighbors.preset("thesis")


def test_other_networks_take_a_few_crops_at_a_time_where_memory_is_short(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "timelike.train.loop.fit", lambda objective, **_: seen.append(objective.is_low_memory) or train.History()
    )
    cells, long = tl.RecurrentEncoder(hidden=64, n_layers=1, vectors="raw"), np.zeros((1, 8000, 1), np.float32)
    cells.fit(long)  # 120 crops with 10 kB or more for each of their steps, if nothing bounds them
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    cells.fit(long)
    cells.fit(long[:, :100])
    large, small = (np.zeros((1, 40, 1, size, size), np.float32) for size in (256, 16))
    for images in (large, small):  # 70 crops of 40 frames of 256 × 256 numbers are 730 MB before any of them is seen
        tl.encode.FrameEncoder(depth=0).fit(images)
    assert seen == [tl.native.machine.kernels is None, True, False, True, False]


def test_what_torch_keeps_for_every_step_is_measured():
    network = nn.Sequential(nn.Linear(3, 50), nn.Sigmoid(), nn.Linear(50, 20), nn.Sigmoid())
    assert activation_bytes_per_step(network, 3) == 4 * (
        3 + 50 + 20
    )  # what goes into each map, and what each sigmoid gave
    assert activation_bytes_per_step(network.double(), 3) == 8 * (3 + 50 + 20)


def test_several_processes_share_the_series_of_a_batch(ragged):
    objective = made(NT_XENT, ragged)
    batch = next(iter(objective.batches(0, np.random.default_rng(0))))
    parts = [objective.process_share(batch, rank, 2) for rank in range(2)]
    assert sorted(np.concatenate([part.ids for part in parts])) == sorted(batch.ids)


@both
@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed"])
@pytest.mark.parametrize("is_low_memory", [False, True])
def test_it_trains_in_other_precisions(ragged, precision, is_low_memory, loss):
    expected = fit(made(loss, ragged, is_low_memory=is_low_memory), max_steps=5, random_state=0)["loss"]
    found = fit(made(loss, ragged, is_low_memory=is_low_memory), max_steps=5, precision=precision, random_state=0)[
        "loss"
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4 if precision == "64-true" else 0.1)
