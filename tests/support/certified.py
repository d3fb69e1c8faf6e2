"""Studies of certificates, vectorised, and recorded votes to draw them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying.applying import sureness
from judgeharness_integrations.analysis.certifying.sequence import certified_steps, fewest_accepted, p_values
from judgeharness_integrations.analysis.replay import case_decisions
from judgeharness_integrations.verdictlog import VerdictRow, read_log

LLMBAR = Path(__file__).parents[1] / "data" / "llmbar.csv.gz"
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Studies:
    """How studies ended: shares refused, and certifying a threshold whose true risk is too high; the mean coverage."""

    refused: float
    violating: float
    coverage: float


def studies(accepted: Ints, errors: Ints, truth: tuple[Floats, Floats], *, agreement: float, delta: float) -> Studies:
    """Certify each row of counts, one step a column, against the true (coverage, risk) at each step."""
    p = p_values(errors, accepted, accepted, np.ones_like(accepted), risk=1 - agreement)
    fewest = fewest_accepted(agreement=agreement, delta=delta)
    passed, _ = certified_steps(p, accepted, delta=delta, fewest=fewest)
    return ended(passed, truth, agreement=agreement)


def ended(passed: Bools, truth: tuple[Floats, Floats], *, agreement: float) -> Studies:
    """Sum up which steps each study certified."""
    given = passed.any(1)
    last = passed.shape[1] - 1 - np.argmax(passed[:, ::-1], axis=1)
    coverage, risk = truth
    return Studies(
        refused=float(1 - given.mean()),
        violating=float((given & (risk[last] > 1 - agreement + 1e-12)).mean()),
        coverage=float(coverage[last][given].mean()) if given.any() else 0.0,
    )


def truth_of(scores: Floats, wrong: Bools, grid: Sequence[float]) -> tuple[Floats, Floats]:
    """Coverage and risk of each step where these cases are all there are."""
    accepted = [scores >= step for step in grid]
    return np.array([one.mean() for one in accepted]), np.array([wrong[one].mean() for one in accepted])


@cache
def _recorded(family: str) -> tuple[VerdictRow, ...]:
    return tuple(row for row in read_log(LLMBAR) if row.judge.startswith(f"{family}/"))


@cache
def family_rows(family: str, prompts: int, *, first: int = 0, swapped: bool = True) -> tuple[VerdictRow, ...]:
    """The votes of a model under some of its prompts on LLMBar, both orders or one, as samples of one judge."""
    rows = _recorded(family)
    names = sorted({row.judge for row in rows})
    chosen = [names[(first + place) % len(names)] for place in range(prompts)]
    places = {name: place for place, name in enumerate(chosen)}
    named = family.lower()
    return tuple(
        replace(row, judge=named, repetition=places[row.judge])
        for row in rows
        if row.judge in places and (swapped or not row.swapped)
    )


@cache
def family_cases(family: str, prompts: int, *, first: int = 0, swapped: bool = True) -> tuple[Floats, Bools]:
    """The consistency of each case (-1 where nothing is decided) and whether the majority is wrong."""
    cases = list(case_decisions(family_rows(family, prompts, first=first, swapped=swapped), rule("majority")))
    decided = np.array([case.decision.status == "decided" for case in cases])
    sure = [sureness(case, "consistency", numeric=False, tolerance=1.0) for case in cases]
    wrong = np.array([case.decision.verdict != case.gold for case in cases])
    return np.where(decided, np.array(sure, dtype=float), -1.0), wrong & decided


def gpt4_rows(prompts: int = 15, *, first: int = 0) -> tuple[VerdictRow, ...]:
    """The votes of GPT-4 under some of its 15 prompts."""
    return family_rows("GPT-4", prompts, first=first)


def gpt4_cases(prompts: int = 15, *, first: int = 0) -> tuple[Floats, Bools]:
    """The consistency of each case by these votes, and whether the majority is wrong."""
    return family_cases("GPT-4", prompts, first=first)


def drawn(
    cases: tuple[Floats, Bools], grid: Sequence[float], labels: int, *, number: int, seed: int
) -> tuple[Ints, Ints]:
    """Labelled and wrong decisions accepted at each step, of samples with replacement from cases."""
    scores, wrong = cases
    bounds = [np.inf, *grid]
    between = [(scores < high) & (scores >= low) for high, low in zip(bounds, grid, strict=False)]
    cells = [(level & bad).mean() for level in between for bad in (wrong, ~wrong)]
    counts = np.random.default_rng(seed).multinomial(labels, [*cells, 1 - sum(cells)], number)[:, :-1]
    by_level = counts.reshape(number, len(grid), 2).cumsum(axis=1)
    return by_level.sum(2), by_level[:, :, 0]
