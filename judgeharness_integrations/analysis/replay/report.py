"""What a replay says: what is counted case by case, and whether a calibration holds for it."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from judgeharness_integrations._lazy import Rendered
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, is_number, verdict_text

from ..aggregation.cases import CaseDecision, case_decisions, center_of, scores_of
from ..aggregation.grouping import by_criterion
from ..aggregation.rules import Rule
from ..aggregation.statistics import PositionBias, base_perturbation
from ..calibration.controls import Controls, controls_of, label_controls, longer_of, unmeasured_controls
from ..calibration.items import read_golds, read_score
from ..calibration.population import population_of
from ..calibration.rates import Rate
from ..calibration.saved import CalibrationReport, CalibrationState, SavedMeasurement
from ..calibration.transport import ShiftTest, facts_of_decisions, shift_test, transported
from ..certifying.certificate import HeldCertificate
from ..design import RuleFixed
from ..fingerprint import design_changes, design_of_rows
from ..statistics.proportions import wilson

if TYPE_CHECKING:
    pass
else:
    ReplayAnchor = Any  # it decides cases, and whoever evaluates type hints sees Any

REPLAY_SCHEMA = "judgeharness.replay/1"

# fields that compare samples with earlier ones: with early stopping the later ones are of divided cases
FIXED_SAMPLES_ONLY: Final = (
    "single_call_accuracy",
    "position_consistency",
    "first_slot_rate",
    "always_first",
    "always_second",
    "position_bias_p",
    "within_case_sd",
)

Certificates: TypeAlias = Mapping[str, HeldCertificate]  # by judge
Kind: TypeAlias = Literal["labels", "numbers"]


@dataclass(frozen=True, kw_only=True)
class JudgeReplay:
    """One judge and criterion under one rule.

    TIE is a decision. `accuracy` = `correct` / `labelled`, where `labelled` is the number of decided cases
    with a gold label (all decided ones in a fully labelled log); `coverage` = decided / cases. Counts and rates of
    position are over pairs of samples shown in both orders, of pairwise criteria alone: verdicts and gold are A, B
    and TIE, and not all TIE. `curtailed` counts cases that were planned with early stopping, `censored` those of them
    with fewer samples than were planned. Where a case is curtailed, accuracy by perturbation, position and spread are
    None: later samples are of divided cases alone. `consistency_rate` is then that of stopped samples. `controls` are
    judges that read nothing, on the decided cases with a gold label. `unread` cases have a gold label that cannot be
    compared with such decisions (`calibration.words.read_golds`), and count as without one. `clusters`: how many the
    decided cases with a gold label are in, where rows have an attribute `cluster` and some share one; a case that
    stands in several runs counts in each. `stopped`: asking ended because of what was answered, and an interval over a
    fixed number of cases does not hold. What does not apply is None.
    """

    judge: str
    criterion: str
    kind: Kind
    cases: int
    decided: int
    abstained: int
    not_graded: int
    correct: int | None
    tie_decisions: int | None
    accuracy: float | None
    coverage: float | None
    single_call_accuracy: Mapping[str, float | None] | None
    position_consistency: float | None
    first_slot_rate: float | None
    always_first: int | None
    always_second: int | None
    position_bias_p: float | None
    unparsed: int
    consistency_rate: float | None
    within_case_sd: float | None
    mean_absolute_error: float | None
    curtailed: int = 0
    censored: int = 0
    labelled: int = field(default=0, metadata={"document": False})
    pairs: int = field(default=0, metadata={"document": False})
    rows: int = field(default=0, metadata={"document": False})
    controls: Controls | None = None
    unread: int = 0
    clusters: int | None = None
    accuracy_ends: tuple[float, float] | None = field(default=None, metadata={"document": False})
    stopped: bool = field(default=False, metadata={"document": False})

    @property
    def graded(self) -> int:
        """Number of cases with a grade, an abstention among them."""
        return self.decided + self.abstained

    @property
    def accuracy_interval(self) -> tuple[float, float] | None:
        """95 % Wilson interval of `accuracy`, with the effective number of cases where they share clusters.

        Of a stopped run the confidence sequence of its gate on it; None without one.
        """
        if self.accuracy_ends is not None or self.stopped:
            return self.accuracy_ends
        return None if self.correct is None else wilson(self.correct, self.labelled)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return an entry of a run's summary, which holds the interval of its accuracy and its denominator."""
        known = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        interval, controls = document.get("accuracy_95"), document.get("controls")
        return cls(
            **known
            | {
                "controls": None if controls is None else Controls.from_dict(controls),
                "labelled": document.get("decided_with_gold", 0),
                "accuracy_ends": None if interval is None else (interval[0], interval[1]),
                "stopped": "accuracy_95" in document and interval is None,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        fields = self.__dataclass_fields__.values()
        values = {f.name: getattr(self, f.name) for f in fields if f.metadata.get("document", True)}
        calls = self.single_call_accuracy
        return values | {
            "single_call_accuracy": None if calls is None else dict(calls),
            "controls": None if self.controls is None else self.controls.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class ReplayReport(Rendered):
    """A log under one rule: one entry per judge and criterion, in order of appearance.

    `anchors` are the calibrations that were held against it, one a judge. `certificates` are those its decisions stand
    under, by judge, and whether they hold.
    """

    rule: str
    rule_fixed: RuleFixed
    judges: tuple[JudgeReplay, ...]
    anchors: tuple[ReplayAnchor, ...] = ()
    certificates: Certificates = field(default_factory=dict)

    @property
    def graded(self) -> bool:
        """Whether any case got a grade, be it an abstention."""
        return any(one.graded for one in self.judges)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it (schema `judgeharness.replay/1`)."""
        return {
            "schema": REPLAY_SCHEMA,
            "rule": self.rule,
            "rule_fixed": self.rule_fixed,
            "judges": [entry.to_dict() for entry in self.judges],
            **({"calibrations": [anchor.to_dict() for anchor in self.anchors]} if self.anchors else {}),
            **({"certificates": self._certificates()} if self.certificates else {}),
        }

    def _certificates(self) -> list[dict[str, Any]]:
        return [{"judge": judge, **given.record(state)} for judge, (given, state) in self.certificates.items()]


_Compared: TypeAlias = "tuple[Verdict, Verdict, str | None, Hashable]"  # gold, decision, longer answer, cluster
_Read: TypeAlias = Mapping[Verdict, "Verdict | None"]


@dataclass(kw_only=True)
class LabelCounts:
    """Counts over the cases of one judge and criterion, by their gold labels: what those mean is known at the end.

    `golds`: gold label -> cases. `compared`: what was decided about decided cases with gold, and their cluster where
    they share one (any other is its own, and no key). `calls`: perturbation, gold label
    and verdict -> calls about cases with gold. Of gold scores, which no label is, all but 0 and 1 are counted as the
    first one (`score`).
    """

    ties: int = 0
    score: Verdict | None = None
    golds: Counter[Verdict] = field(default_factory=Counter)
    asked: dict[str, None] = field(default_factory=dict)
    calls: Counter[tuple[str, Verdict, Verdict | None]] = field(default_factory=Counter)
    compared: Counter[_Compared] = field(default_factory=Counter)

    def add(self, case: CaseDecision, cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        gold, verdict = self._kept(case.gold), case.decision.verdict
        decided = case.decision.status == "decided" and verdict is not None
        self.ties += times * (decided and verdict == "TIE")
        asked = self.asked
        for row in case.rows:
            asked[row.perturbation] = None
        if gold is None:
            return
        self.golds[gold] += times
        if decided and verdict is not None:
            longer = longer_of({}, case.rows[0].attributes)
            self.compared[gold, verdict, longer, cluster] += times
        calls = self.calls
        for row in case.rows:  # a failed call about a labelled case is wrong
            calls[row.perturbation, gold, row.verdict] += times

    def _kept(self, gold: Verdict | None) -> Verdict | None:
        if gold is None or not is_number(gold) or gold in (0, 1):
            return gold
        self.score = gold if self.score is None else self.score
        return self.score

    def measured(self, *, pairwise: bool) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about labels."""
        read = self._read()
        known = any(label is not None for label in read.values())
        labelled = sum(count for (gold, *_), count in self.compared.items() if read[gold] is not None)
        correct = sum(count for (gold, verdict, *_), count in self.compared.items() if read[gold] == verdict)
        return {
            "correct": correct if known else None,
            "labelled": labelled,
            "accuracy": correct / labelled if labelled else None,
            "tie_decisions": self.ties if pairwise else None,
            "single_call_accuracy": self._calls(read) if known else None,
            "within_case_sd": None,
            "mean_absolute_error": None,
            "unread": sum(count for gold, count in self.golds.items() if read[gold] is None),
            **self._by_cluster(read),
        }

    def _read(self) -> _Read:
        decided = {verdict for _, verdict, *_ in self.compared}
        return read_golds(self.golds, decided or {verdict for *_, verdict in self.calls if verdict is not None})

    def _calls(self, read: _Read) -> dict[str, float | None]:
        """Return perturbation -> share of right calls; None without any about a case with gold."""
        right, about = dict.fromkeys(self.asked, 0), dict.fromkeys(self.asked, 0)
        for (name, gold, verdict), count in self.calls.items():
            if (label := read[gold]) is not None:
                about[name] += count
                right[name] += count * (label == verdict)
        return {name: right[name] / count if count else None for name, count in about.items()}

    def _by_cluster(self, read: _Read) -> dict[str, Any]:
        """Return what depends on which cases belong together."""
        entries = list(self._entries(read))
        golds, verdicts, longer, clusters, counts = zip(*entries, strict=True) if entries else ((), (), (), (), ())
        right = [gold == verdict for gold, verdict in zip(golds, verdicts, strict=True)]
        shared = len(set(clusters))
        rate = Rate.over(right, clusters) if shared < len(clusters) else None
        return {
            "controls": label_controls(
                golds, right, clusters, labels=frozenset({*golds, *verdicts}), longer=longer, counts=counts
            ),
            "clusters": None if rate is None else shared,
            "accuracy_ends": None if rate is None else (rate.low, rate.high),
        }

    def _entries(self, read: _Read) -> Iterator[tuple[str, str, str | None, Hashable, int]]:
        """Yield gold, decision, longer answer and cluster of decided cases with gold, and for how many each stands.

        Those are one by one where cases share clusters, else as many as are alike.
        """
        known = [(key, count, label) for key, count in self.compared.items() if (label := read[key[0]]) is not None]
        one_by_one = any(cluster is not None for (*_, cluster), _, _ in known)
        for number, ((_, verdict, longer, cluster), count, label) in enumerate(known):
            texts = verdict_text(label), verdict_text(verdict), longer
            for place in range(count if one_by_one else 1):
                yield *texts, (number, place) if cluster is None else cluster, 1 if one_by_one else count


_PAIRWISE: Final = frozenset({"A", "B", "TIE", None})
_ORDERS: Final = 2
_FIRST, _SECOND = ("A", "B"), ("B", "A")  # canonical verdicts, shown and swapped, that name the same slot twice


@dataclass(kw_only=True)
class PositionCounts:
    """Counts over the cases of one judge and criterion, as long as verdicts and gold are A, B and TIE.

    Other verdicts name no slot; ties alone could be anybody's. `pairs` counts (verdict as shown, verdict swapped) of
    samples that differ in the order alone, which `aggregation.position_bias` counts for a whole log at once. `leans`:
    cluster of several cases -> how far they lean to the first slot together.
    """

    used: set[Verdict | None] = field(default_factory=set)
    foreign: bool = False
    pairs: dict[tuple[Any, Any], int] = field(default_factory=dict)
    cases_first: int = 0
    cases_second: int = 0
    leans: Counter[Hashable] = field(default_factory=Counter)
    bases: dict[str, str] = field(default_factory=dict)  # swapped perturbation -> what its partner is called

    def add(self, rows: Sequence[VerdictRow], cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in the rows of a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        if self.foreign:
            return
        used, orders = self.used, set()
        for row in rows:
            used.add(row.verdict)
            used.add(row.gold)
            orders.add(row.swapped)
        if not used <= _PAIRWISE:
            self.foreign = True
            self.used, self.pairs = set(), {}
        elif len(orders) == _ORDERS:
            self._pair(rows, cluster, times)

    def _pair(self, rows: Sequence[VerdictRow], cluster: Hashable, times: int) -> None:
        shown: dict[tuple[str, int], Verdict | None] = {}
        swapped: dict[tuple[str, int], Verdict | None] = {}
        for row in rows:
            if not row.swapped:
                shown[row.perturbation, row.repetition] = row.verdict
                continue
            base = self.bases.get(row.perturbation)
            if base is None:
                base = self.bases[row.perturbation] = base_perturbation(row)
            swapped[base, row.repetition] = row.verdict
        lean, pairs = 0, self.pairs
        for key, verdict in shown.items():
            if key in swapped:
                pair = (verdict, swapped[key])
                pairs[pair] = pairs.get(pair, 0) + times
                lean += (pair == _FIRST) - (pair == _SECOND)
        if cluster is not None:
            self.leans[cluster] += lean
            return
        self.cases_first += times * (lean > 0)
        self.cases_second += times * (lean < 0)

    @property
    def pairwise(self) -> bool:
        """Whether all verdicts and gold labels, and at least one, are A, B or TIE."""
        return not self.foreign and bool(self.used - {None})

    def bias(self) -> PositionBias | None:
        """Return the counts; None when nothing was shown in both orders, or verdicts name no slot."""
        if not self.pairs or not self.used & {"A", "B"}:
            return None
        return PositionBias(
            pairs=sum(self.pairs.values()),
            equal=sum(self.pairs.get((verdict, verdict), 0) for verdict in ("A", "B", "TIE")),
            always_first=self.pairs.get(_FIRST, 0),
            always_second=self.pairs.get(_SECOND, 0),
            first_wins=self._wins("A", "B"),
            second_wins=self._wins("B", "A"),
            cases_first=self.cases_first + sum(lean > 0 for lean in self.leans.values()),
            cases_second=self.cases_second + sum(lean < 0 for lean in self.leans.values()),
        )

    def _wins(self, shown: str, swapped: str) -> int:
        """Return how many samples named one slot: its letter as shown, the other one swapped."""
        return sum(count * ((one == shown) + (other == swapped)) for (one, other), count in self.pairs.items())

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about position."""
        found = self.bias()
        names = ("always_first", "always_second", "first_slot_rate")
        return {
            **{name: getattr(found, name, None) for name in names},
            "position_consistency": None if found is None else found.consistency,
            "position_bias_p": None if found is None else found.p_value,
            "pairs": 0 if found is None else found.pairs,
        }


_UNIT: Final = 1 << 1074  # every float is a whole number of its inverse


class ExactMean:
    """The mean of the values added: their exact sum, rounded once as `math.fsum` does, over their number."""

    __slots__ = ("_sum", "count")

    def __init__(self) -> None:
        """Start without values."""
        self._sum = 0  # times `_UNIT`
        self.count = 0

    def add(self, value: float, *, times: int = 1) -> None:
        """Take in a value so many times."""
        numerator, denominator = value.as_integer_ratio()
        self._sum += times * numerator * (_UNIT // denominator)
        self.count += times

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return self._sum / _UNIT / self.count if self.count else None


_MOST_COMPARED: Final = 100_000  # cases whose gold, score and cluster are kept, 24 bytes each: memory stays bounded


def _numbers() -> array[float]:
    return array("d")


def _places() -> array[int]:
    return array("q")


@dataclass(kw_only=True)
class ScoreSums:
    """Sums over the cases of one judge and criterion.

    `golds`: gold label that is no number -> cases; `passed`: such a label and what a rule with `pass_at` decided.
    `scores` and `centers`: gold scores and the numbers decided beside them, as long as these are not too many; they are
    compared with controls. `clusters` says which of them belong together: the place of the first one in the same
    cluster, which `first` keeps of those that are shared.
    """

    golds: Counter[Verdict] = field(default_factory=Counter)
    passed: Counter[tuple[Verdict, Verdict]] = field(default_factory=Counter)
    variance: ExactMean = field(default_factory=ExactMean)
    error: ExactMean = field(default_factory=ExactMean)
    scores: array[float] = field(default_factory=_numbers)
    centers: array[float] = field(default_factory=_numbers)
    clusters: array[int] = field(default_factory=_places)
    first: dict[Hashable, int] = field(default_factory=dict)

    def add(self, case: CaseDecision, cluster: Hashable = None, *, times: int = 1) -> None:
        """Take in a case, alone or in the cluster it shares, as often as there are such cases (`times`)."""
        gold, verdict = case.gold, case.decision.verdict
        score = None if gold is None else read_score(gold)
        if gold is not None and score is None:
            self.golds[gold] += times
            if isinstance(verdict, str) and case.decision.status == "decided":
                self.passed[gold, verdict] += times
        if len(scores := scores_of(case)) > 1:
            self.variance.add(statistics.variance(scores), times=times)
        center = None if _open_center(case) else center_of(case.decision)
        if center is not None and score is not None:
            self._compare(float(score), center, cluster, times)

    def _compare(self, score: float, center: float, cluster: Hashable, times: int) -> None:
        before = self.error.count
        self.error.add(abs(center - score), times=times)
        for place in range(before, min(self.error.count, _MOST_COMPARED)):
            self.scores.append(score)
            self.centers.append(center)
            self.clusters.append(place if cluster is None else self.first.setdefault(cluster, place))

    def measured(self) -> dict[str, Any]:
        """Return the fields of `JudgeReplay` that are about scores."""
        spread = self.variance.value
        decided = {verdict for _, verdict in self.passed}  # none without `pass_at`: no label is a score
        read = read_golds(self.golds, decided, scored=True) if decided else dict.fromkeys(self.golds)
        passed = sum(count for (gold, _), count in self.passed.items() if read[gold] is not None)
        correct = sum(count for (gold, verdict), count in self.passed.items() if read[gold] == verdict)
        return {
            "correct": correct if passed else None,
            "labelled": passed or self.error.count,
            "accuracy": correct / passed if passed else None,
            "unread": sum(count for gold, count in self.golds.items() if read[gold] is None),
            "tie_decisions": None,
            "single_call_accuracy": None,
            "within_case_sd": None if spread is None else math.sqrt(spread),
            "mean_absolute_error": self.error.value,
            "controls": self._controls(),
        }

    def _controls(self) -> Controls | None:
        error, count = self.error.value, self.error.count
        if error is not None and count > _MOST_COMPARED:
            reason = f"only up to {_MOST_COMPARED:,} scores with gold are kept"
            return unmeasured_controls(error, count, reason)
        return controls_of(self.scores, self.centers, self.clusters)


def _open_center(case: CaseDecision) -> bool:
    """Whether further samples could have moved the number behind a decision: early stopping waits for PASS or FAIL."""
    return case.curtailed and isinstance(case.decision.verdict, str)


_UNKNOWN = "a log does not say which configuration answered: whether judge and prompt are the same is not known"


@dataclass(frozen=True, kw_only=True)
class ReplayAnchor:
    """A calibration beside a replay of one judge: whether it holds, and whether cases are like the labelled ones."""

    judge: str
    source: str
    state: CalibrationState
    shift: ShiftTest | None

    def lines(self) -> tuple[str, ...]:
        """Return what is to be said of it."""
        told = f"{self.judge}: the calibration on {self.source} is {self.state}"
        asked = self.shift is not None and not self.shift.shifted
        return (told, f"{self.judge}: {self.shift.sentence}") if asked and self.shift is not None else (told,)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        shift = None if self.shift is None else self.shift.to_dict()
        return {"judge": self.judge, "source": self.source, **asdict(self.state), "shift": shift}


def replay_state(
    report: SavedMeasurement, rows: Sequence[VerdictRow], rule: Rule, held: CalibrationState | None = None
) -> CalibrationState:
    """Return whether a measurement on labels holds for a rule's decisions about the rows of one judge, case by case.

    Args:
        report: the calibration or certificate.
        rows: of one judge.
        rule: what decides.
        held: whether it held for the run the rows are of; None where nobody knows.

    """
    judge = rows[0].judge
    changes = design_changes(report.known_design, design_of_rows(rows, rule.name))
    if report.judge != judge:
        changes = (f"judge {report.judge} before, {judge} now", *changes)
    if changes:
        return CalibrationState(status="expired", reason="; ".join(changes))
    return CalibrationState(status="unverifiable", reason=_UNKNOWN) if held is None else held


def replay_anchor(
    report: CalibrationReport,
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    held: CalibrationState | None = None,
    min_valid: int | None = None,
) -> ReplayAnchor:
    """Return what a calibration is worth for a rule's decisions about the rows of one judge; see `replay_state`."""
    state, shift = replay_state(report, rows, rule, held), None
    if state.status != "expired":
        labelled = report.population
        column, columns = (None, None) if labelled is None else (labelled.column, labelled.columns)
        decided = {
            name: case_decisions(group, rule, min_valid=min_valid)
            for name, group in by_criterion(rows).items()
            if name in report.criteria
        }
        facts = facts_of_decisions(decided, column=column)
        shift = shift_test(labelled, population_of(facts, column=column, columns=columns))
        state = transported(state, shift)
    return ReplayAnchor(judge=rows[0].judge, source=report.name, state=state, shift=shift)
