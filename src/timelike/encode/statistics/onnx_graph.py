"""The statistics of `StatisticsEncoder` as nodes of an ONNX graph, in double precision, without missing values.

Each method corresponds to the function of the same name in `features`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..onnx.graph import OnnxGraph
from .features import _CONSTANT_TOLERANCE, LAGS, MAX_CORRELATED_CHANNELS, N_BANDS, N_SEGMENTS, QUANTILES

_TINY = 1e-300


def add_statistics(graph: OnnxGraph, x: str, n_channels: int) -> str:
    """Add nodes that map x (item, time, channel) to all statistics (item, statistic)."""
    block = _OnnxSeriesBlock(graph, graph.cast(x, "float64"))
    last = graph.integers([2])
    own = graph.add("Concat", *(graph.add("Unsqueeze", one, last) for one in block.channel_statistics()), axis=2)
    return graph.add("Concat", graph.add("Flatten", own, axis=1), *block.joint_statistics(n_channels), axis=1)


class _OnnxSeriesBlock:
    """Series of equal length, with the quantities that several statistics use."""

    def __init__(self, graph: OnnxGraph, x: str) -> None:
        self.graph, self.x = graph, x
        self.steps = graph.add("Gather", graph.add("Shape", x), graph.integers(1))  # the number of steps, as an integer
        self.time = graph.cast(self.steps, "float64")
        self.step_numbers = graph.add("Range", self.number(0), self.time, self.number(1))
        self.mean = self.reduce_time("Mean", x, keepdims=1)
        apart = graph.add("Sub", x, self.mean)
        furthest, largest = (self.reduce_time("Max", graph.add("Abs", one), keepdims=1) for one in (apart, x))
        flat = graph.add("LessOrEqual", furthest, self.times(largest, _CONSTANT_TOLERANCE))
        self.centered = graph.add("Where", flat, self.number(0), apart)
        self.deviation = graph.add("Sqrt", self.reduce_time("Mean", self.square(self.centered), keepdims=1))
        self.z_scores = graph.add("Div", self.centered, self.replace_nonpositive(self.deviation))

    def number(self, value: float) -> str:
        return self.graph.constant(value, np.float64)

    def times(self, x: str, factor: float) -> str:
        return self.graph.add("Mul", x, self.number(factor))

    def square(self, x: str) -> str:
        return self.graph.add("Mul", x, x)

    def column(self, x: str) -> str:
        """Numbers (time,) as (time, 1), to broadcast with (item, time, channel)."""
        return self.graph.add("Unsqueeze", x, self.graph.integers([1]))

    def reduce_time(self, kind: str, x: str, keepdims: int = 0) -> str:
        """The sum, mean, maximum or minimum over time, (item, channel)."""
        if kind == "Sum":
            return self.graph.add("ReduceSum", x, self.graph.integers([1]), keepdims=keepdims)
        return self.graph.add(f"Reduce{kind}", x, axes=[1], keepdims=keepdims)

    def replace_nonpositive(self, x: str) -> str:
        """x if it is positive, otherwise 1."""
        return self.graph.add("Where", self.graph.add("Greater", x, self.number(0)), x, self.number(1))

    def count_less(self, steps: int) -> str:
        """The number of steps minus `steps`, at least 1."""
        return self.graph.add("Max", self.graph.add("Sub", self.time, self.number(steps)), self.number(1))

    def channel_statistics(self) -> Iterator[str]:
        """The statistics of single channels, each (item, channel)."""
        yield self.reduce_time("Mean", self.mean)
        yield self.reduce_time("Mean", self.deviation)
        yield from self.order_statistics()
        for power in (3, 4):
            yield self.reduce_time("Mean", self.graph.add("Pow", self.z_scores, self.number(power)))
        yield from self.trend_statistics()
        yield from self.segment_statistics()
        yield from self.change_statistics()
        yield from self.autocorrelations()
        yield from self.spectral_statistics()
        yield self.times(self.reduce_time("Mean", self.mean), 0.0)  # nothing is missing

    def order_statistics(self) -> Iterator[str]:
        graph = self.graph
        count = graph.add("Unsqueeze", self.steps, graph.integers([0]))
        ordered = graph.add_multi_output("TopK", [self.x, count], 2, axis=1, largest=0, sorted=1)[0]
        last = graph.add("Sub", self.time, self.number(1))
        for level in (0.0, *QUANTILES, 1.0):
            place = self.times(last, level)
            below = graph.add("Floor", place)
            above = graph.add("Min", graph.add("Add", below, self.number(1)), last)
            low, high = (graph.add("Gather", ordered, graph.cast(at, "int64"), axis=1) for at in (below, above))
            share = graph.add("Sub", place, below)
            yield graph.add("Add", low, graph.add("Mul", share, graph.add("Sub", high, low)))
        for kind in ("ArgMax", "ArgMin"):
            when = graph.cast(graph.add(kind, self.x, axis=1, keepdims=0), "float64")
            yield graph.add("Div", when, self.count_less(1))

    def trend_statistics(self) -> Iterator[str]:
        graph = self.graph
        clock = graph.add("Sub", graph.add("Div", self.step_numbers, self.count_less(1)), self.number(0.5))
        for course in (clock, self.square(clock)):
            ours = self.column(graph.add("Sub", course, graph.add("ReduceMean", course, axes=[0])))
            size = graph.add("ReduceSum", self.square(ours), graph.integers([0, 1]), keepdims=0)
            shared = self.reduce_time("Sum", graph.add("Mul", ours, self.centered))
            yield graph.add("Div", shared, self.replace_nonpositive(size))

    def segment_statistics(self) -> Iterator[str]:
        for part in self.cut_segments(N_SEGMENTS):
            yield self.graph.add("Add", self.reduce_time("Mean", self.mean), self.reduce_time("Mean", part))
        for part in self.cut_segments(N_SEGMENTS // 2):
            squares = self.reduce_time("Mean", self.square(part))
            variance = self.graph.add("Sub", squares, self.square(self.reduce_time("Mean", part)))
            yield self.graph.add("Sqrt", self.graph.add("Max", variance, self.number(0)))

    def cut_segments(self, n_parts: int) -> Iterator[str]:
        """Equal parts of the time; none is empty, so those of a short series overlap."""
        graph, parts = self.graph, self.graph.integers([n_parts])
        for part in range(n_parts):
            first, last = (
                graph.add("Div", graph.add("Mul", self.steps, graph.integers([edge])), parts)
                for edge in (part, part + 1)
            )
            last = graph.add("Max", last, graph.add("Add", first, graph.integers([1])))
            yield graph.add("Slice", self.centered, first, last, graph.integers([1]))

    def change_statistics(self) -> Iterator[str]:
        """The last step is repeated, which adds a zero change, so that a single step is no special case."""
        graph = self.graph
        then = self.shift_back(self.centered)
        steps = graph.add("Sub", then, self.centered)
        count = self.count_less(1)
        yield graph.add("Div", self.reduce_time("Sum", graph.add("Abs", steps)), count)
        yield graph.add("Sqrt", graph.add("Div", self.reduce_time("Sum", self.square(steps)), count))
        for kind in ("Max", "Min"):
            yield graph.add(kind, self.reduce_time(kind, steps), self.number(0))
        yield graph.add("Div", self.reduce_time("Sum", self.signs_differ(then, self.centered)), count)
        inside = graph.add("Less", self.step_numbers, graph.add("Sub", self.time, self.number(2)))
        turns = graph.add(
            "Mul", self.signs_differ(self.shift_back(steps), steps), self.column(graph.cast(inside, "float64"))
        )
        yield graph.add("Div", self.reduce_time("Sum", turns), self.count_less(2))

    def shift_back(self, x: str) -> str:
        """x shifted by one step into the past, with the last step repeated."""
        rest, last = self.graph.slice_axis(x, 1, None, 1), self.graph.slice_axis(x, -1, None, 1)
        return self.graph.add("Concat", rest, last, axis=1)

    def signs_differ(self, x: str, y: str) -> str:
        """1 if exactly one of the two is positive, otherwise 0."""
        signs = (self.graph.add("Greater", side, self.number(0)) for side in (x, y))
        return self.graph.cast(self.graph.add("Xor", *signs), "float64")

    def autocorrelations(self) -> Iterator[str]:
        for lag in LAGS:
            padded = self.graph.add("Pad", self.z_scores, self.graph.integers([0, lag, 0, 0, 0, 0]))
            before = self.graph.slice_axis(padded, 0, -lag, 1)  # zeros before the first step
            products = self.reduce_time("Sum", self.graph.add("Mul", before, self.z_scores))
            yield self.graph.add("Div", products, self.count_less(lag))

    def spectral_statistics(self) -> Iterator[str]:
        """Computed from products with cosines and sines of all frequencies k / T, k = 1, …, T/2."""
        graph = self.graph
        half = graph.add("Floor", self.times(self.time, 0.5))
        most = graph.add("Max", half, self.number(1))
        k = graph.add("Range", self.number(1), graph.add("Add", most, self.number(1)), self.number(1))
        turns = graph.add("Mod", graph.add("Mul", self.column(k), self.step_numbers), self.time, fmod=1)
        angle = self.times(graph.add("Div", turns, self.time), 2 * np.pi)
        waves = [graph.add("MatMul", graph.add(kind, angle), self.z_scores) for kind in ("Cos", "Sin")]
        power = graph.add("Add", *map(self.square, waves))
        share = graph.add("Div", power, graph.add("Max", self.reduce_time("Sum", power, 1), self.number(_TINY)))
        frequency = graph.add("Div", k, self.time)
        edges = [0.5 / 2**octave for octave in range(N_BANDS)] + [0.0]
        for high, low in pairwise(edges):
            within = graph.add("LessOrEqual", frequency, self.number(high))
            inside = graph.add("And", within, graph.add("Greater", frequency, self.number(low)))
            yield self.reduce_time("Sum", graph.add("Mul", share, self.column(graph.cast(inside, "float64"))))
        yield self.reduce_time("Sum", graph.add("Mul", share, self.column(frequency)))
        logs = graph.add("Log", graph.add("Max", share, self.number(_TINY)))
        yield graph.add("Neg", self.reduce_time("Sum", graph.add("Mul", share, logs)))

    def joint_statistics(self, n_channels: int) -> Iterator[str]:
        """The logarithm of the length, and the correlations of channels if there are few."""
        graph = self.graph
        one = graph.slice_axis(self.reduce_time("Mean", self.mean), 0, 1, 1)  # (item, 1)
        yield graph.add("Add", self.times(one, 0.0), graph.add("Log", self.time))
        pairs = np.array([(i, j) for i in range(n_channels) for j in range(i)]).reshape(-1, 2)
        if n_channels <= MAX_CORRELATED_CHANNELS and len(pairs):
            first, second = (graph.take(self.z_scores, side, 2) for side in pairs.T)
            yield self.reduce_time("Mean", graph.add("Mul", first, second))
