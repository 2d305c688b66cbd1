"""How much slower everything is without a compiler: compiled kernels beside the fallbacks in NumPy and torch.

    python -m benchmarks.speed.fallback
    python -m benchmarks.speed.fallback --only "DTW, 3 channels" --only GDTW

One thread. Times are processor time, of the fastest of several turns, so that other work on the machine counts little.
A cell is one of the dynamic program that lies inside the band: padding is not counted. Both answers are compared.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from benchmarks.speed.kernels_off import without_kernels
from benchmarks.speed.table import assemble, seconds, setting
from benchmarks.speed.timing import timed

HEAD = "| job | compiled | fallback | factor | Mcell/s of the fallback |\n|---|---:|---:|---:|---:|"
BAR = 50.0  # million cells a second, of the jobs that name them as their aim
LASTING = 0.5  # seconds that a job is repeated for

Answer = Callable[[], Any]


class Job(NamedTuple):
    """What is called, the cells it computes (0 where it has none), and how far answers may differ."""

    call: Answer
    cells: int = 0
    tolerance: float = 1e-9
    has_bar: bool = False


def ragged(count: int, channels: int, dtype: str = "float64", longest: int = 500) -> tl.Sequences:
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, longest + 1, count)
    values = [rng.standard_normal((n, channels)).cumsum(axis=0).astype(dtype) for n in lengths]
    return tl.Sequences(values, labels=np.arange(count) % 4)


def band_cells(metric: Any, data: tl.Sequences) -> int:
    """The cells inside the band, of one of (i, j) and (j, i)."""
    window = getattr(metric, "window", None)
    band = tl.native.WarpingBand() if window is None else tl.native.WarpingBand("widened", None, window)
    lengths, counts = np.unique(data.lengths, return_counts=True)
    total = 0
    for i, n in enumerate(lengths.tolist()):
        for j, m in enumerate(lengths.tolist()[: i + 1]):
            low, high = band.bounds(n, m)
            pairs = counts[i] * (counts[i] + 1) // 2 if i == j else counts[i] * counts[j]
            total += int(pairs) * int((high - low + 1).sum())
    return total


def _ragged_pairs(metric: Any) -> Job:
    return all_pairs(metric, ragged(40, 3))


def _apply_to_made(apply: Callable[[Any], Job], make: Callable[[], Any]) -> Job:
    return apply(make())


def all_pairs(metric: Any, data: tl.Sequences, *, tolerance: float = 1e-9, has_bar: bool = False) -> Job:
    return Job(lambda: metric.pairwise(data, n_jobs=1), band_cells(metric, data), tolerance, has_bar)


def elastic_jobs() -> dict[str, Callable[[], Job]]:
    holes = ragged(40, 3)
    values = holes.values.copy()
    values[np.random.default_rng(1).random(values.shape) < 0.05] = np.nan
    missing = tl.Sequences(np.split(values, np.cumsum(holes.lengths)[:-1]))
    jobs: dict[str, Callable[[], Job]] = {
        "DTW, 1 channel": lambda: all_pairs(tl.DTW(), ragged(40, 1), has_bar=True),
        "DTW, 3 channels": lambda: all_pairs(tl.DTW(), ragged(40, 3), has_bar=True),
        "DTW, 3 channels, float32": lambda: all_pairs(tl.DTW(), ragged(40, 3, "float32"), tolerance=1e-4, has_bar=True),
        "DTW, 3 channels, window 0.1": lambda: all_pairs(tl.DTW(window=0.1), ragged(40, 3), has_bar=True),
        "DTW, 3 channels, mean over the path": lambda: all_pairs(tl.DTW(normalize="steps"), ragged(40, 3)),
        "DTW, 3 channels, missing values": lambda: all_pairs(tl.DTW(missing="ignore"), missing),
    }
    for metric in (tl.DDTW(), tl.WDTW(), tl.ADTW(), tl.ERP(), tl.EDR(), tl.LCSS(), tl.MSM(), tl.TWE()):
        jobs[f"{type(metric).__name__}, 3 channels"] = partial(_ragged_pairs, metric)
    jobs["DTW, short and long, 200 sequences"] = lambda: all_pairs(tl.DTW(), ragged(200, 1, longest=60), has_bar=True)
    jobs["DTW, the path of one pair"] = _path_job
    return jobs


def _path_job() -> Job:
    one, two = (np.random.default_rng(seed).standard_normal((500, 3)).cumsum(axis=0) for seed in (0, 1))
    return Job(lambda: tl.DTW().align(one, two).cost, 500 * 500)


def other_jobs() -> dict[str, Callable[[], Job]]:
    few = ragged(8, 2, longest=80)

    def soft_gradients() -> Job:
        return Job(lambda: tl.barycenter(few, metric=tl.SoftDTW(), max_iter=5).cost, tolerance=1e-4)

    def rocket() -> Job:
        data = ragged(40, 3, "float32", longest=200)
        encoder = tl.Rocket(n_features=2000, random_state=0).fit(data)
        return Job(lambda: encoder.encode(data), tolerance=1e-5)

    def stream() -> Job:
        rng = np.random.default_rng(1)
        walk = rng.standard_normal(4000).cumsum()
        return Job(lambda: tl.subsequence(walk[100:228], walk)[0].distance, 4000 * 128)

    def windows() -> Job:
        rng = np.random.default_rng(1)
        walk, query = rng.standard_normal(4000).cumsum(), rng.standard_normal(128).cumsum()
        return Job(lambda: tl.subsequence(query, walk, normalize=True, window=6)[0].distance)

    return {
        "SoftDTW": lambda: all_pairs(tl.SoftDTW(), ragged(40, 3, longest=200)),
        "SoftDTW, barycenter": soft_gradients,
        "GDTW": lambda: Job(lambda: tl.GDTW(regularization=0.1).pairwise(few[:4], n_jobs=1), tolerance=1e-4),
        "OT": lambda: Job(lambda: tl.OT().pairwise(few, n_jobs=1), tolerance=1e-6),
        "Sinkhorn": lambda: Job(lambda: tl.Sinkhorn().pairwise(few, n_jobs=1), tolerance=1e-6),
        "OPW": lambda: Job(lambda: tl.OPW().pairwise(few, n_jobs=1), tolerance=1e-6),
        "Rocket": rocket,
        "subsequence": stream,
        "subsequence, normalised windows": windows,
        "NTK": _tangent_job,
        "learned similarity": _similarity_job,
    }


def _tangent_job() -> Job:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((400, 3)), rng.standard_normal((300, 3))
    kernel = tl.distributions.NTK()
    return Job(lambda: tl.distributions.mmd(x, y, kernel=kernel), tolerance=1e-6)


def _similarity_job() -> Job:
    from timelike.native.similarity import OutputLayer, scores

    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal((n, 64)).astype(np.float32) for n in (400, 300))
    layer = OutputLayer(rng.standard_normal(64).astype(np.float32), 0.1, 0.0)
    return Job(lambda: scores(left, right, layer, threads=1), tolerance=1e-3)


def network_jobs() -> dict[str, Callable[[], Job]]:
    data = ragged(40, 3, "float32", longest=120)

    def encoding(encoder: Any) -> Job:
        fitted = encoder.fit(data)
        return Job(lambda: fitted.encode(data), tolerance=1e-2)

    def training(make: Callable[[], Any]) -> Job:
        return Job(lambda: make().fit(data, data.labels) and 0.0)

    def distances(metric: Any) -> Job:
        fitted = metric.fit(data, data.labels)
        return Job(lambda: fitted.pairwise(data), tolerance=1e-2)

    short: dict[str, Any] = {"max_steps": 5, "random_state": 0, "progress": False}
    makers = {
        "CausalEncoder": lambda: tl.CausalEncoder(**short),
        "RecurrentEncoder": lambda: tl.RecurrentEncoder(hidden=64, n_layers=1, **short),
        "CoupledGRU": lambda: tl.CoupledGRU(**short),
        "TAP": lambda: tl.TAP(hidden=64, **short),
    }
    jobs: dict[str, Callable[[], Job]] = {}
    for name, make in makers.items():
        verb, apply = ("encode", encoding) if name.endswith("Encoder") else ("pairwise", distances)
        jobs[f"{name}, {verb}"] = partial(_apply_to_made, apply, make)
        jobs[f"{name}, 5 steps of fit"] = partial(training, make)
    return jobs


def all_jobs() -> dict[str, Callable[[], Job]]:
    return elastic_jobs() | other_jobs() | network_jobs()


def processor_time(call: Answer) -> float:
    """Seconds of the fastest call."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < LASTING and len(times) < 50):
        times.append(timed(call).busy)
        if times[-1] > 4 * LASTING:
            break
    return min(times)


def as_array(answer: Any) -> NDArray[np.float64]:
    return np.asarray(answer if not hasattr(answer, "values") else answer.values, np.float64)


class Row(NamedTuple):
    job: str
    compiled: float
    fallback: float
    rate: float  # million cells a second, 0 where there are no cells
    met: bool

    def line(self) -> str:
        rate = f"{self.rate:.0f}" if self.rate else "–"
        return f"| {self.job} | {seconds(self.compiled)} | {seconds(self.fallback)} | {self.factor:.0f}× | {rate} |"

    @property
    def factor(self) -> float:
        return self.fallback / self.compiled


def measure(name: str, make: Callable[[], Job]) -> Row:
    job = make()
    expected = as_array(job.call())  # also the call that does not count
    compiled = processor_time(job.call)
    with without_kernels():
        np.testing.assert_allclose(as_array(job.call()), expected, rtol=job.tolerance, atol=job.tolerance, err_msg=name)
        fallback = processor_time(job.call)
    rate = job.cells / fallback / 1e6
    return Row(name, compiled, fallback, rate, not job.has_bar or rate >= BAR)


def measured(names: list[str]) -> Iterator[Row]:
    jobs = all_jobs()
    print(HEAD, flush=True)
    for name in names or jobs:
        row = measure(name, jobs[name])
        print(row.line(), flush=True)
        yield row


def write_page(rows: list[Row], path: Path) -> None:
    factors = sorted(row.factor for row in rows)
    result = (
        f"Without a compiler everything runs on the fallbacks, {factors[0]:.2g} to {factors[-1]:.0f} times as slow on "
        f"one thread, the median {np.median(factors):.0f}."
    )
    table = "\n".join([HEAD, *(row.line() for row in rows)])
    words = "\n\n".join((__doc__ or "").split("\n\n")[2:]).strip()
    here = setting("numpy", "torch")
    page = assemble("Without a compiler", result, [table, here], "python -m benchmarks.speed.fallback", words)
    path.write_text(page, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="JOB", help="a name in the first column")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    given = parser.parse_args(argv)
    import torch

    torch.set_num_threads(1)
    rows = list(measured(given.only))
    if given.markdown is not None:
        write_page(rows, given.markdown)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    # before NumPy and torch start their threads
    if os.environ.get("OMP_NUM_THREADS") != "1":
        os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.speed.fallback", *sys.argv[1:]])
    sys.exit(main())
