"""Errors as sentences on standard error, exit codes, and what every command shares while it runs."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from ..core.interrupts import immediate_interrupts
from ..core.progress import omit_lines

FAILURE, INTERRUPTED = 1, 130
_OUTPUT_CLOSED = 141  # as of a program that SIGPIPE ends: `| head -1` has what it wanted
_EXPECTED = (ValueError, TypeError, LookupError, OSError, ImportError, MemoryError, NotImplementedError)
_IN_TERMINAL = {  # patterns of arguments in Python, and the options that replace them
    r'\bon_error="skip"': "--on-error skip",
    r"\bprogress=True shows a bar": "a terminal shows a bar",
    r"\bmax_steps=(\d+) includes": r"--max-steps \1 includes",
    r"\bload\(('[^']*')\)": r"\1",
    r"; if it is a constant, give (label|group)=lambda path: '[^']*'": "",
    r"; a constant for all is (label|group)=lambda path: '[^']*'": "",
    r"; or give (label|group)= as a function of the path": "",
    r"\b(label|group|time)=(?:r?\"([^\"]*)\"|'([^']*)')": r"--\1 '\2\3'",
    r"\b(label|group|time)=(\d+|\.\.\.)(?!\w|[./]\w)": r"--\1 \2",
    r"\b(label|group|time)=(?= )": r"--\1",
    r"\bsplit=\"(\w+)\"": r"--split \1",
    r"\bSequences\.interpolate\(\)": "--interpolate",
    r"\b(?:call )?(?:\w+\.)?calibrate\(X\) on sequences that were not used in fit": (
        "name with --calibrate data that were not used in fit"
    ),
    r"^(X|past)(?=:| has )": "DATA",
    r"\bhas frames of shape \(1,\)": "has 1 channel",
    r"\bhas frames of shape \((\d+),\)": r"has \1 channels",
    r"\bwas fitted on \((\d+),\)": r"was fitted on \1",
    r" of \((\d+),\): expected the same channels": r" of \1: expected the same channels",
    r"; (one sequence|an array) .*needs Sequences\(data, layout=\"nct\"\).*": "; choose the channels with --values",
}
_USERS_OWN = (  # texts that are never translated: what is quoted, paths, and methods with their options
    r"(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)",
    r'(?<!\w)"(?:[^"\\]|\\.)*"(?!\w)',
    r"[^\s'\"]*[/\\][^\s'\"]*",
    r"\b[A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)",
)
_FOR_COMMAND = {  # arguments in Python and the options of a command that stand for them
    "align": {"metric": "--method"},
    "cluster": {"k": "-k", "metric": "--metric", "random_state": "--seed"},
    "compare": {
        "cv": "--folds",
        "random_state": "--seed",
        "metric": "--metric",
        "methods": "--method",
        "max_steps": "--max-steps",
        "budget": "--budget",
        "checkpoint": "--checkpoint",
    },
    "drift": {"n_permutations": "--permutations", "random_state": "--seed"},
    "evaluate": {"horizon": "--horizon", "n_windows": "--windows", "random_state": "--seed"},
    "forecast": {"horizon": "--horizon", "n_samples": "--samples", "level": "--level", "random_state": "--seed"},
    "learn": {"random_state": "--seed"},
    "match": {"k": "-k", "max_distance": "--threshold", "threshold": "--threshold"},
    "search": {"k": "-k"},
    "verify": {"false_accept": "--false-accept"},
}


@contextmanager
def exit_on_error(debug: bool = False, context: Any = None) -> Iterator[None]:
    """Turn an error into its message and exit code 1; with `debug` it keeps its traceback.

    The `context` is typer's, and knows which command runs.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            _discard_output()
            raise typer.Exit(_OUTPUT_CLOSED) from None
        if debug or isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
            raise  # typer ends the program by itself
        typer.secho(f"timelike: {_describe_error(error, _command_name(context))}", fg="red", err=True)
        raise typer.Exit(FAILURE) from None


def _discard_output() -> None:
    """Send what is still in the buffer nowhere: Python would write it at its end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command_name(context: Any) -> str:
    return getattr(context, "invoked_subcommand", None) or ""


def _describe_error(error: Exception, command: str) -> str:
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    text = in_options(text, command)
    if isinstance(error, _EXPECTED) and text:
        return text
    return f"{type(error).__name__}: {text}; this is a defect of timelike, and timelike --debug COMMAND shows where"


def in_options(text: str, command: str = "") -> str:
    """A message of the library with options of the command line for arguments in Python.

    Quoted values and paths are the user's own and stay as they are.

    >>> in_options('2 files cannot be read, on_error="skip" leaves them out')
    '2 files cannot be read, --on-error skip leaves them out'
    >>> in_options("cv=1: expected at least 2", "compare"), in_options("d/group=3/y.csv: 'group=3' is odd")
    ('--folds 1: expected at least 2', "d/group=3/y.csv: 'group=3' is odd")
    """
    replacements = _replacements(command)
    parts: list[str] = []
    end = 0
    while True:
        found = [(one, replacement) for pattern, replacement in replacements if (one := pattern.search(text, end))]
        if not found:
            return "".join([*parts, text[end:]])
        first, replacement = min(found, key=lambda pair: pair[0].start())
        parts += [text[end : first.start()], replacement(first)]
        end = first.end()


@cache
def _replacements(command: str) -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    """Patterns and what they become; of two that begin at one place, the first counts."""
    general = [(pattern, partial(_expand, template)) for pattern, template in _IN_TERMINAL.items()]
    own = [(pattern, _keep) for pattern in _USERS_OWN]
    arguments = [
        (rf"(?<![\w.(-]){name}=(?=\S)", partial(_expand, f"{option} "))
        for name, option in _FOR_COMMAND.get(command, {}).items()
    ]
    every: list[tuple[str, Callable[[re.Match[str]], str]]] = [
        *general,
        (r"\bvalues=\[([^\]]*)\]", _to_values_option),
        *own,
        *arguments,
    ]
    return [(re.compile(pattern), replacement) for pattern, replacement in every]


def _keep(found: re.Match[str]) -> str:
    return found[0]


def _expand(template: str, found: re.Match[str]) -> str:
    return found.expand(template)


def _to_values_option(found: re.Match[str]) -> str:
    names = [name.strip().strip("'\"") for name in found[1].split(",")]
    return f"--values {shlex.quote(','.join(names)) if names != ['...'] else '...'}"


class CommandGroup(TyperGroup):
    """The commands: their errors and warnings are sentences, and Ctrl-C ends them at once with exit code 130."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        debug = bool(ctx.params.get("debug"))
        with exit_on_error(debug, ctx), _print_warnings(ctx), immediate_interrupts(), omit_lines(progress() is False):
            return super().invoke(ctx)


@contextmanager
def library_interrupts() -> Iterator[None]:
    """Inside, Ctrl-C is the library's: a training ends after the current step and writes its checkpoint."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _print_warnings(context: Any) -> Iterator[None]:
    """Print warnings for the user as one line each; those for programmers are left out."""

    def print_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: Any = None,
    ) -> None:
        text = in_options(str(message), _command_name(context))
        typer.secho(f"timelike: warning: {text}", fg="yellow", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = print_warning
        yield


def progress() -> bool | None:
    """The argument `progress` of the library: bars in a terminal after two seconds, nothing at all in a pipe."""
    return None if sys.stderr.isatty() else False
