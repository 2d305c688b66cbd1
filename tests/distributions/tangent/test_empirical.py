"""The tangent kernel of finite networks: against loops over gradients, and against its limit."""

import numpy as np
import pytest
import torch
from torch import nn

from timelike.distributions import NTK, EmpiricalNTK, empirical_ntk, mmd
from timelike.distributions.tangent import empirical


class Layer(nn.Module):
    """A layer of the NTK parameterisation: W x / √n + b β."""

    def __init__(self, inputs, outputs, bias, rng):
        super().__init__()
        self.weights = nn.Parameter(torch.from_numpy(rng.standard_normal((outputs, inputs))))
        self.shift = nn.Parameter(torch.from_numpy(rng.standard_normal(outputs))) if bias else None
        self.bias = bias

    def forward(self, x):
        found = x @ self.weights.T / self.weights.shape[1] ** 0.5
        return found if self.shift is None else found + self.bias * self.shift


class Last(nn.Module):
    """A recurrent network, of which the last state counts."""

    def __init__(self):
        super().__init__()
        self.network, self.outputs = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.outputs(self.network(x)[0][:, -1])


def perceptron(width, seed, bias=1.0, depth=2, inputs=3):
    rng = np.random.default_rng(seed)
    layers = []
    for layer in range(depth):
        layers += [Layer(inputs if layer == 0 else width, width, bias, rng), nn.ReLU()]
    return nn.Sequential(*layers, Layer(width, 1, 0.0, rng))


def looped(module, x, y):
    """Backward passes, one for every item and output, and products of all gradients."""
    module.eval()

    def gradients(item):
        found = []
        for output in module(torch.as_tensor(item)[None])[0].flatten():
            module.zero_grad()
            output.backward(retain_graph=True)
            trained = [p for p in module.parameters() if p.requires_grad]
            found.append(torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in trained]))
        return torch.stack(found)

    return np.array([[float((gradients(a) * gradients(b)).sum(1).mean()) for b in y] for a in x])


def networks():
    torch.manual_seed(0)
    image = [nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Flatten(), nn.Dropout(), nn.Linear(12, 2)]
    found = {
        "two outputs": (nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)), (3,)),
        "image": (nn.Sequential(*image), (1, 4, 4)),
        "recurrent": (Last(), (6, 2)),
    }
    return {name: (module.double(), shape) for name, (module, shape) in found.items()}


@pytest.mark.parametrize("name", ["two outputs", "image", "recurrent"])
def test_it_is_the_products_of_gradients_of_every_item_and_output(name):
    module, shape = networks()[name]
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, *shape)), rng.standard_normal((4, *shape))
    expected = looped(module, x, y)
    np.testing.assert_allclose(empirical_ntk(module, x, y), expected, rtol=1e-10, atol=1e-12)
    itself = empirical_ntk(module, x)
    np.testing.assert_array_equal(itself, itself.T)
    np.testing.assert_allclose(itself, looped(module, x, x), rtol=1e-10, atol=1e-12)


def test_blocks_of_items_and_groups_of_parameters_change_nothing(monkeypatch):
    module, shape = networks()["two outputs"]
    x = np.random.default_rng(0).standard_normal((7, *shape))
    whole = empirical_ntk(module, x)
    for block in (1, 2, 7, 100):
        np.testing.assert_allclose(empirical_ntk(module, x, block_size=block), whole, rtol=1e-12)
        np.testing.assert_allclose(empirical_ntk(module, x[:3], x, block_size=block), whole[:3], rtol=1e-12)
    monkeypatch.setattr(empirical, "_MAX_KEPT_DERIVATIVES", 12)
    assert len(empirical.ParameterJacobian(module).groups(2)) == 4
    np.testing.assert_allclose(empirical_ntk(module, x), whole, rtol=1e-12)


def test_the_network_keeps_its_mode_its_averages_and_its_gradients():
    module, shape = networks()["image"]
    module.train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    empirical_ntk(module, np.random.default_rng(0).standard_normal((3, *shape)))
    assert module.training
    assert all(parameter.grad is None for parameter in module.parameters())
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


def test_frozen_parameters_do_not_count():
    module, _ = networks()["two outputs"]
    x = np.random.default_rng(0).standard_normal((3, 3))
    module[0].requires_grad_(False)
    hidden = np.tanh(module[0](torch.from_numpy(x)).detach().numpy())
    np.testing.assert_allclose(empirical_ntk(module, x), hidden @ hidden.T + 1, rtol=1e-12)


def test_wide_networks_approach_the_kernel_of_infinite_ones_like_one_over_the_root_of_their_width():
    x = np.random.default_rng(0).standard_normal((4, 3))
    limit = NTK(depth=2, bias=1.0)(x)

    def error(width, n_seeds):
        found = [empirical_ntk(perceptron(width, seed), x) - limit for seed in range(n_seeds)]
        return np.sqrt(np.mean(np.square(found)))

    narrow, wide = error(64, 16), error(1024, 8)
    assert 2.5 < narrow / wide < 6.4  # 4, as 1024 is 16 times 64
    assert wide < 0.05 * np.abs(limit).max()


def test_as_a_kernel_it_goes_wherever_kernels_go():
    module = perceptron(16, 0)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    kernel = EmpiricalNTK(module)
    np.testing.assert_allclose(kernel(x, y), empirical_ntk(module, x, y), rtol=1e-12)
    matrices = [empirical_ntk(module, *pair).mean() for pair in ((x, x), (y, y), (x, y))]
    assert mmd(x, y, kernel) == pytest.approx(matrices[0] + matrices[1] - 2 * matrices[2])
    assert kernel.is_definite
    assert repr(kernel) == "EmpiricalNTK(Sequential)"


@pytest.mark.parametrize("name", ["two outputs", "recurrent"])
def test_gradients_by_points_are_those_of_finite_differences(name):
    module, shape = networks()[name]
    rng = np.random.default_rng(0)
    size = int(np.prod(shape))
    x, y, weights = rng.standard_normal((2, size)), rng.standard_normal((3, size)), rng.standard_normal(3)
    kernel = EmpiricalNTK(module, shape=shape)
    values, gradients = kernel._weighted_sums(x, y, weights)
    np.testing.assert_allclose(values, kernel(x, y) @ weights, rtol=1e-10)
    for feature in range(size):
        aside = 1e-5 * np.eye(size)[feature]
        slopes = (kernel(x + aside, y) - kernel(x - aside, y)) @ weights / 2e-5
        np.testing.assert_allclose(gradients[:, feature], slopes, rtol=1e-5, atol=1e-7)


def test_a_network_in_single_precision_is_computed_in_double():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = np.random.default_rng(0).standard_normal((3, 3))
    found = empirical_ntk(module, x)
    assert next(module.parameters()).dtype == torch.float32
    np.testing.assert_allclose(found, looped(module.double(), x, x), rtol=1e-10)
    single = empirical_ntk(module, torch.tensor(x, dtype=torch.float32))
    assert single.dtype == torch.float32


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((nn.ReLU(), np.ones((2, 3))), ValueError, "no trainable parameters"),
        ((np.tanh, np.ones((2, 3))), TypeError, "expected a torch module"),
        ((nn.Linear(3, 1), np.ones((2, 3)), np.ones((2, 2))), ValueError, "expected the same"),
        ((nn.Linear(3, 1), np.full((2, 3), np.nan)), ValueError, "x holds nan"),
        ((nn.Linear(3, 1), np.ones((0, 3))), ValueError, "at least one item"),
        ((nn.Linear(3, 1), np.ones(3)), ValueError, r"expected \(item"),
        ((nn.Linear(3, 1), np.ones((2, 4))), ValueError, r"module cannot take items of shape \(4,\): "),
        ((nn.GRU(3, 1), np.ones((2, 4, 3))), ValueError, "module gave tuple"),
    ],
)
def test_what_has_no_tangent_kernel_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        empirical_ntk(*given)
    with pytest.raises(ValueError, match=r"shape=\(2, 2\) takes 4 numbers and an item has 3"):
        EmpiricalNTK(nn.Linear(2, 1), shape=(2, 2))(np.ones((2, 3)))
