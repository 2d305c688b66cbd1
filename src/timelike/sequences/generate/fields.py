"""Fields that obey a linear equation, solved mode by mode without any error in time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import RandomState, generator, one_of, real, span, whole
from ..container import Sequences

Matrix = NDArray[np.float64]


class Waves(NamedTuple):
    """What `waves` made.

    `sequences` of frames (1, size, size), or (pixel,) when pixels were asked for; the `celerity` c and the `amplitude`
    f₀ of every sequence, (n,); the rows and columns of the `pixels`, (pixel, 2), or None.
    """

    sequences: Sequences
    celerity: NDArray[np.float64]
    amplitude: NDArray[np.float64]
    pixels: NDArray[np.int64] | None


def waves(
    n: int = 10,
    length: int = 150,
    *,
    size: int = 64,
    interval: float = 0.002,
    celerity: float | tuple[float, float] = (300.0, 400.0),
    amplitude: float | tuple[float, float] = (1.0, 30.0),
    decay: float = 0.05,
    radius: float = 5.0,
    border: str = "free",
    pixels: int | Any = None,
    normalize: bool = True,
    random_state: RandomState = None,
) -> Waves:
    """Waves from a fading source in the middle of a square: ∂²w/∂t² = c²∇²w + f₀ e^(−t/T₀) on a disc.

    The WaveEq data of Franceschi's thesis (2022, C.4.1): c ~ U(300, 400), f₀ ~ U(1, 30), T₀ = `decay`, w = ∂w/∂t = 0 at
    first. ∇² is the five-point difference of order 4 in each direction with the field mirrored at the border. Cosines
    make it diagonal, so every mode has a closed form and there is no error in time, where the thesis uses Runge–Kutta.

    `border="free"` lets nothing flow through the border (Neumann), `"fixed"` holds it at 0 (Dirichlet, mirrored with
    the sign changed: sines): the thesis says the one in words and something like the other in its formula C.20.

    `pixels=100` keeps that many pixels at random, the same for all sequences (WaveEq-100); give the `pixels` of one
    call to another to get the same. `normalize` scales every sequence to [0, 1]; as w is proportional to f₀, this
    leaves c as the only difference between sequences. `windows` gives all chunks.

    >>> made = waves(n=2, length=5, size=16, random_state=0)
    >>> made.sequences
    Sequences(2 sequences, length 5, frames (1, 16, 16), float32)
    """
    n, length, size = whole(n, "n", 1), whole(length, "length", 1), whole(size, "size", 2)
    interval, decay = real(interval, "interval", above=0.0), real(decay, "decay", above=0.0)
    radius, border = real(radius, "radius", 0.0), one_of(border, "border", ("free", "fixed"))
    speeds, forces = span(celerity, "celerity", above=0.0), span(amplitude, "amplitude", above=0.0)
    rng = generator(random_state)
    c, f = rng.uniform(*speeds, size=n), rng.uniform(*forces, size=n)
    chosen = _chosen_pixels(pixels, size, rng)
    shape = (1, size, size) if chosen is None else (len(chosen),)
    values = np.empty((n, length, *shape), np.float32)
    modes = _modes(size, border)
    source = np.add.outer(*[(np.arange(size) - size // 2) ** 2] * 2) <= radius**2
    for i in range(n):
        frames = f[i] * _wave(c[i], interval * np.arange(length), modes, decay, source)
        if normalize:
            low, high = frames.min(), frames.max()
            frames = (frames - low) / (high - low or 1.0)
        values[i] = frames[:, None] if chosen is None else frames[:, chosen[:, 0], chosen[:, 1]]
    return Waves(Sequences(values), c, f, chosen)


def _chosen_pixels(pixels: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    if pixels is None:
        return None
    if np.ndim(pixels) == 0:
        count = whole(pixels, "pixels", 1)
        if count > size * size:
            raise ValueError(f"pixels={count} of {size} × {size}: expected at most {size * size}")
        return np.stack(np.divmod(rng.permutation(size * size)[:count], size), axis=1)
    given = np.asarray(pixels)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu" or not len(given):
        raise ValueError(
            f"pixels has shape {given.shape}, dtype {given.dtype}: expected a number or (pixel, 2) integers"
        )
    if given.min() < 0 or given.max() >= size:
        raise ValueError(f"pixels run from {given.min()} to {given.max()}: expected 0 to {size - 1}")
    return given.astype(np.int64)


def _wave(
    c: float, times: NDArray[Any], modes: tuple[Matrix, Matrix], decay: float, source: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """One sequence (time, size, size) for a source of amplitude 1.

    A mode obeys q″ = −ω²q + b·e^(−t/T), q(0) = q′(0) = 0, hence
    q = b·(e^(−t/T) − cos ωt + sin(ωt)/(ωT)) / (ω² + 1/T²), and sin(ωt)/ω = t where ω = 0.
    """
    basis, laplacian = modes
    omega = c * np.sqrt(-np.add.outer(laplacian, laplacian))
    weight = (basis @ source @ basis.T) / (omega**2 + decay**-2)
    still = omega == 0
    amplitudes = np.empty((len(times), *omega.shape))
    for frame, t in enumerate(times):
        swing = np.where(still, t, np.sin(omega * t) / np.where(still, 1, omega))
        amplitudes[frame] = weight * (np.exp(-t / decay) - np.cos(omega * t) + swing / decay)
    return np.asarray(basis.T @ amplitudes @ basis)


def _modes(size: int, border: str) -> tuple[Matrix, Matrix]:
    """Orthonormal waves (mode, position) of the mirrored grid, and the factor by which ∂²/∂x² multiplies each."""
    position = np.arange(size) + 0.5
    theta = np.pi / size * (np.arange(size) if border == "free" else np.arange(1, size + 1))
    basis = (np.cos if border == "free" else np.sin)(np.outer(theta, position)) * np.sqrt(2 / size)
    basis[0 if border == "free" else -1] /= np.sqrt(2)  # the constant wave, and the fastest, have norm √size
    laplacian = -5 / 2 + 8 / 3 * np.cos(theta) - 1 / 6 * np.cos(2 * theta)
    return basis, np.where(theta > 0, laplacian, 0.0)  # which the cosines give only up to rounding


class Heat(NamedTuple):
    """What `heat` made: `sequences` of profiles along the bar, equal to Σ_m `space`[:, m] × `time`[:, m].

    `space` (n, mode, size) holds μ sin(kπp), `time` (n, mode, length) exp(−(ckπ)²t), `modes` (n, mode) the numbers k.
    """

    sequences: Sequences
    space: NDArray[np.float64]
    time: NDArray[np.float64]
    modes: NDArray[np.int64]


def heat(
    n: int = 100,
    length: int = 50,
    *,
    size: int = 64,
    interval: float = 0.0005,
    conductivity: float = 1.0,
    n_modes: int = 1,
    highest: int = 5,
    random_state: RandomState = None,
) -> Heat:
    """A cooling bar of length 1 with cold ends: ∂u/∂t = c²∂²u/∂p², u(0, t) = u(1, t) = 0, solved exactly.

    u(p, t) = Σ μ sin(kπp) · exp(−(ckπ)²t), with `n_modes` different k up to `highest` and standard normal μ: with one
    mode the solution is the product of a function of space and one of time (Franceschi's thesis, 2022, eq. 5.4).

    >>> made = heat(n=3, length=10, size=8, random_state=0)
    >>> bool(np.allclose(made.sequences[0], made.time[0].T @ made.space[0]))
    True
    """
    n, length, size = whole(n, "n", 1), whole(length, "length", 1), whole(size, "size", 2)
    n_modes, highest = whole(n_modes, "n_modes", 1), whole(highest, "highest", 1)
    interval, c = real(interval, "interval", above=0.0), real(conductivity, "conductivity", above=0.0)
    if n_modes > highest:
        raise ValueError(f"n_modes={n_modes}, highest={highest}: expected at most as many modes as there are")
    rng = generator(random_state)
    modes = rng.permuted(np.tile(np.arange(1, highest + 1), (n, 1)), axis=1)[:, :n_modes]
    wave = modes[..., None] * np.pi
    space = rng.normal(size=(n, n_modes, 1)) * np.sin(wave * np.linspace(0, 1, size))
    time = np.exp(-((c * wave) ** 2) * interval * np.arange(length))
    return Heat(Sequences(np.einsum("nmt,nms->nts", time, space)), space, time, modes)
