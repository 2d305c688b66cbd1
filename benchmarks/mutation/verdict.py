"""Whether tests notice a mutant: they fail with it, and pass in the same order without it."""

from __future__ import annotations

from typing import Any

from benchmarks.mutation.mutants import Site
from benchmarks.mutation.reach import Reach
from benchmarks.mutation.workshop import Workshop


def judge(workshop: Workshop, reach: Reach, site: Site, seconds: float) -> dict[str, Any]:
    """Run the tests that may notice a mutant until one fails.

    A failure counts if the same tests, up to the one that failed, pass without the mutant. A test that fails without it
    is excluded from here on, and the others are run again.
    """
    if not reach.tests:
        reach.record(workshop)
    while True:
        tests, expected = reach.cheapest(site, seconds)
        if not tests:
            return {"outcome": "survived", "passed": 0}
        found = workshop.tested(site, tests, expected)
        if found["outcome"] == "survived":
            return found
        unchanged = workshop.unchanged(_until(tests, found["by"]), expected)
        if unchanged["outcome"] == "survived":
            return found
        if unchanged["by"] not in tests:
            raise RuntimeError(f"the tests do not run without a mutant: {unchanged}")
        print(f"    excluded, because it fails without a mutant: {unchanged['by']}: {unchanged['how']}", flush=True)
        reach.exclude(unchanged["by"])


def _until(tests: list[str], failed: str) -> list[str]:
    """The tests up to the one that failed; all of them where it was none in particular, as when a file is collected.

    >>> _until(["a", "b", "c"], "b"), _until(["a", "b"], "pytest")
    (['a', 'b'], ['a', 'b'])
    """
    return tests[: tests.index(failed) + 1] if failed in tests else tests
