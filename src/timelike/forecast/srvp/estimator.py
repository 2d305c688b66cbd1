"""`SRVP`: probabilistic forecasts of series and images, from random residual steps of a latent state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.parameters import check_int, format_count, store_parameters
from ...models import options
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train import Trainer
from ...train.double_precision import double_precision_copy
from ...train.processes import has_bfloat16
from ...train.torch_threads import torch_threads
from ...train.trainer import Precision
from ..base import ForecastRequest, Futures, window_checksum
from ..chunks import PackedFrames
from ..codecs.auto import Auto, CodecName
from ..codecs.base import Codec, Content
from ..codecs.convolutions import DCGAN
from ..codecs.mlp import MLP
from ..dynamics import MotionName, RandomDynamics, dynamics_option
from ..latent_forecaster import LatentForecaster, OutputActivation, forecast_dtype
from ..result import Forecast
from .experimental import Experimental
from .network import MIN_OBSERVATION_STD, Inference, SRVPNetwork
from .objective import SRVPObjective, compute_bound
from .presets import PRESETS
from .rollout import BLOCK_NUMBERS, SRVPRollout

_IMAGE_BETA = 10.0  # default weight of the divergences of z, for images
_MIN_IMAGE_STD = 0.02  # of √ν; with less, a training on a few hundred clips of a simple scene learns these by heart
_IMAGE_TARGET_STEPS = 10  # default number of steps of a chunk after the conditioning ones, for images


@dataclass(frozen=True, eq=False, kw_only=True)
class Elbo:
    """The evidence lower bound of each sequence and its parts, each (item,), in nats: a lower bound of log p(x | w).

    `elbo` = `likelihood` − `first_kl` − `random_kl`: the log-likelihood of the frames given the states, and the
    divergences of the first state and of the random steps, which include those of the content with `drift`. Densities
    are in data units. The content w is a function of some frames and has no cost, as in the thesis, so the bound may
    exceed log p(x); only with n_content=0 is it a bound of log p(x), comparable with other models.
    """

    elbo: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    first_kl: NDArray[np.float64]
    random_kl: NDArray[np.float64]

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value.mean():.4g}" for name, value in vars(self).items())
        return f"Elbo({format_count(len(self.elbo), 'sequence')}; means: {means})"


class SRVP(LatentForecaster):
    """Samples of futures from a constant content and a state that evolves by random residual steps.

    y_1 ~ N(0, I), z_{t+1} ~ N(μ(y_t), σ(y_t)), y_{t+1} = y_t + f(y_t, z_{t+1}), x_t ~ N(g(y_t, w), ν), trained by
    the evidence lower bound with an LSTM that infers z and a penalty on ‖f‖ (Franceschi, Delasalles, Chen, Lamprier and
    Gallinari, "Stochastic latent residual video prediction", ICML 2020; thesis, 2022, chapter 4). Because a
    step is one of Euler's method, it can be divided: `predict(…, frames_per_step=2, substeps=2)` returns frames in
    between.

    For images and series with an uncertain future: `predict(past, horizon, n_samples=100)` samples whole futures. If
    one future is enough, `Separation` trains faster. Training on images is slow on a CPU: start small, and compare with
    `Persistence` and `Analog` in the same `backtest`.

    Parameters
    ----------
    conditioning : int
        Number of past frames that the encoders read.
    chunk : int or None
        Frames per training chunk. Default: `conditioning` + 10 for images, as in the thesis, `conditioning` + 20 for
        series, or fewer if sequences are short.
    n_state, n_random, n_content : int
        Sizes of y, z and w; n_random=0 omits z, so that futures differ only by their first state, and n_content=0 omits
        w.
    inference : Inference or None
        Size of the frame codes, and inference of states and content from them; None is `Inference()`.
    codec : {"auto", "perceptron", "dcgan", "vgg", "resnet", "sprites"} or a value of `forecast.codecs`
        The networks between frames and codes, such as `codecs.DCGAN(filters=32)`; "auto" is the perceptron for vectors
        and images of up to 32 × 32 pixels, and "dcgan" for larger images. "sprites" places objects of constant
        appearance on a background at positions given by the state: for images of rigid objects that move.
    dynamics : {"residual", "perceptron", "gru"} or RandomDynamics
        The dynamics of the state, such as `RandomDynamics(substeps=2)`.
    observation_std : float or None
        √ν, the standard deviation of frames around their decoded mean: in data units if all data lie in [0, 1],
        otherwise in standardized units. None learns it, with a minimum of 0.001, and of 0.02 for images: with less, a
        training on a few hundred clips of a simple scene learns these clips by heart. The thesis uses 1 for digits,
        with which a frame says little about the states, and a short training leaves them at the prior.
    beta : float or None
        Weight of the divergences of z. None is 1 for series, with which the loss is the evidence lower bound, and 10
        for images: their pixels err together, so that the likelihood, which counts every pixel, outweighs the
        divergences, and z would store what the steps of the state should learn. The thesis uses 1, and 2 for digits.
    motion_penalty : float
        Weight λ of the path length of the state.
    experimental : Experimental or None
        Extensions from the outlook of the thesis, such as `Experimental(delays=True)`; None uses none of them.
    output : {"auto", "linear", "sigmoid"}
        "auto" applies a sigmoid to frames if all training values lie in [0, 1].
    scale : float
        Factor of all sizes except those of y, z, w and codes: `SRVP.preset("digits", scale=0.1)` has a tenth of the
        units.
    max_steps, max_time : int, float or None
        Limits of training, in steps and seconds. Default: 20 passes, between 500 and 2000 steps, and at most 120 s. If
        only `max_time` is set, training uses all of it.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=64` (chunks), `learning_rate=5e-3`, `optimizer="adamw"`,
        `gradient_clip="adaptive"`, `schedule="one_cycle"`, `validation=0.0`, `precision="auto"`. Sequences are held
        out only if there are 20 or more. The precision "auto" uses mixed bfloat16 for images on processors that support
        it, which is faster, and single precision otherwise (`benchmarks.speed.forecast` compares times and losses of
        both). Weights depend on the precision, so use "32-true" for results that must be reproducible on any machine.
    standardize : bool
        Whether channels are standardized to mean 0 and standard deviation 1 for the network.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal.
    random_state : int, generator or None
        Seed of the fit and of sampled futures.

    Attributes
    ----------
    network_ : SRVPNetwork
        The torch module.
    history_ : History
        Training losses, each part of the bound by name.

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
    inference = options.value_of(Inference)
    dynamics = dynamics_option(RandomDynamics)
    observation_std = options.nullable(options.real(above=0))
    beta = options.nullable(options.real(0, role="training"))
    motion_penalty = options.real(0, role="training")
    experimental = options.value_of(Experimental)

    network_: SRVPNetwork

    _own_trainer: ClassVar[Trainer] = Trainer(
        batch_size=64,
        learning_rate=5e-3,
        optimizer="adamw",
        gradient_clip="adaptive",  # one long gradient can leave a sigmoid decoder black for good
        schedule="one_cycle",
        validation=0.0,
        precision="auto",
    )
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
        inference: Inference | None = None,
        codec: CodecName | Codec | Auto = "auto",
        dynamics: MotionName | RandomDynamics = "residual",
        observation_std: float | None = None,
        beta: float | None = None,
        motion_penalty: float = 0.1,
        experimental: Experimental | None = None,
        output: OutputActivation = "auto",
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
        if type(self).codec.check(self.codec, "codec").maps:
            raise ValueError(
                "maps=True: the states of SRVP are vectors, use a codec with maps=False; Separation can move maps"
            )
        self._experimental().refuse_conflicts(self.n_content, self.n_random, self._random_dynamics())
        if self._inference().reencode and self._reencode_option() is False:
            raise ValueError(
                "reencode=True infers states from forecast frames, and delays or drift depend on the whole past: use "
                "reencode=False with them"
            )

    def _experimental(self) -> Experimental:
        return Experimental() if self.experimental is None else self.experimental

    def _inference(self) -> Inference:
        return Inference() if self.inference is None else self.inference

    def _random_dynamics(self) -> RandomDynamics:
        dynamics: RandomDynamics = type(self).dynamics.check(self.dynamics, "dynamics")
        return dynamics

    # --- learning ----------------------------------------------------------------------------------------------------

    def _precision(self) -> Precision:
        trainer = self.trainer_
        if trainer.precision != "auto":
            return super()._precision()
        return (
            "bf16-mixed" if self._has_image_frames() and trainer.accelerator == "cpu" and has_bfloat16() else "32-true"
        )

    def _reencode_steps(self) -> int:
        return max(self.conditioning, super()._reencode_steps())  # states are inferred from so many forecast frames

    def _reencode_option(self) -> bool | None:
        experimental = self._experimental()
        return False if experimental.delays or experimental.drift else self._inference().reencode

    def _has_random_steps(self) -> bool:
        return self.n_random > 0

    def _divergence_weight(self) -> float:
        if self.beta is not None:
            return self.beta
        return _IMAGE_BETA if self._has_image_frames() else 1.0

    def _default_target_steps(self) -> int:
        return _IMAGE_TARGET_STEPS if self._has_image_frames() else super()._default_target_steps()

    def _divergence_hint(self) -> str:
        if self.observation_std is None or self.observation_std >= MIN_OBSERVATION_STD:
            return ""
        return (
            f"observation_std={self.observation_std:g} is so small that squared errors relative to it are huge, "
            "leave it out; else "
        )

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return SRVPNetwork(
            self._network_frame_shape(),
            conditioning=self.conditioning,
            n_state=self.n_state,
            n_random=self.n_random,
            n_content=self.n_content,
            inference=self._inference().scale_widths(self.scale),
            codec=self._choose_codec().scale_widths(self.scale),
            dynamics=self._random_dynamics().scale_widths(self.scale),
            experimental=self._experimental(),
            max_delay=self.chunk_ - 1,
            use_sigmoid=self.uses_sigmoid_,
            observation_std=self.observation_std,
            min_observation_std=_MIN_IMAGE_STD if self._has_image_frames() else MIN_OBSERVATION_STD,
        )

    def _make_chunk_objective(
        self,
        length: int,
        material: PackedFrames,
        held_out: PackedFrames | None,
        more: Callable[[np.random.Generator], PackedFrames] | None,
    ) -> SRVPObjective:
        return SRVPObjective(
            self.network_,
            material,
            length=length,
            trainer=self.trainer_,
            held_out=held_out,
            sample_more=more,
            n_content_frames=min(self._inference().n_content_frames, length),
            beta=self._divergence_weight(),
            motion_penalty=self.motion_penalty,
            experimental=self._experimental(),
            valid_mask=self._valid_mask(),
            scaler=self._scaler_tensors() if self.uses_sigmoid_ else None,
        )

    # --- forecasting -------------------------------------------------------------------------------------------------

    @torch_threads()
    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(None, self._sample_futures(past, past, request))

    def _sample_futures(self, contents: Sequences, dynamics: Sequences, request: ForecastRequest) -> NDArray[Any]:
        """Samples in rows of cells, (sample, item, frame, cell), computed a few items at a time."""
        size, rollout = self._min_past_steps(), self._make_rollout()
        rngs = self._past_generators(dynamics, request)
        shape = request.n_samples, len(dynamics), request.n_frames, self.cells_.n_cells
        samples = np.empty(shape, forecast_dtype(dynamics))
        n_items = max(1, BLOCK_NUMBERS // (size * self.cells_.valid_mask.size))
        for start in range(0, len(dynamics), n_items):
            rows = slice(start, start + n_items)
            state_frames = self._double_frames(dynamics[rows].crop(-size))
            content_frames = state_frames if contents is dynamics else self._double_frames(contents[rows].crop(-size))
            rollout.forecast(content_frames, state_frames, rngs[rows], request, samples[:, rows])
        return samples

    def _validate_request(self, request: ForecastRequest) -> None:
        super()._validate_request(request)
        network, parts = self.network_, request.substeps or self.network_.substeps
        if network.delays is not None and request.substeps is None:
            return  # a state is defined at any time
        if network.delays is not None:
            raise ValueError(f"substeps={parts}: with delays=True the delays are the steps, expected None")
        if network.motion != "residual" and (request.frames_per_step > 1 or parts > 1):
            raise ValueError(
                f"frames_per_step={request.frames_per_step}, substeps={parts}: motion={network.motion!r} moves a whole "
                "step at a time, expected 1; dynamics='residual' can do so"
            )
        if parts % request.frames_per_step:
            raise ValueError(
                f"frames_per_step={request.frames_per_step} does not divide the {parts} substeps of a step: give "
                f"substeps={request.frames_per_step * parts}"
            )

    def swap(
        self,
        content_of: Any,
        dynamics_of: Any,
        horizon: int,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Forecast with the content of some pasts and the motion of others, pair by pair.

        Both are sequences like the pasts of `predict`, and equally many.
        """
        self._require_fitted()
        if self.n_content == 0:
            raise ValueError("swap needs a content, and n_content=0 leaves it out: fit with n_content=50, for example")
        contents, dynamics = self._validate_swap_pair(content_of, dynamics_of)
        request = self._make_request(dynamics, horizon, n_samples, frames_per_step, substeps, None, random_state)
        with torch_threads():
            samples = self.cells_.to_frames(self._sample_futures(contents, dynamics, request))
        return self._make_forecast(dynamics, request, None, samples)

    # --- inference ---------------------------------------------------------------------------------------------------

    @torch_threads()
    def elbo(self, X: Any, *, n_samples: int = 1, random_state: RandomState = None) -> Elbo:
        """The evidence lower bound of whole sequences, averaged over `n_samples` draws from the posterior."""
        sequences, count = self._validate_min_length(X), check_int(n_samples, "n_samples", 1)
        seed = int(self._resolve_generator(random_state).integers(2**62))
        rollout, rows = self._make_rollout(), []
        units = 0.0 if self.uses_sigmoid_ else float(np.log(self._cell_scales()).sum())
        scaler = self._scaler_tensors() if self.uses_sigmoid_ else None
        for i in range(len(sequences)):
            x = self._double_frames(sequences[i : i + 1])
            codes, content = rollout.encode_frames(x)
            # a separate generator: torch's global one is shared by threads and with the caller
            generator = torch.Generator().manual_seed(seed ^ window_checksum(x[0].numpy()))
            bound_arguments = self._valid_mask(), scaler, 1.0, generator
            with torch.no_grad():
                draws = [compute_bound(rollout.network, x, codes, content, *bound_arguments)[0] for _ in range(count)]
            parts = [torch.stack([getattr(draw, name) for draw in draws]).mean() for name in Elbo.__annotations__]
            rows.append([float(part) for part in parts] + [x.shape[1] * units])
        table = np.array(rows)
        return Elbo(
            elbo=table[:, 0] - table[:, 4],
            likelihood=table[:, 1] - table[:, 4],
            first_kl=table[:, 2],
            random_kl=table[:, 3],
        )

    def _cell_scales(self) -> NDArray[np.float64]:
        scale = self.scaler_.scale
        return scale[self.cells_.valid_mask] if self._uses_images() else scale

    @torch_threads()
    def states(self, X: Any) -> Sequences:
        """The posterior mean of the state at every time, as sequences of (n_state,)."""
        sequences, rollout = self._validate_min_length(X), self._make_rollout()
        state_arrays = [rollout.mean_states(codes)[0].numpy() for codes, _ in self._encode_items(sequences, rollout)]
        return sequences._with_values(np.concatenate(state_arrays).astype(np.float32))

    @torch_threads()
    def events(self, X: Any) -> list[NDArray[np.float64]]:
        """The times at which z changes in each sequence, in frames since its first, from posterior means.

        Useful with `Experimental(delays=True)` only; otherwise z changes at every frame.
        """
        sequences, rollout = self._validate_min_length(X), self._make_rollout()
        return [rollout.event_times(codes) for codes, _ in self._encode_items(sequences, rollout)]

    @torch_threads()
    def encode(self, X: Any) -> NDArray[np.float32]:
        """Content and last state of every sequence, (item, n_content + n_state)."""
        sequences, rollout, encodings = self._validate_min_length(X), self._make_rollout(), []
        for codes, content in self._encode_items(sequences, rollout):
            code, parts = rollout.content_over_time(content, codes).code, [rollout.mean_states(codes)[:, -1]]
            if code is not None:
                parts.insert(0, code if code.ndim == 2 else code[:, -1])
            encodings.append(torch.cat(parts, dim=1).numpy())
        return np.asarray(np.concatenate(encodings), np.float32)

    @torch_threads()
    def reconstruct(self, X: Any) -> Sequences:
        """Reconstruct every sequence from its content and the posterior means of its states."""
        sequences, rollout, frames = self._validate_min_length(X), self._make_rollout(), []
        for codes, content in self._encode_items(sequences, rollout):
            content, states = rollout.content_over_time(content, codes), rollout.mean_states(codes)
            frames.append(rollout.decode(content, states, forecast_dtype(sequences))[0])
        return self.cells_.target_frames(sequences)._with_values(self.cells_.to_frames(np.concatenate(frames)))

    @torch_threads()
    def interpolate(self, a: Any, b: Any, steps: int = 8) -> Sequences:
        """Return `steps` sequences from a to b, with contents, first states and random steps interpolated linearly.

        a and b are single sequences of one length, such as `X[0]` or `X[:1]`; the first and last results are their
        reconstructions (fig. 4.10 of the thesis).
        """
        self._require_fitted()
        count, rollout = check_int(steps, "steps", 2), self._make_rollout()
        ends = [self._validate_min_length(self._as_collection(one), name=name) for one, name in ((a, "a"), (b, "b"))]
        if any(len(end) != 1 for end in ends) or ends[0].lengths[0] != ends[1].lengths[0]:
            raise ValueError(
                f"a holds {format_count(len(ends[0]), 'sequence')} of {ends[0].lengths[0]} steps and b {len(ends[1])} "
                f"of {ends[1].lengths[0]}: expected one each, of one length; crop the longer one"
            )
        content, states = rollout.interpolate([self._double_frames(end) for end in ends], count)
        rows = rollout.decode(content, states, forecast_dtype(ends[0]))
        return Sequences(self.cells_.to_frames(rows), channel_names=self.channel_names_)

    def _make_rollout(self) -> SRVPRollout:
        return SRVPRollout(
            double_precision_copy(self.network_),
            self.network_,
            min(self._inference().n_content_frames, self._min_past_steps()),
            self.cells_.valid_mask.size,
            self._to_data_units,
            self._standardize_decoded,
            self._reencode_steps() if self.reencode_ else None,
        )

    def _double_frames(self, sequences: Sequences) -> Tensor:
        """Frames of sequences of one length, (item, time, *frame), in double precision."""
        frames = self._pack_frames(sequences, "X").frames.double()
        return frames.reshape(len(sequences), -1, *frames.shape[1:])

    def _encode_items(self, sequences: Sequences, rollout: SRVPRollout) -> Iterator[tuple[Tensor, Content]]:
        """Codes and content of each sequence, one at a time."""
        for i in range(len(sequences)):
            yield rollout.encode_frames(self._double_frames(sequences[i : i + 1]))

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {
            "conditioning": 2,
            "n_state": 3,
            "n_random": 2,
            "n_content": 3,
            "inference": Inference(n_code=4, hidden=4, n_content_frames=3),
            "codec": Auto(vectors=MLP(hidden=4, layers=1), images=DCGAN(filters=2), max_pixels=0),
            "dynamics": RandomDynamics(hidden=4),
            "trainer": Trainer(batch_size=8),
        }
