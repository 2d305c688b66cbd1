"""Studies of what discriminators teach: problems, figures, and grids of flows that can be resumed."""

from typing import TYPE_CHECKING

from ..._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .problems import (
        Problem as Problem,
        densities as densities,
        digits as digits,
        eight_gaussians as eight_gaussians,
        letters as letters,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
