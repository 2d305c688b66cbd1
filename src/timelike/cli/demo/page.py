"""The page of the demo: a summary, the sections, and the commands that do the same with files of one's own."""

from __future__ import annotations

from html import escape

from ... import __version__
from ...report import Page, sections
from .chapters import ChapterRun
from .summary import HEADER, LEGEND, describe_missing, summary_rows

OWN_FILES = """\
# one recording per file; the class of anna_walk_1.csv is "walk"
timelike describe 'logs/*.csv' --label '_([a-z]+)' --out logs.html
timelike compare 'logs/*.csv' --label '_([a-z]+)' --report methods.html

# learn a class, and use it; scores are of files that it was not learned from
timelike learn 'logs/*.csv' --label '_([a-z]+)' --method classifier --out logs-model
timelike classify logs-model 'new/*.csv'
timelike evaluate logs-model 'new/*.csv'
timelike search logs-model 'logs/*.csv' 'new/*.csv' -k 3
timelike embed logs-model 'new/*.csv' --out vectors.npz

# compare two recordings; a threshold is set by others, which were not learned from
timelike align logs/anna_walk_1.csv logs/bob_walk_1.csv --method gdtw --plot warp.png
timelike verify logs-model new/anna_walk_1.csv new/bob_walk_1.csv --calibrate 'labelled/*.csv'

# what comes next
timelike learn 'logs/*.csv' --method ridge --out next
timelike forecast next 'new/*.csv' --horizon 10 --plot future.png

# whether new recordings are like the old ones
timelike drift 'logs/*.csv' 'new/*.csv' --out drift.html
"""
"""Shown at the end of the page. A test runs every line."""


def build_page(runs: list[ChapterRun], seconds: float) -> Page:
    """The page of these runs."""
    from ... import native

    executor = f"compiled kernels ({native.isa()})" if native.is_native_enabled() else "the slower fallback in Python"
    lead = f"timelike {__version__}, {seconds:.0f} s by {executor} on {native.cpu_count()} cores."
    page = Page("timelike demo", lead=lead)
    rows = [["" if cell is None else cell for cell in row] for row in summary_rows(runs)]
    words = [f"{LEGEND}. Every number is of this run.", describe_missing(runs)]
    page.add("Summary", sections.table(HEADER, rows), *map(sections.paragraph, filter(None, words)))
    for place, run in enumerate(runs, 1):
        page.add(f"{place}. {run.title}", *_section_parts(run))
    page.add(
        "The same with your own files",
        sections.paragraph("Each command prints a result, with --json for programs; --help shows its options."),
        _code_html(OWN_FILES),
    )
    return page


def _section_parts(run: ChapterRun) -> list[str]:
    if run.section is None:
        return [
            sections.paragraph(f"This section {'is left out' if run.state == 'left out' else 'failed'}: {run.reason}")
        ]
    code = [_code_html(run.section.code)] if run.section.code else []
    return [sections.paragraph(run.section.purpose), *run.section.parts, *code]


def _code_html(text: str) -> str:
    return f"<pre><code>{escape(text.strip())}</code></pre>"
