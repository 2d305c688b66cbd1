"""Write the scorecard of the eight systems from the rows: docs/scorecard.md, and its table in the README.

python -m benchmarks.scorecard
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.scorecard.document import PAGE, README, headline, render_page, replace_rows
from benchmarks.scorecard.systems import ROOT, all_systems


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    systems, readme = all_systems(), ROOT / README
    (ROOT / PAGE).write_text(render_page(systems), encoding="utf-8")
    readme.write_text(replace_rows(readme.read_text(encoding="utf-8"), systems), encoding="utf-8")
    print(headline(systems))
    return 0


if __name__ == "__main__":
    sys.exit(main())
