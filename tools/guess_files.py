"""Do people who know only the list of packages find the file of a public name?

    python tools/guess_files.py ask --seed 1 [--count 25]           # names to guess, drawn at random
    python tools/guess_files.py score answers.txt                   # how many were right, and where the others are

An answer is a line `name path`, such as `tl.align.DTW align/dtw.py`, with paths below src/timelike. It is right if it
is the file in which the name is defined.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from timelike._exports import public_names, public_packages


def public_files() -> dict[str, str]:
    """The file of every public name, below src/timelike."""
    files: dict[str, str] = {}
    for package in public_packages():
        for name, module in public_names(package).items():
            path = module.removeprefix("timelike.").replace(".", "/")
            is_folder = (Path(__file__).parents[1] / "src" / "timelike" / path).is_dir()
            key = f"{package.replace('timelike', 'tl', 1)}.{name}"
            files[key] = f"{path}/__init__.py" if is_folder else f"{path}.py"
    return files


def ask(seed: int, count: int) -> None:
    """Print names whose files are to be guessed."""
    for name in random.Random(seed).sample(sorted(public_files()), count):
        print(name)


def score(answers: Path) -> None:
    """Print which answers are right."""
    files, right, lines = public_files(), 0, answers.read_text(encoding="utf-8").splitlines()
    given = [line.split() for line in lines if len(line.split()) == 2]
    for name, path in given:
        is_right = files[name] == path.removeprefix("src/timelike/").removeprefix("timelike/")
        right += is_right
        print(f"{'right' if is_right else 'wrong'}  {name}  {path}" + ("" if is_right else f"  is in {files[name]}"))
    print(f"{right} of {len(given)} right")


def main() -> None:
    """Ask, or score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["ask", "score"])
    parser.add_argument("answers", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=25)
    given = parser.parse_args()
    if given.action == "ask":
        ask(given.seed, given.count)
    else:
        score(given.answers)


if __name__ == "__main__":
    main()
