"""Losses on the path: closed forms, a dense integral as the independent check, finite differences, padding."""

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from torch.autograd import gradcheck, gradgradcheck

from timelike.align.layers.path_losses import MaxError, Positions, TimeDev, TimeErr, WarpMSE

LOSSES = [TimeErr(), TimeDev(), MaxError(), MaxError(squared=True), WarpMSE()]
TIMED = [TimeErr(), TimeDev()]
values = st.floats(-100, 100, allow_subnormal=False)


def row(*numbers):
    return torch.tensor([numbers], dtype=torch.float64)


def warps(seed, batch=3, knots=7):
    rng = np.random.default_rng(seed)
    phi, truth = (torch.tensor(np.sort(rng.uniform(0, 10, (batch, knots)))) for _ in range(2))
    times = torch.tensor(np.cumsum(rng.uniform(0.2, 2, (batch, knots)), axis=1))
    return phi, truth, times


def integral(error, times, power, points=200_001):
    """Midpoint rule on the piecewise linear error: knows nothing of the formula for crossings."""
    edges = np.linspace(times[0], times[-1], points)
    middles = (edges[1:] + edges[:-1]) / 2
    return (np.abs(np.interp(middles, times, error)) ** power).mean()


@pytest.mark.parametrize("seed", range(20))
def test_time_err_and_time_dev_are_the_integrals_of_the_paper(seed):
    phi, truth, times = warps(seed)
    err, dev = TimeErr()(phi, truth, times), TimeDev()(phi, truth, times)
    for i in range(len(phi)):
        error = (phi[i] - truth[i]).numpy()
        assert float(err[i]) == pytest.approx(integral(error, times[i].numpy(), 1), rel=1e-6)
        assert float(dev[i]) == pytest.approx(np.sqrt(integral(error, times[i].numpy(), 2)), rel=1e-6)


def test_crossing_warps_are_not_integrated_by_the_trapezoid():
    phi, truth = row(0, 3), row(1, 0)  # they differ by −1 and by 3, and cross after a quarter of the time
    assert float(TimeErr()(phi, truth)) == pytest.approx((0.25 * 1 + 0.75 * 3) / 2, rel=1e-15)
    assert float(TimeDev()(phi, truth)) == pytest.approx(np.sqrt((1 - 3 + 9) / 3), rel=1e-15)


def test_a_constant_shift_is_its_size_in_every_loss():
    _, truth, times = warps(0)
    for shift in (-2.5, 0.25):
        for loss, expected in zip(LOSSES, [abs(shift)] * 3 + [shift**2] * 2, strict=True):
            found = loss(truth + shift, truth, times)
            assert found.shape == (3,)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(arrays(np.float64, (2, 6), elements=values), arrays(np.float64, (2, 6), elements=values))
def test_time_err_is_at_most_time_dev_is_at_most_the_largest_error(phi, truth):
    phi, truth = torch.tensor(phi), torch.tensor(truth)
    err, dev, largest = (loss(phi, truth) for loss in (TimeErr(), TimeDev(), MaxError()))
    assert (err <= dev * (1 + 1e-12) + 1e-12).all()
    assert (dev <= largest * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("loss", TIMED)
def test_knots_added_on_the_lines_change_nothing(loss):
    phi, truth, times = warps(3)
    where = torch.cat([times, (times[:, 1:] + 2 * times[:, :-1]) / 3], dim=1).sort(dim=1).values
    more = [
        torch.tensor(np.stack([np.interp(w, t, v) for w, t, v in zip(where, times, one, strict=True)]))
        for one in (phi, truth)
    ]
    np.testing.assert_allclose(loss(*more, where), loss(phi, truth, times), rtol=1e-12)


@pytest.mark.parametrize("loss", TIMED)
def test_only_the_shape_of_time_matters_not_its_unit_or_origin(loss):
    phi, truth, times = warps(4)
    np.testing.assert_allclose(loss(phi, truth, 1e6 + 60 * times), loss(phi, truth, times), rtol=1e-8)
    torch.testing.assert_close(loss(phi, truth), loss(phi, truth, torch.arange(7)))
    torch.testing.assert_close(loss(phi, truth, times[0]), loss(phi, truth, times[:1].expand(3, -1)))


def test_dates_in_float64_do_not_collapse_beside_warps_in_float32():
    phi, truth, _ = warps(5)
    dates = 1.7e9 + torch.arange(7, dtype=torch.float64)
    expected = TimeErr()(phi, truth)
    found = TimeErr()(phi.float(), truth.float(), dates)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_gradients_agree_with_finite_differences(loss, seed):
    phi, truth, times = (v.requires_grad_() for v in warps(seed))
    lengths = torch.tensor([7, 4, 5])
    assert gradcheck(lambda p, t: loss(p, t, times, lengths), (phi, truth))
    assert gradgradcheck(lambda p, t: loss(p, t, times.detach(), lengths), (phi, truth))
    if loss in TIMED:
        assert gradcheck(lambda t: loss(phi.detach(), truth.detach(), t, lengths), (times,))


def test_the_gradient_is_smooth_where_one_end_has_no_error():
    phi = row(0, 1, 2).requires_grad_()
    assert gradcheck(lambda p: TimeErr()(p, row(0, 1, 5)), (row(0.5, 1, 2).requires_grad_(),))
    TimeErr()(phi, row(0, 1, 5)).sum().backward()  # at the middle knot: from the left nothing, from the right −½
    np.testing.assert_allclose(phi.grad, [[0, -0.25, -0.25]])


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_warps_cost_nothing_and_pull_nowhere(loss):
    phi = row(0, 1, 2).requires_grad_()
    cost = loss(phi, row(0, 1, 2))
    cost.sum().backward()
    assert cost.item() == 0
    assert (phi.grad == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e140])
def test_tiny_and_huge_errors_have_finite_gradients(loss, size):
    phi = (row(0, 1, -1) * size).requires_grad_()
    cost = loss(phi, row(0, 0, 0))
    cost.sum().backward()
    assert torch.isfinite(cost).all()
    assert torch.isfinite(phi.grad).all()
    if isinstance(loss, TimeErr):
        assert cost.item() == pytest.approx(size / 2, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("filling", [0.0, 1e9, float("nan"), float("inf")])
def test_padding_changes_no_value_and_no_gradient(loss, filling):
    phi, truth, times = warps(6)
    lengths = torch.tensor([7, 7, 7])
    pad = torch.full((3, 4), filling, dtype=torch.float64)
    plain = [v.clone().requires_grad_() for v in (phi, truth, times)]
    padded = [torch.cat([v, pad], dim=1).requires_grad_() for v in (phi, truth, times)]
    weights = torch.tensor([1.0, -2.0, 3.0])
    one, other = loss(*plain), loss(*padded, lengths)
    torch.testing.assert_close(one, other, rtol=1e-14, atol=0)
    (one * weights).sum().backward()
    (other * weights).sum().backward()
    for a, b in zip(plain, padded, strict=True):
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad[:, :7], rtol=1e-14, atol=0)
            assert (b.grad[:, 7:] == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_batch_is_its_pairs_one_by_one(loss):
    phi, truth, times = warps(7)
    lengths = torch.tensor([7, 3, 5])
    together = loss(phi, truth, times, lengths)
    for i, n in enumerate(lengths.tolist()):
        alone = loss(phi[i : i + 1, :n], truth[i : i + 1, :n], times[i : i + 1, :n])
        torch.testing.assert_close(together[i : i + 1], alone)


@pytest.mark.parametrize("loss", LOSSES)
def test_inputs_and_incoming_gradients_stay_as_they_were(loss):
    given = warps(8)
    kept = [v.clone() for v in given]
    phi = given[0].requires_grad_()
    incoming = torch.ones(3, dtype=torch.float64)
    loss(phi, *given[1:]).backward(incoming)
    assert (incoming == 1).all()
    for a, b in zip(given, kept, strict=True):
        assert torch.equal(a, b)


def test_equal_largest_errors_share_the_gradient():
    phi = row(1, 0, -1).requires_grad_()
    MaxError()(phi, row(0, 0, 0)).sum().backward()
    np.testing.assert_allclose(phi.grad, [[0.5, 0, -0.5]])


def test_the_largest_error_through_places_is_a_distance_on_the_ground():
    road = torch.tensor([[[0.0, 0.0], [3.0, 4.0], [3.0, 14.0]]], dtype=torch.float64)
    phi, truth = row(0, 1, 1.5), row(0, 0, 1.5)
    assert float(MaxError()(phi, truth, through=Positions(road))) == pytest.approx(5)
    beside = Positions(road)(truth) + torch.tensor([0.0, 1.0])  # where x was, a metre beside y's way
    found = MaxError(squared=True)(phi, beside, through=Positions(road))
    assert float(found) == pytest.approx(3**2 + 3**2)


def test_places_have_gradients_in_time_and_in_space():
    rng = np.random.default_rng(9)
    road = torch.tensor(rng.standard_normal((3, 8, 2))).requires_grad_()
    phi, truth, _ = warps(9)
    phi.requires_grad_()
    count = torch.tensor([8, 5, 8])
    y_times = torch.tensor(np.cumsum(rng.uniform(0.5, 2, (3, 8)), axis=1))
    for squared in (False, True):
        loss = MaxError(squared=squared)
        assert gradcheck(lambda p, r, loss=loss: loss(p, truth, through=Positions(r, y_times, count)), (phi, road))


@given(arrays(np.float64, 9, elements=values), arrays(np.float64, 5, elements=st.floats(-3, 12)))
def test_positions_are_those_of_numpys_interpolation(recorded, asked):
    at = np.arange(9) ** 1.5
    found = Positions(torch.tensor(recorded)[None], torch.tensor(at))(torch.tensor(asked)[None])
    np.testing.assert_allclose(found[0], np.interp(asked, at, recorded), rtol=1e-9, atol=1e-9)


def test_positions_never_look_into_the_padding():
    recorded = torch.tensor([[0.0, 1.0, 5.0, float("nan")], [0.0, 1.0, 5.0, 7.0]])
    found = Positions(recorded, lengths=torch.tensor([3, 4]))(torch.tensor([[1.5, 2.0, 9.0], [1.5, 2.0, 9.0]]))
    np.testing.assert_allclose(found, [[3, 5, 5], [3, 5, 7]])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"phi": torch.arange(6).reshape(2, 3)}, TypeError, "phi has dtype torch.int64.*phi.float()"),
        ({"phi": [[0.0, 1.0, 2.0]]}, TypeError, "phi is a list: expected a torch tensor"),
        ({"phi": torch.zeros(3)}, ValueError, r"phi has shape \(3,\).*unsqueeze"),
        ({"phi": torch.zeros(2, 0)}, ValueError, r"phi has shape \(2, 0\)"),
        ({"truth": torch.zeros(2, 4)}, ValueError, r"truth has shape \(2, 4\) and phi \(2, 3\)"),
        ({"truth": torch.zeros(2, 3, 2)}, ValueError, r"truth has shape \(2, 3, 2\)"),
        ({"phi": torch.tensor([[0, 1, 2], [0, float("nan"), 2]])}, ValueError, "phi is nan at knot 1 of pair 1"),
        ({"lengths": torch.tensor([3, 4])}, ValueError, r"lengths\[1\] is 4: expected . to 3"),
        ({"lengths": torch.tensor([0, 3])}, ValueError, r"lengths\[0\] is 0"),
        ({"lengths": torch.tensor([3])}, ValueError, r"lengths is int64 of shape \(1,\): expected 2 integers"),
        ({"lengths": torch.tensor([3.0, 3.0])}, ValueError, "lengths is float32 of shape"),
        ({"times": torch.tensor([0.0, 2.0, 2.0])}, ValueError, "times is 2 after 2 at knot 2 of pair 0"),
        ({"times": torch.tensor([[0.0, 1, 2], [0, 3, 1]])}, ValueError, "times is 1 after 3 at knot 2 of pair 1"),
        ({"times": torch.tensor([0.0, 1.0, float("nan")])}, ValueError, "times is nan after 1"),
        ({"times": torch.tensor([-float("inf"), 1.0, 2.0])}, ValueError, "times is -inf at knot 0"),
        ({"times": torch.zeros(4)}, ValueError, r"times has shape \(4,\): expected \(3,\) or \(2, 3\)"),
        ({"times": [0.0, 1.0, 2.0]}, TypeError, "times is a list"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(loss, change, error, says):
    given = {"phi": torch.zeros(2, 3), "truth": torch.zeros(2, 3)} | change
    with pytest.raises(error, match=says):
        loss(**given)


def test_one_knot_has_no_time_to_integrate_over():
    for loss in TIMED:
        with pytest.raises(ValueError, match="phi has 1 knot: expected 2 or more"):
            loss(row(1), row(0))
        with pytest.raises(ValueError, match=r"lengths\[0\] is 1: expected 2 to 3"):
            loss(row(1, 2, 3), row(0, 0, 0), lengths=torch.tensor([1]))
    assert float(WarpMSE()(row(2), row(0))) == 4
    assert float(MaxError()(row(2), row(0))) == 2


def test_places_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"truth has shape \(1, 3, 2\) and through\(phi\) \(1, 3\)"):
        MaxError()(row(0, 1, 2), torch.zeros(1, 3, 2), through=Positions(row(0, 1, 2)))
    with pytest.raises(ValueError, match=r"through\(phi\) has shape \(3,\)"):
        MaxError()(row(0, 1, 2), row(0, 1, 2), through=lambda t: t[0])
    with pytest.raises(ValueError, match=r"values has shape \(3,\)"):
        Positions(torch.zeros(3))
    with pytest.raises(ValueError, match=r"t has shape \(2, 3\).*1 sequences"):
        Positions(row(0, 1, 2))(torch.zeros(2, 3))


@pytest.mark.parametrize("loss", [TimeErr(), TimeDev(), MaxError()])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_huge_errors_have_the_value_of_small_ones_in_another_unit(loss, size):
    phi, truth, times = warps(3)
    small, far = loss(phi, truth, times), 1e20 * times
    torch.testing.assert_close(loss(size * phi, size * truth, far) / size, small, rtol=1e-12, atol=0)
    on_the_ground = {"through": lambda t: torch.stack([t, 0.5 * t], dim=-1)} if isinstance(loss, MaxError) else {}
    if on_the_ground:
        found = loss(size * phi, size * truth, **on_the_ground) / size
        torch.testing.assert_close(found, loss(phi, truth, **on_the_ground), rtol=1e-12, atol=0)


@pytest.mark.parametrize("loss", [WarpMSE(), MaxError(squared=True)])
def test_a_square_that_no_float_holds_is_refused_by_name(loss):
    phi, truth, _ = warps(3)
    with pytest.raises(
        ValueError, match=f"the {type(loss).__name__} of pair 0 is too large for torch.float64: give both"
    ):
        loss(1e300 * phi, truth)
    with pytest.raises(ValueError, match="of pair 0 is too large for torch.float32"):
        loss(1e30 * phi.float(), truth.float())
