"""A passport: what is known of a judge that answers with probabilities, and what may be done with its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted, fixed
from judgeharness_integrations.verdictlog.row import VerdictRow, most_probable, probabilities_from_json

from ..aggregation.folds import Decision, abstained, averaged, decided, not_graded
from ..aggregation.rules import Rule
from ..calibration.population import Population
from ..calibration.saved import (
    DEFAULT_MAX_AGE,
    CalibrationState,
    SavedMeasurement,
    answer_expiry,
    expiry,
    known_instant,
)
from ..statistics.means import Estimate
from .maps import ProbabilityMap

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog.shapes import Shape

    from .canary import Day

PASSPORT_SCHEMA: Final = "judgeharness.passport/1"
VOTES: Final = ("none", "position_swap")  # what a decision is averaged over
ASK: Final = "ask"  # what to do with an answer that is not certified: ask somebody else
_OF_A_RULE: Final = ("rule", "failure policy")  # of a fingerprint: a passport brings its own


@dataclass(frozen=True, kw_only=True)
class FormChange:
    """How far answers to one question move in another form that must not matter, over `n` cases.

    `change` is the mean total variation distance to the plain form, `excess` that less the retest band, `bound` what
    one of the two forms is off the truth by at least, on average; see `forms.AnswerChange`.
    """

    form: str
    n: int
    change: Estimate
    excess: Estimate
    bound: Estimate


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How far answers move when the very same is asked again, over `n` cases; `identical` is a share of cases."""

    n: int
    change: Estimate
    identical: Estimate


@dataclass(frozen=True, kw_only=True)
class Trust:
    """What `labelled` cases in `clusters` clusters say of the probabilities of one question.

    Skills over the base rate and the calibration error are out of fold, after the map; `ece_raw` is before it. The
    `map` was fitted on one half of the labels, and the `threshold` on the other: answers whose calibrated probability
    reaches it agree with the labels at least `agreement` often with confidence 1 - `level`; `covered` of all cases do.
    Without a threshold `refusal` says why, and `labels_needed` about how many labels would do, where that can be told.
    """

    labelled: int
    clusters: int
    agreement: float
    level: float
    brier_skill: Estimate | None = None
    log_skill: Estimate | None = None
    ece_raw: float | None = None
    ece: float | None = None
    map: ProbabilityMap | None = None
    threshold: float | None = None
    covered: float | None = None
    refusal: str | None = None
    labels_needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class QuestionPassport:
    """What is known of one question: its `options`, how far answers move, and how far labels carry.

    `noise` is None where nothing was asked twice, `trust` where no case has a label.
    """

    criterion: str
    options: tuple[str, ...]
    cases: int
    noise: Noise | None
    forms: tuple[FormChange, ...]
    trust: Trust | None

    @property
    def certified(self) -> bool:
        """Whether any answer is."""
        return self.trust is not None and self.trust.threshold is not None

    def calibrated(self, probabilities: Mapping[str, float]) -> dict[str, float]:
        """Return option -> calibrated probability; as they are where no map was fitted.

        Raises:
            UsageError: they are of other options.

        """
        known = self.trust.map if self.trust is not None else None
        return (known or ProbabilityMap(kind="none", options=self.options)).apply(probabilities)

    def decide(self, probabilities: Mapping[str, float]) -> Decision:
        """Return the decision on one averaged answer: the most probable option where that is certified."""
        threshold = None if self.trust is None else self.trust.threshold
        if threshold is None:
            why = "no case has a label" if self.trust is None else self.trust.refusal
            return abstained(f"the passport certifies no answer to {self.criterion}: {why}")
        shares = self.calibrated(probabilities)
        highest, label = max(shares.values()), most_probable(shares)
        told = f"calibrated probability {fixed(highest)}"
        if label is None or shares[label] < highest or highest < threshold:
            return abstained(f"{told} is below {fixed(threshold)}, from which on answers are certified")
        return decided(label, f"{told} of {label}, certified from {fixed(threshold)} on")


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of the canary: when it was asked (ISO 8601), and state -> criterion -> option -> probability."""

    at: str
    answers: Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Frozen states that are asked again on a schedule: case id -> digest of what the case holds, and the rounds."""

    states: Mapping[str, str]
    rounds: tuple[Round, ...]

    def days(self, criterion: str) -> tuple[Day, ...]:
        """Return the rounds of one question, as `canary.watch` takes them."""
        return tuple({case: found.get(criterion) for case, found in one.answers.items()} for one in self.rounds)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The questions the states were asked."""
        return tuple(dict.fromkeys(name for one in self.rounds for found in one.answers.values() for name in found))


@dataclass(frozen=True, kw_only=True)
class Passport(SavedMeasurement):
    """What is known of a judge that answers with probabilities; see `QuestionPassport`, `Canary`.

    It holds for the configuration it was taken with (model, questions, options, averaging) and expires with it, or
    after `calibration.saved.DEFAULT_MAX_AGE`. `models` are those its answers said they came from, whatever name was
    asked for; empty where none did. The judge was one of `candidates` measured on these labels, and `population` counts
    what the labelled cases are like; None without labels. What all measurements on labels have: see `SavedMeasurement`.
    """

    KIND: ClassVar[str] = "passport"
    SCHEMA: ClassVar[str] = PASSPORT_SCHEMA

    questions: tuple[QuestionPassport, ...]
    models: tuple[str, ...] = ()
    candidates: int = 1
    population: Population | None = field(default=None, repr=False)
    canary: Canary | None = None

    @property
    def asked(self) -> dict[str, Any]:
        """What a harness asks as it was taken: perturbations and repetitions."""
        known = self.known_design
        return {name: known.get(name, once) for name, once in (("perturbations", ["none"]), ("repetitions", 1))}

    @property
    def granted(self) -> bool:
        """Whether answers to any question are certified."""
        return any(one.certified for one in self.questions)

    def uncertified(self, state: CalibrationState, criteria: Iterable[str]) -> Iterator[str]:
        """Yield where it says nothing of how often decisions about these criteria are right."""
        if not state.valid:
            yield f"uncertified: the passport on {self.name} is {state}"
            return
        if not self.calibrated:
            yield f"uncertified: the labels of the passport on {self.name} are a model's, not people's"
        certified = {one.criterion for one in self.questions if one.certified}
        for criterion in criteria:
            if criterion not in certified:
                yield f"{criterion} is uncertified: the passport on {self.name} certifies no answer to it"

    def of(self, criterion: str | None = None) -> QuestionPassport:
        """Return what is known of a question, of the only one where none is named.

        Raises:
            UnknownNameError: there is no such question.
            UsageError: there are several, and none is named.

        """
        if criterion is None and len(self.questions) == 1:
            return self.questions[0]
        known = {one.criterion: one for one in self.questions}
        if criterion is None:
            raise UsageError(f"the passport holds {counted(len(known), 'question')}: name one of {', '.join(known)}.")
        if criterion not in known:
            raise UnknownNameError("question", criterion, known)
        return known[criterion]

    def act(
        self,
        probabilities: Mapping[str, float],
        criterion: str | None = None,
        *,
        model: str | None = None,
        now: datetime | None = None,
    ) -> str:
        """Return the decision on an answer, averaged as the passport's own were, or `ask` where it is not certified.

        Whether the configuration is still that of the passport is for the caller to look at (`state`); a harness does.

        Args:
            probabilities: option -> probability.
            criterion: the question; the only one when None.
            model: what the answer says it came from: of another model than the passport's, it is `ask`.
            now: the current time, with offset: of a passport that is too old, it is `ask`.

        Raises:
            UnknownNameError, UsageError: no such question, an answer of other options, or none.

        """
        question = self.of(criterion)
        try:
            given = probabilities_from_json(probabilities)
        except ValueError as error:
            raise UsageError(f"{error}.") from error
        if given is None:
            raise UsageError("there are no probabilities to decide by: ask somebody else.")
        moved = model is not None and self.moved([model])
        if moved or (now is not None and expiry(self.measured_at, now=now)):
            return ASK
        decision = question.decide(given)
        return str(decision.verdict) if decision.status == "decided" else ASK

    def moved(self, models: Iterable[str | None]) -> str:
        """Return that answers came from another model than the passport's, or only one of them names it; or nothing."""
        strange = dict.fromkeys(str(one or _UNNAMED) for one in models if one not in self.models)
        if not self.models:
            named = next((one for one in strange if one != _UNNAMED), "")
            return f"unverifiable: its answers did not name their model, these came from {named:.200}" if named else ""
        if not strange:
            return ""
        return f"expired: its answers came from {', '.join(self.models):.200}, these from {', '.join(strange):.200}"

    def state(
        self,
        parts: Mapping[str, Any] | None,
        *,
        now: datetime,
        max_age: timedelta = DEFAULT_MAX_AGE,
        unidentified: str | None = None,
    ) -> CalibrationState:
        """Say whether the passport holds for a configuration, whatever its rule; see `SavedMeasurement.state`."""
        own = None if self.parts is None else _without_rule(self.parts)
        given = None if parts is None else _without_rule(parts)
        return super(Passport, replace(self, parts=own)).state(
            given, now=now, max_age=max_age, unidentified=unidentified
        )

    def rule(self, state: CalibrationState | None = None, *, now: datetime | None = None) -> Rule:
        """Return the rule that decides as the passport says; it abstains from everything where that does not hold.

        Args:
            state: whether it holds for what is asked; None of a log, whose rows tell as far as they can.
            now: when rows of a log are decided that do not say when they were asked; these abstain without it.

        """
        return Rule(f"passport({self.digest})", PassportRule(self, state, now))

    def record(self, state: CalibrationState) -> dict[str, Any]:
        """Return which passport is in use and whether it holds, as results keep it."""
        return {**super().record(state), "digest": self.digest}

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what decisions depend on: maps and thresholds."""
        trusted = [(one.criterion, one.options, asdict(one.trust) if one.trust else None) for one in self.questions]
        return hashlib.sha256(json.dumps(trusted, sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return the passport as JSON keeps it."""
        document = {"schema": PASSPORT_SCHEMA, **asdict(self), "fingerprint": self.fingerprint}
        return dict(json.loads(json.dumps(document)))

    @classmethod
    def _shape(cls) -> type[Shape]:
        from ..calibration.savedshape import PassportShape  # noqa: PLC0415 - pydantic

        return PassportShape

    @classmethod
    def _own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic import TypeAdapter  # noqa: PLC0415 - as above

        questions = TypeAdapter(tuple[QuestionPassport, ...]).validate_python(data["questions"])
        for question in data["questions"]:
            if (question["trust"] or {}).get("map") is not None:
                ProbabilityMap.from_dict(question["trust"]["map"])  # whose numbers have to fit each other
        if not questions or len({one.criterion for one in questions}) < len(questions):
            raise ValueError("no question, or one twice")
        for known in questions:
            _check_fit(known)
        population = data["population"]
        return {
            "questions": questions,
            "models": tuple(data["models"]),
            "candidates": data["candidates"],
            "population": None if population is None else Population.from_dict(population),
            "canary": TypeAdapter(Canary | None).validate_python(data["canary"]),
        }


_UNNAMED: Final = "a model that is not named"
HeldPassport: TypeAlias = tuple[Passport, CalibrationState]  # one in use, and whether it holds


@dataclass(frozen=True)
class PassportRule:
    """Decides the rows of a case as a passport says.

    `state` says whether it holds for what a harness asks. Of a log it is None: rows have to be of the passport's judge
    and asked within its age of it, and those it averages are read; those without a time were asked `now`.
    """

    passport: Passport
    state: CalibrationState | None = None
    now: datetime | None = field(default=None, compare=False)

    @property
    def held_passport(self) -> HeldPassport | None:
        """The passport by which a harness decides, and whether it holds; None of a log."""
        return None if self.state is None else (self.passport, self.state)

    def __call__(self, rows: Sequence[VerdictRow]) -> Decision:
        """Average the answers over orders, map them and decide."""
        criterion = rows[0].criterion
        if self.state is None:
            rows = [row for row in rows if row.perturbation in self._averaged]
        question = next((one for one in self.passport.questions if one.criterion == criterion), None)
        if broken := self._broken(rows):
            return abstained(f"the passport on {self.passport.name} is {broken}")
        if question is None:
            return not_graded(f"the passport on {self.passport.name} holds no question {criterion!r:.60}")
        failed = sum(not row.answered for row in rows)
        if failed:
            return abstained(f"{failed} of {len(rows)} samples failed, and the passport is of all of them")
        shares = averaged(rows) if all(map(_readable, rows)) else None
        if shares is None:
            return not_graded("a passport reads probabilities, which some answers do not hold")
        if shares.keys() != set(question.options):
            return not_graded(f"the passport on {self.passport.name} is of other options than this question")
        return question.decide(shares)

    def _broken(self, rows: Sequence[VerdictRow]) -> str:
        """Return why the passport does not hold for answers; nothing where it does."""
        if self.state is not None and not self.state.valid:
            return str(self.state)
        return (self._foreign(rows) if self.state is None else "") or self.passport.moved(
            row.model for row in rows if row.answered
        )

    def _foreign(self, rows: Sequence[VerdictRow]) -> str:
        """Return whose answers these are, where a log shows that the passport is not of them; else nothing."""
        if strange := next((row.judge for row in rows if row.judge != self.passport.judge), None):
            return f"of {self.passport.judge!r:.60} and not of {strange!r:.60}"
        lacking = set(self.passport.known_design.get("perturbations") or ()) - {row.perturbation for row in rows}
        if lacking or not rows:
            return f"of answers averaged over {', '.join(self._averaged)}"
        return next(filter(None, map(self._expired, rows)), "")

    def _expired(self, row: VerdictRow) -> str:
        """Return that an answer and the passport lie too far apart, or that nobody knows; else nothing."""
        if self.now is None and known_instant(row.asked_at or "") is None:
            return "unverifiable: the answers do not say when they were asked"
        expired = answer_expiry(self.passport.measured_at, row, now=self.now)
        return f"expired: {expired}" if expired else ""

    @property
    def _averaged(self) -> Sequence[str]:
        return tuple(self.passport.known_design.get("perturbations") or VOTES)


def _readable(row: VerdictRow) -> bool:
    """Whether the probabilities of a row are some: rows that no log has read may hold anything."""
    try:
        return probabilities_from_json(row.probabilities) is not None
    except ValueError:
        return False


def _check_fit(question: QuestionPassport) -> None:
    """Check that what decisions depend on can be: a threshold that is no number would certify everything.

    Raises:
        ValueError: naming what cannot.

    """
    trust = question.trust
    if trust is None:
        return
    if not (0 < trust.agreement < 1 and 0 < trust.level < 1):
        raise ValueError(f"agreement {trust.agreement:g} and level {trust.level:g} do not lie between 0 and 1")
    if trust.map is not None and trust.map.options != question.options:
        raise ValueError("the map is of other options")
    if trust.threshold is not None and (trust.map is None or not 0 <= trust.threshold <= 1):
        raise ValueError(f"threshold {trust.threshold:g} without a map, or not from 0 to 1")


def _without_rule(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if name not in _OF_A_RULE}
