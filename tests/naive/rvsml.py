"""RVSML as plain as its sums: one sequence, one step, one virtual frame at a time."""

import numpy as np


def dtw_plan(x, v):
    """0 and 1: the cells of a cheapest path, found by going through the table; costs are squared distances."""
    n, m = len(x), len(v)
    cost = np.array([[((a - b) ** 2).sum() for b in v] for a in x])
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = cost[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    plan, i, j = np.zeros((n, m)), n, m
    while i and j:
        plan[i - 1, j - 1] = 1
        i, j = min([(i - 1, j - 1), (i - 1, j), (i, j - 1)], key=lambda cell: total[cell])
    return plan


def objective(W, sequences, virtual, plans, ridge):
    found = ridge * (W**2).sum()
    for x, v, plan in zip(sequences, virtual, plans, strict=True):
        for i in range(len(x)):
            for j in range(len(v)):
                found += plan[i, j] * ((W @ x[i] - v[j]) ** 2).sum()
    return found


def best_map(sequences, virtual, plans, ridge):
    n_channels, n_outputs = sequences[0].shape[1], virtual[0].shape[1]
    A, B = ridge * np.eye(n_channels), np.zeros((n_outputs, n_channels))
    for x, v, plan in zip(sequences, virtual, plans, strict=True):
        for i in range(len(x)):
            for j in range(len(v)):
                A += plan[i, j] * np.outer(x[i], x[i])
                B += plan[i, j] * np.outer(v[j], x[i])
    return B @ np.linalg.inv(A)


def learned(sequences, kinds, size, ridge, turns, plan_of=dtw_plan):
    """W (output, channel) after so many turns, and what the objective was after each."""
    frames = np.eye(size * (max(kinds) + 1))
    virtual = [frames[kind * size : (kind + 1) * size] for kind in kinds]
    plans = [np.eye(size)[np.arange(len(x)) * size // len(x)] for x in sequences]
    W, errors = best_map(sequences, virtual, plans, ridge), []
    for _ in range(turns):
        plans = [plan_of(x @ W.T, v) for x, v in zip(sequences, virtual, strict=True)]
        W = best_map(sequences, virtual, plans, ridge)
        errors.append(objective(W, sequences, virtual, plans, ridge))
    return W, errors
