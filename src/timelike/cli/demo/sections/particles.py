"""GAN(TK)²: particles that flow onto a shape, as the kernel of a discriminator tells them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..section import Chapter, Score, Section

_N_POINTS, _STEPS = 300, 300
_N_RECORDS = 30
_SHOWN = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 25, 30)  # of these, in the animation: points are fast at first
_STEP_SIZE = 2.0
_SCHEDULE = (1, 1, 1, 0.1)  # points that have arrived settle in the last quarter
_CODE = """\
import timelike as tl

kernel = tl.distributions.NTK()
flow = tl.distributions.descend(start, target, kernel, steps=300, step=2.0, schedule=(1, 1, 1, 0.1))
flow.plot()
flow.animate("flow.gif")
"""


def run(n_points: int = _N_POINTS, steps: int = _STEPS) -> Section:
    """Let the points of one letter flow onto another under two kernels."""
    from .... import distributions
    from ....plotting import particles
    from ....report import sections
    from ....sequences.generate import letters

    start, target = letters(n_points, random_state=0)
    kernels = {"ReLU network": distributions.NTK(), "Gaussian": distributions.RBF()}
    flows = {
        name: distributions.descend(
            start,
            target,
            kernel,
            steps=steps,
            step=_STEP_SIZE,
            schedule=_SCHEDULE,
            record_every=max(1, steps // _N_RECORDS),
            progress=False,
            random_state=0,
        )
        for name, kernel in kernels.items()
    }
    distances = {name: float(flow.history["sinkhorn"][-1]) for name, flow in flows.items()}
    before = float(flows["Gaussian"].history["sinkhorn"][0])

    frames = {name: flow.frames[list(_SHOWN)] for name, flow in flows.items()}
    headings = [f"after {done} steps" for done in flows["Gaussian"].frame_steps[list(_SHOWN)]]
    with tempfile.TemporaryDirectory() as folder:
        film = particles.animate_flows(frames, headings, target, Path(folder, "flow.gif"), rate=3)
        animation = sections.animation_html(
            film, "Generated points (orange) on their way from a letter A to the real points of a letter B (grey)."
        )
    panels = {"start": start} | {f"{name}, {steps} steps": flow.frames[-1] for name, flow in flows.items()}
    return Section(
        title="What a discriminator teaches: particles that flow onto a shape",
        purpose="The kernels of GAN(TK)² show before any training what a discriminator of an architecture tells a "
        "generator, and move one sample onto another.",
        scores=(
            Score(
                method="descend, ReLU network's kernel",
                measure=f"Sinkhorn divergence after {steps} steps",
                value=distances["ReLU network"],
                rival="Gaussian kernel",
                rival_value=distances["Gaussian"],
                better="lower",
            ),
        ),
        parts=(
            sections.paragraph(
                f"{n_points} generated points follow the gradient of a discriminator that is trained anew at every "
                "step, infinitely wide and therefore exact. Its architecture is its kernel. That of a network with "
                "ReLU pulls points as hard close to the target as far from it, so they end on the letter. A Gaussian "
                "kernel, the usual choice for the maximum mean discrepancy, hardly pulls where they are close, and the "
                f"letter stays blurred. The Sinkhorn divergence from the target was {before:.3g} at the start."
            ),
            animation,
            sections.figure_html(
                particles.plot_particles(panels, target, {}),
                "The same without motion: where points began, and where they ended under either kernel.",
            ),
        ),
        code=_CODE,
    )


CHAPTER = Chapter(name="particles", run=run)
