"""The page about what is experimental in SRVP: forecasts of every form beside SRVP, and what its option is for."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import count_of, format_mean, join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

COMMON = {
    "mse within": "MSE t+1…t+12",
    "crps within": "CRPS t+1…t+12",
    "crps after": "CRPS t+13…t+35",
}
WORLDS = {
    "bounces": "Learned delays: a point in a box",
    "fading": "A content that drifts: a spot whose brightness wanders",
    "strings": "The merged model: amplitudes times a wave",
}
PARTICULAR = {
    "bounces": {"elbo": "ELBO", "events": "draws of z", "bounce": "from a bounce", "any": "from any time"},
    "fading": {"content": "w knows the brightness"},
    "strings": {"elbo": "ELBO", "swap": "MSE of swaps"},
}
SIMPLE = {"Persistence": 0, "Ridge": 1, "Separation": 3}  # where they stand; forms of SRVP in between
WORDS = {
    "bounces": """Two axes, each with a speed of 0.05 to 0.15 per frame that is drawn again at every wall of a box of
size
1, observed with a deviation of 0.01. `draws of z` is how often z is drawn in 16 steps; `from a bounce` is the mean
distance in frames of the nearest draw from a true bounce, and `from any time` that from any time: delays find bounces
where the first is smaller.""",
    "fading": """A spot moves round a ring of 12 cells at a constant speed, and the logarithm of its brightness is a
random
walk of deviation 0.08. `w knows the brightness` is the share of variance of the last brightness that a linear map of
the content, fitted on 150 training series, explains on the others. A drifting content begins at the first 5 frames and
SRVP's comes from the last 5, so bounds of log p(x | w) do not compare.""",
    "strings": """Eight channels of one wave, each with its own amplitude. `MSE of swaps` has the amplitudes of one
series and
the wave of another, 12 frames ahead, compared with the known truth.""",
}


def headline(rows: Rows) -> str:
    """For every option, how its CRPS compares with SRVP's within the trained length."""
    words, better = [], []
    for world in WORLDS:
        plain = {row["seed"]: row for row in having(rows, dataset=world, method="SRVP")}
        for name in dict.fromkeys(row["method"] for row in having(rows, dataset=world)):
            pairs = [
                row["crps within"] / plain[row["seed"]]["crps within"]
                for row in having(rows, dataset=world, method=name)
                if name.startswith("SRVP,") and row["seed"] in plain
            ]
            if pairs:
                words.append(f"`{name.removeprefix('SRVP, ')}` {mean(pairs):.2f}")
                better += [f"`{name.removeprefix('SRVP, ')}`"] if max(pairs) < 1 else []
    if not words:
        return no_rows_yet(rows, "SRVP's experimental options beside SRVP without them")
    verdict = (
        f"{join_words(better)} {'helps' if len(better) == 1 else 'help'} in every seed" if better else "none helps"
    )
    seeds = count_of(max(row["seed"] for row in rows.values()) + 1, "seed")
    agrees = "contradicts" if any("delays" in name for name in better) else "agrees with"
    return (
        f"Each experimental option of SRVP multiplies its error (CRPS, {seeds}) by this factor: {join_words(words)}; "
        f"{verdict}. The thesis tried learned delays without success, which this {agrees}, and only proposes the other "
        "options."
    )


def body(rows: Rows) -> str:
    """A table for every world."""
    found = [_world(rows, name) for name in WORLDS if having(rows, dataset=name)]
    return "\n\n".join([*found[:1], ABOUT, *found[1:]]) if found else ""


ABOUT = """400 series of 40 frames to learn from, 60 others for the test: 5 frames seen, 35 forecast by 50 samples.
Forms of
SRVP have the same sizes and 800 training steps on chunks of 17 frames; Separation is at its defaults with as many
steps. ELBO is in nats, for the first 17 frames, 2 draws; it bounds log p(x | w) with a free w, so it is compared only
where w comes from the same frames, the last 5. ± is the standard deviation over seeds."""


def caveats() -> list[str]:
    return [
        "Some settings were chosen on other draws before these rows: a `delay_penalty` of 1, which the rows call haste "
        "(with 0.1 z was drawn several times a step), no drift of 0.3 (which learned nothing), and a box (SRVP learned "
        "nothing about a point without walls that turns at random).",
    ]


def _world(rows: Rows, world: str) -> str:
    found = having(rows, dataset=world)
    names = sorted({row["method"] for row in found}, key=lambda name: (SIMPLE.get(name, 2), name))
    columns = COMMON | PARTICULAR[world]
    lines = [_line(name, having(rows, dataset=world, method=name), list(columns)) for name in names]
    return f"""## {WORLDS[world]}

{WORDS[world]}

{table(["method", *columns.values(), "processor seconds"], lines)}

{_verdict(rows, world)}"""


def _line(name: str, found: list[Found], columns: list[str]) -> list[str]:
    forms = {"elbo": ".1f", "events": ".1f", "bounce": ".2f", "any": ".2f", "content": ".2f"}
    numbers = [format_mean([row[key] for row in found if key in row], forms.get(key, ".4f")) for key in columns]
    return [name, *numbers, format_mean([row["processor seconds"] for row in found], ".0f")]


def _verdict(rows: Rows, world: str) -> str:
    """How each form compares with SRVP, seed by seed."""
    plain = {row["seed"]: row for row in having(rows, dataset=world, method="SRVP")}
    said = []
    for name in dict.fromkeys(row["method"] for row in having(rows, dataset=world)):
        pairs = [(row, plain[row["seed"]]) for row in having(rows, dataset=world, method=name) if row["seed"] in plain]
        if not name.startswith("SRVP,") or not pairs:
            continue
        keys = ("crps within", "crps after", *(["swap"] if world == "strings" else []))
        said.append(f"- {name}: " + ", ".join(_compared(pairs, key) for key in keys) + ".")
    return "\n".join(said)


def _compared(pairs: list[tuple[Found, Found]], key: str) -> str:
    ratios = [one[key] / other[key] for one, other in pairs]
    better = sum(ratio < 1 for ratio in ratios)
    names = {"swap": "swaps", "crps within": "CRPS within the trained length", "crps after": "CRPS after it"}
    return f"{names[key]} {format_mean(ratios, '.2f')} of SRVP's (less in {better} of {len(ratios)} seeds)"
