"""Calls of the library that take long: what each needs beforehand, the call itself, and how one Ctrl-C is to end it."""

from __future__ import annotations

from typing import NamedTuple

RAISES, EARLY = "KeyboardInterrupt", "ended early"


class Call(NamedTuple):
    """A line of Python that takes long; `before` is run first, and `rng`, `np` and `tl` are there."""

    name: str
    line: str
    before: str = ""
    ends: str = RAISES
    native: bool = True
    presses: int = 1


def _learned(kind: str) -> str:
    """A model `m` of the paper's network, which leaves no step of what it is asked about out."""
    return _classes(16, 20) + f"; m = tl.{kind}.preset('paper', trainer=tl.Trainer(max_epochs=1)).fit(X); "


def _classes(n: int, length: int, channels: int = 3) -> str:
    """Sequences in four classes, for what learns from them; a training before has loaded what the first one loads."""
    metric = "tl.SiameseGRU(hidden=2, trainer=tl.Trainer(max_epochs=1))"
    warm = f"{metric}.fit(rng.standard_normal((8, 4, 1)), np.arange(8) % 2); "
    return f"{warm}X = tl.Sequences(rng.standard_normal(({n}, {length}, {channels})), labels=np.arange({n}) % 4)"


def _steps(n: int, length: int, channels: int = 1) -> str:
    return f"X = rng.standard_normal(({n}, {length}, {channels}))"


LONG = "x, y = rng.standard_normal((2, 200_000, 1))"
PAIR = "import torch; x, y = (torch.from_numpy(rng.standard_normal((1, {0}, {1}))).requires_grad_() for _ in 'xy')"
BATCH = "import torch; x, y = (torch.from_numpy(rng.standard_normal(({0}, {1}, 2))).requires_grad_() for _ in 'xy')"

ELASTIC = [
    Call("DTW, all pairs", "tl.DTW().pairwise(X)", _steps(3000, 3000)),
    Call("DTW, all pairs, one thread", "tl.DTW().pairwise(X, n_jobs=1)", _steps(3000, 3000)),
    Call("DTW, neighbours", "tl.DTW(window=0.1).neighbors(X, X, k=9)", _steps(4000, 2000)),
    Call("MSM, neighbours", "tl.MSM().neighbors(X, X, k=9)", _steps(3000, 3000)),
    Call("DTW, one pair of 400 000 steps", "tl.DTW().distance(x, y)", LONG.replace("200_000", "400_000")),
    Call("TWE, one pair of 200 000 steps", "tl.TWE().distance(x, y)", LONG),
    Call("DTW, path of 200 000 steps", "tl.DTW().align(x, y)", LONG),
    Call("ERP, path of 200 000 steps", "tl.ERP().align(x, y)", LONG),
    Call("DTW, 512 channels", "tl.DTW().pairwise(X)", _steps(60, 3000, 512)),
    Call("subsequence of a stream", "tl.subsequence(x[:20_000], np.tile(y, (50, 1)), k=3)", LONG),
    Call("Spring over a stream that matches", "spring.extend(np.zeros((10_000_000, 1)))",
         "spring = tl.align.Spring(np.zeros((20_000, 1)), threshold=1.0, lengths=None)"),
    Call("DTW without kernels", "tl.DTW().pairwise(X)", _steps(1000, 1000), native=False),
    Call("DTW without kernels, one long pair", "tl.DTW().distance(x, y)", LONG, native=False),
    Call("subsequence without kernels", "tl.subsequence(x[:20_000], y, k=3)", LONG, native=False),
]  # fmt: skip

SMOOTH = [
    Call("soft-DTW, all pairs", "tl.SoftDTW().pairwise(X)", _steps(1500, 1500)),
    Call("soft-DTW, one pair of 100 000 steps", "tl.SoftDTW().distance(x[:100_000], y[:100_000])", LONG),
    Call("soft-DTW, alignment of 15 000 steps", "tl.SoftDTW().align(x[:15_000], y[:15_000])", LONG),
    Call("nn.SoftDTW, forward, one long pair", "tl.nn.SoftDTW()(x.detach(), y.detach())", PAIR.format(100_000, 1)),
    Call("nn.SoftDTW, backward, one long pair", "cost.sum().backward()",
         PAIR.format(30_000, 1) + "; cost = tl.nn.SoftDTW()(x, y)"),
    Call("nn.SoftDTW, batches there and back", "[tl.nn.SoftDTW()(x, y).sum().backward() for _ in range(99)]",
         BATCH.format(64, 2000)),
    Call("nn.SoftDTW without kernels",
         "[tl.nn.SoftDTW()(x, y).sum().backward() for _ in range(99)]", BATCH.format(8, 1000),
         native=False),
    Call("GDTW, all pairs", "tl.GDTW().pairwise(X)", _steps(300, 400)),
    Call("GDTW, one pair of 30 000 steps", "tl.GDTW().align(x[:30_000], y[:30_000])", LONG),
    Call("nn.DecDTW, batches there and back", "[tl.nn.DecDTW()(x, y).phi.sum().backward() for _ in range(99)]",
         BATCH.format(32, 500)),
    Call("nn.DecDTW, one pair of 20 000 steps", "tl.nn.DecDTW()(x, y).phi.sum().backward()", PAIR.format(20_000, 2)),
    Call("GDTW without kernels", "tl.GDTW().pairwise(X)", _steps(100, 200), native=False),
    Call("Sinkhorn, all pairs", "tl.Sinkhorn().pairwise(X)", _steps(800, 400)),
    Call("Sinkhorn, one pair of 6000 steps", "tl.Sinkhorn(regularization=1e-4).distance(x[:6000], y[:6000])", LONG),
    Call("OPW, all pairs", "tl.OPW().pairwise(X)", _steps(800, 400)),
    Call("OPW, one pair of 10 000 steps", "tl.OPW().align(x[:10_000], y[:10_000])", LONG),
    Call("TCOT, one pair of 6000 steps", "tl.align.TCOT().align(x[:6000], y[:6000])", LONG),
    Call("OT, one pair of 4000 steps", "tl.OT().distance(x[:4000], y[:4000])", LONG),
    Call("nn.Sinkhorn, there and back",
         "[tl.nn.Sinkhorn()(x, y).sum().backward() for _ in range(99)]", BATCH.format(8, 800)),
    Call("Sinkhorn without kernels", "tl.Sinkhorn().pairwise(X)", _steps(300, 300), native=False),
]  # fmt: skip

BUILT_ON = [
    Call("barycenter under DTW", "tl.barycenter(X, max_iter=999, tolerance=0)", _steps(200, 2000)),
    Call("barycenter under soft-DTW",
         "tl.barycenter(X, metric=tl.SoftDTW(), max_iter=999, tolerance=0)", _steps(200, 1000)),
    Call("KMeans", "tl.KMeans(k=8, max_iter=999).fit(X)", _steps(400, 500)),
    Call("KMedoids", "tl.KMedoids(k=8).fit(X)", _steps(3000, 1500)),
    Call("neighbours of a fitted classifier", "tl.Neighbors(tl.MSM()).fit(X, y).predict(X)",
         _steps(3000, 1500) + "; y = np.arange(len(X)) % 4"),
    Call("grid search over DTW",
         "GridSearchCV(tl.Neighbors(tl.DTW()), {'metric__window': [None, 0.5]}).fit(X, X.labels)",
         "from sklearn.model_selection import GridSearchCV; " + _classes(2000, 1500, 1)),
    Call("grid search over trainings (two presses)",
         "GridSearchCV(tl.Neighbors(tl.SiameseGRU(trainer=tl.Trainer(max_epochs=50))), {'metric__hidden': [4, 8]}, "
         "error_score='raise').fit(X, X.labels)",
         "from sklearn.model_selection import GridSearchCV; " + _classes(60, 200), presses=2),
    Call("loading many files", "tl.concat([tl.load(file) for file in files])",
         "import tempfile, pathlib; folder = tempfile.mkdtemp(); "
         "text = 'id,a\\n' + '\\n'.join(f'{i // 50},{i}.5' for i in range(5000)); "
         "files = [pathlib.Path(folder, f'{i}.csv') for i in range(3000)]; [file.write_text(text) for file in files]"),
    Call("loading one long table", "tl.load(folder + '/long.csv')",
         "import tempfile, pathlib; folder = tempfile.mkdtemp(); "
         "part = '\\n'.join(f'{i},{i}.5' for i in range(100_000)) + '\\n';"
         "pathlib.Path(folder, 'long.csv').write_text('id,a\\n' + part * 150)"),
]  # fmt: skip

LEARNED = [
    Call("TAP, training, 400 × 600 steps", "tl.TAP(random_state=0).fit(X)", _classes(400, 600), EARLY),
    Call("TAP, training, 200 × 60 steps", "tl.TAP(random_state=0).fit(X)", _classes(200, 60), EARLY),
    Call("TAP, all pairs", "m.pairwise(Z)",
         _learned("TAP") + "Z = rng.standard_normal((200, 600, 3))"),
    Call("TAP, one pair of 10 000 steps", "m.distance(Z[0], Z[1])",
         _learned("TAP") + "Z = rng.standard_normal((2, 10_000, 3))"),
    Call("TAP without kernels, training", "tl.TAP(random_state=0).fit(X)", _classes(60, 60), EARLY, native=False),
    Call("AlignedFrames over DTW, training",
         "tl.metric.AlignedFrames(random_state=0).fit(X)", _classes(200, 100), EARLY),
    Call("CoupledGRU, training", "tl.CoupledGRU(random_state=0).fit(X)", _classes(400, 600), EARLY),
    Call("CoupledGRU, training on 5000 steps", "tl.CoupledGRU(random_state=0).fit(X)", _classes(40, 5000), EARLY),
    Call("CoupledGRU, all pairs", "m.pairwise(Z)",
         _learned("CoupledGRU") + "Z = rng.standard_normal((1000, 1000, 3))"),
    Call("CoupledGRU, one pair of 1 000 000 steps", "m.distance(Z[0], Z[1])",
         _learned("CoupledGRU") + "Z = rng.standard_normal((2, 1_000_000, 3))"),
    Call("CoupledGRU without kernels, training",
         "tl.CoupledGRU(random_state=0).fit(X)", _classes(60, 100), EARLY, native=False),
    Call("SiameseGRU, training", "tl.SiameseGRU(random_state=0).fit(X)", _classes(400, 600), EARLY),
    Call("SiameseGRU, training on 5000 steps", "tl.SiameseGRU(random_state=0).fit(X)", _classes(40, 5000), EARLY),
    Call("SiameseGRU, all pairs", "m.pairwise(Z)",
         _learned("SiameseGRU") + "Z = rng.standard_normal((4000, 2000, 3))"),
    Call("CausalEncoder, training",
         "tl.CausalEncoder(max_steps=9999, random_state=0).fit(X)", _classes(200, 500), EARLY),
    Call("CausalEncoder, training on 20 000 steps", "tl.CausalEncoder(max_steps=9999, random_state=0).fit(X)",
         _classes(10, 20_000), EARLY),
    Call("CausalEncoder, vectors", "m.encode(Z)",
         _classes(16, 20) + "; m = tl.CausalEncoder(max_steps=1).fit(X); Z = rng.standard_normal((3000, 1000, 3))"),
    Call("CausalEncoder, one vector of 300 000 steps", "m.encode(Z)",
         _classes(16, 20) + "; m = tl.CausalEncoder(max_steps=1).fit(X); Z = rng.standard_normal((1, 300_000, 3))"),
    Call("RecurrentEncoder, training",
         "tl.RecurrentEncoder(max_steps=9999, random_state=0).fit(X)", _classes(200, 500), EARLY),
    Call("RVSML, training", "tl.metric.RVSML(random_state=0).fit(X)", _classes(1000, 300), EARLY),
    Call("DeepRVSML, training", "tl.metric.DeepRVSML(random_state=0).fit(X)", _classes(400, 300), EARLY),
    Call("ElementWise, training", "tl.metric.ElementWise(random_state=0).fit(X)", _classes(400, 300), EARLY),
]  # fmt: skip

PARTS = {"elastic": ELASTIC, "smooth": SMOOTH, "built-on": BUILT_ON, "learned": LEARNED}
