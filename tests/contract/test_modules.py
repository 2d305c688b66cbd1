"""Every torch module of `timelike.nn`, found by itself: lengths, dtypes, devices, parameters, padding, derivatives."""

import inspect
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call

import timelike as tl
from contract.discover import CHANNELS, MODULES, VECTORS, module
from timelike.metric import DistanceNetwork

ITEMS, STEPS = 3, {"x": 6, "y": 5, "phi": 6, "truth": 6}
SHORTER = [[4, 6, 2], [5, 2, 3]]
IMPOSSIBLE = [
    *([0, 3, 3], [3, -1, 3], [3, 3, 7], [3, 3], [[3], [3], [3]], [3.0, 3.0, 3.0], [True, True, True]),
    *(3, "333", ["3", "3", "3"], [None, 3, 3], [[3], [3, 3], 3], [2**70, 3, 3], object()),
    *(torch.full((3,), 3.0), torch.full((3,), 3.0, dtype=torch.bfloat16), torch.full((3,), 3, device="meta")),
]
REFUSALS = (TypeError, ValueError)


def sides(kind):
    """The names of what is compared or encoded, and of the lengths that belong to each."""
    names = list(inspect.signature(kind.forward).parameters)
    lengths = [name for name in names if name.endswith("lengths")]
    return [name for name in names if name in STEPS], lengths


def given(kind, dtype=torch.float32):
    """Random sides: sequences (item, time, channel), or warps (item, knot)."""
    source = torch.Generator().manual_seed(1)
    found = {}
    for name in sides(kind)[0]:
        shape = (ITEMS, STEPS[name], CHANNELS) if name in ("x", "y") else (ITEMS, STEPS[name])
        found[name] = torch.randn(shape, generator=source, dtype=torch.float64).to(dtype)
    return found


def lengths_of(kind, rows=SHORTER):
    return dict(zip(sides(kind)[1], rows, strict=False))


def numbers(found):
    """What a module gave, a row for each item, whatever the padding beside it."""
    fields = (
        [found] if isinstance(found, torch.Tensor) else [field for field in found if isinstance(field, torch.Tensor)]
    )
    return torch.stack([field.reshape(len(field), -1).square().sum(1) for field in fields], 1)


def test_there_are_modules_to_test():
    assert {tl.nn.CausalNetwork, tl.nn.CoupledGRU, tl.nn.SoftDTW, tl.nn.DecDTW, tl.nn.OPW, tl.nn.TimeErr} < set(MODULES)
    assert set(tl.nn.__all__) == {"Positions"} | VECTORS | {
        name for name in tl.nn.__all__ if getattr(tl.nn, name) in MODULES
    }


@pytest.mark.parametrize("kind", MODULES)
class TestEveryModule:
    def test_lengths_may_be_lists_arrays_or_tensors(self, kind):
        layer, data = module(kind), given(kind)
        expected = numbers(layer(**data, **{k: torch.tensor(v) for k, v in lengths_of(kind).items()}))
        assert not torch.allclose(expected, numbers(layer(**data)))
        for like in (list, tuple, np.array, lambda v: np.array(v, np.uint64), lambda v: torch.tensor(v).int()):
            found = layer(**data, **{name: like(value) for name, value in lengths_of(kind).items()})
            assert torch.equal(numbers(found), expected)

    def test_no_lengths_are_full_lengths(self, kind):
        layer, data = module(kind), given(kind)
        full = {name: [STEPS.get(name[0], STEPS["x"])] * ITEMS for name in sides(kind)[1]}
        torch.testing.assert_close(numbers(layer(**data, **full)), numbers(layer(**data)))

    def test_lengths_that_cannot_be_are_refused_by_name(self, kind):
        layer, data = module(kind), given(kind)
        for name in sides(kind)[1]:
            for wrong in IMPOSSIBLE:
                with pytest.raises(ValueError, match=rf"^{name}(\[\d\])? is "):
                    layer(**data, **{name: wrong})

    def test_another_dtype_than_that_of_the_weights_is_refused_in_our_words(self, kind):
        layer, double = module(kind), given(kind, torch.float64)
        if any(True for _ in layer.parameters()):
            with pytest.raises(ValueError, match=r"^x is float64 and this \w+ float32: .*double\(\) .*x\.float\(\)"):
                layer(**double)
        exact = layer.double()(**double)
        assert (exact if isinstance(exact, torch.Tensor) else exact[0]).dtype == torch.float64
        torch.testing.assert_close(numbers(exact).float(), numbers(module(kind)(**given(kind))), rtol=1e-3, atol=1e-4)

    def test_what_is_no_floating_tensor_is_refused_by_name(self, kind):
        for name in sides(kind)[0]:
            data = given(kind)
            for wrong in (data[name].int(), data[name].numpy(), data[name].tolist()):
                with pytest.raises(TypeError, match=rf"^{name} (is|has dtype) .*expected"):
                    module(kind)(**data | {name: wrong})
            with pytest.raises(ValueError, match=rf"^{name} has shape "):
                module(kind)(**data | {name: data[name][..., 0]})

    def test_another_number_of_channels_is_named(self, kind):
        layer = module(kind)
        wide = {name: torch.cat([side, side], -1) for name, side in given(kind).items()}
        if any(True for _ in layer.parameters()):
            with pytest.raises(ValueError, match=rf"^x has {2 * CHANNELS} channels: this .* was made for {CHANNELS}"):
                layer(**wide)
        else:
            numbers(layer(**wide))

    def test_it_moves_as_a_whole(self, kind):
        layer = module(kind).to("meta")
        for part in layer.modules():
            loose = [value for value in vars(part).values() if isinstance(value, torch.Tensor)]
            assert all(tensor.is_meta for tensor in [*loose, *part.parameters(), *part.buffers()])
        data = given(kind)
        away = {name: side.to("meta") for name, side in data.items()}
        if isinstance(layer, DistanceNetwork):
            features = layer.features(away["x"], torch.tensor([4, 6, 2]))
            assert features.values.is_meta
            assert features.lengths.is_meta
        if any(True for _ in layer.parameters()):
            with pytest.raises(ValueError, match="^x is on cpu and this .* on meta: bring them together"):
                layer(**data)
        try:
            found = layer(**away, **lengths_of(kind))
        except ValueError as refusal:
            assert "is on the meta device, which keeps shapes and no numbers" in str(refusal)  # noqa: PT017
        else:
            there = module(kind)(**data, **lengths_of(kind))
            assert (found.device.type, found.shape) == ("meta", there.shape)

    def test_every_parameter_learns_and_comes_back(self, kind):
        layer, data = module(kind), {name: side.requires_grad_() for name, side in given(kind).items()}
        numbers(layer(**data, **lengths_of(kind))).sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in (*data.values(), *layer.parameters()))
        other = module(kind)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
        other.load_state_dict(layer.state_dict())
        assert torch.equal(numbers(other(**given(kind))), numbers(layer(**given(kind))))

    def test_padding_changes_no_value_and_no_gradient(self, kind):
        found, asked = [], lengths_of(kind)
        for filling in (0.0, math.nan):
            layer, data = module(kind).double(), given(kind, torch.float64)
            for name, side in data.items():
                size = asked.get(f"{name}_lengths", asked.get("lengths"))
                longer = torch.cat([side, torch.full_like(side[:, :2], filling)], 1)
                for item, length in enumerate(size):
                    longer[item, length:] = filling
                data[name] = longer.requires_grad_()
            rows = numbers(layer(**data, **asked))
            rows.sum().backward()
            found.append([rows, *(side.grad for side in data.values()), *(p.grad for p in layer.parameters())])
        for plain, padded in zip(*found, strict=True):
            torch.testing.assert_close(padded, plain, rtol=1e-9, atol=1e-12)

    def test_a_second_derivative_is_right_or_refused(self, kind):
        layer, data = module(kind).double(), given(kind, torch.float64)
        parts = data | dict(layer.named_parameters())
        # in one vector: then few random directions tell of all
        whole = torch.cat([part.detach().flatten() for part in parts.values()]).requires_grad_()

        def call(flat):
            pieces = flat.split([part.numel() for part in parts.values()])
            own = {name: piece.reshape(parts[name].shape) for name, piece in zip(parts, pieces, strict=True)}
            asked = {name: own.pop(name) for name in data} | lengths_of(kind)
            found = functional_call(layer, own, (), asked)
            return found if isinstance(found, torch.Tensor) else found[0]

        def slope(flat):  # of the plain sum, whose incoming gradient is a constant
            return torch.autograd.grad(call(flat).sum(), flat, create_graph=True)

        assert gradcheck(call, whole, fast_mode=True)
        try:
            slope(whole)
        except RuntimeError as refusal:
            assert "has no further derivative: leave out create_graph=True" in str(refusal)  # noqa: PT017
            return
        assert gradgradcheck(call, whole, fast_mode=True)
        assert gradcheck(slope, whole, fast_mode=True)

    def test_a_constructor_refuses_by_name_or_the_module_works(self, kind):
        probes = (0, -1, 1.5, math.nan, math.inf, "x", "", None, True, (), (1, 2), object(), torch.nn.Identity)
        for name, parameter in inspect.signature(kind).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            for probe in probes:
                try:
                    found = module(kind, **{name: probe})(**given(kind))
                except REFUSALS as refusal:
                    assert name in str(refusal), f"{name}={probe!r}: {refusal}"  # noqa: PT017
                else:
                    assert type(probe) is not object, name
                    assert numbers(found).isfinite().all()
                    assert all(field.numel() for field in ([found] if isinstance(found, torch.Tensor) else found))
