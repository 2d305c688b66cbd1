"""The pictures of the documentation, drawn from real data: run `python docs/make_images.py` after `make demo`."""

from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent / "images"


def alignment() -> Path:
    """A gesture of the test part and its nearest neighbour in the training part, lined up by DTW."""
    import timelike as tl

    train, test = tl.load("PickupGestureWiimoteZ")
    train, test = train.standardize(per="sequence"), test.standardize(per="sequence")
    nearest = int(tl.DTW().neighbors(train, test[[1]]).ids[0, 0])
    figure = tl.DTW().align(test[1], train[nearest]).plot()
    path = IMAGES / "alignment.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


def warp() -> Path:
    """The same two gestures lined up in continuous time."""
    import timelike as tl

    train, test = tl.load("PickupGestureWiimoteZ")
    train, test = train.standardize(per="sequence"), test.standardize(per="sequence")
    nearest = int(tl.DTW().neighbors(train, test[[1]]).ids[0, 0])
    figure = tl.GDTW(regularization=0.1).align(test[1], train[nearest]).plot()
    path = IMAGES / "gdtw.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


def tap() -> Path:
    """The plan that TAP predicts for two utterances of one speaker, and that of soft-DTW on the same frames."""
    import matplotlib.pyplot as plt

    import timelike as tl

    train, test = tl.load("JapaneseVowels")
    trainer = tl.Trainer(batch_size=16, max_epochs=8, learning_rate=3e-3)
    smaller = tl.metric.AlignmentPredictor(n_kernels=8)
    metric = tl.TAP.preset("paper", hidden=64, alignment=smaller, n_per_class=4, trainer=trainer, random_state=0)
    metric.fit(train[::2])
    x, y = test[0], test[1]
    frames = [metric.scaler_.transform(tl.Sequences([side])) for side in (x, y)]
    n_outputs = metric.network_.transformation.n_outputs
    mapped = [metric.network_.features(*side.to_tensor()).values[0, :, :n_outputs].detach().numpy() for side in frames]
    soft = tl.SoftDTW(gamma=0.1).align(*mapped).plan
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for ax, plan, title in zip(axes, (metric.align(x, y).plan, soft / soft.sum()), ("TAP", "soft-DTW"), strict=True):
        ax.imshow(plan, origin="lower", cmap="Blues", vmin=0)
        ax.set(title=title, xlabel="step of y", ylabel="step of x")
        ax.set(xticks=range(0, len(y), 4), yticks=range(0, len(x), 4))
    return _saved(figure, "tap.png")


def synchronization() -> Path:
    """How far apart the states of a coupled GRU are over time, for pairs of one speaker and of two."""
    import matplotlib.pyplot as plt
    import numpy as np

    import timelike as tl

    train, test = tl.load("JapaneseVowels")
    metric = tl.CoupledGRU.preset(
        "paper", hidden=12, trainer=tl.Trainer(max_epochs=15, learning_rate=1e-2), random_state=0
    ).fit(train)
    same = test.labels[0] == test.labels
    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for mask, color, label in ((same, "C0", "the same speaker"), (~same, "C1", "another speaker")):
        for i, other in enumerate(np.flatnonzero(mask)[1:13]):
            apart = metric.synchronization(test[0], test[int(other)])
            ax.plot(apart, color=color, alpha=0.6, label=label if i == 0 else None)
    ax.set(xlabel="time", ylabel="distance of the two states")
    ax.legend(frameon=False)
    return _saved(figure, "synchronization.png")


def null() -> Path:
    """The statistic of two speakers among those of permutations."""
    import timelike as tl

    train, test = tl.load("JapaneseVowels")
    first, second = train[train.labels == 1], test[test.labels == 2]
    return _saved(tl.distributions.TwoSample(random_state=0).test(first, second).plot(), "null.png")


def evidence() -> Path:
    """Batches of one speaker, and then of another."""
    import timelike as tl

    train, test = tl.load("JapaneseVowels")
    speaker = tl.concat([train[train.labels == 4], test[test.labels == 4]])
    drift = tl.distributions.Drift(speaker[:30], random_state=0)
    for begin in range(30, 70, 5):
        drift.update(speaker[begin : begin + 5])
    for begin in range(0, 15, 5):
        drift.update(test[test.labels == 5][begin : begin + 5])
    return _saved(drift.report().plot(), "evidence.png")


def forecast() -> Path:
    """A noisy oscillation, forecast with its interval, and what came: the example of docs/forecast.md."""
    import numpy as np

    import timelike as tl

    rng = np.random.default_rng(0)
    phase, height = rng.uniform(0, 6, (90, 1, 2)), rng.uniform(0.5, 2, (90, 1, 2))
    X = height * np.sin(np.arange(60)[:, None] / 4 + phase) + 0.05 * rng.standard_normal((90, 60, 2))
    model = tl.Separation(max_steps=150, random_state=0).fit(X[:40]).calibrate(X[40:60])
    future = model.predict(X[60:, :40], horizon=20)
    return _saved(future.plot(0, truth=X[60, 40:]), "forecast.png")


def shapes(n: int, length: int, random_state: int) -> Any:
    """Discs, squares, crosses and rings of 8 × 8 that bounce at random in pictures of 16 × 16."""
    import numpy as np

    from timelike.sequences.generate import moving_digits

    y, x = np.mgrid[-3.5:4.5, -3.5:4.5]
    disc, square = x**2 + y**2 < 11, np.maximum(abs(x), abs(y)) < 3
    cross, ring = (np.minimum(abs(x), abs(y)) < 1) & square, (x**2 + y**2 < 14) & (x**2 + y**2 > 4)
    images = np.tile(np.stack([disc, square, cross, ring]).astype(float), (5, 1, 1))
    how: dict[str, Any] = {"n_digits": 1, "size": 16, "digit_size": 8, "speed": (0.5, 1.5), "stochastic": True}
    return moving_digits(n, length, digits=(images, np.arange(20) % 4), random_state=random_state, **how).sequences


def pictures() -> list[Path]:
    """What SRVP learns of shapes that bounce, in a few minutes: the pictures of docs/forecast.md."""
    import timelike as tl

    train, test = shapes(3000, 15, 0), shapes(40, 25, 1)
    model = tl.SRVP(
        conditioning=5,
        codec=tl.forecast.codecs.MLP(hidden=256),
        inference=tl.forecast.Inference(hidden=256),
        observation_std=0.3,
        max_steps=1500,
        trainer=tl.Trainer(learning_rate=2e-3),
        random_state=0,
    ).fit(train)
    past, truth = test.crop(0, 5), test.crop(5, 25)
    futures = model.predict(past, 20, n_samples=20, random_state=0)
    fine = model.predict(past, 5, frames_per_step=2, substeps=2, random_state=0)
    same = tl.forecast.Persistence().fit(train).predict(past, 20)
    found = tl.score.horizon_scores(truth, {"SRVP, best of 20": futures, "Persistence": same}, trained_horizon=10)
    grid = tl.forecast.swap_grid(model, past[[0, 5, 6]], past[3:5], 10, random_state=0)
    way = tl.forecast.latent_interpolation(model, test[0][:12], test[1][:12])
    return [
        _saved(futures.strip(3, truth=truth), "srvp_strip.png", 80),
        _saved(fine.strip(3), "srvp_rate.png", 80),
        _saved(grid.plot(), "srvp_swaps.png", 80),
        _saved(way.plot(), "srvp_passage.png", 80),
        _saved(found.plot(), "srvp_horizon.png", 80),
    ]


def clips() -> Path:
    """Digits that fly about, as in docs/clips.md but of 32 × 32 pixels and trained for seven minutes of one core."""
    import timelike as tl
    from timelike.sequences.generate import moving_digits

    how: dict[str, Any] = {"n_digits": 1, "size": 32}
    train, test = (moving_digits(n, 16, random_state=seed, **how).sequences for n, seed in ((1000, 0), (10, 1)))
    model = tl.SRVP(codec="sprites", conditioning=5, max_time=420, random_state=0).fit(train)
    futures = model.predict(test.crop(0, 8), 8, n_samples=20, random_state=0)
    return _saved(futures.strip(0, truth=test.crop(8, 16)), "clips_strip.png", 80)


def gans() -> list[Path]:
    """What discriminators teach: the pictures of docs/gans.md, in some minutes."""
    import numpy as np

    from timelike import distributions as ds

    kinds = {"IPM": ds.IPM, "LSGAN": ds.LSGAN}
    rng = np.random.default_rng(2)
    fake, real = 0.6 * rng.standard_normal((8, 2)), 0.6 * rng.standard_normal((8, 2)) + [2.0, 1.0]
    finite: dict[str, Any] = {"width": 64, "steps": 10, "random_state": 0, "antisymmetric": True}
    wide = {f"{width}": finite | {"width": width} for width in (16, 64, 512)}
    by_width = {
        title: {f"width {n}": ds.FiniteDiscriminator(loss=title.lower(), **how) for n, how in wide.items()}
        | {"infinite width": kind(ds.NTK())}
        for title, kind in kinds.items()
    }
    line = rng.standard_normal((5, 1)) - 1.5, rng.standard_normal((5, 1)) + 1.5
    table = {t: {name: kind(kernel) for name, kernel in _gan_kernels(2).items()} for t, kind in kinds.items()}
    high = {t: {name: kind(kernel) for name, kernel in _gan_kernels(512).items()} for t, kind in kinds.items()}
    return [
        _reduced(_saved(ds.plot_landscapes(fake, real, by_width), "gans_landscapes.png", 75)),
        _saved(ds.plot_profiles(*line, by_width), "gans_widths.png", 80),
        _reduced(_saved(ds.plot_dirac_fields(table), "gans_dirac_2.png", 75)),
        _reduced(_saved(ds.plot_dirac_fields(high, dimension=512), "gans_dirac_512.png", 75)),
        *_flows(),
    ]


def _gan_kernels(dimension: int) -> dict[str, Any]:
    """The four kernels of the thesis (D.3.2)."""
    from timelike import distributions as ds

    return {
        "RBF": ds.RBF(width=dimension**0.5),
        "ReLU": ds.NTK(),
        "ReLU without bias": ds.NTK(bias=0.0),
        "sigmoid": ds.NTK(activation="sigmoid", bias=0.2),
    }


def _flows() -> list[Path]:
    """Particles onto eight Gaussians, and how near they are to them on their way."""
    import numpy as np

    from timelike import distributions as ds
    from timelike.plotting import landscapes

    rng = np.random.default_rng(0)
    angles = rng.integers(8, size=300) * (np.pi / 4)
    real = 5 * np.stack([np.cos(angles), np.sin(angles)], axis=1) + 0.5 * rng.standard_normal((300, 2))
    start, flows, curves = rng.standard_normal((300, 2)), {}, {}
    kinds = {name: ds.IPM(kernel) for name, kernel in _gan_kernels(2).items()}
    for name, kind in kinds.items():
        step = 2000.0 if name == "sigmoid" else 2.0
        flow = ds.descend(start, real, kind, steps=3000, step=step, record_every=20, scores=("sinkhorn",))
        flows[name] = {int(flow.frame_steps[i]): flow.frames[i] for i in (0, 1, 5, 20, 150)}
        curves[name] = (flow.history.steps("sinkhorn"), flow.history["sinkhorn"])
    last = (1, 1, 1, 1, 0.1, 0.01)
    how: dict[str, Any] = {"steps": 3000, "step": 2.0, "schedule": last, "record_every": 20, "scores": ("sinkhorn",)}
    flow = ds.descend(start, real, kinds["ReLU"], **how)
    curves["ReLU, smaller last steps"] = (flow.history.steps("sinkhorn"), flow.history["sinkhorn"])
    return [
        _reduced(_saved(ds.plot_particles(flows, real, kinds), "gans_particles.png", 62)),
        _saved(landscapes.plot_descents(curves), "gans_descent.png", 80),
    ]


def looking() -> list[Path]:
    """Recordings of four motions: neighbours, clusters, a map of vectors, and a confusion matrix for a dark page."""
    import timelike as tl

    names = ["ax", "ay", "az", "gx", "gy", "gz"]
    train, test = (part.replace(channel_names=names) for part in tl.load("BasicMotions"))
    metric = tl.DTW(window=0.1)
    gestures = tl.load("GunPoint", split="train")
    groups = tl.KMeans(3, metric=metric, random_state=0).fit(gestures)
    rocket = tl.Rocket(n_features=2000, random_state=0).fit(train)
    answers = tl.Neighbors("euclidean").fit(train).predict(test)
    found = tl.score.classification_scores(test.labels, answers, random_state=0)
    return [
        _saved(metric.neighbors(train, test, k=3).plot(query=12, channel="ax"), "looking_matches.png", 80),
        _saved(groups.plot(gestures), "looking_clusters.png", 80),
        _saved(rocket.plot(test), "looking_map.png", 80),
        _saved(found.plot(shares=False, dark=True), "looking_confusion.png", 80),
    ]


def _reduced(path: Path) -> Path:
    """A picture of smooth colours with 256 of them, and a part of the size."""
    from PIL import Image

    with Image.open(path) as whole:
        few = whole.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    return path


def _saved(figure: Any, name: str, resolution: int = 120) -> Path:
    path = IMAGES / name
    figure.savefig(path, dpi=resolution, metadata={"Software": None})
    return path


if __name__ == "__main__":
    print(
        alignment(),
        warp(),
        tap(),
        synchronization(),
        null(),
        evidence(),
        forecast(),
        *pictures(),
        clips(),
        *gans(),
        *looking(),
    )
