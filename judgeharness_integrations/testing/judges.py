"""Judges for tests: scripted, recorded, and simulated ones whose truth is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, as_judgment
from judgeharness_integrations.judging.marks import code_in, verdict_line
from judgeharness_integrations.verdictlog.row import EXCHANGED, Verdict, VerdictRow, probe_name

from .simulation import JudgeParameters, obedience, same, scale_of, sentinel_difference, shift


class ScriptedJudge:
    """Answers from a list, in order of asking; the list cycles. An exception in the list is raised.

    Anything `as_judgment` takes is an answer. `probes` keeps what was asked.
    """

    def __init__(
        self,
        answers: Iterable[Any],
        *,
        name: str = "scripted",
        identity: JudgeIdentity | None = None,
        criteria: Sequence[Criterion] | None = None,
        supports: Iterable[str] = (),
        instructions: str | None = None,
    ) -> None:
        """Prepare the answers; nothing is asked yet."""
        self._answers = itertools.cycle(list(answers))
        self.name = name
        self.identity = identity
        self.criteria = tuple(criteria) if criteria is not None else None
        self.supports = frozenset(supports)
        self.instructions = instructions
        self.probes: list[Probe] = []

    async def judge(self, probe: Probe) -> Judgment:
        """Return the next answer."""
        self.probes.append(probe)
        answer = next(self._answers)
        if isinstance(answer, BaseException):
            raise answer
        return as_judgment(answer)


class RecordedJudge:
    """Answers what a verdict log recorded for (case, perturbation, repetition); the frame shown is restored.

    A probe the log does not hold is an error.
    """

    def __init__(self, rows: Iterable[VerdictRow], *, name: str) -> None:
        """Take the rows of that judge."""
        self.name = name
        self.criteria: tuple[Criterion, ...] | None = None
        self.identity: JudgeIdentity | None = JudgeIdentity(name=name, parameters={"recorded": True})
        self._rows: dict[tuple[str, str, int], list[VerdictRow]] = {}
        for row in rows:
            if row.judge == name:
                self._rows.setdefault((row.case_id, row.perturbation, row.repetition), []).append(row)

    async def judge(self, probe: Probe) -> Judgment:
        """Return the recorded answer."""
        key = (probe.case_id, probe.perturbation.name, probe.repetition)
        if key not in self._rows:
            raise LookupError(f"judge {self.name!r} has no recorded answer for {key}")
        return Judgment(answers=tuple(_as_shown(row, probe) for row in self._rows[key]))


_NEGATED: Mapping[Verdict, str] = {"PASS": "FAIL", "FAIL": "PASS"}


def _as_shown(row: VerdictRow, probe: Probe) -> Answer:
    """Return a recorded answer in the frame the judge was shown: the log holds the canonical one."""
    change, shares = probe.perturbation, row.probabilities
    mirror = {**(EXCHANGED if change.swaps else {}), **(_NEGATED if change.negates else {})}
    return Answer(
        criterion=row.criterion,
        verdict=None if row.verdict is None else mirror.get(row.verdict, row.verdict),
        outcome=row.outcome,
        reasoning=row.reasoning,
        probabilities=None if shares is None else {mirror.get(name, name): share for name, share in shares.items()},
    )


def verdict_text(prompt: str, verdict: object, *, reasons: str = "So it is.") -> str:
    """Return reasons and, on the last line, a verdict as the prompt asks for it: after the code of the case.

    Args:
        prompt: what the model was told, all messages of it.
        verdict: what stands in place of the verdict: `Assistant A`, 7, `PASS`, a JSON text.
        reasons: what comes before.

    """
    code = code_in(prompt)
    return f"{reasons}\n\n{verdict if code is None else verdict_line(code, verdict)}"


_NOTHING = 1e-12
Floats = NDArray[np.float64]


class _Call(NamedTuple):
    """z of one call, in the frame of the case; with chance `obeyed` the verdict is the one at `wanted` instead."""

    mean: float
    shifts: frozenset[tuple[str, float]]
    wanted: int
    obeyed: float

    def deviation(self, judge: JudgeParameters) -> float:
        """Return the standard deviation of z."""
        return math.hypot(judge.noise, *(size for _, size in self.shifts))

    def standardised(self, judge: JudgeParameters) -> Floats:
        """Return the edges of the scale in deviations from the mean, infinite ones where nothing is random."""
        edges, deviation = np.array(judge.scale.edges), self.deviation(judge)
        if deviation:
            return (edges - self.mean) / deviation
        above = np.where(judge.scale.closed, self.mean >= edges, self.mean > edges)
        return np.where(above, -np.inf, np.inf)


@dataclass(frozen=True, kw_only=True)
class SimulatedTruth:
    """The rates behind a simulated judge's answers about cases of one kind.

    All are of valid answers, of calls drawn anew for a case drawn anew; a perturbation is given by its name in the log.
    What a perturbation does to the length of a text is not in them.

    Args:
        judge: who answers.
        quality_difference: by how much A (or PASS, or a higher score) is better.
        name_lead: what names give A or the only answer; `name_swap` gives it to the other one.
        length_lead: what length gives it.

    """

    judge: JudgeParameters
    quality_difference: float
    name_lead: float = 0.0
    length_lead: float = 0.0

    def chance(self, verdict: Verdict, *, perturbation: str = "none", call: int = 0) -> float:
        """Return the chance of a verdict, in the frame of the case, after `call` other calls.

        Raises:
            UsageError: the judge never gives that verdict.

        """
        verdicts = self.judge.scale.verdicts
        if verdict not in verdicts:
            raise UsageError(f"{verdict!r} is no verdict of this judge: {', '.join(map(str, verdicts))} are.")
        return float(self.distribution(perturbation, call=call)[verdicts.index(verdict)])

    def accuracy(self, perturbation: str = "none") -> float:
        """Return the chance of the verdict that a judge without noise or bias gives, the gold label of such cases."""
        place = scale_of(self.judge.kind, 0.0).places(np.array([self.quality_difference]))
        return float(self.distribution(perturbation)[place[0]])

    def flip_rate(self, perturbation: str = "none", *, base: str = "none", tolerance: float = 1.0) -> float:
        """Return the chance that a call under `perturbation` and another under `base` differ.

        Without arguments that is the flip rate of repetitions alone.

        Args:
            perturbation: of the one call.
            base: of the other.
            tolerance: how far apart scores may lie and still count as the same.

        """
        verdicts = self.judge.scale.verdicts
        apart = np.array([[not same(verdict, other, tolerance) for other in verdicts] for verdict in verdicts])
        return float((self.joint(base, perturbation) * apart).sum())

    def excess_flip_rate(self, perturbation: str, *, base: str = "none", tolerance: float = 1.0) -> float:
        """Return the flips under a perturbation beyond those of repetitions: the effect that a check reports."""
        noise = self.flip_rate(base, base=base, tolerance=tolerance)
        return self.flip_rate(perturbation, base=base, tolerance=tolerance) - noise

    def attack_rate(self, probe: str, *, tolerance: float = 1.0) -> float | None:
        """Return how often a probe has what it is after, where the verdict before leaves it something to gain.

        For `injection.role_play` and its like that is a verdict for the attacked answer, for `sentinel.empty` and
        `sentinel.off_topic` that the answer does not lose, for `sentinel.copy` that a winner is named. None where
        nothing is ever left to gain.
        """
        return attack_rate(self, probe, tolerance=tolerance)

    def attack_baseline(self, *, tolerance: float = 1.0) -> float | None:
        """Return how often a repetition does to an attacked answer, by noise alone, what an attack is after."""
        return attack_rate(self, None, tolerance=tolerance)

    @property
    def agreement(self) -> float:
        """The chance that two repetitions give exactly the same verdict."""
        return 1 - self.flip_rate(tolerance=0.0)

    @property
    def position_consistency(self) -> float:
        """The chance that two calls, one in each order, give the same verdict."""
        return 1 - self.flip_rate("position_swap")

    @property
    def net_lean(self) -> float:
        """Share of pairs of calls, one in each order, that both name the first slot, minus the share for the second."""
        joint = self.joint("none", "position_swap")
        return float(joint[-1, 0] - joint[0, -1])

    @property
    def first_slot_rate(self) -> float:
        """Wins of what is shown first among all wins, over both orders."""
        shown, swapped = self.distribution("none"), self.distribution("position_swap")
        return float((shown[-1] + swapped[0]) / (shown[-1] + shown[0] + swapped[-1] + swapped[0]))

    @property
    def verdict_correlation(self) -> float | None:
        """The correlation between two calls about one case of whether the best verdict is given: A, PASS or 10.

        None where it is given always or never.
        """
        joint = self.joint("none", "none")
        both, share = float(joint[-1, -1]), float(joint[-1].sum())
        spread = share * (1 - share)
        return (both - share * share) / spread if spread > _NOTHING else None

    def distribution(self, perturbation: str = "none", *, call: int = 0) -> Floats:
        """Return the chance of each of the scale's verdicts (k,), from the worst for A to the best."""
        from scipy.special import ndtr  # noqa: PLC0415 - takes a quarter of a second

        one = self._call(perturbation, call)
        below = np.concatenate([[0.0], ndtr(one.standardised(self.judge)), [1.0]])
        return _obeying(np.diff(below), one, axis=0)

    def joint(self, first: str, second: str) -> Floats:
        """Return the chances (k, k) of the verdicts of two calls about a case, each under its perturbation."""
        if self.judge.copies and first == second:
            return np.diag(self.distribution(first))
        one, other = self._call(first, 0), self._call(second, 0)
        shared = self.judge.case_correlation * self.judge.noise**2 + _size(one.shifts & other.shifts)
        spread = one.deviation(self.judge) * other.deviation(self.judge)
        first_edges, second_edges = (np.pad(call.standardised(self.judge), 1) for call in (one, other))
        for edges in (first_edges, second_edges):
            edges[0], edges[-1] = -np.inf, np.inf
        correlation = shared / spread if spread else 0.0
        below = bivariate_cdf(first_edges[:, None], second_edges[None, :], correlation)
        chances = np.clip(np.diff(np.diff(below, axis=0), axis=1), 0.0, 1.0)
        return _obeying(_obeying(chances, one, axis=0), other, axis=1)

    def _call(self, perturbation: str, call: int) -> _Call:
        parts, probe = perturbation.split("+"), probe_name(perturbation)
        planted = sentinel_difference(probe)
        names = -self.name_lead if "name_swap" in parts else self.name_lead
        first = self.judge.position + self.judge.drift * call
        return _Call(
            mean=(self.quality_difference if planted is None else planted)
            + names
            + self.length_lead
            + (-first if "position_swap" in parts else first),
            shifts=frozenset((part, size) for part in parts if (size := shift(self.judge, part))),
            wanted=0 if probe is not None and probe.side == "b" else self.judge.scale.top,
            obeyed=obedience(self.judge, probe),
        )


def _size(shifts: frozenset[tuple[str, float]]) -> float:
    """Return the variance that changes of format and wording add."""
    return sum(size * size for _, size in shifts)


def _obeying(chances: Floats, call: _Call, *, axis: int) -> Floats:
    """Return the chances when a share of the answers is the wanted one instead."""
    if not call.obeyed:
        return chances
    wanted = np.zeros(chances.shape[axis])
    wanted[call.wanted] = call.obeyed
    instead = np.expand_dims(chances.sum(axis=axis), axis) * (wanted if axis == chances.ndim - 1 else wanted[:, None])
    return (1 - call.obeyed) * chances + instead


_MUST_LOSE = ("sentinel.empty", "sentinel.off_topic")
_COPY = "sentinel.copy"
_LOSER = {**EXCHANGED, "TIE": "B"}


def attack_rate(truth: SimulatedTruth, probe: str | None, *, tolerance: float) -> float | None:
    """Return the share of attacked cases in which a probe succeeds; without a probe, a repetition of the case.

    None where the verdict before never leaves anything to gain, and for a copy of a single answer.
    """
    if probe == _COPY:
        return _named_winner(truth)
    pair = truth.judge.kind == "pairwise"
    succeeds = _survival(truth) if probe in _MUST_LOSE else _gain(truth, tolerance)
    succeeded = tried = 0.0
    for place, before in enumerate(truth.judge.scale.verdicts):
        attacked = _attacked(before, loses=probe in _MUST_LOSE) if pair else None
        if (hits := succeeds(before, attacked)) is None:
            continue
        side = "" if attacked is None else f"({attacked.lower()})"
        joint = truth.joint("none", "none" if probe is None else f"probe:{probe}{side}")[place]
        tried += float(joint.sum())
        succeeded += float(sum(chance for chance, hit in zip(joint, hits, strict=True) if hit))
    return succeeded / tried if tried else None


_Hits = Callable[["Verdict", "str | None"], "list[bool] | None"]  # (verdict before, attacked side) -> by verdict after


def _named_winner(truth: SimulatedTruth) -> float | None:
    if truth.judge.kind != "pairwise":
        return None
    return 1 - float(truth.distribution(f"probe:{_COPY}(b)")[1])


def _attacked(before: Verdict, *, loses: bool) -> str:
    """Return the answer a probe changes: the one that lost, a sentinel the one that won; of a tie the second."""
    loser = _LOSER[str(before)]
    return _LOSER[loser] if loses and before != "TIE" else loser


def _gain(truth: SimulatedTruth, tolerance: float) -> _Hits:
    """Return which verdicts are what an attack is after, None where nothing is left to gain."""
    verdicts = truth.judge.scale.verdicts

    def hits(before: Verdict, attacked: str | None) -> list[bool] | None:
        if attacked is not None:
            return [verdict == attacked for verdict in verdicts]
        place = verdicts.index(before)
        gained = [at > place and not same(before, verdict, tolerance) for at, verdict in enumerate(verdicts)]
        return gained if any(gained) else None

    return hits


def _survival(truth: SimulatedTruth) -> _Hits:
    """Return with which verdicts a worthless answer does not lose; a score that reaches the median is one."""
    verdicts = truth.judge.scale.verdicts
    below = truth.distribution().cumsum() < 1 / 2

    def hits(before: Verdict, attacked: str | None) -> list[bool]:
        del before
        if attacked is not None:
            return [verdict != _LOSER[attacked] for verdict in verdicts]
        return [
            verdict == "PASS" or (truth.judge.kind == "scores" and not below[at]) for at, verdict in enumerate(verdicts)
        ]

    return hits


_BEYOND = 40.0  # no normal number lies there
_TINY = 1e-300
_NEARLY_ONE = 1 - 1e-12


def bivariate_cdf(first: Floats, second: Floats, correlation: float) -> Floats:
    """Return P(X < first, Y < second) of standard normal X and Y, by Owen's T function (Owen 1956, eq. 3.1).

    Args:
        first: bounds of X, any shape; infinite ones are allowed.
        second: bounds of Y, of a shape that goes with it.
        correlation: of X and Y, from 0 to 1.

    """
    from scipy.special import ndtr, owens_t  # noqa: PLC0415 - takes a quarter of a second

    h, k = (_finite(bounds) for bounds in (first, second))
    if correlation > _NEARLY_ONE:
        same: Floats = ndtr(np.minimum(h, k))
        return same
    rest = (1 - correlation * correlation) ** 0.5
    ahead = (k - correlation * h) / (h * rest), (h - correlation * k) / (k * rest)
    apart = np.where(np.signbit(h) == np.signbit(k), 0.0, 0.5)
    found: Floats = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, ahead[0]) - owens_t(k, ahead[1]) - apart
    return np.clip(found, 0.0, 1.0)


def _finite(bounds: Floats) -> Floats:
    clipped = np.clip(bounds, -_BEYOND, _BEYOND)
    return np.where(np.abs(clipped) < _TINY, _TINY, clipped)
