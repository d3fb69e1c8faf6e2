"""What a replay says: one entry per judge and criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from judgeharness_integrations._rendering import Rendered
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
from judgeharness_integrations.analysis.design import RuleFixed
from judgeharness_integrations.analysis.statistics.proportions import wilson

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.replay.anchoring import ReplayAnchor
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
