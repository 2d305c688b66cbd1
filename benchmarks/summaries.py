"""Write the benchmark pages of the documentation: for every topic the results, and links to the full pages.

    python -m benchmarks.summaries

A full page, `benchmarks/results/NAME.md`, is written by its program. A summary has its title, its result, the warning
about rows that are older than the code, and its first table unless that is long.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES, SUMMARIES = ROOT / "benchmarks" / "results", ROOT / "docs" / "benchmarks"
REPOSITORY = "https://github.com/timelike/timelike/blob/main/benchmarks/results"
LONGEST = 20  # lines of a table that a summary shows


class Topic(NamedTuple):
    """A summary page: its title, what it is about, and the full pages behind it."""

    title: str
    about: str
    pages: tuple[str, ...]


TOPICS = {
    "defaults": Topic(
        "Every method at its defaults",
        "What a user gets without tuning, on data sets that chose nothing.",
        ("defaults", "open_classes", "rocket_peers", "image_vectors"),
    ),
    "align": Topic(
        "Elastic distances",
        "Speed of distances, of their gradients and of searches in long series, beside other libraries.",
        ("elastic", "differentiable", "subsequence"),
    ),
    "decdtw": Topic(
        "DecDTW and GDTW",
        "The experiments of the DecDTW paper, its solver, and how exact warps and gradients are.",
        ("decdtw_alignment", "decdtw_solver", "decdtw_accuracy"),
    ),
    "encode": Topic(
        "Speed of encoders",
        "Causal and recurrent networks and Rocket, beside torch and other libraries.",
        ("encode", "recurrent", "rocket"),
    ),
    "tloss": Topic(
        "T-Loss",
        "The causal encoder that learns without labels, beside the thesis.",
        ("tloss_ucr", "tloss_study", "tloss_labels", "tloss_long", "tloss_projection"),
    ),
    "cgru": Topic(
        "Siamese and coupled GRUs",
        "The experiments of the CGRU paper, a fair comparison of both networks, and the speed of learned metrics.",
        ("cgru_har", "cgru_coupling", "metrics"),
    ),
    "tap": Topic(
        "TAP",
        "Alignments predicted by a network, with and without labels, beside the paper.",
        ("tap_supervised", "tap_selfsupervised", "tap_fewshot", "tap_consistency", "tap_variants", "tap_times"),
    ),
    "prototypes": Topic(
        "Prototypes",
        "Enrolled classes, other people, attacks, retrieval and few-shot tasks, beside the paper.",
        (
            *("prototypes_enrolment", "prototypes_shift", "prototypes_mnist"),
            *("prototypes_retrieval", "prototypes_fewshot"),
        ),
    ),
    "verification": Topic(
        "Verification",
        "People that were not learned, the rate of false accepts that `calibrate` promises, and speed.",
        ("prototypes_verification", "verification_coverage", "recognize"),
    ),
    "forecast": Topic(
        "Forecasts",
        "Forecasts of sensor series beside statsforecast, the coverage of intervals, and speed.",
        ("forecast", "backtest_intervals", "forecast_speed"),
    ),
    "separation": Topic(
        "Separation of variables",
        "Forecasts of physical fields, beside the thesis and cheap rivals.",
        ("separation_waves100", "separation_waves64", "separation_sst", "separation_heat", "separation_content"),
    ),
    "srvp": Topic(
        "SRVP",
        "Stochastic forecasts of moving digits and of systems whose likelihood is known, beside the thesis.",
        (
            *("srvp_scenes", "srvp_digits", "srvp_ablations", "srvp_rates", "srvp_swap", "srvp_diagnosis"),
            *("srvp_pendulum", "srvp_kalman", "srvp_gate", "srvp_experimental"),
        ),
    ),
    "gantk": Topic(
        "GAN(TK)²",
        "Particles that move under infinitely wide discriminators, beside the thesis.",
        ("gantk_particles", "gantk_floors", "gantk_monotone", "gantk_digits", "gantk_closed_forms"),
    ),
    "two_sample": Topic(
        "Two samples and drift",
        "Level, power and delay of the tests beside hyppo and alibi-detect, and the speed of distributions.",
        ("two_sample", "distributions"),
    ),
    "robustness": Topic(
        "Correctness and robustness",
        "What tests of other libraries expect, what our tests notice, Ctrl-C, damaged files, and the time of import.",
        ("peers", "mutation", "interrupts", "mutated_files", "importing"),
    ),
}


def summary_link(page: str) -> str:
    """Where the summary of a full page is, relative to the documentation's folder of benchmarks."""
    topic = next(name for name, topic in TOPICS.items() if page in topic.pages)
    return f"{topic}.md#{_anchor(_title(_read(page)))}"


def render_summary(topic: Topic) -> str:
    """The summary page of a topic."""
    sections = [f"# {topic.title}", topic.about, *map(_summarize, topic.pages)]
    return "\n\n".join(sections) + "\n"


def _summarize(name: str) -> str:
    """The title, the result, the warning about old rows and the first table of a full page."""
    url = f"{REPOSITORY}/{name}.md"
    paragraphs = _read(name).split("\n\n")[1:]
    end = next((i for i, text in enumerate(paragraphs) if text.startswith(("|", "#", "```"))), len(paragraphs))
    shown = [text for text in paragraphs[: max(end, 1)] if not text.startswith("<!--")][:3]
    table = next((text.strip() for text in paragraphs if text.startswith("| ")), "")
    if len(table.splitlines()) - 2 <= LONGEST:
        shown.append(table)
    text = "\n\n".join(filter(None, shown)).replace("](#", f"]({url}#")
    return f"## {_title(_read(name))}\n\n{_outside_links(text)}\n\n[All tables, the data and how to repeat it]({url})"


def _outside_links(text: str) -> str:
    """The text with links to other full pages and to the documentation as they are from a summary."""
    text = text.replace("](../../docs/", "](../")
    return re.sub(r"\]\((\w+)\.md(#[\w-]+)?\)", lambda link: f"]({summary_link(link[1])})", text)


def _read(name: str) -> str:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"^<!--.*-->\n", "", text, flags=re.MULTILINE)


def _title(page: str) -> str:
    return page.splitlines()[0].removeprefix("# ")


def _anchor(title: str) -> str:
    """The anchor that MkDocs makes of a heading.

    >>> _anchor("GAN(TK)²: does MMD fall at every step?")
    'gantk2-does-mmd-fall-at-every-step'
    """
    ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    SUMMARIES.mkdir(parents=True, exist_ok=True)
    for name, topic in TOPICS.items():
        (SUMMARIES / f"{name}.md").write_text(render_summary(topic), encoding="utf-8")
    print(f"{len(TOPICS)} summaries in {SUMMARIES.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
