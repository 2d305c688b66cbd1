"""The mean gate, by which coupling is measured and penalised: the equations, gradients, and every loss that has it."""

import numpy as np
import pytest
import torch

import timelike as tl
from naive import coupled as naive
from tampering import read_config, write_config
from timelike.metric import CoupledNetwork, EpisodeObjective, Features, SupervisedObjective, losses
from timelike.metric.objectives.pairs import PairObjective
from timelike.train import Batch
from toy_metrics import MAKERS, coupled_network as made

LENGTHS, OTHERS = torch.tensor([9, 4, 1, 7, 9]), torch.tensor([6, 2, 5])


def walks(items, time, seed):
    return torch.tensor(np.random.default_rng(seed).standard_normal((items, time, 2)).cumsum(1))


X, Y = walks(5, 9, 1), walks(3, 6, 2)


def gates(network, pairs):
    """Of pairs of sequences (time, channel), one at a time."""
    plain = {name: weight.tolist() for name, weight in network.named_parameters()}
    return torch.tensor([naive.gate(plain, a.tolist(), b.tolist()) for a, b in pairs], dtype=torch.float64)


def cut(x, lengths):
    return [sequence[:n] for sequence, n in zip(x, lengths, strict=True)]


@pytest.fixture(params=["kernels", "torch"])
def executor(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize("graded", [False, True])
def test_the_mean_gate_is_that_of_the_equations_where_both_sequences_run(graded):
    network, first, second = made(), cut(X[:3], LENGTHS[:3]), cut(Y, OTHERS)
    with torch.set_grad_enabled(graded):
        found = network.mean_gates(X[:3], Y, LENGTHS[:3], OTHERS)
    torch.testing.assert_close(found.detach(), gates(network, zip(first, second, strict=True)), rtol=1e-12, atol=0)


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize("sync", ["last", "mean"])
@pytest.mark.parametrize("graded", [False, True])
def test_training_is_told_the_mean_over_the_pairs_it_compares(sync, graded):
    network, first, second = made(sync=sync, coupling_penalty=0.3), cut(X, LENGTHS), cut(Y, OTHERS)
    cases = {
        "matrix": [(a, b) for a in first for b in second],
        "triangle": [(first[i], first[j]) for i in range(5) for j in range(i)],  # no sequence with itself
        "rows": list(zip(first[:3], second, strict=True)),
    }
    for kind, pairs in cases.items():
        with torch.set_grad_enabled(graded):
            x, y = network.features(X, LENGTHS), network.features(Y, OTHERS)
            sides = {"matrix": (x, y), "triangle": (x, x), "rows": (x.take(slice(3)), y)}[kind]
            found = network.training_distances(*sides, pairs_only=kind == "rows")
            plain = network.pair_distances(*sides) if kind == "rows" else network.distance_matrix(*sides)
        torch.testing.assert_close(found.distances, plain, rtol=0, atol=1e-14)
        expected = gates(network, pairs).mean().item()
        assert float(found.logged_values["coupling"]) == pytest.approx(expected, rel=1e-12)
        assert float(found.penalty.detach()) == pytest.approx(0.3 * expected, rel=1e-12)
        assert found.logged_values["coupling_norm"] == network.coupling_norm


def test_without_weights_the_norm_says_nothing_and_the_gate_is_that_of_the_bias():
    for bias in (0.0, -3.0):
        network = made(coupling_bias=bias)
        with torch.no_grad():
            network.weight_hc.zero_()
        assert network.coupling_norm == 0
        assert network.mean_gates(X, X.flip(0)).tolist() == pytest.approx([1 / (1 + np.exp(-bias))] * 5)


def test_a_sequence_alone_is_coupled_to_nothing():
    network = made()
    one = network.features(X[:1], LENGTHS[:1])
    assert network.training_distances(one, one).penalty.item() == 0


@pytest.mark.usefixtures("executor")
def test_gradients_of_the_penalty_are_those_of_finite_differences():
    network = made(hidden=2, coupling_penalty=0.7)
    names = [name for name, _ in network.named_parameters()]
    weights = [weight.detach().clone().requires_grad_() for weight in network.parameters()]

    class Penalties(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x, y):
            first, second = network.features(x, torch.tensor([3, 2])), network.features(y, torch.tensor([4, 1]))
            sides = (first, second, False), (first, first, False), (first, second, True)
            return torch.stack([network.training_distances(a, b, pairs_only=rows).penalty for a, b, rows in sides])

    def run(x, y, *parts):
        named = {f"network.{name}": part for name, part in zip(names, parts, strict=True)}
        return torch.func.functional_call(Penalties(), named, (x, y))

    given = (X[:2, :3].clone().requires_grad_(), Y[:2, :4].clone().requires_grad_(), *weights)
    assert torch.autograd.gradcheck(run, given)
    assert torch.autograd.gradgradcheck(run, given, fast_mode=True)  # along one random direction


def test_padding_changes_neither_the_penalty_nor_its_gradient():
    network, found = made(), []
    for filling in (0.0, float("nan"), 1e9):
        padded = torch.cat([X, torch.full((5, 3, 2), filling, dtype=X.dtype)], 1)
        for p, n in enumerate(LENGTHS.tolist()):
            padded[p, n:] = filling
        padded.requires_grad_()
        network.zero_grad()
        features = network.features(padded, LENGTHS)
        penalty = network.training_distances(features, features).penalty
        penalty.backward()
        found.append((penalty.detach(), padded.grad, network.weight_hc.grad.clone()))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_a_long_float32_sequence_does_not_wear_the_sum_of_its_gates_out():
    network = made(hidden=20)
    x, y = (torch.tensor(np.random.default_rng(s).standard_normal((1, 30_000, 60))) for s in (1, 2))
    found = []
    for dtype in (torch.float32, torch.float64):
        sides = [Features(side.to(dtype), torch.tensor([30_000])) for side in (x, y)]
        with torch.no_grad():
            found.append(
                network.to(dtype).training_distances(*sides, pairs_only=True).logged_values["coupling"].double()
            )
    torch.testing.assert_close(*found, rtol=1e-5, atol=0)


def waves():
    rng = np.random.default_rng(0)
    return tl.Sequences([rng.standard_normal((n, 2)).astype(np.float32) for n in (5, 7, 6, 5, 8, 4)])


def test_labels_pairs_and_episodes_all_add_the_penalty_to_their_loss():
    sequences, labels, torch_labels = waves(), np.arange(6) % 2, torch.arange(6) % 2
    network = made().float()
    x, lengths = sequences.to_tensor()
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    sides = [sequences[side].to_tensor() for side in pairs.T]
    batches = {
        "labels": Batch(np.arange(6), x=x, lengths=lengths, labels=torch_labels),
        "pairs": Batch(
            np.arange(3),
            x=sides[0][0],
            lengths=sides[0][1],
            other=sides[1][0],
            other_lengths=sides[1][1],
            same=torch.tensor([True, False, True]),
        ),
        "episodes": Batch(
            np.arange(2),
            x=x[:2],
            lengths=lengths[:2],
            labels=torch_labels[:2],
            support=x[2:],
            support_lengths=lengths[2:],
            support_labels=torch_labels[2:],
        ),
    }
    loss = losses.Contrastive()
    objectives = {
        "labels": SupervisedObjective(network, sequences, labels, loss, augmentation=None),
        "pairs": PairObjective(network, sequences, pairs, np.array([True, False, True]), loss),
        "episodes": EpisodeObjective(network, sequences, labels, n_way=2),
    }
    compared = {
        "labels": [(i, j) for i in range(6) for j in range(i)],
        "pairs": pairs.tolist(),
        "episodes": [(i, j) for i in range(2) for j in range(2, 6)],
    }
    every = [torch.from_numpy(np.array(sequence)) for sequence in sequences.to_list()]
    for kind, objective in objectives.items():
        found = {}
        for weight in (0.0, 2.0):
            network.coupling_penalty = weight
            told = objective.loss(batches[kind])
            found[weight] = (told["loss"] if isinstance(told, dict) else told).item()
        expected = gates(network, [(every[i], every[j]) for i, j in compared[kind]]).mean().item()
        assert found[2.0] - found[0.0] == pytest.approx(2 * expected, rel=1e-4), kind


@pytest.mark.parametrize(("penalty_term", "track"), [("gate", "coupling"), ("norm", "coupling_norm")])
def test_a_heavy_penalty_shrinks_what_it_weighs(penalty_term, track, train):
    last = {}
    for weight in (0.0, 30.0):
        how = {
            "coupling_penalty": weight,
            "penalty_term": penalty_term,
            "max_epochs": 4,
            "learning_rate": 0.03,
            "schedule": "constant",
        }
        last[weight] = MAKERS["coupled"](**how).fit(train).history_.last(track)
    assert last[30.0] < 0.5 * last[0.0]


def test_given_pairs_tell_the_coupling_too(train):
    pairs, same = [[0, 3], [0, 1], [1, 4], [2, 4]], [True, False, True, False]
    metric = MAKERS["coupled"](max_epochs=2, loss="contrastive").fit_pairs(train, pairs, same)
    assert len(metric.history_["coupling"]) == metric.history_.n_steps
    x, y = train[0], train[1]
    assert 0 < metric.coupling(x, y) < 1
    assert metric.coupling(x, y) == pytest.approx(metric.coupling(y, x), rel=1e-6)


def test_a_checkpoint_of_another_penalty_is_refused(train, tmp_path):
    common = {"max_epochs": 1, "checkpoint": tmp_path}
    MAKERS["coupled"](penalty_term="norm", **common).fit(train)
    with pytest.raises(ValueError, match="another penalty_term, 'norm' there and 'gate' here"):
        MAKERS["coupled"](penalty_term="gate", **common).fit(train)
    with pytest.raises(ValueError, match=r"another coupling_penalty, 0.01 there and 0.02 here"):
        MAKERS["coupled"](penalty_term="norm", coupling_penalty=0.02, **common).fit(train)


def test_an_option_that_a_folder_does_not_name_has_its_default(fitted, test, tmp_path):
    metric = fitted("coupled")
    metric.save(tmp_path / "model")
    words = read_config(tmp_path / "model")
    assert words["parameters"].pop("penalty_term") == "gate"
    write_config(tmp_path / "model", words)
    loaded = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.pairwise(test), metric.pairwise(test))
    assert isinstance(loaded.network_, CoupledNetwork)
