"""Toy problems, and options by which methods are small enough to learn one in a second."""

import dataclasses

import numpy as np

import timelike as tl

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
