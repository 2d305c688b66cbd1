"""Discriminators and flows, two-sample tests, and monitors of drift."""

from __future__ import annotations

from typing import Any

import numpy as np

import timelike as tl
from benchmarks.numerics.probes.small_data import Outputs, summarize, vectors, waves
from benchmarks.papers.gantk import problems, settings
from timelike import distributions as ds


def gantk() -> Outputs:
    """Kernels, discriminators of infinite and finite width, discrepancies, and a few steps of flows."""
    fake, real, asked = vectors(6, 2, seed=1), vectors(7, 2, shift=2.0, seed=2), vectors(5, 2, seed=3)
    found: Outputs = {}
    for name in ("RBF", "ReLU", "ReLU without bias", "sigmoid"):
        kernel = settings.thesis_kernel(name)
        found[f"{name}: kernel"] = summarize(kernel(fake, real))
        found[f"{name}: MMD"] = [float(ds.mmd(fake, real, kernel))]
        found[f"{name}: IPM"] = summarize(ds.IPM(kernel).train_critic(fake, real)(asked))
        found[f"{name}: LSGAN"] = summarize(ds.LSGAN(kernel, time=1.0).train_critic(fake, real)(asked))
        found[f"{name}: step"] = [settings.thesis_step(loss, name) for loss in ("IPM", "LSGAN")]
        for loss in ("IPM", "LSGAN"):
            flow = ds.descend(
                fake, real, settings.thesis_discriminator(loss, name), steps=3, step=0.5, record_every=1, progress=False
            )
            found[f"{name}: flow, {loss}"] = summarize(flow.particles)
    found["sine: kernel"] = summarize(ds.NTK(activation="sine", bias=1.0, depth=3)(fake, real))
    finite = settings.thesis_discriminator("IPM", "ReLU", width=8, random_state=0)
    flow = ds.descend(fake, real, finite, steps=2, step=0.1, record_every=1, progress=False, schedule=(1.0, 0.1))
    found["width 8: flow"] = summarize(flow.particles)
    found["Sinkhorn divergence"] = [float(ds.sinkhorn_divergence(fake, real, blur=1e-3, scaling=0.95))]
    for name in ("eight_gaussians", "densities", "letters"):
        points = getattr(problems, name)(12, random_state=0)
        found[f"{name}: points"] = summarize(np.stack([points.start, points.real]))
    return found


def two_sample() -> Outputs:
    """Statistics and p-values of tests with every kernel and design that programs use."""
    x, y = vectors(12, seed=1), vectors(10, shift=0.5, seed=2)
    options: dict[str, Any] = {"n_permutations": 99, "random_state": 0}
    kernels: dict[str, Any] = {
        "RBF": ds.RBF(),
        "Laplace": ds.Laplacian(),
        "Matern 0.5": ds.Matern(smoothness=0.5),
        "Matern 1.5": ds.Matern(),
        "Matern 2.5": ds.Matern(smoothness=2.5),
        "RationalQuadratic": ds.RationalQuadratic(),
        "Linear": ds.Linear(),
        "Polynomial": ds.Polynomial(),
        "NegativeDistance": ds.NegativeDistance(),
        "Sum": ds.RBF() + ds.Linear(),
        "Product": ds.RBF() * ds.Polynomial(degree=2),
        "Scaled": 2.0 * ds.Laplacian(),
    }
    tests: dict[str, Any] = {name: ds.TwoSample(kernel, **options) for name, kernel in kernels.items()}
    tests["aggregated"] = ds.TwoSample(ds.RBF(), scales=(0.25, 1.0, 4.0), **options)
    tests["several kernels"] = ds.TwoSample([ds.NegativeDistance(), ds.RBF()], **options)
    tests["biased"] = ds.TwoSample(ds.RBF(), estimator="biased", **options)
    tests["stopped early"] = ds.TwoSample(ds.RBF(), stop_above=0.05, **options)
    tests["classifier"] = ds.ClassifierTest(**options)
    found = {name: _result(test.test(x, y, groups=False)) for name, test in tests.items()}
    apart = np.arange(12) // 3, 10 + np.arange(10) // 3
    paired = np.arange(12) // 2, np.arange(10) // 2
    found["groups apart"] = _result(tests["RBF"].test(x, y, groups=apart))
    found["groups paired"] = _result(tests["RBF"].test(x, y, groups=paired))
    sequences = waves(10, 1, 16, seed=1), waves(9, 1, 16, seed=2)
    of_sequences: dict[str, Any] = {
        "DTW": ds.ExponentialKernel("dtw"),
        "GlobalAlignment": ds.GlobalAlignment(),
        "statistics": ds.EncoderKernel(tl.encode.StatisticsEncoder(), ds.RBF()),
    }
    for name, kernel in of_sequences.items():
        found[name] = _result(ds.TwoSample(kernel, **options).test(*sequences))
    planned = ds.power(x, y, ds.RBF(), level=0.05, target=0.8, random_state=0)
    return found | {"predicted power": [float(planned.probability(n)) for n in (10, 20)]}


def sequence_tests() -> Outputs:
    """Tests and monitors of sequences without a kernel, which compare features of Rocket and statistics."""
    sequences = waves(10, 1, 16, seed=1), waves(9, 1, 16, seed=2)
    options: dict[str, Any] = {"n_permutations": 99, "random_state": 0}
    monitor = ds.Drift(waves(20, 1, 16), false_alarm=0.01, random_state=0)
    return {
        "default": _result(ds.TwoSample(**options).test(*sequences)),
        "aggregated": _result(ds.TwoSample(scales=(0.25, 1.0, 4.0), **options).test(*sequences)),
        "classifier": _result(ds.ClassifierTest(**options).test(*sequences)),
        "drift": [float(monitor.update(waves(4, 1, 16, seed=at + 1)).evidence) for at in range(3)],
    }


def drift() -> Outputs:
    """Evidence of monitors along a stream of vectors that changes."""
    found: Outputs = {}
    streams = {"batches of 1": [1] * 6, "batches of 5": [5] * 6, "large batches": [2, 5] * 5 + [20, 20]}
    for name, sizes in streams.items():
        monitor = ds.Drift(vectors(20), kernel=ds.RBF(), false_alarm=0.01, random_state=0)
        shift = 0.3 if len(sizes) < 10 else 0.05
        batches = [vectors(size, shift=shift * at, seed=at + 1) for at, size in enumerate(sizes)]
        found[name] = [float(monitor.update(batch).evidence) for batch in batches]
    return found


def _result(test: Any) -> list[float]:
    return [float(test.statistic), float(test.p_value)]
