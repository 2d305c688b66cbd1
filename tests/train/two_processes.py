"""A program that trains in two processes; fabric starts it a second time for the other one."""

import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from safetensors.torch import save_file

from timelike.train import DivergenceError, Plateau, fit
from train.objectives import Judged, Line

RUNS = {
    "uneven": {"batch": 7, "kind": "sgd", "rate": 0.02},  # parts of 4 and 3
    "alone": {"batch": 47, "kind": "adam", "rate": 0.02},  # the last batch has one sequence for two processes
}
OPTIONS = {"max_steps": 14, "gradient_clip": 1.0, "schedule": Plateau(patience=1), "patience": 20, "random_state": 0}


class Watched(Judged):
    """Notes which sequences it computed, in this process."""

    def __init__(self, **options):
        super().__init__(norm=False, dropout=0.0, **options)
        self.seen = []

    def loss(self, batch):
        self.seen.append(batch.ids.tolist())
        return super().loss(batch)


class Broken(Line):
    """A loss that is NaN for one sequence, so in one of the processes."""

    def loss(self, batch):
        return super().loss(batch) * (torch.nan if 13 in batch.ids else 1.0)


def main(folder):
    both = {"accelerator": "cpu", "devices": 2, "strategy": "ddp"}
    for name, options in RUNS.items():
        rank = int(os.environ.get("LOCAL_RANK", "0"))
        objective = Watched(**options, seed=rank)  # other first weights in each process: the first one's count
        fit(objective, **OPTIONS | both | {"max_steps": 5}, checkpoint=folder / name)
        objective = Watched(**options)
        history = fit(objective, **OPTIONS, **both, checkpoint=folder / name)
        save_file(objective.module.state_dict() | history.tensors(), folder / f"{name}-{rank}.safetensors")
        print(f"{name} {rank} saw {objective.seen[0]}", flush=True)
    try:
        fit(Broken(), max_epochs=1, **both, random_state=0)
    except DivergenceError as error:
        print(f"rank {rank} {13 in error.ids} {str(error)[:30]}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
