"""Coupled GRUs: the equations, the rule for unequal lengths, and the equality with torch's GRU while the gate is closed."""

import numpy as np
import pytest
import torch

from naive import coupled as naive
from timelike.metric import CoupledNetwork, Features
from toy_metrics import coupled_network as made

LENGTHS = torch.tensor([9, 4, 1, 7, 9])


def walks(items=5, time=9, channels=2, seed=1):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.standard_normal((items, time, channels)).cumsum(1))


def plain(network):
    return {name: weight.tolist() for name, weight in network.named_parameters()}


def looped(network, x, x_lengths, y, y_lengths):
    p, sides = (
        plain(network),
        [[s[:n].tolist() for s, n in zip(*side, strict=True)] for side in ((x, x_lengths), (y, y_lengths))],
    )
    return torch.tensor(
        [[naive.distance(p, a, b, network.sync) for b in sides[1]] for a in sides[0]], dtype=torch.float64
    )


@pytest.mark.parametrize("sync", ["last", "mean"])
@pytest.mark.parametrize("graded", [False, True])
def test_all_pairs_of_unequal_lengths_follow_the_equations(sync, graded):
    network, x, y = made(sync=sync), walks(), walks(3, 6, seed=2)
    lengths = torch.tensor([6, 2, 5])
    expected = looped(network, x, LENGTHS, y, lengths)
    with torch.set_grad_enabled(graded):
        first, second = network.features(x, LENGTHS), network.features(y, lengths)
        torch.testing.assert_close(network.distance_matrix(first, second), expected, rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(network.distance_matrix(second, first), expected.T, rtol=1e-12, atol=1e-13)
        some = torch.tensor([4, 1, 2])
        torch.testing.assert_close(
            network.pair_distances(first.take(some), second), expected[some, range(3)], rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("graded", [False, True])
def test_pairs_of_a_collection_with_itself_are_those_of_two_copies(graded):
    network, x = made(), walks()
    with torch.set_grad_enabled(graded):
        first = network.features(x, LENGTHS)
        once, twice = (
            network.distance_matrix(first, first),
            network.distance_matrix(first, Features(first.values, first.lengths)),
        )
    torch.testing.assert_close(once, twice, rtol=1e-13, atol=1e-14)
    assert (once == once.T).all()
    assert (once.diagonal() == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("graded", [False, True])
def test_a_sequence_is_at_no_distance_from_itself_and_order_does_not_matter(dtype, graded):
    network, x, y = made().to(dtype), walks(37).to(dtype), walks(37, seed=2).to(dtype)
    with torch.set_grad_enabled(graded):
        assert (network(x, x) == 0).all()
        torch.testing.assert_close(network(x, y), network(y, x), rtol=1e-6, atol=0)


@pytest.mark.parametrize("graded", [False, True])
def test_with_the_gate_shut_the_twins_are_a_gru_of_torch(graded):
    torch.manual_seed(0)
    gru = torch.nn.GRU(2, 20, batch_first=True)
    network = CoupledNetwork.from_gru(gru, coupling_bias=-1e4)
    x, y = walks().float(), walks(seed=2).float()
    with torch.set_grad_enabled(graded):
        expected = torch.linalg.vector_norm(gru(x)[1][0] - gru(y)[1][0], dim=-1)
        torch.testing.assert_close(network(x, y), expected, rtol=0, atol=1e-6)


def test_only_plain_grus_become_twins():
    with pytest.raises(ValueError, match="one layer"):
        CoupledNetwork.from_gru(torch.nn.GRU(2, 3, num_layers=2))


def test_an_open_gate_makes_the_twins_meet():
    x, y = walks(), walks(seed=2)
    network, shut = made(coupling_bias=0.0), made(coupling_bias=-50.0)
    with torch.no_grad():
        for one in (network, shut):
            one.weight_hc.zero_()  # c = ½: both new states are the same
        assert (network(x, y) < shut(x, y)).all()


@pytest.mark.parametrize("graded", [False, True])
def test_padding_changes_no_distance_and_no_gradient(graded):
    network, x, y = made(), walks(), walks(seed=2)
    found = []
    for filling in (0.0, float("nan"), 1e9):
        padded = torch.cat([x, torch.full((5, 3, 2), filling, dtype=x.dtype)], 1)
        for p, n in enumerate(LENGTHS.tolist()):
            padded[p, n:] = filling
        padded.requires_grad_(graded)
        network.zero_grad()
        with torch.set_grad_enabled(graded):
            distances = network(padded, y, LENGTHS)
        if graded:
            distances.sum().backward()
            found.append((distances.detach(), padded.grad, network.weight_ih.grad.clone()))
        else:
            found.append((distances,))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_when_one_is_over_the_other_goes_on_alone():
    network, x, y = made(), walks(1), walks(1, seed=2)
    with torch.no_grad():
        sides = [network.features(side[:, :4], torch.tensor([4])) for side in (x, y)]
        together = list(network._rollout_states(*sides))[-1]
        gru = torch.nn.GRU(2, 5, batch_first=True).double()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(gru, f"{name}_l0").copy_(getattr(network, name))
        alone = gru(y[:, 4:], together[1][None])[1][0]
        expected = torch.linalg.vector_norm(together[0] - alone, dim=-1)
        torch.testing.assert_close(network(x[:, :4], y), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("sync", ["last", "mean"])
def test_gradients_are_those_of_finite_differences(sync):
    network, x, y = made(hidden=3, sync=sync), walks(2, 4), walks(3, 5, seed=2)
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in network.named_parameters()}

    class Pairs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x, y):
            first, second = network.features(x, torch.tensor([4, 2])), network.features(y, torch.tensor([5, 3, 4]))
            return torch.cat(
                [network.distance_matrix(first, second).ravel(), network.distance_matrix(second, second)[1:, 0]]
            )

    def run(x, y, *parts):
        named = {f"network.{name}": part for name, part in zip(weights, parts, strict=True)}
        return torch.func.functional_call(Pairs(), named, (x, y))

    assert torch.autograd.gradcheck(run, (x.requires_grad_(), y.requires_grad_(), *weights.values()))


def test_gradients_are_finite_where_the_twins_are_the_same():
    network, x = made(), walks().requires_grad_()
    features = network.features(x, LENGTHS)
    (network.distance_matrix(features, features).sum() + network(x, x).sum()).backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters())


def test_the_gate_starts_where_it_is_told_and_may_be_penalised_by_its_norm():
    torch.manual_seed(0)
    network = CoupledNetwork(3, hidden=64, coupling_bias=-3.0, coupling_penalty=0.5, penalty_term="norm")
    assert (network.bias_hc == -3).all()
    assert network.weight_hc.std().item() == pytest.approx(0.1, rel=0.05)
    assert network.coupling_norm == pytest.approx(np.linalg.norm(network.weight_hc.detach().numpy()), rel=1e-6)
    assert network.penalty().item() == pytest.approx(0.5 * network.coupling_norm, rel=1e-6)
    network.penalty().backward()
    torch.testing.assert_close(network.weight_hc.grad, 0.5 * network.weight_hc / network.coupling_norm)
    features = network.features(walks(channels=3).float(), LENGTHS)
    assert network.training_distances(features, features).penalty.item() == pytest.approx(
        network.penalty().item(), rel=1e-6
    )


def test_synchronization_is_the_error_of_every_step_and_ends_in_the_distance():
    network, x, y = made(), walks(), walks(seed=2)
    with torch.no_grad():
        found = network.synchronization(x, y, LENGTHS)
        torch.testing.assert_close(found[:, -1], network(x, y, LENGTHS), rtol=1e-12, atol=0)
    for p, n in enumerate(LENGTHS.tolist()):
        expected = naive.errors(plain(network), x[p, :n].tolist(), y[p].tolist())
        np.testing.assert_allclose(found[p], expected, rtol=1e-11, atol=1e-14)


def test_small_weights_forget_where_they_started():
    network = made()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1e-3)
    # z ≈ ½ and n ≈ 0: a state is halved at every step
    assert network.lyapunov_exponent(steps=50, discard=20, starts=3, random_state=0) == pytest.approx(
        np.log(0.5), abs=2e-3
    )


@pytest.mark.parametrize("scale", [1.0, 12.0])
def test_the_exponent_is_the_growth_of_a_small_difference(scale):
    network = made(hidden=20, seed=3)
    with torch.no_grad():
        network.weight_hh.mul_(scale)
    found = network.lyapunov_exponent(steps=4000, discard=200, starts=4, random_state=0)
    weights = [weight.detach() for weight in list(network.parameters())[:4]]
    size, total = 1e-7, 0.0

    def step(state):
        return torch.gru_cell(torch.zeros(4, 2, dtype=state.dtype), state, *weights)

    state = torch.tensor(np.random.default_rng(1).uniform(-1, 1, (4, 20)))
    apart = torch.tensor(np.random.default_rng(2).standard_normal((4, 20)))
    for t in range(2200):
        apart = size * apart / torch.linalg.vector_norm(apart, dim=1, keepdim=True)
        following = step(state)
        apart, state = step(state + apart) - following, following
        total += (torch.linalg.vector_norm(apart, dim=1) / size).log().mean().item() if t >= 200 else 0.0
    assert found == pytest.approx(total / 2000, abs=0.02)
    assert (found < 0) == (scale == 1.0)  # large weights are chaotic


def test_randomness_is_an_argument():
    network = made()
    how = {"steps": 20, "discard": 5, "starts": 2}
    assert network.lyapunov_exponent(**how, random_state=3) == network.lyapunov_exponent(**how, random_state=3)


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="sync='first'"):
        CoupledNetwork(2, sync="first")
    with pytest.raises(ValueError, match="penalty_term='weights'"):
        CoupledNetwork(2, penalty_term="weights")
    with pytest.raises(ValueError, match="hidden=0"):
        CoupledNetwork(2, hidden=0)
