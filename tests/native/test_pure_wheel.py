"""Without a compiler the library installs and works where torch is, and says what is missing where it is not."""

import ast
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.util import find_spec
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


TOOLS = ("scikit_build_core", "nanobind", "packaging", "pathspec")  # what a build needs, beside CMake


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Makes new environments without torch, or with a package of that name; nothing is downloaded."""
    tools = tmp_path_factory.mktemp("tools")
    for name in TOOLS:
        (tools / name).symlink_to(Path(find_spec(name).origin).parent)

    def make(name, *, torch=False, system=False):
        folder = tmp_path_factory.mktemp(name)
        venv.create(folder, with_pip=False, system_site_packages=system)
        (packages,) = folder.glob("lib/python*/site-packages")
        if torch:
            put_torch(packages)
        return folder / "bin" / "python", {"PYTHONPATH": str(tools)}

    return make


def put_torch(packages):
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "__init__.py").write_text("raise AssertionError('a build never imports it')")


def build(python, more, folder):
    """Build a wheel for an interpreter with a compiler that fails."""
    out, fresh = folder / "wheel", f"build-dir={folder / 'build'}"  # an earlier build remembers the compiler it had
    command = [sys.executable, "-m", "pip", "--python", str(python), "wheel", "-v", "--no-deps", "--no-build-isolation"]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("TIMELIKE_", "PYTHON"))}
    without |= {"CXX": "/bin/false", "CC": "/bin/false", **more}
    built = subprocess.run(
        [*command, "-C", fresh, "-w", str(out), str(ROOT)], env=without, capture_output=True, text=True
    )
    return built, [*out.glob("*.whl")]


@pytest.fixture(scope="module")
def wheel(environment, tmp_path_factory):
    built, wheels = build(*environment("with-torch", torch=True), tmp_path_factory.mktemp("pure"))
    assert built.returncode == 0, built.stdout + built.stderr
    words = " ".join((built.stdout + built.stderr).split())
    assert "warning: the kernels could not be compiled, so this is a pure Python wheel" in words
    assert "Every method works on its fallback in NumPy or torch, slower" in words
    return wheels[0]


def test_a_build_without_a_compiler_and_without_torch_fails_and_names_both_remedies(environment, tmp_path):
    built, wheels = build(*environment("without-torch"), tmp_path)
    words = " ".join((built.stdout + built.stderr).split())
    assert built.returncode != 0
    assert wheels == []
    assert "install a C++17 compiler (g++ or clang++)" in words
    assert "install torch first: pip install torch" in words
    assert '"timelike[learn]"' in words


def test_a_build_without_both_succeeds_where_the_user_says_that_torch_will_be_there(environment, tmp_path):
    python, more = environment("told")
    built, (wheel,) = build(python, more | {"TIMELIKE_FALLBACK": "1"}, tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.parametrize(
    ("torch", "system", "user", "expected"),
    [
        (False, False, False, None),
        (True, False, False, "1"),
        (False, True, True, "1"),
        (False, False, True, None),  # an environment of its own does not see the user's packages
    ],
)
def test_torch_of_the_target_is_found_where_nothing_of_it_can_be_imported(
    environment, tmp_path, torch, system, user, expected
):
    python, more = environment("target", torch=torch, system=system)
    base = tmp_path / "user"
    if user:
        put_torch(base / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages")
    # as pip isolates a build: the interpreter of the target, of whose packages none are on the path
    program = (
        f"import os, sys; sys.path[:] = [path for path in sys.path if 'site-packages' not in path];"
        f"sys.path.append({str(ROOT / 'tools')!r}); sys.path.append({more['PYTHONPATH']!r});"
        "import build_backend; print(os.environ.get('TIMELIKE_FALLBACK'), callable(build_backend.build_editable))"
    )
    told = {name: value for name, value in os.environ.items() if not name.startswith(("TIMELIKE_", "PYTHON"))}
    told |= {"PYTHONUSERBASE": str(base), "PYTHONNOUSERSITE": "1"}
    found = subprocess.run([python, "-c", program], capture_output=True, text=True, env=told)
    assert found.stdout.split() == [str(expected), "True"], found.stderr


def test_an_sdist_contains_the_backend_that_builds_it(tmp_path):
    program = (
        f"import sys; sys.path.insert(0, 'tools'); import build_backend; build_backend.build_sdist({str(tmp_path)!r})"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"tools/build_backend.py", "pyproject.toml", "src/timelike/native/CMakeLists.txt"} <= names


def test_a_build_without_a_compiler_gives_a_pure_wheel(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd", ".cpp"))]
    assert "timelike/native/elastic/fallback.py" in names
    assert "timelike/py.typed" in names


@pytest.mark.learn
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
    assert "runs on its fallback" in said
    assert "install a C++17 compiler" in said
