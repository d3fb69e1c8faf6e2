"""Judges that answer with probabilities whose miscalibration has a closed form, and worthless ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from judgeharness_integrations.analysis.probability import Forecasts

Floats = np.ndarray[Any, np.dtype[np.float64]]


def sigmoid(z: Floats) -> Floats:
    """Return the probabilities of log odds."""
    return 1 / (1 + np.exp(-z))


def pairs(p: Floats, y: Floats, clusters: tuple[object, ...] | None = None) -> Forecasts:
    """Return probabilities of PASS beside labels, hard or soft."""
    return Forecasts(
        options=("PASS", "FAIL"),
        probabilities=np.c_[p, 1 - p],
        labels=np.c_[y, 1 - y],
        clusters=tuple(range(len(p))) if clusters is None else clusters,
    )


def planted(
    n: int, seed: int, *, slope: float = 1.0, bias: float = 0.0, spread: float = 1.5, digits: int = 2
) -> tuple[Forecasts, Floats]:
    """Return a judge whose log odds are slope * true log odds + bias, rounded; and the true probabilities of PASS."""
    random = np.random.default_rng(seed)
    z = random.normal(0, spread, n)
    y = (random.random(n) < sigmoid(z)).astype(float)
    return pairs(sigmoid(slope * z + bias).round(digits), y), sigmoid(z)


def worthless(kind: str, n: int, seed: int, *, base: float = 0.6) -> Forecasts:
    """Return a judge that says nothing about the labels: constant, base_rate, shuffled or certain."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < base).astype(float)
    p = {
        "constant": np.full(n, 0.8),
        "base_rate": np.full(n, base),
        "shuffled": random.permutation(sigmoid(random.normal(0.5, 2, n)).round(2)),
        "certain": random.choice([0.0, 1.0], n),
    }[kind]
    return pairs(p, y)
