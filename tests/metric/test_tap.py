"""TAP: values of the formulas, gradients of finite differences, padding that does not matter, all pairs as one."""

import numpy as np
import pytest
import torch

from naive import tap as naive
from timelike import native
from timelike.metric import AlignedFramesNetwork, Features, TAPNetwork, distance_network
from timelike.metric.frame_transform import paired_frame_distances, pairwise_frame_distances
from timelike.metric.tap import network as tap_network
from timelike.native import convolve
from timelike.train import use_seed

VARIANTS = ["cnn", "cnn_large", "cnn_deep", "attention"]
N, M = torch.tensor([7, 4, 1, 6]), torch.tensor([5, 3, 2, 1])


def network(variant="cnn", dtype=torch.float64, **options):
    with use_seed(0):
        return TAPNetwork(3, **{"variant": variant, "hidden": 8, "n_kernels": 4} | options).to(dtype)


def batch(seed=0, dtype=torch.float64):
    made = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(4, time, 3, generator=made, dtype=torch.float64).to(dtype) for time in (7, 5))


def padded(side, lengths, fill, extra=3):
    more = torch.full((len(side), side.shape[1] + extra, side.shape[2]), fill, dtype=side.dtype)
    for item, length in enumerate(lengths.tolist()):
        more[item, :length] = side[item, :length]
    return more


def features_of(net, n=N, m=M, **options):
    x, y = batch(**options)
    return net.features(x, n), net.features(y, m)


def layers_of(net):
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in net.scores.layers]


@pytest.mark.parametrize("last_relu", [False, True])
@pytest.mark.parametrize("variant", ["cnn", "cnn_large", "cnn_deep"])
def test_distances_are_those_of_the_formulas(variant, last_relu):
    net = network(variant, last_relu=last_relu, transform=False)
    x, y = batch()
    found = net(x, y, N, M)
    for item, (n, m) in enumerate(zip(N, M, strict=True)):
        pair = x[item, :n].numpy(), y[item, :m].numpy()
        np.testing.assert_allclose(found[item].item(), naive.distance(*pair, layers_of(net), last_relu), rtol=1e-12)


def test_tap_trans_is_that_of_its_formula():
    net = network("attention", transform=False)
    x, y = batch()
    found = net(x, y, N, M)
    query, key = net.scores.query.weight.detach().numpy(), net.scores.key.weight.detach().numpy()
    for item, (n, m) in enumerate(zip(N, M, strict=True)):
        pair = x[item, :n].numpy(), y[item, :m].numpy()
        np.testing.assert_allclose(found[item].item(), naive.attention_distance(*pair, query, key), rtol=1e-10)


def test_self_attention_is_that_of_its_formula():
    net = network(transform=False, self_attention=True, normalize=False)
    x, _ = batch()
    frames = net.features(x, N).values
    weights = [
        getattr(net.transformation.attention, name).weight.detach().numpy() for name in ("query", "key", "value")
    ]
    for item, n in enumerate(N):
        np.testing.assert_allclose(
            frames[item, :n].detach(), naive.self_attended(x[item, :n].numpy(), *weights), atol=1e-12
        )


def test_the_transformation_is_a_perceptron_whose_output_has_length_one():
    net = network(n_outputs=5)
    x, _ = batch()
    weights = [layer for layer in net.transformation.perceptron if hasattr(layer, "weight")]
    z = x[0].numpy()
    for number, layer in enumerate(weights):
        z = z @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        z = np.maximum(z, 0) if number < 2 else z
    np.testing.assert_allclose(
        net.features(x, N).values[0].detach(), z / np.linalg.norm(z, axis=1)[:, None], atol=1e-12
    )
    loose = network(n_outputs=5, normalize=False)
    np.testing.assert_allclose(loose.features(x, N).values[0].detach(), z, atol=1e-12)


def test_the_default_is_the_paper_s_size():
    net = TAPNetwork(13)
    assert [tuple(layer.weight.shape) for layer in net.scores.layers] == [(30, 2, 5, 5), (30, 30, 5, 5), (1, 30, 3, 3)]
    assert sum(layer.weight.numel() for layer in net.scores.layers) == 30 * 25 * 2 + 30 * 25 * 30 + 9 * 30
    assert net.transformation.n_outputs == 13
    assert TAPNetwork(1).transformation.n_outputs == 2  # a single number of length 1 would be a sign


OPTIONS = [{"variant": v} for v in VARIANTS]
OPTIONS += [{"symmetrize": True}, {"variant": "attention", "symmetrize": True}, {"self_attention": True}]
OPTIONS += [{"last_relu": True}, {"transform": False, "symmetrize": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_are_those_of_finite_differences(options):
    net = network(**options)
    n, m = torch.tensor([5, 4, 1]), torch.tensor([4, 1, 2])
    x, y = (side[:3, :time].clone().requires_grad_() for side, time in zip(batch(), (5, 4), strict=True))
    assert torch.autograd.gradcheck(lambda a, b: net(a, b, n, m), (x, y), atol=1e-6)
    assert torch.autograd.gradcheck(lambda a, b: net.plan(net.features(a, n), net.features(b, m)), (x, y), atol=1e-6)
    weights = list(net.scores.parameters())
    (given,) = torch.autograd.grad(net(x, y, n, m).sum(), weights[0])
    direction = torch.randn_like(given)
    with torch.no_grad():
        sides = []
        for sign in (1e-6, -1e-6):
            weights[0] += sign * direction
            sides.append(net(x, y, n, m).sum())
            weights[0] -= sign * direction
    torch.testing.assert_close((sides[0] - sides[1]) / 2e-6, (given * direction).sum(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("fill", [0.0, float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_padding_changes_no_value_and_no_gradient(options, fill):
    net = network(**options)
    x, y = batch()
    results = []
    for a, b in ((x, y), (padded(x, N, fill), padded(y, M, fill))):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        first, second = net.features(a, N), net.features(b, M)
        one, all_pairs, plan = (
            net.pair_distances(first, second),
            net.distance_matrix(first, second),
            net.plan(first, second),
        )
        total = one.sum() + all_pairs.square().sum() + plan.square().sum() + net.norm_ratio(first, second).sum()
        grads = torch.autograd.grad(total, [a, b, *net.parameters()], allow_unused=True)
        results.append((one, all_pairs, plan[:, :7, :5], grads[0][:, :7], grads[1][:, :5], *grads[2:]))
        assert not grads[0][:, 7:].any()
        assert not grads[1][:, 5:].any()
        for item, (n, m) in enumerate(zip(N, M, strict=True)):
            assert not plan[item, n:].any()
            assert not plan[item, :, m:].any()
            assert not grads[0][item, n:].any()
    for plain, more in zip(*results, strict=True):
        if plain is not None:
            torch.testing.assert_close(plain, more, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_batch_is_a_loop_and_a_matrix_is_its_rows(options, dtype):
    net = network(dtype=dtype, **options)
    x, y = features_of(net, dtype=dtype)
    found = net.distance_matrix(x, y)
    alone = torch.empty_like(found)
    for i in range(4):
        for j in range(4):
            one, two = x.take(slice(i, i + 1)), y.take(slice(j, j + 1))
            cut = Features(one.values[:, : N[i]], one.lengths), Features(two.values[:, : M[j]], two.lengths)
            alone[i, j] = net.pair_distances(*cut)[0]
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-11, "atol": 1e-13}
    torch.testing.assert_close(found, alone, **tolerance)
    torch.testing.assert_close(net.pair_distances(x, y), alone.diag(), **tolerance)


@pytest.mark.parametrize(("tile_numbers", "max_kept"), [(1, 1 << 40), (2000, 1 << 40), (2000, 0), (1 << 40, 0)])
def test_tiles_of_any_size_give_the_same_values_and_gradients(tile_numbers, max_kept):
    net = network()
    results = []
    for how in ({}, {"tile_numbers": tile_numbers, "max_kept": max_kept}):
        x, y = (side.requires_grad_() for side in batch())
        found = distance_network.compute_in_tiles(
            net.distance_tile, net.features(x, N), net.features(y, M), net.numbers_per_pair, **how
        )
        results.append((found, *torch.autograd.grad(found.square().sum(), [x, y, *net.parameters()])))
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_stripes_of_a_long_pair_give_the_same_distances(variant, symmetrize, dtype, rows, monkeypatch):
    net = network(variant, dtype, symmetrize=symmetrize)
    x, y = features_of(net, dtype=dtype)
    striped, heights = net._striped_distances, []
    monkeypatch.setattr(net, "_striped_distances", lambda *sides: heights.append(len(sides[0])) or striped(*sides))
    with torch.no_grad():
        whole = net.pair_distances(x, y)
        monkeypatch.setattr(tap_network, "STRIPE_NUMBERS", rows * 5 * net.scores.numbers_per_step_pair())
        found = net.pair_distances(x, y)
    tolerance = {"rtol": 1e-12, "atol": 1e-14} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(found, whole, **tolerance)
    assert heights == [1] * (8 if symmetrize else 4)


def derivatives(net, order):
    x, y = (side.requires_grad_() for side in batch(dtype=torch.float32))
    found = net.distance_matrix(net.features(x, N), net.features(y, M))
    parts = [x, y, *net.parameters()]
    first = torch.autograd.grad(found.square().sum(), parts, create_graph=order == 2)
    if order == 1:
        return [found, *first]
    return [found, *torch.autograd.grad(sum(part.square().sum() for part in first), parts)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("variant", ["cnn", "cnn_large", "cnn_deep"])
def test_compiled_layers_have_the_derivatives_of_torch(variant, order, monkeypatch):
    if not native.is_native_enabled():
        pytest.skip("no kernels here")
    net = network(variant, torch.float32)
    compiled = derivatives(net, order)
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    plain = derivatives(net, order)
    scale = max(part.abs().max().item() for part in plain)  # the last bias changes no softmax: its gradient is 0
    for one, two in zip(compiled, plain, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5 * scale)


def test_frozen_layers_still_pass_the_gradient_on(monkeypatch):
    net = network("cnn", torch.float32)
    for layer in net.scores.layers[:2]:
        layer.requires_grad_(False)
    (x, y), last = batch(dtype=torch.float32), net.scores.layers[2].weight
    found = []
    for wish in ("1", "0"):
        monkeypatch.setenv("TIMELIKE_NATIVE", wish)
        found.append(torch.autograd.grad(net(x, y, N, M).sum(), [last, *net.transformation.parameters()]))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-6)


def test_no_sequences_make_an_empty_matrix():
    net = network()
    x, y = features_of(net)
    assert net.distance_matrix(x.take(slice(0, 0)), y).shape == (0, 4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_of_the_query_has_the_same_mass(variant):
    net = network(variant)
    x, y = features_of(net)
    plan = net.plan(x, y)
    for item, n in enumerate(N):
        torch.testing.assert_close(plan[item, :n].sum(1), torch.full((int(n),), 1 / int(n), dtype=torch.float64))
    frames = [side.values[..., :3] for side in (x, y)]
    torch.testing.assert_close((plan * paired_frame_distances(*frames)).sum((1, 2)), net.pair_distances(x, y))


@pytest.mark.parametrize("variant", VARIANTS)
def test_symmetrized_distances_are_the_mean_of_both_directions(variant):
    net, both = network(variant), network(variant, symmetrize=True)
    x, y = features_of(net)
    torch.testing.assert_close(both.pair_distances(x, y), (net.pair_distances(x, y) + net.pair_distances(y, x)) / 2)
    torch.testing.assert_close(both.distance_matrix(x, y), both.distance_matrix(y, x).mT)
    assert both.symmetric
    assert not net.symmetric
    plan = both.plan(x, y)
    torch.testing.assert_close(plan, both.plan(y, x).mT)
    torch.testing.assert_close(
        (plan * paired_frame_distances(x.values[..., :3], y.values[..., :3])).sum((1, 2)), both.pair_distances(x, y)
    )
    assert not torch.allclose(net.pair_distances(x, y), net.pair_distances(y, x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distances_of_frames_are_exact_and_flat_where_frames_meet(dtype):
    x = (1000 + torch.randn(2, 4, 3, dtype=torch.float64)).to(dtype).requires_grad_()
    y = torch.cat([x.detach()[:, :2], x.detach()[:, 2:] + 1e-3], 1)
    exact = (x.detach().double()[:, :, None] - y.double()[:, None]).norm(dim=-1)
    found = paired_frame_distances(x, y)
    torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-4 if dtype == torch.float32 else 1e-12)
    found[:, [0, 1], [0, 1]].sum().backward()
    assert not x.grad.any()
    torch.testing.assert_close(pairwise_frame_distances(x, y)[[0, 3]], found, rtol=1e-6, atol=1e-5)


def test_a_constant_sequence_has_finite_gradients():
    net = network(dtype=torch.float32)
    x = torch.ones(2, 5, 3, requires_grad=True)
    net.distance_matrix(*[net.features(x, torch.tensor([5, 3]))] * 2).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


def test_the_norm_ratio_is_that_of_g_and_the_distances():
    net = network(transform=False)
    x, y = features_of(net)
    for item, (n, m) in enumerate(zip(N, M, strict=True)):
        table = naive.distances(x.values[item, :n].numpy(), y.values[item, :m].numpy())
        g = naive.correction(table, layers_of(net))
        np.testing.assert_allclose(
            net.norm_ratio(x, y)[item].item(), np.linalg.norm(g) / np.linalg.norm(table), rtol=1e-12
        )


@pytest.mark.parametrize("variant", ["cnn", "attention"])
def test_mean_pooling_counts_steps_and_no_padding(variant):
    net = network(variant)
    x, _ = features_of(net)
    expected = torch.stack([x.values[item, :n, :3].mean(0) for item, n in enumerate(N)])
    torch.testing.assert_close(net.pool_frames(x), expected)
    assert isinstance(
        AlignedFramesNetwork(3, hidden=4).pool_frames(Features(torch.ones(2, 5, 3), torch.tensor([5, 5]))), torch.Tensor
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "rnn"}, "variant='rnn': expected one of 'cnn', 'cnn_large', 'cnn_deep', 'attention'"),
        ({"n_kernels": 0}, "n_kernels"),
        ({"n_outputs": 5, "transform": False}, "transform=False"),
        ({"n_outputs": 1, "self_attention": True}, "n_outputs=2"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TAPNetwork(3, **options)


def test_nothing_is_kept_for_gradients_that_nobody_will_ask_for(monkeypatch):
    if not native.is_native_enabled():
        pytest.skip("no kernels here")
    net, seen, forward = network("cnn", torch.float32), [], convolve.forward
    monkeypatch.setattr(
        convolve, "forward", lambda *a, keep, threads: seen.append(keep) or forward(*a, keep=keep, threads=threads)
    )
    x, y = batch(dtype=torch.float32)
    with torch.no_grad():
        net(x, y, N, M)
    with torch.inference_mode():
        net(x, y, N, M)
    net.requires_grad_(False)(x, y, N, M)
    net.requires_grad_(True)(x, y, N, M)
    assert seen == [False, False, False, True]


def test_many_short_pairs_are_cut_by_pairs_and_not_into_stripes(monkeypatch):
    net = network()
    x, y = features_of(net)
    with torch.no_grad():
        whole = net.pair_distances(x, y)
        monkeypatch.setattr(tap_network, "STRIPE_NUMBERS", 2 * net.numbers_per_pair(7, 5))
        monkeypatch.setattr(net, "_striped_distances", lambda *sides: pytest.fail("stripes of what fits"))
        torch.testing.assert_close(net.pair_distances(x, y), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_weight_that_serves_twice_has_one_gradient(dtype):
    net = network("cnn_deep", dtype)
    net.scores.layers[2] = net.scores.layers[1]
    x, y = batch(dtype=dtype)
    plain, graph = (
        torch.autograd.grad(net(x, y, N, M).sum(), net.scores.layers[1].weight, create_graph=graph)[0]
        for graph in (False, True)
    )
    torch.testing.assert_close(plain, graph.detach(), rtol=1e-4, atol=1e-6)


def test_gradients_of_functions_are_those_of_modules():
    net = network("cnn", torch.float32)
    x, y = batch(dtype=torch.float32)
    weights = dict(net.named_parameters())
    found = torch.func.grad(lambda w: torch.func.functional_call(net, w, (x, y, N, M)).sum())(weights)
    expected = torch.autograd.grad(net(x, y, N, M).sum(), list(weights.values()))
    for one, two in zip(found.values(), expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


def test_a_time_axis_without_steps_is_refused():
    for sides in [(torch.randn(2, 5, 3), torch.zeros(2, 0, 3)), (torch.zeros(2, 0, 3), torch.randn(2, 5, 3))]:
        with pytest.raises(ValueError, match=r"has shape \(2, 0, 3\): expected .* with steps"):
            network("cnn", torch.float32)(*sides)
