"""The page about what is experimental in SRVP: forecasts of every form beside SRVP, and what its option is for."""

from __future__ import annotations

from benchmarks.papers.markdown import spread, table
from benchmarks.papers.results import Found, Rows, having, told

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
    "bounces": """Two axes, each with a speed of 0.05 to 0.15 per frame that is drawn anew at every wall of a box of
size 1, observed with a deviation of 0.01. `draws of z` is how often z is drawn in 16 steps; `from a bounce` how many
frames the nearest draw is from a true bounce, on average, and `from any time` from any time: delays find bounces where
the first is the smaller.""",
    "fading": """A spot goes round a ring of 12 cells at a constant speed, and the logarithm of its brightness is a
random walk of deviation 0.08. `w knows the brightness` is the share of variance of the last brightness that a linear
map of the content, fitted on 150 of the series learned from, explains on the others. A content that drifts begins at
the first 5 frames and SRVP's is of the last 5, so bounds of log p(x | w) are of different things and not compared.""",
    "strings": """Eight channels of one wave, each with an amplitude of its own. `MSE of swaps`: the amplitudes of one
series with the wave of another, 12 frames ahead, whose truth is known.""",
}


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    parts = [_world(rows, name) for name in WORLDS if having(rows, dataset=name)]
    return "\n\n".join([_intro(rows), *parts])


def _intro(rows: Rows) -> str:
    return f"""{told(rows)} The machine was shared.

The thesis tried learned delays (8.1.1) and could not make them better than SRVP; a content that changes slowly
(8.2.2.3) and a model merged with separation of variables (8.2.2.1) are only proposed there. 400 series of 40 frames to
learn from, 60 others asked about: 5 frames seen, 35 forecast by 50 samples. Forms of SRVP have the same sizes and 800
training steps on chunks of 17 frames; Separation is at its defaults with as many steps. ELBO: nats, of the first 17
frames, 2 draws; it bounds log p(x | w), and w is free, so it is compared only where w is made of the same frames, the
last 5. ± over seeds.

What was chosen before these rows were made, by a look at other draws: the haste of 1 (at 0.1 there were 43 draws of z
in 16 steps, at several times the seconds), no drift of 0.3 (which learned nothing), a box (a point without walls that
turns at random was given up, as SRVP without options learned nothing of it)."""


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
    numbers = [spread([row[key] for row in found if key in row], forms.get(key, ".4f")) for key in columns]
    return [name, *numbers, spread([row["processor seconds"] for row in found], ".0f")]


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
    return f"{names[key]} {spread(ratios, '.2f')} of SRVP's (less in {better} of {len(ratios)} seeds)"
