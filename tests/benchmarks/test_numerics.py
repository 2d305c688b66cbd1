"""Numerics versions: every probe agrees with the ledger, and rows are stale by versions alone."""

import ast
import inspect
import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from benchmarks.numerics import __main__ as command, ledger as ledgers, probes
from benchmarks.numerics.ledger import TOLERANCE, Ledger, describe
from benchmarks.numerics.probes import PROBES, compute_outputs
from benchmarks.papers.results import Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.stale import end_section, state_of, top_mark

import timelike
from timelike.forecast.srvp.network import DiagonalGaussian
from timelike.metric.losses import Triplet
from timelike.native import _kernels
from timelike.prototypes.objective import PrototypeObjective

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("system", sorted(PROBES))
def test_the_library_computes_the_numbers_in_the_ledger(system):
    differences = Ledger().differences(system, compute_outputs(system))
    assert not differences, (
        f"{system} computes other numbers than recorded: {describe(differences)} (tolerance {TOLERANCE:g}). Where this "
        f'is meant, say why: python -m benchmarks.numerics --raise {system} "why"; with --draws where the method is the '
        f"same and a seed draws other random numbers; --record {system} where only the probe has changed"
    )


def test_every_system_in_the_ledger_has_a_probe():
    assert Ledger().entries.keys() == PROBES.keys()


def test_versions_count_up_and_say_why():
    for entry in Ledger().entries.values():
        assert [one.version for one in entry.history] == list(range(1, len(entry.history) + 1))
        assert all(one.why.endswith(".") and one.date and one.commit for one in entry.history)
        assert not entry.history[0].draws


# --- what a probe sees


@pytest.fixture
def ledger(tmp_path):
    """A ledger of its own, as the tree's is now."""
    path = tmp_path / "ledger.json"
    path.write_text(ledgers.FILE.read_text(encoding="utf-8"), encoding="utf-8")
    return Ledger(path)


class Table(Program[Trial]):
    """Rows that stand on one system each, and one that stands on two."""

    paper, table, holds, title, without_data = "toy", "numerics", "nothing", "A toy", True
    subject = ("tap",)

    def planned(self):
        return [Trial("walks", method, 0) for method in ("tap", "prototypes", "srvp", "rocket")]

    def systems(self, row):
        return ("tap", "elastic") if row.method == "tap" else (row.method,)

    def work(self, row):
        return {"accuracy": 0.5}

    def seconds(self, row):
        return 1.0

    def said(self, found):
        return "done"

    def headline(self):
        return "What came out."

    def body(self):
        return "The table.\n"


@pytest.fixture
def rows(tmp_path):
    """Finished rows of the table."""
    results = tmp_path / "rows.json"
    assert Table.main(["--results", str(results), "--scratch", str(tmp_path)]) == 0
    return json.loads(results.read_text(encoding="utf-8"))["rows"]


def states(rows, ledger, protocol=1):
    return {key.split("/")[1]: state_of(row, ledger, protocol) for key, row in rows.items()}


def edited(function, old, new):
    """The function with another text in its source, in the same module."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1
    namespace = dict(function.__globals__)
    exec(source.replace(old, new), namespace)
    return namespace[function.__name__]


def change_tap(monkeypatch):
    monkeypatch.setitem(Triplet.__init__.__kwdefaults__, "margin", 0.11)


def change_prototypes(monkeypatch):
    monkeypatch.setattr(
        PrototypeObjective,
        "_binary_losses",
        edited(PrototypeObjective._binary_losses, "-scores, scores", "-scores, 1.01 * scores"),
    )


def change_srvp(monkeypatch):
    monkeypatch.setattr(DiagonalGaussian, "kl_divergence", edited(DiagonalGaussian.kl_divergence, "0.5 *", "0.51 *"))


@pytest.mark.parametrize(
    ("system", "change"), [("tap", change_tap), ("prototypes", change_prototypes), ("srvp", change_srvp)]
)
def test_a_changed_constant_in_a_loss_makes_the_rows_of_that_system_stale(system, change, ledger, rows, monkeypatch):
    assert set(states(rows, ledger).values()) == {"fresh"}
    change(monkeypatch)
    outputs = compute_outputs(system)
    differences = ledger.differences(system, outputs)
    assert max(one.relative for one in differences) > 100 * TOLERANCE
    assert set(states(rows, ledger).values()) == {"fresh"}  # nothing but versions decides
    ledger.raise_version(system, outputs, "A constant of the loss is another.")
    assert states(rows, Ledger(ledger.path)) == {
        name: "stale" if name == system else "fresh" for name in ("tap", "prototypes", "srvp", "rocket")
    }
    assert Ledger(ledger.path).differences(system, outputs) == []


def test_a_renamed_module_and_reformatted_files_compute_what_is_in_the_ledger(tmp_path):
    """TAP out of a copy of the library: its network in a module of another name, all of the package unparsed."""
    package = tmp_path / "timelike"
    shutil.copytree(Path(timelike.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(_kernels.__file__, package / "native")  # an editable installation keeps them elsewhere
    metric = package / "metric"
    (metric / "tap/network.py").rename(metric / "tap/attention_scores.py")
    for path in metric.rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("tap.network import", "tap.attention_scores import")
        if path.parent.name == "tap":
            text = text.replace("from .network import", "from .attention_scores import")
        path.write_text(ast.unparse(ast.parse(text)), encoding="utf-8")  # without comments, every line otherwise
    script = f"""
        import sys
        # An editable installation answers for `timelike` before the path is searched.
        sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
        sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]
        import timelike
        from benchmarks.numerics.__main__ import main
        print(timelike.__file__)
        sys.exit(main(["tap"]))
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert str(package) in found.stdout, found.stderr
    assert "unchanged" in found.stdout
    assert found.returncode == 0, found.stderr


def test_a_probe_that_gives_no_number_is_refused(monkeypatch):
    for values in ([1.0, float("nan")], [float("inf")], []):
        monkeypatch.setitem(probes.PROBES, "toy", lambda values=values: {"losses": values})
        with pytest.raises(ValueError, match="the probe of 'toy' gives .* for 'losses': expected finite numbers"):
            compute_outputs("toy")


# --- the ledger


def test_a_version_without_a_reason_is_refused(ledger):
    before = ledger.path.read_text(encoding="utf-8")
    for why in ("", "  \n"):
        with pytest.raises(ValueError, match="why is empty: say in one sentence what changed the numbers of 'tap'"):
            ledger.raise_version("tap", {"losses": [1.0]}, why)
    assert ledger.path.read_text(encoding="utf-8") == before


def test_outputs_are_compared_relative_to_their_size(ledger):
    ledger.record("toy", {"small": [1e-9, 0.0], "zero": [0.0], "large": [1e9, 1.0]})
    near, far = 1 + TOLERANCE / 2, 1 + 2 * TOLERANCE
    assert ledger.differences("toy", {"small": [1e-9 * near, 0.0], "zero": [0.0], "large": [1e9, 5000.0]}) == []
    changed = ledger.differences("toy", {"small": [1e-9 * far, 0.0], "zero": [0.0], "large": [1e9, 1e5]})
    assert [one.output for one in changed] == ["large", "small"]
    assert [one.relative for one in changed] == pytest.approx([1e-4, 2 * TOLERANCE], rel=1e-3)
    assert [one.output for one in ledger.differences("toy", {"small": [1e-9], "zero": [1e-300]})] == [
        "small",
        "large",
        "zero",
    ]


def test_a_probe_may_grow_but_not_hide_a_change(ledger):
    ledger.record("toy", {"losses": [1.0], "scores": [2.0]})
    assert ledger.record("toy", {"losses": [1.0], "distances": [3.0]}).version == 1
    assert Ledger(ledger.path).entries["toy"].outputs == {"losses": [1.0], "distances": [3.0]}
    with pytest.raises(ValueError, match="'toy' computes other numbers than recorded .*: raise its version instead"):
        ledger.record("toy", {"losses": [1.1], "distances": [3.0]})


def test_the_command_checks_raises_and_records(ledger, monkeypatch, capsys):
    monkeypatch.setattr(command, "Ledger", lambda: Ledger(ledger.path))
    monkeypatch.setitem(PROBES, "toy", lambda: {"losses": [1.0]})
    assert command.main(["toy"]) == 1
    assert "not in the ledger yet: python -m benchmarks.numerics --record toy" in capsys.readouterr().out
    assert command.main(["--record", "toy"]) == 0
    assert command.main(["toy", "elastic"]) == 0
    monkeypatch.setitem(PROBES, "toy", lambda: {"losses": [1.5]})
    assert command.main(["toy"]) == 1
    assert "toy: changed, 'losses' by 0.33" in capsys.readouterr().out
    for words, message in (
        (["--raise", "toy", " "], "why is empty"),
        (["--record", "toy"], "raise its version instead"),
        (["--raise", "unheard", "why"], "unknown system 'unheard'"),
    ):
        with pytest.raises(SystemExit):
            command.main(words)
        assert message in capsys.readouterr().err
    assert command.main(["--raise", "toy", "Another loss."]) == 0
    assert command.main(["toy"]) == 0
    assert Ledger(ledger.path).entries["toy"].history[-1].why == "Another loss."


# --- rows


def test_a_row_carries_the_versions_of_the_systems_it_stands_on(rows):
    versions = Ledger().versions
    assert rows["walks/tap/0"]["numerics"] == {"protocol": 1, "tap": versions["tap"], "elastic": versions["elastic"]}
    assert rows["walks/rocket/0"]["numerics"] == {"protocol": 1, "rocket": versions["rocket"]}


def test_a_rival_that_changed_is_told_at_the_end_and_the_subject_at_the_top(ledger, rows):
    assert top_mark(rows, ledger, 1, ("tap",)) == ""
    assert "| 4 | unchanged |" in end_section(rows, ledger, 1)
    ledger.raise_version("rocket", {}, "Kernels count otherwise.")
    assert top_mark(rows, ledger, 1, ("tap",)) == ""
    end = end_section(rows, ledger, 1)
    assert "| 1 | **stale**: `rocket`: Kernels count otherwise. |" in end
    assert "\nStale: walks/rocket/0.\n" in end
    ledger.raise_version("tap", {}, "Another margin.")
    where = "see [which](#rows-and-the-code-they-were-made-by)."
    told = f"**1 of 4 rows was made before the numbers of `tap` changed**: {where}"
    assert top_mark(rows, ledger, 1, ("tap",)) == told
    ledger.raise_version("elastic", {}, "Another step.")  # of which the row of the subject is made, too
    assert "the numbers of `elastic` and `tap` changed" in top_mark(rows, ledger, 1, ("tap",))


def test_other_random_draws_make_no_row_stale_until_the_method_changes(ledger, rows):
    ledger.raise_version("tap", {}, "Weights are drawn in another order.", draws=True)
    assert states(rows, ledger)["tap"] == "redrawn"
    assert top_mark(rows, ledger, 1, ("tap",)) == ""
    assert "| 1 | other random draws: `tap`: Weights are drawn in another order. |" in end_section(rows, ledger, 1)
    ledger.raise_version("tap", {}, "Another margin.")
    assert states(rows, ledger)["tap"] == "stale"


def test_a_program_that_measures_something_else_makes_all_its_rows_stale(ledger, rows):
    assert set(states(rows, ledger, protocol=2).values()) == {"stale"}
    assert top_mark(rows, ledger, 2, ("tap",)).startswith("**All 4 rows were made before the numbers of this program")


def test_rows_from_before_versions_are_unknown_at_the_end_of_the_page_only(ledger, rows):
    old = {key: {name: value for name, value in row.items() if name != "numerics"} for key, row in rows.items()}
    assert set(states(old, ledger).values()) == {"unknown"}
    assert top_mark(old, ledger, 1, ("tap",)) == ""
    assert "| 4 | unknown: made before numerics versions, not re-checked |" in end_section(old, ledger, 1)
    partly = rows | {"walks/tap/0": rows["walks/tap/0"] | {"numerics": {}, "unchecked": ["tap"]}}
    assert states(partly, ledger)["tap"] == "unknown"
    assert "not re-checked (`tap`) |" in end_section(partly, ledger, 1)
