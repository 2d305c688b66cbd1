"""Lines of Python code below folders, without comments, blank lines and docstrings.

    python tools/lines_of_code.py [src tests benchmarks]

Prints the count of every folder, of the packages in src, and the sum.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """How many lines of a file hold code."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for statement in getattr(node, "body", None) or () if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if is_text and isinstance(statement.value.value, str):
                strings.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - strings)


def main(folders: list[str]) -> None:
    """Print the table."""
    files = subprocess.check_output(["git", "ls-files", "--", *(f"{folder}/*.py" for folder in folders)], text=True)
    counts: Counter[str] = Counter()
    for file in files.split():
        parts = Path(file).parts
        lines = code_lines(Path(file).read_text(encoding="utf-8"))
        counts[parts[0]] += lines
        if parts[0] == "src" and len(parts) > 3:
            counts["/".join(parts[:3])] += lines
    for name, lines in sorted(counts.items()):
        print(f"{lines:8} {name}")
    print(f"{sum(counts[folder] for folder in folders):8} in all")


if __name__ == "__main__":
    main(sys.argv[1:] or ["src", "tests", "benchmarks"])
