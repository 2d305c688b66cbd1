"""SRVP written down plainly has our loss and our gradients, so that it can stand beside it in the table of speed."""

import pytest
import torch
from benchmarks.speed import forecast, srvp_plainly, table

from timelike.forecast import Inference, RandomDynamics, SRVPNetwork
from timelike.forecast.codecs import DCGAN, MLP, VGG
from timelike.forecast.srvp import network as parts, objective

HOW = {
    "conditioning": 2,
    "n_state": 3,
    "n_random": 2,
    "n_content": 4,
    "inference": Inference(n_code=5, hidden=6),
    "dynamics": RandomDynamics(hidden=7, gain=1.41),
}
TWO_SUBSTEPS = {"dynamics": RandomDynamics(hidden=7, gain=1.41, substeps=2)}
CASES = {
    "perceptron": (3, {"codec": MLP(hidden=6)}),
    "perceptron, two substeps": (3, {"codec": MLP(hidden=6), "observation_std": 0.5} | TWO_SUBSTEPS),
    "dcgan": ((1, 16, 16), {"codec": DCGAN(filters=3), "use_sigmoid": True}),
    "dcgan, colours": ((3, 32, 32), {"codec": DCGAN(filters=3), "use_sigmoid": True}),
    "vgg": ((1, 16, 16), {"codec": VGG(filters=4)} | TWO_SUBSTEPS),
}


def settled(frame, given, n_frames=5):
    """A network whose normalisations have seen something, frames, and what is drawn for a loss."""
    torch.manual_seed(0)
    network = SRVPNetwork(frame, **HOW | given)
    x = torch.rand(4, n_frames, *network.frame)
    with torch.no_grad():
        network.decode(network.encode_content(*looked(network, x)), torch.randn(4, n_frames, 3))
    chosen = torch.tensor([[0, 3], [4, 4], [1, 2], [4, 0]])
    return network.eval(), x, chosen, torch.randn(4, 3), torch.randn(4, n_frames - 1, 2)


def looked(network, x):
    codes, seen = network.encode_frames(x)
    return codes, torch.zeros(len(x), 1, dtype=torch.int64), seen, torch.zeros(len(x), dtype=torch.int64)


def ours(monkeypatch, network, x, chosen, first, random, beta=2.0, stillness=0.3):
    draws = [first, random]
    monkeypatch.setattr(objective, "standard_normal_noise", lambda shape, like, generator=None: draws.pop(0))
    codes, seen = network.encode_frames(x)
    content = network.encode_content(codes, chosen, seen, torch.zeros(len(x), dtype=torch.int64))
    found, _ = objective.compute_bound(network, x, codes, content)
    return (found.first_kl + beta * found.random_kl - found.likelihood + stillness * found.path_length).mean()


def names(network, plain):
    """Parameters of both in one order."""
    for part in ("encoder", "decoder"):
        other = plain.encoder if part == "encoder" else plain.decoder
        yield from zip(srvp_plainly.numbers(getattr(network, part)), srvp_plainly.numbers(other), strict=True)
    yield from zip(network.lstm.parameters(), plain.cell.parameters(), strict=True)
    for part in ("content_frame_layer", "content_layer", "state_head", "random_head", "prior", "dynamics"):
        yield from zip(getattr(network, part).parameters(), getattr(plain, part).parameters(), strict=True)


@pytest.mark.parametrize("case", CASES)
def test_the_plain_loss_is_ours_and_so_are_its_gradients(case, monkeypatch):
    network, x, *drawn = settled(*CASES[case])
    plain = srvp_plainly.Plain(network).eval()
    mine, theirs = ours(monkeypatch, network, x, *drawn), plain.loss(x, drawn[0], 2.0, 0.3, *drawn[1:])
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    mine.backward()
    theirs.backward()
    pairs = [pair for pair in names(network, plain) if pair[0].requires_grad]
    assert len(pairs) == len(list(plain.parameters())) - 1  # and the deviation of frames, which is not learned here
    scale = max(float(one.grad.abs().max()) for one, _ in pairs)
    for one, other in pairs:
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-5 * scale)


@pytest.mark.parametrize("case", ["perceptron, two substeps", "vgg"])
def test_steps_that_keep_only_what_gradients_need_are_the_loop_of_autograd(case, monkeypatch):
    network, x, *drawn = settled(*CASES[case])
    found = []
    for suits in (True, False):
        monkeypatch.setattr(parts, "can_unroll", lambda blocks, y, so=suits: so)
        loss = ours(monkeypatch, network, x, *drawn)
        found.append((loss, *torch.autograd.grad(loss, list(network.dynamics.parameters()))))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_the_loss_in_mixed_precision_agrees_to_a_hundredth(case, monkeypatch):
    network, x, *drawn = settled(*CASES[case])
    single = ours(monkeypatch, network, x, *drawn)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = ours(monkeypatch, network, x, *drawn)
    assert mixed.dtype == torch.float32
    assert mixed.item() == pytest.approx(single.item(), rel=1e-2)
    assert mixed.item() != single.item()


def test_a_part_of_the_page_that_was_not_run_stays_as_it_was():
    row = table.Row("work", "peer", "1 s", "2 s", "0.5×", "–", True)
    old = "# Speed\n\n## Separation and baselines\n\nMeasured long ago.\n\n| a | b |\n\n## SRVP\n\nMeasured too.\n\n| c |\n"
    some = forecast.written(old, {"srvp-memory": [row]}, 1)
    assert "\n\nMeasured long ago.\n\n| a | b |\n\n## SRVP\n\nMeasured too.\n\n| c |\n" in some
    new = forecast.written(old, {name: [row] for name in forecast.PARTS["SRVP"].jobs}, 1)
    before, after = new.split("## SRVP\n\n")
    assert "Measured long ago.\n\n| a | b |" in before
    assert "Measured too" not in after
    assert after.count("| work | peer | 1 s | 2 s | 0.5× | – | – |") == len(forecast.PARTS["SRVP"].jobs)
