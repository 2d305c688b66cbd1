"""The programs about GAN(TK)²: rows that are planned, pages of made-up rows, and what they compare with."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers import command
from benchmarks.papers.gantk import closed_forms, digits, floors, monotone, networks, particles, settings
from scipy.special import erf

from timelike.distributions import LSGAN, RBF

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "closed_forms": "ClosedForms",
    "digits": "Digits",
    "floors": "Floors",
    "monotone": "Monotone",
    "particles": "Particles",
}
KNOWN = {"seconds": 1.0, "machine": "a machine", "date": "2026-01-01", "version": "0", "commit": "0", "seed": 0}


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def kind_of(name):
    return getattr(import_module(f"benchmarks.papers.gantk.{name}"), PROGRAMS[name])


def program(name, *asked):
    kind = kind_of(name)
    return kind(command.parsed(kind, ["--data", "nowhere", *asked]))


def rows_of(found):
    return {str(place): KNOWN | row for place, row in enumerate(found)}


# --- all programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_published_row_is_one_of_those_planned(name):
    made = program(name)
    planned = [row.key for row in made.planned()]
    assert len(set(planned)) == len(planned)
    assert set(made.rows) <= set(planned)
    assert all(made.seconds(row) > 0 for row in made.planned())
    assert made.results.page.exists()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_in_the_list_of_programs(name):
    assert f"`python -m benchmarks.papers.gantk.{name}`" in (ROOT / "benchmarks/papers/README.md").read_text("utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_runs_quickly_where_that_is_asked(name, tmp_path, capsys):
    pictures = np.random.default_rng(0).integers(0, 256, (30, 28, 28)).astype(np.uint8)
    np.savez(tmp_path / digits.FILE, X_train=pictures)
    made = program(name, "--quick", "--results", str(tmp_path / "rows.json"))
    few = command.fewest(made.planned())[:4]
    asked = [word for row in few for word in ("--only", row.key)]
    drawn = ["--figures", str(tmp_path)] if made.draws else []
    where = ["--data", str(tmp_path), "--results", str(tmp_path / "rows.json"), "--scratch", str(tmp_path)]
    assert kind_of(name).main(["--quick", *where, *asked, *drawn]) == 0
    page = (tmp_path / "rows.md").read_text("utf-8")
    assert made.title in page
    assert "No row is finished" not in page
    assert len(list(tmp_path.glob("*.png"))) == len(drawn) // 2


# --- particles


def flow(problem, architecture, final, **other):
    found = {"problem": problem, "loss": "IPM", "architecture": architecture, "width": "∞", "schedule": "one step"}
    return found | {"final": final, "steps": [0, 9], "diverged": 0} | other


def test_the_page_of_particles_has_ours_beside_the_thesis_s_and_says_what_is_met():
    rows = [flow("8 Gaussians", name, value) for name, value in (("ReLU", 1e-6), ("RBF", 1e-2), ("sigmoid", 1e-3))]
    page = particles.Particles.of_rows(rows_of(rows)).body()
    assert "| IPM | ∞ | 9 | 1.0e-02 (2.6e-02) | 1.0e-06 (9.4e-07) | – | 1.0e-03 (8.4e-02) |" in page
    assert "8 Gaussians, ReLU, IPM, infinite width, one step: **met**" in page
    assert "ReLU better than RBF: **holds**" in page
    assert "sigmoid worse than RBF: **DOES NOT HOLD**" in page


def test_a_flow_that_diverged_is_told_and_not_averaged():
    rows = [flow("letters", "RBF", 0.5), flow("letters", "RBF", 1e9, diverged=3)]
    assert "5.0e-01, 1 diverged (4.7e-03)" in particles.Particles.of_rows(rows_of(rows)).body()


def test_a_target_that_one_seed_misses_is_not_met():
    last = "smaller last steps"
    rows = [flow("letters", "ReLU", value, schedule=last) for value in (1e-9, 1e-6)]
    assert (
        f"letters, ReLU, IPM, infinite width, {last}: **NOT MET**" in particles.Particles.of_rows(rows_of(rows)).body()
    )


def test_the_thesis_s_table_is_whole():
    assert len(particles.THESIS) == 3 * 2 * 2
    infinite = [values for (_, _, width), values in particles.THESIS.items() if width == "∞"]
    assert all(None not in values for values in infinite)


def test_infinite_widths_come_first_and_the_most_telling_row_before_all():
    planned = list(program("particles", "--seeds", "1").planned())
    assert planned[0].key == "8 Gaussians/IPM/ReLU/∞/one step/0"
    finite = [row.width != "∞" for row in planned]
    assert finite == sorted(finite)
    assert particles.SCHEDULES["smaller last steps"][0] == 1.0


# --- floors


def test_a_floor_that_falls_with_the_square_is_recognised():
    def made(power):
        every = [(n, step) for n in floors.SIZES for step in floors.STEPS]
        return rows_of([{"n": n, "step": step, "floor": (step / n) ** power} for n, step in every])

    square, straight = floors.Floors.of_rows(made(2)).body(), floors.Floors.of_rows(made(1)).body()
    assert "to the power 2.00" in square
    assert "NOT MET" not in square
    assert square.count("**met**") == 9
    assert "to the power 1.00" in straight
    assert "divided by 2.00, target 3 to 5: **NOT MET**" in straight


def test_published_floors_obey_the_law():
    rows = program("floors").rows
    slope = floors.fit_power(rows)
    assert slope == pytest.approx(2, abs=0.3)


# --- monotone


def test_the_page_says_up_to_which_step_a_smooth_kernel_falls():
    def row(name, step, rises):
        numbers = {"largest": 0.0, "rounding": 1e-14, "start": 1.0, "end": 0.1, "share": step}
        return {"architecture": name, "step": step, "rises": rises} | numbers

    page = monotone.Monotone.of_rows(rows_of([row("RBF", 1.0, 3), row("RBF", 0.1, 0), row("sigmoid", 1.0, 2)])).body()
    assert "RBF: MMD² falls at every step up to 0.1 (tried: 0.1, 1): **met**" in page
    assert "sigmoid: MMD² falls at no step tried (tried: 1): **NOT MET**" in page


@pytest.mark.parametrize("name", ["RBF", "sigmoid"])
def test_smooth_kernels_fall_at_every_published_step_of_a_tenth_of_the_thesis_s(name):
    rows = [row for row in program("monotone").rows.values() if row["architecture"] == name and row["share"] <= 0.1]
    assert rows
    assert not [row for row in rows if row["rises"]]


def test_relu_does_not_fall_at_every_published_step():
    rows = [row for row in program("monotone").rows.values() if row["architecture"] == "ReLU"]
    assert rows
    assert all(row["rises"] for row in rows if row["share"] == 1.0)
    assert set(monotone.KERNELS) >= {"ReLU", "RBF", "sigmoid"}


# --- digits


def test_targets_that_are_reached_are_counted_once():
    real = np.array([[0.0], [1.0], [5.0]])
    found = digits.nearest(np.array([[0.1], [-0.1], [1.2]]), real)
    assert found["distance"] == pytest.approx(0.4 / 3)
    assert found["reached"] == pytest.approx(2 / 3)


def test_the_step_of_digits_is_the_thesis_s():
    assert pytest.approx(97.7, abs=0.05) == digits.STEP  # η τ / N = 100 · 1000 / 1024


def test_the_page_of_digits_has_a_line_for_every_kernel():
    row = {"mmd": [1.0, 0.1], "nearest": [30.0, 2.0], "final distance": 2.0, "final reached": 0.5, "apart": 7.0}
    page = digits.Digits.of_rows(rows_of([row | {"dataset": "256 digits", "method": "ReLU", "steps": [0, 5]}])).body()
    assert "| 256 digits | ReLU | 5 | 30.00 | 2 | 50% | 7.00 | 1.00e+00 → 1.00e-01 | 1 |" in page


# --- closed forms


def test_the_integrated_equation_is_the_known_solution_of_one_pair():
    """Of two far points k is the unit matrix, and f goes to ±1 like 1 − exp(−2 t k / n)."""
    fake, real = np.array([[0.0, 0.0]]), np.array([[50.0, 0.0]])
    found = closed_forms.integrated(RBF(width=1.0), fake, real, np.concatenate([fake, real]), 0.3)
    np.testing.assert_allclose(found, np.array([-1, 1]) * (1 - np.exp(-2 * 0.3)), rtol=1e-9)


def test_least_squares_in_closed_form_is_the_integrated_equation():
    rng = np.random.default_rng(0)
    fake, real, asked = rng.normal(size=(4, 2)), rng.normal(size=(5, 2)) + 1, rng.normal(size=(6, 2))
    ours = LSGAN(RBF(width=1.0), time=0.7).train_critic(fake, real)(asked)
    np.testing.assert_allclose(ours, closed_forms.integrated(RBF(width=1.0), fake, real, asked, 0.7), rtol=1e-8)


def test_a_network_is_what_its_weights_say():
    torch = pytest.importorskip("torch")
    made = networks.network(3, 5, "sigmoid", 0.2, seed=0)
    x = np.random.default_rng(0).normal(size=(4, 3))
    h = x
    for layer in list(made.layers)[:-1]:
        weight, offset = layer.weight.detach().numpy(), layer.offset.detach().numpy()
        h = (erf((h @ weight.T / np.sqrt(h.shape[1]) + 0.2 * offset) / 2.4020563531719796) + 1) / 2
    expected = h @ made.layers[-1].weight.detach().numpy()[0] / np.sqrt(5)
    np.testing.assert_allclose(made(torch.from_numpy(x)).detach().numpy(), expected, rtol=1e-12)


def test_errors_of_networks_that_fall_with_the_root_are_recognised():
    def made(power):
        names = {"part": "networks", "architecture": "ReLU", "setting": ""}
        return rows_of([names | {"width": w, "error": w**power} for w in closed_forms.WIDTHS])

    assert "1 / √width: **met**" in closed_forms.ClosedForms.of_rows(made(-0.5)).body()
    assert "1 / √width: **NOT MET**" in closed_forms.ClosedForms.of_rows(made(-0.2)).body()


def test_an_error_above_what_is_asked_is_not_met():
    rows = rows_of([{"part": "LSGAN", "architecture": "ReLU", "setting": "time 1", "error": 1e-3}])
    assert "**NOT MET**" in closed_forms.ClosedForms.of_rows(rows).body()


def test_kernels_of_the_programs_are_those_of_the_library():
    for name, (activation, bias) in closed_forms.NETWORKS.items():
        kernel = settings.thesis_kernel(name)
        assert (kernel.activation, kernel.bias, kernel.depth) == (activation, bias, 3)
