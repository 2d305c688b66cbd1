"""Files of one recording each → one collection: looked at, held against each other, then read into their places."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import one_of
from ..callers import outside
from ..container import Sequences
from ..formats.limits import most_of_all, refuse_total
from ..formats.text import FormatError
from .origin import Origin
from .sources import names_of

_SECONDS = 2  # without a bar
_GLANCE = 0.2  # seconds between two looks at whether somebody wants to stop
_TURNS = 256  # so often files are handed to threads, at most
_TOLD = 20  # files that a warning names
_NAMED = 3  # files that an error names for each of several kinds

Tick = Callable[[], None]  # called at every step; raises where somebody has pressed Ctrl-C
Result = TypeVar("Result")


class Look(NamedTuple):
    """What is known of a recording before it is read."""

    path: Path
    steps: int  # at most
    frame: tuple[int, ...]
    working: int = 0  # bytes that a thread needs beside its result


class Reader(Protocol):
    """What a format of recordings has to say."""

    steps: str
    """What a time step is called: "frames"."""
    smaller: str
    """How to ask for less, in an error."""

    def look(self, path: Path, tick: Tick) -> Look: ...

    def fill(self, look: Look, out: NDArray[Any], tick: Tick, threads: int) -> NDArray[Any]:
        """Write the recording to the beginning of `out` (steps, *frame); gives the times of what was written."""

    def refuse_mixed(self, looks: list[Look]) -> None:
        """An error, with a way out, where frames have different shapes."""


def read(
    files: list[Path], reader: Reader, on_error: str = "raise", left_out: Mapping[Path, Exception] | None = None
) -> Sequences:
    """The recordings of files as sequences, with their times, and with ids made of the names of the files.

    Files are read side by side, each into its own place of one array, so that neither order nor number of threads
    changes anything. `on_error="skip"` leaves out what cannot be read, and a warning says what and why, and what was
    `left_out` before.
    """
    skips = one_of(on_error, "on_error", ("raise", "skip")) == "skip"
    with bar(len(files), "looking", "file") as tick:
        seen = side_by_side([_job(reader.look, path, tick.stopped) for path in files], tick, counts=True)
    looks = [one for one in seen if isinstance(one, Look)]
    failed = {path: one for path, one in zip(files, seen, strict=True) if isinstance(one, Exception)}
    clocks: list[Any] = []
    values: NDArray[np.float32] = np.empty(0, np.float32)
    if failed and not skips:
        raise unreadable(failed, len(files))
    if looks:
        reader.refuse_mixed(looks)
        values, clocks = _filled(looks, reader)
        failed |= {look.path: one for look, one in zip(looks, clocks, strict=True) if isinstance(one, Exception)}
    if failed and not skips:
        raise unreadable(failed, len(files))
    skipped = tell(failed, len(files), left_out or {})
    kept = [clock for clock in clocks if not isinstance(clock, Exception)]
    names = [name for name, path in zip(names_of(files), files, strict=True) if path not in failed]
    offsets = np.cumsum([0, *map(len, kept)])
    data = Sequences.from_packed(values[: offsets[-1]], offsets, times=np.concatenate(kept), ids=names)
    data._source = Origin(tuple(str(path) for path in files if path not in failed), skipped=skipped)
    return data


def _filled(looks: list[Look], reader: Reader) -> tuple[NDArray[np.float32], list[Any]]:
    """All recordings end to end, and for each its times, or why it could not be read."""
    total, frame = sum(look.steps for look in looks), looks[0].frame
    of_one = " × ".join(map(str, frame))
    claimed = 4 * total * int(np.prod(frame))
    refuse_total(claimed, f"{total} {reader.steps} of {of_one} numbers", reader.smaller)
    threads = _threads(most_of_all() - claimed, max(look.working for look in looks))
    values = np.empty((total, *frame), np.float32)
    starts = np.cumsum([0, *(look.steps for look in looks)])
    with bar(total, "reading", reader.steps.removesuffix("s")) as tick:
        jobs = [
            _job(reader.fill, look, values[begin : begin + look.steps], tick, max(1, threads // len(looks)))
            for look, begin in zip(looks, starts.tolist(), strict=False)
        ]
        clocks = side_by_side(jobs, tick, threads=threads)
    end = 0
    for begin, clock in zip(starts.tolist(), clocks, strict=False):
        if not isinstance(clock, Exception):  # some have fewer steps than was thought: the others move up
            if begin != end:
                values[end : end + len(clock)] = values[begin : begin + len(clock)]
            end += len(clock)
    return values, clocks


# --- errors ------------------------------------------------------------------------------------------------------


def tell(failed: dict[Path, Exception], total: int, before: Mapping[Path, Exception]) -> dict[str, str]:
    """A warning of what was left out, and why, by file; an error where nothing is left."""
    failed, total = {**before, **failed}, total + len(before)
    if not failed:
        return {}
    if len(failed) == total:
        raise FormatError(f"none of {total} files can be read:{_listed(failed)}")
    warnings.warn(f"{len(failed)} of {total} files are left out:{_listed(failed)}", UserWarning, stacklevel=outside())
    return {str(path): _reason(path, error) for path, error in failed.items()}


def unreadable(failed: dict[Path, Exception], total: int) -> Exception:
    """The error that names every file that cannot be read, and the way out; of one file alone its own error."""
    first = next(iter(failed.values()))
    if total == 1:
        return first
    if len(failed) == total > 1 and not isinstance(first, OSError):
        return FormatError(f"none of {total} files can be read:{_listed(failed)}")
    kind = OSError if all(isinstance(error, OSError) for error in failed.values()) else FormatError
    if len(failed) == 1:
        return kind(f'{first}; it is 1 of {total} files, and on_error="skip" leaves it out, with a warning')
    way = 'on_error="skip" leaves them out, with a warning'
    return kind(f"{len(failed)} of {total} files cannot be read, {way}:{_listed(failed)}")


def _reason(path: Path, error: Exception) -> str:
    return str(error).removeprefix(path.name).lstrip(":, ")


def _listed(failed: dict[Path, Exception]) -> str:
    """Files and why, a line each."""
    told = [f"\n  {path}: {_reason(path, error)}" for path, error in failed.items()][:_TOLD]
    return "".join(told) + (f"\n  and {len(failed) - _TOLD} others" if len(failed) > _TOLD else "")


def kinds(looks: list[Look], kind: Callable[[Look], str]) -> list[str]:
    """Which kinds there are, each with some of its files, the most frequent first: for errors about mixtures.

    >>> kinds([Look(Path("a.mp4"), 1, (1,)), Look(Path("b.mp4"), 1, (3,))], lambda look: f"{look.frame[0]} channels")
    ['1 channels in a.mp4', '3 channels in b.mp4']
    """
    found: dict[str, list[str]] = {}
    for look in looks:
        found.setdefault(kind(look), []).append(look.path.name)
    said = []
    for name, files in sorted(found.items(), key=lambda entry: -len(entry[1])):
        more = f" and {len(files) - _NAMED} others" if len(files) > _NAMED else ""
        said.append(f"{name} in {', '.join(files[:_NAMED])}{more}")
    return said


# --- threads -----------------------------------------------------------------------------------------------------


class _Ticks:
    """Counts steps of several threads on one bar, and ends them where somebody wants to stop."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._lock, self._ended = bar, threading.Lock(), False

    def stop(self) -> None:
        self._ended = True

    def stopped(self) -> None:
        if self._ended:
            raise InterruptedError("stopped")

    def __call__(self) -> None:
        self.stopped()
        with self._lock:
            self._bar.update(1)


@contextmanager
def bar(total: int, what: str, unit: str) -> Iterator[_Ticks]:
    """A bar on a terminal, for what takes longer than two seconds."""
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=what, unit=f" {unit}", disable=None, delay=_SECONDS, leave=False) as bar:
        yield _Ticks(bar)


def _job(function: Callable[..., Result], *given: Any) -> Callable[[], Result]:
    return lambda: function(*given)


def side_by_side(
    jobs: list[Callable[[], Any]], tick: _Ticks, *, counts: bool = False, threads: int | None = None
) -> list[Any]:
    """What the jobs give, in their order, with an error in the place of what one could not give."""

    def done(job: Callable[[], Any]) -> Any:
        try:
            return job()
        except (FormatError, OSError) as error:  # others are read on: all that fail are named at once
            if isinstance(error, InterruptedError):
                raise
            return error
        finally:
            if counts:
                tick()

    def all_done(some: list[Callable[[], Any]]) -> list[Any]:
        return [done(job) for job in some]

    size = -(-len(jobs) // _TURNS)  # small files are read faster than handed over
    with ThreadPoolExecutor(min(len(jobs), threads or _cores())) as pool:
        futures: list[Any] = []
        try:
            futures += (pool.submit(all_done, jobs[begin : begin + size]) for begin in range(0, len(jobs), size))
            while wait(futures, _GLANCE, FIRST_EXCEPTION).not_done and not any(map(_has_failed, futures)):
                pass  # Ctrl-C is seen between two glances, also where a library has signals restart what waits
            return [result for future in futures for result in future.result()]
        except BaseException:  # Ctrl-C too: whatever runs ends at its next step
            tick.stop()
            for future in futures:
                future.cancel()
            raise


def _has_failed(future: Any) -> bool:
    return future.done() and future.exception() is not None


def _threads(left: int, working: int) -> int:
    """How many threads have room for what each works on in `left` bytes; one in any case.

    >>> _threads(left=100, working=100), _threads(left=-1, working=1)
    (1, 1)
    """
    return max(1, min(_cores(), left // max(working, 1)))


def _cores() -> int:
    """How many threads: one for every processor that the process may use, or fewer where the user asks for fewer."""
    from joblib import cpu_count

    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cpu_count(), int(asked))) if asked.isdecimal() else int(cpu_count())
