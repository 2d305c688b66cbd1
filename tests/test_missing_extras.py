"""Without an extra, exactly the tests and examples that need it are left out, and a broken import still fails."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RUN = """
import pathlib, sys
import pytest
from missing_extras import MissingExtras

here = pathlib.Path.cwd()
arguments = ["-q", "-rA", "-p", "no:cacheprovider", "--import-mode=importlib", "--doctest-modules", "--doctest-glob=*.md"]
sys.exit(pytest.main([*arguments, *sys.argv[1:]], plugins=[MissingExtras({"learn"}, root=here)]))
"""
SETTINGS = "[pytest]\nmarkers =\n  learn: x\n  transport: x\npythonpath = tests src\n"


def left_over(folder, files, *arguments):
    """The words of pytest on a folder with these files, in which everything passes that is run."""
    for name, text in {"pytest.ini": SETTINGS, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    program = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{RUN}", *arguments]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True)


def test_modules_that_import_torch_are_not_collected_also_through_helpers(tmp_path):
    wrong = "raise AssertionError('imported')\n"
    found = left_over(
        tmp_path,
        {
            "tests/test_direct.py": f"{wrong}import torch\n",
            "tests/test_deep.py": f"{wrong}with open(__file__):\n    from torch.nn import functional\n",
            "tests/test_helped.py": f"{wrong}from folder.helper import thing\n",
            "tests/test_peer.py": f"{wrong}import geomloss\n",
            "tests/test_marked.py": f"{wrong}import pytest\npytestmark = [pytest.mark.learn]\n",
            "tests/folder/helper.py": "from . import torches\n",
            "tests/folder/torches.py": "import torch.nn as nn\n",
            "tests/test_late.py": "def test_late():\n    assert 'import torch'\n\ndef never():\n    import torch\n",
            "tests/test_other.py": "import pytest\npytestmark = pytest.mark.transport\ndef test_other(): pass\n",
            "tests/test_caught.py": "try:\n    import no_such\nexcept ImportError:\n    pass\ndef test_caught(): pass\n",
        },
        "tests",
    )
    assert found.returncode == 0, found.stdout
    assert "3 passed" in found.stdout
    assert "left out: 5 files and 0 more tests need timelike[learn]" in found.stdout


def test_marked_tests_and_classes_are_deselected(tmp_path):
    text = """
import pytest

@pytest.mark.learn
def test_one(): raise AssertionError

@pytest.mark.learn
class TestMany:
    def test_two(self): raise AssertionError

def test_core(): pass
"""
    found = left_over(tmp_path, {"tests/test_mixed.py": text}, "tests")
    assert found.returncode == 0, found.stdout
    assert "1 passed, 2 deselected" in found.stdout


@pytest.mark.parametrize("workers", [(), ("-n", "2", "-p", "xdist")], ids=["alone", "workers"])
def test_one_line_says_what_was_left_out_also_of_workers(tmp_path, workers):
    files = {
        "conftest.py": "import sys, pathlib\n"
        f"sys.path.insert(0, {str(TESTS)!r})\n"
        "from missing_extras import MissingExtras\n"
        "def pytest_configure(config):\n"
        "    plugin = MissingExtras({'learn', 'transport'}, root=pathlib.Path(__file__).parent)\n"
        "    config.pluginmanager.register(plugin)\n",
        "tests/test_heavy.py": "import torch\n",
        "tests/test_mixed.py": "import pytest\n"
        "@pytest.mark.learn\ndef test_one(): raise AssertionError\n"
        "@pytest.mark.transport\ndef test_two(): raise AssertionError\n"
        "def test_core(): pass\n",
    }
    for name, text in {"pytest.ini": SETTINGS, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    told = "left out: 1 files and 1 more tests need timelike[learn]; 0 files and 1 more tests need timelike[transport]"
    assert found.stdout.count(told) == 1, found.stdout


def test_what_fails_to_import_fails(tmp_path):
    files = {
        "src/timelike/__init__.py": "",
        "src/timelike/heavy.py": "import no_such_library_as_torch\n",
        "tests/test_accident.py": "import timelike.heavy\ndef test_it(): pass\n",
        "tests/test_inside.py": "def test_it():\n    import no_such_library_as_torch\n",
        "src/timelike/learning.py": "import torch\n",
        "tests/test_followed.py": "try:\n    pass\nfinally:\n    import timelike.learning\ndef test_it(): raise AssertionError\n",
    }
    found = left_over(tmp_path, files, "tests", "--continue-on-collection-errors")
    assert found.returncode == 1, found.stdout
    assert "ERROR tests/test_accident.py" in found.stdout
    assert "FAILED tests/test_inside.py::test_it" in found.stdout
    assert "test_followed.py" in found.stdout  # a test's imports from the library are not followed


def test_examples_of_modules_that_import_torch_are_left_out(tmp_path):
    wrong = '"""\n>>> 1\n2\n"""\n'
    right = '"""\n>>> 1\n1\n"""\n'
    files = {
        "src/timelike/__init__.py": right,
        "src/timelike/learning.py": f"{wrong}import torch\n",
        "src/timelike/late.py": f"{right}def call():\n    import torch\n",
        "src/timelike/typed.py": f"{right}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "src/timelike/indirect.py": f"{wrong}from .learning import x\n",
        "src/timelike/package/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from .net import Net as Net\n    from .plain import Plain as Plain\n",
        "src/timelike/package/net.py": f"{wrong}from torch import nn\n",
        "src/timelike/package/plain.py": right,
        "src/timelike/by_name.py": f"{wrong}from timelike.package import Net\n",
        "src/timelike/only/__init__.py": "import torch\n",
        "src/timelike/only/below.py": wrong,
        "src/timelike/strings.py": '''
def one():
    """
    >>> import torch
    """

def two():
    """
    >>> model = fail()  # needs: timelike[learn]
    """

def three():
    """
    >>> 3
    3
    """
''',
    }
    found = left_over(tmp_path, files, "src")
    assert found.returncode == 0, found.stdout
    assert "5 passed, 2 deselected" in found.stdout
    assert "left out: 6 files and 2 more tests need timelike[learn]" in found.stdout


def test_sections_and_pages_that_need_an_extra_are_left_out(tmp_path):
    wrong, right = "```pycon\n>>> # a comment\n>>> 1\n2\n\n```\n", "```pycon\n>>> 1\n1\n\n```\n"
    needs = "<!-- needs: timelike[learn] -->\n"
    files = {
        "docs/whole.md": f"# Title\n{needs}\n{wrong}\n## Section\n{wrong}",
        "docs/before.md": f"{needs}# Title\n\n{wrong}\n## Section\n{wrong}",
        "docs/section.md": f"# Title\n{right}\n## First\n{needs}\n{wrong}\n### Inner\n{wrong}\n## Second\n{right}",
        "docs/other.md": f"# Title\n<!-- needs: timelike[transport] -->\n{right}",
    }
    found = left_over(tmp_path, files, "docs")
    assert found.returncode == 0, found.stdout
    assert "2 passed, 2 deselected" in found.stdout
    assert left_over(
        tmp_path, {"docs/wrong.md": f"# Title\n## First\n{needs}{right}\n## Next\n{wrong}"}, "docs"
    ).returncode
