"""What Drift keeps: a saved monitor goes on as it was, memory is bounded, and threads change nothing."""

import numpy as np
import pytest

import timelike as tl
from timelike.distributions import RBF, Drift, EncoderKernel, ExponentialKernel, Laplacian


def vectors(n, seed=0, shift=0.0, d=2):
    return np.random.default_rng(seed).standard_normal((n, d)) + shift


def ragged(n, seed=0, channels=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((rng.integers(12, 20), channels)) for _ in range(n)]


def monitor(reference=None, **options):
    options = {"kernel": RBF(width=1.0), "n_permutations": 99, "random_state": 0} | options
    return Drift(**options).fit(vectors(20) if reference is None else reference)


def folder_size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


KINDS = {
    "RBF of vectors": (RBF(), vectors),
    "two kernels": (RBF() + 0.5 * Laplacian(), vectors),
    "default of ragged sequences": (None, ragged),
    "elastic": (ExponentialKernel("dtw"), ragged),
    "elastic and encoded": (
        ExponentialKernel("dtw") + EncoderKernel(tl.Rocket(n_features=100, random_state=0), RBF()),
        ragged,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_monitor_that_was_saved_goes_on_exactly_as_one_that_was_not(kind, tmp_path):
    kernel, made = KINDS[kind]
    drift = Drift(kernel=kernel, n_permutations=99, memory=20, random_state=0).fit(made(24))
    for i in range(3):
        drift.update(made(5, 100 + i), when=f"day {i}")
    drift.save(tmp_path / "drift")
    loaded = tl.load_model(tmp_path / "drift")
    assert loaded.drifted == drift.drifted
    np.testing.assert_array_equal(loaded.similarities_, drift.similarities_)
    for i in range(3):
        assert loaded.update(made(5, 200 + i)) == drift.update(made(5, 200 + i))
    assert loaded.report(n_permutations=19).to_json() == drift.report(n_permutations=19).to_json()


@pytest.mark.parametrize("kind", ["RBF of vectors", "default of ragged sequences", "elastic"])
def test_threads_change_no_bit(kind, monkeypatch):
    kernel, made = KINDS[kind]

    def run(n_threads):
        monkeypatch.setattr(tl.native, "thread_count", lambda: n_threads)
        drift = Drift(kernel=kernel, n_permutations=99, memory=20, random_state=0).fit(made(24))
        return [drift.update(made(5, 100 + i)) for i in range(3)]

    assert run(1) == run(2)


def test_memory_bounds_what_is_compared_kept_and_saved(tmp_path):
    drift = monitor(vectors(30), memory=20)
    sizes = []
    for i in range(120):
        drift.update(vectors(6, i))
        assert drift.pool_.compared.sum() <= 20
        assert len(drift.pool_) <= 30 + 20 + 20
        assert drift.similarities_.shape == (1, *(drift.pool_.compared.sum(),) * 2)
        assert len(drift.precomputed_) == len(drift.pool_)
        if i in (39, 119):
            drift.save(tmp_path / str(i))
            sizes.append(folder_size(tmp_path / str(i)))
    assert (drift.pool_.batch == 0).sum() == 30  # for reports
    assert sizes[1] - sizes[0] < 80 * 250  # a line of what each batch said, and none of its items
    np.testing.assert_array_equal(
        drift.similarities_[0], RBF(width=1.0)(drift.pool_.items.values[drift.pool_.compared])
    )


def test_somebodys_own_kernel_is_used_and_cannot_be_saved(tmp_path):
    def near(x, y):
        return np.exp(-0.5 * ((x[:, None] - y[None]) ** 2).sum(axis=2))

    own, ours = monitor(kernel=near), monitor()
    for i in range(3):
        assert own.update(vectors(4, i)).batch_p_value == ours.update(vectors(4, i)).batch_p_value
    with pytest.raises(TypeError, match="kernel is a custom function, which cannot be saved"):
        own.save(tmp_path / "drift")
    assert not (tmp_path / "drift").exists()


def test_an_item_that_is_like_the_reference_is_more_typical():
    reference = vectors(20)
    drift = monitor(reference)
    asked = np.array([[0.0, 0.0], [4.0, 4.0]])
    np.testing.assert_allclose(drift.typicality(asked), RBF(width=1.0)(asked, reference).mean(axis=1))


def test_batches_in_different_numbers_of_parts_are_saved_and_gone_on_from(tmp_path):
    drift = monitor(vectors(60), n_permutations=999)
    for i, n in enumerate((10, 40, 5, 80)):
        drift.update(vectors(n, 50 + i))
    assert [len(batch["sizes"]) for batch in drift.batches_] == [1, 2, 1, 3]
    drift.save(tmp_path / "drift")
    loaded = tl.load_model(tmp_path / "drift")
    assert loaded.evidence_.values == drift.evidence_.values
    seen = drift.update(vectors(40, 99, 4.0))
    again = loaded.update(vectors(40, 99, 4.0))
    assert again == seen
    assert [part.items.tolist() for part in again.parts] == [part.items.tolist() for part in seen.parts]
    assert loaded.report(n_permutations=19).to_json() == drift.report(n_permutations=19).to_json()
