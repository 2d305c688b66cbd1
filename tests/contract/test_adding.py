"""A method is added by its file and one line in its package: four toys are, and the contract is run on them."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import timelike as tl
from contract.overlay import ADDITIONS, ROOT, build, run
from tampering import read_config, write_config

HERE = Path(__file__).parent

# notes which tests there are, before -k leaves out those of other methods
RECORDER = """
import pathlib
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    pathlib.Path(__file__).with_suffix(".txt").write_text("\\n".join(item.nodeid for item in items))
"""

MISSING = """
import json, pathlib, sys
import pytest

import timelike as tl
from timelike.metric import losses

facts = {"file": tl.__file__, "missing": [], "refused": {}}
for place, name in ((tl.align, "ToyDistance"), (tl.encode, "ToyEncoder"), (tl.metric, "ToyMetric"), (losses, "ToyLoss")):
    try:
        getattr(place, name)
    except AttributeError:
        facts["missing"].append(name)
for folder in pathlib.Path(sys.argv[1]).iterdir():
    try:
        tl.load_model(folder)
    except ValueError as error:
        facts["refused"][folder.name] = str(error)
try:
    tl.Neighbors("toydistance").fit([[0.0], [1.0]], [0, 1])
except ValueError as error:
    facts["refused"]["word"] = str(error)
print(json.dumps(facts))
"""


def passed(report):
    """The tests that pytest ran and had nothing to say of: neither skipped nor expected to fail."""
    cases = ET.parse(report).getroot().iter("testcase")
    return [f"{case.get('classname')}.{case.get('name')}" for case in cases if not len(case)]


def about(ids, method):
    """The tests whose example is of this method, not of one that has it for an option; its name and options left out."""
    name = re.compile(rf"(?<![A-Za-z=]){method}(\([^]]*?\)(?=[-\]]))?(?![A-Za-z])")
    return sorted(name.sub("…", one) for one in ids if name.search(one.partition("[")[2]))


@pytest.mark.learn
def test_what_is_added_by_a_file_and_a_line_keeps_every_promise_that_its_neighbours_keep(tmp_path):
    library, report = build(tmp_path), tmp_path / "report.xml"
    (library / "recorder.py").write_text(RECORDER)
    # presets are the papers' own: a method that has none has no such test
    left_out = (f"--ignore={__file__}", f"--ignore={HERE / 'test_presets.py'}")
    tests = (HERE, "-o", "python_files=test_*.py added.py", *left_out, f"--rootdir={ROOT}")
    how = ("-q", "-k", "Toy", f"--junitxml={report}", "-p", "recorder", "-p", "no:cacheprovider", "-p", "no:xdist")
    found = run(library, "-m", "pytest", *tests, *how)
    assert found.returncode == 0, found.stdout + found.stderr
    there, kept = (library / "recorder.txt").read_text().splitlines(), passed(report)
    for one in ADDITIONS:
        assert about(there, one.name) == about(there, one.peer)
        assert len(about(kept, one.name)) >= one.least
    assert len([test for test in kept if ".added.TestToys." in test]) == 9


def test_without_its_line_a_method_is_not_found_and_a_model_that_names_it_is_refused(tmp_path):
    library, saved = build(tmp_path / "library", announced=False), tmp_path / "saved"
    saved.mkdir()
    model = tl.Neighbors(tl.DTW()).fit([[0.0, 1.0], [5.0, 5.0]], ["low", "high"])
    for known, name in (("Neighbors", "ToyEncoder"), ("Neighbors", "ToyMetric"), ("DTW", "ToyDistance")):
        model.save(saved / name)
        words = json.dumps(read_config(saved / name)).replace(f'"method": "{known}"', f'"method": "{name}"')
        write_config(saved / name, json.loads(words))
    found = run(library, "-c", MISSING, saved)
    assert found.returncode == 0, found.stderr
    facts = json.loads(found.stdout)
    assert Path(facts["file"]).parents[1] == library
    assert facts["missing"] == ["ToyDistance", "ToyEncoder", "ToyMetric", "ToyLoss"]
    assert facts["refused"].pop("word").startswith("metric='toydistance': expected a Metric")
    assert sorted(facts["refused"]) == ["ToyDistance", "ToyEncoder", "ToyMetric"]
    for name, message in facts["refused"].items():
        assert f"the method {name!r} is unknown" in message
