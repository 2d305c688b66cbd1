"""Every loss, found by itself, keeps the promises of the base class."""

import dataclasses

import numpy as np
import pytest
import torch

import timelike as tl
from contract.discover import LOSSES, data
from timelike.metric import losses
from timelike.metric.losses.registry import losses_by_name

LABELS = torch.tensor([0, 0, 1, 1, 2])


def matrix(seed=0, n=5):
    """Distances with ties, zeros on the diagonal, and the gradient they are to have."""
    rng = np.random.default_rng(seed)
    found = torch.tensor(np.round(rng.uniform(0, 2, (n, n)), 1))
    found = (found + found.T) / 2
    found.fill_diagonal_(0)
    return found.requires_grad_()


def test_there_are_losses_to_test():
    assert {losses.Triplet, losses.Contrastive} < set(LOSSES)


@pytest.mark.parametrize("kind", LOSSES)
class TestEveryLoss:
    def test_it_is_a_frozen_value_known_by_its_word(self, kind):
        word = next(word for word, found in losses_by_name().items() if found is kind)
        assert losses.resolve_loss(word) == kind()
        with pytest.raises(dataclasses.FrozenInstanceError):
            kind().anything = 1

    def test_it_is_a_finite_number_with_a_finite_gradient(self, kind):
        distances = matrix()
        lost = kind()(distances, LABELS)
        lost.backward()
        assert lost.ndim == 0
        assert torch.isfinite(lost)
        assert torch.isfinite(distances.grad).all()

    def test_the_order_of_the_batch_does_not_matter(self, kind):
        order = torch.tensor([3, 0, 4, 2, 1])
        distances = matrix().detach()
        shuffled = kind()(distances[order][:, order], LABELS[order])
        torch.testing.assert_close(shuffled, kind()(distances, LABELS))

    def test_a_batch_without_anything_to_say_costs_nothing(self, kind):
        distances = matrix(n=3)
        lost = kind()(distances, torch.tensor([0, 1, 2]), valid=torch.zeros(3, 3, dtype=torch.bool))
        lost.backward()
        assert float(lost.detach()) == 0
        assert not distances.grad.any()

    def test_a_metric_learns_by_its_word(self, kind):
        word = next(word for word, found in losses_by_name().items() if found is kind)
        X = data(tl.SiameseGRU)
        metric = tl.SiameseGRU(hidden=3, loss=word, trainer=tl.Trainer(max_epochs=1), random_state=0).fit(X)
        assert np.isfinite(metric.history_["loss"]).all()

    def test_it_is_saved_with_the_metric_that_learned_by_it(self, kind, tmp_path):
        tl.SiameseGRU(hidden=3, loss=kind(), trainer=tl.Trainer(max_epochs=1), random_state=0).fit(
            data(tl.SiameseGRU)
        ).save(tmp_path / "m")
        assert tl.load_model(tmp_path / "m").loss == kind()
