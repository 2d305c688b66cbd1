"""How large each step of a flow is: a schedule of factors, and the matrix by which particles move each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float
from ...train.history import History
from ...train.schedules import Plateau, Schedule
from ..kernels.base import Kernel, as_kernel

Floats = NDArray[np.float64]


def step_factors(schedule: Any, steps: int) -> Floats:
    """The factor of every step, (step,).

    >>> step_factors((1, 0.1), 4), step_factors(lambda done: 0.5**done, 3)
    (array([1. , 1. , 0.1, 0.1]), array([1.  , 0.5 , 0.25]))
    """
    found = [_check_factor(factor, done) for done, factor in enumerate(_schedule_factors(schedule, steps))]
    if not any(found):
        raise ValueError("schedule is 0 at every step: expected factors, of which some are greater than 0")
    return np.array(found)


def _schedule_factors(schedule: Any, steps: int) -> list[Any]:
    if schedule is None:
        return [1.0] * steps
    if isinstance(schedule, Plateau):
        raise ValueError("schedule=Plateau() waits for a loss to stop falling, and a flow has none: use LinearDecay()")
    if isinstance(schedule, Schedule):
        schedule.check(steps)
        return [schedule.factor(done, steps, History()) for done in range(steps)]
    if isinstance(schedule, Callable):  # type: ignore[arg-type]
        return [schedule(done) for done in range(steps)]
    parts = np.asarray(schedule).tolist() if isinstance(schedule, Sequence | np.ndarray) else None
    if isinstance(schedule, str) or not parts or not isinstance(parts, list) or len(parts) > steps:
        raise TypeError(
            f"schedule={schedule!r:.60}: expected a schedule such as timelike.train.LinearDecay(), a function of the "
            f"steps done, or at most steps={steps} factors, each for an equal part of the flow, such as (1, 1, 1, 0.1)"
        )
    return [parts[done * len(parts) // steps] for done in range(steps)]


def _check_factor(factor: Any, done: int) -> float:
    return check_float(factor, f"the factor of the schedule after {done} steps", 0.0)


def coupling(geometry: Any, codes: Any, start: Floats) -> Floats | None:
    """k_g(z_i, z_j) / n of all particles, (item, item): what a gradient at one moves the others by; None for itself."""
    if geometry is None:
        if codes is not None:
            raise ValueError("codes mean nothing without a geometry: give geometry=NTK(), or another kernel of them")
        return None
    n = len(start)
    if isinstance(geometry, Kernel) or callable(geometry):
        kernel: Any = as_kernel(geometry, "geometry")
        places = (
            start.reshape(n, -1) if codes is None and kernel.domain == "vectors" else start if codes is None else codes
        )
        if len(places) != n:
            raise ValueError(f"codes has {len(places)} items: expected one for each particle, {n}")
        matrix = np.asarray(kernel(places), np.float64)
    elif codes is not None:
        raise ValueError("codes mean nothing to a geometry that is a matrix: give one of the two")
    else:
        matrix = _validate_geometry(geometry, n)
    return np.ascontiguousarray(matrix / n)


def _validate_geometry(geometry: Any, n: int) -> Floats:
    try:
        if np.iscomplexobj(geometry):
            raise TypeError("complex numbers")
        matrix = np.asarray(geometry, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"geometry={geometry!r:.60}: expected a kernel such as NTK(), a real matrix (item, item), or None"
        ) from None
    if matrix.shape != (n, n):
        raise ValueError(
            f"geometry has shape {matrix.shape}: expected ({n}, {n}), a row and a column for each particle"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("geometry has nan or infinity in it: expected finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * max(1e-300, np.abs(matrix).max())):
        raise ValueError("geometry is not symmetric: expected k(z_i, z_j) = k(z_j, z_i); use (K + K.T) / 2")
    return matrix
