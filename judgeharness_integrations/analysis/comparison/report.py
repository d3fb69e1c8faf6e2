"""What became of a measurement, judge by judge, and what differs between two runs before anything is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._lazy import renderer
from judgeharness_integrations.verdictlog.row import Verdict, is_probe

from ..calibration.controls import Controls
from ..calibration.saved import CalibrationReport
from ..certifying.certificate import held_text, terms_text
from ..result import Distribution, HarnessResult
from ..runs.building import Bill, labels_apart
from ..runs.report import JudgeSection, RunReport
from .difference import Difference, Measure, PowerBasis
from .pairing import JudgePair, Pair, State, Transition
from .splits import NoiseTest
from .values import Kind

# what the shares of decisions hang on whoever judges: a majority of one sample is not that of three
DESIGN: Final = frozenset(
    {"rule", "perturbations", "repetitions", "quorum", "early stopping", "wordings", "certificate"}
)

_A_PAIR: Final = 2

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


def sides_apart(before: RunReport, after: RunReport, judges: Sequence[JudgePair]) -> Iterator[str]:
    """Yield of which run's judges the cases with gold are no sample of all, so that what is right of them is not."""
    for judge in judges:
        for side, report, name in (("before", before, judge.before), ("after", after, judge.after)):
            section = next(one for one in report.judges if one.judge == name)
            yield from (f"{side}, {name}: {sentence}" for sentence in labels_apart(section.criteria))


def judges_picked(before: RunReport, after: RunReport, judges: Sequence[JudgePair]) -> Iterator[str]:
    """Yield of which judges of a larger field two were named: the best and the worst of many differ by luck alone."""
    names = {section.judge for report in (before, after) for section in report.judges}
    for judge in judges:
        if judge.before != judge.after and len(names) > _A_PAIR:
            yield (
                f"{judge.before:.100} and {judge.after:.100} are two of {len(names)} judges there: where they were "
                "chosen for their results, they are found to differ far more often, by luck alone; rank looks at all "
                "of them"
            )


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


COMPARISON_SCHEMA: Final = "judgeharness.comparison/1"

Answer: TypeAlias = Literal[
    "no difference found", "worse", "better", "different", "flips more than noise", "cannot tell"
]
_ORDER: Final[tuple[Answer, ...]] = (
    "worse",
    "better",
    "different",
    "flips more than noise",
    "cannot tell",
    "no difference found",
)


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A case whose decision became another one.

    `p` is the chance of a flip between samples at least as far apart when they change places between the runs; None
    where that cannot be told. `results` are what was measured of it, and `texts` what was judged, field by field,
    before and after, empty where it is not known.
    """

    case_id: str
    before: State
    after: State
    before_distribution: Distribution
    after_distribution: Distribution
    gold: Verdict | None
    p: float | None
    results: tuple[HarnessResult, HarnessResult] | None = field(default=None, repr=False, compare=False)
    texts: tuple[Mapping[str, str], Mapping[str, str]] = field(default=({}, {}), repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class CriterionComparison:
    """One criterion of one judge, before and after, over `cases` that both runs measured.

    `main` is the difference that is tested, `beside` are further ones without a part in the report's level. `answer`
    follows from the adjusted p-values `p_adjusted` (of `main`) and `noise_p_adjusted`; `reason` says why. `level` is
    what the test of `main` has to reach by itself. `minimum_detectable` is the smallest change, in units of `main`,
    that it finds with 80 % power. `cases_needed` are those that find a change of `detect`. `flips` are sorted by how
    unlikely they are under noise. `repeated` are cases with several measurements, paired in order and one cluster each,
    `unpaired` the measurements of theirs that the other run has no partner for. `controls_before` and `controls_after`
    are judges that read nothing beside each side, on its decided cases with one gold label; None without any.
    """

    judge: str
    judge_after: str
    criterion: str
    kind: Kind
    positive: str | None
    cases: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    relabelled: tuple[str, ...]
    transitions: tuple[Transition, ...]
    main: Difference | None
    beside: tuple[Difference, ...]
    noise: NoiseTest
    flips: tuple[Flip, ...] = field(repr=False)
    answer: Answer
    reason: str
    p_adjusted: float | None
    noise_p_adjusted: float | None
    level: float | None
    minimum_detectable: float | None
    detect: float
    cases_needed: int | None
    power_basis: PowerBasis | None = field(default=None, repr=False)
    repeated: tuple[str, ...] = ()
    unpaired: int = 0
    controls_before: Controls | None = None
    controls_after: Controls | None = None

    def predicted_power(self, drop: float = 0.1) -> float | None:
        """Return the probability that this comparison finds a change of `drop`.

        It follows from the discordance (or the spread) that was seen and from `level`; that the other tests of the
        report are found as well can only raise it. `drop` is a share of all cases, for scores of their range. None
        where nothing varies enough to tell.
        """
        return None if self.power_basis is None else self.power_basis.power(drop)


@dataclass(frozen=True, kw_only=True)
class BillChange:
    """What a judge used and cost in each run, all its cases counted; see `Bill`."""

    judge: str
    judge_after: str
    before: Bill
    after: Bill


@dataclass(frozen=True, kw_only=True)
class ComparisonReport:
    """Two runs, or two judges, compared on the cases both measured.

    `before` and `after` say where they were read. All tests form one family (weighted Holm at `alpha`), so that two
    runs of one judge are found to differ at most that often. `judges_before` and `judges_after` are those that only one
    run has, `criteria_before` and `criteria_after` such (judge, criterion) pairs. `bills` are what each judge cost.
    `sequential`: level and intervals hold however often one looks while cases are added. `stopped` are the sides whose
    run ended because gates of its own were settled. `unvaried` are sentences about judged systems that answer every
    input with one text, `copies` about cases that ask what others ask. `shifted` says of which run's judges the cases
    are not like those their calibration was measured on, `certificates` which certificates decisions stand under, and
    whether they hold, `apart` of which judges the cases with gold are no sample of all their cases, `picked` which
    judges were named out of how many. `arguments_after` are those with which `judgeharness report` shows the second
    side, where that is known.
    """

    before: str
    after: str
    run_before: str | None
    run_after: str | None
    alpha: float
    seed: int
    judged: Judged
    configuration: tuple[ConfigurationDifference, ...]
    criteria: tuple[CriterionComparison, ...]
    judges_before: tuple[str, ...]
    judges_after: tuple[str, ...]
    criteria_before: tuple[tuple[str, str], ...]
    criteria_after: tuple[tuple[str, str], ...]
    same_run: bool
    sequential: bool = False
    stopped: tuple[Literal["before", "after"], ...] = ()
    bills: tuple[BillChange, ...] = ()
    unvaried: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    arguments_after: tuple[str, ...] = ()
    picked: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The answer that weighs most: worse, better, different, flips more than noise, cannot tell, no difference."""
        given: list[Answer] = [one.answer for one in self.criteria]
        return min(given, key=_ORDER.index)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON keeps it (schema `judgeharness.comparison/1`)."""
        document: dict[str, Any] = renderer(self, "document")(self)
        return document

    def to_markdown(self) -> str:
        """Return the comparison as GitHub's Markdown."""
        return str(renderer(self, "markdown")(self))

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else."""
        return str(renderer(self, "html")(self))

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(renderer(self, "fragment")(self))


_MEASURES: Final[Mapping[Measure, str]] = {
    "positive_rate": "rate of",
    "right_of_labelled": "labelled cases judged right",
    "mean_score": "mean score",
    "mean_error": "mean distance from gold",
    "label_shares": "shares of labels",
    "coverage": "coverage",
    "abstention": "abstention",
    "consistency_rate": "consistency",
}
_SCORES: Final = frozenset({"mean_score", "mean_error"})


def shares(one: Difference) -> bool:
    """Whether a measure is a share, told in per cent and its changes in points; scores have units of their own."""
    return one.measure not in _SCORES


def measure_text(one: Difference) -> str:
    """Return what is measured: `rate of PASS`."""
    return _MEASURES[one.measure] + (f" {one.of}" if one.of else "")


def value_text(one: Difference, value: float | None) -> str:
    """Return `71.5 %` of shares, `6.125` of scores, `-` of what is not known."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if shares(one) else f"{value:.3f}"


def size_text(one: Difference, size: float) -> str:
    """Return a size without a sign: `8.1 points`, or `0.412`."""
    return f"{100 * size:.1f} points" if shares(one) else f"{size:.3f}"


def interval_text(one: Difference) -> str:
    """Return `[-12.0, -2.1]` in points or units, or `no interval`."""
    if one.low is None or one.high is None:
        return "no interval"
    scale, digits = (100, 1) if shares(one) else (1, 3)
    return f"[{scale * one.low:+.{digits}f}, {scale * one.high:+.{digits}f}]"


def change_text(one: Difference) -> str:
    """Return `rate 71.5 % -> 64.0 % of 200: -7.5 points [-12.0, -2.1]`, or how many labels changed."""
    if one.difference is None:
        return f"{measure_text(one)}: {one.rose} of {one.n} cases changed"
    sides = f"{value_text(one, one.before)} -> {value_text(one, one.after)} of {one.n}"
    return f"{measure_text(one)} {sides}: {difference_text(one)}"


def difference_text(one: Difference) -> str:
    """Return `-7.5 points [-12.0, -2.1]`, of labels `12 changed`."""
    if one.difference is None:
        return f"{one.rose} changed"
    change = f"{100 * one.difference:+.1f} points" if shares(one) else f"{one.difference:+.3f}"
    return f"{change} {interval_text(one)}"
