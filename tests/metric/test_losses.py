"""Losses on distances: naive references, finite differences, another library, extreme distances, batches without valid pairs."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from pytorch_metric_learning import losses as peers, miners, reducers
from torch.autograd import gradcheck

from naive import losses as naive
from timelike.metric import losses
from timelike.metric.losses import (
    Binomial,
    Contrastive,
    Lifted,
    MultiSimilarity,
    Structural,
    SupervisedContrastive,
    Triplet,
)
from timelike.metric.losses.registry import losses_by_name

REFERENCES = [
    (Triplet(), naive.triplet),
    (Triplet(margin=0.7), naive.triplet),
    (Lifted(), naive.lifted),
    (Lifted(alpha=3.0, beta=5.0, margin=0.1), naive.lifted),
    (Binomial(), naive.binomial),
    (Binomial(alpha=5.0, beta=3.0, margin=None, threshold=1.0), naive.binomial),
    (Structural(), naive.structural),
    (Structural(scale=2.0, hardness=3.0, margin=0.2, balance=1.0), naive.structural),
    (Contrastive(), naive.contrastive),
    (Contrastive(margin=0.5, power=1.0), naive.contrastive),
    (MultiSimilarity(), naive.multi_similarity),
    (SupervisedContrastive(), naive.supervised_contrastive),
    (SupervisedContrastive(temperature=2.0), naive.supervised_contrastive),
    (MultiSimilarity(alpha=3.0, beta=9.0, margin=None, threshold=0.2), naive.multi_similarity),
]
LOSSES = [loss for loss, _ in REFERENCES]
NEED_BOTH = [
    Triplet(),
    Lifted(),
    Lifted(margin=0.1),
    Binomial(),
    Structural(),
    MultiSimilarity(),
    SupervisedContrastive(),
]


def batch(seed, n=9, m=None, classes=3, dtype=torch.float64, scale=1.0):
    rng = np.random.default_rng(seed)
    distances = torch.tensor(rng.uniform(0, scale, (n, m or n)), dtype=dtype)
    labels = torch.tensor(rng.integers(0, classes, n))
    return distances, labels, None if m is None else torch.tensor(rng.integers(0, classes, m))


def options(loss):
    return dataclasses.asdict(loss)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("loss", "reference"), REFERENCES, ids=[repr(loss) for loss, _ in REFERENCES])
def test_a_loss_is_its_formula(loss, reference, seed):
    distances, labels, _ = batch(seed)
    assert float(loss(distances, labels)) == pytest.approx(
        reference(list(naive.sides(distances, labels)), **options(loss)), rel=1e-9, abs=1e-12
    )
    distances, labels, gallery = batch(seed, 6, 11)
    expected = reference(list(naive.sides(distances, labels, gallery)), **options(loss))
    assert float(loss(distances, labels, gallery)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("loss", "reference"), REFERENCES, ids=[repr(loss) for loss, _ in REFERENCES])
def test_a_pair_that_is_not_valid_counts_for_nothing_whatever_its_distance(loss, reference):
    distances, labels, gallery = batch(1, 6, 11)
    valid = torch.tensor(np.random.default_rng(0).random((6, 11)) < 0.6)
    distances[~valid] = torch.nan
    distances.requires_grad_()
    found = loss(distances, labels, gallery, valid=valid)
    expected = reference(list(naive.sides(distances.detach(), labels, gallery, valid)), **options(loss))
    assert float(found.detach()) == pytest.approx(expected, rel=1e-9)
    found.backward()
    assert (distances.grad[~valid] == 0).all()
    assert torch.isfinite(distances.grad).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_mask_of_the_caller_is_left_as_it_was(loss):
    distances, labels, _ = batch(2)
    valid = torch.ones(9, 9, dtype=torch.bool)
    assert float(loss(distances, labels, valid=valid)) == float(loss(distances, labels))
    assert valid.all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("m", [None, 7])
def test_gradients_agree_with_finite_differences(loss, m):
    distances, labels, gallery = batch(3, 6, m)
    distances.requires_grad_()
    assert gradcheck(lambda d: loss(d, labels, gallery), distances, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_values_and_gradients_are_finite_for_distances_up_to_ten_thousand(loss, data):
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    numbers = st.one_of(st.floats(0, 1e4, width=32), st.sampled_from([0.0, 0.5, 1e4]))
    distances = torch.tensor(data.draw(arrays(np.float32, (n, m), elements=numbers)), requires_grad=True)
    labels, gallery = (torch.tensor(data.draw(arrays(np.int64, size, elements=st.integers(0, 2)))) for size in (n, m))
    valid = torch.tensor(data.draw(arrays(np.bool_, (n, m))))
    found = loss(distances, labels, gallery, valid=valid)
    found.backward()
    assert found.shape == ()
    assert torch.isfinite(found)
    assert torch.isfinite(distances.grad).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_large_distances_keep_the_value_that_double_precision_gives(loss):
    distances, labels, _ = batch(4, scale=1e4)
    exact = float(loss(distances, labels))
    assert float(loss(distances.float(), labels)) == pytest.approx(exact, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_half_precision_is_computed_in_single(loss):
    distances, labels, _ = batch(4, dtype=torch.float16)
    assert float(loss(distances, labels)) == pytest.approx(float(loss(distances.float(), labels)), rel=1e-6)


def nothing(found, distances):
    found.backward()
    assert float(found.detach()) == 0
    assert (distances.grad == 0).all()


@pytest.mark.parametrize("loss", NEED_BOTH, ids=repr)
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_one_class_or_no_positives_give_zero_that_is_still_on_the_graph(loss, labels):
    distances = torch.rand(4, 4, requires_grad=True)
    nothing(loss(distances, torch.tensor(labels)), distances)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("shape", [(1, 1), (0, 0)])
def test_a_batch_without_any_pair_gives_zero_that_is_still_on_the_graph(loss, shape):
    distances = torch.rand(shape, requires_grad=True)
    nothing(loss(distances, torch.zeros(shape[0], dtype=torch.int64)), distances)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_an_empty_gallery_gives_zero(loss):
    distances = torch.rand((3, 0), requires_grad=True)
    nothing(loss(distances, torch.arange(3), torch.arange(0)), distances)


def test_one_kind_of_pair_is_enough_for_losses_that_judge_each_pair_alone():
    distances = torch.full((3, 3), 0.8)
    assert float(Contrastive()(distances, torch.zeros(3))) == pytest.approx(0.32)
    assert float(Contrastive()(distances, torch.arange(3))) == pytest.approx(0.02)
    assert float(Binomial(margin=None)(distances, torch.zeros(3))) > 0
    assert float(MultiSimilarity(margin=None)(distances, torch.zeros(3))) > 0


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_query_with_nothing_to_say_does_not_thin_the_average(loss):
    distances, labels, gallery = batch(5, 4, 9)
    more = torch.cat([distances, torch.rand(2, 9, dtype=torch.float64)])
    valid = torch.ones(6, 9, dtype=torch.bool)
    valid[4:] = False
    found = loss(more, torch.cat([labels, labels[:2]]), gallery, valid=valid)
    assert float(found) == pytest.approx(float(loss(distances, labels, gallery)), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_equal_sequences_of_two_classes_are_no_trouble(loss):
    distances = torch.zeros(6, 6, requires_grad=True)
    found = loss(distances, torch.tensor([0, 0, 0, 1, 1, 1]))
    found.backward()
    assert float(found.detach()) > 0
    assert torch.isfinite(distances.grad).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_order_of_the_batch_does_not_matter(loss):
    distances, labels, _ = batch(6)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    assert float(loss(distances[order][:, order], labels[order])) == pytest.approx(
        float(loss(distances, labels)), rel=1e-12
    )
    distances, labels, gallery = batch(6, 5, 9)
    assert float(loss(distances[:, order], labels, gallery[order])) == pytest.approx(
        float(loss(distances, labels, gallery)), rel=1e-12
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_names_of_the_classes_do_not_matter(loss):
    distances, labels, _ = batch(7)
    assert float(loss(distances, 100 - 7 * labels)) == float(loss(distances, labels))


@pytest.mark.parametrize(
    "loss",
    [Triplet(), Lifted(), Contrastive(), Structural(balance=0.0), MultiSimilarity(margin=None), Binomial(margin=None)],
    ids=repr,
)
@given(seed=st.integers(0, 1000), closer=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_a_positive_that_comes_closer_never_raises_a_loss_and_a_negative_never_lowers_it(loss, seed, closer):
    distances, labels, gallery = batch(seed, 3, 6, classes=2)
    same = labels[0] == gallery[0]
    moved = distances.clone()
    moved[0, 0] *= closer
    before, after = float(loss(distances, labels, gallery)), float(loss(moved, labels, gallery))
    assert after <= before + 1e-12 if same else after >= before - 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_descending_a_loss_sorts_points_into_their_classes(loss):
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(12, 2, generator=generator).mul(0.3).requires_grad_()
    labels = torch.arange(12) % 3
    optimizer = torch.optim.Adam([points], lr=0.02)
    for _ in range(300):
        gaps = points[:, None] - points[None]
        optimizer.zero_grad()
        loss((gaps.square().sum(-1) + 1e-9).sqrt(), labels).backward()
        optimizer.step()
    distances = torch.cdist(points.detach(), points.detach()).fill_diagonal_(torch.inf)
    assert (labels[distances.argmin(1)] == labels).all()


# weak supervision: single pairs


def test_single_pairs_have_the_mean_over_each_kind():
    distances, same = torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64), torch.tensor([True, True, False, False])
    assert float(Contrastive().pair_loss(distances, same)) == pytest.approx((1 + 4) / 4 + 0.25 / 4)
    expected = naive.binomial([([1.0, 2.0], [0.5, 3.0])], 40.0, 2.0, None, 0.5)
    assert float(Binomial().pair_loss(distances, same)) == pytest.approx(expected)


@pytest.mark.parametrize("loss", [Contrastive(), Binomial()], ids=repr)
@pytest.mark.parametrize("same", [[], [True], [False], [True, True]])
def test_single_pairs_of_one_kind_or_none_are_safe(loss, same):
    distances = torch.full((len(same),), 1e4, requires_grad=True)
    found = loss.pair_loss(distances, torch.tensor(same, dtype=torch.bool))
    found.backward()
    assert torch.isfinite(found)
    assert torch.isfinite(distances.grad).all()


@pytest.mark.parametrize(
    "loss", [Triplet(), Lifted(), Structural(), MultiSimilarity(), SupervisedContrastive()], ids=repr
)
def test_a_loss_that_ranks_says_which_ones_learn_from_single_pairs(loss):
    with pytest.raises(TypeError, match=f"{type(loss).__name__}.*single pairs: use loss='binomial' or 'contrastive'"):
        loss.pair_loss(torch.zeros(2), torch.tensor([True, False]))


# names and bad input


def test_every_loss_is_found_by_its_name():
    names = {
        "triplet": Triplet,
        "lifted": Lifted,
        "binomial": Binomial,
        "structural": Structural,
        "contrastive": Contrastive,
    }
    for name, kind in {**names, "multi-similarity": MultiSimilarity}.items():
        assert losses.resolve_loss(name) == kind()
    loss = Lifted(alpha=3.0)
    assert losses.resolve_loss(loss) is loss


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match="loss='tripled' is not known.*'binomial', 'contrastive', 'lifted'.*'triplet'"):
        losses.resolve_loss("tripled")
    with pytest.raises(TypeError, match="instance of losses.Loss"):
        losses.resolve_loss(Triplet)
    with pytest.raises(TypeError, match="adapt_loss"):
        losses.resolve_loss(peers.TripletMarginLoss())


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_loss_is_a_frozen_value(loss):
    assert loss == type(loss)(**options(loss))
    assert hash(loss) == hash(type(loss)(**options(loss)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.margin = 3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Triplet(margin=-1.0),
        lambda: Lifted(alpha=0.0),
        lambda: Binomial(beta=-2.0),
        lambda: Binomial(threshold=float("nan")),
        lambda: Structural(hardness=0.0),
        lambda: Contrastive(power=0.5),
        lambda: MultiSimilarity(margin=float("inf")),
    ],
)
def test_options_out_of_range_are_refused(make):
    with pytest.raises(ValueError, match="expected a finite number"):
        make()


def test_shapes_that_do_not_fit_are_named():
    distances, labels = torch.rand(3, 4), torch.arange(3)
    with pytest.raises(ValueError, match=r"distances has shape \(3, 4\).*give gallery_labels"):
        Triplet()(distances, labels)
    with pytest.raises(ValueError, match=r"gallery_labels \(2,\)"):
        Triplet()(distances, labels, torch.arange(2))
    with pytest.raises(ValueError, match="valid is torch.float32"):
        Triplet()(distances, labels, torch.arange(4), valid=torch.ones(3, 4))
    with pytest.raises(TypeError, match="torch.int64"):
        Triplet()(distances.long(), labels, torch.arange(4))
    with pytest.raises(ValueError, match="same is torch.int64"):
        Contrastive().pair_loss(torch.zeros(2), torch.tensor([0, 1]))


# against pytorch-metric-learning, and its losses in the place of ours


def adapted(kind, **options):
    return losses.adapt_loss(kind(reducer=reducers.MeanReducer(), **options))


def balanced(seed, classes=3, each=4):
    distances, _, _ = batch(seed, classes * each)
    return distances, torch.arange(classes).repeat(each)


@pytest.mark.parametrize("seed", range(5))
def test_contrastive_is_that_of_pytorch_metric_learning(seed):
    distances, labels = balanced(seed)
    peer = adapted(peers.ContrastiveLoss, pos_margin=0, neg_margin=0.6)
    assert float(Contrastive(margin=0.6, power=1.0)(distances, labels)) == pytest.approx(
        float(peer(distances, labels)), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_multi_similarity_is_that_of_pytorch_metric_learning(seed):
    distances, labels, gallery = batch(seed, 7, 10)
    peer = adapted(peers.MultiSimilarityLoss, alpha=2, beta=50, base=0.5)
    assert float(MultiSimilarity(margin=None)(distances, labels, gallery)) == pytest.approx(
        float(peer(distances, labels, gallery)), rel=1e-9
    )
    mined = losses.adapt_loss(
        peers.MultiSimilarityLoss(reducer=reducers.MeanReducer()), miner=miners.MultiSimilarityMiner(epsilon=0.1)
    )
    assert float(MultiSimilarity()(distances, labels, gallery)) == pytest.approx(
        float(mined(distances, labels, gallery)), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_triplet_with_one_of_each_kind_is_twice_that_of_pytorch_metric_learning(seed):
    distances, labels, gallery = (
        torch.tensor(np.random.default_rng(seed).random((5, 2))),
        torch.zeros(5),
        torch.arange(2),
    )
    peer = losses.adapt_loss(
        peers.TripletMarginLoss(margin=0.1, reducer=reducers.MeanReducer()), miner=miners.BatchHardMiner()
    )
    found = Triplet(margin=0.1)(distances, labels, gallery)
    assert float(found) == pytest.approx(2 * float(peer(distances, labels, gallery)), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_hardest_terms_of_triplet_are_those_of_the_hard_miner(seed):
    distances, labels, gallery = batch(seed, 6, 10, classes=2)
    peer = losses.adapt_loss(
        peers.TripletMarginLoss(margin=0.1, reducer=reducers.MeanReducer()), miner=miners.BatchHardMiner()
    )
    hardest = torch.zeros_like(distances, dtype=torch.bool)
    for i, row in enumerate(distances):  # of each query only the farthest positive and the nearest negative
        same = labels[i] == gallery
        hardest[i, row.masked_fill(~same, -1).argmax()] = True
        hardest[i, row.masked_fill(same, 2).argmin()] = True
    found = Triplet(margin=0.1)(distances, labels, gallery, valid=hardest)
    assert float(found) == pytest.approx(2 * float(peer(distances, labels, gallery)), rel=1e-9)


@pytest.mark.parametrize(
    "kind",
    [
        peers.TripletMarginLoss,
        peers.ContrastiveLoss,
        peers.NTXentLoss,
        peers.SupConLoss,
        peers.LiftedStructureLoss,
        peers.GeneralizedLiftedStructureLoss,
        peers.IntraPairVarianceLoss,
        peers.NCALoss,
    ],
)
def test_an_adapted_loss_sees_our_distances_as_its_own(kind):
    """Embeddings whose Euclidean distances we know: the loss with its LpDistance against the loss on our matrix."""
    from pytorch_metric_learning.distances import LpDistance

    points = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(8) % 3
    theirs = kind(distance=LpDistance(normalize_embeddings=False))(points, labels)
    distances = torch.cdist(points, points).requires_grad_()
    loss = losses.adapt_loss(kind())
    ours = loss(distances, labels)
    assert float(ours.detach()) == pytest.approx(float(theirs), rel=1e-6)
    ours.backward()
    assert torch.isfinite(distances.grad).all()
    assert distances.grad.abs().sum() > 0
    everything = ~torch.eye(8, dtype=torch.bool)
    if kind is not peers.NCALoss:  # it takes no choice of pairs
        assert float(loss(distances, labels, valid=everything).detach()) == pytest.approx(float(theirs), rel=1e-6)


def test_an_adapted_loss_without_pairs_is_zero_and_still_on_the_graph():
    distances = torch.rand(4, 4, requires_grad=True)
    nothing(losses.adapt_loss(peers.TripletMarginLoss())(distances, torch.zeros(4)), distances)


def test_the_loss_that_was_adapted_keeps_its_own_distance():
    loss = peers.MultiSimilarityLoss()
    before = loss.distance
    losses.adapt_loss(loss)
    assert loss.distance is before
    assert losses.resolve_loss(losses.adapt_loss(loss)).loss is not loss


class Norms(peers.ContrastiveLoss):
    """Never asks for a distance."""

    def forward(self, embeddings, *rest):
        return embeddings.norm()


class Centroids(peers.ContrastiveLoss):
    """Compares with the mean of two embeddings, which only a distance that can compute knows."""

    def compute_loss(self, embeddings, *rest):
        return self.distance((embeddings[:3] + embeddings[1:4]) / 2)


def test_losses_that_look_at_embeddings_are_refused():
    distances, labels = torch.rand(6, 6), torch.arange(6) % 2
    with pytest.raises(TypeError, match="CircleLoss requires the distance metric to be CosineSimilarity"):
        losses.adapt_loss(peers.CircleLoss())
    with pytest.raises(TypeError, match="AngularLoss requires the distance"):
        losses.adapt_loss(peers.AngularLoss())
    with pytest.raises(TypeError, match="VICRegLoss cannot use a distance"):
        losses.adapt_loss(peers.VICRegLoss())
    with pytest.raises(TypeError, match="Norms uses embeddings"):
        losses.adapt_loss(Norms())(distances, labels)
    with pytest.raises(TypeError, match="embeddings that it computes"):
        losses.adapt_loss(Centroids())(distances, labels)
    with pytest.raises(TypeError, match="ProxyNCALoss uses embeddings or learns"):
        losses.adapt_loss(peers.ProxyNCALoss(num_classes=2, embedding_size=4))
    with pytest.raises(TypeError, match="expected a loss of pytorch-metric-learning"):
        losses.adapt_loss(Triplet())
    with pytest.raises(TypeError, match="expected a miner"):
        losses.adapt_loss(peers.ContrastiveLoss(), miner="hard")
    with pytest.raises(ValueError, match="valid cannot be given with a miner"):
        losses.adapt_loss(peers.ContrastiveLoss(), miner=miners.BatchHardMiner())(
            distances, labels, valid=torch.ones(6, 6, dtype=torch.bool)
        )
    with pytest.raises(TypeError, match="single pairs"):
        losses.adapt_loss(peers.ContrastiveLoss()).pair_loss(torch.zeros(1), torch.tensor([True]))


def test_without_the_extra_the_way_out_is_named():
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] == 'pytorch_metric_learning': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from timelike.metric import losses\n"
        "try: losses.adapt_loss(None)\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert 'pip install "timelike[metric-losses]"' in printed


@pytest.mark.parametrize(
    "loss", [losses.resolve_loss(name) for name in losses_by_name()], ids=lambda loss: type(loss).__name__
)
def test_arrays_in_the_place_of_tensors_are_named(loss):
    distances, labels = np.zeros((3, 3)), np.array([0, 0, 1])
    with pytest.raises(
        TypeError, match=r"distances is a ndarray: expected a tensor, such as torch.as_tensor\(distances\)"
    ):
        loss(distances, labels)
    with pytest.raises(TypeError, match="labels is a ndarray: expected a tensor"):
        loss(torch.zeros(3, 3), labels)
    with pytest.raises(TypeError, match="gallery_labels is a list: expected a tensor"):
        loss(torch.zeros(3, 3), torch.tensor([0, 0, 1]), [0, 0, 1])


def test_single_pairs_in_arrays_are_named():
    with pytest.raises(TypeError, match="same is a list: expected a tensor"):
        Contrastive().pair_loss(torch.zeros(2), [True, False])
