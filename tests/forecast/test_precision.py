"""In which precision SRVP learns pictures, and draws them: the same frames in any company."""

import numpy as np
import pytest
import torch

from latent_options import srvp
from timelike.train import processes
from timelike.train.double_precision import double_precision_copy
from timelike.train.torch_threads import torch_threads

CASES = {
    "dcgan": ((1, 16, 16), {}),
    "dcgan, three channels, odd sides": ((3, 9, 11), {"filters": 5}),
    "vgg": ((1, 16, 16), {"codec": "vgg", "filters": 3}),
    "resnet": ((2, 16, 8), {"codec": "resnet"}),
    "skips": ((1, 16, 16), {"skips": True}),
}


@pytest.fixture(scope="module", params=CASES)
def drawn(request):
    """A model of pictures and pasts of single precision."""
    frame, given = CASES[request.param]
    clips = np.random.default_rng(0).random((12, 8, *frame), np.float32)
    small = {"filters": 4, "n_content": 6, "n_state": 5, "n_random": 3, "n_code": 8, "hidden": 16, "motion_hidden": 16}
    given = {"conditioning": 3, "chunk": 8, "max_steps": 2, "batch_size": 4, "random_state": 0} | small | given
    return srvp(**given).fit(clips), clips


def test_a_future_has_the_same_bits_alone_among_others_and_as_the_last_of_a_piece(drawn):
    model, clips = drawn
    every = np.asarray(model.predict(clips, 5, n_samples=7, random_state=3).samples)  # 420 frames, not whole pieces
    for item in (0, 6, 11):
        alone = np.asarray(model.predict(clips[item : item + 1], 5, n_samples=7, random_state=3).samples)
        np.testing.assert_array_equal(alone[:, 0], every[:, item])
    shorter = np.asarray(model.predict(clips, 2, n_samples=7, random_state=3).samples)
    np.testing.assert_array_equal(shorter, every[:, :, :2])


def test_threads_change_no_bit_of_a_future(drawn):
    model, clips = drawn
    found = []
    for n_threads in (1, 2):
        with torch_threads(n_threads):
            found.append(np.asarray(model.predict(clips, 4, n_samples=3, random_state=3).samples))
    np.testing.assert_array_equal(*found)


def test_frames_of_single_precision_are_those_of_double_precision_rounded(drawn):
    model, clips = drawn
    single = np.asarray(model.predict(clips, 5, n_samples=2, random_state=3).samples)
    double = np.asarray(model.predict(clips.astype(np.float64), 5, n_samples=2, random_state=3).samples)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    # what is encoded differs by the rounding of the moments of both kinds of data, and the weights are of 24 bits
    np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-5)


def test_double_precision_is_drawn_in_double_precision(drawn):
    model, _ = drawn
    network = double_precision_copy(model.network_)
    code = torch.randn(3, model.n_content + model.n_state, dtype=torch.float64)
    if network.skips:
        pytest.skip("the stages' maps would have to be made up")
    with torch.no_grad():
        few, many = network.decoder(code[:1], []), network.decoder(code.repeat(20, 1), [])
    assert few.dtype == torch.float64
    torch.testing.assert_close(few[0], many[0], rtol=1e-12, atol=1e-12)


# --- learning


@pytest.mark.parametrize(
    ("precision", "pictures", "has", "expected"),
    [
        ("auto", True, True, "bf16-mixed"),
        ("auto", True, False, "32-true"),
        ("auto", False, True, "32-true"),
        ("32-true", True, True, "32-true"),
        ("64-true", True, True, "64-true"),
    ],
)
def test_only_pictures_are_learned_in_half_precision_and_only_where_the_processor_has_it(
    monkeypatch, precision, pictures, has, expected
):
    monkeypatch.setattr("timelike.forecast.srvp.estimator.has_bfloat16", lambda: has)
    asked = []
    start = processes.Processes.start.__func__
    monkeypatch.setattr(
        processes.Processes, "start", classmethod(lambda cls, *given: asked.append(given[3]) or start(cls, *given))
    )
    x = np.random.default_rng(0).random((6, 8, *((1, 8, 8) if pictures else (2,))), np.float32)
    srvp(conditioning=2, max_steps=1, filters=2, precision=precision, random_state=0).fit(x)
    assert asked == [expected]


def test_a_precision_that_is_none_is_refused():
    with pytest.raises(ValueError, match="precision='half'"):
        srvp(precision="half").fit(np.zeros((4, 8, 2)))


def test_a_loss_in_mixed_precision_is_near_that_in_single_precision():
    x = np.random.default_rng(0).random((8, 8, 1, 16, 16), np.float32)
    losses = {}
    for precision in ("32-true", "bf16-mixed"):
        model = srvp(conditioning=3, max_steps=1, filters=4, precision=precision, random_state=0).fit(x)
        losses[precision] = model.history_.losses[0]
    single, mixed = losses.values()
    assert single != mixed  # another arithmetic
    assert mixed == pytest.approx(single, rel=1e-2)
    assert model.network_.log_std.dtype == torch.float32
