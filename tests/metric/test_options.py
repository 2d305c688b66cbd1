"""How far options may go, what an estimator tells the training, and what it says of itself."""

import copy
import inspect
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import timelike as tl
from timelike import metric as metrics
from timelike.metric import losses
from timelike.train import Plateau
from toy_metrics import MAKERS

LEAST = {  # two classes and two members are the fewest that anything can be learned from
    "n_per_class": 2,
    **dict.fromkeys(["hidden", "n_outputs", "n_virtual_frames", "max_steps"], 1),
    "coupling_penalty": 0,
}
KINDS = sorted({type(make()) for make in MAKERS.values()}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_of_every_option_is_accepted_and_no_less(kind):
    declared = kind.options()
    for name in LEAST.keys() & declared.keys():
        assert declared[name].check(LEAST[name], name) == LEAST[name]
        with pytest.raises(ValueError, match=f"{name}=.*expected"):
            declared[name].check(LEAST[name] - 1, name)
    if "regularization" in declared:
        assert declared["regularization"].check(1e-12, "regularization") == 1e-12
        with pytest.raises(ValueError, match=r"regularization=0.*expected"):
            declared["regularization"].check(0, "regularization")


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (metrics.Episodes, {"n_way": 2, "k_shot": 1, "n_query": 1, "n_episodes": 1}),
        (metrics.SelfSupervision, {"distance_weight": 0}),
        (metrics.Labels, {"consistency": 0}),
        (metrics.AlignmentPredictor, {"n_kernels": 1}),
        (tl.Trainer, {"max_epochs": 1, "patience": 1, "devices": 1, "weight_decay": 0, "validation": 0}),
    ],
)
def test_the_least_of_every_field_of_a_value_is_accepted_and_no_less(kind, least):
    for name, value in least.items():
        assert getattr(kind(**{name: value}), name) == value
        with pytest.raises(ValueError, match=f"{name}=.*expected"):
            kind(**{name: value - 1})


def test_a_batch_has_a_pair_to_compare(train):
    with pytest.raises(ValueError, match=r"trainer.batch_size=1: expected at least 2"):
        tl.TAP(trainer=tl.Trainer(batch_size=1)).fit(train)


@pytest.mark.parametrize("kind", KINDS)
def test_one_device_and_no_bar_unless_told_otherwise(kind):
    given = inspect.signature(kind).parameters
    assert (kind().trainer_.devices, given["standardize"].default) == (1, True)
    assert not given["progress"].default


def test_words_have_the_options_of_the_values_they_stand_for():
    tasks = tl.TAP(supervision="episodes").set_params(supervision__n_way=3, alignment__n_kernels=4)
    assert tasks.supervision == metrics.Episodes(n_way=3)
    assert tasks.alignment == metrics.AlignmentPredictor(n_kernels=4)
    assert tl.TAP(supervision="alignment").get_params()["supervision__distance_weight"] == 0.0
    search = GridSearchCV(tl.TAP(), {"supervision__augment": [False, True], "trainer__learning_rate": [1e-3]}, cv=2)
    assert clone(search).estimator.set_params(supervision__augment=True).supervision == metrics.Labels(augment=True)


@pytest.mark.parametrize("name", ["siamese-paper", "coupled-paper"])
def test_the_rate_is_halved_after_ten_epochs_in_which_the_loss_does_not_fall(name):
    objective = SimpleNamespace(has_validation=True, n_batches=lambda: 3)
    limits = MAKERS[name]()._fit_options(objective)
    assert limits["schedule"] == Plateau(patience=10, gamma=0.5, minimum=0.0, monitor="loss")
    assert limits["gradient_clip"] == 6.0
    patient = MAKERS[name](patience=math.inf, max_epochs=17)
    assert patient._fit_options(objective)["patience"] == 17  # the best weights are kept anyhow


@pytest.mark.parametrize(("size", "classes", "expected"), [(6, 3, 18), (6, 100, 60), (40, 5, 80), (2, 100, 64)])
def test_a_batch_has_up_to_64_sequences_and_two_classes_at_least(size, classes, expected):
    options = tl.SiameseGRU(n_per_class=size)._objective_options()
    labels = np.repeat(np.arange(classes), size)
    objective = metrics.SupervisedObjective(
        None, tl.Sequences(np.zeros((len(labels), 2))), labels, losses.Triplet(), **options
    )
    batch = next(iter(objective.batches(0, np.random.default_rng(0))))
    assert len(batch) == objective.step_sequences() == expected
    assert set(np.unique(labels[batch.ids], return_counts=True)[1]) == {size}


# --- losses


@pytest.mark.parametrize("kind", [losses.Binomial, losses.Lifted, losses.MultiSimilarity])
def test_sharpness_may_be_any_positive_number(kind):
    assert kind(alpha=0.3, beta=0.2).alpha == 0.3
    for name in ("alpha", "beta"):
        with pytest.raises(ValueError, match=f"{name}=0"):
            kind(**{name: 0.0})


def test_a_pair_that_does_not_count_reads_0():
    distances = torch.tensor([[5.0, 1.0, 2.0], [1.0, 7.0, 3.0], [2.0, 3.0, 9.0]])
    valid = torch.tensor([[True, True, False], [True, True, True], [True, True, True]])
    pairs = losses.base.make_pairs(distances, torch.tensor([0, 0, 1]), valid=valid)
    assert pairs.distances.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]


def test_an_adapted_loss_can_be_copied_and_pickled():
    from pytorch_metric_learning.losses import TripletMarginLoss

    loss = losses.adapt_loss(TripletMarginLoss())
    distances = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other(distances, labels) == loss(distances, labels)


# --- what it says of itself


def test_whether_order_matters_is_known_before_and_after_the_fit(train):
    for symmetrize in (False, True):
        alignment = metrics.AlignmentPredictor(n_kernels=2, symmetrize=symmetrize)
        metric = tl.TAP(hidden=4, alignment=alignment, max_steps=1, random_state=0)
        assert metric.symmetric is symmetrize
        assert metric.fit(train).symmetric is symmetrize
    assert metrics.AlignedFrames(aligner="softdtw").symmetric is True
    assert metrics.AlignedFrames(aligner=torch.nn.Identity()).symmetric is False


@pytest.mark.parametrize(
    ("supervision", "needed"), [("labels", True), ("episodes", True), ("augmentation", False), ("alignment", False)]
)
def test_it_tells_scikit_learn_whether_it_needs_classes(supervision, needed):
    assert tl.TAP(supervision=supervision).__sklearn_tags__().target_tags.required is needed


def test_pairs_of_positions_that_are_not_there_are_named(train):
    metric = tl.SiameseGRU(hidden=2, trainer=tl.Trainer(max_epochs=1), loss="contrastive")
    for wrong, at in (([[0, 1], [-1, 2]], 1), ([[0, len(train)], [1, 2]], 0)):
        with pytest.raises(ValueError, match=rf"pairs\[{at}\] is .*: expected positions 0 to {len(train) - 1} in X"):
            metric.fit_pairs(train, wrong, [True, False])
    last = np.array([[0, len(train) - 1], [1, 2]])
    assert metric.fit_pairs(train, last, [True, False]).history_.n_steps > 0
