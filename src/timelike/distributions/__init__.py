"""(sample, sample) → statistic: kernels, discrepancies, exact two-sample tests, drift."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .discrepancy.mmd import Witness as Witness, energy as energy, mmd as mmd, witness as witness
    from .discrepancy.sinkhorn import sinkhorn_divergence as sinkhorn_divergence
    from .discriminators.base import Critic as Critic, as_discriminator as as_discriminator
    from .discriminators.finite import FiniteDiscriminator as FiniteDiscriminator
    from .discriminators.functions import FunctionDiscriminator as FunctionDiscriminator
    from .discriminators.hinge import HingeGAN as HingeGAN
    from .discriminators.ipm import IPM as IPM
    from .discriminators.lsgan import LSGAN as LSGAN
    from .discriminators.vanilla import VanillaGAN as VanillaGAN
    from .drift.estimator import Drift as Drift
    from .drift.report import DriftReport as DriftReport, DriftUpdate as DriftUpdate
    from .drift.stream import DriftStream as DriftStream
    from .flows.descent import Flow as Flow, FlowDiverged as FlowDiverged, descend as descend
    from .flows.generator import Generator as Generator, train_generator as train_generator
    from .kernels.algebra import Product as Product, ScaledKernel as ScaledKernel, Sum as Sum
    from .kernels.alignments import ExponentialKernel as ExponentialKernel, GlobalAlignment as GlobalAlignment
    from .kernels.base import Kernel as Kernel
    from .kernels.encoders import EncoderKernel as EncoderKernel
    from .kernels.polynomial import Linear as Linear, Polynomial as Polynomial
    from .kernels.prototypes import PrototypesKernel as PrototypesKernel
    from .kernels.radial import (
        RBF as RBF,
        Laplacian as Laplacian,
        Matern as Matern,
        NegativeDistance as NegativeDistance,
        RationalQuadratic as RationalQuadratic,
    )
    from .plots import (
        dirac_moves as dirac_moves,
        plot_dirac_fields as plot_dirac_fields,
        plot_landscapes as plot_landscapes,
        plot_particle_images as plot_particle_images,
        plot_particles as plot_particles,
        plot_profiles as plot_profiles,
    )
    from .tangent.empirical import EmpiricalNTK as EmpiricalNTK, empirical_ntk as empirical_ntk
    from .tangent.ntk import NTK as NTK, ConjugateKernel as ConjugateKernel
    from .two_sample.classifier import ClassifierTest as ClassifierTest
    from .two_sample.differences import Differences as Differences, differences as differences
    from .two_sample.estimator import TwoSample as TwoSample
    from .two_sample.power import Power as Power, power as power
    from .two_sample.result import KernelResult as KernelResult, TestResult as TestResult

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
