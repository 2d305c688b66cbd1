"""Encoders, which turn sequences into vectors, and the classifiers and regressors on top of them."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import Encoder as Encoder, Stream as Stream
    from .causal.estimator import CausalEncoder as CausalEncoder
    from .causal.network import CausalNetwork as CausalNetwork
    from .combined import CombinedEncoder as CombinedEncoder, combine as combine
    from .frames import FrameEncoder as FrameEncoder, FrameNetwork as FrameNetwork
    from .heads.estimators import EmbeddingClassifier as EmbeddingClassifier, EmbeddingRegressor as EmbeddingRegressor
    from .images.estimator import ImageEncoder as ImageEncoder
    from .images.network import ImageNetwork as ImageNetwork
    from .losses import NTXent as NTXent, TLoss as TLoss, VICReg as VICReg
    from .maps import EmbeddingMap as EmbeddingMap, embedding_map as embedding_map
    from .onnx.estimator import OnnxEncoder as OnnxEncoder
    from .recurrent import RecurrentEncoder as RecurrentEncoder, RecurrentNetwork as RecurrentNetwork
    from .rocket.estimator import Rocket as Rocket
    from .statistics.estimator import StatisticsEncoder as StatisticsEncoder
    from .vectors import VectorEncoder as VectorEncoder, VectorNetwork as VectorNetwork

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__, top=("CausalEncoder", "EmbeddingClassifier", "EmbeddingRegressor", "RecurrentEncoder", "Rocket")
    )
