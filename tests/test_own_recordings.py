"""A folder of one's own recordings, from files to a saved, plotted, cross-validated answer, as a new user would go."""

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import timelike as tl

PEOPLE, MOVES, EACH = ("anna", "bo", "chloë", "dmitri", "eve", "fatıma"), ("walk", "run", "sit", "wave"), 5
SPOILED = "eve_sit_3.csv"


def write_folder(folder: Path) -> None:
    """120 files of three channels at about 50 Hz, irregular stamps of two time zones, gaps, and one that is rubbish."""
    rng = np.random.default_rng(0)
    for person, who in enumerate(PEOPLE):
        for move, what in enumerate(MOVES):
            for take in range(EACH):
                n = int(rng.integers(90, 150))
                t = np.cumsum(rng.uniform(0.016, 0.024, n))
                if take == 1:
                    t[n // 2 :] += 600.0  # the logger was off for ten minutes
                pace = 1.0 + 0.15 * person + 1.3 * move
                waves = np.stack([np.sin(pace * 6 * t + k) * (1 + move) for k in range(3)], axis=1)
                values = waves + 0.1 * rng.standard_normal((n, 3))
                zone, hours = (("+00:00", 9), ("+02:00", 11))[take % 2]
                stamps = np.datetime64(f"2024-05-01T{hours:02d}:00:00") + (1e6 * t).astype("timedelta64[us]")
                rows = [
                    f"{stamp}{zone},{x:.4f},{'' if take == 2 and i == 7 else f'{y:.4f}'},{z:.4f}"
                    for i, (stamp, (x, y, z)) in enumerate(zip(stamps, values, strict=True))
                ]
                text = "\n".join(["timestamp,ax,ay,az", *rows]) + "\n"
                (folder / f"{who}_{what}_{take}.csv").write_text(text, encoding="utf-8")
    (folder / SPOILED).write_bytes(rng.integers(0, 256, 4000, dtype=np.uint8).tobytes())
    (folder / "README.txt").write_text("what I recorded in May")


def walk(folder: Path, kept: Path) -> float:
    """All that a user writes."""
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline

    X = tl.load(folder / "*.csv", label=r"_([a-z]+)_\d", group=r"(\w+?)_", on_error="skip")
    print(X.describe())
    pieces = X.merge_duplicates().split_at_gaps(max_gap=1.0).interpolate()
    pieces.plot().savefig(kept / "pieces.png")
    train, test = pieces.split(0.3, random_state=0)
    pipeline = make_pipeline(tl.prepare.Standardize(), tl.Neighbors(tl.DTW(), n_neighbors=1))
    grid = {"neighbors__metric": [tl.DTW(), tl.MSM(), tl.TWE()], "neighbors__metric__window": [0.1, 0.3, None]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(3)).fit(train, train.labels, groups=train.groups)
    print(search.best_params_)
    tl.save_model(search.best_estimator_, kept / "model")
    test.save(kept / "test.npz")
    matches = tl.DTW(window=0.3).neighbors(train, test[:1], 3)
    matches.plot(train, test[:1]).savefig(kept / "matches.png")
    return search.score(test, test.labels)


ELSEWHERE = """
import sys
import timelike as tl
test = tl.load(f"{sys.argv[1]}/test.npz")
print((tl.load_model(f"{sys.argv[1]}/model").predict(test) == test.labels).mean())
"""


@pytest.fixture
def folder(tmp_path):
    """What a logger left behind."""
    place = tmp_path / "my logs"
    place.mkdir()
    write_folder(place)
    return place


@pytest.mark.filterwarnings("ignore:1 of 120 files")
def test_a_folder_of_recordings_becomes_an_answer_in_at_most_25_lines(folder, tmp_path, capsys):
    right = walk(folder, tmp_path)
    assert right > 0.8  # nobody of the test part was learned from; by chance it is a quarter
    said = capsys.readouterr().out
    assert "119 sequences" in said
    assert "600" in said  # the hole
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path)], capture_output=True, text=True, check=True, timeout=600
    )
    assert float(done.stdout) == pytest.approx(right)
    for name in ("pieces.png", "matches.png"):
        assert (tmp_path / name).stat().st_size > 5_000
    lines = inspect.getsource(walk).splitlines()[2:] + ELSEWHERE.strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 25


def test_what_was_left_out_is_told_with_its_reason(folder):
    with pytest.warns(UserWarning, match=rf"1 of 120 files .*\n.*{SPOILED}: .*UTF-8") as told:
        X = tl.load(folder / "*.csv", label=r"_([a-z]+)_\d", group=r"(\w+?)_", on_error="skip")
    assert len(told) == 1
    assert len(X) == 119
    assert set(X.groups) == {*PEOPLE}
    assert set(X.labels) == {*MOVES}


def test_times_of_two_zones_are_one_clock_and_holes_stay_where_they_were(folder):
    (folder / SPOILED).unlink()
    X = tl.load(folder, label=r"_([a-z]+)_\d")  # README.txt is no recording
    first = np.array([one[0] for one in np.split(X.times, X.offsets[1:-1])])
    assert first.min() >= np.datetime64("2024-05-01T09:00:00")
    assert first.max() < np.datetime64("2024-05-01T09:00:01")
    pieces = X.split_at_gaps(max_gap=1.0)
    assert len(pieces) > len(X)
    for begin, end in zip(pieces.offsets[:-1], pieces.offsets[1:], strict=True):
        assert np.diff(pieces.times[begin:end]).max() < np.timedelta64(1, "s")
    assert len(pieces.values) == len(X.values)  # nothing was invented, nothing lost
