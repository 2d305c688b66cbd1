"""How fast `Prototypes` answers, enrolls and is attacked, beside a perceptron of concatenated pairs in torch.

    python -m benchmarks.speed.recognize
    python -m benchmarks.speed.recognize --only predict-1000 --quick
    python -m benchmarks.speed.recognize --data DIR --markdown benchmarks/results/recognize.md

The model has its defaults but for hardly any training, which no time depends on, prototypes that are drawn, and, where
no row says otherwise, the learned similarity. The peer has the same weights: both vectors of a pair beside each other,
through both layers, in both orders, as many pairs at a time as were fastest for it, and then the best prototype. Both
must name the same ones. A time is of the processor, of the fastest of turns that alternate. Images are those of
`mnist.npz` in `--data` or `$TIMELIKE_DATA`, or, where there are none, scikit-learn's digits made as large.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

import timelike as tl
from benchmarks.speed.table import (
    HEAD,
    Row,
    against,
    arguments,
    at_most,
    load,
    on_avx2,
    page,
    save,
    setting,
    shown,
    table,
)
from benchmarks.speed.timing import child, timed
from timelike import attacks
from timelike.prototypes.classes import Members
from timelike.prototypes.options import LearnedSimilarity, SimilarityKind
from timelike.sequences.generate.digit_images import load_digit_images, resize_digits

QUERIES, FEW = 1000, 10  # FEW for the peer, where it takes minutes
PAIRS = 1 << 12  # of the peer at a time: of 2¹⁰, 2¹², …, 2¹⁶ the fastest here
MEGABYTES = 200
STEPS, CHANNELS = 30, 2


@dataclass(frozen=True)
class Effort:
    """How often, on how many threads, and where data are."""

    turns: int = 5
    threads: int = 1
    data: Path | None = None


def walks(count: int, seed: int = 0) -> NDArray[np.float32]:
    steps = np.random.default_rng(seed).standard_normal((count, STEPS, CHANNELS))
    return steps.cumsum(axis=1).astype(np.float32)


def model_of(n_prototypes: int, similarity: SimilarityKind = "learned") -> tl.Prototypes:
    """A model that knows so many classes of one prototype each, as if they had been enrolled."""
    known = tl.Prototypes(similarity_fn=similarity, max_steps=1, random_state=0).fit(walks(40), np.repeat(range(8), 5))
    width = known.prototypes_.shape[1]
    vectors = np.random.default_rng(1).standard_normal((n_prototypes, width)).astype(np.float32)
    every = np.arange(n_prototypes)
    known._set_classes(every, Members(vectors, every, np.ones(n_prototypes, np.int64)), vectors, every)
    return known


# --- predictions ---------------------------------------------------------------------------------------------------


@torch.no_grad()
def concatenated(model: tl.Prototypes, vectors: NDArray[np.float32], at_once: int = PAIRS) -> NDArray[np.int64]:
    """The best prototype of every vector, by the perceptron of pairs as the formula has it."""
    network, prototypes = model.network_.similarity, torch.from_numpy(model.prototypes_)
    found = []
    for some in torch.split(torch.from_numpy(vectors), max(1, at_once // len(prototypes))):
        scores = torch.cat([_scored(network, block, some) for block in torch.split(prototypes, at_once)])
        found.append(scores.argmax(0))
    return torch.cat(found).numpy()


def _scored(network: Any, prototypes: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    n, m = len(prototypes), len(vectors)
    u, v = prototypes[:, None].expand(n, m, -1), vectors.expand(n, m, -1)
    both = (torch.cat(order, -1) for order in ((u, v), (v, u)))
    one, other = (F.leaky_relu(network.first(pair), network.slope) @ network.last.weight[0] for pair in both)
    found: torch.Tensor = (one + other) / 2 + network.last.bias
    return found


def alternating(turns: int, **jobs: Callable[[], Any]) -> dict[str, float]:
    """Seconds of the processor of each, of its fastest turn."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(turns + 1):  # the first does not count
        for name, job in jobs.items():
            busy = timed(job).busy
            times[name] += [busy] if turn else []
    return {name: min(found) for name, found in times.items()}


def per_second(time: float) -> str:
    return f"{1 / time:,.0f}/s"


def predict(n_prototypes: int, least: float | None, effort: Effort) -> Iterator[Row]:
    model, x = model_of(n_prototypes), tl.Sequences(walks(QUERIES, 2))
    vectors = model.encode(x)
    few = vectors[: FEW if n_prototypes > 10_000 else QUERIES]
    ours = model.network_.similarity.top_k(model.prototypes_, few)[1][:, 0]
    alike = np.mean(ours == concatenated(model, few))
    assert alike > 0.99, f"{alike:.1%} of the answers are the same: nothing is compared"
    turns = effort.turns if n_prototypes < 10_000 else max(1, effort.turns // 2)
    found = alternating(
        turns,
        theirs=lambda: concatenated(model, few),
        ours=lambda: model.network_.similarity.top_k(model.prototypes_, vectors),
        whole=lambda: model.predict(x),
        one=lambda: model.network_.similarity.top_k(model.prototypes_, vectors[:1]),
    )
    said = f"{n_prototypes:,} prototypes"
    peer = "pairs concatenated, torch"
    each = found["theirs"] / len(few), found["ours"] / QUERIES
    yield against(f"{said}, {QUERIES:,} vectors at a time", peer, *each, least, per_second)
    yield Row(
        f"{said}: `predict` of {QUERIES:,} sequences", "–", "–", per_second(found["whole"] / QUERIES), "–", "–", True
    )
    yield Row(f"{said}: one vector at a time", "–", "–", per_second(found["one"]), "–", "–", True)


def by_cosine(effort: Effort) -> Iterator[Row]:
    """What the default similarity takes, which is no perceptron."""
    x = tl.Sequences(walks(QUERIES, 2))
    for n_prototypes in (1000, 100_000):
        model = model_of(n_prototypes, "cosine")
        vectors = model.encode(x)
        job = partial(model.network_.similarity.top_k, model.prototypes_, vectors)
        taken = alternating(max(1, effort.turns // 2), ours=job)["ours"] / QUERIES
        said = f"{n_prototypes:,} prototypes, {QUERIES:,} vectors of {vectors.shape[1]} numbers, by the cosine"
        yield Row(said, "–", "–", per_second(taken), "–", "–", True)


# --- memory, enrolling, attacks --------------------------------------------------------------------------------------

MEMORY = """
import sys
import timelike as tl
from benchmarks.memory import peak_memory, reset_peak
from benchmarks.speed.recognize import model_of, walks
n_prototypes, n_queries = map(int, sys.argv[1:3])
model, x = model_of(n_prototypes, sys.argv[3]), tl.Sequences(walks(n_queries, 2))
model.predict(x[:2])
reset_peak()
before = peak_memory()
model.predict(x)
print((peak_memory() - before) / 2**20)
"""


def memory(effort: Effort) -> Iterator[Row]:
    for kind, name in (("learned", "by the perceptron"), ("cosine", "by the cosine")):
        found = float(child(MEMORY, 100_000, QUERIES, kind)[0])
        work = f"memory that `predict` takes, {QUERIES:,} sequences and 100,000 prototypes, {name}"
        yield Row(work, "–", "–", f"{found:.0f} MB", "–", f"≤ {MEGABYTES} MB", found <= MEGABYTES)


def enroll(effort: Effort) -> Iterator[Row]:
    x, y = tl.Sequences(walks(QUERIES, 3)), np.arange(QUERIES) // 10
    kinds: tuple[SimilarityKind, ...] = ("learned", "cosine")
    for kind in kinds:
        blank = tl.Prototypes(similarity_fn=kind, max_steps=1, random_state=0)
        model = blank.fit(walks(40), -1 - np.repeat(range(8), 5))
        copies = [copy.deepcopy(model) for _ in range(effort.turns + 1)]
        found = alternating(
            effort.turns,
            encode=partial(model.encode, x),
            ours=lambda left=copies: left.pop().enroll(x, y),  # type: ignore[misc]
        )
        work = f"`enroll` of {QUERIES:,} sequences, 10 of every class, {kind}"
        yield at_most(work, "`encode` of the same", found["encode"], found["ours"], 2.0)


def images(data: Path | None, split: str, count: int) -> tuple[tl.Sequences, NDArray[Any]]:
    path = None if data is None else Path(data) / "mnist.npz"
    pixels, labels, scale = load_digit_images(path if path is not None and path.exists() else None, split)
    chosen = np.random.default_rng(0).permutation(len(pixels))[:count]
    large = resize_digits(pixels[chosen] / scale, 28).astype(np.float32).clip(0, 1)
    return tl.Sequences(large[:, None], layout="nchw"), labels[chosen]


def attacked(effort: Effort) -> Iterator[Row]:
    known, asked = (images(effort.data, *which) for which in (("train", 1000), ("test", 300)))
    encoder = tl.encode.ImageEncoder(architecture="lenet", random_state=0)
    model = tl.Prototypes(encoder=encoder, similarity_fn="learned", perturb=False, max_steps=50, random_state=0).fit(
        *known
    )
    attack = attacks.PGD(0.3, steps=40, step=0.01, bounds=(0.0, 1.0))
    taken = min(timed(lambda: attack.attack(model, *asked, random_state=0)).busy for _ in range(min(2, effort.turns)))
    work = f"PGD of 40 steps on {len(asked[0])} images of 28 × 28, LeNet, every step of every image"
    yield Row(work, "–", "–", f"{taken:.3g} s", "–", "–", True)


JOBS: dict[str, Callable[[Effort], Iterator[Row]]] = {
    "predict-10": partial(predict, 10, None),
    "predict-1000": partial(predict, 1000, 10.0),
    "predict-100000": partial(predict, 100_000, None),
    "cosine": by_cosine,
    "memory": memory,
    "enroll": enroll,
    "attack": attacked,
}
ALSO = ("predict-10", "predict-1000")  # on AVX2 too


def main() -> int:
    parser = arguments(__doc__, JOBS, quick="one turn")
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="folder of mnist.npz")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    effort = Effort(1 if options.quick else 5, options.threads, options.data)
    print(HEAD)
    rows = shown(row for name in options.only or JOBS for row in JOBS[name](effort))
    save(rows, options.rows)
    if options.markdown:
        command = "python -m benchmarks.speed.recognize --data DIR --markdown benchmarks/results/recognize.md"
        size = LearnedSimilarity().hidden
        words = f"""{setting("timelike", "torch", "numpy")}; float32, {options.threads} thread(s) each; {load()}.
Fastest of {effort.turns} turns that alternate (2 with 100,000 prototypes), processor time. Vectors have 64 numbers, the
perceptron {size} hidden units, and S is the mean of both orders: twice {size} sums for every pair. The peer is given
{FEW} vectors where there are 100,000 prototypes. Memory is the peak of a process beyond what it held before the call.

With one vector at a time 1,000 prototypes are behind the first layer already, from the call before; 100,000 are not, as
they would take 400 MB, and most of the time is theirs. Who has the memory keeps them (`similarity.known`)."""
        quick = ["--quick"] if options.quick else []
        avx2 = on_avx2("benchmarks.speed.recognize", *quick, *(word for name in ALSO for word in ("--only", name)))
        also = f"The same with the kernels for AVX2 (`TIMELIKE_ISA=v3`):\n\n{table(avx2)}"
        options.markdown.write_text(page("Speed of recognition", command, words, rows, also))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
