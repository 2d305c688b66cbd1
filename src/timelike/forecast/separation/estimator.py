"""Separation: forecasts from a constant content and a state that evolves by a learned equation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.parameters import store_parameters
from ...models import options
from ...models.options import Option
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train import Trainer
from ...train.double_precision import double_precision_copy
from ...train.torch_threads import torch_threads
from ..base import ForecastRequest, Futures
from ..cells import KnownChannels, check_known
from ..chunks import PackedFrames
from ..codecs.auto import Auto, CodecName, codec_option
from ..codecs.base import Codec
from ..codecs.convolutions import DCGAN
from ..codecs.mlp import MLP
from ..dynamics import StateDynamics, dynamics_option
from ..latent_forecaster import LatentForecaster, OutputActivation, forecast_dtype
from ..result import Forecast
from .network import CombineRule, SeparationNetwork
from .objective import SeparationLoss, SeparationObjective
from .presets import PRESETS
from .rollout import Rollout

# steps of the default chunk, over which the gain of a block is not reduced
_DEFAULT_CHUNK_STEPS = 24
_BLOCK_NUMBERS = 1 << 22  # numbers in the pasts that are encoded together


class Separation(LatentForecaster):
    """Forecasts by separation of variables: a constant content w, and a state y that evolves by an equation.

    x̂_t = g(w, y_t), dy/dt = f(y), where two encoders infer w and y_0 from a window of `conditioning` frames. The loss
    has four terms: the prediction error over a chunk, the autoencoding error of frames, the change of w between the
    first and the last window of a chunk, and the size of y_0, which leaves everything constant to w (Franceschi, 2022,
    chapter 5; Donà et al., "PDE-driven spatiotemporal disentanglement", ICLR 2021).

    For vectors, images and gridded fields whose cells may be masked (NaN at all times). Because the state evolves in
    continuous time, timestamps may be irregular, and `frames_per_step` returns frames between two steps. It predicts
    one future per past; call `calibrate` for intervals. For series that are mostly noise, or linear, first try `Ridge`,
    `Analog` and `SeasonalNaive` in the same `backtest`.

    Parameters
    ----------
    conditioning : int
        Number of past frames that the encoders read.
    chunk : int or None
        Frames per training chunk, including the conditioning ones. Default: `conditioning` + 20, or fewer if sequences
        are short.
    n_content, n_state : int
        Sizes of w and y, or numbers of channels if the codec has `maps`.
    content : bool
        False omits w, and y has the size of both (an ablation of the thesis).
    combine : {"concatenate", "multiply"}
        How the decoder combines w and y; "multiply" needs equal sizes and suits waves.
    codec : {"auto", "perceptron", "dcgan", "vgg", "resnet"} or a value of `forecast.codecs`
        The networks between frames and codes, such as `codecs.DCGAN(filters=32)`; "auto" is the perceptron for vectors
        and images of up to 32 × 32 pixels, and "dcgan" for larger images.
    dynamics : str or StateDynamics
        The dynamics of the state: "residual", "gru" or another solver, or a value such as `StateDynamics(blocks=3)`.
    reencode : bool or None
        Whether to infer the state anew from the last forecast frames each time it has evolved as far as in training:
        longer forecasts may leave the region in which the equation was learned. None chooses the better alternative on
        up to 64 training windows, and True if sequences are too short to compare, or if forecasts of ten times the
        trained length otherwise come to rest or explode.
    offset : bool
        Whether the state represents the frame after the window instead of its first (C.5.4): for chaotic fields.
    output : {"auto", "linear", "sigmoid"}
        "auto" applies a sigmoid to frames if all training values lie in [0, 1].
    loss : SeparationLoss or None
        Weights of the four terms of the loss (`prediction_weight`, `autoencoding_weight`, `invariance_weight`,
        `state_penalty`), and noise on the inputs of the encoders; None is `SeparationLoss()`.
    known_channels : list of int or str, or None
        Channels known in advance, such as the hour or a planned input: they are not forecast, and `predict` needs their
        values over the horizon.
    scale : float
        Factor of all sizes but those of w and y: `Separation.preset("waves-100", scale=0.1)` has a tenth of the units.
    max_steps, max_time : int, float or None
        Limits of training, in steps and seconds. Default: 20 passes, between 500 and 2000 steps, and at most 120 s. If
        only `max_time` is set, training uses all of it.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64` (chunks), `learning_rate=3e-3`, `optimizer="adamw"`,
        `betas=(0.9, 0.99)`, `schedule="one_cycle"`, `validation=0.0`. Sequences are held out only if there are 20
        or more.
    standardize : bool
        Whether channels are standardized to mean 0 and standard deviation 1 for the network.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal.
    random_state : int, generator or None
        Seed of the fit.

    Attributes
    ----------
    network_ : SeparationNetwork
        The torch module.
    history_ : History
        Training losses, each term by name.

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

    codec = codec_option("auto", "perceptron", "dcgan", "vgg", "resnet")
    n_content = options.width(1)
    n_state = options.width(1)
    content = options.boolean()
    combine = options.choice(*get_args(CombineRule))
    dynamics = dynamics_option(StateDynamics)
    reencode = options.nullable(options.boolean("free"))
    offset = options.boolean()
    loss = options.value_of(SeparationLoss, "training")
    known_channels = options.nullable(Option(check_known))

    network_: SeparationNetwork

    _own_trainer: ClassVar[Trainer] = Trainer(
        batch_size=64, learning_rate=3e-3, optimizer="adamw", betas=(0.9, 0.99), schedule="one_cycle", validation=0.0
    )
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(PRESETS)

    def __init__(
        self,
        *,
        conditioning: int = 5,
        chunk: int | None = None,
        n_content: int = 32,
        n_state: int = 32,
        content: bool = True,
        combine: CombineRule = "concatenate",
        codec: CodecName | Codec | Auto = "auto",
        dynamics: str | StateDynamics = "residual",
        reencode: bool | None = None,
        offset: bool = False,
        output: OutputActivation = "auto",
        loss: SeparationLoss | None = None,
        known_channels: KnownChannels = None,
        scale: float = 1.0,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        standardize: bool = True,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.combine == "multiply" and self.content and self.n_content != self.n_state:
            raise ValueError(
                f"combine='multiply' multiplies w and y, and n_content={self.n_content}, n_state={self.n_state}: "
                "expected equal sizes"
            )
        if type(self).codec.check(self.codec, "codec").maps and self._state_dynamics().solver == "gru":
            raise ValueError("maps=True needs convolutional dynamics, and solver='gru' moves vectors: choose one")

    def _state_dynamics(self) -> StateDynamics:
        dynamics: StateDynamics = type(self).dynamics.check(self.dynamics, "dynamics")
        return dynamics

    def _ignores_times(self) -> bool:
        return self._state_dynamics().solver == "gru" or not getattr(self, "has_uneven_times_", True)

    def _detect_value_range(self, sequences: Sequences) -> None:
        super()._detect_value_range(sequences)
        if self.has_uneven_times_ and self.offset:
            raise ValueError(
                "offset=True begins one step after the window, whatever its duration, and the timestamps of X are not "
                "even: use offset=False, or resample() first"
            )

    # --- network -----------------------------------------------------------------------------------------------------

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        dynamics = self._state_dynamics().scale_widths(self.scale)
        return SeparationNetwork(
            self._network_frame_shape(),
            conditioning=self.conditioning,
            n_content=self.n_content,
            n_state=self.n_state,
            content=self.content,
            combine=self.combine,
            codec=self._choose_codec().scale_widths(self.scale),
            dynamics=replace(dynamics, gain=self._scaled_gain(dynamics.gain)),
            offset=self.offset,
            use_sigmoid=self.uses_sigmoid_,
            n_known=len(self.cells_.known_channels),
            n_clock=self.conditioning - 1 if self.has_uneven_times_ else 0,
        )

    def _scaled_gain(self, gain: float) -> float:
        """The gain of a block's three layers, reduced so that long chunks amplify a state no more than default ones.

        Each step multiplies a state by about 1 + c gain³, which over two hundred steps is a number of 12 digits.
        """
        n_steps = self.chunk_ - 1 - (self.conditioning if self.offset else 0)
        return float(gain * min(1.0, _DEFAULT_CHUNK_STEPS / max(n_steps, 1)) ** (1 / 3))

    def _make_chunk_objective(
        self,
        length: int,
        material: PackedFrames,
        held_out: PackedFrames | None,
        more: Callable[[np.random.Generator], PackedFrames] | None,
    ) -> SeparationObjective:
        return SeparationObjective(
            self.network_,
            material,
            length=length,
            trainer=self.trainer_,
            held_out=held_out,
            sample_more=more,
            loss=self.loss or SeparationLoss(),
            valid_mask=self._valid_mask(),
            scaler=self._scaler_tensors() if self.uses_sigmoid_ else None,
        )

    def _reencode_option(self) -> bool | None:
        return self.reencode

    # --- forecasting -------------------------------------------------------------------------------------------------

    @torch_threads()
    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(self._forecast_blocks(past, past, request))

    def _forecast_blocks(self, contents: Sequences, dynamics: Sequences, request: ForecastRequest) -> NDArray[Any]:
        """Futures in rows of cells, (item, frame, cell), computed a few pasts at a time."""
        futures = np.empty((len(dynamics), request.n_frames, self.cells_.n_cells), forecast_dtype(dynamics))
        rollout = self._make_rollout()
        for rows, block in self._past_blocks(dynamics):
            packed = self._pack_last_windows(block)
            content_frames = packed if contents is dynamics else self._pack_last_windows(contents[rows])
            content = rollout.encode_content(content_frames, rollout.last_windows(content_frames))
            rollout.forecast(content, packed, self._known_tensor(request, rows), request, futures[rows])
        return futures

    def swap(
        self,
        content_of: Any,
        dynamics_of: Any,
        horizon: int,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        known_covariates: Any = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Forecast with the content of some pasts and the motion of others, pair by pair.

        Both are sequences like the pasts of `predict`, and equally many.
        """
        contents, dynamics = self._validate_swap_pair(content_of, dynamics_of)
        request = self._make_request(
            dynamics, horizon, n_samples, frames_per_step, substeps, known_covariates, random_state
        )
        if request.n_samples > 1:
            raise ValueError(
                f"n_samples={n_samples}: {type(self).__name__} has one future for a content and a motion, expected 1; "
                "the errors measured by `calibrate` do not apply to swapped motions"
            )
        with torch_threads():
            center = self.cells_.to_frames(self._forecast_blocks(contents, dynamics, request))
        return self._make_forecast(dynamics, request, center, center[None])

    def _validate_request(self, request: ForecastRequest) -> None:
        super()._validate_request(request)
        self.network_.dynamics.validate_substeps(request.frames_per_step, request.substeps)

    # --- encoding ----------------------------------------------------------------------------------------------------

    @torch_threads()
    def states(self, X: Any) -> Sequences:
        """The state at every time, as sequences of (n_state,) or of maps.

        Each state is inferred from the window that begins there; the last ones, where no whole window begins, evolve
        from the last inferred state. With `offset` a state belongs to the time after its window, so sequences begin
        after the first window.
        """
        sequences, rollout = self._validate_min_length(X, self._min_sequence_length()), self._make_rollout()
        state_arrays = [rollout.infer_states(self._pack_double(sequences[i : i + 1])) for i in range(len(sequences))]
        lengths = np.array([len(one) for one in state_arrays])
        states = np.asarray(np.concatenate(state_arrays), np.float32)
        return sequences._with_values(states, lengths, _last_timestamps(sequences, lengths))

    @torch_threads()
    def encode(self, X: Any) -> NDArray[np.float32]:
        """Content and last state of every sequence, (item, n_content + n_state)."""
        sequences, rollout = self._validate_min_length(X, self._min_sequence_length()), self._make_rollout()
        encodings = []
        for _, some in self._past_blocks(sequences):
            packed = self._pack_last_windows(some)
            starts = rollout.last_windows(packed)
            content, state = rollout.encode_content(packed, starts), rollout.encode_state(packed, starts)
            last = rollout.advance_to_last(state, self._pack_frames(some, "X"))
            parts = [last] if content.code is None else [content.code, last]
            encodings.append(torch.cat([part.flatten(1) for part in parts], dim=1).numpy())
        return np.asarray(np.concatenate(encodings), np.float32)

    @torch_threads()
    def reconstruct(self, X: Any) -> Sequences:
        """Reconstruct every sequence from the content of its first window and the state at each time.

        With `offset` it begins after the first window.
        """
        sequences, rollout = self._validate_min_length(X, self._min_sequence_length()), self._make_rollout()
        frames, dtype = [], forecast_dtype(sequences)
        for i in range(len(sequences)):
            packed = self._pack_double(sequences[i : i + 1])
            states, content = rollout.infer_states(packed), rollout.encode_content(packed, torch.tensor([0]))
            covariates = None if packed.known is None else packed.known[None, -len(states) :]
            frames.append(rollout.decode(content, torch.from_numpy(states)[None], covariates, dtype)[0])
        lengths = np.array([len(one) for one in frames])
        rows = self.cells_.to_frames(np.concatenate(frames))
        return self.cells_.target_frames(sequences)._with_values(rows, lengths, _last_timestamps(sequences, lengths))

    def _make_rollout(self) -> Rollout:
        reencode = self.reencode_ if self.reencode is None else self.reencode
        return Rollout(
            double_precision_copy(self.network_),
            self.cells_.valid_mask.size,
            self._to_data_units,
            self._standardize_decoded,
            self._reencode_steps() if reencode else None,
        )

    def _min_sequence_length(self) -> int:
        """The shortest sequence with a state."""
        return self._min_past_steps() + (1 if self.offset else 0)

    def _past_blocks(self, past: Sequences) -> Iterator[tuple[slice, Sequences]]:
        """Pasts a few at a time; one by one if the solver's steps depend on the other items of the batch."""
        numbers = 4 * self.cells_.valid_mask.size * self._min_past_steps()
        size = 1 if self._state_dynamics().is_adaptive else max(1, _BLOCK_NUMBERS // numbers)
        for start in range(0, len(past), size):
            rows = slice(start, start + size)
            yield rows, past[rows]

    def _pack_double(self, sequences: Sequences) -> PackedFrames:
        """Sequences as network inputs in double precision."""
        packed = self._pack_frames(sequences, "past")
        covariates = None if packed.known is None else packed.known.double()
        return packed._replace(frames=packed.frames.double(), known=covariates, spans=packed.spans.double())

    def _pack_last_windows(self, past: Sequences) -> PackedFrames:
        return self._pack_double(past.crop(-self._min_past_steps()))

    def _known_tensor(self, request: ForecastRequest, rows: slice) -> Tensor | None:
        """The standardized known channels over the horizon."""
        if request.known_covariates is None:
            return None
        assert self.known_scaler_ is not None
        mean, scale = self.known_scaler_
        return torch.from_numpy((request.known_covariates[rows] - mean) / scale)

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {
            "conditioning": 2,
            "dynamics": StateDynamics(hidden=4),
            "codec": Auto(vectors=MLP(hidden=4, layers=1), images=DCGAN(filters=2), max_pixels=0),
            "n_content": 3,
            "n_state": 3,
            "trainer": Trainer(batch_size=8),
        }


def _last_timestamps(sequences: Sequences, lengths: NDArray[Any]) -> NDArray[Any] | None:
    """The timestamps of the last steps of each sequence."""
    if sequences.times is None:
        return None
    ends = zip(sequences.offsets[1:], lengths, strict=True)
    return np.asarray(np.concatenate([sequences.times[end - length : end] for end, length in ends]))
