"""(past, horizon) → future: forecasters, baselines beside which they stand, and backtests."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .base import Forecaster as Forecaster
    from .baselines.persistence import Persistence as Persistence
    from .calibration import Calibration as Calibration
    from .result import Forecast as Forecast

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
