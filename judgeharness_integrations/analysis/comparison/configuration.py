"""What differs between two runs before anything is compared, and whether the same answers were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
from judgeharness_integrations.analysis.certifying.wording import held_text, terms_text
from judgeharness_integrations.analysis.comparison.pairing import JudgePair, Pair
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.report import JudgeSection, RunReport
from judgeharness_integrations.verdictlog.row import is_probe

# what the shares of decisions hang on whoever judges: a majority of one sample is not that of three
DESIGN: Final = frozenset(
    {"rule", "perturbations", "repetitions", "quorum", "early stopping", "wordings", "certificate"}
)

Question: TypeAlias = Literal["same answers", "new answers", "mixed", "unknown"]


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
    """Return whether the same answers were judged.

    By the texts of cases; else by the digest of all cases, which is equal of the same cases, whoever judged them; else
    by the hashes of what was asked. An equal hash is the same question to the same judge. A different one is a new
    answer only where the judge's fingerprint, hence the judge and what is asked about a case, is the same.
    """
    seen = {(pair.case_id, pair.before.judge): pair for pair in pairs}
    one = before is after  # two judges of one run
    known = Counter(one or _same(pair, before, after) for pair in seen.values())
    same, new, unknown = known[True], known[False], known[None]
    question: Question = "mixed"
    if unknown > same + new or not seen:
        question = "unknown"
    elif not new:
        question = "same answers"
    elif not same:
        question = "new answers"
    return Judged(question=question, same=same, new=new, unknown=unknown)


def _same(pair: Pair, before: RunReport, after: RunReport) -> bool | None:
    texts = [report.case_texts.get(pair.case_id) for report in (before, after)]
    if texts[0] is not None and texts[1] is not None:
        return dict(texts[0]) == dict(texts[1])
    if before.cases_digest is not None and before.cases_digest == after.cases_digest:
        return True  # one that differs says nothing of a single case
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


def shifted_sides(before: RunReport, after: RunReport, judges: Sequence[JudgePair]) -> Iterator[str]:
    """Yield of which run's judges the cases are not like the labelled ones, and in what."""
    for judge in judges:
        for side, report, name in (("before", before, judge.before), ("after", after, judge.after)):
            section = next(one for one in report.judges if one.judge == name)
            state = section.calibration_state
            if state is not None and state.status == "shifted" and section.calibration is not None:
                yield f"{side}, {name}: the calibration on {section.calibration.name} is {state}"


def certificate_notes(before: RunReport, after: RunReport, judges: Sequence[JudgePair]) -> Iterator[str]:
    """Yield what decisions of each side stand under, and where a file does not know the certificate of its own run."""
    for judge in judges:
        sides = ((before, judge.before), (after, judge.after))
        sections = [next(one for one in report.judges if one.judge == name) for report, name in sides]
        runs = [{row.run for one in report.results if one.judge == name for row in one.rows} for report, name in sides]
        shared = (runs[0] & runs[1]) - {""}
        for place, side in enumerate(("before", "after")):
            report, name = sides[place]
            yield from (f"{side}, {name}: {held_text(*one)}" for one in sections[place].certificates)
            if sections[place].unknown_certificate:
                yield f"{side}, {name}: {sections[place].unknown_certificate}"
            elif shared and sections[1 - place].certificates and not sections[place].certificates:
                yield (
                    f"{side}, {name}: rows of run {min(shared)}, whose certificate {report.source} does not know: give "
                    "the folder of the run, or its log there"
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
        "certificate": "; ".join(terms_text(*held) for held in section.certificates) or "none",
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
