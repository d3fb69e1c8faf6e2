"""What differs between two runs before anything is compared, and whether the same answers were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.comparison.pairing import JudgePair, Pair
from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.probenames import is_probe

__all__ = ["DESIGN", "ConfigurationDifference", "Judged", "Question", "configuration_differences", "judged"]

# what the shares of decisions hang on whoever judges: a majority of one sample is not that of three
DESIGN: Final = frozenset({"rule", "perturbations", "repetitions", "quorum", "early stopping", "wordings"})

Question: TypeAlias = Literal["same answers", "new answers", "mixed", "unknown"]

_Texts: TypeAlias = "Mapping[str, Mapping[str, str]]"


@dataclass(frozen=True, kw_only=True)
class ConfigurationDifference:
    """A part of a judge's configuration that is not the same in both runs, as texts; None where it is not known."""

    judge: str
    part: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Whether the two runs judged the same answers: how many (case, judge) pairs did, did not, or cannot be told."""

    question: Question
    same: int
    new: int
    unknown: int

    @property
    def sentence(self) -> str:
        """What a difference means."""
        return _MEANINGS[self.question]


_MEANINGS: Final[Mapping[Question, str]] = {
    "same answers": "the same answers were judged in both runs: a difference is the judge's, or the harness's",
    "new answers": "the answers that were judged differ: a difference may be theirs or the judge's, and samples of the "
    "two runs are alike only if the judge cannot tell old answers from new ones",
    "mixed": "some answers that were judged are the same and some are new: a difference may be theirs or the judge's",
    "unknown": "whether the same answers were judged is not known: where they were, a difference is the judge's or the "
    "harness's; where they were not, it may be theirs",
}


def judged(pairs: Iterable[Pair], before: RunReport, after: RunReport) -> Judged:
    """Return whether the same answers were judged, by the texts of cases, else by the hashes of what was asked.

    An equal hash is the same question to the same judge. A different one is a new answer only where the judge's
    fingerprint, hence the judge and what is asked about a case, is the same.
    """
    seen = {(pair.case_id, pair.before.judge): pair for pair in pairs}
    one = before is after  # two judges of one run
    known = Counter(one or _same(pair, before.case_texts, after.case_texts) for pair in seen.values())
    same, new, unknown = known[True], known[False], known[None]
    question: Question = "mixed"
    if unknown > same + new or not seen:
        question = "unknown"
    elif not new:
        question = "same answers"
    elif not same:
        question = "new answers"
    return Judged(question=question, same=same, new=new, unknown=unknown)


def _same(pair: Pair, before: _Texts, after: _Texts) -> bool | None:
    if pair.case_id in before and pair.case_id in after:
        return dict(before[pair.case_id]) == dict(after[pair.case_id])
    first, second = _hashes(pair.before), _hashes(pair.after)
    shared = first.keys() & second.keys()
    if not shared:
        return None
    if any(first[place] == second[place] for place in shared):
        return True
    fingerprints = {pair.before.fingerprint, pair.after.fingerprint}
    return False if len(fingerprints) == 1 and None not in fingerprints else None


def _hashes(result: HarnessResult) -> dict[tuple[str, int], str]:
    return {(row.perturbation, row.repetition): row.probe_hash for row in result.rows if row.probe_hash is not None}


def configuration_differences(
    before: RunReport, after: RunReport, judges: Sequence[JudgePair]
) -> tuple[ConfigurationDifference, ...]:
    """Return what of each judge's configuration differs, as far as both sides show it."""
    return tuple(
        ConfigurationDifference(judge=judge.name, part=part, before=first, after=second)
        for judge in judges
        for part, first, second in _differences(_facts(before, judge.before), _facts(after, judge.after))
    )


def _differences(
    before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> Iterator[tuple[str, str | None, str | None]]:
    for part, first in before.items():
        if first != after[part]:
            yield part, first, after[part]


def _facts(report: RunReport, judge: str) -> dict[str, str | None]:
    """Return part -> text; several values where the cases of a judge differ among themselves."""
    results = [result for result in report.results if result.judge == judge]
    section = next(section for section in report.judges if section.judge == judge)
    return {
        "judge": judge,
        "model": ", ".join(section.models) or None,
        "rule": _joined(results, lambda one: one.design.rule.name),
        "rule chosen": _joined(results, lambda one: f"{one.design.rule_fixed} the samples"),
        "perturbations": _joined(results, _voting),
        "repetitions": _joined(results, lambda one: one.design.repetitions),
        "quorum": _joined(results, lambda one: one.design.min_valid or "half of the planned samples"),
        "tolerance": _joined(results, _tolerance),
        "early stopping": _joined(results, lambda one: "yes" if one.design.curtail else "no"),
        "wordings": _joined(results, lambda one: ", ".join(one.design.wordings) or "none"),
        "temperature": _joined(results, lambda one: one.temperature),
        "calibration": _calibration(section),
        "fingerprint": section.fingerprint,
        "run state": report.state,
    }


def _joined(results: Iterable[HarnessResult], fact: Callable[[HarnessResult], Any]) -> str | None:
    values = sorted({str(value) for result in results if (value := fact(result)) is not None})
    return "; ".join(values) or None


def _voting(result: HarnessResult) -> str:
    """Return what the decisions rest on: probes have no vote."""
    return ", ".join(sorted(name for name in result.perturbations if not is_probe(name)))


def _tolerance(result: HarnessResult) -> str | None:
    scales = {name: c.tolerance for name, c in result.criteria.items() if c.tolerance is not None}
    return ", ".join(f"{name} {value:g}" for name, value in sorted(scales.items())) or None


def _calibration(section: JudgeSection) -> str:
    report: CalibrationReport | None = section.calibration
    if report is None:
        return "none"
    state = section.calibration_state
    return report.name if state is None else f"{report.name} ({state.status})"
