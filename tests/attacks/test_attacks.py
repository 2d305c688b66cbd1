"""Attacks keep to their balls, find what they should, and treat an item independently of the batch."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
import torch
from torch import nn

import timelike as tl
from naive import attacks as naive
from timelike.attacks import FGSM, PGD, Attack, ball, robustness, suite
from timelike.attacks.search import attack_losses, make_evaluator
from timelike.attacks.target import make_target
from timelike.prototypes.network import PrototypeNetwork
from timelike.prototypes.similarity import CosineSimilarity
from timelike.sequences.moments import ChannelScaler


class Curved(nn.Module):
    """A small network over the steps of a sequence: three classes, dropout, normalization."""

    def __init__(self, channels=2, classes=3, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.inner = nn.Sequential(
            nn.Linear(channels, 16), nn.Tanh(), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, classes, bias=False)
        )
        self.inner[2].running_mean.normal_(std=0.1)

    def forward(self, x, lengths):
        steps = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        found = self.inner(x.flatten(0, 1).flatten(1)).unflatten(0, x.shape[:2])
        return 3 * (found * steps).sum(1) / lengths[:, None]


class Linear(nn.Module):
    """Logits that are linear in sequences of equal length."""

    def __init__(self, weights, bias):
        super().__init__()
        self.weights, self.bias = nn.Parameter(torch.tensor(weights)), nn.Parameter(torch.tensor(bias))

    def forward(self, x, lengths):
        return torch.einsum("itc,ktc->ik", x, self.weights) + self.bias


def ragged(n=8, dtype=np.float64, seed=0, bounds=None):
    rng = np.random.default_rng(seed)
    items = [rng.standard_normal((int(length), 2)) for length in rng.integers(3, 12, n)]
    items = [item if bounds is None else (np.tanh(item) + 1) / 2 for item in items]
    return tl.Sequences([item.astype(dtype) for item in items])


def answers(model, X):
    x, lengths = X.to_tensor()
    return copy.deepcopy(model).double().eval()(x.double(), lengths).argmax(1).numpy()


@pytest.fixture
def curved():
    return Curved().train()  # an attack has to look at it in evaluation mode all the same


@pytest.fixture
def linear():
    rng = np.random.default_rng(1)
    model = rng.standard_normal((3, 5, 2)), rng.standard_normal(3)
    return model, rng.standard_normal((6, 5, 2)), rng.integers(0, 3, 6)


EVERY = [
    FGSM(0.2),
    PGD(0.2, steps=5),
    PGD(0.2, steps=5, loss="margin", restarts=2),
    PGD(0.5, steps=5, norm="l2"),
    PGD(0.2, steps=5, band=0.3),
    PGD(0.5, steps=5, norm="l2", band=0.3),
    PGD(0.3, steps=5, per_channel=(1.0, 0.1)),
]


@pytest.mark.parametrize("attack", EVERY, ids=repr)
class TestEveryAttack:
    def test_it_is_a_value(self, attack):
        assert dataclasses.replace(attack) == attack
        assert eval(repr(attack)) == attack
        with pytest.raises(dataclasses.FrozenInstanceError):
            attack.epsilon = 1.0

    def test_lengths_labels_and_kind_stay(self, attack, curved):
        X = ragged().replace(ids=[f"n{i}" for i in range(8)])
        moved = attack.attack(curved, X, np.zeros(8, int), random_state=0)
        assert isinstance(moved, tl.Sequences)
        np.testing.assert_array_equal(moved.lengths, X.lengths)
        assert moved.ids.tolist() == X.ids.tolist()
        assert moved.dtype == X.dtype
        assert not np.array_equal(moved.values, X.values)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_budget_holds_to_the_last_bit(self, attack, curved, dtype):
        X = ragged(dtype=dtype)
        moved = attack.attack(curved, X, np.zeros(8, int), random_state=0)
        units = np.array([1.0, 1.0] if attack.per_channel is None else attack.per_channel)
        for old, new in zip(X, moved, strict=True):
            d = (new.astype(np.float64) - old) / units
            if getattr(attack, "norm", "linf") == "l2":
                assert np.linalg.norm(d) <= attack.epsilon * (1 + 1e-15)
            else:
                assert (np.abs(new.astype(np.float64) - old) <= attack.epsilon * units).all()
                assert (np.abs(new - old) <= (attack.epsilon * units).astype(dtype)).all()

    def test_an_item_comes_out_the_same_whatever_the_batch(self, attack, curved):
        X, y = ragged(), np.arange(8) % 3
        together = attack.attack(curved, X, y, random_state=3)
        order = np.array([6, 2, 5])
        some = attack.attack(curved, X[order], y[order], random_state=3)
        # steps of the sign are exact; of l2 each is rounded to float32, and on some processors the last bit of a product
        # of matrices depends on the number of rows, which moves the next step by a few units in the last place
        tolerance = 2e-6 if getattr(attack, "norm", "linf") == "l2" else 1e-12
        for place, item in enumerate(order):
            np.testing.assert_allclose(some[place], together[int(item)], rtol=0, atol=tolerance)

    def test_it_is_the_same_twice_and_leaves_the_model_and_the_draws_of_others(self, attack, curved):
        X, y = ragged(), np.arange(8) % 3
        torch.manual_seed(5)
        before = torch.rand(3)
        torch.manual_seed(5)
        first = attack.attack(curved, X, y, random_state=3)
        assert torch.equal(torch.rand(3), before)
        assert curved.training
        assert all(weight.grad is None for weight in curved.parameters())
        np.testing.assert_array_equal(attack.attack(curved, X, y, random_state=3).values, first.values)

    def test_padding_is_never_touched(self, attack, curved):
        x, lengths = ragged().to_tensor(dtype="float32")
        x[torch.arange(x.shape[1])[None] >= lengths[:, None]] = 7.25
        moved = attack.perturb(x, lengths, torch.zeros(8, dtype=torch.long), curved.eval(), np.random.default_rng(0))
        inside = torch.arange(x.shape[1])[None] < lengths[:, None]
        assert torch.equal(moved[~inside], x[~inside])
        assert not torch.equal(moved[inside], x[inside])
        assert not moved.requires_grad

    def test_it_never_answers_better_than_the_data(self, attack, curved):
        X, y = ragged(30), np.arange(30) % 3
        moved = attack.attack(curved, X, y, random_state=0)
        right, still = (answers(curved, some) == y for some in (X, moved))
        assert not (still & ~right).any()


def test_bounds_hold_exactly_and_data_outside_them_is_refused(curved):
    X = ragged(dtype=np.float32, bounds=(0, 1))
    for attack in (FGSM(0.9, bounds=(0.0, 1.0)), PGD(2.0, steps=4, norm="l2", bounds=(0.0, 1.0))):
        moved = attack.attack(curved, X, np.zeros(8, int), random_state=0).values
        assert moved.min() >= 0
        assert moved.max() <= 1
    with pytest.raises(ValueError, match="outside bounds="):
        FGSM(0.1, bounds=(0.0, 0.5)).attack(curved, X, np.zeros(8, int))


def test_a_band_limit_and_the_budget_hold_together(curved):
    X = ragged(12)
    moved = PGD(0.3, steps=8, band=0.25).attack(curved, X, np.zeros(12, int), random_state=0)
    sizes = []
    for old, new in zip(X, moved, strict=True):
        power = np.abs(np.fft.rfft(new - old, axis=0))
        kept = 1 + int(0.25 * (len(old) // 2))
        assert power[kept:].max(initial=0) < 1e-12
        sizes.append(np.abs(new - old).max())
    assert max(sizes) <= 0.3
    assert max(sizes) > 0.25  # the room is used


def test_a_band_of_everything_is_no_limit(curved):
    X, y = ragged(), np.zeros(8, int)
    free, all_of_it = (PGD(0.3, steps=4, band=band).attack(curved, X, y, random_state=0) for band in (None, 1.0))
    np.testing.assert_array_equal(free.values, all_of_it.values)


# --- how strong ------------------------------------------------------------------------------------------------------


def test_one_step_is_the_best_there_is_against_a_linear_model(linear):
    (weights, bias), X, y = linear
    y = np.array([int(naive.linear_logits(x, weights, bias).argmax()) for x in X])
    found = FGSM(0.05, loss="margin").attack(Linear(weights, bias), X, y)
    for x, label, moved in zip(X, y, found, strict=True):
        np.testing.assert_allclose(moved, naive.fgsm(x, label, weights, bias, 0.05), atol=1e-15)
    two = Linear(weights[:2], bias[:2])  # of two classes the first step is as good as any
    for loss in ("margin", "cross-entropy"):
        moved = FGSM(0.3, loss=loss).attack(two, X, y % 2)
        for x, label, new in zip(X, y % 2, moved, strict=True):
            best = naive.largest_margin(x, label, weights[:2], bias[:2], 0.3)
            assert naive.margin(new, label, weights[:2], bias[:2])[0] == pytest.approx(best)


@pytest.mark.parametrize("loss", ["cross-entropy", "margin"])
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_many_steps_reach_what_the_dual_norm_says_of_two_linear_classes(linear, norm, loss):
    (weights, bias), X, y = linear
    weights, bias, y = weights[:2], bias[:2], y % 2
    found = PGD(0.5, steps=60, norm=norm, loss=loss).attack(Linear(weights, bias), X, y, random_state=0)
    for x, label, moved in zip(X, y, found, strict=True):
        best = naive.largest_margin(x, label, weights, bias, 0.5, norm)
        assert naive.margin(moved, label, weights, bias)[0] == pytest.approx(best, abs=1e-3)


def test_cross_entropy_is_torchs_and_keeps_its_gradient_where_the_answer_is_certain():
    logits = torch.randn(6, 4, dtype=torch.double, generator=torch.Generator().manual_seed(0), requires_grad=True)
    codes = torch.tensor([0, 1, 2, 3, 0, 1])
    torch.testing.assert_close(
        attack_losses("cross-entropy", logits, codes), nn.functional.cross_entropy(logits, codes, reduction="none")
    )
    certain = torch.tensor([[60.0, 0.0, -1.0]], dtype=torch.double, requires_grad=True)
    attack_losses("cross-entropy", certain, torch.tensor([0])).sum().backward()
    share = np.exp(-60) * (1 + np.exp(-1))  # what the softmax leaves to the others
    np.testing.assert_allclose(certain.grad[0, 0], -share, rtol=1e-12)


def test_fgsm_is_pgd_with_one_full_step_from_the_data(curved):
    X, y = ragged(), np.arange(8) % 3
    one = FGSM(0.2).attack(curved, X, y)
    same = PGD(0.2, steps=1, step=0.2, random_start=False).attack(curved, X, y)
    np.testing.assert_array_equal(one.values, same.values)


def test_a_budget_of_everything_fools_everybody(curved):
    X = ragged(20, bounds=(0, 1))
    y = answers(curved, X)
    everything = PGD(1.0, bounds=(0.0, 1.0), restarts=3, loss="margin")
    # what no input at all is answered otherwise cannot be fooled: none of these three classes is like that
    assert robustness(curved, X, y, everything, random_state=0).worst_case.mean == 0


def test_no_budget_changes_nothing(curved):
    X, y = ragged(), np.arange(8) % 3
    for attack in (FGSM(0.0), PGD(0.0, steps=3), PGD(0.0, steps=3, norm="l2"), PGD(0.0, steps=3, norm="l2", band=0.5)):
        np.testing.assert_array_equal(attack.attack(curved, X, y, random_state=0).values, X.values)


@pytest.mark.parametrize("loss", ["cross-entropy", "margin"])
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_more_steps_and_more_restarts_never_help_the_model(curved, loss, norm):
    X = ragged(40)
    y = answers(curved, X)
    lost = []
    for steps, restarts in ((1, 1), (3, 1), (10, 1), (10, 2), (20, 2)):
        attack = PGD(0.4, steps=steps, restarts=restarts, norm=norm, loss=loss)
        moved = attack.attack(curved, X, y, random_state=0)
        x, lengths = moved.to_tensor()
        logits = copy.deepcopy(curved).double().eval()(x, lengths)
        fooled = (logits.argmax(1).numpy() != y).astype(float)
        lost.append(np.stack([fooled, attack_losses(loss, logits, torch.from_numpy(y)).detach().numpy()]))
    for before, after in itertools.pairwise(lost):
        assert (after[0] >= before[0]).all()
        same = after[0] == before[0]
        assert (after[1][same] >= before[1][same] - 1e-12).all()
    assert lost[-1][0].sum() > lost[0][0].sum()


def test_the_loss_rises_along_the_steps(curved):
    X = ragged(30)
    x, lengths = X.to_tensor()
    codes = torch.from_numpy(answers(curved, X))
    target = make_target(curved, None)
    evaluate = make_evaluator(target, None, "cross-entropy", lengths, codes)
    found = ball.make_ball(x, lengths, torch.ones(2, dtype=torch.double), 0.5)
    point, risen = x, []
    for _ in range(12):
        seen = evaluate(point, torch.arange(30), with_gradient=True)
        risen.append(float(seen.loss.mean()))
        point = found.project(point + 0.02 * found.direction(seen.gradient))
    assert (np.diff(risen) > 0).all()


def test_the_gradient_is_that_of_finite_differences():
    model = Curved().double().eval()
    x, lengths = ragged(2).to_tensor()
    codes = torch.tensor([0, 2])
    for loss in ("cross-entropy", "margin"):
        seen = make_evaluator(make_target(model, None), None, loss, lengths, codes)(
            x, torch.arange(2), with_gradient=True
        )
        for place in [(0, 0, 0), (0, 1, 1), (1, 2, 0)]:
            ends = []
            for side in (1e-5, -1e-5):
                near = x.clone()
                near[place] += side
                ends.append(attack_losses(loss, model(near, lengths), codes).detach().sum().item())
            assert float(seen.gradient[place]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-8)


def test_certainty_hides_cross_entropy_but_not_the_margin():
    """Logits a thousand apart: the softmax is 1 to the last bit and its gradient 0; the lead still has one."""

    def certain(x, lengths):
        return 1e4 * torch.stack([x.sum((1, 2)), -x.sum((1, 2))], dim=1)

    X, y = np.array([[[0.4]], [[0.3]]]), [0, 0]
    hidden, found = (
        robustness(certain, X, y, PGD(0.5, steps=20, loss=loss, random_start=False))
        for loss in ("cross-entropy", "margin")
    )
    assert hidden.worst_case.mean == 1
    assert found.worst_case.mean == 0


# --- transfer, training, counting ------------------------------------------------------------------------------------


def test_transfer_follows_the_gradients_of_the_other_model(linear):
    (weights, bias), X, _ = linear
    model, other = Linear(weights, bias), Linear(weights[[1, 0, 2]], bias[[1, 0, 2]])
    y = np.array([int(naive.linear_logits(x, weights, bias).argmax()) for x in X])
    moved = FGSM(0.05, loss="margin").attack(model, X, y, transfer_from=other)
    own = FGSM(0.05, loss="margin").attack(model, X, y)
    kept = 0
    for x, label, new in zip(X, y, moved, strict=True):
        step = naive.fgsm(x, label, weights[[1, 0, 2]], bias[[1, 0, 2]], 0.05)
        better = naive.margin(step, label, weights, bias)[0] > naive.margin(x, label, weights, bias)[0]
        np.testing.assert_allclose(new, step if better else x, atol=1e-15)
        kept += better
    assert 0 < kept < len(X)
    assert not np.array_equal(moved, own)


def test_batches_for_training_keep_to_the_units_of_the_data():
    """Standardized by hand: a budget of 0.3 before is 0.3 / scale after, and the bounds move along."""
    rng = np.random.default_rng(0)
    X = tl.Sequences(rng.uniform(0, 1, (6, 4, 2)) * [1.0, 0.2])
    moments = ChannelScaler.from_sequences(X)
    x, lengths = moments.transform(X).to_tensor()
    weights = torch.tensor(rng.standard_normal((2, 8)), dtype=torch.float32)
    attack = PGD(0.3, steps=4, bounds=(0.0, 1.0))
    moved = attack.perturb(
        x, lengths, torch.arange(6) % 2, lambda x, lengths: x.flatten(1) @ weights.T, rng, scaler=moments
    )
    data = moved.numpy() * moments.scale + moments.mean
    before = X.pad().values
    assert np.abs(data - before).max() <= 0.3 + 1e-6
    assert np.abs(data - before)[..., 1].max() > 0.25  # the budget is not scaled by the channel
    assert data.min() >= -1e-6
    assert data.max() <= 1 + 1e-6


def test_training_attacks_every_head_that_is_given_and_refuses_none():
    x, lengths, targets = torch.zeros(1, 1, 2), torch.tensor([1]), torch.tensor([0])
    first = lambda x: torch.stack([x[:, 0, 0], -x[:, 0, 0]], dim=1)  # noqa: E731
    second = lambda x: torch.stack([x[:, 0, 1], -x[:, 0, 1]], dim=1)  # noqa: E731
    both = FGSM(0.5).perturb(x, lengths, targets, lambda x, lengths: [first(x), second(x)])
    assert both.flatten().tolist() == [-0.5, -0.5]
    one = FGSM(0.5).perturb(x, lengths, targets, lambda x, lengths: [second(x)])
    assert one.flatten().tolist() == [0.0, -0.5]
    with pytest.raises(ValueError, match="no head to attack"):
        FGSM(0.5).perturb(x, lengths, targets, lambda x, lengths: [])
    with pytest.raises(ValueError, match="no gradient with respect to the input"):
        FGSM(0.5).perturb(x, lengths, targets, lambda x, lengths: first(x.detach()))


def test_robustness_counts_who_is_right_under_all(curved):
    X = ragged(25)
    y = answers(curved, X)
    y[0] = (y[0] + 1) % 3  # wrong from the start
    known = suite(0.15, steps=5, restarts=2)
    found = robustness(curved, X, y, known, transfer_from={"other": Curved(seed=1)}, random_state=0)
    assert list(found.correct) == [
        "clean", "FGSM", "FGSM from other", "PGD-5", "PGD-5 from other", "PGD-5 margin × 2", "PGD-5 margin × 2 from other",
    ]  # fmt: skip
    assert found.clean.mean == 24 / 25
    worst = np.ones(25, bool)
    for name, attack in known.items():
        moved = attack.attack(curved, X, y, random_state=np.random.default_rng(0).integers(2**62))
        np.testing.assert_array_equal(answers(curved, moved) == y, found.correct[name])
    for right in found.correct.values():
        assert not right[0]
        worst &= right
    assert found.worst_case.mean == worst.mean() < found.clean.mean
    assert "worst of all" in repr(found)
    assert found.worst_case.low <= found.worst_case.mean <= found.worst_case.high


def test_arrays_lists_and_tensors_come_back_as_such(linear):
    (weights, bias), X, y = linear
    model = Linear(weights, bias)
    array = FGSM(0.1).attack(model, X, y)
    assert isinstance(array, np.ndarray)
    assert array.shape == X.shape
    some = FGSM(0.1).attack(model, list(X), y)
    assert isinstance(some, list)
    tensor = FGSM(0.1).attack(model, torch.from_numpy(X), y)
    assert isinstance(tensor, torch.Tensor)
    for other in (np.stack(some), tensor.numpy()):
        np.testing.assert_array_equal(other, array)


def test_images_are_sequences_of_one_frame():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 36, 4)).double()
    images = np.random.default_rng(0).uniform(0, 1, (5, 1, 1, 8, 8)).astype(np.float32)
    moved = PGD(0.3, steps=5, bounds=(0.0, 1.0)).attack(lambda x, n: inner(x[:, 0].double()), images, [0, 1, 2, 3, 0])
    assert moved.shape == images.shape
    assert moved.dtype == np.float32
    assert np.abs(moved.astype(np.float64) - images).max() <= 0.3
    assert (moved >= 0).all()
    assert (moved <= 1).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FGSM(-1), "epsilon=-1"),
        (lambda: PGD(0.1, steps=0), "steps=0"),
        (lambda: PGD(0.1, norm="l1"), "norm='l1'"),
        (lambda: FGSM(0.1, loss="hinge"), "loss='hinge'"),
        (lambda: FGSM(0.1, bounds=(1.0, 0.0)), "low below high"),
        (lambda: FGSM(0.1, band=0.0), "band=0.0"),
        (lambda: FGSM(0.1, per_channel=(1.0, 0.0)), "per_channel=0.0"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_cannot_be_attacked_is_refused_in_words(curved):
    X = ragged()
    y = np.zeros(8, int)
    with pytest.raises(TypeError, match="model is a Neighbors: expected"):
        FGSM(0.1).attack(tl.Neighbors(), X, y)
    with pytest.raises(ValueError, match="give y"):
        FGSM(0.1).attack(curved, X)
    with pytest.raises(ValueError, match="a class for each of 8"):
        FGSM(0.1).attack(curved, X, y[:3])
    with pytest.raises(ValueError, match="which has one; use head=None"):
        FGSM(0.1).attack(curved, X, y, head="dense")
    with pytest.raises(ValueError, match="2 channels: expected one for each"):
        FGSM(0.1, per_channel=(1.0, 1.0, 1.0)).attack(curved, X, y)
    with pytest.raises(ValueError, match="there are no deviations"):
        FGSM(0.1, per_channel="deviation").attack(curved, X, y)
    with pytest.raises(ValueError, match="logits"):
        FGSM(0.1).attack(lambda x, lengths: x.sum((1, 2)), X, y)
    with pytest.raises(ValueError, match="attacks is empty"):
        robustness(curved, X, y, [])
    with pytest.raises(ValueError, match="missing"):
        FGSM(0.1).attack(curved, tl.Sequences([[1.0, np.nan]]), [0])


@pytest.mark.parametrize("y", [[0, 1, 2, 0, 1, 2, 0, 3], [7] * 8, [0] * 7 + [-1], [0.5] * 8, ["a"] * 8, [2**63] * 8])
def test_labels_that_are_no_columns_of_the_logits_are_refused_by_name(curved, y):
    for call in (lambda: PGD(0.1).attack(curved, ragged(), y), lambda: robustness(curved, ragged(), y, FGSM(0.1))):
        with pytest.raises(ValueError, match="y holds (3|7|-1|0.5|'a'|9223372036854775808)[,:].* expected"):
            call()


def test_targets_of_a_training_that_no_head_has_are_refused(curved):
    x, lengths = ragged().to_tensor()
    with pytest.raises(ValueError, match="y holds 3, and the model gives logits of 3 classes"):
        FGSM(0.1).perturb(x.float(), lengths, torch.full((8,), 3), curved.eval())


@pytest.mark.parametrize("step", [None, 0.07])
def test_the_steps_of_pgd_are_a_quarter_of_the_budget_and_less_later(step):
    """Of a loss with a kink at 0, around which the way swings to the end: every length can be seen."""
    seen, start, epsilon = [], 0.01, 1.0

    def model(x, lengths):
        seen.append(float(x.detach()))
        return torch.stack([x.abs().sum((1, 2)), 0 * x.sum((1, 2))], dim=1)

    PGD(epsilon, steps=60, step=step, random_start=False).attack(model, [[start]], [0])
    assert seen[1:] == pytest.approx(naive.pgd_way(start, epsilon, 60, step), rel=1e-6)


def test_the_base_is_no_attack():
    with pytest.raises(TypeError, match="abstract"):
        Attack(0.1)


# --- Prototypes ------------------------------------------------------------------------------------------------------


class Summary(nn.Module):
    """Vectors of sequences: the mean over time of a small network."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Dropout(0.2), nn.Linear(12, 6))

    def forward(self, x, lengths=None):
        lengths = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
        steps = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        return (self.inner(x) * steps).sum(1) / lengths[:, None]


@pytest.fixture(scope="module")
def recognized():
    """Three classes that lie apart, in units of a thousand and of a hundredth, and a model that knows them."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    labels = np.repeat(["a", "b", "c"], 14)
    items = [
        (centre + rng.standard_normal((int(n), 2))) * [1000, 0.01] + [5000, 7]
        for centre, n in zip(np.repeat(centres, 14, axis=0), rng.integers(4, 9, 42), strict=True)
    ]
    X = tl.Sequences(items, labels=labels)
    return tl.Prototypes(encoder=Summary(), max_steps=250, random_state=0).fit(X), X


@pytest.mark.parametrize("head", ["similarity", "dense", "both"])
def test_the_attacked_logits_are_those_the_model_predicts_by(recognized, head):
    model, X = recognized
    x, lengths = X.to_tensor()
    with torch.no_grad():
        logits = make_target(model, head)(x, lengths).numpy()
    with_head = copy.deepcopy(model).set_params(inference=head)
    np.testing.assert_allclose(logits, with_head.class_scores(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(model.classes_[logits.argmax(1)], with_head.predict(X))


@pytest.mark.parametrize("head", ["similarity", "dense"])
def test_prototypes_are_fooled_as_robustness_says(recognized, head):
    model, X = recognized
    attack = PGD(1.5, steps=10, loss="margin", per_channel="deviation")
    moved = attack.attack(model, X, head=head, random_state=0)
    scale = model.scaler_.scale
    assert (np.abs(moved.values - X.values) <= 1.5 * scale).all()
    answered = copy.deepcopy(model).set_params(inference=head).predict(moved) == X.labels
    counted = robustness(model, X, None, {"PGD": attack}, head=head, random_state=0)
    assert counted.clean.mean > 0.9
    assert counted.accuracy("PGD").mean < 0.7
    again = attack.attack(model, X, head=head, random_state=np.random.default_rng(0).integers(2**62))
    np.testing.assert_array_equal(
        copy.deepcopy(model).set_params(inference=head).predict(again) == X.labels, counted.correct["PGD"]
    )
    assert answered.mean() < 0.7


def test_the_other_head_attacks_too(recognized):
    model, X = recognized
    found = robustness(
        model, X, None, {"PGD": PGD(1.0, per_channel="deviation")}, transfer_from="dense", random_state=0
    )
    assert list(found.correct) == ["clean", "PGD", "PGD from dense"]
    assert found.accuracy("PGD from dense").mean < found.clean.mean


def test_after_enrolling_only_the_similarity_can_be_attacked(recognized):
    model, X = copy.deepcopy(recognized[0]), recognized[1]
    new = tl.Sequences([item + np.array([9000.0, 0.0]) for item in X[:5]])
    model.enroll(new, ["d"] * 5)
    moved = FGSM(0.1, per_channel="deviation").attack(model, new, ["d"] * 5)
    assert len(moved) == 5
    with pytest.raises(ValueError, match="use head='similarity'"):
        FGSM(0.1).attack(model, X, head="dense")
    with pytest.raises(ValueError, match="'z', which is no class"):
        FGSM(0.1).attack(model, X, ["z"] * len(X))


def test_training_against_an_adversary_leaves_what_the_adversary_can_turn():
    """One channel tells all, by less than the budget; the other a little less, by more."""
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 20)[:, None, None]
    X = np.concatenate([2 * side + rng.standard_normal((40, 5, 1)), 0.1 * side + np.zeros((40, 5, 1))], axis=2)
    X[..., 1] += 0.01 * rng.standard_normal((40, 5))
    models = [
        tl.Prototypes(
            encoder=Summary(),
            max_steps=120,
            trainer=tl.Trainer(learning_rate=0.01),
            adversary=adversary,
            random_state=0,
        ).fit(X, side.ravel())
        for adversary in (None, PGD(0.5, steps=4, step=0.25))
    ]
    strong = {"PGD": PGD(0.5, steps=20, loss="margin", restarts=2)}
    for head in ("similarity", "dense"):
        before, after = (robustness(model, X, side.ravel(), strong, head=head, random_state=0) for model in models)
        assert before.clean.mean == 1
        assert before.worst_case.mean < 0.5 < 0.9 < after.worst_case.mean


def test_a_model_of_other_classes_lends_no_gradients(recognized):
    model, X = recognized
    other = copy.deepcopy(model).forget("c")
    with pytest.raises(ValueError, match="transfer_from has the classes"):
        FGSM(0.1).attack(model, X, transfer_from=other)


@pytest.mark.parametrize("head", ["similarity", "dense", "both"])
def test_encoders_beside_the_network_have_their_say(recognized, head):
    """They lend no gradients, but whether somebody is fooled is asked of the whole model."""
    X = recognized[1].resample(12)
    small = tl.Rocket(n_features=84, random_state=0)
    model = tl.Prototypes(
        encoder=Summary(), similarity_fn="cosine", extra_encoders=[small], max_steps=20, random_state=0
    )
    model.fit(X).set_params(inference=head)
    attack = PGD(0.5, steps=5, per_channel="deviation")
    moved = attack.attack(model, X, random_state=np.random.default_rng(0).integers(2**62))
    found = robustness(model, X, None, {"PGD": attack}, random_state=0)
    np.testing.assert_array_equal(model.predict(X) == X.labels, found.correct["clean"])
    np.testing.assert_array_equal(model.predict(moved) == X.labels, found.correct["PGD"])
    assert found.worst_case.mean < found.clean.mean


def test_an_encoder_without_gradients_is_refused_in_words(recognized):
    X = recognized[1].resample(12)
    model = tl.Prototypes(encoder=tl.Rocket(n_features=84, random_state=0), max_steps=2, random_state=0).fit(X)
    with pytest.raises(TypeError, match="has no torch module"):
        FGSM(0.1).attack(model, X)


def test_an_adversary_is_saved_with_its_model(tmp_path):
    adversary = PGD(0.2, steps=2, bounds=(-9.0, 9.0), per_channel=(1.0, 0.5))
    X = ragged(12)
    encoder = tl.SiameseGRU(hidden=4, random_state=0)
    model = tl.Prototypes(encoder=encoder, max_steps=2, adversary=adversary, random_state=0)
    model.fit(X, np.arange(12) % 2).save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").adversary == adversary


def test_an_encoder_that_averages_over_time_is_attacked_as_it_predicts():
    rng = np.random.default_rng(0)
    X = tl.Sequences([np.sin(np.arange(60 - i % 7) / pace + rng.uniform(0, 6)) for pace in (2, 5) for i in range(8)])
    y = np.repeat([0, 1], 8)
    encoder = tl.SiameseGRU(hidden=4, max_frames=10, random_state=0)
    model = tl.Prototypes(encoder=encoder, max_steps=20, random_state=0).fit(X, y)
    assert model.encoder_.time_pool_.factor > 1
    x, lengths = X.to_tensor()
    logits = make_target(model, None)(x.double(), lengths)
    np.testing.assert_allclose(logits.detach().numpy(), model.class_scores(X), atol=1e-4)


def test_a_point_outside_the_l2_ball_comes_back_along_its_ray_and_then_into_the_box():
    center = torch.zeros(1, 2, 2)
    low, high = torch.full_like(center, -10.0), torch.full_like(center, 10.0)
    high[0, 0, 0] = 0.5
    unit = torch.tensor([1.0, 2.0])
    around = ball.Ball(center, low, high, unit, torch.tensor([2]), radius=2.0, norm="l2", band=None)
    away = torch.tensor([[[3.0, 8.0], [0.0, 0.0]]])  # of length 5 in units: 3 and 8 / 2 = 4
    expected = torch.tensor([[[0.5, 8.0 * 2 / 5], [0.0, 0.0]]])  # 3 · 2/5 is beyond the box
    torch.testing.assert_close(around.project(away), expected, atol=1e-6, rtol=0)


def test_logits_of_the_dense_head_need_no_prototypes_of_the_same_size():
    """Other encoders may stand beside the network, so that prototypes are longer than its own vectors."""
    network = PrototypeNetwork(nn.Linear(3, 4), CosineSimilarity(), 4, 2)
    network.set_prototypes(np.zeros((2, 6), np.float32), np.arange(2))
    x = torch.randn(5, 3)
    torch.testing.assert_close(network.logits(x, head="dense"), network.dense(network.encoder(x)))
    with pytest.raises(ValueError, match="prototypes have 6 numbers and the network's vectors 4"):
        network.logits(x)


def test_a_point_of_the_unit_ball_stands_for_one_of_the_budget():
    """In units of each channel: the same noise is twice as far where the unit is two."""
    center = torch.ones(1, 2, 2)
    far = torch.full_like(center, 100.0)
    around = ball.Ball(center, -far, far, torch.tensor([1.0, 2.0]), torch.tensor([2]), 0.5, "linf", None)
    noise = torch.tensor([[[0.2, -0.4], [1.0, -1.0]]], dtype=torch.float64)
    expected = torch.tensor([[[1.1, 0.6], [1.5, 0.0]]])
    torch.testing.assert_close(around.map_from_unit_ball(noise), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("radius", [1e-3, 0.9])
def test_a_budget_finer_than_the_numbers_of_the_data_leaves_them_alone(radius):
    """Next to 2²⁴ single precision has whole numbers only, two apart: the nearest other point is outside the ball."""
    center = torch.full((2, 3, 1), 2.0**24)
    found = ball.make_ball(center, torch.tensor([3, 2]), torch.ones(1, dtype=torch.double), radius, norm="l2")
    assert torch.equal(found.map_from_unit_ball(torch.ones(2, 3, 1, dtype=torch.double)), center)
    large = ball.make_ball(center, torch.tensor([3, 2]), torch.ones(1, dtype=torch.double), 10.0, norm="l2")
    moved = large.map_from_unit_ball(torch.ones(2, 3, 1, dtype=torch.double)) - center
    assert (moved[0] > 0).all()
    assert moved[0].norm() <= 10
    assert moved[1, 2] == 0  # padding
