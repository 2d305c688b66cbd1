"""Encoders of single images and of vectors: their networks, what they learn from, and what they refuse."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.datasets import load_digits

import timelike as tl
from timelike.encode.images.network import SafeBatchNorm2d
from timelike.encode.objectives.views import ImageViews, VectorViews

RNG = np.random.default_rng(0)
IMAGES = tl.Sequences(RNG.random((9, 2, 12, 10)), layout="nchw")
VECTORS = tl.Sequences(RNG.random((9, 7)), layout="nc")
QUICK = {"max_steps": 2, "trainer": tl.Trainer(batch_size=4), "random_state": 0}
ENCODERS = [
    (tl.encode.ImageEncoder(**QUICK), IMAGES),
    (tl.encode.ImageEncoder(architecture="resnet", **QUICK), IMAGES),
    (tl.encode.VectorEncoder(**QUICK), VECTORS),
]
KINDS = pytest.mark.parametrize(("encoder", "X"), ENCODERS, ids=["lenet", "resnet", "vectors"])


class TestNetworks:
    def test_lenet_is_the_one_of_the_paper(self):
        network = tl.encode.ImageEncoder(random_state=0).network((1, 28, 28)).eval()
        weights = list(network.parameters())
        assert [tuple(w.shape) for w in weights[::2]] == [(10, 1, 5, 5), (20, 10, 5, 5), (50, 320)]
        x = torch.randn(3, 1, 28, 28)
        first = F.relu(F.max_pool2d(F.conv2d(x, weights[0], weights[1]), 2))
        second = F.relu(F.max_pool2d(F.conv2d(first, weights[2], weights[3]), 2))
        expected = F.relu(second.flatten(1) @ weights[4].T + weights[5])
        torch.testing.assert_close(network(x[:, None]), expected)

    def test_half_of_the_channels_of_lenet_are_dropped_as_a_whole(self):
        network = tl.encode.ImageEncoder(random_state=0).network((1, 28, 28)).train()
        torch.manual_seed(0)
        channels = network.backbone[:7](torch.randn(200, 1, 28, 28)).amax((2, 3))
        assert 0.4 < float((channels == 0).float().mean()) < 0.6

    @pytest.mark.parametrize("dropout", [0.0, 0.25])
    def test_dropout_that_is_given_is_taken_and_otherwise_fit_has_none(self, dropout):
        def share(network):
            return next(layer.p for layer in network.modules() if isinstance(layer, torch.nn.Dropout2d))

        given = tl.encode.ImageEncoder(dropout=dropout, **QUICK)
        assert share(given.network(IMAGES.frame)) == share(given.fit(IMAGES).network_) == dropout
        assert share(tl.encode.ImageEncoder(**QUICK).fit(IMAGES).network_) == 0
        assert share(tl.encode.ImageEncoder(architecture="resnet").network(IMAGES.frame)) == 0

    def test_the_residual_network_is_small(self):
        network = tl.encode.ImageEncoder(architecture="resnet").network((1, 28, 28))
        assert 100_000 < sum(w.numel() for w in network.parameters()) < 300_000

    @pytest.mark.parametrize("architecture", ["lenet", "resnet"])
    @pytest.mark.parametrize("frame", [(1, 1, 1), (3, 2, 17), (1, 15, 16), (3, 33, 40), (1, 90, 16)])
    def test_images_of_any_size_have_vectors_and_gradients(self, architecture, frame):
        network = tl.encode.ImageEncoder(architecture=architecture, n_features=5).network(frame)
        assert sum(w.numel() for w in network.parameters()) < 300_000
        found = network(torch.randn(2, 1, *frame))
        assert found.shape == (2, 5)
        found.square().sum().backward()
        assert all(w.grad is not None and w.grad.isfinite().all() for w in network.parameters())

    def test_several_frames_have_the_mean_of_their_vectors(self):
        for network, frame in ((tl.nn.ImageNetwork((1, 6, 5), dropout=0.0), (1, 6, 5)), (tl.nn.VectorNetwork(4), (4,))):
            x = torch.randn(2, 3, *frame)
            expected = torch.stack([network(x[i, :length, None].transpose(0, 1)[0][:, None]).mean(0)
                                    for i, length in enumerate((3, 2))])  # fmt: skip
            torch.testing.assert_close(network(x, [3, 2]), expected)
            torch.testing.assert_close(network(x.flatten(2), [3, 2]), expected)

    def test_batch_normalization_of_a_single_number_is_by_what_was_seen(self):
        norm = SafeBatchNorm2d(3)
        x = torch.randn(1, 3, 1, 1)
        torch.testing.assert_close(norm(x), norm.eval()(x))
        many = torch.randn(5, 3, 2, 2)
        torch.testing.assert_close(norm.train()(many), F.batch_norm(many, None, None, training=True))


class TestViews:
    def test_a_view_of_an_image_is_the_image_moved(self):
        images = torch.from_numpy(RNG.random((40, 1, 2 * 6 * 8)).astype(np.float32))
        found = ImageViews((2, 6, 8), shift=0.25, jitter=0.0)(images, np.ones(40), RNG)[0].reshape(40, 2, 6, 8).numpy()
        seen = set()
        for image, view in zip(images.reshape(40, 2, 6, 8).numpy(), found, strict=True):
            around = np.pad(image, ((0, 0), (2, 2), (2, 2)), mode="edge")
            places = [(i, j) for i in range(5) for j in range(5)
                      if np.array_equal(around[:, i : i + 6, j : j + 8], view)]  # fmt: skip
            assert len(places) == 1
            seen |= set(places)
        assert len(seen) > 10

    def test_a_view_of_a_vector_has_some_numbers_at_their_mean_and_noise_in_the_others(self):
        x = torch.full((2000, 1, 10), 5.0)
        found = VectorViews(mask_share=0.3, jitter=0.2)(x, np.ones(2000), np.random.default_rng(0))[0]
        masked = found == 0
        assert float(masked.float().mean()) == pytest.approx(0.3, abs=0.01)
        assert float(found[~masked].mean()) == pytest.approx(5.0, abs=0.02)
        assert float(found[~masked].std()) == pytest.approx(0.2, abs=0.01)


class TestEncoders:
    @KINDS
    def test_no_steps_leave_the_network_as_it_was_drawn(self, encoder, X):
        drawn = clone(encoder).set_params(max_steps=0).fit(X)
        for one, other in zip(drawn.network_.parameters(), encoder.network(X.frame).parameters(), strict=True):
            assert torch.equal(one, other)

    @KINDS
    def test_an_item_has_the_same_bits_alone_from_a_stream_and_from_a_folder(self, encoder, X, tmp_path):
        fitted = encoder.fit(X)
        vectors, stream = fitted.encode(X), fitted.stream()
        for i in (4, 0, 8):
            np.testing.assert_array_equal(fitted.encode(X[[i]])[0], vectors[i])
            np.testing.assert_array_equal(stream.push(X[i][0]), vectors[i])  # whatever came before
        fitted.save(tmp_path / "encoder")
        np.testing.assert_array_equal(tl.load_model(tmp_path / "encoder").encode(X), vectors)

    @KINDS
    def test_some_are_held_out_where_it_is_asked_for(self, encoder, X):
        again = clone(encoder).set_params(trainer__validation=0.3).fit(X)
        assert np.isfinite(again.history_["score"]).all()

    def test_pixels_are_standardized_whatever_their_unit(self):
        bytes_ = RNG.integers(0, 256, (6, 1, 12, 12)).astype(np.uint8)
        found = [
            tl.encode.ImageEncoder(**QUICK).fit(X).encode(X)
            for X in (tl.Sequences(images, layout="nchw") for images in (bytes_, bytes_ / 255.0))
        ]
        np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-3)

    def test_a_moved_image_finds_itself_after_training(self):
        digits = load_digits().images[:300]
        X = tl.Sequences(digits, layout="nchw")
        moved = tl.Sequences(np.pad(digits, ((0, 0), (0, 0), (1, 0)), mode="edge")[:, :, :-1], layout="nchw")
        found = []
        for steps in (0, 60):
            trainer = tl.Trainer(batch_size=32)
            encoder = tl.encode.ImageEncoder(shift=0.13, max_steps=steps, trainer=trainer, random_state=0).fit(X)
            found.append(np.mean(encoder.neighbors(X, moved).ids[:, 0] == np.arange(300)))
        assert found[1] > found[0] + 0.1

    def test_a_vector_with_gaps_finds_itself_after_training(self):
        rng = np.random.default_rng(0)
        whole = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12))  # three numbers say the rest
        X, gaps = tl.Sequences(whole, layout="nc"), tl.Sequences(whole * (rng.random(whole.shape) > 0.25), layout="nc")
        found = []
        for steps in (0, 150):
            encoder = tl.encode.VectorEncoder(max_steps=steps, random_state=0).fit(X)
            found.append(np.mean(encoder.neighbors(X, gaps).ids[:, 0] == np.arange(300)))
        assert found[1] > found[0] + 0.1

    def test_they_serve_heads_and_neighbours(self):
        digits, y = load_digits(return_X_y=True)
        X = tl.Sequences(digits[:300].reshape(-1, 8, 8), layout="nchw")
        encoder = tl.encode.ImageEncoder(max_steps=20, random_state=0)
        assert tl.EmbeddingClassifier(encoder, head="logistic").fit(X[:200], y[:200]).score(X[200:], y[200:300]) > 0.7
        flat = tl.Sequences(digits[:300], layout="nc")
        metric = tl.encode.VectorEncoder(max_steps=20, random_state=0).fit(flat)
        assert tl.Neighbors(metric).fit(flat[:200], y[:200]).score(flat[200:], y[200:300]) > 0.7


def test_a_model_that_was_fitted_on_images_or_vectors_says_how_they_are_given():
    y = [0, 1, 2] * 3
    for X, raw, layout in ((IMAGES, np.zeros((2, 2, 12, 10)), "nchw"), (VECTORS, np.zeros((2, 7)), "nc")):
        model = tl.EmbeddingClassifier(tl.Rocket(n_features=20, random_state=0)).fit(X, y)
        with pytest.raises(ValueError, match=rf'was fitted on .*layout="{layout}"'):
            model.predict(raw)


def _fitted(kind, X):
    return kind(**QUICK).fit(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.encode.ImageEncoder().fit(np.zeros((5, 1, 28, 28))),
         r'frames of shape \(28, 28\): ImageEncoder expected \(channel, height, width\); .*layout="nchw"'),
        (lambda: tl.encode.ImageEncoder().fit(np.zeros((5, 28, 28))), r'frames of shape \(28,\).*layout="nchw"'),
        (lambda: tl.encode.ImageEncoder().fit(np.zeros((5, 3, 1, 8, 8))),
         r'sequences of 3 steps: ImageEncoder takes single images.*layout="nchw"'),
        (lambda: tl.encode.VectorEncoder().fit(np.zeros((5, 7))), r'7 steps: VectorEncoder takes single vectors.*layout="nc"'),
        (lambda: tl.encode.VectorEncoder().fit([[1.0], [1.0, 2.0]]), r"sequences of up to 2 steps"),
        (lambda: _fitted(tl.encode.ImageEncoder, IMAGES).encode(tl.Sequences(np.zeros((2, 2, 12, 11)), layout="nchw")),
         r"X has frames of shape \(2, 12, 11\): this ImageEncoder was fitted on \(2, 12, 10\); resize images of another"),
        (lambda: _fitted(tl.encode.ImageEncoder, IMAGES).pairwise(np.zeros((2, 3, 2, 12, 10))), r"sequences of 3 steps"),
        (lambda: _fitted(tl.encode.ImageEncoder, IMAGES).distance(np.zeros((2, 12, 10)), np.zeros((2, 12, 10))),
         r"x has frames of shape \(12, 10\).*one alone x\[None\]"),
        (lambda: _fitted(tl.encode.VectorEncoder, VECTORS).pairwise(np.zeros((2, 7)), VECTORS), r"X.*frames of shape \(1,\)"),
        (lambda: _fitted(tl.encode.VectorEncoder, VECTORS).neighbors(VECTORS, np.zeros((2, 4, 7))), r"sequences of 4 steps"),
        (lambda: _fitted(tl.encode.ImageEncoder, IMAGES).stream().push(np.zeros((12, 10))), r"sample has shape \(12, 10\)"),
        (lambda: tl.encode.ImageEncoder(architecture="vgg").fit(IMAGES), r"architecture='vgg': expected one of 'lenet'"),
        (lambda: tl.encode.ImageEncoder(shift=0.7).fit(IMAGES), r"shift=0.7"),
        (lambda: tl.encode.VectorEncoder(mask_share=1.0).fit(VECTORS), r"mask_share=1.0"),
        (lambda: tl.nn.ImageNetwork((28, 28)), r"frame=\(28, 28\): .*\(channel, height, width\)"),
    ],
)  # fmt: skip
def test_what_is_no_single_item_is_refused_with_the_way_to_give_it(call, words):
    with pytest.raises(ValueError, match=words):
        call()
