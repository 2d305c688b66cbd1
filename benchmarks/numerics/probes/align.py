"""Alignments without learning, and GDTW as a layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

import timelike as tl
from benchmarks.numerics.probes.small_data import Outputs, summarize, vectors, waves
from timelike.align import layers


def elastic() -> Outputs:
    """Distances of the aligners that programs name, the search for a window, and soft-DTW's gradient."""
    x, y = waves(6, seed=1), waves(5, seed=2)
    equal = waves(6, equal=True)
    aligners: dict[str, Any] = {
        "DTW": tl.DTW(),
        "DTW, per length": tl.DTW(normalize="length"),
        "DTW, per step": tl.DTW(normalize="steps"),
        "DTW, band": tl.DTW(band="slanted", window=0.2),
        "soft-DTW": tl.SoftDTW(),
        "soft-DTW, 0.1": tl.SoftDTW(gamma=0.1),
    }
    found = {name: summarize(aligner.pairwise(x, y, n_jobs=1)) for name, aligner in aligners.items()}
    found["Euclidean"] = summarize(tl.Euclidean().pairwise(equal, n_jobs=1))
    found["free ends"] = summarize([[tl.subsequence(one[:5], two)[0].distance for two in y] for one in x])
    windowed = tl.Neighbors(tl.DTW(band="slanted"), select_window=True).fit(x, x.labels)
    found["chosen window"] = summarize(windowed.kneighbors(y, 2)[0])
    sides = [torch.tensor(np.stack(list(part)), requires_grad=True) for part in (equal[:3], equal[3:])]
    value = layers.SoftDTW(gamma=0.5)(*sides)
    torch.autograd.backward(value.sum())
    assert sides[0].grad is not None
    return found | {"gradient": summarize(sides[0].grad), "layer": summarize(value.detach())}


def transport() -> Outputs:
    """Distances by transport."""
    x, y = waves(4, seed=1), waves(3, seed=2)
    aligners: dict[str, Any] = {"OPW": tl.OPW(), "Sinkhorn": tl.Sinkhorn(), "TCOT": tl.align.TCOT()}
    return {name: summarize(aligner.pairwise(x, y, n_jobs=1)) for name, aligner in aligners.items()}


def decdtw() -> Outputs:
    """Warps, objectives and gradients of GDTW with free parameters, and the losses that warps are learned by."""
    knots = torch.linspace(0, 1, 9, dtype=torch.float64)
    truth = 11 * torch.stack([knots**1.3, knots**0.8])
    turns = torch.tensor([[0.5, 0.9], [0.7, 0.3]], dtype=torch.float64)[:, None]
    y = torch.sin(turns * torch.arange(12, dtype=torch.float64)[:, None])
    x = torch.sin(turns * truth[..., None]) + 0.05 * torch.cos(9 * knots[:, None] + turns)
    weight = torch.tensor(0.02, dtype=torch.float64, requires_grad=True)
    slope = torch.tensor(0.7, dtype=torch.float64, requires_grad=True), 1.2
    found: Outputs = {}
    options: dict[str, dict[str, Any]] = {
        "usual": {},
        "grid of 50": {"grid": 50, "refinements": 1},
        "subsequence": {"subsequence": True},
        "slopes": {"slope": slope},
        "weights": {"regularization": torch.linspace(0.01, 0.1, 8, dtype=torch.float64).expand(2, -1)},
    }
    for name, more in options.items():
        given = x.clone().requires_grad_()
        solved = layers.DecDTW(**({"regularization": weight} | more))(given, y)
        loss = layers.TimeErr()(solved.phi, truth).sum() + layers.TimeDev()(solved.phi, truth).sum()
        learned = slope[0] if name == "slopes" else weight
        gradient, other = torch.autograd.grad(loss, [given, learned], allow_unused=name == "weights")
        found[f"{name}: warp"] = summarize(solved.phi.detach())
        found[f"{name}: objective"] = summarize(solved.objective.detach())
        found[f"{name}: gradient"] = summarize(gradient)
        if other is not None:
            found[f"{name}: gradient of a parameter"] = [float(other)]
    rough_x, rough_y = (torch.tensor(vectors(6 * n, 2, seed=n)).reshape(6, n, 2).cumsum(1) for n in (9, 12))
    given = rough_x.clone().requires_grad_()
    middle = torch.linspace(0, 11, 9, dtype=torch.float64, requires_grad=True)
    limits = (middle - 1.5).clamp(0, 11), (middle + 1.5).clamp(0, 11)
    solved = layers.DecDTW(regularization=2.0, bounds=limits)(given, rough_y)  # many values on bounds and at kinks
    found["rough, bounds: warp"] = summarize(solved.phi.detach())
    slopes = torch.autograd.grad((solved.phi * torch.arange(9.0)).sum(), [given, middle])
    found["rough, bounds: gradients"] = [*summarize(slopes[0]), *summarize(slopes[1])]
    plain = layers.DecDTW(regularization=0.02, grid=20, refinements=0)
    plain.search = replace(plain.search, polish=False)
    found["grid alone: warp"] = summarize(plain(x, y).phi)
    omega = torch.cdist(torch.linspace(0, 1, 9)[None, :, None], torch.linspace(0, 1, 12)[None, :, None]).double()
    found["DILATE"] = summarize(layers.DILATE(alpha=0.0, gamma=0.1)(x, y, omega=omega.expand(2, -1, -1)))
    places = torch.stack([y[..., 0], y[..., 0].cumsum(1)], dim=-1)
    largest = layers.MaxError(squared=True)(truth, places[:, :9], through=layers.Positions(places))
    return found | {"largest error": summarize(largest)}
