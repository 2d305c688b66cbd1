"""The scorecard: its rule on claims and rows made up for the purpose, and the published page and README."""

from pathlib import Path

import pytest
from benchmarks.papers.tloss.thesis import thesis
from benchmarks.scorecard import systems
from benchmarks.scorecard.document import BEGIN, END, PAGE, README, link_to_page, render_page, render_rows, replace_rows
from benchmarks.scorecard.rules import Claim, Measured, Outcome, Setting, System, judge

ROOT = Path(__file__).parents[2]
EIGHT = ["CGRU", "DecDTW", "TAP", "Prototypes", "T-Loss", "SRVP", "Separation", "GAN(TK)²"]


# --- the rule


def claim(setting=Setting.SAME, ours=0.9, *, reached=False, ahead=False, counted=True):
    measured = None if ours is None else Measured([ours])
    return Claim("It works", "page", "0.9", "0.01", setting, measured, reached, ahead, counted=counted)


def test_a_number_reached_in_the_papers_setting_reproduces_a_claim():
    assert claim(reached=True).outcome is Outcome.REPRODUCED
    assert claim(reached=True, ahead=True).outcome is Outcome.REPRODUCED


@pytest.mark.parametrize("setting", [Setting.PART, Setting.OTHER])
def test_a_number_reached_in_another_setting_is_at_most_part_of_it(setting):
    assert claim(setting, reached=True, ahead=True).outcome is Outcome.PARTLY


@pytest.mark.parametrize("setting", list(Setting))
def test_what_falls_short_is_partly_reproduced_where_it_is_ahead_of_the_rival(setting):
    assert claim(setting, ahead=True).outcome is Outcome.PARTLY
    assert claim(setting).outcome is Outcome.NOT


def test_without_rows_nothing_is_reproduced():
    assert claim(ours=None, reached=True, ahead=True).outcome is Outcome.NOT


def test_a_system_is_reproduced_by_all_its_counted_claims_and_not_without_its_central_one():
    good, half, bad = claim(reached=True), claim(ahead=True), claim()
    assert System("s", [good, good], "").verdict is Outcome.REPRODUCED
    assert System("s", [good, bad], "").verdict is Outcome.PARTLY
    assert System("s", [half, bad, bad], "").verdict is Outcome.PARTLY
    assert System("s", [bad, good, good], "").verdict is Outcome.NOT
    assert System("s", [good, claim(counted=False)], "").verdict is Outcome.REPRODUCED
    assert judge([Outcome.PARTLY]) is Outcome.PARTLY


def test_our_number_is_a_mean_with_an_interval_where_there_are_seeds():
    assert str(Measured([0.5])) == "0.500 (1 seed)"
    # t of 97.5 % with one degree of freedom is 12.706; the standard error of two values is half their distance
    assert str(Measured([0.01, 0.03], "+.3f")) == "+0.020 [−0.107, +0.147] (2 seeds)"
    assert str(Measured([1e-6, 3e-6], ".0e")) == "2e-06 [−1e-05, 1e-05] (2 seeds)"
    assert Measured([1.0], rows=[{"seconds": 2.0}, {"seconds": 3.5}]).seconds == 5.5


# --- verdicts on rows made up


def system_of(name, rows):
    """A system whose programs have these rows, by program."""
    return next(one for one in systems.all_systems(lambda program: rows.get(program, {})) if one.name == name)


def trained(method, *accuracies):
    found = {}
    for seed, accuracy in enumerate(accuracies):
        row = {"method": method, "part": "test", "seed": seed, "accuracy": accuracy, "map": accuracy, "seconds": 60.0}
        found[f"{method}/test/{seed}"] = row
    return found


@pytest.mark.parametrize(
    ("coupled", "expected"), [(0.89, Outcome.REPRODUCED), (0.82, Outcome.PARTLY), (0.785, Outcome.NOT)]
)
def test_coupling_is_judged_by_what_it_adds_in_the_papers_setting(coupled, expected):
    rows = trained("coupled-raw", coupled, coupled) | trained("siamese-raw", 0.78, 0.78)
    central = system_of("CGRU", {"cgru_har": rows}).central
    assert central.setting is Setting.SAME
    assert central.outcome is expected
    assert central.ours.mean == pytest.approx(coupled - 0.78)


def test_standardised_channels_can_only_partly_reproduce_coupling():
    rows = trained("coupled", 0.99) | trained("siamese", 0.78)
    assert system_of("CGRU", {"cgru_har": rows}).central.outcome is Outcome.PARTLY


def archive(change, names=None):
    """Rows of all K and of their combination, with the thesis's accuracies plus something."""
    found = {}
    for name, known in thesis().items():
        for k in ("5", "10", "combined"):
            theirs = known["combined" if k == "combined" else f"K={k}"]
            row = {"dataset": name, "k": k, "seed": 0, "svm": theirs + change, "1-nn": 0.5, "seconds": 1.0}
            found |= {f"{name}/{k}/0": row} if names is None or name in names else {}
    return found


@pytest.mark.parametrize(
    ("change", "expected"), [(0.0, Outcome.REPRODUCED), (-0.02, Outcome.PARTLY), (-0.2, Outcome.NOT)]
)
def test_the_archives_mean_is_judged_on_all_sets(change, expected):
    assert system_of("T-Loss", {"tloss_ucr": archive(change)}).central.outcome is expected


def test_some_of_the_sets_only_partly_reproduce_the_mean():
    central = system_of("T-Loss", {"tloss_ucr": archive(0.01, ["GunPoint", "Coffee"])}).central
    assert (central.outcome, central.setting) == (Outcome.PARTLY, Setting.PART)
    assert "on 2 sets" in str(central.ours)


@pytest.mark.parametrize(
    ("final", "expected"), [(1.8e-6, Outcome.REPRODUCED), (1e-4, Outcome.PARTLY), (0.5, Outcome.NOT)]
)
def test_particles_are_judged_by_the_thesiss_number_and_rbf(final, expected):
    common = {"problem": "8 Gaussians", "loss": "IPM", "width": "∞", "schedule": "one step", "diverged": 0, "seed": 0}
    rows = {name: common | {"architecture": name, "final": value} for name, value in (("ReLU", final), ("RBF", 0.04))}
    assert system_of("GAN(TK)²", {"gantk_particles": rows}).central.outcome is expected


def test_without_any_row_no_system_is_reproduced():
    found = systems.all_systems(lambda program: {})
    assert [one.name for one in found] == EIGHT
    assert {one.verdict for one in found} == {Outcome.NOT}
    assert all(one.sentence.endswith(".") for one in found)
    assert render_page(found).count("no rows") >= len(EIGHT)


# --- what is published


def test_there_are_eight_rows_and_every_page_exists():
    found = systems.all_systems()
    assert [one.name for one in found] == EIGHT
    assert len(render_rows(found, link_to_page).splitlines()) == 2 + len(EIGHT)
    for page in {claim.page for one in found for claim in one.claims}:
        assert (ROOT / "benchmarks/results" / f"{page}.md").exists()


def test_the_page_and_the_readme_are_what_the_program_writes():
    found, readme = systems.all_systems(), (ROOT / README).read_text(encoding="utf-8")
    assert (ROOT / PAGE).read_text(encoding="utf-8") == render_page(found), "run python -m benchmarks.scorecard"
    assert replace_rows(readme, found) == readme, "run python -m benchmarks.scorecard"
    assert readme.count(BEGIN) == readme.count(END) == 1


def test_the_rows_between_the_markers_are_replaced_and_nothing_else():
    found = systems.all_systems(lambda program: {})
    written = replace_rows(f"before\n{BEGIN}\nobsolete table\n{END}\nafter", found)
    assert written.startswith(f"before\n{BEGIN}\n")
    assert written.endswith(f"\n{END}\nafter")
    assert "obsolete" not in written
    assert replace_rows(written, found) == written


def test_the_scorecard_is_in_the_navigation():
    assert "scorecard.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
