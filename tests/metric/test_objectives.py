"""Losses and objectives: the paper's equations, and that training does what they ask for."""

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.metric import (
    AlignedFramesNetwork,
    EpisodeObjective,
    SelfSupervisedObjective,
    SupervisedObjective,
    TAPNetwork,
    alignment_error,
    augment_batch,
    class_scores,
    consistency_loss,
    episode_loss,
)
from timelike.train import fit, use_seed

SIX, EIGHT = tl.Trainer(batch_size=6), tl.Trainer(batch_size=8)


def contrast(distances, labels, gallery_labels, valid=None):
    """A stand-in for the losses: −log of the share of its own class (neighbourhood components)."""
    shares = -10 * distances if valid is None else (-10 * distances).masked_fill(~valid, -1e9)
    others = labels[:, None] != gallery_labels
    return (shares.logsumexp(1) - shares.masked_fill(others, -1e9).logsumexp(1)).mean()


def nothing(distances, labels, gallery_labels, valid=None):
    return torch.zeros(())


@pytest.fixture
def waves():
    rng = np.random.default_rng(0)
    labels = np.arange(24) % 3
    made = [
        np.stack([np.sin((1 + k) * t + rng.normal(0, 0.3)), np.cos((1 + k) * t)], 1) + rng.normal(0, 0.05, (len(t), 2))
        for k in labels
        for t in [np.linspace(0, 3, rng.integers(9, 16))]
    ]
    return tl.Sequences([x.astype(np.float32) for x in made], labels=np.array(list("abc"))[labels])


def network(kind="tap", **options):
    with use_seed(0):
        if kind == "tap":
            return TAPNetwork(2, **{"hidden": 16, "n_kernels": 4} | options)
        return AlignedFramesNetwork(2, aligner=kind, hidden=16, **options)


def test_consistency_is_equation_10():
    net = network(transform=False).double()
    x, lengths = torch.randn(3, 9, 2, dtype=torch.float64), torch.tensor([9, 5, 7])
    new = augment_batch(x, lengths, random_state=0)
    one, two = net.features(new.x, new.lengths), net.features(x, lengths)
    total = 0.0
    for i in range(3):
        n, m = new.lengths[i], lengths[i]
        a, b = (net.features(side[i : i + 1, :own], own[None]) for side, own in ((new.x, n), (x, m)))
        truth = new.alignment[i, :n, :m]
        total = total + net.pair_distances(a, b)[0] + net.pair_distances(b, a)[0]
        total = (
            total + (net.plan(a, b)[0] * n - truth).square().mean() + (net.plan(b, a)[0] * m - truth.T).square().mean()
        )
    torch.testing.assert_close(consistency_loss(net, one, two, new.alignment), total / 3)
    only = consistency_loss(net, one, two, new.alignment, distance=0, dual=False)
    attention = net.align_pairs(one, two)[1]
    torch.testing.assert_close(only, alignment_error(attention, new.alignment, new.lengths, lengths).mean())
    plain = consistency_loss(net, one, two, new.alignment, alignment=0)
    torch.testing.assert_close(plain, (net.pair_distances(one, two) + net.pair_distances(two, one)).mean())


@pytest.mark.parametrize(("weight", "share"), [(0.5, 0.5), (3, 3.0), ("paper", 1 / 6), (0, 0.0)])
@pytest.mark.parametrize("dual", [False, True])
def test_the_training_loss_is_the_metric_loss_and_equation_10_as_often_as_its_weight_says(waves, weight, share, dual):
    net = network().double()
    objective = SupervisedObjective(net, waves, waves.labels, contrast, consistency=weight, dual=dual, trainer=SIX)
    batch = next(iter(objective.batches(0, np.random.default_rng(0)))).match_module(net)
    new, old = net.features(batch["new"], batch["new_lengths"]), net.features(batch["x"], batch["lengths"])
    codes = np.unique(waves.labels[batch.ids], return_inverse=True)[1]
    metric = contrast(net.distance_matrix(new, old), *[torch.tensor(codes)] * 2)
    both = (there := net.align_pairs(new, old), net.align_pairs(old, new))[: 1 + dual]
    truths = batch["alignment"], batch["alignment"].mT
    alike = torch.zeros(())
    for (distances, attention), truth in zip(both, truths, strict=False):
        error = (attention - truth).square().sum((1, 2)) / (new.lengths * old.lengths)
        alike = alike + (distances + error).sum() / 6
    assert there[0].shape == (6,)
    expected = metric + share * alike
    found = objective.loss(batch)["loss"]
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(loss, list(net.parameters()), retain_graph=True) for loss in (found, expected)]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other)


def test_one_direction_of_a_task_is_from_the_query_to_the_support():
    net, lengths = network().double(), torch.tensor([5, 4, 3, 5])
    queries, support = (net.features(torch.randn(4, 5, 2, dtype=torch.float64), lengths) for _ in range(2))
    there = net.distance_matrix(queries, support)
    found = class_scores(net, queries, support, torch.tensor([1, 0, 0, 1]), 2, dual=False)
    torch.testing.assert_close(found, -torch.stack([there[:, 1] + there[:, 2], there[:, 0] + there[:, 3]], 1))


@pytest.mark.parametrize("symmetrize", [False, True])
def test_class_scores_sum_both_directions_over_the_support(symmetrize):
    net = network(symmetrize=symmetrize).double()
    lengths = torch.tensor([5, 4, 3, 5])
    queries = net.features(torch.randn(4, 5, 2, dtype=torch.float64), lengths)
    support = net.features(torch.randn(4, 5, 2, dtype=torch.float64), lengths)
    labels = torch.tensor([0, 0, 1, 1])
    both = net.distance_matrix(queries, support) + net.distance_matrix(support, queries).mT
    expected = -torch.stack([both[:, :2].sum(1), both[:, 2:].sum(1)], 1)
    found = class_scores(net, queries, support, labels, 2)
    torch.testing.assert_close(found, expected)
    truth = torch.tensor([0, 1, 1, 0])
    cross = -(expected.log_softmax(1)[torch.arange(4), truth]).mean()
    torch.testing.assert_close(episode_loss(net, queries, truth, support, labels, 2), cross)


def nearest(net, waves):
    with torch.no_grad():
        x = net.features(*waves.to_tensor())
        found = net.distance_matrix(x, x).fill_diagonal_(torch.inf)
    return float((waves.labels[found.argmin(1)] == waves.labels).mean())


@pytest.mark.parametrize("kind", ["tap", tl.nn.SoftDTW(gamma=0.1, divergence=True), "opw"], ids=str)
@pytest.mark.parametrize("augmentation", ["on", "off"])
def test_labels_are_learned_with_any_aligner_with_and_without_augmentation(waves, kind, augmentation):
    net = network(kind)
    how = {} if augmentation == "on" else {"augmentation": None}
    how |= {} if kind == "tap" else {"alignment": 0.0}
    trainer = tl.Trainer(batch_size=12, learning_rate=1e-2)
    objective = SupervisedObjective(net, waves, waves.labels, contrast, trainer=trainer, **how)
    history = fit(objective, max_epochs=15, random_state=0)
    assert history.losses[-4:].mean() < 0.7 * history.losses[:4].mean()
    assert nearest(net, waves) >= 0.9


def test_without_augmentation_no_sequence_is_compared_with_itself(waves):
    seen = []

    def watching(distances, labels, gallery_labels, valid=None):
        seen.append(valid)
        return distances[valid].mean()

    for augmentation in (None, tl.sequences.augment.Merge()):
        loss = watching if augmentation is None else contrast
        objective = SupervisedObjective(network(), waves, waves.labels, loss, augmentation=augmentation, trainer=SIX)
        for batch in objective.batches(0, np.random.default_rng(0)):
            objective.loss(batch)
    assert all(torch.equal(valid, ~torch.eye(6, dtype=torch.bool)) for valid in seen)


@pytest.mark.parametrize("augmentation", [None, tl.sequences.augment.Blur()])
def test_a_batch_with_nothing_to_learn_is_no_failure(waves, augmentation):
    objective = SupervisedObjective(network(), waves, np.zeros(24), nothing, augmentation=augmentation, trainer=EIGHT)
    fit(objective, max_steps=2, random_state=0)
    assert all(torch.isfinite(p).all() for p in objective.module.parameters())


def test_batches_per_class_hold_as_many_of_each(waves):
    objective = SupervisedObjective(network(), waves, waves.labels, contrast, n_per_class=3, trainer=SIX)
    for batch in objective.batches(0, np.random.default_rng(0)):
        assert sorted(np.unique(batch["labels"], return_counts=True)[1]) == [3, 3]


@pytest.mark.parametrize("distance", [0.0, 1.0])
def test_alignments_are_learned_from_augmentations_alone(waves, distance):
    net = network(transform=False)
    x, lengths = waves.to_tensor()
    new = augment_batch(x, lengths, random_state=9)

    def error():
        with torch.no_grad():
            found = net.align_pairs(net.features(new.x, new.lengths), net.features(x, lengths))[1]
        return float(alignment_error(found, new.alignment, new.lengths, lengths).mean())

    before = error()
    fit(
        SelfSupervisedObjective(net, waves, distance=distance, trainer=EIGHT.replace(tl.Trainer(learning_rate=3e-3))),
        max_epochs=12,
        random_state=0,
    )
    assert error() < 0.8 * before


def test_only_the_prediction_is_learned_from_augmentations_unless_told_otherwise(waves):
    for joint in (False, True):
        net = network()
        before = {name: p.detach().clone() for name, p in net.named_parameters()}
        fit(SelfSupervisedObjective(net, waves, trainer=EIGHT, joint=joint), max_steps=2, random_state=0)
        moved = {name.split(".")[0] for name, p in net.named_parameters() if not torch.equal(p, before[name])}
        assert moved == ({"scores", "transformation"} if joint else {"scores"})
    with pytest.raises(ValueError, match="joint=True"):
        SelfSupervisedObjective(network("softdtw"), waves).optimizers()


def test_a_network_without_alignment_needs_alignment_0(waves):
    class Ends(TAPNetwork.__mro__[2]):
        def features(self, x, lengths):
            return net.features(x, lengths)

        def pair_distances(self, x, y):
            return (x.values[:, 0] - y.values[:, 0]).norm(dim=-1)

    net, ends = network(), Ends()
    x = net.features(*waves.to_tensor())
    with pytest.raises(TypeError, match="alignment=0"):
        consistency_loss(ends, x, x, torch.zeros(1))
    assert consistency_loss(ends, x, x, torch.zeros(1, 1, 1), alignment=0).item() == 0


def test_few_shot_tasks_are_learned_and_shared_among_processes(waves):
    net = network(n_kernels=6)
    objective = EpisodeObjective(net, waves, waves.labels, n_way=3, k_shot=2, n_query=2, n_episodes=12)
    task = next(iter(objective.batches(0, np.random.default_rng(0))))
    truth = np.unique(waves.labels[task.ids], return_inverse=True)[1]
    assert len(set(zip(truth.tolist(), task["labels"].tolist(), strict=True))) == 3  # the same classes by other names
    part = objective.process_share(task, 1, 2)
    assert len(part) == 3
    assert part["support"].shape == task["support"].shape
    np.testing.assert_array_equal(part.ids, task.ids[1::2])
    with torch.no_grad():
        before = np.mean([float(objective.loss(b)) for b in objective.batches(0, np.random.default_rng(1))])
    fit(objective, max_epochs=3, random_state=0)
    with torch.no_grad():
        after = np.mean([float(objective.loss(b)) for b in objective.batches(0, np.random.default_rng(1))])
    assert after < 0.7 * before
    plain = EpisodeObjective(net, waves, waves.labels, trainer=tl.Trainer(optimizer="sgd"))
    assert isinstance(plain.optimizers(), torch.optim.SGD)
