"""A copy of the library with four methods more, each added as CONTRIBUTING says: its file, and one line in its package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import timelike
from timelike import native

ROOT = Path(__file__).resolve().parents[2]


class Addition(NamedTuple):
    package: str
    file: str
    name: str
    source: str
    peer: str  # a method that is there already and is put to the same tests
    least: int  # how many of them there are, so that none of them being found is no success

    @property
    def line(self):
        return f"    from .{self.file} import {self.name} as {self.name}\n"


DISTANCE = '''
"""A toy: DTW whose steps off the diagonal cost a constant, by a recurrence that is there already."""

from __future__ import annotations

from dataclasses import dataclass

from .. import native
from ..core.parameters import check_float
from ..sequences import Sequences
from .elastic import ElasticDistance


@dataclass(frozen=True, kw_only=True, repr=False)
class ToyDistance(ElasticDistance):
    """D(i, j) = ‖x_i − y_j‖² + min(D(i−1, j−1), D(i−1, j) + price, D(i, j−1) + price)."""

    price: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.price, "price", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="amerced", first=self.price, band=self._warping_band)
'''

LOSS = '''
"""A toy: the mean positive should be nearer than the mean negative."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss, masked_mean


@dataclass(frozen=True, kw_only=True)
class ToyLoss(Loss):
    """max(mean_p d_p − mean_n d_n + margin, 0) for each query."""

    margin: float = 0.3

    def __post_init__(self) -> None:
        check_float(self.margin, "margin", 0.0)

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """One hinge for each query."""
        near, far = (masked_mean(pairs.distances, side) for side in (pairs.positive, pairs.negative))
        return F.relu(near - far + self.margin)
'''

ENCODER = '''
"""A toy: the mean over time of one layer, from which the mean of a sequence can be told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..core.parameters import store_parameters
from ..models import options
from ..sequences import Sequences
from ..sequences.sampling import RandomState
from ..train import Batch, Objective, Trained, Trainer, shuffled_batches
from ..train.double_precision import double_precision_copy
from ..train.torch_threads import torch_threads
from ..train.budget import DefaultBudget
from ..train.optimizers import make_optimizer
from .base import Encoder, StandardizedStream


class Averaging(nn.Module):
    """mean_t tanh(W x_t + b), and a map from that to a frame."""

    def __init__(self, n_channels: int, n_features: int) -> None:
        super().__init__()
        self.layer, self.told = nn.Linear(n_channels, n_features), nn.Linear(n_features, n_channels)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature)."""
        there = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None]
        steps = torch.tanh(self.layer(torch.where(there, x, 0.0)))  # nan times 0 would be nan
        return (steps * there).sum(1) / lengths[:, None]


class ToldMean(Objective):
    """The mean of a sequence, told from its vector."""

    def __init__(self, network: Averaging, ready: Sequences, trainer: Trainer) -> None:
        self.module, self.ready, self.trainer = network, ready, trainer

    def optimizers(self) -> torch.optim.Optimizer:
        """That of the trainer."""
        return make_optimizer(self.module.parameters(), self.trainer)

    def batches(self, epoch: int, rng: np.random.Generator) -> Any:
        """Every sequence once."""
        for ids in shuffled_batches(len(self.ready), self.trainer.batch_size, rng):
            x, lengths = self.ready[ids].to_tensor()
            means = torch.stack([one[:n].mean(0) for one, n in zip(x, lengths.tolist(), strict=True)])
            yield Batch(ids, x=x, lengths=lengths, means=means)

    def loss(self, batch: Batch) -> Tensor:
        """The mean square of what is missed."""
        return nn.functional.mse_loss(self.module.told(self.module(batch["x"], batch["lengths"])), batch["means"])


class ToyEncoder(Trained, Encoder):
    """Vectors that know the mean of their sequence.

    Parameters
    ----------
    n_features : int
        Size of a vector.
    max_steps, max_time, standardize, progress, random_state
        As in `CausalEncoder`.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=8`, `learning_rate=1e-2`.
    """

    n_features = options.integer(1)

    network_: Averaging
    _own_trainer = Trainer(batch_size=8, learning_rate=1e-2)
    _default_budget = DefaultBudget(step_range=(2, 1000))
    _validation_scores = ()

    def __init__(
        self,
        *,
        n_features: int = 3,
        max_steps: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        progress: bool | None = None,
        trainer: Trainer | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return Averaging(math.prod(frame), self.n_features)

    def _make_objective(self, ready: Sequences, targets: None) -> ToldMean:
        return ToldMean(self.network_, ready, self.trainer_)

    def _encode(self, sequences: Sequences, threads: int) -> Any:
        x, lengths = self._standardize(sequences, "X").to_tensor()
        with torch_threads(threads), torch.no_grad():
            return double_precision_copy(self.network_)(x.double(), lengths).numpy().astype(np.float32)

    def stream(self) -> ToyStream:
        """One new sample in, the vector of everything so far out."""
        self._require_fitted()
        return ToyStream(self.network_, *self.scaler_)


class ToyStream(StandardizedStream):
    """The sum so far is all it keeps."""

    def __init__(self, network: Averaging, mean: Any, scale: Any) -> None:
        super().__init__(mean, scale)
        self._network, self._sum = network, 0.0

    def _advance(self, x: Any) -> Any:
        with torch.no_grad():
            self._sum = self._sum + torch.tanh(self._network.layer(torch.from_numpy(x.reshape(-1)))).numpy()
        return self._sum / np.float32(self.n_samples + 1)
'''

METRIC = '''
"""A toy: two sequences are as far apart as the means of one layer over each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..core.parameters import store_parameters
from ..models import options
from ..sequences.sampling import RandomState
from ..train import Trainer
from ..train.budget import DefaultBudget
from .base import LearnedMetric
from .distance_network import DistanceNetwork, Features


class MeanNetwork(DistanceNetwork):
    """‖mean_t tanh(W x_t + b) − mean_t tanh(W y_t + b)‖₂."""

    def __init__(self, n_channels: int, hidden: int) -> None:
        super().__init__()
        self.layer = nn.Linear(n_channels, hidden)

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """One step for each sequence: its mean."""
        there = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[..., None]
        steps = torch.tanh(self.layer(torch.where(there, x, 0.0)))  # nan times 0 would be nan
        return Features((steps * there).sum(1, keepdim=True) / lengths[:, None, None], torch.ones_like(lengths))

    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        return torch.linalg.vector_norm(x.values[:, 0] - y.values[:, 0], dim=-1)


class ToyMetric(LearnedMetric):
    """The distance of means that are learned.

    Parameters
    ----------
    hidden : int
        Units.
    trainer : Trainer or None
        How to train. Its own choices: `learning_rate=1e-2`, `weight_decay=0.0`, `validation=0.2`.
    loss, n_per_class, standardize, max_steps, max_time, progress, random_state
        As for `SiameseGRU`.
    """

    hidden = options.integer(1)

    _own_trainer = Trainer(learning_rate=1e-2, weight_decay=0.0, validation=0.2)
    _default_budget = DefaultBudget(step_range=(2, 1000))

    def __init__(
        self,
        *,
        hidden: int = 4,
        loss: Any = "contrastive",
        n_per_class: int | None = None,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        return MeanNetwork(n_channels, self.hidden)
'''

ADDITIONS = (
    Addition("align", "toy_distance", "ToyDistance", DISTANCE, peer="ADTW", least=15),
    Addition("metric/losses", "toy_loss", "ToyLoss", LOSS, peer="Triplet", least=5),
    Addition("encode", "toy_encoder", "ToyEncoder", ENCODER, peer="RecurrentEncoder", least=60),
    Addition("metric", "toy_metric", "ToyMetric", METRIC, peer="SiameseGRU", least=60),
)

# an editable installation finds the library by a table of its own, which knows nothing of the copy
FIRST = """
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuildRedirecting" not in type(finder).__name__]
"""


def build(folder, *, announced=True):
    """A folder for PYTHONPATH in which the library has the additions; not `announced`, it lacks their lines."""
    library = folder / "timelike"
    shutil.copytree(Path(timelike.__file__).parent, library)  # with what is compiled already
    if native.machine.kernels is not None:
        kernels = Path(native.machine.kernels.__file__)
        shutil.copy2(kernels, library / "native" / kernels.name)
    (folder / "sitecustomize.py").write_text(FIRST)
    for one in ADDITIONS:
        folder_of = library / one.package
        (folder_of / f"{one.file}.py").write_text(one.source.lstrip(), encoding="utf-8")
        if announced:
            _add_line(folder_of / "__init__.py", one.line)
    return folder


def _add_line(file, line):
    """Under the last of the package's public names."""
    text = file.read_text(encoding="utf-8")
    changed, times = re.subn(r"^if TYPE_CHECKING:.*\n(?:    .*\n)+", lambda found: found[0] + line, text, flags=re.M)
    assert times == 1, f"{file} has no list of names"
    file.write_text(changed, encoding="utf-8")


def run(folder, *arguments, **more):
    """A Python process that finds the copy where it looks for the library, and so do those it starts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"} | more
    how = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *map(str, arguments)], **how)
