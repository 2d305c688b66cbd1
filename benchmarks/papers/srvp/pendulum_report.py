"""The page about the pendulum: nats of sequences by bound and exactly, and the thesis's, which are of another noise."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import count_of, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

KNOWN = "pictures known, noise alone"
PARTS = ("likelihood", "first", "random")
THESIS = {"DVBF": 798.56, "KVAE": 807.02, "SRVP": 806.12}


def headline(rows: Rows) -> str:
    """SRVP's bound beside the best exact rival and beside what noise alone allows."""
    ours = [row["nats"][0] for row in having(rows, method="SRVP")]
    if not ours:
        return no_rows_yet(rows, "SRVP on a pendulum with a hidden torque")
    rivals = {
        row["method"]: row["nats"][0]
        for row in rows.values()
        if row["method"].startswith(("independent", "regression"))
    }
    parts = [f"SRVP has an evidence lower bound of {mean(ours):.1f} nats ({count_of(len(ours), 'seed')}) on a pendulum"]
    if rivals:
        best = max(rivals, key=rivals.__getitem__)
        gap = mean(ours) - rivals[best]
        word = "above" if gap > 0 else "below"
        parts.append(f", {abs(gap):.1f} {word} {best}, the best cheap rival, whose likelihood is exact")
    most = [row["nats"][0] for row in having(rows, method=KNOWN)]
    if most:
        parts.append(f"; nothing can pass {most[0]:.1f}, where only the noise is left")
    return (
        f"{''.join(parts)}. The thesis has {THESIS['SRVP']} for SRVP and {THESIS['KVAE']} for KVAE, but says neither "
        "how strong the noise is nor how the torque is drawn, so this neither agrees with it nor contradicts it."
    )


def body(rows: Rows) -> str:
    """Nats of every method."""
    if not rows:
        return ""
    names = list(dict.fromkeys(row["method"] for row in rows.values()))
    most = [row["nats"][0] for row in having(rows, method=KNOWN)]
    lines = [_line(row, most[0] if most else None) for name in names for row in having(rows, method=name)]
    lines += [[f"the thesis, {name}", "–", f"{nats:.2f}", *["–"] * 6] for name, nats in THESIS.items()]
    head = ["method", "seed", "nats of a sequence", "below what noise alone leaves", "pictures given states"]
    return f"""{table([*head, "− first", "− random", "deviation", "processor seconds"], lines)}

A pendulum (rod 1, damping 0.5) that starts anywhere with up to 4 rad/s, pushed by a torque drawn in ± 2 for every
picture and not shown; 16 × 16 pixels with noise of deviation 0.1; 500 sequences of 15 pictures to learn from, 200
others for the test, brackets are 95 % intervals of their mean. SRVP has no w and uses perceptrons, as in the thesis,
with 3000 training steps; its nats are evidence lower bounds, the mean of 20 draws. Those of independent normal
pictures and of normal regressions on the pictures before are exact. `{KNOWN}` knows every picture without its noise.
`deviation` is the noise that SRVP has learned; any value but 0.1 costs nats at every pixel.

{_words(rows)}""".rstrip()


def caveats() -> list[str]:
    return [
        "The thesis's numbers (table B.4) are shown for reference only: nats depend on the noise, which it does not "
        "state."
    ]


def _line(row: Found, most: float | None) -> list[str]:
    nats = "{:.1f} [{:.1f}, {:.1f}]".format(*row["nats"])
    below = "–" if most is None or row["seed"] else f"{most - row['nats'][0]:.1f}"
    parts = [f"{row[name]:.1f}" if name in row else "–" for name in PARTS]
    parts.append(f"{row['deviation']:.4f}" if "deviation" in row else "–")
    return [row["method"], str(row["seed"]), nats, below, *parts, f"{row['processor seconds']:.0f}"]


def _words(rows: Rows) -> str:
    """Who is ahead of whom, seed 0."""
    means = {row["method"]: row["nats"] for row in having(rows, seed=0) if row["method"] != KNOWN}
    if "SRVP" not in means:
        return ""
    ours = means.pop("SRVP")
    said = [_compared(ours, other, name) for name, other in means.items()]
    seeds = [row["nats"][0] for row in having(rows, method="SRVP")]
    more = f"Over {len(seeds)} seeds its mean is {mean(seeds):.1f}.\n\n" if len(seeds) > 1 else ""
    return more + "\n".join(f"- {one}" for one in said)


def _compared(ours: list[float], other: list[float], name: str) -> str:
    how = "above" if ours[0] > other[0] else "**below**"
    apart = "" if ours[1] > other[2] or other[1] > ours[2] else ", and the intervals overlap"
    return f"SRVP is {abs(ours[0] - other[0]):.1f} nats {how} {name}{apart}."
