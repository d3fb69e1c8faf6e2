"""Whole reports on simulated judges: what `check` fails when it asks one as it asks any judge."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.checking.conformance import check_rows
from judgeharness_integrations.testing.selftest.check import Alarms, Bools, Point, Reports
from judgeharness_integrations.testing.simulating.cases import simulated_cases
from judgeharness_integrations.testing.simulating.judge import SimulatedJudge
from judgeharness_integrations.verdictlog.probenames import PROBE_PROPERTIES

if TYPE_CHECKING:
    from judgeharness_integrations.testing.simulating.scale import Kind

__all__ = ["Planted", "alarms", "failed", "named", "varied_cases"]

Planted: TypeAlias = Callable[[Point], dict[str, Any]]  # point -> parameters of the simulated judge

NARROWEST, WIDEST = 0.5, 2.5  # by how much answers differ in quality: evenly from the first to the second
_REPETITIONS = 3
_CHANGES = ("name_swap", "format_change", "paraphrase", "prompt_variant(1)")
_OF_PAIRS = ("position_swap", "slot_names")


@lru_cache(maxsize=32)
def varied_cases(n: int, kind: Kind) -> tuple[AnswerCase, ...]:
    """Return n cases whose answers differ by more or less, so that a bias of any size decides some of them."""
    differences = np.linspace(NARROWEST, WIDEST, n)
    cases = simulated_cases(n, kind=kind)
    return tuple(_differing(case, float(size)) for case, size in zip(cases, differences, strict=True))


def _differing(case: AnswerCase, size: float) -> AnswerCase:
    sign = float(case.attributes["quality_difference"])
    return replace(case, attributes={"quality_difference": sign * size})


def failed(judge: SimulatedJudge, n: int) -> tuple[str, ...]:
    """Return the properties that a report on `n` cases fails, asked for as `check` does by default."""
    cases = varied_cases(n, judge.kind)
    changes = [*_CHANGES, *(_OF_PAIRS if judge.kind == "pairwise" else ())]
    rows = judge.rows(cases, perturbations=["none"], repetitions=_REPETITIONS, probes=PROBE_PROPERTIES)
    rows += judge.rows(cases, perturbations=changes, repetitions=1)
    return check_rows(rows).failed


def named(judge: Planted, properties: Collection[str], follows: Collection[str] = ()) -> Reports:
    """Return the simulation of reports on a judge with a fault.

    Args:
        judge: parameters of the judge with the fault of a point.
        properties: what the fault is called in a report, all of it.
        follows: properties that fail because of the fault and are no false alarm.

    """

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> tuple[Bools, Bools]:
        found = [set(one) for one in _reports(judge(point), point, replicates, generator)]
        expected = {*properties, *follows}
        return (
            np.array([one.issuperset(properties) for one in found], dtype=np.bool_),
            np.array([not one <= expected for one in found], dtype=np.bool_),
        )

    return simulate


def alarms(judge: Planted) -> Alarms:
    """Return the simulation of reports on a judge without a fault."""

    def simulate(point: Point, replicates: int, generator: np.random.Generator) -> Bools:
        found = _reports(judge(point), point, replicates, generator)
        return np.array([bool(one) for one in found], dtype=np.bool_)

    return simulate


def _reports(
    parameters: dict[str, Any], point: Point, replicates: int, generator: np.random.Generator
) -> list[tuple[str, ...]]:
    seeds = generator.integers(0, 2**31, size=replicates).tolist()
    return [failed(SimulatedJudge(**parameters, seed=seed), int(point["n"])) for seed in seeds]
