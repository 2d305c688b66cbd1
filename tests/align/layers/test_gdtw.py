"""The warp as a layer: gradients that finite differences agree with, ragged batches, and inputs left alone."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

import timelike as tl
from align.warp_coincidences import drawn
from align.warp_differences import compared as compared_everywhere
from align.warp_problems import problems, solved

torch.set_num_threads(1)
INPUTS = ("x", "y", "regularization", "slope_min", "slope_max", "bound_min", "bound_max")
PINS = {1: "bound from below", 2: "bound from above", 3: "kink", 4: "end", 5: "crossing"}
GLUES = {-1: "smallest slope", 1: "largest slope"}


def tensors(p):
    """The problem as the layer's inputs, times 0 to 1."""
    given = {"x": p.x, "y": p.y, "regularization": p.lam, "slope_min": p.s_min, "slope_max": p.s_max}
    given |= {"bound_min": p.b_min, "bound_max": p.b_max}
    return {name: torch.tensor(value)[None] for name, value in given.items()}


def warped(p, given, **options):
    slope = given["slope_min"], given["slope_max"]
    bounds = given["bound_min"], given["bound_max"]
    layer = tl.nn.DecDTW(
        regularization=given["regularization"], slope=slope, bounds=bounds, subsequence=p.free, **options
    )
    return layer(given["x"], given["y"], x_times=torch.tensor(p.t), y_times=torch.tensor(p.tau))


class Check:
    """A random linear functional of φ and the objective, its gradient, and central differences along one direction."""

    def __init__(self, p, name, rng, **options):
        self.p, self.name, self.options = p, name, options
        self.given = tensors(p)
        self.weights = torch.tensor(rng.normal(size=len(p.x)))
        self.direction = torch.tensor(rng.normal(size=self.given[name].shape))
        if name == "regularization":
            self.direction = self.direction * self.given[name]
        if name.startswith("bound"):  # y's own ends bound the warp as well: a bound there has two slopes
            self.direction[(self.given[name] == 0) | (self.given[name] == 1)] = 0

    def value(self, step):
        moved = self.given | {self.name: self.given[self.name] + step * self.direction}
        found = warped(self.p, moved, **self.options)
        return (found.phi[0] @ self.weights + 0.3 * found.objective[0]).item()

    def slope(self):
        watched = self.given | {self.name: self.given[self.name].clone().requires_grad_()}
        found = warped(self.p, watched, **self.options)
        (found.phi[0] @ self.weights + 0.3 * found.objective[0]).backward()
        return (watched[self.name].grad * self.direction).sum().item()

    def differences(self):
        """One-sided at two steps; None where constraints leave no room to move."""
        try:
            at = {step: self.value(step) for step in (-1e-6, -4e-7, 0.0, 4e-7, 1e-6)}
        except ValueError:
            return None
        return [(at[h] - at[0.0]) / h for h in (-1e-6, -4e-7, 4e-7, 1e-6)]


def compared(checks):
    """(agreeing, disagreeing, where the differences disagree among themselves)."""
    counts, wrong = Counter(), []
    for check in checks:
        sides = check.differences()
        if sides is None:
            continue
        middle = (sides[1] + sides[2]) / 2
        size = max(abs(middle), 1e-3)
        if max(sides) - min(sides) > 2e-3 * size:
            counts["skipped"] += 1
        elif abs(check.slope() - middle) <= 1e-3 * size:
            counts["agree"] += 1
        else:
            wrong.append((check.name, check.slope(), sides))
    return counts, wrong


@pytest.mark.parametrize("name", INPUTS)
def test_gradients_are_those_of_finite_differences(name):
    rng = np.random.default_rng(INPUTS.index(name))
    some = [p for p in problems(100, 60) if tensors(p)[name].isfinite().all()]
    counts, wrong = compared([c for c in (Check(p, name, rng) for p in some) if c.direction.any()])
    assert not wrong
    assert counts["skipped"] <= 0.1 * sum(counts.values())
    assert counts["agree"] >= 20


@pytest.mark.parametrize("penalty", ["huber", "absolute"])
def test_other_penalties_have_gradients_too(penalty):
    rng = np.random.default_rng(20)
    checks = [Check(p, name, rng, penalty=penalty, delta=0.7) for p in problems(101, 12) for name in ("x", "y")]
    counts, wrong = compared(checks)
    assert not wrong
    assert counts["agree"] >= 18


def test_the_problems_have_active_constraints_of_every_kind():
    seen = Counter()
    for p in problems(100, 60):
        found = solved(p)
        seen.update({PINS[k] for k in found.pins if k} | {GLUES[k] for k in found.glues[:-1] if k})
    assert set(seen) == {"kink", "end", "bound from below", "bound from above", "smallest slope", "largest slope"}
    assert min(seen.values()) >= 8


class TestCoincidences:
    """Problems drawn so that bounds, slopes and the steps of y meet: both one-sided differences, where they agree."""

    @pytest.mark.parametrize("native", [True, False])
    def test_gradients_are_those_of_finite_differences(self, native, monkeypatch):
        if not native:
            monkeypatch.setenv("TIMELIKE_NATIVE", "0")
        count = 100 if native else 2
        found = [one for number, p in enumerate(drawn(0, count)) for one in compared_everywhere(p, number)]
        assert not [(one.name, one.slope, one.sides) for one in found if one.verdict == "wrong"]
        if native:  # the test must not pass because nothing moves, or because nothing has a derivative
            moves, verdicts = Counter(one.name for one in found if one.moves), Counter(one.verdict for one in found)
            assert min(moves[name] for name in INPUTS) >= 10
            assert verdicts["agree"] >= 0.8 * sum(verdicts.values())
            assert verdicts["step too long"] <= 0.02 * sum(verdicts.values())

    @pytest.mark.parametrize("span", [8.0, 0.5])
    @pytest.mark.parametrize("slope", [0.0, 0.1])
    def test_every_value_on_a_bound_moves_with_it(self, slope, span):
        """y = t², x = 0: the warp stays at the least value it may have, in y's own time."""
        bound = torch.tensor(2.1 / 8 * span, dtype=torch.float64)
        x, y = torch.zeros(1, 5, 1, dtype=torch.float64), torch.arange(9.0, dtype=torch.float64)[None, :, None] ** 2
        times = torch.linspace(0, span, 9, dtype=torch.float64)

        def phi(low):
            layer = tl.nn.DecDTW(slope=(slope, 3.0), bounds=(low, 0.75 * span), subsequence=True)
            return layer(x, y, y_times=times).phi[0]

        moved = torch.autograd.functional.jacobian(phi, bound)
        torch.testing.assert_close(moved, torch.ones(5, dtype=torch.float64))
        for step in (-1e-6, 1e-6):
            torch.testing.assert_close((phi(bound + step) - phi(bound)) / step, moved, rtol=1e-5, atol=1e-5)

    def test_of_kinks_in_one_stretch_the_middle_one_holds(self):
        """y is a valley with a kink on either side, x below it: three knots as near as the smallest slope lets them."""
        slope = torch.tensor(0.6, dtype=torch.float64)  # from kink to kink: 3 of 10 in half of x's time
        x = torch.full((1, 3, 1), -1.0, dtype=torch.float64)
        y = torch.tensor([8.0, 4, 0, 4, 8], dtype=torch.float64)[None, :, None]
        times = torch.tensor([0.0, 2, 5, 8, 10], dtype=torch.float64)

        def phi(least):
            layer = tl.nn.DecDTW(slope=(least, 3.0), subsequence=True, regularization=0.01)
            return layer(x, y, y_times=times).phi[0]

        torch.testing.assert_close(phi(slope), torch.tensor([2.0, 5.0, 8.0], dtype=torch.float64))
        moved = torch.autograd.functional.jacobian(phi, slope)
        torch.testing.assert_close(moved, torch.tensor([-5.0, 0.0, 5.0], dtype=torch.float64))
        for step in (-1e-6, 1e-6):
            torch.testing.assert_close((phi(slope + step) - phi(slope)) / step, moved, rtol=1e-5, atol=1e-5)


class TestWithoutRegularization:
    def test_it_is_the_limit_of_ever_less(self):
        torch.manual_seed(0)
        x, y = torch.randn(2, 4, 9, 1, dtype=torch.float64).cumsum(2)
        none, little = (tl.nn.DecDTW(regularization=lam)(x, y) for lam in (0.0, 1e-7))
        torch.testing.assert_close(none.objective, little.objective, rtol=1e-5, atol=1e-5)
        assert (none.objective <= little.objective).all()
        torch.testing.assert_close(none.phi, little.phi, rtol=0, atol=1e-3)

    def test_where_nothing_matters_the_warp_is_straight_and_its_gradient_zero(self):
        flat = torch.ones(1, 6, 1, dtype=torch.float64, requires_grad=True)
        strength = torch.zeros((), dtype=torch.float64, requires_grad=True)
        phi = tl.nn.DecDTW(regularization=strength)(flat, torch.zeros(1, 11, 1, dtype=torch.float64)).phi
        torch.testing.assert_close(phi.detach()[0], torch.arange(0.0, 12.0, 2.0, dtype=torch.float64))
        phi.square().sum().backward()
        assert (flat.grad == 0).all()
        assert strength.grad == 0

    @pytest.mark.parametrize("penalty", ["squared", "huber", "absolute"])
    def test_gradients_are_those_of_finite_differences(self, penalty):
        """λ itself has one side only."""
        free = [replace(p, regularization=0.0, penalty=penalty) for p in drawn(5, 12) if "noisy" in p.kinds]
        found = [
            one for number, p in enumerate(free) for one in compared_everywhere(p, number, INPUTS[:2] + INPUTS[3:])
        ]
        assert not [(one.name, one.slope, one.sides) for one in found if one.verdict == "wrong"]
        assert sum(one.moves for one in found) >= 8

    def test_values_that_nothing_holds_leave_the_others_gradients_alone(self):
        """y stands still for its first half: where the knots there are does not matter, and all stays finite."""
        y = torch.tensor([0.0, 0, 0, 0, 1, 2, 4, 8], dtype=torch.float64)[None, :, None].requires_grad_()
        x = torch.tensor([0.0, 0, 0, 0.5, 3, 8], dtype=torch.float64)[None, :, None].requires_grad_()
        phi = tl.nn.DecDTW(regularization=0.0)(x, y).phi[0]
        slope = torch.autograd.grad(phi[4], x)[0][0, :, 0]
        torch.testing.assert_close(slope, torch.tensor([0, 0, 0, 0, 0.5, 0], dtype=torch.float64), rtol=0, atol=1e-6)


class TestBatches:
    def batch(self, lengths=((9, 4), (6, 11), (1, 5), (7, 1))):
        torch.manual_seed(0)
        x = torch.randn(len(lengths), 12, 2, dtype=torch.float64)
        y = torch.randn(len(lengths), 12, 2, dtype=torch.float64)
        return x, y, *(torch.tensor(side) for side in zip(*lengths, strict=True))

    def test_a_ragged_batch_is_a_loop(self):
        x, y, n, m = self.batch()
        layer = tl.nn.DecDTW(regularization=0.1)
        phi, objective = layer(x, y, n, m)
        for i in range(len(x)):
            one = layer(x[i : i + 1, : n[i]], y[i : i + 1, : m[i]])
            torch.testing.assert_close(phi[i, : n[i]], one.phi[0], rtol=0, atol=0)
            torch.testing.assert_close(objective[i], one.objective[0], rtol=0, atol=0)
            assert (phi[i, n[i] :] == 0).all()

    @pytest.mark.parametrize("filler", [0.0, 1e6, float("inf"), float("nan")])
    def test_padding_changes_no_value_and_no_gradient(self, filler):
        x, y, n, m = self.batch()
        results = []
        for fill in (0.5, filler):
            a, b = x.clone(), y.clone()
            for i in range(len(x)):
                a[i, n[i] :] = fill
                b[i, m[i] :] = fill
            a.requires_grad_(), b.requires_grad_()
            phi, objective = tl.nn.DecDTW(regularization=0.1)(a, b, n, m)
            (phi.sin().sum() + objective.sum()).backward()
            results.append((phi, objective, a.grad, b.grad))
        for one, two in zip(*results, strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=0)
        assert torch.isfinite(results[1][2]).all()

    def test_the_value_is_that_of_gdtw(self):
        x, y, n, m = self.batch()
        phi, objective = tl.nn.DecDTW(regularization=0.1, slope=(0.1, 5.0), subsequence=True)(x, y, n, m)
        for i in range(len(x)):
            found = tl.GDTW(regularization=0.1, slope=(0.1, 5.0), subsequence=True).align(
                x[i, : n[i]].numpy(), y[i, : m[i]].numpy()
            )
            assert float(objective[i]) == found.cost
            np.testing.assert_array_equal(phi[i, : n[i]].numpy(), found.warp.values)

    def test_neither_inputs_nor_incoming_gradients_are_changed(self):
        x, y, n, m = self.batch()
        x.requires_grad_()
        strength = torch.full((4, 11), 0.1, dtype=torch.float64, requires_grad=True)
        before = [side.detach().clone() for side in (x, y, strength)]
        phi, objective = tl.nn.DecDTW(regularization=strength)(x, y, n, m)
        incoming = torch.randn_like(phi), torch.randn_like(objective)
        kept = [side.clone() for side in incoming]
        torch.autograd.backward((phi, objective), incoming)
        for one, two in zip((x, y, strength, *incoming), (*before, *kept), strict=True):
            assert torch.equal(one.detach(), two)

    def test_numbers_per_item_per_interval_and_for_all_broadcast(self):
        x, y, *_ = self.batch(((8, 8), (8, 8), (8, 8)))
        x, y = x[:, :8], y[:, :8]
        one = tl.nn.DecDTW(regularization=0.2)(x, y).phi
        for shape in ((), (3, 1), (7,), (3, 7)):
            strength = torch.full(shape, 0.2, dtype=torch.float64)
            torch.testing.assert_close(tl.nn.DecDTW(regularization=strength)(x, y).phi, one, rtol=0, atol=0)

    def test_float32_in_float32_out_and_half_too(self):
        x, y, n, m = self.batch()
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            a = x.to(dtype).requires_grad_()
            phi, objective = tl.nn.DecDTW()(a, y.to(dtype), n, m)
            assert phi.dtype == objective.dtype == dtype
            phi.sum().backward()
            assert a.grad.dtype == dtype

    def test_learned_numbers_are_parameters(self):
        strength = torch.nn.Parameter(torch.tensor(0.5))
        layer = tl.nn.DecDTW(regularization=strength, slope=(torch.nn.Parameter(torch.tensor(0.1)), None))
        assert len(list(layer.parameters())) == 2
        x, y, n, m = self.batch()
        layer(x, y, n, m).phi.sum().backward()
        assert strength.grad is not None

    def test_degenerate_problems_have_finite_gradients(self):
        flat = torch.ones(2, 6, 1, dtype=torch.float64, requires_grad=True)
        for options in ({"subsequence": True}, {}, {"slope": (1.0, 1.0)}, {"slope": (0.5, 0.5), "subsequence": True}):
            found = tl.nn.DecDTW(**options)(flat, torch.zeros(2, 8, 1, dtype=torch.float64))
            found.phi.sum().backward()
            assert torch.isfinite(flat.grad).all()
            flat.grad = None

    def test_learning_goes_downhill(self):
        torch.manual_seed(1)
        t = torch.linspace(0, 1, 20, dtype=torch.float64)
        y = torch.stack([torch.sin(6 * t), t], 1)[None]
        x = torch.nn.Parameter(torch.stack([torch.sin(6 * t), t], 1)[None] + 0.1 * torch.randn(1, 20, 2).double())
        optimizer = torch.optim.Adam([x], lr=0.02)
        losses = []
        for _ in range(40):
            phi = tl.nn.DecDTW(regularization=0.01)(x, y).phi
            loss = (phi / 19 - t**2).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.1 * losses[0]


class TestBadInput:
    x = torch.zeros(2, 5, 1)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (
                {"regularization": -0.5},
                "regularization is -0.5 for item 0 at knot 0: expected a finite number, 0 or more",
            ),
            ({"regularization": torch.tensor([[1.0], [-1.0]])}, "regularization is -1.0 for item 1"),
            ({"regularization": torch.ones(3)}, r"regularization has shape \(3,\): .* broadcasts against \(2, 4\)"),
            ({"slope": (1.0, 0.5)}, r"slope\[1\] is 0.5 .* at least slope\[0\]"),
            ({"slope": (0.0, 0.5)}, "item 0: no warp fits: at x's time 4 .* raise the upper slope"),
            ({"bounds": (2.0, 1.0)}, r"bounds\[1\] is 1.0"),
            ({"bounds": (1.0, 3.0)}, "the ends of both sequences are matched"),
        ],
    )
    def test_constraints_that_cannot_be_are_named(self, options, words):
        with pytest.raises(ValueError, match=words):
            tl.nn.DecDTW(**options)(self.x, self.x)

    @pytest.mark.parametrize(
        ("times", "words"),
        [
            ([0.0, 1.0, 1.0, 2.0, 3.0], r"x_times\[0, 2\] is 1.0 after 1.0: expected finite times that increase"),
            ([0.0, 2.0, 1.0, 3.0, 4.0], r"x_times\[0, 2\] is 1.0 after 2.0"),
            ([0.0, float("nan"), 1.0, 3.0, 4.0], r"x_times\[0, 1\] is nan"),
            ([0.0, 1.0, 1.0 + 1e-10, 2.0, 3.0], r"x_times of sequence 0: steps 1 and 2 are 1e-10 apart"),
            ([0.0, 1.0], r"x_times is of shape \(2,\)"),
        ],
    )
    def test_times_that_do_not_increase_are_named(self, times, words):
        with pytest.raises(ValueError, match=words):
            tl.nn.DecDTW()(self.x, self.x, x_times=torch.tensor(times, dtype=torch.float64))

    def test_batches_that_do_not_fit_are_named(self):
        layer = tl.nn.DecDTW()
        with pytest.raises(TypeError, match="int64"):
            layer(self.x.long(), self.x)
        with pytest.raises(ValueError, match="channels"):
            layer(self.x, torch.zeros(2, 5, 3))
        with pytest.raises(ValueError, match=r"x_lengths\[0\] is 9"):
            layer(self.x, self.x, x_lengths=[9, 2])
        with pytest.raises(ValueError, match="nan"):
            layer(self.x * float("nan"), self.x)
        with pytest.raises(TypeError, match="regularization="):
            tl.nn.DecDTW(regularization="much")(self.x, self.x)
        with pytest.raises(ValueError, match="x_times requires gradients"):
            layer(self.x, self.x, x_times=torch.arange(5.0, requires_grad=True))

    def test_what_float32_cannot_hold_is_refused(self):
        with pytest.raises(ValueError, match="too large for float32"):
            tl.nn.DecDTW()(torch.randn(1, 5, 1) * 1e30, torch.zeros(1, 5, 1))
        times = torch.arange(5, dtype=torch.float64) + 1.7e9
        with pytest.raises(ValueError, match=r"y_times are up to 1\.7e\+09 and 1 apart"):
            tl.nn.DecDTW()(self.x, self.x, y_times=times)
        assert tl.nn.DecDTW()(self.x.double(), self.x.double(), y_times=times).phi[0, -1] == times[-1]


@pytest.mark.parametrize("layer", [tl.nn.DecDTW(), tl.nn.Sinkhorn(), tl.nn.DILATE(0.5, 0.5)])
def test_a_derivative_that_is_not_there_is_an_error_not_a_wrong_number(layer):
    x = torch.randn(1, 5, 1, dtype=torch.float64, requires_grad=True)
    found = layer(x, torch.randn(1, 4, 1, dtype=torch.float64))
    value = found if isinstance(found, torch.Tensor) else found[0].sum() + found[1].sum()
    with pytest.raises(RuntimeError, match="no further derivative: leave out create_graph"):
        torch.autograd.grad(value.sum(), x, create_graph=True)
