"""(sample, sample) → statistic: kernels, discrepancies, exact two-sample tests, drift."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import studies as studies
    from .discrepancy.means import Witness as Witness, energy as energy, mmd as mmd, witness as witness
    from .discrepancy.transport import sinkhorn_divergence as sinkhorn_divergence
    from .discriminators.base import as_discriminator as as_discriminator
    from .discriminators.critic import Critic as Critic
    from .discriminators.external import External as External
    from .discriminators.finite import Finite as Finite
    from .discriminators.hinge import Hinge as Hinge
    from .discriminators.ipm import IPM as IPM
    from .discriminators.lsgan import LSGAN as LSGAN
    from .discriminators.vanilla import Vanilla as Vanilla
    from .drift.estimator import Drift as Drift
    from .drift.report import DriftReport as DriftReport
    from .drift.stream import DriftStream as DriftStream
    from .drift.update import Update as Update
    from .explaining import Differences as Differences, differences as differences
    from .flows.descent import descend as descend
    from .flows.generator import Generator as Generator, train_generator as train_generator
    from .flows.record import Flow as Flow, FlowDiverged as FlowDiverged
    from .kernels.algebra import Product as Product, Scaled as Scaled, Sum as Sum
    from .kernels.alignments import Exponential as Exponential, GlobalAlignment as GlobalAlignment
    from .kernels.base import Kernel as Kernel
    from .kernels.learned import Embedded as Embedded, Learned as Learned, of as of
    from .kernels.products import Linear as Linear, Polynomial as Polynomial
    from .kernels.radial import (
        RBF as RBF,
        Laplace as Laplace,
        Matern as Matern,
        NegativeDistance as NegativeDistance,
        RationalQuadratic as RationalQuadratic,
    )
    from .planning import Power as Power, power as power
    from .tangent.empirical import Empirical as Empirical, empirical_ntk as empirical_ntk
    from .tangent.kernels import NTK as NTK, Conjugate as Conjugate
    from .two_sample.classifier import ClassifierTest as ClassifierTest
    from .two_sample.estimator import TwoSample as TwoSample
    from .two_sample.result import Part as Part, TestResult as TestResult

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
