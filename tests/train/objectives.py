"""Small objectives that the tests of the training loop share; also imported by programs in processes of their own."""

import numpy as np
import torch
from torch import nn

from timelike.train import Batch, Objective, shuffled_batches, use_seed


def line_data(n=48):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    y = (x @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n)).astype(np.float32)[:, None]
    return torch.from_numpy(x), torch.from_numpy(y)


class Line(Objective):
    """Regression by a small network with dropout and batch normalisation: what is random or kept aside is in it."""

    higher_is_better = False

    def __init__(self, *, kind="adam", batch=8, rate=0.05, dropout=0.2, norm=True, seed=0):
        self.x, self.y = line_data()
        self.kind, self.batch, self.rate = kind, batch, rate
        with use_seed(seed):
            extra = [nn.BatchNorm1d(8)] if norm else []
            self.module = nn.Sequential(nn.Linear(3, 8), *extra, nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))

    def optimizers(self):
        parameters = self.module.parameters()
        if self.kind == "sgd":
            return torch.optim.SGD(parameters, lr=self.rate, momentum=0.9, nesterov=True)
        if self.kind == "adamw":
            return torch.optim.AdamW(parameters, lr=self.rate, amsgrad=True)
        return torch.optim.Adam(parameters, lr=self.rate)

    def batches(self, epoch, rng):
        for ids in shuffled_batches(len(self.x), self.batch, rng):
            noise = 0.01 * rng.normal(size=(len(ids), 3)).astype(np.float32)
            yield Batch(ids, x=self.x[ids] + torch.from_numpy(noise), y=self.y[ids])

    def loss(self, batch):
        return nn.functional.mse_loss(self.module(batch["x"]), batch["y"])


class Judged(Line):
    """The same, with a score: the error on all of the data."""

    def validate(self):
        return float(nn.functional.mse_loss(self.module(self.x), self.y))


class Contest(Objective):
    """A generator of points and a critic with an inner loop: two optimisers, endless batches, a state of its own."""

    steps_per_epoch = 7

    def __init__(self):
        with use_seed(1):
            nets = {"generator": nn.Linear(2, 2), "critic": nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))}
        self.module = nn.ModuleDict(nets)
        self.seen = 0
        self.mean = torch.zeros(2)

    def optimizers(self):
        generator, critic = self.module["generator"].parameters(), self.module["critic"].parameters()
        return {"generator": torch.optim.Adam(generator, lr=0.02), "critic": torch.optim.SGD(critic, lr=0.05)}

    def batches(self, epoch, rng):
        while True:
            yield Batch(rng.integers(0, 100, 6), x=rng.normal(3, 1, size=(6, 2)).astype(np.float32))

    def loss(self, batch):
        raise AssertionError("step() does not call it")

    def made(self, n):
        return self.module["generator"](torch.randn(n, 2))

    def step(self, batch, optimizer_step):
        self.seen += len(batch)
        self.mean = 0.9 * self.mean + 0.1 * batch["x"].mean(0)
        critic = self.module["critic"]
        for _ in range(2):
            gap = critic(self.made(6).detach()).mean() - critic(batch["x"]).mean()
            optimizer_step(gap + 0.1 * critic(batch["x"]).square().mean(), "critic")
        loss = -critic(self.made(6)).mean() + 0.01 * (self.made(6).mean(0) - self.mean).square().sum()
        optimizer_step(loss, "generator")
        return {"loss": loss, "gap": gap}

    def state(self):
        return {"seen": self.seen, "mean": self.mean}

    def restore(self, state):
        self.seen, self.mean = state["seen"], state["mean"]


def weights(module):
    return torch.cat([tensor.double().reshape(-1) for tensor in module.state_dict().values()])
