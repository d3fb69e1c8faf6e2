"""Certificates: thresholds that were tested, what they leave, the document they are kept in, and their card."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from judgeharness_integrations.verdictlog.encoding import SENTENCE, counted, number_text, safe_text

from ..calibration.population import Population
from ..calibration.saved import CalibrationState, SavedMeasurement
from ..calibration.strata import stratum_text
from ..probability.maps import ProbabilityMap
from ..statistics import POWER

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

    Of `cases` judged `labelled` have a label; where a column tells these from all others, the others are no part of
    `cases`. Decisions with a score of `threshold` or more are certified: `covered` of
    the cases. Without a threshold none is, and `refusal` says why. `levels` is how many different scores there are,
    `of_scores` whether labels are scores. `untold` says why the labels cannot tell the decisions from always the same
    one, in which case agreement is no sign that the judge tells good from bad; it is empty where they can. `clusters`
    is how many the labelled cases are in. Decisions on fewer graded samples than `samples` are not certified: `thin` of
    the cases, whatever their score. `population` counts what the labelled cases are like. All four are None in a
    certificate of an earlier version. `map` calibrates probabilities where these are the score: it was fitted on labels
    that are not among those of the `steps`.
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
    map: ProbabilityMap | None = None

    @property
    def coverage(self) -> float:
        """The share of the cases whose decisions are certified."""
        return self.covered / self.cases


@dataclass(frozen=True, kw_only=True)
class Certificate(SavedMeasurement):
    """From which score on decisions agree with the labels at least `agreement` often, with confidence 1 - `delta`.

    `score` says how sure a decision is: `consistency`, `margin`, `probability` or `column:NAME`. Scores agree within
    `tolerance`: decided ones with labels, samples with the decision. `stratum` names the column of strata, each of
    which has a threshold of its own. `curtailed`: the samples were stopped early, and only such samples are certified.
    It was chosen among `candidates`, and `tests` criteria and strata had enough labels for a test: each is tested at
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
        if self.soft:
            return f"one of the annotators ({self.consensus}), drawn at random,"
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
        return {**super().record(state), "agreement": self.agreement, "delta": self.delta}

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON keeps it."""
        document = json.loads(json.dumps(asdict(self)))  # lists, as `from_dict` takes them
        return {"schema": CERTIFICATE_SCHEMA, **document, "fingerprint": self.fingerprint}

    @classmethod
    def _shape(cls) -> type[Shape]:
        from ..calibration.savedshape import CertificateShape  # noqa: PLC0415 - pydantic

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
    by = None if data.get("map") is None else ProbabilityMap.from_dict(data["map"])
    found = Selection(**{**data, "steps": steps, "refusal": refusal, "population": population, "map": by})
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
    from .sequence import p_values  # noqa: PLC0415 - SciPy, for files alone

    tested = [(step, step.p) for step in steps if step.p is not None]
    for step, p in tested:
        exact = float(p_values(step.wrong, step.labelled, step.clusters, 1, risk=1 - agreement))
        if not (math.isclose(p, exact, rel_tol=_ROUNDING) or (p > exact and step.clusters < step.labelled)):
            raise ValueError(f"p {p} is not that of {step.wrong} wrong of {step.labelled}")
    passed = list(takewhile(lambda pair: pair[1] <= delta, tested))
    return passed[-1][0] if passed else None


_LONGEST = 1000  # characters: of a run that is shifted, three features with what differs


def promise_text(certificate: Certificate) -> str:
    """Return what is promised of certified decisions."""
    near = f" within {certificate.tolerance:g}" if any(one.of_scores for one in certificate.selections) else ""
    return (
        f"agree with {safe_text(certificate.whom)}{near} at least {100 * certificate.agreement:g} % of the time, "
        f"with {100 * (1 - certificate.delta):g} % confidence"
    )


def held_text(certificate: Certificate, state: CalibrationState | None) -> str:
    """Return in a line which certificate decisions stand under, and what is promised of them, or why nothing is."""
    promise = str(state)
    if state is not None and state.valid:
        promise = (
            f"decided cases {promise_text(certificate)}{_at_once(certificate)}, if cases are like the labelled ones"
        )
        promise += f"; {state.reason}" if state.reason else ""
    elif state is not None and state.status == "shifted":
        promise += "; decisions stand, without its promise"
    return f"certificate: {safe_text(certificate.name)}: {safe_text(promise, _LONGEST)}"


def _at_once(certificate: Certificate) -> str:
    """Return whether the confidence is that of all strata at once, or of each of an earlier certificate by itself."""
    if certificate.stratum is None:
        return ""
    column = safe_text(certificate.stratum)
    return f", each {column} by itself" if certificate.tests is None else f", in each certified {column} at once"


def terms_text(certificate: Certificate, state: CalibrationState) -> str:
    """Return what tells a certificate in use from another one: its name, whether it holds, and its thresholds."""
    score = safe_text(certificate.score.removeprefix("column:"))
    levels = (
        f"{_where(one, certificate)} "
        + ("refused" if one.threshold is None else f"from {score} {number_text(one.threshold)} on")
        for one in certificate.selections
    )
    return (
        f"{safe_text(certificate.name)} ({state.status}): {', '.join(levels)}; {100 * certificate.agreement:g} % "
        f"agreement, of {certificate.measured_at}"
    )


def candidates_text(candidates: int, delta: float) -> str:
    """Return at which level each of several candidates on the same labels is tested, and what it does not allow for.

    The k-th that is tried has a level of delta / k, so that one after another until the first success has the sum of
    these, delta times the harmonic number (Bonferroni); delta / N from the first on keeps delta.
    """
    total = min(1.0, delta * sum(1 / count for count in range(1, candidates + 1)))
    return (
        f"one of {candidates} candidates on these labels: each is tested at a level of {delta:g} / {candidates}; tried "
        f"one after another until one is certified, they break the promise in up to {total:.2g} of studies, unless "
        f"--candidates {candidates} was given from the first on"
    )


def certificate_text(certificate: Certificate) -> Iterator[str]:
    """Yield the card: the promise, and of each criterion and stratum threshold, coverage, tests, or the refusal."""
    yield f"asked for: decisions that {promise_text(certificate)}"
    ties = f"{certificate.excluded_ties} ties left out"
    yield f"labels: {safe_text(certificate.name)} ({safe_text(certificate.source)}, {ties})"
    if certificate.candidates > 1:
        yield candidates_text(certificate.candidates, certificate.delta)
    if certificate.tests is not None and certificate.tests > 1:
        what = "criteria" if certificate.stratum is None else f"strata ({safe_text(certificate.stratum)})"
        yield (
            f"{certificate.tests} {what} have enough labels for a test and share the level equally: all that are "
            "certified keep the promise at once"
        )
    if certificate.curtailed:
        yield "samples were stopped early: the certificate holds for such samples alone"
    for selection in certificate.selections:
        yield from _selection_words(selection, certificate)
    if certificate.stratum is not None and certificate.tests is None:
        yield (
            f"each {safe_text(certificate.stratum)} is certified by itself: that all of them hold at once has "
            "less confidence"
        )
    if certificate.granted:
        split = "; cases that people are evenly split on are none of them" if certificate.excluded_ties else ""
        yield f"it holds for cases like the labelled ones, which have to be a random sample of them{split}"


def _selection_words(selection: Selection, certificate: Certificate) -> Iterator[str]:
    where = _where(selection, certificate)
    score = safe_text(certificate.score.removeprefix("column:"))
    shared = selection.clusters is not None and selection.clusters < selection.labelled
    clusters = f" in {selection.clusters} clusters" if shared else ""
    size = f"{selection.labelled} labelled{clusters} of {selection.cases} cases"
    if selection.refusal is None:
        kept = f"coverage {selection.coverage:.3f} ({selection.covered}/{selection.cases})"
        yield f"{where}: certified from {score} {number_text(selection.threshold)} on: {kept}; {size}"
    else:
        yield f"{where}: refused: {selection.refusal.reason}; {size}"
        if selection.steps or not selection.levels:  # labels selected by verdict: the reason says what to do
            yield f"  {_remedy(selection.refusal, selection)}"
    if selection.map is not None:
        yield f"  {selection.map}, fitted on {counted(selection.map.labels, 'label')} that set no threshold"
    yield from (f"  {_step(step, score)}" for step in selection.steps if step.p is not None)
    if selection.untold:
        yield f"  warning: {safe_text(selection.untold, SENTENCE)}"
    if selection.thin:
        thin = "1 case has" if selection.thin == 1 else f"{selection.thin} cases have"
        yield f"  {thin} fewer than {selection.samples} graded samples: not certified, however sure"
    if selection.levels == 1:
        yield "  all decisions are equally sure: the certificate is for all of them or none"


def _where(selection: Selection, certificate: Certificate) -> str:
    where = safe_text(selection.criterion)
    if selection.stratum is not None:
        where += f", {safe_text(certificate.stratum or '')} {stratum_text(selection.stratum)}"
    return where


def _step(step: Step, score: str) -> str:
    clusters = "" if step.clusters == step.labelled else f" in {step.clusters} clusters"
    return (
        f"{score} >= {number_text(step.threshold)}: {step.covered} cases, {step.wrong} of {step.labelled} labelled"
        f"{clusters} disagree, p {step.p:.2g}"
    )


def _remedy(refusal: Refusal, selection: Selection) -> str:
    labels = None if refusal.labels is None else f"about {refusal.labels} labels in place of {selection.labelled}"
    votes = None if refusal.votes is None else f"about {refusal.votes} votes a case with as many labels"
    ways = " or ".join(filter(None, (labels, votes)))
    if not ways and selection.clusters is not None and selection.clusters < selection.labelled:
        return "how many more labels would do is not told, as labelled cases share clusters: label more clusters"
    if not ways:
        wrong = any(step.wrong for step in selection.steps)
        return f"no number of labels up to 20,000 would do{': the surest decisions are wrong too often' * wrong}"
    return f"{ways} would do in {100 * POWER:.0f} % of studies"
