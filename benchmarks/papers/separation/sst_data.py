"""Monthly sea surface temperatures as anomalies of the months that are learned from, and the months asked about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

FILE = "ersst_monthly.npz"
YEAR, HORIZON = 12, 6
LEARNED = 96  # months
HELD_OUT = 72  # months learned from when settings are chosen, judged by those up to LEARNED
AROUND = 9  # cells of 2°, the side of a square of which the mean is a second channel
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sea:
    """Temperatures (month, latitude, longitude), NaN over land, and how many months are learned from and judged by."""

    temperatures: Floats
    learned: int

    @property
    def usual(self) -> Floats:
        """The mean of each calendar month, of the months that are learned from alone: (12, latitude, longitude)."""
        return np.stack([self.temperatures[month : self.learned : YEAR].mean(axis=0) for month in range(YEAR)])

    @property
    def anomalies(self) -> Floats:
        """What is not usual for the month."""
        return np.asarray(self.temperatures - self.usual[np.arange(len(self.temperatures)) % YEAR])

    @property
    def ocean(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.temperatures[0]))

    @property
    def starts(self) -> range:
        """The first month of every forecast that can be compared."""
        return range(self.learned, len(self.temperatures) - HORIZON + 1)

    def after(self, field: Floats) -> Floats:
        """What came, (start, step, latitude, longitude)."""
        return np.stack([field[start : start + HORIZON] for start in self.starts])


def sea(data: Path, held_out: bool = False) -> Sea:
    """All months, or those up to the end of what is learned from, of which the last are judged by."""
    path = data / FILE
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: --data DIR or TIMELIKE_DATA names the folder that holds it")
    with np.load(path) as held:
        temperatures = held["sst"].astype(np.float64)
    return Sea(temperatures[:LEARNED], HELD_OUT) if held_out else Sea(temperatures, LEARNED)


def surrounding(field: Floats, side: int = AROUND) -> Floats:
    """The mean over a square of cells around each, land left out, around the globe: (month, latitude, longitude)."""
    there = ~np.isnan(field)

    def spread(values: Floats) -> Floats:
        return np.asarray(uniform_filter(values, (0, side, side), mode=("nearest", "nearest", "wrap")))

    with np.errstate(invalid="ignore", divide="ignore"):
        found = spread(np.where(there, field, 0.0)) / spread(there.astype(np.float64))
    return np.where(there, found, np.nan)
