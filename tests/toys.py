"""Toy problems, and every learned metric in a size that learns one in a second."""

import dataclasses
from functools import partial

import numpy as np
import torch

import timelike as tl
from timelike import metric

# options by which encoders and forecasters become small
CAUSAL = {"n_features": 6, "channels": 4, "depth": 3, "reduced_size": 5, "n_negatives": 2, "max_steps": 4}
CAUSAL |= {"random_state": 0}
SRVP = {"max_steps": 3, "hidden": 6, "n_state": 4, "n_random": 3, "n_content": 3, "n_code": 5, "motion_hidden": 6}
SRVP |= {"filters": 3, "batch_size": 8, "progress": False, "random_state": 0}
_TRAINER_FIELDS = {field.name for field in dataclasses.fields(tl.Trainer)}


def trained(kind, **options):
    """A method with fields of its trainer among its options."""
    fields = {name: options.pop(name) for name in _TRAINER_FIELDS & options.keys()}
    return kind(**options, trainer=tl.Trainer(**fields))


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


class Gather:
    """Stands for the loop's descent, and leaves the gradients where they are."""

    def __init__(self, weight=1.0):
        self.weight = weight

    def backward(self, term):
        (self.weight * term).backward()

    def step(self):
        pass

    def __call__(self, loss):
        self.backward(loss)


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
