"""(past, horizon) → future: forecasters, the baselines they are compared with, and backtests."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import codecs as codecs
    from .backtests.backtest import Backtest as Backtest, backtest as backtest
    from .base import Forecaster as Forecaster
    from .baselines.analog import Analog as Analog
    from .baselines.autoregression import AR as AR
    from .baselines.climatology import Climatology as Climatology
    from .baselines.dmd import DMD as DMD
    from .baselines.mean import Mean as Mean
    from .baselines.persistence import Persistence as Persistence
    from .baselines.ridge import Ridge as Ridge
    from .baselines.seasonal import SeasonalNaive as SeasonalNaive
    from .calibration import ConformalCalibration as ConformalCalibration
    from .dynamics import RandomDynamics as RandomDynamics, StateDynamics as StateDynamics
    from .examples import ForecastExamples as ForecastExamples, forecast_examples as forecast_examples
    from .result import Forecast as Forecast
    from .separation.estimator import Separation as Separation
    from .separation.network import SeparationNetwork as SeparationNetwork
    from .separation.objective import SeparationLoss as SeparationLoss
    from .srvp.estimator import SRVP as SRVP, Elbo as Elbo
    from .srvp.experimental import Experimental as Experimental
    from .srvp.network import Inference as Inference, SRVPNetwork as SRVPNetwork
    from .swap_grids import (
        LatentInterpolation as LatentInterpolation,
        SwapGrid as SwapGrid,
        latent_interpolation as latent_interpolation,
        swap_grid as swap_grid,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("SRVP", "Separation"))
