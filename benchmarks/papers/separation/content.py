"""When the content variable w helps: with and without it, on appearances that were trained on and on others.

    python -m benchmarks.papers.separation.content --data DIR --figures docs/images
    python -m benchmarks.papers.separation.content --only "waves, many" --budget 30

The hypothesis: w helps where appearances are new and horizons are long, and not where the state alone can hold
everything. One and two moving digits in frames of 32 × 32, with the digits of the training clips or test digits, and
waves at 100 pixels with trained celerities or higher ones; few or many training sequences; a small or a large code.
Without w the state has the size of both codes (C.5.2 of the thesis). Both networks take the same number of steps.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.model_options import build_model
from benchmarks.papers import markdown, page
from benchmarks.papers.canvas import blank
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.separation.content_scenes import APPEARANCES, COUNTS, SCENES, Clips, Floats, Scene, problem
from benchmarks.papers.srvp.clips import FILE, SIZE
from benchmarks.papers.srvp.judging import interval_of
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast import Forecaster, Mean, Persistence

WITH, WITHOUT = "with w", "without w"
RIVALS = ("persistence", "mean frame")
CODES = {
    "digit": {"small code": (16, 8), "large code": (96, 32)},
    "wave": {"small code": (4, 4), "large code": (32, 32)},
}
STEPS = {"digit": 4000, "wave": 2000}
NETWORKS: dict[str, dict[str, Any]] = {
    "digit": {"hidden": 256, "batch_size": 16, "learning_rate": 2e-3},
    "wave": {},
}  # small batches: after as many seconds of one core, large ones draw nothing yet
SPANS = ("within", "after")  # the trained length, and up to a long horizon
N_ASKED, QUICK_ASKED, QUICK_STEPS = 100, 4, 2
PATIENCE = 36_000.0  # seconds: steps end a training
SWAPPED, SWAPPED_CODE = "two digits, many", "large code"  # of the picture and the headline
FIGURE, N_PICTURED, SHOWN_STEPS = "separation_content.png", 3, (0, 3, 6, 9)


class Content(Experiment[Trial]):
    """Errors with and without w, and of swaps beside the true swap."""

    paper, table, holds, draws, without_data = "separation", "content", FILE, True, True
    subject = ("separation",)
    title = "Separation of variables: when the content variable helps"
    question = "when the content variable w helps"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            for count in reversed(COUNTS):
                for scene in SCENES:
                    where = f"{scene}, {count}"
                    yield from (Trial(where, name, seed) for name in RIVALS)
                    yield from (
                        Trial(where, f"{kind}, {code}", seed) for code in _codes(scene) for kind in (WITH, WITHOUT)
                    )

    def lacks(self, row: Trial) -> str:
        needed = SCENES[_scene_of(row.dataset)].n_digits
        return f"{FILE} is not in {self.data}" if needed and not (self.data / FILE).exists() else ""

    def systems(self, row: Trial) -> Iterable[str]:
        return ("forecast_baselines" if row.method in RIVALS else "separation"), "generators", "score_intervals"

    def work(self, row: Trial) -> Found:
        name, count = row.dataset.split(", ")
        scene, n_asked = SCENES[name], QUICK_ASKED if self.quick else N_ASKED
        data = self.data if scene.n_digits else Path("none")
        given = problem(data, name, count, row.seed, n_asked)
        model = self._model(row, scene).fit(given.train)
        found: Found = {"n_train": len(given.train), "n_clips": n_asked}
        for appearance in APPEARANCES:
            clips = given.asked[appearance]
            forecast = np.asarray(model.predict(clips.past, scene.horizon).mean)
            found[appearance] = _spans(forecast, clips.truth[None], scene)
            found[appearance] |= self._swapped(row, model, clips, scene, forecast, found, appearance)
        return found

    def _swapped(
        self, row: Trial, model: Any, clips: Clips, scene: Scene, forecast: Floats, found: Found, appearance: str
    ) -> Found:
        """Errors of swaps; without w what moves goes on as it is, which is what ignoring the content costs."""
        swap = np.roll(forecast, 1, axis=0)
        kind, _, code = row.method.partition(", ")
        if kind == WITH:
            swap = np.asarray(model.swap(clips.past, np.roll(clips.past, 1, axis=0), scene.horizon).mean)
            pictured = row.dataset == SWAPPED and code == SWAPPED_CODE and row.seed == 0
            if pictured and appearance == "unseen":
                found["picture"] = encode_picture(clips, swap)
        return {f"swap {span}": error for span, error in _spans(swap, clips.swaps, scene).items()}

    def _model(self, row: Trial, scene: Scene) -> Forecaster:
        if row.method in RIVALS:
            return Persistence() if row.method == "persistence" else Mean()
        kind, code = row.method.split(", ")
        kind_of_scene = "digit" if scene.n_digits else "wave"
        n_content, n_state = CODES[kind_of_scene][code]
        options: dict[str, Any] = NETWORKS[kind_of_scene] | {
            "chunk": scene.chunk,
            "codec": "perceptron",
            "n_content": n_content,
            "n_state": n_state,
            "content": kind == WITH,
            "max_steps": QUICK_STEPS if self.quick else STEPS[kind_of_scene],
            "max_time": PATIENCE,
        }
        model: tl.Separation = build_model("Separation", **options, random_state=row.seed, progress=False)
        return model

    def seconds(self, row: Trial) -> float:
        return 5.0 if row.method in RIVALS else 60.0 if row.dataset.startswith("waves") else 180.0

    def kind(self, row: Trial) -> str:
        return f"{_scene_of(row.dataset)}, {row.method.split(',')[0]}"

    def said(self, found: Found) -> str:
        return ", ".join(
            f"{appearance} {span} {found[appearance][span][0]:.3g}" for appearance in APPEARANCES for span in SPANS
        )

    def draw(self, folder: Path) -> None:
        pictured = [row for row in self.rows.values() if "picture" in row]
        if pictured:
            draw_swaps(decode_picture(pictured[-1]["picture"]), folder)


def _scene_of(dataset: str) -> str:
    return dataset.split(",", maxsplit=1)[0]


def _codes(scene: str) -> Iterable[str]:
    return CODES["digit" if SCENES[scene].n_digits else "wave"]


def _spans(forecast: NDArray[Any], truths: NDArray[Any], scene: Scene) -> dict[str, list[float]]:
    """Squared errors within the trained length and after it, against the nearer of several truths for each clip."""
    squares = np.square(forecast[None].astype(np.float64) - truths).reshape(*truths.shape[:3], -1).mean(axis=3)
    parts = {"within": squares[:, :, : scene.trained], "after": squares[:, :, scene.trained :]}
    return {span: interval_of(some.mean(axis=2).min(axis=0)) for span, some in parts.items()}


# --- the picture


def encode_picture(clips: Clips, swap: NDArray[Any]) -> str:
    """Some pairs as text for a row: the clip of the content, that of the motion, their swap, and its nearer truth.

    They are bytes (pair, line, step, height, width).
    """
    steps, pairs = list(SHOWN_STEPS), range(1, N_PICTURED + 1)
    lines = []
    for i in pairs:
        truth = min(clips.swaps[:, i], key=lambda one, i=i: float(np.square(one - swap[i]).mean()))  # type: ignore[misc]
        lines.append([some[steps, 0] for some in (clips.truth[i], clips.truth[i - 1], swap[i], truth)])
    frames = (255 * np.clip(np.asarray(lines), 0, 1)).round().astype(np.uint8)
    return base64.b64encode(frames.tobytes()).decode()


def decode_picture(text: str) -> NDArray[np.uint8]:
    """The frames of `encode_picture`."""
    frames = np.frombuffer(base64.b64decode(text), np.uint8)
    return frames.reshape(N_PICTURED, 4, len(SHOWN_STEPS), SIZE, SIZE)


def draw_swaps(frames: NDArray[np.uint8], folder: Path) -> None:
    """One panel per pair, its four lines below each other, in 16 grays: the file stays small."""
    figure, panels = blank(2.2 * len(frames), 2.4, len(frames))
    for axes, lines in zip(panels, frames, strict=True):
        bordered = np.pad(lines // 16 * 17, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=90)
        axes.imshow(
            np.concatenate([np.concatenate(list(line), axis=1) for line in bordered]),
            cmap="gray",
            interpolation="nearest",
        )
        axes.set(xticks=[], yticks=[])
        axes.spines[["left", "bottom"]].set_visible(False)
    names = ("content of", "motion of", "swap", "true swap")
    panels[0].set_yticks([(SIZE + 2) * (place + 0.5) for place in range(4)], names)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / FIGURE)


def figure(rows: Rows) -> str:
    """The picture, where it has been drawn."""
    shown = f"![Swaps of two digits](../../docs/images/{FIGURE})"
    return shown if (Path("docs/images") / FIGURE).exists() else ""


# --- the page

CLEAR = 1.05  # an error this many times smaller is called a help


def headline(rows: Rows) -> str:
    """How often w helps, for which appearances and horizons, and whether the hypothesis stands."""
    found = {cell: gains for cell in _cells() if (gains := _gains(rows, *cell))}
    if not found:
        raise page.MissingRows("no pair of rows with and without w")
    helps = [cell for cell, gains in found.items() if _helps(gains)]
    first = (
        f"The content variable w makes the squared error at least {CLEAR} times smaller, in every seed, in "
        f"{len(helps)} of {markdown.count_of(len(found), 'comparison')}"
        f"{f' ({_describe(helps)})' if helps else ''}."
    )
    return " ".join(filter(None, (first, page.clause(_verdict, found), page.clause(_swap_sentence, rows))))


Cell = tuple[str, str, str, str]  # dataset, code, appearance, span


def _cells() -> Iterator[Cell]:
    for scene in SCENES:
        for count in COUNTS:
            for code in _codes(scene):
                yield from ((f"{scene}, {count}", code, one, span) for one in APPEARANCES for span in SPANS)


def _gains(rows: Rows, dataset: str, code: str, appearance: str, span: str) -> list[float]:
    """The error without w over that with it, of every seed that has both."""
    gains = []
    for row in having(rows, dataset=dataset, method=f"{WITH}, {code}"):
        for other in having(rows, dataset=dataset, method=f"{WITHOUT}, {code}", seed=row["seed"]):
            gains.append(other[appearance][span][0] / row[appearance][span][0])
    return gains


def _helps(gains: list[float]) -> bool:
    return min(gains) >= CLEAR


def _verdict(found: dict[Cell, list[float]]) -> str:
    """Geometric means where the hypothesis says that w helps, and where it says that w does not."""
    parts = ("small code", "unseen", "after"), ("large code", "seen", "within")
    here, there = ([mean(gains) for (_, *cell), gains in found.items() if tuple(cell) == part] for part in parts)
    if not here or not there:
        return ""
    new, known = (float(np.exp(np.mean(np.log(some)))) for some in (here, there))
    stands = "stands" if new >= CLEAR > known else "does not stand"
    return (
        f"With small codes, new appearances and long horizons the error without w is {new:.2f} times that with it, and "
        f"{known:.2f} times with large codes, known appearances and the trained horizon: the hypothesis that w helps "
        f"in the former and not in the latter {stands}."
    )


def _describe(cells: list[Cell]) -> str:
    shown = [f"{dataset}, {code}, {appearance}, {span}" for dataset, code, appearance, span in cells]
    more = f"; and {len(shown) - 4} more" if len(shown) > 4 else ""
    return "; ".join(shown[:4]) + more


def _swap_sentence(rows: Rows) -> str:
    """Of swaps with test digits: their error beside that of a forecast that ignores the content."""
    here, ignoring = (page.need(rows, dataset=SWAPPED, method=f"{kind}, {SWAPPED_CODE}") for kind in (WITH, WITHOUT))
    ours, plain = (mean(row["unseen"]["swap within"][0] for row in some) for some in (here, ignoring))
    word = "below" if ours < plain else "not below"
    return (
        f"Swaps of two new digits have a squared error of {ours:.2e} against the true swap, {word} the {plain:.2e} of "
        "a forecast without w that keeps the digits of the motion."
    )


def gains(rows: Rows, span: str) -> str:
    """The error without w over that with it, every seed by itself."""
    lines = []
    for scene in SCENES:
        for count in COUNTS:
            for code in _codes(scene):
                each = [_gains(rows, f"{scene}, {count}", code, appearance, span) for appearance in APPEARANCES]
                if any(each):
                    lines.append([f"{scene}, {count}, {code}", *(_every_seed(some) for some in each)])
    if not lines:
        raise page.MissingRows("no pair of rows with and without w")
    return markdown.table(["scene, sequences, code", *APPEARANCES], lines)


def _every_seed(gains: list[float]) -> str:
    return " · ".join(f"{one:.2f}" for one in gains) or "–"


def errors(rows: Rows, name: str) -> str:
    """Squared errors of forecasts or, by the name "swap", of swaps."""
    before = "swap " if name == "swap" else ""
    columns = {
        f"{appearance}, {span}": partial(_error_cell, appearance=appearance, span=f"{before}{span}")
        for appearance in APPEARANCES
        for span in SPANS
    }
    groups: dict[str, list[Found]] = {}
    for row in rows.values():
        groups.setdefault(f"{row['dataset']}, {row['method']}", []).append(row)
    return page.tabulate("scene, sequences, method", groups, columns | {"seeds": page.count})


def _error_cell(found: Any, appearance: str, span: str) -> str:
    return f"{mean(row[appearance][span][0] for row in found):.2e}"


if __name__ == "__main__":
    sys.exit(Content.main())
