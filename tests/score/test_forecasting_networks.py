"""LPIPS and FVD: with weights that are given, and a clear word where there are none."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import timelike as tl
from naive import perceptual as naive
from timelike import score

RNG = np.random.default_rng(0)


def trunk():
    """The convolutions of AlexNet as torchvision stacks them, with weights of chance."""
    return nn.Sequential(
        nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
        nn.ReLU(inplace=False),
        nn.MaxPool2d(kernel_size=3, stride=2),
        nn.Conv2d(64, 192, kernel_size=5, padding=2),
        nn.ReLU(inplace=False),
        nn.MaxPool2d(kernel_size=3, stride=2),
        nn.Conv2d(192, 384, kernel_size=3, padding=1),
        nn.ReLU(inplace=False),
        nn.Conv2d(384, 256, kernel_size=3, padding=1),
        nn.ReLU(inplace=False),
        nn.Conv2d(256, 256, kernel_size=3, padding=1),
        nn.ReLU(inplace=False),
        nn.MaxPool2d(kernel_size=3, stride=2),
    )


@pytest.fixture(scope="module")
def theirs():
    """The network of torchmetrics with its own linear heads over a trunk of chance: nothing is downloaded."""
    module = import_module("torchmetrics.functional.image.lpips")
    torch.manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_get_tv_model_features", lambda name, pretrained: trunk())
        return module._LPIPS(pretrained=True, net="alex", pnet_rand=True)


@pytest.fixture(scope="module")
def tensors(theirs):
    """Its weights under the names of torchvision and of the lpips package."""
    found = {}
    for key, value in theirs.state_dict().items():
        if key.startswith("net.slice"):
            found["features." + key.split(".", 2)[2]] = value
        elif key.startswith("lin") and not key.startswith("lins"):
            found[key] = value
    return found


@pytest.fixture(scope="module")
def weights(tensors, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alexnet.safetensors"
    save_file({**tensors, "classifier.1.bias": torch.zeros(3)}, path)  # what is not needed may be there
    return path


def films(n_items=2, n_steps=3, channels=3, side=(32, 40)):
    truth = RNG.random((n_items, n_steps, channels, *side))
    return truth, np.clip(truth + 0.3 * RNG.standard_normal(truth.shape), 0, 1)


# --- LPIPS ---------------------------------------------------------------------------------------------------------------


def test_lpips_is_that_of_torchmetrics(theirs, weights):
    truth, answer = films()
    flat = [torch.tensor(side.reshape(-1, *side.shape[2:]), dtype=torch.float32) for side in (truth, answer)]
    expected = theirs(*flat, normalize=True).reshape(2, 3).numpy()
    assert expected.min() > 0.01
    np.testing.assert_allclose(score.lpips(truth, answer, weights=weights, per="each"), expected, rtol=1e-4)
    np.testing.assert_allclose(score.lpips(truth, answer, weights=weights, per="step"), expected.mean(0), rtol=1e-4)
    called = partial(theirs, retperlayer=False)  # a network of one's own, from −1 to 1
    np.testing.assert_allclose(score.lpips(truth, answer, weights=called), expected.mean(), rtol=1e-4)


def test_lpips_is_the_plain_loop_on_the_smallest_picture(tensors, weights):
    truth, answer = films(1, 1, side=(31, 31))
    plain = {key: value.double().numpy() for key, value in tensors.items()}
    expected = naive.lpips(truth[0, 0], answer[0, 0], plain)
    assert score.lpips(truth, answer, weights=str(weights)) == pytest.approx(expected, rel=1e-4)


def test_equal_pictures_are_at_0_and_the_order_of_two_does_not_matter(weights):
    truth, answer = films(1, 2)
    assert score.lpips(truth, truth, weights=weights) == 0
    assert score.lpips(truth, answer, weights=weights) == pytest.approx(score.lpips(answer, truth, weights=weights))
    black = np.zeros((1, 1, 1, 32, 32))
    assert score.lpips(black, black, weights=weights) == 0


def test_grey_pictures_are_three_equal_colours_and_bytes_have_their_own_range(weights):
    truth, answer = films(1, 2, channels=1)
    expected = score.lpips(np.repeat(truth, 3, axis=2), np.repeat(answer, 3, axis=2), weights=weights)
    assert score.lpips(truth, answer, weights=weights) == expected
    assert score.lpips(truth[:, :, 0], answer[:, :, 0], weights=weights) == expected
    found = score.lpips(255 * truth, 255 * answer, weights=weights, value_range=255)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("size", [1, 5, 6, 64])
def test_how_many_are_looked_at_together_changes_nothing(size, weights):
    truth, answer = films()
    expected = score.lpips(truth, answer, weights=weights, per="each")
    found = score.lpips(truth, answer, weights=weights, per="each", batch_size=size)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_best_of_n_by_lpips_is_the_lowest(weights):
    truth, answer = films(1, 1)
    samples = np.stack([answer, truth, answer])
    judge = partial(score.lpips, weights=weights)
    assert score.best_of_n(truth, samples, judge) == 0
    assert score.rank_samples(truth, samples, judge)[0].tolist() == [1]
    with pytest.raises(
        ValueError, match=r"score='lpips' has no weights.*score=partial\(lpips, weights='.*\.safetensors'\)"
    ):
        score.best_of_n(truth, samples, "lpips")
    with pytest.raises(ValueError, match="score='lpip': expected one of 'mse', 'mae', 'psnr', 'ssim', or a function"):
        score.best_of_n(truth, samples, "lpip")


def test_a_changed_file_is_read_again(tensors, tmp_path):
    truth, answer = films(1, 1)
    path = tmp_path / "w.safetensors"
    save_file(tensors, path)
    first = score.lpips(truth, answer, weights=path)
    save_file({key: 2 * value if key.startswith("lin") else value for key, value in tensors.items()}, path)
    assert score.lpips(truth, answer, weights=path) == pytest.approx(2 * first)


def test_without_weights_the_message_says_where_they_are_from_and_what_needs_none():
    with pytest.raises(ValueError, match=r"weights=None") as caught:
        score.lpips(*films(1, 1))
    for word in (
        "torchvision",
        "lpips package",
        ".safetensors",
        "docs/score.md",
        "psnr, ssim and crps need no weights",
    ):
        assert word in str(caught.value)


def test_files_that_are_no_weights_are_refused(tensors, tmp_path):
    truth, answer = films(1, 1)

    def refused(kind, words, weights):
        with pytest.raises(kind, match=words):
            score.lpips(truth, answer, weights=weights)

    refused(ValueError, r"ends in '\.pth': expected \.safetensors.*can run code", tmp_path / "alex.pth")
    refused(FileNotFoundError, "there is no such file", tmp_path / "w.safetensors")
    refused(TypeError, "weights is a int", 3)
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"nothing")
    refused(ValueError, "cannot be read as safetensors", path)
    for bad, words in (
        (
            {key: value for key, value in tensors.items() if key != "lin3.model.1.weight"},
            "has no 'lin3.model.1.weight'",
        ),
        (
            {**tensors, "features.0.weight": torch.zeros(64, 3, 3, 3)},
            r"has shape \(64, 3, 3, 3\), expected \(64, 3, 11",
        ),
        ({**tensors, "features.0.bias": torch.full((64,), torch.nan)}, "'features.0.bias' has numbers that are not"),
    ):
        save_file(bad, path)
        refused(ValueError, words, path)


def test_pictures_that_a_network_cannot_see_are_refused(weights):
    def refused(words, truth, **options):
        with pytest.raises(ValueError, match=words):
            score.lpips(truth, np.zeros_like(truth), weights=weights, **options)

    refused("a side of 30 pixels: AlexNet needs at least 31", np.zeros((1, 1, 1, 30, 64)))
    refused(r"frames of shape \(2, 32, 32\): expected images", np.zeros((1, 1, 2, 32, 32)))
    refused(r"frames of shape \(4,\): expected images", np.zeros((1, 1, 4)))
    refused("masked cells", np.where(np.eye(32) > 0, np.nan, np.zeros((1, 1, 1, 32, 32))))
    refused("numbers from 0 to 255: expected 0 to value_range=1", np.linspace(0, 255, 1024).reshape(1, 1, 32, 32))
    refused("numbers from -1 to 1: expected 0 to", np.linspace(-1, 1, 1024).reshape(1, 1, 32, 32))
    with pytest.raises(ValueError, match=r"weights gave an array of shape \(1, 3\) for 1 pairs"):
        score.lpips(np.zeros((1, 1, 32, 32)), np.zeros((1, 1, 32, 32)), weights=lambda x, y: (x - y).mean(dim=(2, 3)))


# --- the Fréchet distance --------------------------------------------------------------------------------------------------


def with_moments(n, mean, root):
    """n vectors whose sample mean and covariance are exactly the mean and root rootᵀ."""
    raw = RNG.standard_normal((n, len(root)))
    raw -= raw.mean(axis=0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw / (n - 1))).T
    return white @ np.asarray(root).T + mean


def test_the_distance_of_normal_distributions_along_the_axes_is_a_sum_over_them():
    """Σ (μ₁ − μ₂)² + (σ₁ − σ₂)²."""
    x = with_moments(50, [1.0, 2.0, 3.0], np.diag([1.0, 2.0, 3.0]))
    y = with_moments(31, [1.0, 0.0, 7.0], np.diag([1.0, 5.0, 0.5]))
    assert score.frechet_distance(x, y) == pytest.approx(4 + 16 + 9 + 6.25, rel=1e-12)
    assert score.frechet_distance(y, x) == pytest.approx(score.frechet_distance(x, y), rel=1e-12)


def test_the_distance_of_turned_distributions_has_roots_of_matrices_in_it():
    a, b = RNG.standard_normal((2, 4, 4))
    x, y = with_moments(40, RNG.standard_normal(4), a), with_moments(60, RNG.standard_normal(4), b)
    expected = naive.frechet(x.mean(0), np.cov(x.T), y.mean(0), np.cov(y.T))
    assert score.frechet_distance(x, y) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9])
def test_fewer_vectors_than_numbers_in_them_are_no_special_case(n):
    """Turning both sets together changes nothing, nor do numbers that are the same in all vectors."""
    x, y = RNG.standard_normal((n, 3)), 2 * RNG.standard_normal((n + 1, 3))
    expected = score.frechet_distance(x, y)
    turn = np.linalg.qr(RNG.standard_normal((8, 8)))[0]
    wide = [np.concatenate([side, np.full((len(side), 5), 0.25)], axis=1) @ turn for side in (x, y)]
    assert score.frechet_distance(*wide) == pytest.approx(expected, rel=1e-10)


def test_equal_sets_in_any_order_are_at_0_and_a_shift_is_its_square():
    x = 1e3 * RNG.standard_normal((6, 20))
    assert 0 <= score.frechet_distance(x, x[::-1]) < 1e-6
    assert score.frechet_distance(x, x + 3) == pytest.approx(20 * 9)
    constant = np.ones((4, 2))
    assert score.frechet_distance(constant, constant + 1) == 2
    line, other = np.array([[-1.0, 0], [1, 0]]), np.array([[0, -1.0], [0, 1]])  # variances 2, nothing in common
    assert score.frechet_distance(line, other) == pytest.approx(4)


def test_vectors_that_make_no_sense_are_refused():
    for x, y, words in (
        (np.zeros((1, 2)), np.zeros((3, 2)), r"x has shape \(1, 2\): expected \(n, size\), two vectors or more"),
        (np.zeros((3, 2)), np.zeros(3), r"y has shape \(3,\)"),
        (np.zeros((3, 2)), np.zeros((3, 4)), "vectors of 2 numbers and y of 4"),
        (np.zeros((3, 2)), np.array([[0, 0], [0, np.inf]]), r"y\[1\] is not finite"),
    ):
        with pytest.raises(ValueError, match=words):
            score.frechet_distance(x, y)


# --- FVD -------------------------------------------------------------------------------------------------------------------


def steps_and_spread(videos):
    """Two numbers for each video, of arrays (n, time, channel, height, width)."""
    assert videos.dtype == np.float32
    return np.stack([videos.mean(axis=(1, 2, 3, 4)), np.diff(videos, axis=1).std(axis=(1, 2, 3, 4))], axis=1)


@pytest.mark.parametrize("size", [1, 4, 9, 16])
def test_fvd_is_the_distance_of_features_of_whole_videos(size):
    truth, samples = RNG.random((9, 4, 3, 5, 6)), RNG.random((2, 9, 4, 3, 5, 6))
    sides = [steps_and_spread(side.astype(np.float32)) for side in (truth, *samples)]
    expected = [score.frechet_distance(sides[0], side) for side in sides[1:]]
    found = score.fvd(truth, samples, features=steps_and_spread, batch_size=size, per="sample")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert score.fvd(truth, samples, features=steps_and_spread) == pytest.approx(np.mean(expected), rel=1e-5)
    assert score.fvd(truth, samples[0], features=steps_and_spread) == pytest.approx(expected[0], rel=1e-5)
    assert score.fvd(tl.Sequences(truth), samples[0], features=steps_and_spread) == pytest.approx(expected[0], rel=1e-5)


def test_a_torch_network_sees_tensors_as_in_evaluation_and_stays_as_it_was():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(4 * 25, 3)).train()
    truth = RNG.random((8, 4, 1, 5, 5))
    assert score.fvd(truth, truth, features=network) == pytest.approx(0, abs=1e-9)
    assert network.training
    assert next(network.parameters()).grad is None


def test_parts_of_a_network_that_are_frozen_stay_frozen():
    network = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3)).train()
    network[1].eval()
    truth = RNG.random((8, 4, 1, 1, 1))
    score.fvd(truth, truth, features=network)
    assert [part.training for part in network] == [True, False, True, True]
    assert network.training

    class Failing(nn.Module):
        def forward(self, videos):
            raise RuntimeError("no memory")

    broken = nn.Sequential(nn.BatchNorm1d(4).eval(), Failing())
    with pytest.raises(RuntimeError, match="no memory"):
        score.fvd(truth[:, :, 0, 0], truth[:, :, 0, 0], features=broken)
    assert [part.training for part in broken] == [False, True]


def test_without_features_the_message_says_which_and_what_needs_none():
    truth = np.zeros((3, 2, 1, 4, 4))
    with pytest.raises(ValueError, match=r"features=None.*I3D.*\.safetensors.*psnr, ssim and crps need no weights"):
        score.fvd(truth, truth)
    with pytest.raises(TypeError, match="features is a str"):
        score.fvd(truth, truth, features="i3d")
    with pytest.raises(ValueError, match=r"features gave the shape \(3,\) for 3 videos: expected \(3, size\)"):
        score.fvd(truth, truth, features=lambda videos: videos.mean(axis=(1, 2, 3, 4)))
    for at, words in ((0, "features gave nan for video 2 of truth"), (1, "for video 2 of forecasts, sample 0")):
        seen = iter([*[np.zeros((3, 2))] * at, np.array([[0, 1], [1, 0], [1, np.nan]])])
        with pytest.raises(ValueError, match=f"{words}: expected finite numbers"):
            score.fvd(truth, truth, features=lambda videos, seen=seen: next(seen))
    with pytest.raises(ValueError, match="truth has one video"):
        score.fvd(truth[:1], truth[:1], features=steps_and_spread)
    with pytest.raises(ValueError, match="masked cells"):
        score.fvd(np.where(np.eye(4) > 0, np.nan, truth), truth, features=steps_and_spread)
