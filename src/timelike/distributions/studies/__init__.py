"""Studies of what discriminators teach: problems, figures, and grids of flows that can be resumed."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from ..discriminators.plots import (
        dirac_moves as dirac_moves,
        plot_dirac_fields as plot_dirac_fields,
        plot_landscapes as plot_landscapes,
        plot_particle_images as plot_particle_images,
        plot_particles as plot_particles,
        plot_profiles as plot_profiles,
    )
    from .grid import run_study as run_study
    from .problems import (
        FlowProblem as FlowProblem,
        densities as densities,
        digits as digits,
        eight_gaussians as eight_gaussians,
        letters as letters,
    )
    from .result import Study as Study
    from .settings import (
        thesis_discriminator as thesis_discriminator,
        thesis_kernel as thesis_kernel,
        thesis_step as thesis_step,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
