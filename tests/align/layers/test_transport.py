"""Transport layers: values of the aligners, gradients of finite differences, padding that does not matter."""

import math

import numpy as np
import pytest
import torch

import timelike as tl
from timelike import nn

SOFT = [
    nn.Sinkhorn(),
    nn.OPW(),
    nn.TCOT(),
    nn.OPW(inverse_difference=1.0, cost="euclidean"),
    nn.Sinkhorn(cost="manhattan"),
]
N, M = torch.tensor([6, 3, 1]), [4, 4, 2]


def batch(seed=0, dtype=torch.float64, grad=True):
    made = torch.Generator().manual_seed(seed)
    sides = (torch.randn(3, time, 2, generator=made, dtype=torch.float64).to(dtype) for time in (6, 4))
    return tuple(side.requires_grad_(grad) for side in sides)


def padded(side, lengths, fill, extra=2):
    """The same steps with more padding, all of it `fill`."""
    more = torch.full((len(side), side.shape[1] + extra, side.shape[2]), fill, dtype=side.dtype)
    for item, length in enumerate(torch.as_tensor(lengths).tolist()):
        more[item, :length] = side[item, :length].detach()
    return more.requires_grad_()


@pytest.mark.parametrize("layer", SOFT, ids=repr)
def test_cost_and_plan_have_the_gradients_of_finite_differences(layer):
    x, y = batch()
    assert torch.autograd.gradcheck(lambda a, b: tuple(layer(a, b, N, M)), (x, y))


@pytest.mark.parametrize("cost", tl.native.COSTS)
def test_the_cost_of_exact_transport_has_the_gradient_of_finite_differences(cost):
    x, y = batch()
    layer = nn.OT(cost=cost)
    assert torch.autograd.gradcheck(lambda a, b: layer(a, b, N, M).cost, (x, y))
    assert not layer(x, y).plan.requires_grad


@pytest.mark.parametrize("layer", [*SOFT, nn.OT()], ids=repr)
def test_values_are_those_of_the_aligner(layer):
    x, y = batch(grad=False)
    found = layer(x, y, N, M)
    for item, (n, m) in enumerate(zip(N, M, strict=True)):
        expected = layer.aligner.align(x[item, :n].numpy(), y[item, :m].numpy())
        assert found.cost[item].item() == pytest.approx(expected.cost, abs=1e-11)
        np.testing.assert_allclose(found.plan[item, :n, :m], expected.plan, atol=1e-11)
        assert found.plan[item].sum().item() == pytest.approx(1)


@pytest.mark.parametrize("fill", [0.0, 1e6, math.inf, math.nan])
@pytest.mark.parametrize("layer", [nn.Sinkhorn(), nn.OPW(), nn.TCOT(), nn.OT()], ids=repr)
def test_padding_changes_no_value_and_no_gradient(layer, fill):
    x, y = batch()
    weights = torch.randn(3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def run(x, y):
        found = layer(x, y, N, M)
        (found.cost.sum() + (found.plan[:, :6, :4] * weights).sum()).backward()
        return found, x.grad, y.grad

    plain, x_grad, y_grad = run(x, y)
    more, more_x, more_y = run(padded(x, N, fill), padded(y, M, fill))
    assert torch.equal(plain.cost, more.cost)
    assert torch.equal(plain.plan, more.plan[:, :6, :4])
    assert more.plan[:, 6:].eq(0).all()
    assert more.plan[:, :, 4:].eq(0).all()
    assert torch.equal(x_grad, more_x[:, :6])
    assert torch.equal(y_grad, more_y[:, :4])
    assert more_x[:, 6:].eq(0).all()
    assert more_x[1, 3:].eq(0).all()


@pytest.mark.parametrize("layer", [nn.Sinkhorn(), nn.OT()], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_dtype_that_comes_is_the_dtype_that_goes(layer, dtype):
    x, y = batch(dtype=dtype)
    found = layer(x, y)
    found.cost.sum().backward()
    assert found.cost.dtype == found.plan.dtype == x.grad.dtype == dtype
    exact = layer(x.detach().double(), y.detach().double())
    torch.testing.assert_close(found.cost, exact.cost.to(dtype), rtol=0, atol=0)


def test_neither_inputs_nor_incoming_gradients_are_changed():
    x, y = batch()
    held = x.detach().clone(), y.detach().clone()
    found = nn.OPW()(x, y, N, M)
    for_cost, for_plan = torch.ones_like(found.cost), torch.randn_like(found.plan)
    kept = for_cost.clone(), for_plan.clone()
    torch.autograd.backward([found.cost, found.plan], [for_cost, for_plan])
    for before, after in zip((*held, *kept), (x, y, for_cost, for_plan), strict=True):
        assert torch.equal(before, after)


def test_gradients_are_finite_with_equal_frames_and_little_entropy():
    x = torch.zeros(1, 5, 2, requires_grad=True)
    for layer in (
        nn.Sinkhorn(cost="euclidean"),
        nn.OPW(regularization=1e-4),
        nn.Sinkhorn(regularization=1e-4),
        nn.OT(cost="euclidean"),
    ):
        found = layer(x, torch.ones(1, 4, 2).cumsum(1) * 1e3)
        (grad,) = torch.autograd.grad(found.cost.sum() + found.plan.square().sum(), x)
        assert torch.isfinite(grad).all()
        same = layer(x, torch.zeros(1, 4, 2))
        (grad,) = torch.autograd.grad(same.cost.sum(), x)
        assert torch.isfinite(grad).all()


def test_a_loss_on_the_plan_can_be_descended():
    x, y = batch()
    wanted = torch.eye(6, 4, dtype=torch.float64)[None] / 4
    layer, optimizer = nn.Sinkhorn(regularization=0.5), torch.optim.Adam([x], lr=0.05)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = (layer(x, y).plan - wanted).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_layers_without_kernels_give_the_same(monkeypatch):
    x, y = batch()
    found = nn.OPW()(x, y, N, M)
    expected = torch.autograd.grad(found.cost.sum() + found.plan.square().sum(), x)[0]
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    again = nn.OPW()(x, y, N, M)
    torch.testing.assert_close(again.plan, found.plan, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(again.cost.sum() + again.plan.square().sum(), x)[0], expected, rtol=1e-8, atol=1e-9
    )


def test_a_plan_that_is_not_there_yet_is_told_with_its_item():
    x, y = batch(grad=False)
    with pytest.warns(RuntimeWarning, match="the plan of item 0 misses its marginals by"):
        nn.OPW(max_iter=1, regularization=0.01)(x[:1], y[:1])


X = torch.zeros(2, 5, 3)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((X.numpy(), X), TypeError, "x is a ndarray: expected a torch tensor"),
        ((X[0], X), ValueError, r"x has shape \(5, 3\): expected \(item, time, channel\)"),
        ((X, X[:, :0]), ValueError, r"y has shape \(2, 0, 3\)"),
        ((X.long(), X), TypeError, r"x is int64: expected floating point numbers; x.float\(\)"),
        ((X, X[:1]), ValueError, "x and y differ in items, 2 and 1"),
        ((X, X[..., :2]), ValueError, "x and y differ in channels, 3 and 2"),
        ((X, X.double()), ValueError, "x and y differ in dtype, float32 and float64"),
        ((X, X.to("meta")), ValueError, "x and y differ in device, cpu and meta"),
        ((X, X, [5, 6]), ValueError, r"x_lengths\[1\] is 6: expected 1 to 5"),
        ((X, X, None, [0, 5]), ValueError, r"y_lengths\[0\] is 0: expected 1 to 5"),
        ((X, X, [5.0, 5.0]), ValueError, "x_lengths is float64"),
        ((X, X, [5]), ValueError, r"of shape \(1,\): expected 2 integers"),
        ((X / 0, X), ValueError, r"x\[0, 0, 0\] is nan: expected finite numbers"),
        ((X.double() + 1e200, X.double()), ValueError, "too large"),
    ],
)
def test_a_wrong_batch_is_refused_with_the_argument_and_the_way_out(given, error, message):
    with pytest.raises(error, match=message):
        nn.Sinkhorn()(*given)


@pytest.mark.parametrize(
    ("layer", "option", "value"),
    [
        (nn.Sinkhorn, "regularization", 0.0),
        (nn.OPW, "deviation", math.inf),
        (nn.TCOT, "weight", -1.0),
        (nn.OT, "cost", "dot"),
    ],
)
def test_an_option_out_of_range_is_named(layer, option, value):
    with pytest.raises(ValueError, match=f"{option}=.*expected"):
        layer(**{option: value})


def test_a_layer_prints_its_options():
    assert repr(nn.OPW(deviation=2.0)) == "OPW(deviation=2.0)"
