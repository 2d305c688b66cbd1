"""Write the pages of some result files anew, from their rows: `python -m benchmarks.queue.pages tloss_ucr`."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.papers.programs import load_program, program_modules


def main(files: list[str] | None = None) -> int:
    """Run the program of each file without a budget; the number of those that failed."""
    wanted, failed = set(sys.argv[1:] if files is None else files), 0
    for module in program_modules():
        if load_program(module).file() in wanted:
            failed += subprocess.run([sys.executable, "-m", module, "--budget", "0"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
