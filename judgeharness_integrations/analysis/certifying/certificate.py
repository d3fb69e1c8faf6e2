"""Certificates: thresholds that were tested, what they leave, and the document they are kept in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from judgeharness_integrations.analysis.calibration.population import Population
from judgeharness_integrations.analysis.calibration.saved import CalibrationState, SavedMeasurement
from judgeharness_integrations.analysis.calibration.strata import stratum_text

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.shapes import Shape

_ROUNDING: Final = 1e-6  # of p-values, by another SciPy


@dataclass(frozen=True, kw_only=True)
class Step:
    """One threshold: decisions at least as sure are accepted.

    `labelled` accepted decisions have a label, in `clusters` clusters, and `wrong` of them do not agree with it.
    `covered` of all cases, labelled or not, are accepted. `p` is of the test that they are wrong more often than
    allowed; None where it was not tested: too few are accepted, or a test before it failed.
    """

    threshold: float
    labelled: int
    clusters: int
    wrong: int
    covered: int
    p: float | None


CERTIFICATE_SCHEMA = "judgeharness.certificate/1"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why nothing is certified, and what would do, each in 80 % of studies.

    `labels`: about so many labels with the same samples. `votes`: so many a case with the same number of labels. None
    where no number does that was looked at (20,000 labels, 60 votes), or where that cannot be told: where labelled
    cases share clusters.
    """

    reason: str
    labels: int | None
    votes: int | None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which decisions about one criterion are certified, in one stratum where there are strata.

    Of `cases` judged `labelled` have a label. Decisions with a score of `threshold` or more are certified: `covered` of
    the cases. Without a threshold none is, and `refusal` says why. `levels` is how many different scores there are,
    `of_scores` whether labels are scores. `untold` says why the labels cannot tell the decisions from always the same
    one, in which case agreement is no sign that the judge tells anything; it is empty where they can. `clusters` is how
    many the labelled cases are in. Decisions on fewer graded samples than `samples` are not certified: `thin` of the
    cases, whatever their score. `population` counts what the labelled cases are like. All four are None in a
    certificate of an earlier version.
    """

    criterion: str
    stratum: str | None
    cases: int
    labelled: int
    levels: int
    of_scores: bool
    threshold: float | None
    covered: int
    steps: tuple[Step, ...]
    refusal: Refusal | None = None
    untold: str = ""
    clusters: int | None = None
    samples: int | None = None
    thin: int | None = None
    population: Population | None = None

    @property
    def coverage(self) -> float:
        """The share of the cases whose decisions are certified."""
        return self.covered / self.cases


@dataclass(frozen=True, kw_only=True)
class Certificate(SavedMeasurement):
    """From which score on decisions agree with the labels at least `agreement` often, with confidence 1 - `delta`.

    `score` says how sure a decision is: `consistency`, `margin` or `column:NAME`. Scores agree within `tolerance`:
    decided ones with labels, samples with the decision. `stratum` names the column of strata, each of which has a
    threshold of its own. `curtailed`: the samples were stopped early, and only such samples are certified. It was
    chosen among `candidates`, and `tests` criteria and strata had enough labels for a test: each is tested at
    delta / (candidates x tests), so that all thresholds hold at once with confidence 1 - `delta`. None of an earlier
    version, each of whose criteria and strata has that confidence by itself. What all measurements on labels have: see
    `calibration.saved.SavedMeasurement`.
    """

    KIND: ClassVar[str] = "certificate"
    SCHEMA: ClassVar[str] = CERTIFICATE_SCHEMA

    agreement: float
    delta: float
    score: str
    tolerance: float
    stratum: str | None
    curtailed: bool
    selections: tuple[Selection, ...]
    candidates: int = 1
    tests: int | None = None

    @property
    def whom(self) -> str:
        """With whom decisions agree."""
        return "people" if self.calibrated else self.source.removeprefix("model:")

    @property
    def granted(self) -> bool:
        """Whether anything is certified."""
        return any(one.threshold is not None for one in self.selections)

    def of(self, criterion: str) -> Mapping[str | None, Selection]:
        """Return stratum -> selection of a criterion; without strata the only key is None."""
        return {one.stratum: one for one in self.selections if one.criterion == criterion}

    def warnings(self, criteria: Iterable[str]) -> Iterator[str]:
        """Yield which criteria of a result it says nothing about, and where the judge need not tell anything."""
        criteria = tuple(criteria)
        if missing := [name for name in criteria if not self.of(name)]:
            yield f"the certificate on {self.name} says nothing about {', '.join(missing)}: it has no labels of it"
        for one in self.selections:
            if one.untold and one.threshold is not None and one.criterion in criteria:
                stratum = "" if one.stratum is None else f", {self.stratum} {stratum_text(one.stratum)}"
                yield f"the certificate on {self.name}, {one.criterion}{stratum}: {one.untold}"

    def record(self, state: CalibrationState) -> dict[str, Any]:
        """Return which certificate is in use and whether it holds, as results and summaries keep it."""
        return {
            "source": self.name,
            "labels": self.source,
            "status": state.status,
            "reason": state.reason,
            "measured_at": self.measured_at,
            "agreement": self.agreement,
            "delta": self.delta,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON keeps it."""
        return {"schema": CERTIFICATE_SCHEMA, **asdict(self), "fingerprint": self.fingerprint}

    @classmethod
    def _shape(cls) -> type[Shape]:
        from judgeharness_integrations.analysis.certifying.shape import CertificateShape  # noqa: PLC0415 - pydantic

        return CertificateShape

    @classmethod
    def _own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        names = ("agreement", "delta", "score", "tolerance", "stratum", "curtailed")
        return {name: data[name] for name in names} | {
            "selections": tuple(_selection(one, data) for one in data["selections"]),
            "candidates": data.get("candidates", 1),
            "tests": data.get("tests"),
        }


# a certificate in use, and whether it holds
HeldCertificate: TypeAlias = tuple[Certificate, CalibrationState]


def _selection(data: Mapping[str, Any], limits: Mapping[str, Any]) -> Selection:
    """Return a selection whose steps bear it out.

    Raises:
        ValueError: they do not.

    """
    steps = tuple(Step(**step) for step in data["steps"])
    refusal = None if data["refusal"] is None else Refusal(**data["refusal"])
    population = None if data.get("population") is None else Population.from_dict(data["population"])
    found = Selection(**{**data, "steps": steps, "refusal": refusal, "population": population})
    level = limits["delta"] / limits.get("candidates", 1) / (limits.get("tests") or 1)
    last = _borne_out(steps, agreement=limits["agreement"], delta=level)
    claimed = (None, 0) if last is None else (last.threshold, last.covered)
    most = max((step.covered for step in steps), default=0)
    if (found.threshold, found.covered) != claimed or (refusal is None) is (last is None) or most > found.cases:
        raise ValueError(f"the tests of {found.criterion!r:.60} do not bear out its threshold")
    return found


def _borne_out(steps: Sequence[Step], *, agreement: float, delta: float) -> Step | None:
    """Return the last step of a saved certificate that is certified, by its own p-values; None where none is.

    Raises:
        ValueError: a p-value is not that of its counts. How large clusters are is not saved: theirs is only known to be
            no smaller than the exact one.

    """
    from judgeharness_integrations.analysis.certifying.sequence import p_values  # noqa: PLC0415 - SciPy, for files alone

    tested = [(step, step.p) for step in steps if step.p is not None]
    for step, p in tested:
        exact = float(p_values(step.wrong, step.labelled, step.clusters, 1, risk=1 - agreement))
        if not (math.isclose(p, exact, rel_tol=_ROUNDING) or (p > exact and step.clusters < step.labelled)):
            raise ValueError(f"p {p} is not that of {step.wrong} wrong of {step.labelled}")
    passed = list(takewhile(lambda pair: pair[1] <= delta, tested))
    return passed[-1][0] if passed else None
