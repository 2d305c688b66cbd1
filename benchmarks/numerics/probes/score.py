"""Scores that rows are made of, and their intervals."""

from __future__ import annotations

import numpy as np

import timelike as tl
from benchmarks.numerics.probes.small_data import Outputs, pictures, summarize, vectors, waves
from timelike import score
from timelike.evaluate import few_shot


def retrieval_scores() -> Outputs:
    """Of retrieval, verification and few-shot tasks, with equal distances."""
    distances, labels = np.abs(vectors(8, 9)).round(1), np.arange(9) % 3
    asked = labels[:8]
    genuine = np.arange(40) % 3 == 0
    far = np.abs(vectors(40, 1)[:, 0]).round(1) - 0.3 * genuine
    subjects = np.stack([np.arange(40) // 4, np.arange(40) // 4 + 10 * ~genuine], axis=1)
    errors = score.verification_errors(far, genuine)
    X = waves(18, shortest=10)
    tasks = few_shot(tl.DTW(), X, X.labels, n_way=2, k_shot=2, n_query=2, n_tasks=20, random_state=0)
    return {
        "average precision": summarize(score.average_precision(distances, asked, labels)),
        "mean average precision": [score.mean_average_precision(distances, asked, labels)],
        "recall": summarize(score.recall_at_k(distances, asked, labels, k=2)),
        "nearest": [score.nearest_accuracy(distances, asked, labels)],
        "verification": [errors.equal_error_rate, errors.minimum_cost(0.01)],
        "resampled": summarize(score.resampled_errors(far, genuine, subjects, n_resamples=20, random_state=0)),
        "tasks": [tasks.accuracy, tasks.half_width],
    }


def forecast_scores() -> Outputs:
    """Of forecasts, samples and pictures."""
    truth, forecast = vectors(6, 4)[..., None], vectors(6, 4, seed=1)[..., None]
    samples = vectors(30, 4, seed=2).reshape(5, 6, 4)[..., None]
    clips = pictures(2, 3)
    return {
        "errors": [float(score.mse(truth, forecast)), float(score.mae(truth, forecast))],
        "CRPS": [float(score.crps(truth, samples))],
        "pinball": [float(score.pinball_loss(truth, forecast, 0.9))],
        "coverage": [float(score.coverage(truth, forecast - 1, forecast + 1))],
        "PSNR": summarize(score.psnr(clips, clips[:, ::-1], per="each")),
        "SSIM": summarize(score.ssim(clips, clips[:, ::-1], per="each")),
    }


def score_intervals() -> Outputs:
    """Intervals of means over items."""
    each = vectors(20, 1)[:, 0]
    middle, drawn = score.interval(each), score.bootstrap(each, random_state=0)
    return {"normal": [middle.mean, middle.low, middle.high], "bootstrap": [drawn.mean, drawn.low, drawn.high]}


def comparison() -> Outputs:
    """Accuracy and MAP of a test part as `compare` tells them."""
    X, asked = waves(16, shortest=12, seed=1), waves(12, shortest=12, seed=2)
    model = tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head="1nn")
    found = tl.compare(
        X,
        X.labels,
        {"1-NN": tl.Neighbors("dtw"), "statistics": model},
        test=(asked, asked.labels),
        metric=("accuracy", "map"),
        random_state=0,
        progress=False,
    )
    return {f"{row.method}: {name}": [one.mean] for row in found.rows for name, one in row.scores.items()}
