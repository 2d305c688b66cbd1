"""The figure of the page about moving digits: PSNR at every step, with a bar where clips of the training end (4.4)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.canvas import blank
from benchmarks.papers.results import Rows, having

OURS = ("SRVP", "SRVP, sprites")
TITLES = {
    "one digit": "One digit",
    "two digits": "Two digits",
    "one digit, stochastic": "One digit, random bounces",
    "two digits, stochastic": "Two digits, random bounces",
}
JUDGED = {False: ("one sample", "mean of N"), True: ("best of N", "mean of N")}
FIGURE = "srvp_digits.png"
ENDS = 10  # steps after the past, in a clip of the training
SHOWN = (
    *("black", "persistence", "analog, k = 50", "ConvLSTM", "Separation", "SRVP", "SRVP, sprites"),
    *("SRVP, defaults", "SRVP, thesis's networks", "SVG"),
)


def draw(rows: Rows, folder: Path) -> None:
    """One panel for each version with a network."""
    versions = [name for name in TITLES if any(having(rows, dataset=name, method=one) for one in SHOWN[3:])]
    if not versions:
        return
    figure, panels = blank(3.4 * len(versions), 3.4, len(versions))
    for axes, version in zip(panels, versions, strict=True):
        for place, method in enumerate(SHOWN):
            for row in having(rows, dataset=version, method=method, seed=0):
                reading = JUDGED["stochastic" in version][0] if len(row["steps"]) > 1 else "forecast"
                values, width = row["steps"][reading]["psnr"], 2 if method.startswith("SRVP") else 1
                axes.plot(range(1, len(values) + 1), values, f"C{place}", label=method, linewidth=width)
        axes.axvline(ENDS, color="0.3", linewidth=3, alpha=0.4)
        axes.set(title=TITLES[version], xlabel="frames ahead")
    panels[0].set_ylabel("PSNR (dB)")
    known = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(
        known.values(), known, loc="outside lower center", ncols=2 * len(versions) + 1, frameon=False, fontsize=8
    )
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / FIGURE)
