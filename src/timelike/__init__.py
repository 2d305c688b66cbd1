"""timelike learns which sequences are alike, how they line up in time, and what comes next."""

# names with an underscore: what this module imports for itself must not be reachable as `timelike.NAME`
import typing as _typing
from importlib import import_module as _import_module

from ._exports import (
    import_public as _import_public,
    package_names as _package_names,
    top_level_names as _top_level_names,
)

if _typing.TYPE_CHECKING:  # for type checkers; at run time each package declares its names at the top
    from . import (
        align as align,
        attacks as attacks,
        cluster as cluster,
        distributions as distributions,
        encode as encode,
        evaluate as evaluate,
        forecast as forecast,
        metric as metric,
        models as models,
        native as native,
        neighbors as neighbors,
        nn as nn,
        plotting as plotting,
        prepare as prepare,
        prototypes as prototypes,
        report as report,
        score as score,
        sequences as sequences,
        train as train,
        verify as verify,
    )
    from .align import (
        ADTW as ADTW,
        DDTW as DDTW,
        DTW as DTW,
        EDR as EDR,
        ERP as ERP,
        GDTW as GDTW,
        LCSS as LCSS,
        MSM as MSM,
        OPW as OPW,
        OT as OT,
        TWE as TWE,
        WDTW as WDTW,
        Alignment as Alignment,
        Euclidean as Euclidean,
        Matches as Matches,
        Sinkhorn as Sinkhorn,
        SoftDTW as SoftDTW,
        barycenter as barycenter,
        matrix_profile as matrix_profile,
        subsequence as subsequence,
    )
    from .cluster import KMeans as KMeans, KMedoids as KMedoids
    from .encode import (
        CausalEncoder as CausalEncoder,
        EmbeddingClassifier as EmbeddingClassifier,
        EmbeddingRegressor as EmbeddingRegressor,
        RecurrentEncoder as RecurrentEncoder,
        Rocket as Rocket,
    )
    from .evaluate import compare as compare
    from .forecast import SRVP as SRVP, Separation as Separation
    from .metric import (
        TAP as TAP,
        CoupledGRU as CoupledGRU,
        Discriminant as Discriminant,
        Fused as Fused,
        SiameseGRU as SiameseGRU,
    )
    from .models import load_model as load_model, save_model as save_model
    from .neighbors import Neighbors as Neighbors, NeighborsRegressor as NeighborsRegressor
    from .prototypes import Prototypes as Prototypes
    from .sequences import Sequences as Sequences, concat as concat, load as load
    from .train import Trainer as Trainer
    from .verify import Verifier as Verifier

__version__ = "0.1.0"


if not _typing.TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> _typing.Any:
        if name in _listed_modules():
            return _import_public(f"{__name__}.{name}", f"{__name__}.{name}")
        if name == "__all__":
            return [*sorted(_top_level_names()), *_listed_modules()]
        homes = {} if name.startswith("_") else _top_level_names()
        if name not in homes:
            raise AttributeError(f"module 'timelike' has no attribute {name!r}")
        value = getattr(_import_module(homes[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*_top_level_names(), *_listed_modules(), "__version__"])


def _listed_modules() -> tuple[str, ...]:
    """The packages, and the index of torch modules."""
    return (*_package_names(), "nn")
