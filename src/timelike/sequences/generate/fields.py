"""Fields that obey a linear equation, solved mode by mode: exactly, or as the steps of Runge and Kutta solve it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_choice, check_float, check_int, check_range
from ...core.random import RandomState, check_random_state
from ..container import Sequences

Matrix = NDArray[np.float64]

_FIXED_ROWS = 2  # rows at each border that the five-point difference does not reach
_MAX_PHASE = 2 * np.sqrt(2)  # a step of Runge–Kutta times the fastest frequency: beyond it waves grow without end


class Waves(NamedTuple):
    """The result of `waves`.

    `sequences` of frames (1, size, size), or (pixel,) if pixels were requested; the `celerity` c and the `amplitude`
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
    substeps: int = 2,
    pixels: int | Any = None,
    normalize: bool = True,
    random_state: RandomState = None,
) -> Waves:
    """Waves from a fading source in the middle of a square: ∂²w/∂t² = c²∇²w + f₀ e^(−t/T₀) on a disc.

    The WaveEq data of Franceschi's thesis (2022, C.4.1): c ~ U(300, 400), f₀ ~ U(1, 30), T₀ = `decay`, w = ∂w/∂t
    = 0 at first. ∇² is the five-point difference of order 4 in each direction.

    - `border="fixed"` is the authors' data, for rows beside the thesis: the two outermost rows and columns, which the
      difference does not reach, stay 0; the source is on the pixels nearer than `radius` to the middle (69 of them);
      time goes by the 3/8 rule of Runge and Kutta, `substeps` from one frame to the next (0.001 each in the thesis).
    - `"free"` lets nothing flow through the border (Neumann, as the thesis says in words): the field is mirrored there.
      The source is on the pixels at most `radius` away (81). Cosines make it diagonal: there is no error in time.
    - `"odd"` is the same mirrored with the sign changed (sines): 0 half a pixel outside the border.

    The three are different data: what comes back from the border arrives upside down, or not, and at another time.

    `pixels=100` keeps that many pixels at random, the same for all sequences (WaveEq-100); give the `pixels` of one
    call to another to get the same. `normalize` scales every sequence to [0, 1]; as w is proportional to f₀, this
    leaves c as the only difference between sequences. `windows` gives all chunks.

    >>> made = waves(n=2, length=5, size=16, border="fixed", random_state=0)
    >>> made.sequences
    Sequences(2 sequences, length 5, frames (1, 16, 16), float32)
    """
    n, length, substeps = check_int(n, "n", 1), check_int(length, "length", 1), check_int(substeps, "substeps", 1)
    interval, decay = check_float(interval, "interval", above=0.0), check_float(decay, "decay", above=0.0)
    radius, border = check_float(radius, "radius", 0.0), check_choice(border, "border", ("free", "fixed", "odd"))
    size = check_int(size, "size", 2 * _FIXED_ROWS + 1 if border == "fixed" else 2)
    speeds, forces = check_range(celerity, "celerity", above=0.0), check_range(amplitude, "amplitude", above=0.0)
    rng = check_random_state(random_state)
    c, f = rng.uniform(*speeds, size=n), rng.uniform(*forces, size=n)
    chosen = _sample_pixels(pixels, size, rng)
    shape = (1, size, size) if chosen is None else (len(chosen),)
    values = np.empty((n, length, *shape), np.float32)
    basis, laplacian = _fixed_modes(size) if border == "fixed" else _mirrored_modes(size, border)
    source = basis @ _source_disc(size, radius, border) @ basis.T
    step = interval / substeps
    if border == "fixed":
        _refuse_unstable(speeds[1] * np.sqrt(-2 * laplacian.min()), step, substeps)
    for i in range(n):
        omega = c[i] * np.sqrt(-np.add.outer(laplacian, laplacian))
        if border == "fixed":
            swings = _stepped_amplitudes(omega, step, decay, length, substeps)
        else:
            swings = _exact_amplitudes(omega, interval * np.arange(length), decay)
        frames = f[i] * (basis.T @ (source * swings) @ basis)
        if normalize:
            low, high = frames.min(), frames.max()
            frames = (frames - low) / (high - low or 1.0)
        values[i] = frames[:, None] if chosen is None else frames[:, chosen[:, 0], chosen[:, 1]]
    return Waves(Sequences(values), c, f, chosen)


def _sample_pixels(pixels: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    if pixels is None:
        return None
    if np.ndim(pixels) == 0:
        count = check_int(pixels, "pixels", 1)
        if count > size * size:
            raise ValueError(f"pixels={count} of {size} × {size}: expected at most {size * size}")
        return np.stack(np.divmod(rng.permutation(size * size)[:count], size), axis=1)
    positions = np.asarray(pixels)
    if positions.ndim != 2 or positions.shape[1] != 2 or positions.dtype.kind not in "iu" or not len(positions):
        raise ValueError(
            f"pixels has shape {positions.shape}, dtype {positions.dtype}: expected a number or (pixel, 2) integers"
        )
    if positions.min() < 0 or positions.max() >= size:
        raise ValueError(f"pixels run from {positions.min()} to {positions.max()}: expected 0 to {size - 1}")
    return positions.astype(np.int64)


def _source_disc(size: int, radius: float, border: str) -> NDArray[np.bool_]:
    """The pixels of the source: up to the circle or, as in the authors' code, inside of it."""
    squares = np.add.outer(*[(np.arange(size) - size // 2) ** 2] * 2)
    return np.asarray(squares < radius**2 if border == "fixed" else squares <= radius**2)


def _exact_amplitudes(omega: Matrix, times: NDArray[Any], decay: float) -> NDArray[np.float64]:
    """How much of each mode there is at each time, (time, mode, mode), for a source of amplitude 1 in each.

    A mode obeys q″ = −ω²q + e^(−t/T), q(0) = q′(0) = 0, hence
    q = (e^(−t/T) − cos ωt + sin(ωt)/(ωT)) / (ω² + 1/T²), and sin(ωt)/ω = t where ω = 0.
    """
    still = omega == 0
    swings = np.empty((len(times), *omega.shape))
    for frame, t in enumerate(times):
        swing = np.where(still, t, np.sin(omega * t) / np.where(still, 1, omega))
        swings[frame] = np.exp(-t / decay) - np.cos(omega * t) + swing / decay
    return np.asarray(swings / (omega**2 + decay**-2))


def _stepped_amplitudes(omega: Matrix, step: float, decay: float, length: int, substeps: int) -> NDArray[np.float64]:
    """The same by steps of the 3/8 rule (Kutta, 1901): what they give, up to rounding, without taking each of them.

    With x = (q, q′) and x′ = Ax without a source, a step is xₙ₊₁ = M xₙ + ρⁿ p, where M = R(hA), ρ = e^(−h/T),
    R(z) = 1 + z + z²/2 + z³/6 + z⁴/24, and p is what a step makes of x = 0. Hence xₙ = (ρⁿ − Mⁿ) s with (ρ − M) s = p,
    and as A² = −ω², powers of M are those of the complex number μ = R(iωh): Mⁿ = Re μⁿ + Im(μⁿ)/ω A.
    """
    z = omega * step
    mu = 1 - z**2 / 2 + z**4 / 24 + 1j * (z - z**3 / 6)
    rho = np.exp(-step / decay)
    position, velocity = _first_step(omega, step, rho)
    gap = rho - mu.real
    size = gap**2 + mu.imag**2
    s = (gap * position + mu.imag / omega * velocity) / size
    v = (gap * velocity - mu.imag * omega * position) / size
    powers = np.empty((length, *omega.shape), np.complex128)
    powers[0], powers[1:] = 1, mu**substeps
    np.multiply.accumulate(powers, axis=0, out=powers)
    fading = rho ** (substeps * np.arange(length))[:, None, None]
    return np.asarray((fading - powers.real) * s - powers.imag * (v / omega))


def _first_step(omega: Matrix, h: float, rho: float) -> tuple[Matrix, Matrix]:
    """Position and velocity after a step of the 3/8 rule from rest: k₁ … k₄ as the rule has them, with x = 0."""

    def slope(x: Matrix, force: float) -> Matrix:
        return np.stack([x[1], force - omega**2 * x[0]])

    k1 = slope(np.zeros((2, *omega.shape)), 1.0)
    k2 = slope(h / 3 * k1, rho ** (1 / 3))
    k3 = slope(h * (k2 - k1 / 3), rho ** (2 / 3))
    k4 = slope(h * (k1 - k2 + k3), rho)
    position, velocity = h / 8 * (k1 + 3 * k2 + 3 * k3 + k4)
    return position, velocity


def _refuse_unstable(fastest: float, step: float, substeps: int) -> None:
    if fastest * step > _MAX_PHASE:
        enough = int(np.ceil(substeps * fastest * step / _MAX_PHASE))
        raise ValueError(
            f"substeps={substeps} of {step:g} are too long for the fastest wave, which would grow without end: use "
            f'substeps >= {enough}, a shorter interval, or border="odd", which takes no steps'
        )


def _mirrored_modes(size: int, border: str) -> tuple[Matrix, Matrix]:
    """Orthonormal waves (mode, position) of the mirrored grid, and the factor by which ∂²/∂x² multiplies each."""
    position = np.arange(size) + 0.5
    theta = np.pi / size * (np.arange(size) if border == "free" else np.arange(1, size + 1))
    basis = (np.cos if border == "free" else np.sin)(np.outer(theta, position)) * np.sqrt(2 / size)
    basis[0 if border == "free" else -1] /= np.sqrt(2)  # the constant wave, and the fastest, have norm √size
    laplacian = -5 / 2 + 8 / 3 * np.cos(theta) - 1 / 6 * np.cos(2 * theta)
    return basis, np.where(theta > 0, laplacian, 0.0)  # which the cosines give only up to rounding


def _fixed_modes(size: int) -> tuple[Matrix, Matrix]:
    """The same for a grid whose outermost rows stay 0: they are 0 in every wave."""
    inner = size - 2 * _FIXED_ROWS
    near = np.abs(np.subtract.outer(np.arange(inner), np.arange(inner)))
    weights = np.array([-5 / 2, 4 / 3, -1 / 12, 0.0])
    laplacian, waves = np.linalg.eigh(weights[np.minimum(near, 3)])
    return np.pad(waves.T, ((0, 0), (_FIXED_ROWS, _FIXED_ROWS))), laplacian


class Heat(NamedTuple):
    """The result of `heat`: `sequences` of profiles along the bar, equal to Σ_m `space`[:, m] × `time`[:, m].

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
    n, length, size = check_int(n, "n", 1), check_int(length, "length", 1), check_int(size, "size", 2)
    n_modes, highest = check_int(n_modes, "n_modes", 1), check_int(highest, "highest", 1)
    interval, c = check_float(interval, "interval", above=0.0), check_float(conductivity, "conductivity", above=0.0)
    if n_modes > highest:
        raise ValueError(f"n_modes={n_modes}, highest={highest}: expected at most as many modes as there are")
    rng = check_random_state(random_state)
    modes = rng.permuted(np.tile(np.arange(1, highest + 1), (n, 1)), axis=1)[:, :n_modes]
    wave = modes[..., None] * np.pi
    space = rng.normal(size=(n, n_modes, 1)) * np.sin(wave * np.linspace(0, 1, size))
    time = np.exp(-((c * wave) ** 2) * interval * np.arange(length))
    return Heat(Sequences(np.einsum("nmt,nms->nts", time, space)), space, time, modes)
