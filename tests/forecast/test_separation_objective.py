"""The loss of separation of variables beside loops over chunks, frames and numbers (tests/naive/separation.py)."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

from latent_options import separation_network
from naive import separation as naive
from timelike.forecast.chunks import PackedFrames
from timelike.forecast.separation.objective import SeparationLoss, SeparationObjective
from timelike.train import Batch, Trainer

WINDOW, LENGTH, ITEMS = 3, 8, 4
SMALL = {"conditioning": WINDOW, "n_content": 3, "n_state": 3, "hidden": 5, "layers": 1, "dynamics_hidden": 4}
VECTOR, PICTURE = (2,), (2, 5, 4)

NETWORKS = {
    "plain": {},
    "three blocks": {"blocks": 3},
    "three tied blocks": {"blocks": 3, "tied": True},
    "multiplied": {"combine": "multiply"},
    "without content": {"content": False},
    "one frame is looked at": {"conditioning": 1},
    "offset": {"offset": True},
    "offset of two blocks, an uneven clock, and a known channel": {
        "offset": True,
        "blocks": 2,
        "n_clock": WINDOW - 1,
        "n_known": 1,
    },
    "known channels": {"n_known": 2},
    "known channels and an uneven clock": {"n_known": 1, "n_clock": WINDOW - 1},
    "gru": {"solver": "gru", "n_known": 1},
    "rk4": {"solver": "rk4", "n_clock": WINDOW - 1},
    "squashed": {"use_sigmoid": True},
    "dcgan": {"codec": "dcgan"},
    "dcgan with skips": {"codec": "dcgan", "skips": True},
    "vgg with skips, maps and a known channel": {"codec": "vgg", "skips": True, "maps": True, "n_known": 1},
    "resnet with offset": {"codec": "resnet", "offset": True},
    "skips without content": {"codec": "dcgan", "skips": True, "content": False},
    "squashed pictures": {"codec": "dcgan", "use_sigmoid": True},
}


def made(options):
    """A network in double precision, in the mode in which it answers: one window is encoded as if it were alone."""
    torch.manual_seed(0)
    frame = PICTURE if "codec" in options else VECTOR
    network = separation_network(frame, **SMALL | {"filters": 2} | options).double().eval()
    network.n_known = options.get("n_known", 0)
    for part in network.modules():  # as if it had seen something, so that no two of them are alike
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.uniform_(-0.2, 0.2)
            part.running_var.uniform_(0.5, 1.5)
    return network


def batch_of(network, length=LENGTH, seed=1):
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(ITEMS, length, *network.frame, generator=source, dtype=torch.float64)
    x[1] = x[1].round()  # coincidences: frames of a few equal numbers
    x[2] = x[2, :1]  # and a sequence that stands still
    known, spans = {}, torch.ones(ITEMS, length, dtype=torch.float64)
    if network.n_clock:
        spans = 0.25 + torch.rand(ITEMS, length, generator=source, dtype=torch.float64)
    if network.n_known:
        known = {"known": torch.randn(ITEMS, length, network.n_known, generator=source, dtype=torch.float64)}
    last = length - network.conditioning - (1 if network.offset else 0)
    return Batch(np.arange(ITEMS), x=x, spans=spans, at=torch.tensor([0, last, last // 2, last]), **known)


@cache
def network_of(name):
    return made(NETWORKS[name])


def objective(network, length=LENGTH, loss=None, **more):
    frames = torch.zeros(length, *network.frame)
    material = PackedFrames(frames, None, torch.ones(length), np.array([length]))
    trainer = Trainer(batch_size=2, learning_rate=1e-3)
    return SeparationObjective(network, material, length=length, trainer=trainer, loss=loss or SeparationLoss(), **more)


def chunks_of(network, batch):
    known = batch.tensors.get("known")
    for i in range(len(batch)):
        yield naive.Chunk(network, batch["x"][i], batch["spans"][i], None if known is None else known[i])


def naively(network, batch, begins=None, **how):
    chunks, at = list(chunks_of(network, batch)), batch["at"].tolist()
    found = {"prediction": [naive.prediction(chunk, **how) for chunk in chunks]}
    found["autoencoding"] = [naive.autoencoding(chunk, i, **how) for chunk, i in zip(chunks, at, strict=True)]
    if network.has_content:
        found["invariance"] = [naive.invariance(chunk, begins) for chunk in chunks]
        found["state_penalty"] = [naive.smallness(chunk) for chunk in chunks]
    return {name: sum(values) / len(values) for name, values in found.items()}


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert float(found[name]) == pytest.approx(float(value), rel=1e-9, abs=1e-12), name


def undone_of(network):
    """Deviations below one half, as all numbers in [0, 1] have; one cell never changes, and has the scale 1."""
    source = torch.Generator().manual_seed(2)
    mean = torch.rand(network.frame, generator=source, dtype=torch.float64)
    scale = 0.1 + 0.3 * torch.rand(network.frame, generator=source, dtype=torch.float64)
    scale.flatten()[0] = 1.0
    return mean, scale


@pytest.mark.parametrize("name", NETWORKS)
def test_every_term_is_that_of_the_formulas(name):
    network = network_of(name)
    batch, how = batch_of(network), {}
    if network.use_sigmoid:
        how = {"scaler": undone_of(network)}
    with torch.no_grad():
        expected = naively(network, batch, **how)
        same(objective(network, **how).loss_terms(batch, 0.0), expected)
    trained = objective(network, **how).loss_terms(
        batch, 0.0
    )  # states are moved in another way where gradients are wanted
    same({name: term.detach() for name, term in trained.items()}, expected)


@pytest.mark.parametrize("name", ["plain", "offset", "vgg with skips, maps and a known channel"])
def test_the_shortest_chunk_has_all_terms_too(name):
    network = network_of(name)
    batch = batch_of(network, WINDOW + 1)
    with torch.no_grad():
        same(objective(network, WINDOW + 1).loss_terms(batch, 0.0), naively(network, batch))


@pytest.mark.parametrize("name", ["dcgan", "vgg with skips, maps and a known channel", "squashed pictures"])
def test_masked_cells_count_in_no_error(name):
    network, there = network_of(name), torch.ones(PICTURE, dtype=torch.bool)
    there[0, 0], there[1, 2:, 1] = False, False
    batch, how = batch_of(network), {"valid_mask": there}
    if network.use_sigmoid:
        how["scaler"] = undone_of(network)
    with torch.no_grad():
        same(objective(network, **how).loss_terms(batch, 0.0), naively(network, batch, **how))


@pytest.mark.parametrize("name", ["dcgan", "vgg with skips, maps and a known channel"])
def test_what_is_drawn_in_masked_cells_changes_no_loss_and_no_gradient(name, monkeypatch):
    network, there = network_of(name), torch.ones(PICTURE, dtype=torch.bool)
    there[:, 1], there[0, 3, 2] = False, False
    batch, drawn = batch_of(network), network.decode
    found = []
    for wild in (0.0, 1e6):
        monkeypatch.setattr(network, "decode", lambda *given, wild=wild: drawn(*given) + wild * ~there)
        network.zero_grad()
        loss = objective(network, valid_mask=there).loss(batch)["loss"]
        loss.backward()
        found.append([loss.detach(), *(p.grad.clone() for p in network.parameters())])
    for plain, other in zip(*found, strict=True):
        assert torch.equal(plain, other)


@pytest.mark.parametrize(
    ("intervals", "begins"), [(1, [0, 5]), (2, [0, 2, 5]), (3, [0, 2, 3, 5]), (5, [0, 1, 2, 3, 4, 5])]
)
@pytest.mark.parametrize("name", ["plain", "dcgan with skips"])
def test_invariance_over_several_intervals_is_the_bound_of_the_appendix(name, intervals, begins):
    network = network_of(name)
    batch = batch_of(network)
    with torch.no_grad():
        found = objective(network, loss=SeparationLoss(n_invariance_intervals=intervals)).loss_terms(batch, 0.0)
        same(found, naively(network, batch, begins))


def test_one_interval_is_the_difference_between_the_first_and_the_last_window():
    network = network_of("plain")
    batch = batch_of(network)
    with torch.no_grad():
        first, last = (network.encode_content(x).code for x in (batch["x"][:, :WINDOW], batch["x"][:, -WINDOW:]))
        found = objective(network).loss_terms(batch, 0.0)["invariance"]
    torch.testing.assert_close(found, (first - last).square().mean())


def test_more_intervals_than_there_are_windows_are_as_many_as_there_are():
    network = network_of("plain")
    batch = batch_of(network)
    with torch.no_grad():
        many, all_of_them = (
            objective(network, loss=SeparationLoss(n_invariance_intervals=n)).loss_terms(batch, 0.0)["invariance"]
            for n in (40, 5)
        )
    torch.testing.assert_close(many, all_of_them)


def test_a_finer_bound_is_never_lower():
    """What the inequality of Cauchy and Schwarz says: halving intervals can only raise the bound."""
    network = network_of("plain")
    batch = batch_of(network, WINDOW + 8)
    with torch.no_grad():
        bounds = [
            objective(network, WINDOW + 8, loss=SeparationLoss(n_invariance_intervals=n)).loss_terms(batch, 0.0)[
                "invariance"
            ]
            for n in (1, 2, 4, 8)
        ]
    assert all(coarse <= fine for coarse, fine in pairwise(bounds))


def test_the_loss_is_the_weighted_sum_and_a_weight_of_zero_leaves_a_term_out():
    network = network_of("plain")
    batch, terms = batch_of(network), objective(network).loss_terms(batch_of(network), 0.0)
    fields = {
        "autoencoding": "autoencoding_weight",
        "invariance": "invariance_weight",
        "state_penalty": "state_penalty",
    }
    for left_out, field in fields.items():
        given = {"autoencoding_weight": 3.0, "invariance_weight": 5.0, "state_penalty": 7.0} | {field: 0.0}
        found = objective(network, loss=SeparationLoss(prediction_weight=2.0, **given)).loss(batch)
        assert left_out not in found
        expected = 2.0 * terms["prediction"] + sum(given[name] * terms[term] for term, name in fields.items())
        torch.testing.assert_close(found["loss"], expected)


def test_without_content_the_state_has_both_sizes_and_nothing_holds_it():
    network = network_of("without content")
    assert network.encode_state(torch.zeros(1, WINDOW, 2, dtype=torch.float64)).shape == (1, 6)
    assert objective(network).loss_terms(batch_of(network), 0.0).keys() == {"prediction", "autoencoding"}


def test_jitter_is_on_what_encoders_see_and_not_on_the_truth():
    """With encoders that see nothing, noise changes nothing."""
    network = made({})
    with torch.no_grad():
        for part in (network.content_encoder, network.state_encoder):
            for layer in part.modules():
                if isinstance(layer, torch.nn.Linear):
                    layer.weight.zero_()
        batch = batch_of(network)
        same(objective(network).loss_terms(batch, 100.0), objective(network).loss_terms(batch, 0.0))
        seeing = network_of("plain")
        assert (
            objective(seeing).loss_terms(batch, 1.0)["prediction"]
            != objective(seeing).loss_terms(batch, 0.0)["prediction"]
        )


@pytest.mark.parametrize("offset", [False, True])
def test_windows_are_drawn_from_all_places_at_which_their_frame_is_there(offset):
    network = made({"offset": offset})
    chunk = naive.Chunk(network, torch.zeros(LENGTH, 2), torch.ones(LENGTH))
    drawn = objective(network)._sample_extras(500, np.random.default_rng(0))["at"]
    assert set(drawn.tolist()) == set(naive.autoencoded(chunk))


def test_an_epoch_shows_every_chunk_once_and_chunks_never_cross_from_one_sequence_to_the_next():
    lengths = np.array([LENGTH, LENGTH - 1, LENGTH + 2])
    frames = torch.arange(int(lengths.sum()), dtype=torch.float32)[:, None].repeat(1, 2)
    spans = torch.arange(len(frames), dtype=torch.float32) / 8
    whole = SeparationObjective(
        made({}),
        PackedFrames(frames, frames[:, :1] * 2, spans, lengths),
        length=LENGTH,
        trainer=Trainer(batch_size=2, learning_rate=1e-3),
        loss=SeparationLoss(),
    )
    begins = []
    for batch in whole.batches(0, np.random.default_rng(0)):
        for x, known, clock in zip(batch["x"], batch["known"], batch["spans"], strict=True):
            begin = int(x[0, 0])
            begins.append(begin)
            assert x[:, 1].tolist() == list(range(begin, begin + LENGTH))
            assert known[:, 0].tolist() == [2 * i for i in range(begin, begin + LENGTH)]
            assert clock.tolist() == [i / 8 for i in range(begin, begin + LENGTH)]
    assert sorted(begins) == [0, LENGTH * 2 - 1, LENGTH * 2, LENGTH * 2 + 1]
