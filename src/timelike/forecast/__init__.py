"""(past, horizon) → future: forecasters, baselines beside which they stand, and backtests."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .backtesting.result import Backtest as Backtest
    from .backtesting.running import backtest as backtest
    from .base import Forecaster as Forecaster
    from .baselines.analog import Analog as Analog
    from .baselines.autoregression import AR as AR
    from .baselines.climatology import Climatology as Climatology
    from .baselines.dmd import DMD as DMD
    from .baselines.mean import Mean as Mean
    from .baselines.persistence import Persistence as Persistence
    from .baselines.ridge import Ridge as Ridge
    from .baselines.seasonal import SeasonalNaive as SeasonalNaive
    from .calibration import Calibration as Calibration
    from .exhibits import Passage as Passage, Swaps as Swaps, passage as passage, swaps as swaps
    from .result import Forecast as Forecast
    from .separation.estimator import Separation as Separation
    from .separation.network import SeparationNetwork as SeparationNetwork
    from .srvp.elbo import Elbo as Elbo
    from .srvp.estimator import SRVP as SRVP
    from .srvp.network import SRVPNetwork as SRVPNetwork

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "AR",
            "Analog",
            "Backtest",
            "Calibration",
            "Climatology",
            "DMD",
            "Elbo",
            "Forecast",
            "Forecaster",
            "Mean",
            "Passage",
            "Persistence",
            "Ridge",
            "SRVPNetwork",
            "SeasonalNaive",
            "SeparationNetwork",
            "Swaps",
            "backtest",
            "passage",
            "swaps",
        ),
    )
