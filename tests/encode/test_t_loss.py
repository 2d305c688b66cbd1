"""Algorithm 1 of the T-Loss, and its loss."""

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.encode.causal.network import CausalNetwork
from timelike.encode.losses import TLoss
from timelike.encode.objectives.crop_objectives import TLossObjective
from timelike.encode.objectives.crops import Crops, extract_crops, sample_triplets
from timelike.train import fit
from toys import Gather


@pytest.fixture
def ragged():
    rng = np.random.default_rng(0)
    return tl.Sequences([rng.standard_normal((n, 2)) for n in (3, 12, 1, 7, 9)])


@pytest.fixture
def equal():
    return tl.Sequences(np.random.default_rng(0).standard_normal((6, 8, 2)))


def many(sequences, n_negatives=4, times=400):
    rng = np.random.default_rng(1)
    for _ in range(times):
        ids = rng.permutation(len(sequences))[:4]
        yield ids, sample_triplets(sequences, ids, n_negatives, rng)


@pytest.mark.parametrize("which", ["ragged", "equal"])
def test_a_positive_is_inside_its_anchor_and_all_are_inside_one_series(which, request):
    sequences = request.getfixturevalue(which)
    ends = sequences.offsets[1:]
    for ids, (anchors, positives, negatives) in many(sequences):
        assert (anchors.starts >= sequences.offsets[ids]).all()
        assert (anchors.starts + anchors.lengths <= ends[ids]).all()
        assert (positives.starts >= anchors.starts).all()
        assert (positives.starts + positives.lengths <= anchors.starts + anchors.lengths).all()
        home = np.searchsorted(ends, negatives.starts, side="right")
        assert (negatives.starts + negatives.lengths <= ends[home]).all()
        assert min(crops.lengths.min() for crops in (anchors, positives, negatives)) >= 1


def test_equal_series_share_one_length_of_anchors_and_one_of_the_rest(equal):
    for _, (anchors, positives, negatives) in many(equal, times=50):
        assert len(set(anchors.lengths.tolist())) == 1
        assert len({*positives.lengths.tolist(), *negatives.lengths.flatten().tolist()}) == 1


def test_unequal_series_have_lengths_of_their_own(ragged):
    drawn = [negatives.lengths for _, (_, _, negatives) in many(ragged, times=20)]
    assert any(len(set(lengths.flatten().tolist())) > 1 for lengths in drawn)


@pytest.mark.parametrize("which", ["ragged", "equal"])
def test_lengths_and_places_cover_the_full_range(which, request):
    sequences = request.getfixturevalue(which)
    longest, total = int(sequences.lengths.max()), int(sequences.lengths.sum())
    drawn = [triplets for _, triplets in many(sequences, times=2000)]
    for side in range(3):
        assert {n for triplets in drawn for n in triplets[side].lengths.flatten().tolist()} == set(
            range(1, longest + 1)
        )
        begun = {n for triplets in drawn for n in triplets[side].starts.flatten().tolist()}
        assert begun <= set(range(total))
        assert len(begun) > 0.9 * total  # a crop at the very end is rare, and it is one step long


def test_crops_of_a_selection_are_cut_from_the_right_series(ragged):
    chosen = ragged[[3, 1]]
    base, _, _ = chosen.buffers()
    _, (_, positives, _) = next(many(chosen))
    found = extract_crops(torch.tensor(base), Crops(*positives))
    assert found.shape == (2, positives.lengths.max(), 2)
    held = {row.tobytes() for x in chosen for row in x}
    for i, length in enumerate(positives.lengths):
        assert {row.tobytes() for row in found[i, :length].numpy()} <= held
        assert not found[i, length:].any()


def contrast(sequences, *, n_negatives=3, learning_rate=1e-3, shared_negatives=False, **options):
    torch.manual_seed(0)
    network = CausalNetwork(2, n_features=6, channels=4, depth=2, reduced_size=5)
    trainer = tl.Trainer(batch_size=4, learning_rate=learning_rate)
    loss = TLoss(shared_negatives=shared_negatives)
    return TLossObjective(network, sequences, trainer, loss, n_negatives=n_negatives, **options)


def test_the_loss_is_the_formula(ragged):
    objective = contrast(ragged)
    batch = next(objective.batches(0, np.random.default_rng(0)))

    def vector(name, *place):
        x, n = batch[name][place], int(batch[f"{name}_lengths"][place])
        return objective.module(x[None, :n])[0]

    expected = 0.0
    for i in range(len(batch)):
        anchor = vector("anchor", i)
        expected -= torch.log(torch.sigmoid(anchor @ vector("positive", i)))
        for k in range(3):
            expected -= torch.log(torch.sigmoid(-anchor @ vector("negative", i, k))) / 3
    torch.testing.assert_close(objective.loss(batch), expected / len(batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("which", ["ragged", "equal"])
@pytest.mark.parametrize("is_low_memory", [False, True])
def test_shared_negatives_are_the_same_crops_for_every_anchor(which, is_low_memory, request):
    objective = contrast(request.getfixturevalue(which), shared_negatives=True, is_low_memory=is_low_memory)
    batch = next(objective.batches(0, np.random.default_rng(0)))
    assert batch["negative"].shape[:2] == (1, 3)

    def vectors(name):
        lengths = batch[f"{name}_lengths"].flatten().tolist()
        return [objective.module(x[None, :n])[0] for x, n in zip(batch[name].flatten(0, -3), lengths, strict=True)]

    expected, negatives = 0.0, vectors("negative")
    for anchor, positive in zip(vectors("anchor"), vectors("positive"), strict=True):
        expected -= torch.log(torch.sigmoid(anchor @ positive)).item()
        expected -= sum(torch.log(torch.sigmoid(-anchor @ other)).item() for other in negatives) / 3
    said = objective.step(batch, Gather())["loss"]
    assert torch.as_tensor(said).item() == pytest.approx(expected / len(batch), rel=1e-5)


def test_processes_share_the_series_of_a_batch_and_all_its_shared_negatives(ragged):
    objective = contrast(ragged, shared_negatives=True)
    batch = next(objective.batches(0, np.random.default_rng(0)))
    parts = [objective.process_share(batch, rank, 2) for rank in range(2)]
    assert sorted(np.concatenate([part.ids for part in parts])) == sorted(batch.ids)
    for part in parts:
        assert len(part["anchor"]) == len(part.ids)
        assert torch.equal(part["negative"], batch["negative"])
    weighed = sum(len(part.ids) * objective.loss(part) for part in parts) / len(batch)
    torch.testing.assert_close(weighed, objective.loss(batch))


@pytest.mark.parametrize("which", ["ragged", "equal"])
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.0])  # of one among several processes
def test_a_backward_pass_per_term_has_the_same_loss_and_gradients(which, weight, request):
    sequences = request.getfixturevalue(which)
    once, low_memory = contrast(sequences), contrast(sequences, is_low_memory=True)
    losses = []
    for objective in (once, low_memory):
        batch = next(objective.batches(0, np.random.default_rng(0)))
        losses.append(torch.as_tensor(objective.step(batch, Gather(weight))["loss"]).item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert all(bool(p.grad.any()) == bool(weight) for p in [*once.module.parameters()][-2:])
    for ours, theirs in zip(once.module.parameters(), low_memory.module.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_negatives", [1, 2, 7])
def test_by_terms_the_negatives_count_as_much_as_the_positive_however_many_they_are(n_negatives, ragged):
    objective = contrast(ragged, is_low_memory=True, n_negatives=n_negatives)
    objective.module.double()
    objective.steps = objective.steps.double()
    batch = next(objective.batches(0, np.random.default_rng(0)))
    said = objective.step(batch, Gather())["loss"]
    found = [parameter.grad.clone() for parameter in objective.module.parameters()]
    objective.module.zero_grad()

    def product(name, i, *k):
        (x, n), (y, m) = (
            (batch[side][place], int(batch[f"{side}_lengths"][place]))
            for side, place in (("anchor", i), (name, (i, *k)))
        )
        return objective.module(x[None, :n])[0] @ objective.module(y[None, :m])[0]

    total = 0.0
    for i in range(len(batch)):
        away = sum(torch.log(torch.sigmoid(-product("negative", i, k))) for k in range(n_negatives))
        total -= (torch.log(torch.sigmoid(product("positive", i))) + away / n_negatives) / len(batch)
    total.backward()
    assert said == pytest.approx(total.item(), rel=1e-9)
    for gradient, parameter in zip(found, objective.module.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed", "bf16-true"])
@pytest.mark.parametrize("is_low_memory", [False, True])
def test_it_trains_in_other_precisions(ragged, precision, is_low_memory):
    plain, other = (contrast(ragged, is_low_memory=is_low_memory) for _ in range(2))
    expected = fit(plain, max_steps=5, random_state=0)["loss"]
    found = fit(other, max_steps=5, precision=precision, random_state=0)["loss"]
    np.testing.assert_allclose(found, expected, rtol=1e-5 if precision == "64-true" else 0.05)


def test_both_ways_learn_in_the_loop(ragged):
    for is_low_memory in (False, True):
        losses = fit(contrast(ragged, is_low_memory=is_low_memory, learning_rate=1e-2), max_steps=60, random_state=0)[
            "loss"
        ]
        assert losses[-20:].mean() < losses[:20].mean()


@pytest.mark.parametrize("which", ["ragged", "equal"])
def test_a_positive_is_anywhere_in_its_anchor(which, request):
    sequences = request.getfixturevalue(which)
    places = set()
    for _, (anchors, positives, _) in many(sequences, times=500):
        room = anchors.lengths - positives.lengths
        before = positives.starts - anchors.starts
        places |= {(have, done) for have, done in zip(room.tolist(), before.tolist(), strict=True) if have <= 3}
    assert places == {(have, done) for have in range(4) for done in range(have + 1)}
