"""Sprites beside loops: patches lie where the state says, are cut off at borders, and are learned."""

import numpy as np
import pytest
import torch

import timelike as tl
from latent_options import srvp
from timelike.forecast.codecs.sprites import SpriteDecoder
from timelike.sequences.generate import moving_digits


def sprites(n_channels=1, height=8, width=6, n_content=3, n_state=2, n_sprites=2, squash=False):
    torch.manual_seed(0)
    made = SpriteDecoder(
        n_channels,
        height,
        width,
        n_content=n_content,
        n_state=n_state,
        n_sprites=n_sprites,
        hidden=5,
        use_sigmoid=squash,
    ).double()
    torch.nn.init.normal_(made.background.weight)
    return made


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def looped(module, row):
    """One picture, pixel by pixel: every place of the middle, by its weight, lays the whole patch there."""
    height, width = module.size
    n_channels, tall, wide = module.patch_shape
    content = row[: module.n_content] if module.n_content else row
    state = row[module.n_content :]
    with torch.no_grad():
        places = module.position_head(state).reshape(module.n_sprites, height + width).numpy()
        patches = module.patch_head(content).reshape(module.n_sprites, n_channels, tall, wide).numpy()
        picture = module.background(content).reshape(n_channels, height, width).numpy().copy()
    for place, patch in zip(places, patches, strict=True):
        down, across = softmax(place[:height]), softmax(place[height:])
        for i in range(height):
            for j in range(width):
                for p in range(tall):
                    for q in range(wide):
                        h, w = i + p - tall // 2, j + q - wide // 2
                        if 0 <= h < height and 0 <= w < width:
                            picture[:, h, w] += down[i] * across[j] * patch[:, p, q]
    return picture


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"height": 5, "width": 5},
        {"height": 4, "width": 9, "n_sprites": 1},
        {"n_channels": 3, "n_sprites": 3},
        {"n_content": 0},
    ],
)
def test_pictures_are_patches_laid_by_their_weights(shape):
    module = sprites(**shape)
    rows = torch.randn(4, module.n_content + 2, dtype=torch.float64)
    found = module(rows, []).detach().numpy()
    np.testing.assert_allclose(found, [looped(module, row) for row in rows], atol=1e-12)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (7, 5), (3, 2)])
def test_a_certain_place_has_the_patch_as_it_is_and_borders_cut_it_off(row, column):
    module = sprites(n_sprites=1)
    with torch.no_grad():
        for weight in module.position_head.parameters():
            weight.zero_()
        module.position_head.layers[-1].bias[row] = 1000.0
        module.position_head.layers[-1].bias[8 + column] = 1000.0
    code = torch.randn(1, 5, dtype=torch.float64)
    with torch.no_grad():
        patch = module.patch_head(code[:, :3]).reshape(4, 3)
        behind = module.background(code[:, :3]).reshape(8, 6)
        whole = torch.zeros(8 + 4, 6 + 3, dtype=torch.float64)  # with room for what hangs over
        whole[row : row + 4, column : column + 3] = patch
    np.testing.assert_array_equal(module(code, []).detach()[0, 0], behind + whole[2:10, 1:7])


def test_gradients_are_those_of_finite_differences():
    module = sprites(height=4, width=5)
    code = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: module(x, []), (code,))


def test_a_squashed_picture_is_dark_at_first():
    module = SpriteDecoder(1, 8, 8, n_content=3, n_state=2, n_sprites=1, hidden=4, use_sigmoid=True)
    with torch.no_grad():
        assert float(torch.sigmoid(module(torch.randn(50, 5), [])).mean()) < 0.1


@pytest.fixture(scope="module")
def clips():
    return moving_digits(n=120, length=14, n_digits=1, size=16, random_state=0).sequences


@pytest.fixture(scope="module")
def model(clips):
    options = {"codec": "sprites", "n_sprites": 1, "filters": 8, "batch_size": 16, "beta": 1.0}
    return srvp(**options, max_steps=80, random_state=0).fit(clips[:100])


def test_what_moves_is_learned_sooner_than_that_a_picture_is_dark(model, clips):
    frames = np.stack(list(clips[100:]))
    again = np.stack(list(model.reconstruct(clips[100:])))
    assert np.mean((again - frames) ** 2) < 0.8 * np.mean(frames**2)


def test_a_saved_model_gives_the_same_futures(model, clips, tmp_path):
    past = clips[100:104].crop(5)
    model.save(tmp_path / "model")
    other = tl.load_model(tmp_path / "model")
    one, two = (each.predict(past, 6, n_samples=3, random_state=1).samples for each in (model, other))
    np.testing.assert_array_equal(one, two)


def test_a_past_has_the_same_futures_alone_and_in_company(model, clips):
    together = model.predict(clips[100:110].crop(5), 6, n_samples=3, random_state=1).samples
    alone = model.predict(clips[104:105].crop(5), 6, n_samples=3, random_state=1).samples
    np.testing.assert_array_equal(together[:, 4:5], alone)


def test_skips_are_refused():
    """They draw from the content and the state alone."""
    with pytest.raises(TypeError, match="skips"):
        tl.forecast.codecs.Sprites(skips=True)


def test_vectors_are_refused():
    with pytest.raises(ValueError, match="codec='sprites' is for images"):
        tl.SRVP(codec="sprites", max_steps=1).fit(np.random.default_rng(0).normal(size=(5, 30, 3)))


def test_separation_has_no_sprites(clips):
    with pytest.raises(ValueError, match="codec='sprites': expected one of"):
        tl.Separation(codec="sprites", max_steps=1).fit(clips)
