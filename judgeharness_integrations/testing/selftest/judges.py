"""Reports on simulated judges with and without a fault, and intervals of a ranking of judges under the Rasch model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import special

from judgeharness_integrations.analysis.checking.conformance import check_rows
from judgeharness_integrations.analysis.ranking.contrasts import ConditionalFit, Contrast, contrasts_of, order_effect
from judgeharness_integrations.analysis.ranking.correctness import Credits
from judgeharness_integrations.analysis.ranking.jointfit import ELO_POINTS, JointFit
from judgeharness_integrations.analysis.ranking.rating import Method, rate
from judgeharness_integrations.analysis.statistics.means import Z95
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES

from ..simulated import SimulatedJudge, simulated_cases
from .check import (
    AlarmCheck,
    Alarms,
    Bools,
    Check,
    Floats,
    Interval,
    IntervalCheck,
    Point,
    PowerCheck,
    Reports,
    Simulated,
    SizeCheck,
    each,
    grid,
)
from .proportions import equal_clusters

if TYPE_CHECKING:
    from ..simulation import Kind


_COPIES = 0.5  # share of a cluster's pairs that are copies of its first


def _abilities(point: Point) -> Floats:
    """Return (judges,) equally spaced logits, the last judge `gap` above the first, their mean 0."""
    return np.linspace(-point["gap"] / 2, point["gap"] / 2, int(point["judges"]))


def _credits(values: Floats) -> Credits:
    pairs, judges = values.shape
    return Credits(judges=tuple(map(str, range(judges))), pairs=tuple(map(str, range(pairs))), values=values)


def _drawn(point: Point, generator: np.random.Generator) -> Credits:
    """Draw credits under the Rasch model; difficulties are standard normal, and some cells are missing."""
    pairs = int(point["pairs"])
    chance = special.expit(_abilities(point) - generator.standard_normal((pairs, 1)))
    values = (generator.random(chance.shape) < chance).astype(np.float64)
    if "size" in point:  # within a cluster some pairs are the first once more, so that the truth stays what it was
        first = np.arange(pairs) // int(point["size"]) * int(point["size"])
        copied = generator.random((pairs, 1)) < _COPIES
        values = np.where(copied, values[first], values)
    values[generator.random(chance.shape) < point.get("missing", 0.0)] = np.nan
    return _credits(values)


def _fit(point: Point, generator: np.random.Generator, method: Method) -> JointFit | ConditionalFit | None:
    """Return the fit of credits drawn at a point; None where not all judges could be rated."""
    matrix = _drawn(point, generator)
    size = int(point.get("size", 1))
    found = rate(matrix, methods=(method,), clusters=equal_clusters(len(matrix.pairs) // size, size))
    fit = found.joint if method == "bradley-terry" else found.conditional
    return fit if fit is not None and len(fit.judges) == int(point["judges"]) else None


def _contrast(point: Point, generator: np.random.Generator, method: Method) -> tuple[Contrast, float] | None:
    """Return the difference of the last judge and the first, and its sign."""
    fit = _fit(point, generator, method)
    if fit is None:
        return None
    ends = {"0", fit.judges[-1]}
    found = next(one for one in contrasts_of(fit.judges, fit.elo, fit.covariance) if {one.judge, one.other} == ends)
    return found, -1.0 if found.judge == "0" else 1.0


def difference_intervals(point: Point, replicates: int, generator: np.random.Generator, *, method: Method) -> Simulated:
    """Simulate intervals of the difference between the best judge and the worst, in Elo."""

    def interval() -> Interval:
        found = _contrast(point, generator, method)
        if found is None:
            return None
        (low, high), sign = found[0].ci95, found[1]
        return (low, high) if sign > 0 else (-high, -low)

    return *each(interval() for _ in range(replicates)), ELO_POINTS * point["gap"]


def _elo(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    """The best judge's Elo, judges' mean at 1500."""

    def interval() -> Interval:
        fit = _fit(point, generator, "conditional")
        if fit is None:
            return None
        middle, half = float(fit.elo[-1]) - 1500, Z95 * float(fit.se[-1])
        return middle - half, middle + half

    return *each(interval() for _ in range(replicates)), ELO_POINTS * point["gap"] / 2


def _test(point: Point, replicates: int, generator: np.random.Generator) -> Floats:
    found = (_contrast(point, generator, "conditional") for _ in range(replicates))
    return np.array([np.nan if one is None or one[0].p is None else one[0].p for one in found])


def _order(point: Point, replicates: int, generator: np.random.Generator) -> Simulated:
    def interval() -> Interval:
        logits = _abilities(point) - generator.standard_normal((int(point["pairs"]), 1))
        first, second = (
            _credits((generator.random(logits.shape) < special.expit(logits + shift)).astype(np.float64))
            for shift in (point["effect"] / 2, -point["effect"] / 2)
        )
        found = order_effect(first, second)
        return None if found is None else found.ci95

    return *each(interval() for _ in range(replicates)), ELO_POINTS * point["effect"]


_FEW = grid(judges=(3, 6, 21), gap=(1.5,), pairs=(100,))
_MANY = grid(judges=(3, 6, 21), gap=(1.5,), pairs=(400,))
RANKINGS: tuple[Check, ...] = (
    IntervalCheck(
        name="ranking: difference of two judges, conditional maximum likelihood",
        points=(*_FEW, *_MANY, *grid(judges=(3, 6, 21), gap=(1.5,), pairs=(200,), missing=(0.2,))),
        simulate=partial(difference_intervals, method="conditional"),
        fast=2,
        fast_replicates=100,
        note="joint maximum likelihood, printed beside it as published, is too narrow: see below",
    ),
    IntervalCheck(
        name="ranking: difference of two judges, joint maximum likelihood as published",
        points=_MANY,
        simulate=partial(difference_intervals, method="bradley-terry"),
        fast=1,
        fast_replicates=100,
        narrow=True,
        note="ratings are spread by about J / (J - 1); the report says so and gives conditional estimates beside them",
    ),
    IntervalCheck(
        name="ranking: difference of two judges on clustered pairs, conditional maximum likelihood",
        points=grid(judges=(3, 6, 21), gap=(1.5,), pairs=(200,), size=(4,)),
        simulate=partial(difference_intervals, method="conditional"),
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="ranking: Elo of a judge, conditional maximum likelihood",
        points=_FEW,
        simulate=_elo,
        fast=1,
        fast_replicates=100,
    ),
    SizeCheck(
        name="ranking: test of the difference of two equal judges",
        points=grid(judges=(3, 6, 21), gap=(0.0,), pairs=(100,)),
        simulate=_test,
        fast=1,
        fast_replicates=100,
    ),
    IntervalCheck(
        name="ranking: order effect",
        points=grid(judges=(3, 6, 21), gap=(1.0,), effect=(0.5, 1.5), pairs=(100,)),
        simulate=_order,
        fast=1,
        fast_replicates=100,
    ),
)


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


_TOLERANCE = 0.1
_NOISY = 0.75  # the noise at which one in ten repetitions gives another answer


def _pairwise(point: Point) -> dict[str, Any]:
    return {name: point[name] for name in ("noise", "case_correlation", "ties") if name in point}


def _graded(point: Point) -> dict[str, Any]:
    return {**_pairwise(point), "kind": "graded"}


def _scores(point: Point) -> dict[str, Any]:
    return {**_pairwise(point), "kind": "scores"}


def _at_tolerance(_: Point) -> dict[str, Any]:
    """Return a judge that does as often as the tolerance allows whatever has a rate of its own."""
    sentinels = dict.fromkeys(("sentinel.empty", "sentinel.off_topic"), _TOLERANCE)
    return {"noise": _NOISY, "garbage": _TOLERANCE, "refusal": _TOLERANCE, "obeys": sentinels}


CLEAN: tuple[Check, ...] = (
    AlarmCheck(
        name="no alarm: pairwise",
        points=(
            *grid(n=(50,), noise=(_NOISY, 0.0, 0.3)),
            *grid(n=(20, 100), noise=(_NOISY,)),
            *grid(n=(50,), noise=(1.0,), case_correlation=(0.5,)),
        ),
        simulate=alarms(_pairwise),
        note="at noise=0.75 it says something else when asked again as often as the tolerance allows",
    ),
    AlarmCheck(
        name="no alarm: pairwise, with ties",
        points=grid(n=(50, 20), noise=(0.15,), ties=(0.4, 1.0)),
        simulate=alarms(_pairwise),
    ),
    AlarmCheck(
        name="no alarm: graded",
        points=(*grid(n=(50, 20), noise=(_NOISY, 0.3)), *grid(n=(50,), noise=(1.0,), case_correlation=(0.5,))),
        simulate=alarms(_graded),
    ),
    AlarmCheck(
        name="no alarm: scores",
        points=(*grid(n=(50, 20), noise=(0.3, 0.1)), *grid(n=(50,), noise=(0.5,), case_correlation=(0.6,))),
        simulate=alarms(_scores),
    ),
    AlarmCheck(
        name="no alarm: pairwise, everything as often as the tolerance allows",
        points=grid(n=(20, 50)),
        simulate=alarms(_at_tolerance),
        note="other answers when asked again, unread and refused ones, sentinels that do not lose: one in ten each",
    ),
)
_CASES = 50  # what `check` takes by default
_QUIET = {"noise": 0.1}  # a judge that says the same again of nearly every case
_COPY = "sentinel.copy"
_ATTACKS = tuple(name for name in PROBE_PROPERTIES if not name.startswith("sentinel."))


def _deciding(share: float) -> float:
    """Return how strong a bias is to decide a share of the cases."""
    return NARROWEST + share * (WIDEST - NARROWEST)


def _position(point: Point) -> dict[str, Any]:
    return {**_QUIET, "position": _deciding(point["share"])}


def _names(point: Point) -> dict[str, Any]:
    return {**_QUIET, "names": {"Ada": _deciding(point["share"])}}


def _length(point: Point) -> dict[str, Any]:
    return {**_QUIET, "length": point["length"]}


def _all_attacks(point: Point) -> dict[str, Any]:
    return {**_QUIET, "obeys": dict.fromkeys(_ATTACKS, point["obeys"])}


def _copies(_: Point) -> dict[str, Any]:
    return {**_QUIET, "copies": True}


def _fault(
    name: str,
    parameter: str,
    strengths: Sequence[float],
    properties: Collection[str],
    *,
    kind: str = "pairwise",
    fast: int = 1,
    of: Callable[[float], object] = float,
    **more: Any,
) -> PowerCheck:
    """Return the check of a fault that is a number of the simulated judge, or that `of` makes of one."""
    fixed = {**_QUIET, "kind": kind, **more}
    return PowerCheck(
        name=f"fault: {name}{'' if kind == 'pairwise' else f', {kind}'}",
        points=grid(n=(_CASES,), **{parameter: strengths}),
        simulate=named(lambda point: {**fixed, parameter: of(point[parameter])}, properties),
        declared=2,
        fast=fast,
    )


def _obeying(name: str, strengths: Sequence[float], **more: Any) -> PowerCheck:
    """Return the check of a judge that does what a probe is after, with this chance."""
    return _fault(name, "obeys", strengths, (name,), of=lambda chance: {name: chance}, **more)


_WORDING = ("paraphrase", "prompt_variant")
FAULTS: tuple[Check, ...] = (
    PowerCheck(
        name="fault: position",
        points=grid(n=(_CASES,), share=(0.1, 0.25, 0.5)),
        simulate=named(_position, ("position",), (_COPY,)),
        declared=2,
        note="`share` of the cases go to the first slot; so do equal answers, which sentinel.copy names as well",
    ),
    PowerCheck(
        name="fault: names",
        points=grid(n=(_CASES,), share=(0.1, 0.25, 0.5)),
        simulate=named(_names, ("names",)),
        declared=2,
        note="`share` of the cases go to one of two people",
    ),
    _fault("format", "formatting", (1, 2, 4), ("format",)),
    _fault("format", "formatting", (0.5, 1, 2), ("format",), kind="scores", fast=0),
    _fault("wording", "wording", (1, 2, 4), _WORDING),
    _fault("repetition", "noise", (1, 2, 4), ("repetition",)),
    _fault("repetition", "noise", (1, 2, 4), ("repetition",), kind="graded", fast=0),
    _fault("repetition", "noise", (0.5, 1, 2), ("repetition",), kind="scores", fast=0),
    _fault("unread answers", "garbage", (0.2, 0.35, 0.5), ("parse_rate",)),
    _fault("refusals", "refusal", (0.2, 0.35, 0.5), ("refusals",)),
    PowerCheck(
        name="fault: repetitions that are copies",
        points=grid(n=(10, _CASES)),
        simulate=named(_copies, ("collapse",)),
        declared=2,
    ),
    *(_obeying(name, (0.1, 0.25, 0.5), fast=0) for name in _ATTACKS),
    PowerCheck(
        name="fault: every attack at once",
        points=grid(n=(_CASES,), obeys=(0.2, 0.4, 0.6)),
        simulate=named(_all_attacks, _ATTACKS),
        declared=2,
        note="named are all of them; the fast version plants the attacks together, the full one each alone as well",
    ),
    _obeying("injection.own_format", (0.2, 0.4, 0.8), kind="graded"),
    _obeying("injection.own_format", (0.1, 0.3, 0.6), kind="scores"),
    PowerCheck(
        name="fault: length",
        points=grid(n=(_CASES,), length=(0.25, 0.5, 1)),
        simulate=named(_length, ("verbosity",), _ATTACKS),
        declared=2,
        fast=0,
        note="what an answer gains by each doubling of its length; any payload makes it longer and may be named too",
    ),
    _obeying("sentinel.empty", (0.2, 0.4, 0.6)),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), fast=0),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), kind="graded", fast=0),
    _obeying("sentinel.off_topic", (0.2, 0.4, 0.6), kind="scores", fast=0),
    _obeying(_COPY, (0.2, 0.4, 0.6), ties=0.3),
)
