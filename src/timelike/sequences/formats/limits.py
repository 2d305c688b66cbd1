"""How much memory a file may ask for: its headers are looked at first, and a few bytes may not claim a gigabyte."""

from __future__ import annotations

import os
from pathlib import Path

from .text import wrong

VARIABLE = "TIMELIKE_LOAD_LIMIT_MB"
LIMIT_MB = 500  # unless the variable says otherwise
TIMES = 20  # the file's own size may be claimed in any case: numbers that are data are hardly packed tighter


def refuse_claim(path: Path, claimed: int, what: str = "of numbers") -> None:
    """An error where the numbers of a file, or what is made on the way to them, would take more than is allowed."""
    size, limit = path.stat().st_size, most(path)
    if claimed > limit:
        raise wrong(
            path,
            f"claims {claimed / 1e6:.1f} MB {what} in {size / 1e6:.1f} MB, and the limit is {limit / 1e6:.1f} MB: "
            f"if you trust the file, raise it with the environment variable {VARIABLE}",
        )


def refuse_total(claimed: int, what: str, smaller: str) -> None:
    """The same for many files that were looked at: half of the machine's memory, unless the variable says otherwise."""
    limit = most_of_all()
    if claimed > limit:
        raise ValueError(
            f"{what} would take {claimed / 1e6:.1f} MB, and the limit is {limit / 1e6:.1f} MB: ask for less with "
            f"{smaller}, load a part at a time, or raise it with the environment variable {VARIABLE}"
        )


def most_of_all() -> int:
    """Bytes that many files may take together."""
    return megabytes(VARIABLE, max(LIMIT_MB, _memory() / 2e6))


def _memory() -> int:
    """Bytes of memory that the machine has; 0 where that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 0


def most(path: Path) -> int:
    """Bytes that a file may claim."""
    return max(megabytes(VARIABLE, LIMIT_MB), TIMES * path.stat().st_size)


def megabytes(variable: str, usual: float) -> int:
    """Bytes, from an environment variable that counts megabytes.

    >>> megabytes("TIMELIKE_NEVER_SET", 2.5)
    2500000
    """
    given = os.environ.get(variable, str(usual))
    try:
        return int(float(given) * 1e6)
    except (ValueError, OverflowError):
        raise ValueError(f"{variable}={given!r}: expected a number of megabytes") from None
