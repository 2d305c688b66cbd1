"""Separation: forecasts by a content that stays and a state that a learned equation moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import nn

from ...models import learned, options
from ...models.options import Option
from ...sequences import Sequences
from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train import Objective
from ...train.processes import Accelerator, Precision
from ..cells import Known, check_known
from ..chunks import Material
from ..codecs.naming import PLAIN, Codec, Codecs
from ..dynamics import SOLVERS
from ..latent import LatentForecaster, Output, Schedules, averages
from .answering import Answering
from .network import Combine, SeparationNetwork
from .objective import Separating, Weights
from .presets import PRESETS
from .renewing import better_renewed

_WALKED = 24  # steps over which a state may grow as much as a block's gain lets it: those of the usual chunk
_TRIED_TWICE = 4.0  # steps that take as long as forecasts with and without renewed states
_NOISE, _FEW = 0.3, 300  # deviations, and the chunks up to which there is so much of it


class Separation(Answering, LatentForecaster):
    """Forecasts by separation of variables: a content w that stays, and a state y that an equation moves.

    x̂_t = g(w, y_t), dy/dt = f(y), with w and y_0 read off a window of `conditioning` frames by two encoders. Learned by
    the error of predictions over a chunk, of frames that are encoded and drawn again, by how little w changes between
    the first and the last window of a chunk, and by a small y_0, so that what stays is left to w (Franceschi, 2022,
    chapter 5; Donà et al., "PDE-driven spatiotemporal disentanglement", ICLR 2021).

    For vectors, images and gridded fields whose cells may be masked (NaN at all times). As the state moves in
    continuous time, timestamps may be irregular, and `frames_per_step` gives frames between two steps. It has one
    future for a past: for intervals, `calibrate`. Not for series that are mostly noise, or that are linear: look at
    `Ridge`, `Analog` and `SeasonalNaive` in the same `backtest` first.

    Parameters
    ----------
    conditioning : int
        Frames of a past that are looked at.
    chunk : int, optional
        Frames shown at a time in training, conditioning ones included: 20 more than these unless given, or fewer where
        sequences are short.
    n_content, n_state : int
        Sizes of w and y; channels of maps with `maps`.
    content : bool
        False leaves w out, and y has both sizes (the thesis's ablation).
    combine : {"concatenate", "multiply"}
        How w and y enter the decoder; "multiply" needs equal sizes and suits waves.
    codec : {"auto", "perceptron", "dcgan", "vgg", "resnet"}
        Which networks; "auto" is the perceptron for vectors and "dcgan" for images.
    hidden, layers, decoder_hidden, decoder_layers : int
        Units and layers of the perceptrons; the decoder's are the encoders' unless given.
    filters : int
        Channels of the first stage of convolutions.
    skips : bool
        Whether the decoder of pictures is given what the stages of the content's encoder saw.
    maps : bool
        Whether codes of pictures are maps, moved by convolutions, not vectors (C.6.2).
    shortcut : bool
        Whether perceptrons have a linear map beside them, which is not in the thesis and learns faster.
    solver : str
        "residual" (Euler), "gru" (no equation: the ablation), or a solver of torchdiffeq such as "rk4", "dopri5".
    blocks, tied : int, bool
        How many residual blocks move a step, and whether they are the same; a solver has one.
    dynamics_hidden, gain : int, float
        Units of a block, and the gain with which it is drawn; where a state is moved over more than 24 steps of a
        chunk, gain³ is divided by as many times more as they are, so that no state explodes before anything is learned.
    renewed : bool, optional
        Whether the state is read off the forecast's own last frames each time it has been moved as far as in training:
        an equation says nothing about where no state has been, and longer forecasts may soon leave the data. Unless
        given, whichever is better on up to 64 windows of what is learned from, and True where sequences are too short
        to tell.
    offset : bool
        Whether the state stands for the frame after the window instead of its first (C.5.4): for chaotic fields.
    output : {"auto", "linear", "sigmoid"}
        "auto" squashes frames to (0, 1) if all that is learned from lies in [0, 1].
    prediction, autoencoding, invariance, smallness : float
        Weights of the four terms of the loss; 0 leaves one out.
    intervals : int
        Into how many intervals a chunk is divided, over each of which w is not to change (C.15).
    jitter : float, optional
        Noise on what encoders see in training, in deviations of the data, against learning few chunks by heart. Unless
        given 0.3 for up to 300 chunks, and less the more there are: 90 divided by their number.
    drawn : {"torch", "thesis"}
        How weights of codecs are drawn: torch's way, or normal with deviation 0.02.
    known : list of int or str, optional
        Channels known in advance, such as the hour or a planned input: they are not forecast, and `predict` asks for
        their values over the horizon.
    scale : float
        Factor of all sizes but those of w and y: `Separation.preset("waves-100", scale=0.1)` has a tenth of the units.
    batch_size, learning_rate, decay, betas, schedule, max_steps, max_time, validation, patience
        Training: chunks of a step, Adam's rate, decay of weights and averages, a rate that is a "cycle", "constant" or
        "linear" (which falls to 0 over the last tenth of the steps) or follows a schedule such as
        `train.Linear(share=0.25)`, budgets (20 passes, between 500 and 2000 steps and at most 120 s unless given), the
        share of sequences held out where there are 20 or more, and the steps without progress on them after which it
        ends.
    standardize, checkpoint, progress, accelerator, devices, precision, random_state
        As in `CausalEncoder`.

    Attributes
    ----------
    network_ : SeparationNetwork
        The torch module.
    history_ : History
        Losses of training, each term by its name.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> phase = np.random.default_rng(0).uniform(0, 6, (30, 1, 2))
    >>> X = np.sin(np.arange(40)[:, None] / 3 + phase)
    >>> model = tl.Separation(max_steps=300, random_state=0).fit(X[:20])
    >>> future = model.predict(X[20:, :20], horizon=20)
    >>> bool(np.mean((future.mean - X[20:, 20:]) ** 2) < 0.1 * np.mean((X[20:, 19:20] - X[20:, 20:]) ** 2))
    True
    >>> model.calibrate(X[20:]).predict(X[20:, :20], horizon=20).interval(0.8)[0].shape
    (10, 20, 2)
    """

    codec = options.one_of(*PLAIN)
    n_content = options.width(1)
    n_state = options.width(1)
    content = options.flag()
    combine = options.one_of(*get_args(Combine))
    hidden = options.width(1)
    layers = options.depth(0)
    decoder_hidden = options.maybe(options.width(1))
    decoder_layers = options.maybe(options.depth(0))
    filters = options.width(1)
    skips = options.flag()
    maps = options.flag()
    shortcut = options.flag()
    solver = options.one_of(*SOLVERS)
    blocks = options.depth(1)
    tied = options.flag()
    dynamics_hidden = options.width(1)
    gain = options.real(above=0, role="training")
    renewed = options.maybe(options.flag("free"))
    offset = options.flag()
    prediction = options.real(above=0, role="training")
    autoencoding = options.real(0, role="training")
    invariance = options.real(0, role="training")
    smallness = options.real(0, role="training")
    intervals = options.whole(1, "training", most=2**20)
    jitter = options.maybe(options.real(0, role="training"))
    drawn = options.one_of("torch", "thesis", role="training")
    known = options.maybe(Option(check_known))
    scale = options.real(above=0, most=1e6)
    betas: Option[Any] = Option(averages, "training")

    network_: SeparationNetwork
    renewed_: bool = learned.flag()

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(PRESETS)

    def __init__(
        self,
        *,
        conditioning: int = 5,
        chunk: int | None = None,
        n_content: int = 32,
        n_state: int = 32,
        content: bool = True,
        combine: Combine = "concatenate",
        codec: Codecs = "auto",
        hidden: int = 128,
        layers: int = 2,
        decoder_hidden: int | None = None,
        decoder_layers: int | None = None,
        filters: int = 16,
        skips: bool = False,
        maps: bool = False,
        shortcut: bool = True,
        solver: str = "residual",
        blocks: int = 1,
        tied: bool = False,
        dynamics_hidden: int = 128,
        gain: float = 0.71,
        renewed: bool | None = None,
        offset: bool = False,
        output: Output = "auto",
        prediction: float = 45.0,
        autoencoding: float = 1.0,
        invariance: float = 45.0,
        smallness: float = 1e-3,
        intervals: int = 1,
        jitter: float | None = None,
        drawn: Literal["torch", "thesis"] = "torch",
        known: Known = None,
        scale: float = 1.0,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.99),
        schedule: Schedules = "cycle",
        max_steps: int | None = None,
        max_time: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.combine == "multiply" and self.content and self.n_content != self.n_state:
            raise ValueError(
                f"combine='multiply' multiplies w and y, and n_content={self.n_content}, n_state={self.n_state}: "
                "expected equal sizes"
            )
        if self.solver not in ("residual", "gru") and self.blocks > 1 and not self.tied:
            raise ValueError(
                f"solver={self.solver!r} moves one equation, and blocks={self.blocks} are several: use tied=True, or "
                "blocks=1"
            )
        if self.maps and self.solver == "gru":
            raise ValueError("maps=True needs convolutions to move maps, and solver='gru' moves vectors: choose one")

    def _ignores_clock(self) -> bool:
        return self.solver == "gru" or not getattr(self, "uneven_", True)

    def _note_range(self, sequences: Sequences) -> None:
        super()._note_range(sequences)
        if self.uneven_ and self.offset:
            raise ValueError(
                "offset=True begins one step after the window, however long that is, and the timestamps of X are not "
                "even: use offset=False, or resample() first"
            )

    # --- network -----------------------------------------------------------------------------------------------------

    def _codec(self) -> Codec:
        found = super()._codec()
        if self.maps and found == "perceptron":
            raise ValueError(
                f"maps=True needs a codec of convolutions, and frames of shape {self.frame_} have the perceptron: use "
                "codec='dcgan', 'vgg' or 'resnet' for images, and maps=False for the rest"
            )
        return found

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        names = (
            "conditioning",
            "n_content",
            "n_state",
            "content",
            "combine",
            "layers",
            "decoder_layers",
            "skips",
            "maps",
        )
        more = ("shortcut", "solver", "blocks", "tied", "gain", "offset", "drawn")
        given: dict[str, Any] = {name: getattr(self, name) for name in names + more}
        for name in ("hidden", "decoder_hidden", "filters", "dynamics_hidden"):
            size = getattr(self, name)
            given[name] = None if size is None else max(1, round(self.scale * size))
        given["gain"] = self._gain()
        pictures = self._pictures()
        return SeparationNetwork(
            self.cells_.frame if pictures else self.cells_.n_cells,
            codec=self._codec(),
            squash=self.squashed_,
            n_known=len(self.cells_.known),
            n_clock=self.conditioning - 1 if self.uneven_ else 0,
            **given,
        )

    def _gain(self) -> float:
        """The gain of a block's three layers, such that a state grows no more over a long chunk than over a usual one.

        Every step multiplies a state by about 1 + c gain³, which over two hundred steps is a number of 12 digits.
        """
        walked = self.chunk_ - 1 - (self.conditioning if self.offset else 0)
        return float(self.gain * min(1.0, _WALKED / max(walked, 1)) ** (1 / 3))

    def _chunks(
        self,
        length: int,
        material: Material,
        held_out: Material | None,
        more: Callable[[np.random.Generator], Material] | None,
    ) -> Separating:
        there = torch.from_numpy(self.cells_.there) if self._pictures() and self.cells_.masked else None
        return Separating(
            self.network_,
            material,
            length=length,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            decay=self.decay,
            betas=tuple(self.betas),
            held_out=held_out,
            more=more,
            weights=Weights(self.prediction, self.autoencoding, self.invariance, self.smallness),
            intervals=self.intervals,
            jitter=_NOISE * min(1, _FEW / len(material.places(length))) if self.jitter is None else self.jitter,
            there=there,
            undone=self._undoing() if self.squashed_ else None,
        )

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        return super()._closing_steps(objective, sequences) + (_TRIED_TWICE if self.renewed is None else 0.0)

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        super()._train(objective, sequences, targets)
        self.renewed_ = self.renewed is not False
        if self.renewed is None:
            self.renewed_ = better_renewed(self, sequences)

    @classmethod
    def _small(cls) -> dict[str, Any]:
        return {"conditioning": 2, "dynamics_hidden": 4, "filters": 2, "n_content": 3, "n_state": 3, "batch_size": 8}
