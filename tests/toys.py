"""A toy problem, and every learned metric in a size that learns it in a second."""

import numpy as np
import torch

import timelike as tl
from timelike import metric

RECURRENT = {"hidden": 8, "max_epochs": 12, "learning_rate": 1e-2, "random_state": 0}
TAP = {"hidden": 16, "n_kernels": 4, "batch_size": 16, "max_epochs": 8, "learning_rate": 3e-3, "random_state": 0}
ALIGNED = {name: value for name, value in TAP.items() if name != "n_kernels"}
MAKERS = {
    "siamese": lambda **more: tl.SiameseGRU(**RECURRENT | more),
    "lstm": lambda **more: tl.SiameseGRU(**RECURRENT | {"cell": "lstm"} | more),
    "coupled": lambda **more: tl.CoupledGRU(**RECURRENT | more),
    "coupled-mean": lambda **more: tl.CoupledGRU(**RECURRENT | {"sync": "mean"} | more),
    "siamese-paper": lambda **more: tl.SiameseGRU.preset("paper", **RECURRENT | more),
    "coupled-paper": lambda **more: tl.CoupledGRU.preset("paper", **RECURRENT | more),
    "tap": lambda **more: tl.TAP(**TAP | more),
    "tap-paper": lambda **more: tl.TAP.preset("paper", **TAP | {"n_per_class": 4} | more),
    "tap-symmetric": lambda **more: tl.TAP(**TAP | {"symmetrize": True} | more),
    "tap-attention": lambda **more: tl.TAP(**TAP | {"variant": "attention", "self_attention": True} | more),
    "aligned": lambda **more: metric.AlignedFrames(
        **ALIGNED | {"aligner": tl.SoftDTW(gamma=0.1, divergence=True)} | more
    ),
    "aligned-opw": lambda **more: metric.AlignedFrames(**ALIGNED | {"aligner": "opw", "max_epochs": 4} | more),
    "rvsml": lambda **more: metric.RVSML(**{"n_virtual_frames": 3} | more),
    "rvsml-opw": lambda **more: metric.RVSML(**{"n_virtual_frames": 3, "aligner": "opw"} | more),
    "deep": lambda **more: metric.DeepRVSML(
        **{"n_virtual_frames": 3, "hidden": 16, "max_epochs": 6, "learning_rate": 1e-2, "random_state": 0} | more
    ),
    "elements": lambda **more: metric.ElementWise(
        **{"hidden": 16, "max_steps": 60, "learning_rate": 3e-3, "random_state": 0} | more
    ),
}
NETWORKS = [name for name in MAKERS if not name.startswith(("rvsml", "deep", "elements"))]


class AllAlike(tl.align.Metric):
    """Everything is at distance zero: a metric that neither aligns nor has a window."""

    def _fill_matrix(self, x, y, out, threads, report):
        out[:] = 0


def turning(count, seed):
    """Points that turn around one of three places, in two channels; noise as large as that in two others."""
    rng = np.random.default_rng(seed)
    kinds, sequences = np.arange(count) % 3, []
    for kind in kinds:
        angle = np.arange(rng.integers(6, 13)) * (0.7, -0.7, 0.7)[kind] + rng.uniform(0, 1)
        place = 2 * np.pi * kind / 3
        signal = np.stack([np.cos(place) + np.cos(angle), np.sin(place) + np.sin(angle)], axis=1)
        noise = rng.standard_normal((len(angle), 4)) * (0.2, 0.2, 1.0, 1.0)
        sequences.append(np.concatenate([signal, np.zeros_like(signal)], axis=1) + noise)
    return tl.Sequences(sequences, labels=np.array(["left", "back", "front"])[kinds])


def coupled_network(hidden=5, channels=2, seed=0, **options):
    """In double precision, with a gate that is not the same everywhere."""
    torch.manual_seed(seed)
    network = metric.CoupledNetwork(channels, hidden=hidden, **options).double()
    with torch.no_grad():
        network.weight_hc.mul_(5)
    return network
