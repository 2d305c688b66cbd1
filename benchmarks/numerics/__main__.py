"""Whether the library still computes the numbers that rows were made with.

python -m benchmarks.numerics                       # all systems; 1 where one of them has changed
python -m benchmarks.numerics tap rocket            # these only
python -m benchmarks.numerics --raise tap "why"     # the change is meant: rows that stand on TAP become stale
python -m benchmarks.numerics --raise tap "why" --draws  # the same method: a seed draws other random numbers
python -m benchmarks.numerics --record tap          # the probe has changed, the numbers of the system have not
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.numerics.ledger import TOLERANCE, Ledger, describe
from benchmarks.numerics.probes import PROBES, compute_outputs


def main(argv: list[str] | None = None) -> int:
    """Check, raise or record; 1 where a system has changed and nothing was said about it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(sorted(PROBES)))
    parser.add_argument("--raise", dest="raised", nargs=2, metavar=("SYSTEM", "WHY"), help="begin a new version")
    parser.add_argument("--draws", action="store_true", help="with --raise: only random numbers are others")
    parser.add_argument("--record", metavar="SYSTEM", help="outputs that are new, or gone, in a probe")
    given = parser.parse_args(argv)
    named = [*given.systems, *(given.raised or [])[:1], *filter(None, [given.record])]
    unknown = [name for name in named if name not in PROBES]
    if unknown:
        parser.error(f"unknown system {unknown[0]!r}: expected one of {', '.join(sorted(PROBES))}")
    ledger = Ledger()
    if given.raised or given.record:
        return _change(ledger, given, parser)
    changed = [name for name in given.systems or sorted(PROBES) if not _check(ledger, name)]
    for name in [] if given.systems else sorted(ledger.entries.keys() - PROBES.keys()):
        print(f"{name}: in the ledger, but no probe has this name")
        changed.append(name)
    return 1 if changed else 0


def _change(ledger: Ledger, given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    try:
        if given.record:
            entry = ledger.record(given.record, compute_outputs(given.record))
            print(f"{given.record}: version {entry.version}, {len(entry.outputs)} outputs recorded")
            return 0
        system, why = given.raised
        outputs = compute_outputs(system)
        if system in ledger.entries and not ledger.differences(system, outputs):
            print(f"{system}: the probe sees no change")
        print(f"{system}: version {ledger.raise_version(system, outputs, why, draws=given.draws).version}")
    except ValueError as error:
        parser.error(str(error))
    return 0


def _check(ledger: Ledger, system: str) -> bool:
    differences = ledger.differences(system, compute_outputs(system))
    if system not in ledger.entries:
        print(f"{system}: not in the ledger yet: python -m benchmarks.numerics --record {system}")
    elif differences:
        print(f"{system}: changed, {describe(differences)}; the tolerance is {TOLERANCE:g}", flush=True)
    else:
        print(f"{system}: version {ledger.entries[system].version}, unchanged", flush=True)
    return system in ledger.entries and not differences


if __name__ == "__main__":
    sys.exit(main())
