"""Studies of what discriminators teach: problems, figures, and grids of flows that can be resumed."""

from typing import TYPE_CHECKING

from ..._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .figures import (
        dirac_fields as dirac_fields,
        dirac_moves as dirac_moves,
        landscapes as landscapes,
        particles as particles,
        pictures as pictures,
        profiles as profiles,
    )
    from .grid import run as run
    from .problems import (
        Problem as Problem,
        densities as densities,
        digits as digits,
        eight_gaussians as eight_gaussians,
        letters as letters,
    )
    from .result import Study as Study
    from .settings import discriminator as discriminator, kernel as kernel, thesis_step as thesis_step

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
