"""Without a compiler the library still installs and works."""

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import timelike as tl

ROOT = Path(__file__).parents[2]
PROGRAM = """
import warnings, numpy as np
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    import timelike as tl
    from timelike import native
    x = tl.Sequences([[0.0, 1.0, 3.0], [0.0, 2.0], [5.0, 1.0, 1.0, 1.0]])
    print(tl.DTW().pairwise(x).tolist(), tl.DTW(window=0.5).align(x[0], x[1]).path.tolist())
    tl.DTW().pairwise(x)
    print(native.is_native_enabled(), tl.__file__)
    print([str(w.message) for w in heard if issubclass(w.category, RuntimeWarning)])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    fresh = f"build-dir={tmp_path_factory.mktemp('build')}"  # an earlier build remembers the compiler it had
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-C", fresh, "-w", str(out)]
    without = os.environ | {"CXX": "/bin/false", "CC": "/bin/false"}
    built = subprocess.run([*command, str(ROOT)], env=without, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = out.glob("*.whl")
    return found


def test_a_build_without_a_compiler_gives_a_pure_wheel(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd", ".cpp"))]
    assert "timelike/native/elastic/fallback.py" in names
    assert "timelike/py.typed" in names


def test_the_pure_wheel_gives_the_same_numbers_with_one_clear_warning(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    # neither the source tree nor the editable install's finder may stand in for the wheel
    alone = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in getattr(f, '__module__', '')];"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
    )
    run = subprocess.run([sys.executable, "-I", "-c", alone + PROGRAM], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    numbers, where, warnings = run.stdout.splitlines()
    x = tl.Sequences([[0.0, 1.0, 3.0], [0.0, 2.0], [5.0, 1.0, 1.0, 1.0]])  # small integers: every executor is exact
    assert numbers == f"{tl.DTW().pairwise(x).tolist()} {tl.DTW(window=0.5).align(x[0], x[1]).path.tolist()}"
    assert where == f"False {tmp_path}/timelike/__init__.py"
    (said,) = ast.literal_eval(warnings)
    assert "torch executor" in said
    assert "install a C++17 compiler" in said
