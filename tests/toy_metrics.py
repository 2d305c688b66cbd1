"""Every learned metric that is a network, in a size that learns a toy problem in a second."""

from functools import partial

import torch

import timelike as tl
from timelike import metric
from toys import trained


def maker(kind, options):
    """What makes the method with these options, or with others in place of some."""
    return lambda **more: trained(kind, **options | more)


RECURRENT = {"hidden": 8, "max_epochs": 12, "learning_rate": 1e-2, "random_state": 0}
ALIGNED = {"hidden": 16, "batch_size": 16, "max_epochs": 8, "learning_rate": 3e-3, "random_state": 0}
TAP = ALIGNED | {"alignment": metric.AlignmentPredictor(n_kernels=4)}
SYMMETRIC = metric.AlignmentPredictor(n_kernels=4, symmetrize=True)
DEEP = {"n_virtual_frames": 3, "hidden": 16, "max_epochs": 6, "learning_rate": 1e-2, "random_state": 0}
MAKERS = {
    "siamese": maker(tl.SiameseGRU, RECURRENT),
    "lstm": maker(tl.SiameseGRU, RECURRENT | {"cell": "lstm"}),
    "coupled": maker(tl.CoupledGRU, RECURRENT),
    "coupled-mean": maker(tl.CoupledGRU, RECURRENT | {"sync": "mean"}),
    "siamese-paper": maker(partial(tl.SiameseGRU.preset, "paper"), RECURRENT),
    "coupled-paper": maker(partial(tl.CoupledGRU.preset, "paper"), RECURRENT),
    "tap": maker(tl.TAP, TAP),
    "tap-paper": maker(partial(tl.TAP.preset, "paper"), TAP | {"n_per_class": 4}),
    "tap-symmetric": maker(tl.TAP, TAP | {"alignment": SYMMETRIC}),
    "tap-attention": maker(tl.TAP, TAP | {"variant": "attention", "self_attention": True}),
    "aligned": maker(metric.AlignedFrames, ALIGNED | {"aligner": tl.SoftDTW(gamma=0.1, divergence=True)}),
    "aligned-opw": maker(metric.AlignedFrames, ALIGNED | {"aligner": "opw", "max_epochs": 4}),
    "rvsml": maker(metric.RVSML, {"n_virtual_frames": 3}),
    "rvsml-opw": maker(metric.RVSML, {"n_virtual_frames": 3, "aligner": "opw"}),
    "deep": maker(metric.DeepRVSML, DEEP),
    "elements": maker(metric.ElementWise, {"hidden": 16, "max_steps": 60, "learning_rate": 3e-3, "random_state": 0}),
}
NETWORKS = [name for name in MAKERS if not name.startswith(("rvsml", "deep", "elements"))]


def coupled_network(hidden=5, channels=2, seed=0, **options):
    """In double precision, with a gate that is not the same everywhere."""
    torch.manual_seed(seed)
    network = metric.CoupledNetwork(channels, hidden=hidden, **options).double()
    with torch.no_grad():
        network.weight_hc.mul_(5)
    return network
