"""Other libraries' permutation tests of the maximum mean discrepancy, and how their numbers are related to ours.

hyppo (0.5.2) is imported. `MMD(...).test(x, y, reps, auto=False)` reports the unbiased discrepancy times a factor that
depends on the pooled sample alone, p = (1 + #{permuted ≥ observed}) / (1 + reps), with the median of the pooled
distances for a width, as ours. What is permuted is the same up to a constant and a factor. `random_state` has no
effect: numbers are drawn from NumPy's global generator. With `auto=True`, its default, and more than 20 items p is that
of a chi-squared approximation instead.

alibi-detect (0.13.0) has a Business Source licence and needs NumPy 1: it lives in an environment of its own, whose
Python `--alibi` or `$TIMELIKE_ALIBI` names, and is run, never read. `MMDDrift(x, backend="pytorch").predict(y)` reports
the unbiased discrepancy itself, and p = #{permuted ≥ observed} / permutations, which can be 0. Its width is, unless one
is given (`sigma`), the median distance within the *reference*, over √2: it depends on who is X, so that permutations
are not quite exchangeable.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PEERS = ("hyppo", "alibi-detect")
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


class Tested(NamedTuple):
    """What a test says."""

    statistic: float
    p_value: float


ALIBI = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, torch
import alibi_detect
from alibi_detect.cd import MMDDrift
torch.set_num_threads(1)
torch.manual_seed(0)
found, given = [], np.load(sys.argv[1])
for place in range(int(sys.argv[3])):
    x, y = (given[f"{name}{place}"].astype(np.float32) for name in "xy")
    width = given[f"w{place}"]
    options = {"sigma": width.astype(np.float32)} if width.size else {}
    made = MMDDrift(x, backend="pytorch", n_permutations=int(sys.argv[2]), device="cpu", **options)
    said = made.predict(y)["data"]
    found.append([float(said["distance"]), float(said["p_val"])])
print(json.dumps({"version": alibi_detect.__version__, "found": found}))
"""


class Peer:
    """Both peers; `alibi` is the Python of the environment that has alibi-detect."""

    def __init__(self, alibi: Path | None) -> None:
        self.alibi = alibi

    def lacks(self, name: str) -> str:
        """Why a peer cannot be asked."""
        if name == "hyppo":
            try:
                import hyppo  # noqa: F401
            except ImportError:
                return "hyppo is not installed"
            return ""
        if self.alibi is None or not self.alibi.exists():
            return "--alibi or $TIMELIKE_ALIBI does not name the Python of an environment with alibi-detect"
        return ""

    def tested(
        self, name: str, pairs: Sequence[Pair], n_permutations: int, widths: Sequence[float] | None = None
    ) -> list[Tested]:
        """What a peer says of every pair of samples; `widths` are those of ours, its own where there are none."""
        if name == "hyppo":
            return [self._hyppo(*pair, n_permutations, place) for place, pair in enumerate(pairs)]
        return self._alibi(pairs, n_permutations, widths)

    def _hyppo(self, x: Any, y: Any, n_permutations: int, seed: int) -> Tested:
        from hyppo.ksample import MMD

        np.random.seed(seed)  # noqa: NPY002  # its random_state has no effect
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of replications is low")
            found = MMD().test(x, y, reps=n_permutations, workers=1, auto=False)
        return Tested(float(found[0]), float(found[1]))

    def _alibi(self, pairs: Sequence[Pair], n_permutations: int, widths: Sequence[float] | None) -> list[Tested]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "samples.npz"
            arrays: dict[str, Any] = {}
            for place, (x, y) in enumerate(pairs):
                width = [] if widths is None else [widths[place]]
                arrays |= {f"x{place}": x, f"y{place}": y, f"w{place}": np.array(width, float)}
            np.savez(path, **arrays)
            call = [str(self.alibi), "-c", ALIBI, str(path), str(n_permutations), str(len(pairs))]
            done = subprocess.run(call, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout.strip().splitlines()[-1])
        return [Tested(*one) for one in said["found"]]


# --- the same samples through all three

CASES = ("nothing changed", "shift of 0.5", "unequal sizes", "ties", "far apart")


def sample(case: str, rng: np.random.Generator) -> Pair:
    """Two samples of vectors, by the name of a case."""
    n, m = (15, 40) if case == "unequal sizes" else (30, 30)
    x, y = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    if case == "ties":
        return np.round(x), np.round(y)
    return x, y + {"shift of 0.5": 0.5, "unequal sizes": 0.5, "far apart": 10.0}.get(case, 0.0)


def median_width(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The median distance between different items of the pooled sample."""
    pooled = np.concatenate([x, y])
    distances = np.sqrt(((pooled[:, None] - pooled[None]) ** 2).sum(axis=2))
    return float(np.median(distances[np.triu_indices(len(pooled), 1)]))


def compared(case: str, peer: Peer, samples: int, n_permutations: int) -> dict[str, Any]:
    """Statistics and p-values of the same samples by ours and by those peers that can be asked."""
    from timelike import distributions as ds

    pairs = [sample(case, np.random.default_rng([seed, 7])) for seed in range(samples)]
    widths = [median_width(*pair) for pair in pairs]
    ours = []
    for seed, (x, y) in enumerate(pairs):
        found = ds.TwoSample(ds.RBF(), n_permutations=n_permutations, random_state=seed).test(x, y)
        ours.append(Tested(float(found.statistic), float(found.p_value)))
    said = {"ours": ours}
    for name in PEERS:
        if not peer.lacks(name):
            said[name] = peer.tested(name, pairs, n_permutations, widths)
    if "alibi-detect" in said:
        said["alibi-detect, its own width"] = peer.tested("alibi-detect", pairs, n_permutations)
    columns = {
        name: {"statistic": [one.statistic for one in some], "p_value": [one.p_value for one in some]}
        for name, some in said.items()
    }
    return {"said": columns, "samples": samples, "n_permutations": n_permutations}
