"""Write down what other libraries answer, for the table "its call, our call" of docs/migration.md.

    pip install -c constraints.txt aeon tslearn dtaidistance tsdistances librosa dtw-python
    python benchmarks/record_peers.py

runs every call of ROWS and writes tests/peers/calls.json, then the tables between the marks of docs/migration.md. The
tests run our side of every row against the recorded numbers, and the other side too where the library is installed for
tests. A row "differs" where no option of ours gives the number, with the reason; our number there is that of the naive
reference in tests/naive.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "tests" / "peers" / "calls.json"
PAGE = ROOT / "docs" / "migration.md"

SETUP = {
    "aeon": "import aeon.distances as aeon",
    "tslearn": "import tslearn.metrics as tslearn",
    "dtaidistance": "from dtaidistance import dtw, dtw_ndim, ed, msm\n"
    "from dtaidistance.subsequence.dtw import subsequence_alignment",
    "dtw-python": "from dtw import dtw",
    "librosa": "from librosa.sequence import dtw",
    "tsdistances": "import tsdistances",
}


class Row(NamedTuple):
    """One call of a peer and ours; a `reason` where they differ."""

    peer: str
    call: str
    ours: str
    reason: str = ""


_TRIMMED = "the slope is kept at the inner steps only, so the first and last step are lost; ours repeats the ends"
_ERP = (
    "every border cell is the total of the gap costs; in the paper, and here, it is the sum up to that step. Where the "
    "best path does not touch the border the numbers agree"
)

ROWS = [
    # aeon
    Row("aeon", "aeon.dtw_distance(x, y)", "tl.DTW().distance(x, y)"),
    Row("aeon", "aeon.dtw_distance(x, z)", "tl.DTW().distance(x, z)"),
    Row("aeon", "aeon.dtw_distance(a.T, c.T)", "tl.DTW().distance(a, c)"),
    Row("aeon", "aeon.dtw_distance(x, y, window=0.1)", "tl.DTW(window=0.1).distance(x, y)"),
    Row("aeon", "aeon.dtw_alignment_path(x, z)[1]", "tl.DTW().align(x, z).cost"),
    Row("aeon", "aeon.dtw_pairwise_distance([x, z])[0, 1]", "tl.DTW().pairwise([x, z])[0, 1]"),
    Row("aeon", "aeon.wdtw_distance(x, z, g=0.05)", "tl.WDTW(g=0.05).distance(x, z)"),
    Row("aeon", "aeon.wdtw_distance(a.T, c.T)", "tl.WDTW().distance(a, c)"),
    Row("aeon", "aeon.adtw_distance(x, z, warp_penalty=1.0)", "tl.ADTW(penalty=1.0).distance(x, z)"),
    Row("aeon", "aeon.adtw_distance(a.T, c.T)", "tl.ADTW().distance(a, c)"),
    Row("aeon", "aeon.erp_distance(a.T, b.T, g=0.5)", "tl.ERP(gap=0.5).distance(a, b)"),
    Row("aeon", "aeon.lcss_distance(x, z, epsilon=1.0)", "tl.LCSS(epsilon=1.0).distance(x, z)"),
    Row("aeon", "aeon.lcss_distance(a.T, c.T)", "tl.LCSS().distance(a, c)"),
    Row("aeon", "aeon.msm_distance(x, z, c=1.0)", "tl.MSM(c=1.0).distance(x, z)"),
    Row("aeon", "aeon.msm_distance(a.T, c.T)", "tl.MSM(dependent=False).distance(a, c)"),
    Row("aeon", "aeon.twe_distance(x, z)", "tl.TWE().distance(x, z)"),
    Row("aeon", "aeon.twe_distance(a.T, c.T, nu=0.1, lmbda=0.5)", "tl.TWE(nu=0.1, lmbda=0.5).distance(a, c)"),
    Row("aeon", "aeon.twe_distance(x, y, window=0.1)", "tl.TWE(window=0.1).distance(x, y)"),
    Row("aeon", "aeon.edr_distance(x, y, epsilon=0.5, window=0.0)",
        "tl.EDR(epsilon=0.5, window=0, normalize=True).distance(x, y)"),
    Row("aeon", "aeon.soft_dtw_distance(x, z, gamma=1.0)", "tl.SoftDTW(gamma=1.0).distance(x, z)"),
    Row("aeon", "aeon.euclidean_distance(a.T, b.T)", "tl.Euclidean().distance(a, b)"),
    Row("aeon", "aeon.squared_distance(x, y)", "tl.DTW(window=0).distance(x, y)"),
    Row("aeon", "aeon.ddtw_distance(x, y)", "tl.DDTW().distance(x, y)", _TRIMMED),
    Row("aeon", "aeon.erp_distance(x, z)", "tl.ERP().distance(x, z)", _ERP),
    Row("aeon", "aeon.edr_distance(x, z) * 60", "tl.EDR().distance(x, z)",
        "the border costs nothing; in the paper, and here, i and j. It is also divided by the longer length, here 60, "
        "and a difference of exactly epsilon is no match"),
    Row("aeon", "aeon.edr_distance(a.T, c.T, epsilon=1.0)", "tl.EDR(epsilon=1.0, normalize=True).distance(a, c)",
        "it always divides by the longer length, as `normalize=True` does, and its border costs nothing. Frames match "
        "by the norm of their difference, ours too; `match=\"channels\"` is the paper's rule"),
    Row("aeon", "aeon.soft_dtw_distance(x, x + 0.1)", "tl.SoftDTW().distance(x, x + 0.1)",
        "the value of soft-DTW may be negative, and is here; aeon drops the sign"),
    Row("aeon", "aeon.lcss_distance(x, y, itakura_max_slope=0.04)", 'tl.LCSS(band="itakura").distance(x, y)',
        "where two steps do not match it comes from above or from the left only, never diagonally; the last corner of "
        "a parallelogram has neither, so that all matches are lost unless the last steps match"),
    Row("aeon", "aeon.msm_distance(a.T, c.T, independent=False)", "tl.MSM().distance(a, c)",
        "squares are added where the univariate distance adds absolute values; ours uses the norm, which for one "
        "channel is the univariate distance"),
    Row("aeon", "aeon.dtw_distance(x, z, window=0.1)", 'tl.DTW(window=0.1, band="aeon").distance(x, z)'),
    Row("aeon", "aeon.dtw_distance(x, y, itakura_max_slope=0.5)", 'tl.DTW(band="itakura").distance(x, y)',
        "the slope is given as a share of the length, here 30; ours is the slope itself, 2 by default"),
    # tslearn
    Row("tslearn", "tslearn.dtw(x, z)", "tl.DTW(root=True).distance(x, z)"),
    Row("tslearn", "tslearn.dtw(a, c)", "tl.DTW(root=True).distance(a, c)"),
    Row("tslearn", 'tslearn.dtw(x, y, global_constraint="sakoe_chiba", sakoe_chiba_radius=6)',
        "tl.DTW(window=0.1, root=True).distance(x, y)"),
    Row("tslearn", 'tslearn.dtw(x, y, global_constraint="itakura", itakura_max_slope=2.0)',
        'tl.DTW(window=2.0, band="itakura", root=True).distance(x, y)'),
    Row("tslearn", "tslearn.dtw_path(x, z)[1]", "tl.DTW(root=True).align(x, z).cost"),
    Row("tslearn", 'tslearn.dtw_path_from_metric(a, c, metric="sqeuclidean")[1]', "tl.DTW().align(a, c).cost"),
    Row("tslearn", 'tslearn.dtw_path_from_metric(a, c, metric="euclidean")[1]',
        'tl.DTW(cost="euclidean").align(a, c).cost'),
    Row("tslearn", 'tslearn.dtw_path_from_metric(a, c, metric="cityblock")[1]',
        'tl.DTW(cost="manhattan").align(a, c).cost'),
    Row("tslearn", "tslearn.cdist_dtw([x, z])[0, 1]", "tl.DTW(root=True).pairwise([x, z])[0, 1]"),
    Row("tslearn", "tslearn.lcss(x, z, eps=1.0)", "1 - tl.LCSS(epsilon=1.0).distance(x, z)"),
    Row("tslearn", "tslearn.lcss(a, c, eps=1.0)", "1 - tl.LCSS(epsilon=1.0).distance(a, c)"),
    Row("tslearn", "tslearn.soft_dtw(x, z, gamma=1.0)", "tl.SoftDTW(gamma=1.0).distance(x, z)"),
    Row("tslearn", "tslearn.soft_dtw(x, x + 0.1)", "tl.SoftDTW().distance(x, x + 0.1)"),
    Row("tslearn", "tslearn.dtw_subsequence_path(z[10:16], x[:24])[1]",
        "tl.subsequence(z[10:16], x[:24])[0].distance ** 0.5"),
    Row("tslearn", 'tslearn.dtw(x, z, global_constraint="sakoe_chiba", sakoe_chiba_radius=6)',
        'tl.DTW(window=6, band="widened", root=True).distance(x, z)'),
    # dtaidistance
    Row("dtaidistance", "dtw.distance(x, z)", "tl.DTW(root=True).distance(x, z)"),
    Row("dtaidistance", "dtw_ndim.distance(a, c)", "tl.DTW(root=True).distance(a, c)"),
    Row("dtaidistance", "dtw.distance(x, y, window=7)", "tl.DTW(window=0.1, root=True).distance(x, y)"),
    Row("dtaidistance", 'dtw.distance(x, z, inner_dist="euclidean")', 'tl.DTW(cost="euclidean").distance(x, z)'),
    Row("dtaidistance", "dtw.distance(x, z, penalty=0.5)", "tl.ADTW(penalty=0.25).distance(x, z) ** 0.5"),
    Row("dtaidistance", "dtw.distance_matrix([x, z])[0, 1]", "tl.DTW(root=True).pairwise([x, z])[0, 1]"),
    Row("dtaidistance", "msm.distance(x, y, sm_cost=1.0)", "tl.MSM(c=1.0).distance(x, y)"),
    Row("dtaidistance", "ed.distance(x, y)", "tl.Euclidean().distance(x, y)"),
    Row("dtaidistance", "subsequence_alignment(z[10:16], x[:24], penalty=0).best_match().distance",
        "tl.subsequence(z[10:16], x[:24])[0].distance ** 0.5"),
    Row("dtaidistance", "subsequence_alignment(z[10:16], x[:24]).best_match().distance",
        "tl.subsequence(z[10:16], x[:24])[0].distance ** 0.5",
        "unless told otherwise, `penalty=0.1` is charged for every step off the diagonal"),
    Row("dtaidistance", "dtw.distance(x, z, window=7)", 'tl.DTW(window=6, band="widened", root=True).distance(x, z)'),
    # dtw-python
    Row("dtw-python", "dtw(x, z).distance", 'tl.DTW(cost="euclidean", step="symmetric2").distance(x, z)'),
    Row("dtw-python", "dtw(a, c).distance", 'tl.DTW(cost="euclidean", step="symmetric2").distance(a, c)'),
    Row("dtw-python", "dtw(x, z).normalizedDistance",
        'tl.DTW(cost="euclidean", step="symmetric2", normalize="length").distance(x, z)'),
    Row("dtw-python", 'dtw(x, z, step_pattern="symmetric1").distance', 'tl.DTW(cost="euclidean").distance(x, z)'),
    Row("dtw-python", 'dtw(a, c, dist_method="sqeuclidean", step_pattern="symmetric1").distance',
        "tl.DTW().distance(a, c)"),
    Row("dtw-python", 'dtw(a, c, dist_method="cityblock").distance',
        'tl.DTW(cost="manhattan", step="symmetric2").distance(a, c)'),
    Row("dtw-python", 'dtw(x, z, window_type="sakoechiba", window_args={"window_size": 18}).distance',
        'tl.DTW(cost="euclidean", step="symmetric2", window=18).distance(x, z)'),
    Row("dtw-python", 'dtw(x, y, window_type="slantedband", window_args={"window_size": 6}).distance',
        'tl.DTW(cost="euclidean", step="symmetric2", window=6, band="slanted").distance(x, y)'),
    Row("dtw-python", 'dtw(x, z, window_type="slantedband", window_args={"window_size": 6}).distance',
        'tl.DTW(cost="euclidean", step="symmetric2", window=6, band="slanted").distance(x, z)',
        "the distance from the line is measured along the second sequence; ours along the shorter one, plus half a "
        "cell, so that the order of the two does not matter"),
    Row("dtw-python", 'dtw(x, y, window_type="itakura").distance',
        'tl.DTW(cost="euclidean", step="symmetric2", band="itakura").distance(x, y)',
        "the parallelogram is one cell wider on one side of the diagonal; ours is the same on both"),
    # librosa
    Row("librosa", "dtw(x, z, backtrack=False)[-1, -1]", 'tl.DTW(cost="euclidean").distance(x, z)'),
    Row("librosa", "dtw(a.T, c.T, backtrack=False)[-1, -1]", 'tl.DTW(cost="euclidean").distance(a, c)'),
    Row("librosa", 'dtw(a.T, c.T, metric="sqeuclidean", backtrack=False)[-1, -1]', "tl.DTW().distance(a, c)"),
    Row("librosa", 'dtw(a.T, c.T, metric="cityblock", backtrack=False)[-1, -1]',
        'tl.DTW(cost="manhattan").distance(a, c)'),
    Row("librosa", "dtw(x, y, global_constraints=True, band_rad=0.1, backtrack=False)[-1, -1]",
        'tl.DTW(cost="euclidean", window=5).distance(x, y)'),
    Row("librosa", "dtw(x, z, global_constraints=True, band_rad=0.1, backtrack=False)[-1, -1]",
        'tl.DTW(cost="euclidean", window=4, band="widened").distance(x, z)'),
    # tsdistances
    Row("tsdistances", "tsdistances.dtw_distance(x, z)", "tl.DTW().distance(x, z)"),
    Row("tsdistances", "tsdistances.dtw_distance(x, y, band=0.1)", "tl.DTW(window=0.1).distance(x, y)"),
    Row("tsdistances", "tsdistances.wdtw_distance(x, z, g=0.05)", "tl.WDTW(g=0.05).distance(x, z)"),
    Row("tsdistances", "tsdistances.adtw_distance(x, z, warp_penalty=1.0)", "tl.ADTW(penalty=1.0).distance(x, z)"),
    Row("tsdistances", "tsdistances.msm_distance(x, z)", "tl.MSM(c=1.0).distance(x, z)"),
    Row("tsdistances", "tsdistances.twe_distance(x, z, stifness=0.001, penalty=1.0)",
        "tl.TWE(nu=0.001, lmbda=1.0).distance(x, z)"),
    Row("tsdistances", "tsdistances.lcss_distance(x, y, epsilon=1.0)", "tl.LCSS(epsilon=1.0).distance(x, y)"),
    Row("tsdistances", "tsdistances.lcss_distance(x, z, epsilon=1.0)", "tl.LCSS(epsilon=1.0).distance(x, z)",
        "it divides by the longer length; the paper, and ours, by the shorter"),
    Row("tsdistances", "tsdistances.erp_distance(x, z, gap_penalty=0.0)", "tl.ERP(gap=0.0).distance(x, z)", _ERP),
    Row("tsdistances", "tsdistances.ddtw_distance(x, y)", "tl.DDTW().distance(x, y)", _TRIMMED),
    Row("tsdistances", "tsdistances.dtw_distance(x, z, band=0.5)", "tl.DTW(window=0.5).distance(x, z)",
        "at unequal lengths its band is another one, which its documentation does not describe; at equal lengths they "
        "agree"),
]  # fmt: skip


def series() -> dict[str, NDArray[np.float64]]:
    """Short random walks, rounded so that the file is the whole truth."""
    rng = np.random.default_rng(7)
    shapes = {"x": (60,), "y": (60,), "z": (48,), "a": (40, 3), "b": (40, 3), "c": (31, 3)}
    walks = {name: np.cumsum(rng.standard_normal(shape), axis=0) / 2 for name, shape in shapes.items()}
    return {name: np.round(walk + 0.3 * rng.standard_normal(walk.shape), 4) for name, walk in walks.items()}


def recorded(row: Row, data: dict[str, NDArray[np.float64]], references: Any) -> dict[str, Any]:
    """The row with the peer's number; where they differ, also ours by the naive reference."""
    scope: dict[str, Any] = dict(data)
    exec(SETUP[row.peer], scope)
    fact: dict[str, Any] = {"peer": row.peer, "kind": "differs" if row.reason else "same"}
    fact |= {"call": row.call, "ours": row.ours, "value": float(eval(row.call, scope))}
    if row.reason:
        fact |= {"our_value": float(eval(row.ours, {"tl": references, **data})), "reason": row.reason}
    return fact


def table(facts: list[dict[str, Any]], kind: str) -> str:
    """The rows of one kind in Markdown; tests/peers/test_calls.py looks for these lines in the page."""
    if kind == "same":
        lines = ["| its call | our call | number |", "|---|---|---:|"]
        lines += [f"| `{f['call']}` | `{f['ours']}` | {f['value']:.6g} |" for f in facts if f["kind"] == kind]
    else:
        lines = ["| its call | number | our call | number | why |", "|---|---:|---|---:|---|"]
        lines += [
            f"| `{f['call']}` | {f['value']:.6g} | `{f['ours']}` | {f['our_value']:.6g} | {f['reason']} |"
            for f in facts
            if f["kind"] == kind
        ]
    return "\n".join(lines)


def rewrite(page: str, facts: list[dict[str, Any]]) -> str:
    """The page with the tables between `<!-- peer kind -->` and `<!-- end -->` made anew."""
    for peer in SETUP:
        for kind in ("same", "differs"):
            mark = f"<!-- {peer} {kind} -->"
            made = table([fact for fact in facts if fact["peer"] == peer], kind)
            if mark in page:
                before, after = page.split(f"{mark}\n", 1)
                page = f"{before}{mark}\n{made}\n<!-- end -->{after.split('<!-- end -->', 1)[1]}"
    return page


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    calls = importlib.import_module("naive.calls")
    data = series()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = [recorded(row, data, calls) for row in ROWS]
    whole = {
        "versions": {peer: version(peer) for peer in SETUP},
        "setup": SETUP,
        "series": {name: values.tolist() for name, values in data.items()},
        "rows": facts,
    }
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+(-?[\d.e-]+(?:,\s+-?[\d.e-]+)*)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text)
    TARGET.write_text(text + "\n", encoding="utf-8")
    if PAGE.exists():
        PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), facts), encoding="utf-8")
    print(f"{len(facts)} rows of {len(SETUP)} libraries recorded in {TARGET.name}")


if __name__ == "__main__":
    main()
