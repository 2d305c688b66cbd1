"""Files of one recording each, inspected, checked against each other and read in parallel into one collection."""

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

from ...core.memory import max_total_bytes, refuse_large_total
from ...core.parameters import check_choice
from ...core.warnings import find_stack_level
from ..container import Sequences
from .formats.text import FormatError
from .origin import Origin
from .paths import unique_names

_BAR_DELAY = 2  # without a bar
_POLL_SECONDS = 0.2  # seconds between two checks for Ctrl-C
_MAX_BATCHES = 256  # so often files are handed to threads, at most
_MAX_LISTED = 20  # files that a warning names
_MAX_FILES_PER_KIND = 3  # files that an error names for each of several kinds

Tick = Callable[[], None]  # called at every step; raises after Ctrl-C
Result = TypeVar("Result")


class RecordingInfo(NamedTuple):
    """Information about a recording before it is read."""

    path: Path
    steps: int  # at most
    frame: tuple[int, ...]
    working_bytes: int = 0  # bytes that a thread needs in addition to its result


class RecordingReader(Protocol):
    """The interface of a reader of recordings."""

    step_name: str
    """The name of time steps, such as "frames"."""
    reduction_hint: str
    """How to load less, for error messages."""

    def inspect(self, path: Path, tick: Tick) -> RecordingInfo: ...

    def fill(self, info: RecordingInfo, out: NDArray[Any], tick: Tick, threads: int) -> NDArray[Any]:
        """Write the recording to the beginning of `out` (steps, *frame) and return the times of its steps."""

    def refuse_mixed(self, infos: list[RecordingInfo]) -> None:
        """Raise an error, with the remedy, if frames have different shapes."""


def read_recordings(
    files: list[Path],
    reader: RecordingReader,
    on_error: str = "raise",
    left_out: Mapping[Path, Exception] | None = None,
) -> Sequences:
    """The recordings of files as sequences, with their times, and with ids made of the names of the files.

    Files are read side by side, each into its own place of one array, so that neither order nor number of threads
    changes anything. `on_error="skip"` skips what cannot be read, and a warning says what and why, and what was
    `left_out` before.
    """
    skips = check_choice(on_error, "on_error", ("raise", "skip")) == "skip"
    with progress_counter(len(files), "looking", "file") as tick:
        inspections = run_parallel(
            [_bind_job(reader.inspect, path, tick.raise_if_stopped) for path in files], tick, counts=True
        )
    looks = [one for one in inspections if isinstance(one, RecordingInfo)]
    failed = {path: one for path, one in zip(files, inspections, strict=True) if isinstance(one, Exception)}
    clocks: list[Any] = []
    values: NDArray[np.float32] = np.empty(0, np.float32)
    if failed and not skips:
        raise unreadable_error(failed, len(files))
    if looks:
        reader.refuse_mixed(looks)
        values, clocks = _read_all(looks, reader)
        failed |= {look.path: one for look, one in zip(looks, clocks, strict=True) if isinstance(one, Exception)}
    if failed and not skips:
        raise unreadable_error(failed, len(files))
    skipped = warn_left_out(failed, len(files), left_out or {})
    readable_clocks = [clock for clock in clocks if not isinstance(clock, Exception)]
    names = [name for name, path in zip(unique_names(files), files, strict=True) if path not in failed]
    offsets = np.cumsum([0, *map(len, readable_clocks)])
    data = Sequences.from_packed(values[: offsets[-1]], offsets, times=np.concatenate(readable_clocks), ids=names)
    data._source = Origin(tuple(str(path) for path in files if path not in failed), skipped=skipped)
    return data


def _read_all(looks: list[RecordingInfo], reader: RecordingReader) -> tuple[NDArray[np.float32], list[Any]]:
    """All recordings end to end, and for each its times, or why it could not be read."""
    total, frame = sum(look.steps for look in looks), looks[0].frame
    of_one = " × ".join(map(str, frame))
    claimed = 4 * total * int(np.prod(frame))
    refuse_large_total(claimed, f"{total} {reader.step_name} of {of_one} numbers", reader.reduction_hint)
    threads = _thread_count(max_total_bytes() - claimed, max(look.working_bytes for look in looks))
    values = np.empty((total, *frame), np.float32)
    starts = np.cumsum([0, *(look.steps for look in looks)])
    with progress_counter(total, "reading", reader.step_name.removesuffix("s")) as tick:
        jobs = [
            _bind_job(reader.fill, look, values[begin : begin + look.steps], tick, max(1, threads // len(looks)))
            for look, begin in zip(looks, starts.tolist(), strict=False)
        ]
        clocks = run_parallel(jobs, tick, threads=threads)
    end = 0
    for begin, clock in zip(starts.tolist(), clocks, strict=False):
        if not isinstance(clock, Exception):  # some have fewer steps than was thought: the others move up
            if begin != end:
                values[end : end + len(clock)] = values[begin : begin + len(clock)]
            end += len(clock)
    return values, clocks


# --- errors ------------------------------------------------------------------------------------------------------


def warn_left_out(failed: dict[Path, Exception], total: int, before: Mapping[Path, Exception]) -> dict[str, str]:
    """Warn about skipped files, with the reasons; raise an error if no file is left."""
    failed, total = {**before, **failed}, total + len(before)
    if not failed:
        return {}
    if len(failed) == total:
        raise FormatError(f"none of {total} files can be read:{_list_failures(failed)}")
    warnings.warn(
        f"{len(failed)} of {total} files are left out:{_list_failures(failed)}",
        UserWarning,
        stacklevel=find_stack_level(),
    )
    return {str(path): _reason(path, error) for path, error in failed.items()}


def unreadable_error(failed: dict[Path, Exception], total: int) -> Exception:
    """The error that names every file that cannot be read, and the way out; of one file alone its own error."""
    first = next(iter(failed.values()))
    if total == 1:
        return first
    if len(failed) == total > 1 and not isinstance(first, OSError):
        return FormatError(f"none of {total} files can be read:{_list_failures(failed)}")
    kind = OSError if all(isinstance(error, OSError) for error in failed.values()) else FormatError
    if len(failed) == 1:
        return kind(f'{first}; it is 1 of {total} files, and on_error="skip" leaves it out, with a warning')
    way = 'on_error="skip" leaves them out, with a warning'
    return kind(f"{len(failed)} of {total} files cannot be read, {way}:{_list_failures(failed)}")


def _reason(path: Path, error: Exception) -> str:
    return str(error).removeprefix(path.name).lstrip(":, ")


def _list_failures(failed: dict[Path, Exception]) -> str:
    """Files and why, a line each."""
    listed = [f"\n  {path}: {_reason(path, error)}" for path, error in failed.items()][:_MAX_LISTED]
    return "".join(listed) + (f"\n  and {len(failed) - _MAX_LISTED} others" if len(failed) > _MAX_LISTED else "")


def list_kinds(looks: list[RecordingInfo], kind: Callable[[RecordingInfo], str]) -> list[str]:
    """Which kinds there are, each with some of its files, the most frequent first: for errors about mixtures.

    >>> files = [RecordingInfo(Path("a.mp4"), 1, (1,)), RecordingInfo(Path("b.mp4"), 1, (3,))]
    >>> list_kinds(files, lambda info: f"{info.frame[0]} channels")
    ['1 channels in a.mp4', '3 channels in b.mp4']
    """
    files_by_kind: dict[str, list[str]] = {}
    for look in looks:
        files_by_kind.setdefault(kind(look), []).append(look.path.name)
    descriptions = []
    for name, files in sorted(files_by_kind.items(), key=lambda entry: -len(entry[1])):
        more = f" and {len(files) - _MAX_FILES_PER_KIND} others" if len(files) > _MAX_FILES_PER_KIND else ""
        descriptions.append(f"{name} in {', '.join(files[:_MAX_FILES_PER_KIND])}{more}")
    return descriptions


# --- threads -----------------------------------------------------------------------------------------------------


class _ProgressCounter:
    """Counts the steps of several threads on one bar, and stops them after Ctrl-C."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._lock, self._ended = bar, threading.Lock(), False

    def stop(self) -> None:
        self._ended = True

    def raise_if_stopped(self) -> None:
        if self._ended:
            raise InterruptedError("stopped")

    def __call__(self) -> None:
        self.raise_if_stopped()
        with self._lock:
            self._bar.update(1)


@contextmanager
def progress_counter(total: int, what: str, unit: str) -> Iterator[_ProgressCounter]:
    """A progress bar on a terminal, shown after two seconds."""
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=what, unit=f" {unit}", disable=None, delay=_BAR_DELAY, leave=False) as bar:
        yield _ProgressCounter(bar)


def _bind_job(function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:
    return lambda: function(*arguments)


def run_parallel(
    jobs: list[Callable[[], Any]], tick: _ProgressCounter, *, counts: bool = False, threads: int | None = None
) -> list[Any]:
    """The results of the jobs, in order; the result of a failed job is its error."""

    def run_job(job: Callable[[], Any]) -> Any:
        try:
            return job()
        except (FormatError, OSError) as error:  # others are read on: all that fail are named at once
            if isinstance(error, InterruptedError):
                raise
            return error
        finally:
            if counts:
                tick()

    def run_jobs(some: list[Callable[[], Any]]) -> list[Any]:
        return [run_job(job) for job in some]

    size = -(-len(jobs) // _MAX_BATCHES)  # small files are read faster than handed over
    with ThreadPoolExecutor(min(len(jobs), threads or _max_threads())) as pool:
        futures: list[Any] = []
        try:
            futures += (pool.submit(run_jobs, jobs[begin : begin + size]) for begin in range(0, len(jobs), size))
            while wait(futures, _POLL_SECONDS, FIRST_EXCEPTION).not_done and not any(map(_has_failed, futures)):
                pass  # Ctrl-C is seen between two glances, also where a library has signals restart what waits
            return [result for future in futures for result in future.result()]
        except BaseException:  # also on Ctrl-C: running jobs end at their next step
            tick.stop()
            for future in futures:
                future.cancel()
            raise


def _has_failed(future: Any) -> bool:
    return future.done() and future.exception() is not None


def _thread_count(left: int, working: int) -> int:
    """How many threads fit into `left` bytes if each needs `working` bytes; at least one.

    >>> _thread_count(left=100, working=100), _thread_count(left=-1, working=1)
    (1, 1)
    """
    return max(1, min(_max_threads(), left // max(working, 1)))


def _max_threads() -> int:
    """The number of threads: one for every available CPU, or fewer if the user limits them."""
    from joblib import cpu_count

    requested = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cpu_count(), int(requested))) if requested.isdecimal() else int(cpu_count())
