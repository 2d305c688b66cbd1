"""Write the marked numbers of README.md and docs/*.md from rows, or check that they are what rows give.

    python -m benchmarks.quoted_numbers            # write
    python -m benchmarks.quoted_numbers --check    # exit 1 and list what differs
    python -m benchmarks.quoted_numbers --list     # every marked number and its query

Run it after rows have changed. `markers` says how a number is marked, `queries` has what can be asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.quoted_numbers.markers import Difference, find_calls, update
from benchmarks.quoted_numbers.queries import QUERIES
from benchmarks.quoted_numbers.sources import ROOT


def prose_pages(root: Path = ROOT) -> list[Path]:
    """README.md and the pages of the documentation that people write."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def differences(pages: list[Path], *, write: bool) -> Iterator[tuple[Path, Difference]]:
    """Where marked numbers are not what their queries give; pages are rewritten if asked."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        try:
            rewritten, found = update(text, QUERIES)
        except ValueError as error:
            raise ValueError(f"{page.relative_to(ROOT)}, {error}") from error
        if write and rewritten != text:
            page.write_text(rewritten, encoding="utf-8")
        for difference in found:
            yield page, difference


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--check", action="store_true", help="write nothing; exit 1 if a number differs")
    asked.add_argument("--list", action="store_true", help="print every marked number")
    given = parser.parse_args(arguments)
    if given.list:
        for page in prose_pages():
            for call, text in find_calls(page.read_text(encoding="utf-8")):
                print(f"{page.relative_to(ROOT)}: {call} = {text}")
        return 0
    found = list(differences(prose_pages(), write=not given.check))
    for page, difference in found:
        print(f"{page.relative_to(ROOT)}, {difference}")
    return int(given.check and bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
