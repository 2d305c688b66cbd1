"""The figure of digits that particles became."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from timelike.distributions import plot_particle_images


def draw(particles: dict[str, Any], folder: Path) -> None:
    """The first 64 particles of every architecture, uncurated."""
    if particles:
        figure = plot_particle_images(particles)
        figure.savefig(folder / "gantk_digits.png", dpi=80, metadata={"Software": None})
