"""Modules of soft-DTW, on both executors, against sums over all paths, finite differences and tslearn."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import timelike as tl
from naive import soft_dtw as naive


def batch(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.usefixtures("executor")
class TestTheModule:
    @pytest.mark.parametrize("divergence", [False, True])
    def test_it_is_the_soft_minimum_over_all_paths(self, divergence):
        x, y = batch(3, 4, 2), batch(3, 5, 2, seed=1)
        found = tl.nn.SoftDTW(0.6, divergence=divergence)(x, y)
        for i in range(3):
            value = naive.expected(naive.costs(x[i].numpy(), y[i].numpy()), 0.6)[0]
            if divergence:
                value -= sum(naive.expected(naive.costs(s, s), 0.6)[0] / 2 for s in (x[i].numpy(), y[i].numpy()))
            assert found[i].item() == pytest.approx(value, rel=1e-12)

    @pytest.mark.parametrize("options", [{}, {"divergence": True}, {"window": 2}, {"band": "slanted", "window": 0.3}])
    def test_first_and_second_derivatives_are_those_of_finite_differences(self, options):
        x, y = batch(2, 4, 1).requires_grad_(), batch(2, 5, 1, seed=1).requires_grad_()
        lengths = torch.tensor([4, 3]), [5, 4]
        loss = tl.nn.SoftDTW(0.8, **options)
        assert gradcheck(lambda x, y: loss(x, y, *lengths), (x, y))
        assert gradgradcheck(lambda x, y: loss(x, y, *lengths), (x, y))

    def test_the_alignment_is_expected_over_all_paths_and_has_a_gradient(self):
        x, y = batch(2, 4, 2).requires_grad_(), batch(2, 5, 2, seed=1).requires_grad_()
        loss = tl.nn.SoftDTW(0.8)
        found = loss.alignment(x, y)
        for i in range(2):
            share = naive.expected(naive.costs(x[i].detach().numpy(), y[i].detach().numpy()), 0.8)[1]
            np.testing.assert_allclose(found[i].detach(), share, atol=1e-13)
        assert gradcheck(loss.alignment, (x, y))

    @pytest.mark.parametrize("filler", [0.0, 7.0, float("nan"), float("inf")])
    @pytest.mark.parametrize("divergence", [False, True])
    def test_padding_never_changes_a_value_or_a_gradient(self, filler, divergence):
        loss, lengths = tl.nn.SoftDTW(0.5, divergence=divergence), [3, 5, 1]
        x, y = batch(3, 5, 2), batch(3, 4, 2, seed=1)
        wide = torch.full((3, 9, 2), filler, dtype=torch.float64)
        for i, length in enumerate(lengths):
            wide[i, :length] = x[i, :length]
        wide.requires_grad_()
        found = loss(wide, y, lengths)
        found.sum().backward()
        for i, length in enumerate(lengths):
            alone = x[i : i + 1, :length].clone().requires_grad_()
            value = loss(alone, y[i : i + 1])
            value.sum().backward()
            assert found[i] == value[0]
            assert torch.equal(wide.grad[i, :length], alone.grad[0])
            assert not wide.grad[i, length:].any()

    def test_without_softness_it_is_dtw(self):
        x, y = batch(4, 12, 2), batch(4, 9, 2, seed=1)
        exact = [tl.DTW().distance(a.numpy(), b.numpy()) for a, b in zip(x, y, strict=True)]
        for gamma in (1e-7, 1e-300, 5e-324):
            found = tl.nn.SoftDTW(gamma)(x, y)
            np.testing.assert_allclose(found, exact, rtol=1e-5)
            assert torch.isfinite(found).all()

    def test_with_great_softness_all_paths_count_the_same(self):
        x, y = batch(1, 4, 1), batch(1, 5, 1, seed=1)
        found = tl.nn.SoftDTW(1e9)(x, y)
        n_paths = len(list(naive.paths(4, 5)))
        assert found.item() == pytest.approx(-1e9 * np.log(n_paths), rel=1e-8)

    @pytest.mark.parametrize("gamma", [1e-30, 1e-3, 1.0, 1e3, 1e30])
    def test_float32_survives_any_softness(self, gamma):
        x = batch(2, 20, 3, dtype=torch.float32).requires_grad_()
        tl.nn.SoftDTW(gamma)(x, batch(2, 18, 3, seed=1, dtype=torch.float32)).sum().backward()
        assert torch.isfinite(x.grad).all()

    def test_one_step_against_one_step_is_their_cost(self):
        x, y = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[4.0, 6.0]]])
        assert tl.nn.SoftDTW()(x, y).tolist() == [25.0]

    def test_the_divergence_of_equals_is_exactly_zero_and_flat(self):
        for x in (batch(3, 7, 2), torch.ones(3, 7, 2, dtype=torch.float64)):
            x = x.clone().requires_grad_()
            found = tl.nn.SoftDTW(0.5, divergence=True)(x, x.detach())
            found.sum().backward()
            assert found.tolist() == [0.0] * 3
            assert x.grad.abs().max() < 1e-13

    def test_inputs_and_incoming_gradients_are_left_alone(self):
        x, y, weights = batch(2, 5, 2), batch(2, 4, 2, seed=1), batch(2, seed=2)
        before = [t.clone() for t in (x, y, weights)]
        given = x.requires_grad_()
        out = tl.nn.SoftDTW()(given, y, [5, 3])
        torch.autograd.grad(out, given, weights, retain_graph=True)
        first = torch.autograd.grad(out, given, weights, retain_graph=True)[0]
        assert torch.equal(first, torch.autograd.grad(out, given, weights)[0])
        matrix = tl.nn.SoftDTW().alignment(given, y)
        matrix.backward(torch.ones_like(matrix))
        for now, then in zip((x, y, weights), before, strict=True):
            assert torch.equal(now.detach(), then)

    def test_half_precision_is_computed_in_single(self):
        x, y = batch(2, 6, 2, dtype=torch.float16).requires_grad_(), batch(2, 6, 2, seed=1, dtype=torch.float16)
        found = tl.nn.SoftDTW()(x, y)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, tl.nn.SoftDTW()(x.float(), y.float()))
        found.sum().backward()
        assert x.grad.dtype == torch.float16

    def test_an_empty_batch_gives_no_values(self):
        assert tl.nn.SoftDTW()(torch.empty(0, 4, 2), torch.empty(0, 3, 2)).shape == (0,)

    def test_what_does_not_fit_is_refused_by_name(self):
        x, y = torch.zeros(2, 4, 3), torch.zeros(2, 5, 3)
        loss = tl.nn.SoftDTW(window=1)
        hole = x.clone()
        hole[1, 2, 0] = torch.nan
        for error, message, call in (
            (TypeError, "x is int64: expected floating", lambda: loss(x.long(), y)),
            (TypeError, "y is a ndarray: expected a torch tensor", lambda: loss(x, y.numpy())),
            (ValueError, "x and y differ in dtype, float32 and float64", lambda: loss(x, y.double())),
            (ValueError, "x and y differ in device, cpu and meta", lambda: loss(x, y.to("meta"))),
            (ValueError, r"x has shape \(2, 4\): expected \(item, time, channel\)", lambda: loss(x[..., 0], y)),
            (ValueError, "x and y differ in items, 2 and 1", lambda: loss(x, y[:1])),
            (ValueError, "x and y differ in channels, 3 and 2", lambda: loss(x, y[..., :2])),
            (ValueError, "with steps and channels", lambda: loss(x[:, :0], y)),
            (ValueError, r"x\[1, 2, 0\] is nan: .*give x_lengths", lambda: loss(hole, y)),
            (ValueError, r"y_lengths\[1\] is 6: expected 1 to 5", lambda: loss(x, y, None, [5, 6])),
            (ValueError, r"x_lengths\[0\] is 0", lambda: loss(x, y, torch.tensor([0, 1]))),
            (ValueError, r"x_lengths is int64 of shape \(1,\): expected 2 integers", lambda: loss(x, y, [3])),
            (ValueError, "x_lengths is float64 of shape", lambda: loss(x, y, [1.5, 2.0])),
            (ValueError, "window=1 admits no path between lengths 4 and 2", lambda: loss(x, y, None, [5, 2])),
            (ValueError, "too large for torch.float32", lambda: loss(x + 1e30, y)),
        ):
            with pytest.raises(error, match=message):
                call()
        assert loss(hole, y, [4, 2], [4, 3]).tolist() == loss(x, y, [4, 2], [4, 3]).tolist()

    def test_dilate_weighs_the_alignment(self):
        x, y = batch(2, 4, 1).requires_grad_(), batch(2, 5, 1, seed=1)
        found = tl.nn.DILATE(alpha=0.3, gamma=0.5)(x, y)
        distance = (np.arange(4)[:, None] - np.arange(5)) ** 2 / 20
        for i in range(2):
            value, share = naive.expected(naive.costs(x[i].detach().numpy(), y[i].numpy()), 0.5)
            assert found[i].item() == pytest.approx(0.3 * value + 0.7 * (share * distance).sum())
        omega = batch(2, 4, 5, seed=3)
        loss = tl.nn.DILATE(alpha=0.3, gamma=0.5)
        assert gradcheck(lambda x, omega: loss(x, y, omega, [4, 3], [5, 4]), (x, omega.requires_grad_()))
        assert gradcheck(lambda x: loss(x, y, omega[0].detach()), (x,))

    def test_dilate_is_not_changed_by_padding(self):
        x, y, omega = batch(1, 4, 1), batch(1, 5, 1, seed=1), batch(1, 4, 5, seed=2)
        wide = torch.nn.functional.pad(x, (0, 0, 0, 3), value=torch.nan)
        priced = torch.nn.functional.pad(omega, (0, 0, 0, 3), value=torch.inf)
        loss = tl.nn.DILATE()
        assert loss(x, y).item() == pytest.approx(loss(wide, y, x_lengths=[4]).item(), rel=1e-14)
        assert loss(x, y, omega).item() == pytest.approx(loss(wide, y, priced, [4]).item(), rel=1e-14)
        with pytest.raises(ValueError, match=r"omega has shape \(1, 4, 5\): expected \(1, 7, 5\)"):
            loss(wide, y, omega, [4])
        with pytest.raises(ValueError, match="omega has nan or inf within the lengths"):
            loss(x, y, omega * torch.nan)


def test_other_options_are_checked():
    with pytest.raises(TypeError, match="divergence=1: expected True or False"):
        tl.nn.SoftDTW(divergence=1)
    with pytest.raises(ValueError, match="alpha=2: expected a finite number at least 0 and at most 1"):
        tl.nn.DILATE(alpha=2)
    with pytest.raises(TypeError, match="omega is a list"):
        tl.nn.DILATE()(batch(1, 2, 1), batch(1, 2, 1), [[1.0]])
    assert repr(tl.nn.SoftDTW(0.5)) == "SoftDTW(gamma=0.5, window=None, band='sakoe', divergence=False)"
    assert repr(tl.nn.DILATE()) == "DILATE(alpha=0.5, gamma=0.01, window=None, band='sakoe')"


def test_a_third_derivative_is_refused():
    x = batch(1, 3, 1).requires_grad_()
    (first,) = torch.autograd.grad(tl.nn.SoftDTW()(x, batch(1, 3, 1, seed=1)).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no further derivative"):
        torch.autograd.grad(first.pow(2).sum(), x, create_graph=True)


def test_the_module_gives_what_tslearn_gives():
    metrics = pytest.importorskip("tslearn.metrics")
    x, y = batch(3, 6, 2).requires_grad_(), batch(3, 5, 2, seed=1)
    found = tl.nn.SoftDTW(0.7)(x, y)
    # of its two backends the one that needs no compiling, which takes 20 seconds
    peer = torch.stack([metrics.soft_dtw(a, b, gamma=0.7, be="pytorch") for a, b in zip(x, y, strict=True)])
    torch.testing.assert_close(found, peer, rtol=1e-12, atol=1e-12)
    for ours, theirs in zip(torch.autograd.grad(found.sum(), x), torch.autograd.grad(peer.sum(), x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
