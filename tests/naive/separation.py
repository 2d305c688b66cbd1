"""Separation of variables chunk by chunk and number by number, after Franceschi's thesis (2022), chapter 5 and C.5.

The parts of a network (`encode_content`, `encode_state`, `dynamics.blocks`, `decode`) are black boxes, called for one window or one
frame at a time.
"""

from itertools import pairwise

import torch


def spread(numbers, y):
    """Numbers beside a state: as they are, or each as a map of that number beside maps."""
    return numbers if y.ndim == 1 else torch.stack([torch.full_like(y[0], float(number)) for number in numbers])


def moved(y, blocks, n_blocks, spans, forcing=None, substeps=None, frames=1):
    """The residual roll-out of one state: K blocks a step, y ← y + h(y), each `substeps / K` times with its share."""
    times = (substeps or n_blocks) // n_blocks
    every = n_blocks * times // frames
    found = []
    for step, span in enumerate(spans):
        done = 0
        for block in range(n_blocks):
            for _ in range(times):
                seen = y if forcing is None else torch.cat([y, spread(forcing[step], y)])
                y = y + float(span) / times * blocks[block % len(blocks)](seen[None])[0]
                done += 1
                if done % every == 0:
                    found.append(y)
    return found


class Chunk:
    """One chunk of frames with what is known and the clock, looked at a window at a time."""

    def __init__(self, network, x, spans, known=None):
        self.network, self.x, self.spans, self.known = network, x, spans, known
        self.size = network.conditioning

    def window(self, begin):
        rows = slice(begin, begin + self.size)
        known = None if self.known is None else self.known[None, rows]
        clock = self.spans[None, begin + 1 : begin + self.size] if self.network.n_clock else None
        return self.x[None, rows], known, clock

    def content(self, begin):
        return self.network.encode_content(*self.window(begin))

    def state(self, begin):
        return self.network.encode_state(*self.window(begin))[0]

    def place(self, begin):
        """Which frame the state of a window stands for (C.5.4)."""
        return begin + self.size if self.network.offset else begin

    def frame(self, content, state, time):
        known = None if self.known is None else self.known[None, time : time + 1]
        return self.network.decode(content, state[None, None], known)[0, 0]

    def rolled(self):
        """The states from the one that the first window gives to the last frame, by time."""
        first, y = self.place(0), self.state(0)
        spans = self.spans[first + 1 :]
        forcing = None if self.known is None else self.known[first + 1 :]
        move = self.network.dynamics
        if hasattr(move, "blocks"):
            after = moved(y, list(move.blocks), move.n_substeps, spans, forcing)
        else:
            after = list(move(y[None], spans[None], None if forcing is None else forcing[None])[0])
        return {first + i: state for i, state in enumerate([y, *after])}


def squared_error(found, truth, valid_mask=None, scaler=None):
    """1/m ‖found − truth‖² over the cells that are there.

    With `undone`, the mean and the deviation of every cell, the truth is standardized and what was found is in the
    units of the data: both are compared in units of the deviation of all cells that change.
    """
    unit = 1.0
    if scaler is not None:
        truth = truth * scaler[1] + scaler[0]
        squares = [scale**2 for scale in scaler[1].flatten().tolist() if scale != 1] or [1.0]
        unit = (sum(squares) / len(squares)) ** 0.5
    total, count = 0.0, 0
    cells = [True] * truth.numel() if valid_mask is None else valid_mask.flatten().tolist()
    for a, b, counts in zip(found.flatten().tolist(), truth.flatten().tolist(), cells, strict=True):
        if counts:
            total, count = total + ((a - b) / unit) ** 2, count + 1
    return total / count


def prediction(chunk, **how):
    """(5.11); with an offset over the frames after the window only."""
    content, states = chunk.content(0), chunk.rolled()
    errors = [squared_error(chunk.frame(content, y, time), chunk.x[time], **how) for time, y in states.items()]
    return sum(errors) / len(errors)


def autoencoding(chunk, begin, **how):
    """(5.12), for the drawn window, with the content of the first."""
    time = chunk.place(begin)
    return squared_error(chunk.frame(chunk.content(0), chunk.state(begin), time), chunk.x[time], **how)


def autoencoded(chunk):
    """Where a drawn window may begin: i ~ U([0, ν − τ]), or so that the frame it stands for is there."""
    return [i for i in range(len(chunk.x) - chunk.size + 1) if chunk.place(i) < len(chunk.x)]


def invariance(chunk, begins=None):
    """(5.14), and over several intervals T times the bound of (C.15), which for one interval is the same."""
    begins = begins or [0, len(chunk.x) - chunk.size]
    total = begins[-1] - begins[0]
    found = 0.0
    for before, after in pairwise(begins):
        a, b = chunk.content(before), chunk.content(after)
        numbers = 0
        apart = 0.0
        for one, other in zip([a.code, *a.skips], [b.code, *b.skips], strict=True):
            for p, q in zip(one.flatten().tolist(), other.flatten().tolist(), strict=True):
                apart, numbers = apart + (p - q) ** 2, numbers + 1
        found = found + total / (after - before) * apart / numbers
    return found


def smallness(chunk):
    """½ Σ y², which is the thesis's ½ p · (5.15) (C.5.3); for maps the mean of (5.15) itself."""
    y = chunk.state(0)
    squares = [value**2 for value in y.flatten().tolist()]
    return sum(squares) / len(squares) if y.ndim > 1 else sum(squares) / 2


def forecast(network, window, spans, horizon, known=None, ahead=None):
    """What follows one window, frame by frame; `spans` are those of the window, the future has an even clock."""
    chunk = Chunk(network, window, spans, known)
    content, y = chunk.content(0), chunk.state(0)
    blocks, count = list(network.dynamics.blocks), network.dynamics.n_substeps
    if not network.offset:
        y = [y, *moved(y, blocks, count, spans[1:], None if known is None else known[1:])][-1]
    found = []
    for step in range(horizon):
        force = None if ahead is None else ahead[step]
        if step or not network.offset:
            (y,) = moved(y, blocks, count, [1.0], None if force is None else [force])
        found.append(network.decode(content, y[None, None], None if force is None else force[None, None])[0, 0])
    return torch.stack(found)
