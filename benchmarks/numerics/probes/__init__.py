"""The probes: a public function per system, in a module per package of the library.

A probe uses public names of the library only, so that it outlives a restructuring; its data are made here and not by
the library. It trains in double precision for a few steps: the losses of the steps and the answers afterwards contain
the initial weights, the batches, the loss, its gradients, the optimizer and the schedule.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from benchmarks.numerics.probes import align, distributions, encode, forecast, metric, recognize, score, sequences
from benchmarks.numerics.probes.small_data import Outputs

MODULES = (align, distributions, encode, forecast, metric, recognize, score, sequences)
PROBES: dict[str, Callable[[], Outputs]] = {
    name: probe
    for module in MODULES
    for name, probe in inspect.getmembers(module, inspect.isfunction)
    if probe.__module__ == module.__name__ and not name.startswith("_")
}


def compute_outputs(system: str) -> Outputs:
    """The numbers of a system's probe, computed now in one thread; refuses what is not finite."""
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps on eight sequences learn nothing, and the library says so
        outputs = PROBES[system]()
    for name, values in outputs.items():
        if not values or not all(map(math.isfinite, values)):
            raise ValueError(f"the probe of {system!r} gives {values} for {name!r}: expected finite numbers")
    return outputs


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
