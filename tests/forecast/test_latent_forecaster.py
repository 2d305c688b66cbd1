"""What forecasters with a network share: chunks, ranges, sources, budgets, presets, and trainings that go wrong."""

import copy
import warnings

import numpy as np
import pytest
import torch

import timelike as tl
from latent_options import separation, srvp
from timelike.forecast import codecs
from timelike.forecast.codecs.mlp import MLPNetwork
from timelike.train import DivergenceError, LinearDecay, Milestones, OneCycle

RNG = np.random.default_rng(0)
TINY = {
    "conditioning": 2,
    "hidden": 6,
    "layers": 1,
    "dynamics_hidden": 6,
    "n_content": 3,
    "n_state": 3,
    "batch_size": 8,
    "max_steps": 3,
    "random_state": 0,
}


def tiny(**more):
    return separation(**TINY | more)


def same_weights(one, other):
    pairs = zip(one.network_.parameters(), other.network_.parameters(), strict=True)
    return all(a.equal(b) for a, b in pairs)


# --- chunks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lengths", "expected"), [((40, 40), 22), ((9, 9), 9), ((3, 3), 3), ((4, 50, 50, 50, 50), 22)])
def test_chunks_go_twenty_steps_beyond_the_past_where_most_sequences_do(lengths, expected):
    X = tl.Sequences([RNG.standard_normal((n, 1)) for n in lengths])
    assert tiny()._choose_chunk_length(X) == expected


def test_sequences_that_just_suffice_are_learned_from():
    assert tiny().fit(RNG.standard_normal((2, 3, 1))).predict(np.zeros((1, 2, 1)), 2).shape == (1, 2, 1)
    assert tiny(chunk=3).fit(RNG.standard_normal((2, 3, 1))).history_.n_steps == 3
    assert tiny(offset=True).fit(RNG.standard_normal((2, 3, 1))).history_.n_steps == 3


def test_sequences_that_are_too_short_or_chunks_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"the longest sequence has 2 time steps, .*conditioning=2\) needs at least 3"):
        tiny().fit(RNG.standard_normal((5, 2, 1)))
    for chunk in (2, 10):
        with pytest.raises(ValueError, match=f"chunk={chunk}: expected between 3 .* and 9, the longest sequence"):
            tiny(chunk=chunk).fit(RNG.standard_normal((5, 9, 1)))


def test_shorter_sequences_among_longer_ones_are_left_out_of_training():
    long = RNG.standard_normal((3, 9, 1))
    ragged = tl.Sequences([*long, RNG.standard_normal((2, 1))])
    model = tiny(chunk=5, standardize=False)
    with pytest.warns(UserWarning, match="1 of 4 sequences of X are ignored.*: sequence 3 has 2;"):
        assert same_weights(model.fit(long), tiny(chunk=5, standardize=False).fit(ragged))


# --- ranges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "output", "squashed"),
    [
        (0, 1, "auto", True),
        (0, 1, "linear", False),
        (0, 1, "sigmoid", True),
        (-0.1, 1, "auto", False),
        (0, 2, "auto", False),
    ],
)
def test_frames_are_squashed_if_all_of_them_lie_between_0_and_1(low, high, output, squashed):
    X = RNG.uniform(low, high, (4, 9, 2))
    X[0, 0], X[-1, -1] = low, high  # at the very ends
    model = tiny(output=output).fit(X)
    assert model.uses_sigmoid_ is squashed
    wild = X.copy()
    wild[:, -1] = [low, high]
    model.network_.decoder.layers[-1].bias.data += 50  # far beyond what was ever learned
    found = model.predict(wild, 5).mean
    assert bool(found.min() >= 0 and found.max() <= 1) is squashed


def test_values_that_a_squashed_decoder_can_never_give_are_refused_with_how_to_scale():
    X = RNG.uniform(0, 1, (4, 9, 2))
    with pytest.raises(ValueError, match=r"values from -1 to 3, .*scale X to \[0, 1\] first, \(X − least\)/\(greatest"):
        tiny(output="sigmoid").fit(np.linspace(-1, 3, 72).reshape(4, 9, 2))
    model = tiny().fit(X)
    with pytest.raises(ValueError, match=r"past has values from .* to 2, .* lie in \[0, 1\].*scale past by the same"):
        model.predict(np.where(X.max() == X, 2.0, X), 1)
    for verb in (model.calibrate, model.states, model.encode, model.reconstruct):
        with pytest.raises(ValueError, match=r"X has values from .* to 2, .*scale X by the same"):
            verb(np.where(X.max() == X, 2.0, X))


def test_units_of_the_data_change_nothing_but_units():
    X = RNG.standard_normal((6, 12, 3)).cumsum(axis=1)
    scale, shift = np.array([8.0, 0.25, 1024.0]), np.array([-64.0, 2.0, 1e6])
    plain = tiny(max_steps=10).fit(X).predict(X, 4).mean
    other = tiny(max_steps=10).fit(X * scale + shift).predict(X * scale + shift, 4).mean
    np.testing.assert_allclose((other - shift) / scale, plain, rtol=1e-3, atol=1e-3)


def test_a_large_level_leaves_the_digits_of_double_precision():
    X = RNG.standard_normal((6, 12, 1)).cumsum(axis=1)
    plain, far = (tiny(max_steps=10).fit(x).predict(x, 4).mean for x in (X, X + 1e9))
    assert far.dtype == np.float64
    np.testing.assert_allclose(far - 1e9, plain, rtol=1e-3, atol=1e-3)


def test_answers_have_the_precision_of_the_past():
    X = RNG.standard_normal((4, 9, 2))
    model = tiny().fit(X)
    double, single = model.predict(X, 2).mean, model.predict(X.astype(np.float32), 2).mean
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(double, single, rtol=1e-4, atol=1e-5)


def test_a_series_that_never_changes_is_no_trouble():
    for level in (0.0, 1.0, 5.0):
        found = tiny(max_steps=60).fit(np.full((3, 9, 2), level)).predict(np.full((1, 9, 2), level), 3).mean
        np.testing.assert_allclose(found, level, atol=0.5)


# --- sources -----------------------------------------------------------------------------------------------------------


class Source:
    """Sequences drawn anew at every call; what it gave is kept."""

    def __init__(self, n=4, length=9):
        self.n, self.length, self.given = n, length, []

    def __call__(self, rng):
        self.given.append(rng.standard_normal((self.n, self.length, 2)))
        return tl.Sequences(self.given[-1])


def test_what_a_source_gives_is_shown_once():
    source = Source()
    tiny(chunk=6, max_steps=10).fit(source)  # 16 chunks in two batches: five rounds
    assert len(source.given) == 5
    assert len(np.unique(source.given)) == 5 * 4 * 9 * 2  # no number twice


def test_equal_seeds_draw_and_learn_the_same_and_others_do_not():
    first, second, other = Source(), Source(), Source()
    models = [
        tiny(max_steps=5, chunk=6, random_state=seed).fit(source)
        for seed, source in ((0, first), (0, second), (1, other))
    ]
    np.testing.assert_array_equal(first.given, second.given)
    assert same_weights(models[0], models[1])
    assert not same_weights(models[0], models[2])
    assert not np.intersect1d(first.given, other.given).size


@pytest.mark.parametrize("seed", [0, None])
def test_a_training_from_a_source_goes_on_where_it_was(seed, tmp_path):
    given = {"chunk": 6, "schedule": "constant", "checkpoint": tmp_path / "kept", "random_state": seed}
    tiny(max_steps=5, **given).fit(Source())  # in the middle of a round
    continued = tiny(max_steps=9, **given).fit(Source())
    assert continued.history_.n_steps == 9
    if seed is not None:
        whole = tiny(max_steps=9, chunk=6, schedule="constant", random_state=seed).fit(Source())
        assert same_weights(continued, whole)


def test_a_source_that_gives_something_else_later_is_told():
    class Turns(Source):
        def __call__(self, rng):
            found = super().__call__(rng)
            return found if len(self.given) == 1 else self.later(found)

    def fails(later, kind, said, **more):
        source = Turns()
        source.later = later
        with pytest.raises(kind, match=said):
            tiny(chunk=6, max_steps=10, **more).fit(source)

    fails(lambda X: X.values, TypeError, "the source X returned a ndarray: expected Sequences")
    fails(lambda X: X.crop(0, 5), ValueError, "the source X returned at most 5 time steps: expected 6")
    fails(
        lambda X: tl.Sequences(np.zeros((4, 9, 3))),
        ValueError,
        r"the result of the source X has frames of shape \(3,\)",
    )
    fails(
        lambda X: tl.Sequences(np.full((4, 9, 2), np.nan)),
        ValueError,
        "the result of the source X: sequence 0 is missing",
    )

    def squashed(rng):
        return tl.Sequences(np.full((4, 9, 2), 0.5 if rng.random() < 0 else next(levels)))

    levels = iter([0.5, 1.5])
    with pytest.raises(ValueError, match=r"the result of the source X has values from 1.5 to 1.5, .*lie in \[0, 1\]"):
        tiny(chunk=6, max_steps=10).fit(squashed)


# --- budgets -----------------------------------------------------------------------------------------------------------


def test_what_is_held_out_is_never_learned_from_and_patience_ends_a_training():
    X = RNG.standard_normal((30, 9, 1))
    model = tiny(validation=0.2, max_steps=400, patience=40, learning_rate=0.05, schedule="constant")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may say that it learned nothing: this is noise
        model.fit(X)
    assert model.history_.n_steps < 400
    assert len(model.history_.scores) > 1
    assert len(tiny(validation=0.2).fit(X[:19]).history_.scores) == 0  # too few to spare any


@pytest.mark.filterwarnings("ignore::timelike.train.NotLearnedWarning")  # of noise there is nothing to learn
def test_a_budget_of_time_is_kept():
    model = tiny(max_steps=None, max_time=0.5).fit(RNG.standard_normal((6, 30, 2)))
    assert model.history_.n_steps > 0
    assert model.history_.stop_reason in ("max_time", "max_steps")


# --- presets -----------------------------------------------------------------------------------------------------------

FRAMES = {"waves-100": (10,), "waves": (1, 8, 8), "sst": (1, 16, 16), "sst-linear": (1, 16, 16), "digits": (1, 16, 16)}


@pytest.mark.parametrize("name", tl.Separation._presets)
def test_every_preset_learns_small(name):
    frame = FRAMES.get(name, (3, 16, 16) if name == "chairs" else (2, 8, 8))
    model = tl.Separation.preset(name, scale=0.01, max_steps=2, trainer__batch_size=4, random_state=0)
    X = RNG.uniform(0, 1, (2, model.chunk + 1, *frame))
    found = model.fit(X).predict(X, 2)
    assert found.shape == (2, 2, *frame)
    assert np.isfinite(found.mean).all()


def test_scale_is_a_factor_of_sizes_but_not_of_those_of_content_and_state():
    X = RNG.uniform(0, 1, (2, 26, 10))
    model = tl.Separation.preset("waves-100", scale=0.01, max_steps=1).fit(X)
    content, draw, move = model.network_.content_encoder, model.network_.decoder, model.network_.dynamics
    assert content.layers[0].weight.shape == (24, 50)
    assert content.layers[-1].weight.shape == (32, 24)
    assert draw.layers[0].weight.shape == (2, 32)  # 1.5, rounded to the even number; w times y
    assert move.blocks[0].layers[0].weight.shape == (5, 32)
    assert len(move.blocks) == 3


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(ValueError, match="preset 'wave': Separation has 'waves-100', 'waves', 'sst'"):
        tl.Separation.preset("wave")


# --- trainings that go wrong -------------------------------------------------------------------------------------------


def test_a_training_that_diverges_stops_and_says_so():
    model = tiny(learning_rate=1e6, max_steps=500, schedule="constant")
    with pytest.raises(
        DivergenceError, match=r"the loss is .* at step \d+, in the batch of the chunks .*lower the learning"
    ):
        model.fit(RNG.standard_normal((6, 12, 2)))
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"combine": "multiply", "n_content": 4}, "n_content=4, n_state=3: expected equal sizes"),
        ({"solver": "rk4", "blocks": 2}, "solver='rk4' solves one equation, and blocks=2 are several: use tied=True"),
        ({"codec": codecs.VGG(maps=True)}, r"codec=VGG\(.*maps=True.* is for images, and X has frames of shape \(2,\)"),
        (
            {"codec": codecs.Sprites()},
            r"codec=Sprites\(.*: expected one of 'auto', 'perceptron', 'dcgan', 'vgg', 'resnet'",
        ),
        ({"maps": True, "solver": "gru"}, "maps=True needs convolutional dynamics, and solver='gru' moves vectors"),
        ({"codec": "vgg"}, r"codec='vgg' is for images, and X has frames of shape \(2,\)"),
        ({"blocks": 10**9}, "blocks=1000000000: expected at most 1024"),
        ({"betas": (0.9, 1.0)}, "betas=.*: expected two numbers of at least 0 and below 1"),
        ({"solver": "rk5"}, "solver='rk5': expected one of"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        tiny(**options).fit(RNG.standard_normal((3, 9, 2)))


def test_images_have_the_perceptron_up_to_32_by_32_pixels():
    X = RNG.standard_normal((3, 9, 1, 3, 40))
    assert isinstance(tiny().fit(X).network_.decoder, MLPNetwork)
    assert isinstance(tl.Separation().set_params(max_steps=1).fit(X).network_.decoder, MLPNetwork)
    assert isinstance(_fit_once((1, 32, 32)).network_.decoder, MLPNetwork)
    assert _fit_once((1, 32, 33)).network_.decoder.kind == "dcgan"
    assert _fit_once((1, 10, 12), codec=codecs.Auto(max_pixels=0)).network_.decoder.kind == "dcgan"
    with pytest.raises(ValueError, match="codec='dcgan' is for images, .* of at least 4 × 4 pixels"):
        tiny(codec="dcgan").fit(X)


def _fit_once(frame, **options):
    return tl.Separation(max_steps=1, progress=False, random_state=0, **options).fit(np.zeros((3, 9, *frame)))


def test_statistics_of_normalization_are_those_of_the_weights_that_are_kept():
    X = np.random.default_rng(0).random((6, 9, 1, 8, 8))
    model = separation(max_steps=5, filters=3, batch_size=4, learning_rate=0.05, random_state=0, progress=False).fit(X)
    first = next(layer for layer in model.network_.modules() if isinstance(layer, torch.nn.BatchNorm2d))
    assert first.momentum == 0.1
    assert not model.network_.training
    means, again = [], copy.deepcopy(model)
    layer = next(layer for layer in again.network_.modules() if isinstance(layer, torch.nn.BatchNorm2d))
    layer.register_forward_pre_hook(lambda _, given: means.append(given[0].mean((0, 2, 3)).detach()))
    length = again._choose_chunk_length(tl.Sequences(X))
    objective = again._make_chunk_objective(length, again._pack_frames(tl.Sequences(X)), None, None)
    objective.update_statistics()
    assert len(means) > 1
    torch.testing.assert_close(first.running_mean, torch.stack(means).mean(0))


@pytest.mark.parametrize(("observed", "expected"), [(1.0, [0.7]), (None, [0.35, 0.7])])
def test_statistics_take_seven_tenths_of_the_time_left_and_half_of_it_where_a_deviation_comes_after_them(
    observed, expected, monkeypatch
):
    X = np.random.default_rng(0).random((4, 9, 1, 8, 8))
    model = srvp(
        observation_std=observed,
        codec="dcgan",
        max_steps=1,
        filters=3,
        hidden=6,
        batch_size=4,
        progress=False,
        random_state=0,
    )
    model.fit(X)
    objective = model._make_chunk_objective(9, model._pack_frames(tl.Sequences(X)), None, None)
    settling, shares = objective.statistics_batches, []
    monkeypatch.setattr(objective, "statistics_batches", lambda share: shares.append(share) or settling(share))
    objective.update_statistics()
    assert shares == expected


# --- settings of training ----------------------------------------------------------------------------------------------


def objective_of(model, X):
    model.fit(X)
    sequences = tl.Sequences(X)
    length = model.chunk_
    held_out = model._pack_frames(sequences) if model.trainer_.validation else None
    return model._make_chunk_objective(length, model._pack_frames(sequences), held_out, None)


@pytest.mark.parametrize(
    ("n_chunks", "batch_size", "expected"),
    [(640, 8, 1600), (80, 8, 500), (199, 8, 500), (8000, 8, 2000), (3, 8, 500), (800, 16, 1000)],
)
def test_unless_told_it_trains_for_twenty_passes_within_bounds_and_two_minutes(n_chunks, batch_size, expected):
    model = tiny(batch_size=batch_size, chunk=3)
    objective = objective_of(model, np.zeros((1, n_chunks + 2, 1)) + np.arange(n_chunks + 2)[:, None])
    model.max_steps = None
    limits = model._fit_options(objective)
    assert (limits["max_steps"], limits["max_time"]) == (expected, 120.0)
    for steps, seconds in ((7, None), (None, 3.0), (7, 3.0)):
        model.max_steps, model.max_time = steps, seconds
        limits = model._fit_options(objective)
        assert (limits["max_steps"], limits["max_time"]) == (steps, seconds)


@pytest.mark.parametrize(("schedule", "kind"), [("one_cycle", OneCycle), ("linear", LinearDecay), ("constant", None)])
def test_a_schedule_is_what_its_word_says(schedule, kind):
    model = tiny(schedule=schedule)
    found = model._fit_options(objective_of(model, RNG.standard_normal((4, 9, 1)))).get("schedule")
    assert found is None if kind is None else type(found) is kind


@pytest.mark.parametrize("kind", [tl.Separation, tl.SRVP])
def test_a_schedule_may_be_a_value_and_is_saved(kind, tmp_path):
    schedule = Milestones(milestones=(0.5, 0.75), gamma=0.1)
    trainer = tl.Trainer(schedule=schedule)
    model = kind(conditioning=2, n_state=3, n_content=2, max_steps=8, trainer=trainer, random_state=0)
    rates = model.fit(RNG.standard_normal((6, 9, 1))).history_["rate"]
    np.testing.assert_allclose(rates / rates[0], [1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])
    model.set_params(trainer__schedule=LinearDecay(share=0.25)).save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").trainer.schedule == LinearDecay(share=0.25)
    assert model.set_params(trainer__schedule__share=0.5).trainer.schedule == LinearDecay(share=0.5)
    for wrong, error in ((3, TypeError), ("cycle", ValueError)):
        with pytest.raises(error, match=f"schedule={wrong!r}: expected .*'constant', 'one_cycle', 'cosine', 'linear'"):
            model.set_params(trainer__schedule=wrong)


def test_what_is_held_out_is_looked_at_twenty_times_and_patience_counts_steps():
    model = tiny(validation=0.2, patience=50, max_steps=3)
    objective = objective_of(model, RNG.standard_normal((4, 9, 1)))
    for steps, every, looks in ((400, 20, 3), (1000, 50, 1), (10, 1, 50)):
        model.max_steps = steps
        limits = model._fit_options(objective)
        assert (limits["validate_every"], limits["patience"]) == (every, looks)


@pytest.mark.parametrize("kind", [separation, srvp])
def test_the_optimizer_has_the_settings_that_were_given(kind):
    sizes = {"conditioning": 2, "hidden": 4, "n_state": 3, "n_content": 2, "max_steps": 1, "random_state": 0}
    model = kind(learning_rate=0.02, weight_decay=0.3, betas=(0.7, 0.95), **sizes)
    (group,) = objective_of(model, RNG.standard_normal((4, 9, 1))).optimizers().param_groups
    assert (group["lr"], group["weight_decay"], group["betas"]) == (0.02, 0.3, (0.7, 0.95))


@pytest.mark.parametrize(("n_chunks", "expected"), [(10, 0.3), (300, 0.3), (301, 90 / 301), (900, 0.1)])
def test_the_fewer_chunks_the_more_noise_encoders_see(n_chunks, expected):
    X = np.arange(n_chunks + 2.0)[None, :, None]
    assert objective_of(tiny(chunk=3), X).jitter == pytest.approx(expected)
    assert objective_of(tiny(chunk=3, jitter=0.05), X).jitter == 0.05


def test_content_is_made_of_no_more_frames_than_a_chunk_has():
    how = {"conditioning": 2, "hidden": 4, "n_state": 3, "n_content": 2, "max_steps": 1, "random_state": 0}
    for n_seen, expected in ((2, 2), (9, 4)):
        objective = objective_of(srvp(n_content_frames=n_seen, chunk=4, **how), RNG.standard_normal((4, 9, 1)))
        drawn = objective._sample_extras(50, np.random.default_rng(0))
        assert drawn["chosen"].shape == (50, expected)
        assert {len(set(row)) for row in drawn["chosen"].tolist()} == {expected}  # each frame once
        assert set(drawn["chosen"].ravel().tolist()) == set(drawn["skip"].tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("kind", [codecs.MLP, codecs.DCGAN, codecs.VGG, codecs.ResNet])
def test_a_new_decoder_with_a_sigmoid_begins_near_the_mean_frame(kind):
    """The mean over random codes; biases of zero would give 0.5. The thesis's initialization begins there."""
    X = np.full((3, 8, 1, 16, 16), 0.05)
    X[:, :, :, 3, 3] = 0.2
    means = []
    for initialization in ("torch", "thesis"):
        model = tl.Separation(codec=kind(initialization=initialization), max_steps=1, random_state=0)
        means.append(float(model.fit(X).predict(X[:, :5], 3).mean.mean()))
    assert means[0] == pytest.approx(0.05, abs=0.05)
    assert means[1] == pytest.approx(0.5, abs=0.2)
