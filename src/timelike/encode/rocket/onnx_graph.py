"""Rocket as nodes of an ONNX graph, with the same sums in the same order, so that results are bit-equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.rocket import GROUPS, TAPS, TRIPLES, KernelBank
from ..onnx.graph import ONNX_DTYPES, OnnxGraph

_KERNELS = np.arange(len(TRIPLES))


def add_rocket(graph: OnnxGraph, x: str, bank: KernelBank, n_features: int) -> str:
    """Add nodes that map standardized series x (item, time, channel) to features (item, feature).

    Convolutions are sums of shifted series, because the order of summation of ONNX's own depends on the runtime, and a
    value equal to its threshold must not exceed it. Runs are counted step by step in one `Scan`.
    """
    time = graph.add("Gather", graph.add("Shape", x), graph.integers(1))
    parts = [_add_exceedances(graph, x, time, bank, place) for place in range(len(bank.dilations))]
    above = graph.add("Concat", *(some for some, _ in parts), axis=2)
    steps = graph.add("Concat", *(some for _, some in parts), axis=0)
    tallies = _add_counts_and_runs(graph, above, len(bank.thresholds))
    shares = [graph.add("Div", tally, graph.cast(steps, "float32")) for tally in tallies]
    return graph.slice_axis(graph.add("Concat", *shares, axis=1), 0, n_features, 1)


def _add_exceedances(graph: OnnxGraph, x: str, time: str, bank: KernelBank, place: int) -> tuple[str, str]:
    """Where outputs at a dilation exceed thresholds (item, time, threshold), and the number of steps (threshold,)."""
    kernels = np.repeat(_KERNELS, bank.counts[place])
    ends = bank.counts.sum(axis=1).cumsum()
    thresholds = graph.constant(bank.thresholds[ends[place] - len(kernels) : ends[place]])
    beyond = graph.add("Greater", graph.take(_add_kernel_outputs(graph, x, bank, place), kernels, 2), thresholds)
    dilation, odd = int(bank.dilations[place]), (place + kernels) % 2
    longer = graph.add("Greater", time, graph.integers((TAPS - 1) * dilation))
    first, last = (
        _add_margin(graph, longer, taps * dilation * odd) for taps in (bank.n_past_taps, TAPS - 1 - bank.n_past_taps)
    )
    end = graph.add("Sub", time, last)
    at = graph.add("Unsqueeze", graph.add("Range", graph.integers(0), time, graph.integers(1)), graph.integers([1]))
    inside = graph.add("And", graph.add("GreaterOrEqual", at, first), graph.add("Less", at, end))
    return graph.add("And", beyond, inside), graph.add("Sub", end, first)


def _add_margin(graph: OnnxGraph, longer: str, steps: np.ndarray[Any, Any]) -> str:
    """The number of steps at an end of the series that do not count (threshold,); 0 if the kernel is longer than it."""
    return graph.add("Where", longer, graph.integers(steps), graph.integers(0 * steps))


def _add_kernel_outputs(graph: OnnxGraph, x: str, bank: KernelBank, place: int) -> str:
    """The outputs of every kernel at a dilation, (item, time, kernel)."""
    groups = _KERNELS % GROUPS
    taps = _add_taps(graph, _add_channel_sums(graph, x, bank, place), int(bank.dilations[place]), bank.n_past_taps)
    every = _add_sum(graph, taps)
    thrice = graph.add("Mul", graph.add("Concat", *taps, axis=2), graph.constant(3.0))
    weighted = [graph.take(thrice, tap * GROUPS + groups, 2) for tap in np.array(TRIPLES).T]
    return graph.add("Sub", _add_sum(graph, weighted), graph.take(every, groups, 2))


def _add_channel_sums(graph: OnnxGraph, x: str, bank: KernelBank, place: int) -> str:
    """The sums of the channels of every group, (item, time, group)."""
    padded = graph.add("Pad", x, graph.integers([0, 0, 0, 0, 0, 1]))  # a last channel of zeros
    slots = bank.channels[place].T  # −1 in unused slots, which is that channel
    return _add_sum(graph, [graph.take(padded, slot, 2) for slot in slots])


def _add_taps(graph: OnnxGraph, summed: str, dilation: int, back: int) -> list[str]:
    """The input of each tap, (item, time, group), zeros outside the series."""
    reach = (TAPS - 1) * dilation
    padded = graph.add("Pad", summed, graph.integers([0, back * dilation, 0, 0, reach - back * dilation, 0]))
    return [graph.slice_axis(padded, tap * dilation, tap * dilation - reach or None, 1) for tap in range(TAPS)]


def _add_sum(graph: OnnxGraph, terms: list[str]) -> str:
    """The sum of the terms, in their order."""
    total = terms[0]
    for term in terms[1:]:
        total = graph.add("Add", total, term)
    return total


def _add_counts_and_runs(graph: OnnxGraph, above: str, n_thresholds: int) -> tuple[str, str]:
    """The number of steps above, and the longest run of them, each (item, threshold), as floats."""
    items = graph.slice_axis(graph.add("Shape", above), 0, 1, 0)
    shape = graph.add("Concat", items, graph.integers([n_thresholds]), axis=0)
    nothing = graph.add("Expand", graph.constant(0.0), shape)
    how = {"num_scan_inputs": 1, "scan_input_axes": [1], "body": _scan_body(graph)}
    _, longest, counted = graph.add_multi_output("Scan", [nothing] * 3 + [above], 3, **how)
    return counted, longest


def _scan_body(graph: OnnxGraph) -> Any:
    """One step: run ← (run + 1) · above, longest ← max(longest, run), counted ← counted + above."""
    helper = graph.onnx.helper

    def value_info(name: str, kind: str = "float32") -> Any:
        return helper.make_tensor_value_info(name, ONNX_DTYPES[kind], None)

    nodes = [
        helper.make_node("Cast", ["above_now"], ["now"], to=ONNX_DTYPES["float32"]),
        helper.make_node("Add", ["run", "now"], ["going_on"]),  # one more if it is above
        helper.make_node("Mul", ["going_on", "now"], ["run_next"]),
        helper.make_node("Max", ["longest", "run_next"], ["longest_next"]),
        helper.make_node("Add", ["counted", "now"], ["counted_next"]),
    ]
    inputs = [value_info("run"), value_info("longest"), value_info("counted"), value_info("above_now", "bool")]
    return helper.make_graph(
        nodes, "step", inputs, [value_info(f"{name}_next") for name in ("run", "longest", "counted")]
    )
