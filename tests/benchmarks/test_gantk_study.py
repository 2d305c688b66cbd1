"""Grids of flows: what is in them, what is kept, what Ctrl-C leaves, and which settings do not mix."""

import json
import signal

import numpy as np
import pytest
from benchmarks.papers.gantk import settings, study
from benchmarks.papers.gantk.problems import FlowProblem, letters

from timelike.distributions import IPM, LSGAN, RBF, FunctionDiscriminator, descend, sinkhorn_divergence

SMALL = {"n": 12, "steps": 3, "seeds": 1, "progress": False, "figures": False}


def small(folder, **given):
    return study.run_study(folder, **(SMALL | {"problems": "letters", "losses": "IPM", "architectures": "RBF"} | given))


def test_a_row_is_the_flow_that_its_names_say(tmp_path):
    (row,) = small(tmp_path, seeds=1, step=0.5).rows
    points = letters(12, random_state=0)
    flow = descend(points.start, points.real, IPM(RBF(width=2**0.5)), steps=3, step=0.5, progress=False)
    expected = sinkhorn_divergence(flow.particles, points.real, blur=1e-3, scaling=0.95)
    assert row["sinkhorn"] == pytest.approx(expected, rel=1e-9)
    assert row["history"]["steps"][-1] == row["steps"] == 3


def test_every_combination_is_there_once_and_no_gaussian_kernel_has_a_width():
    names = {"problems": ("letters", "densities"), "losses": ("IPM", "LSGAN"), "architectures": ("RBF", "ReLU")}
    found = study.validate_grid(**names, widths=(None, 16), seeds=2).cells()
    keys = [cell.key for cell in found]
    assert len(set(keys)) == len(keys) == 2 * 2 * 2 * (2 + 1)
    assert not [cell for cell in found if cell.architecture == "RBF" and cell.width == "16"]
    assert {cell.width for cell in found[:8]} == {"∞"}  # the others take longer


def test_a_second_run_does_what_is_new_and_nothing_else(tmp_path, monkeypatch):
    first = small(tmp_path)
    calls = []
    monkeypatch.setattr(study, "descend", lambda *given, **how: calls.append(given) or descend(*given, **how))
    again = small(tmp_path, seeds=2)
    assert len(calls) == 1
    assert again.rows[0] == first.rows[0]
    assert [row["seed"] for row in again.rows] == [0, 1]


@pytest.mark.parametrize("other", [{"steps": 4}, {"n": 13}, {"step": 0.3}, {"schedule": (1, 0.1)}])
def test_rows_of_other_settings_are_not_mixed_in(tmp_path, other):
    small(tmp_path)
    with pytest.raises(ValueError, match="give another folder"):
        small(tmp_path, **other)


def test_a_name_that_means_something_else_now_is_noticed(tmp_path):
    small(tmp_path, architectures={"mine": RBF(width=1.0)})
    with pytest.raises(ValueError, match=r"discriminator='IPM\(RBF\(width=2.0\)\)'"):
        small(tmp_path, architectures={"mine": RBF(width=2.0)})
    small(tmp_path / "b", problems={"p": letters(12, random_state=0)})
    with pytest.raises(ValueError, match="points="):
        small(tmp_path / "b", problems={"p": letters(12, random_state=1)})


def test_the_folder_has_a_table_rows_and_figures(tmp_path):
    found = small(tmp_path, losses=("IPM", "LSGAN"), figures=True, seeds=2)
    assert (tmp_path / "table.md").read_text("utf-8").strip() == found.table()
    assert len(json.loads((tmp_path / "rows.json").read_text("utf-8"))) == len(found.rows) == 4
    assert {file.name for file in tmp_path.glob("*.png")} == {"descent-letters.png", "particles-letters.png"}
    assert found.table().count("±") == 2
    assert "4 flows" in repr(found)
    assert len(found.plot("letters").axes[0].lines) == 2


def test_points_of_more_dimensions_have_no_figure_of_the_plane(tmp_path):
    rng = np.random.default_rng(0)
    cloud = FlowProblem("cloud", rng.normal(size=(8, 3)), rng.normal(size=(8, 3)))
    small(tmp_path, problems=cloud, figures=True)
    assert {file.name for file in tmp_path.glob("*.png")} == {"descent-cloud.png"}


def test_ones_own_losses_and_kernels_are_taken(tmp_path):
    losses = {"long": lambda kernel: LSGAN(kernel, time=5.0), "IPM": "IPM"}
    found = small(tmp_path, losses=losses, architectures={"wide": RBF(width=3.0), "ReLU": "ReLU"})
    said = {(row["loss"], row["architecture"]): row["discriminator"] for row in found.rows}
    assert said["long", "wide"] == "LSGAN(RBF(width=3.0), time=5.0)"
    assert said["IPM", "ReLU"] == "IPM(NTK())"


def test_a_flow_that_diverges_is_a_row_that_says_so(tmp_path):
    fleeing = {"fleeing": lambda kernel: FunctionDiscriminator(lambda z: -z.square().sum(1))}
    found = small(tmp_path, losses=fleeing, step=5.0, steps=50, figures=True)
    assert 0 < found.rows[0]["diverged"] < 50
    assert "1 diverged" in found.table()


def test_ctrl_c_keeps_what_is_finished_and_the_same_call_goes_on(tmp_path, monkeypatch):
    def interrupted(*given, **how):
        if list(tmp_path.glob("flows/letters*.json")):
            signal.raise_signal(signal.SIGINT)
        return descend(*given, **how)

    monkeypatch.setattr(study, "descend", interrupted)
    found = small(tmp_path, seeds=3)
    assert (len(found.rows), found.left) == (1, 2)
    assert "2 not finished" in repr(found)
    monkeypatch.undo()
    assert small(tmp_path, seeds=3).left == 0


def test_steps_are_those_of_the_thesis():
    # D.3.2: η over N = 500
    assert settings.thesis_step("IPM", "ReLU") == 1000 / 500
    assert settings.thesis_step("LSGAN", "RBF") == 1000 / 500
    assert settings.thesis_step("IPM", "sigmoid") == 1000 * 1000 / 500
    assert settings.thesis_step("IPM", "ReLU", width=128) == 100 / 500
    assert settings.thesis_step("LSGAN", "ReLU without bias", width=128) == 1 / 500


def test_the_gaussian_kernel_is_the_thesis_s():
    x = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    assert settings.thesis_kernel("RBF", 3)(x)[0, 1] == pytest.approx(np.exp(-14 / (2 * 3)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"problems": "circles"}, "problems='circles': expected one of '8 Gaussians'"),
        ({"losses": ()}, "losses is empty"),
        ({"architectures": {"a/b": RBF()}}, "without a slash"),
        ({"widths": (1,)}, "widths=1: expected at least 2"),
        ({"widths": ()}, "widths is empty"),
        ({"seeds": 0}, "seeds=0"),
        ({"n": 1}, "n=1"),
        ({"steps": 0}, "steps=0"),
        ({"step": 0.0}, "step=0.0"),
        ({"schedule": (1, -1)}, "schedule"),
        ({"widths": 8, "architectures": {"mine": RBF(width=1.0)}}, "widths has 8"),
        ({"problems": {"p": (np.zeros((4, 2)), np.ones((4, 2)))}}, r"problems\['p'\] is a tuple: expected a FlowP"),
        ({"problems": {"p": lambda n, random_state: (n, random_state)}}, "expected a FlowProblem"),
    ],
)
def test_what_is_no_study_is_refused(tmp_path, given, said):
    with pytest.raises((ValueError, TypeError), match=said):
        small(tmp_path, **given)


def test_a_gaussian_kernel_of_finite_width_is_refused():
    with pytest.raises(ValueError, match="RBF is a kernel and no network"):
        settings.thesis_discriminator("IPM", "RBF", width=8)


def test_finite_networks_learn_on_as_the_thesis_s_do():
    # D.3.2: one step of rate 0.01 (IPM, antisymmetric) or 0.1 (LSGAN) for every move, width given
    made = {loss: settings.thesis_discriminator(loss, "sigmoid", width=16, random_state=3) for loss in ("IPM", "LSGAN")}
    assert [(one.time, one.steps, one.reset, one.bias) for one in made.values()] == [
        (0.01, 1, False, 0.2),
        (0.1, 1, False, 0.2),
    ]
    rng = np.random.default_rng(0)
    fake, real = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 1
    first, second = (made["IPM"].train_critic(fake, real)(real) for _ in range(2))
    np.testing.assert_allclose(second, 2 * first, rtol=0.05)  # twice as long, as f is linear in time at first


def test_a_study_of_finite_width_runs(tmp_path):
    found = small(tmp_path, architectures=("RBF", "ReLU"), widths=(8, None))
    assert [(row["architecture"], row["width"]) for row in found.rows] == [("RBF", "∞"), ("ReLU", "∞"), ("ReLU", "8")]
