"""SRVP: many futures of series and pictures, by random residual steps of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import nn

from ...core.parameters import store_parameters
from ...models import options
from ...models.options import Option
from ...sequences.sampling import RandomState
from ...train.processes import Accelerator, Precision, has_bfloat16
from ..chunks import PackedFrames
from ..codecs.codec_names import CodecOption
from ..latent_forecaster import LatentForecaster, OutputActivation, ScheduleOption, check_betas
from .experimental import (
    ExperimentalSRVPNetwork,
    ExperimentalSRVPObjective,
    ExperimentalWeights,
    check_delay_penalty,
    refuse_conflicting_options,
)
from .network import MIN_OBSERVATION_STD, DynamicsName, SRVPNetwork
from .objective import SRVPObjective
from .presets import PRESETS
from .rollout import SRVPBase


class SRVP(SRVPBase, LatentForecaster):
    """Many futures: a state that random residual steps move, drawn together with a content that stays.

    y_1 ~ N(0, I), z_{t+1} ~ N(μ(y_t), σ(y_t)), y_{t+1} = y_t + f(y_t, z_{t+1}), x_t ~ N(g(y_t, w), ν), learned by the
    evidence lower bound with an LSTM that infers z and a penalty on ‖f‖ (Franceschi, Delasalles, Chen, Lamprier and
    Gallinari, "Stochastic latent residual video prediction", ICML 2020; thesis, 2022, chapter 4). As a step is one of
    Euler's method, it can be divided: `predict(…, frames_per_step=2, substeps=2)` gives frames in between.

    For pictures and series whose future is uncertain: `predict(past, horizon, n_samples=100)` draws whole futures.
    Where one future is enough `Separation` is quicker to train. Pictures take long to learn on a processor: begin
    small, and look at `Persistence` and `Analog` in the same `backtest`.

    Parameters
    ----------
    conditioning : int
        Frames of a past that are looked at.
    chunk : int, optional
        Frames shown at a time in training: 20 more than the conditioning ones unless given, or fewer where sequences
        are short.
    n_state, n_random, n_content, n_code : int
        Sizes of y, z, w and of the code of a frame; n_random=0 leaves z out, so that futures differ by their first
        state alone, and n_content=0 leaves w out.
    n_content_frames : int
        How many frames w is made of, drawn from the chunk in training, the last of the past afterwards.
    codec : {"auto", "perceptron", "dcgan", "vgg", "resnet", "sprites"}
        Which networks; "auto" is the perceptron for vectors and "dcgan" for images. "sprites" draws `n_sprites` things
        that keep their look at the places that the state gives, added to a background: quicker to learn where pictures
        are of things that move whole.
    hidden, layers, filters, n_sprites, skips, shortcut
        Units and layers of perceptrons (and of the LSTM), channels of the first stage of convolutions, things that
        "sprites" draws, whether the decoder is given what the encoder's stages saw of one frame, and whether
        perceptrons have a linear map beside them.
    motion : {"residual", "perceptron", "gru"}
        How the state moves; the last two are the thesis's ablations.
    motion_hidden, gain : int, float
        Units of f and of the prior, and the gain with which f is drawn.
    substeps : int
        Into how many of Euler's steps a step is divided in training.
    observation_std : float, optional
        √ν, the deviation of frames from what is drawn, in the units that are compared: of the data if all of it lies in
        [0, 1], otherwise standardized. None is learned, at least 0.001. The thesis has 1 for digits: then a frame tells
        the states little, and a short training leaves them where the prior has them.
    beta, motion_penalty : float
        Weights of the divergences of z, and of how far the state moves (λ).
    delays, delay_penalty : bool, (float, float)
        Experimental: z is drawn anew after learned delays instead of at every frame, with the penalty λ₁ Σ 1/τ^λ₂ on
        short ones (8.1.1); `events(X)` says when. The thesis never made this better than without. Frames in between
        need no substeps.
    drift : float
        Experimental: the deviation by which the content may change from frame to frame, such as 0.05; contents lie
        about -1 and 1 (8.2.2.3). 0 keeps it still.
    invariance_weight, autoencoding_weight : float
        Experimental: weights of `Separation`'s terms, which merge both models (8.2.2.1): how little the content changes
        from the first window of a chunk to the last, and how well a state of any window and the content of the first
        give a frame again. 1 is a good beginning for both.
    output, scale, initialization, batch_size, learning_rate, weight_decay, betas, schedule, max_steps, max_time, \
validation, patience, standardize, checkpoint, progress, accelerator, devices, random_state
        As in `Separation`.

    precision : {"auto", "32-true", "64-true", "bf16-mixed", "bf16-true"}
        In which the network learns. "auto" mixes in bfloat16 for pictures where the processor multiplies such numbers,
        which is faster; elsewhere it is single (`benchmarks.speed.forecast` compares times and losses of both).
        Trainings of other precisions end in other weights, so "32-true" is for what must be repeated on any machine.

    Attributes
    ----------
    network_ : SRVPNetwork
        The torch module.
    history_ : History
        Losses of training, each part of the bound by its name.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> phase = np.random.default_rng(0).uniform(0, 6, (30, 1, 2))
    >>> X = np.sin(np.arange(40)[:, None] / 3 + phase)
    >>> model = tl.SRVP(max_steps=200, random_state=0).fit(X[:20])
    >>> futures = model.predict(X[20:, :20], horizon=20, n_samples=5)
    >>> futures.samples.shape
    (5, 10, 20, 2)
    >>> bool(np.mean((futures.mean - X[20:, 20:]) ** 2) < 0.5 * np.mean((X[20:, 19:20] - X[20:, 20:]) ** 2))
    True
    """

    n_state = options.width(1)
    n_random = options.width(0)
    n_content = options.width(0)
    n_code = options.width(1)
    n_content_frames = options.width(1)
    hidden = options.width(1)
    layers = options.depth(0)
    filters = options.width(1)
    n_sprites = options.width(1)
    skips = options.boolean()
    shortcut = options.boolean()
    motion = options.choice(*get_args(DynamicsName))
    motion_hidden = options.width(1)
    gain = options.real(above=0, role="training")
    substeps = options.integer(1, most=2**10)
    observation_std = options.nullable(options.real(above=0))
    beta = options.real(0, role="training")
    motion_penalty = options.real(0, role="training")
    delays = options.boolean()
    delay_penalty: Option[Any] = Option(check_delay_penalty, "training")
    drift = options.real(0)
    invariance_weight = options.real(0, role="training")
    autoencoding_weight = options.real(0, role="training")
    initialization = options.choice("torch", "thesis", role="training")
    scale = options.real(above=0, most=1e6)
    betas: Option[Any] = Option(check_betas, "training")
    precision = options.choice("auto", *get_args(Precision), role="training")

    network_: SRVPNetwork

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(PRESETS)
    _is_probabilistic: ClassVar[bool] = True

    def __init__(
        self,
        *,
        conditioning: int = 5,
        chunk: int | None = None,
        n_state: int = 48,
        n_random: int = 8,
        n_content: int = 32,
        n_code: int = 64,
        n_content_frames: int = 5,
        codec: CodecOption = "auto",
        hidden: int = 128,
        layers: int = 2,
        filters: int = 16,
        n_sprites: int = 2,
        skips: bool = False,
        shortcut: bool = True,
        motion: DynamicsName = "residual",
        motion_hidden: int = 128,
        gain: float = 0.2,
        substeps: int = 1,
        observation_std: float | None = None,
        beta: float = 1.0,
        motion_penalty: float = 0.1,
        delays: bool = False,
        delay_penalty: tuple[float, float] = (1.0, 1.0),
        drift: float = 0.0,
        invariance_weight: float = 0.0,
        autoencoding_weight: float = 0.0,
        output: OutputActivation = "auto",
        scale: float = 1.0,
        initialization: Literal["torch", "thesis"] = "torch",
        batch_size: int = 64,
        learning_rate: float = 5e-3,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        schedule: ScheduleOption = "one_cycle",
        max_steps: int | None = None,
        max_time: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision | Literal["auto"] = "auto",
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.motion != "residual" and self.substeps > 1:
            raise ValueError(
                f"substeps={self.substeps}: motion={self.motion!r} moves a whole step at a time, expected 1; "
                "motion='residual' can be divided"
            )
        if self.codec == "sprites" and self.skips:
            raise ValueError("skips=True: codec='sprites' draws from the content and the state alone, use skips=False")
        refuse_conflicting_options(self)

    def _precision(self) -> Precision:
        if self.precision != "auto":
            return super()._precision()
        return "bf16-mixed" if self._uses_images() and self.accelerator == "cpu" and has_bfloat16() else "32-true"

    def _divergence_hint(self) -> str:
        if self.observation_std is None or self.observation_std >= MIN_OBSERVATION_STD:
            return ""
        return (
            f"observation_std={self.observation_std:g} is so small that squares divided by its own are huge, "
            "leave it out; else "
        )

    def _is_experimental(self) -> bool:
        return bool(self.delays or self.drift or self.invariance_weight or self.autoencoding_weight)

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        names = ("conditioning", "n_state", "n_random", "n_content", "n_code", "layers", "skips", "shortcut", "motion")
        given: dict[str, Any] = {
            name: getattr(self, name) for name in (*names, "n_sprites", "substeps", "gain", "initialization")
        }
        for name in ("hidden", "filters", "motion_hidden"):
            given[name] = max(1, round(self.scale * getattr(self, name)))
        kind: Callable[..., SRVPNetwork] = SRVPNetwork
        if self._is_experimental():
            kind = partial(
                ExperimentalSRVPNetwork, delays=self.delays, content_drift=self.drift, max_delay=self.chunk_ - 1
            )
        return kind(
            self.cells_.frame if self._uses_images() else self.cells_.n_cells,
            codec=self._resolve_codec(),
            use_sigmoid=self.uses_sigmoid_,
            observation_std=self.observation_std,
            **given,
        )

    def _make_chunk_objective(
        self,
        length: int,
        material: PackedFrames,
        held_out: PackedFrames | None,
        more: Callable[[np.random.Generator], PackedFrames] | None,
    ) -> SRVPObjective:
        kind: Callable[..., SRVPObjective] = SRVPObjective
        if self._is_experimental():
            extra_weights = ExperimentalWeights(
                self.delay_penalty[0], self.delay_penalty[1], self.invariance_weight, self.autoencoding_weight
            )
            kind = partial(ExperimentalSRVPObjective, extra_weights=extra_weights)
        return kind(
            self.network_,
            material,
            length=length,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            betas=tuple(self.betas),
            held_out=held_out,
            sample_more=more,
            n_content_frames=min(self.n_content_frames, length),
            beta=self.beta,
            motion_penalty=self.motion_penalty,
            valid_mask=torch.from_numpy(self.cells_.valid_mask)
            if self._uses_images() and self.cells_.is_masked
            else None,
            scaler=self._scaler_tensors() if self.uses_sigmoid_ else None,
        )

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        sizes = {"n_state": 3, "n_random": 2, "n_content": 3, "n_code": 4, "motion_hidden": 4, "filters": 2}
        return {"conditioning": 2, "batch_size": 8, **sizes}
