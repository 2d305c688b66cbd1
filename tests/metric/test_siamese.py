"""Siamese recurrent networks: the distance of last states."""

import pytest
import torch

from timelike.metric import SiameseNetwork

LENGTHS = torch.tensor([9, 4, 1, 7])


def made(cell="gru", **options):
    torch.manual_seed(0)
    return SiameseNetwork(2, hidden=5, cell=cell, **options).double()


def walks(items=4, seed=1):
    return torch.randn(items, 9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).cumsum(1)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_distance_is_that_of_the_states_at_each_end(cell, layers):
    network, x, y = made(cell, n_layers=layers), walks(), walks(3, seed=2)
    kind = torch.nn.GRU if cell == "gru" else torch.nn.LSTM
    alone = kind(2, 5, num_layers=layers, batch_first=True).double()
    alone.load_state_dict(network.cells.state_dict())
    with torch.no_grad():
        ends = [alone(x[i : i + 1, :n])[0][0, -1] for i, n in enumerate(LENGTHS.tolist())]
        others = alone(y)[0][:, -1]
        expected = torch.stack([torch.linalg.vector_norm(end - others, dim=-1) for end in ends])
        first, second = network.features(x, LENGTHS), network.features(y, torch.full((3,), 9))
        torch.testing.assert_close(network.distance_matrix(first, second), expected, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(
            network.pair_distances(first.take(slice(3)), second), expected.diagonal(), rtol=1e-12, atol=1e-14
        )
        torch.testing.assert_close(network(x[:3], y, LENGTHS[:3]), expected.diagonal(), rtol=1e-12, atol=1e-14)


def test_a_sequence_is_at_no_distance_from_itself_and_order_does_not_matter():
    network, x = made(), walks(40)
    features = network.features(x, torch.full((40,), 9))
    distances = network.distance_matrix(features, features)
    assert (distances.diagonal() == 0).all()
    assert (distances == distances.T).all()
    assert (network(x, x) == 0).all()


def test_padding_changes_no_distance_and_no_gradient():
    network, y, found = made(), walks(seed=2), []
    for filling in (0.0, float("nan")):
        x = walks()
        for p, n in enumerate(LENGTHS.tolist()):
            x[p, n:] = filling
        x.requires_grad_()
        network.zero_grad()
        distances = network(x, y, LENGTHS)
        distances.sum().backward()
        found.append((distances.detach(), x.grad, network.cells.weight_ih_l0.grad.clone()))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences_and_finite_at_no_distance():
    network, x = made(), walks(3)

    def run(x):
        features = network.features(x, LENGTHS[:3])
        distances = network.distance_matrix(features, features)
        return torch.cat(
            [distances[1:, 0], network.pair_distances(features.take(slice(2)), features.take(slice(1, 3)))]
        )

    assert torch.autograd.gradcheck(run, x.requires_grad_())
    features = network.features(x, LENGTHS[:3])
    (network.distance_matrix(features, features).sum() + network(x, x).sum()).backward()
    assert torch.isfinite(x.grad).all()


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="cell='rnn'"):
        SiameseNetwork(2, cell="rnn")
